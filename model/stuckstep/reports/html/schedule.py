"""The steps, planned and as they come, with the path that decides; and the MW that reached each status."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from .beside import Beside, serials
from .cases import Array, Case, phase_order
from .figure import (
    Cell,
    Figure,
    Key,
    Strip,
    Table,
    date_cell,
    day,
    name_cell,
    name_label,
    number_cell,
    plural,
    pretty,
    said,
    strips,
)
from .svg import area_path, bar, element, join, line, picture, stretched, text, time_axis

ROW = 30.0
MOST_PHASES = 6  # step charts drawn for one scenario; the table holds every phase


class Frame(NamedTuple):
    """The days a step chart spans, as serials."""

    start: float
    end: float

    def share(self, day: float) -> float:
        return (day - self.start) / (self.end - self.start)


def steps(case: Case, beside: Beside) -> Figure:
    """Each step's plan and actual bars in every phase, latest phase first, and the step that holds it up."""
    order = phase_order(case)
    charts = [_chart(case, beside, phase) for phase in order[:MOST_PHASES]]
    names = case.run.names["phase"]
    drawn = charts[0]
    if len(charts) > 1:
        more = [
            element(
                "details",
                element("summary", _phase_summary(case, phase)),
                chart,
            )
            for phase, chart in zip(order[1:], charts[1:], strict=False)
        ]
        head = element("p", Markup("Phase {}").format(_phase_summary(case, order[0])), class_="sub")
        drawn = join((head, charts[0], element("div", join(more), class_="more")))
    left_out = len(names) - len(charts)
    return Figure(
        key="steps",
        title="The steps: plan and actual",
        unit="days",
        reading=_steps_reading(case, order[0]),
        picture=drawn,
        table=_steps_table(case, beside),
        legend=(
            Key("plan", style="plan"),
            Key("on the critical path", style="critical"),
            Key("with float", style="spare"),
            Key("delay", style="late"),
            Key("planned billing", style="mark planned"),
            Key("billing", style="mark actual"),
        ),
        note=f"{left_out} more phases stand in the table only." if left_out else "",
    )


def _phase_summary(case: Case, place: int) -> Markup:
    name = said(case.run.names["phase"][place])
    late, planned = case.of("days_late")[place], day(case.of("planned_billing")[place])
    if case.of("cancelled")[place]:
        return Markup("{}: planned {}, cancelled").format(name, planned)
    if late == 0:
        return Markup("{}: bills {} as planned").format(name, planned)
    side = "late" if late > 0 else "early"
    return Markup("{}: planned {}, bills {}, {} {}").format(
        name, planned, day(case.of("billing_start")[place]), plural(abs(late), "day"), side
    )


def _chart(case: Case, beside: Beside, place: int) -> Markup:
    names = case.run.names["step"]
    start, finish = serials(case.of("start")[place]), serials(case.of("finish")[place])
    frame = _frame(beside, place, start, finish)
    spare, relief, stuck = case.of("float")[place], case.of("relief")[place], case.of("stuck_step")[place]
    marks = _billing(case, place, frame, 28 + (ROW + 1) * len(names))
    rows = [Strip("", marks)]
    for at, step in enumerate(names):
        critical = bool(spare[at] <= 0)
        delay = _delay(case, step, case.run.names["phase"][place])
        plan = (beside.planned_start[place, at], beside.planned_finish[place, at])
        drawing = _step_bars(frame, plan, (start[at], finish[at]), delay, max(float(spare[at]), 0.0), critical)
        tip = _tip(case, place, at, delay)
        right = element(
            "small",
            f"{relief[at]:+,.0f} days" if relief[at] > 0 else "critical" if critical else f"float {spare[at]:,.0f}",
        )
        owner = str(case.sheets.cell("steps", step, "party"))
        label = name_label(step, "" if owner == step else pretty(owner))
        left = join((element("span", "stuck", class_="flag"), label)) if step == stuck else label
        rows.append(Strip(left, element("div", drawing, data_tip=tip), right))
    axis = picture(_month_axis(frame), height=18, class_="plot heading")
    return strips(
        f"Steps of {case.run.names['phase'][place]}: plan and actual; the dates stand in the table",
        rows,
        axis,
        first=0,
        count=0,
        class_="gantt",
    )


def _frame(beside: Beside, place: int, start: Array, finish: Array) -> Frame:
    low = float(min(np.nanmin(start), beside.planned_start[place].min()))
    high = float(max(np.nanmax(finish), beside.planned_finish[place].max()))
    margin = max((high - low) * 0.02, 3.0)
    return Frame(low - margin, high + margin)


def _step_bars(
    frame: Frame, plan: tuple[float, float], actual: tuple[float, float], delay: float, spare: float, critical: bool
) -> Markup:
    at, width = frame.share(plan[0]), frame.share(plan[1]) - frame.share(plan[0])
    parts = [bar(at, max(width, 0.002), 5, 6, class_="plan")]
    begin, late, end = frame.share(actual[0]), frame.share(actual[1] - delay), frame.share(actual[1])
    parts.append(bar(begin, max(late - begin, 0.002), 13, 11, class_="critical" if critical else "spare"))
    if delay > 0:
        parts.append(bar(late, end - late, 13, 11, class_="late"))
    if spare > 0:
        until = min(frame.share(actual[1] + spare), 1.0)
        parts += [line(end, 18.5, until, 18.5, class_="float"), line(until, 15, until, 22, class_="float")]
    return picture(*parts, height=ROW)


def _delay(case: Case, step: str, phase: str) -> float:
    value = case.sheets.cell("steps", step, "delay", phase)
    return value if isinstance(value, float) else 0.0


def _tip(case: Case, place: int, at: int, delay: float) -> str:
    begins, ends = case.of("start")[place, at], case.of("finish")[place, at]
    words = f"{day(begins)} to {day(ends)}"
    return words + (f", {plural(delay, 'day')} of it delay" if delay else "")


def _billing(case: Case, place: int, frame: Frame, height: float) -> Markup:
    planned, actual = serials(case.of("planned_billing")[[place]])[0], serials(case.of("billing_start")[[place]])[0]
    marks = [("planned", planned, f"planned {day(case.of('planned_billing')[place])}")]
    if np.isnan(actual):
        marks.append(("actual", float("nan"), ""))
    elif actual != planned:
        marks.append(("actual", actual, f"bills {day(case.of('billing_start')[place])}"))
    else:
        marks = [("actual", planned, f"bills as planned {day(case.of('billing_start')[place])}")]
    drawn = []
    for number, (class_, date, words) in enumerate(marks):
        share = frame.share(date)
        if 0 <= share <= 1:
            ends = share > 0.5 or (number == 0 and len(marks) > 1 and share > 0.3)
            y = 11 if number == 0 or len(marks) == 1 else 25
            drawn += [
                text(
                    share,
                    y,
                    words,
                    class_=f"mark-words {class_}",
                    dx=-4 if ends else 4,
                    text_anchor="end" if ends else "start",
                ),
                line(share, 2, share, height, class_=f"mark {class_}"),
            ]
    return picture(*drawn, height=28, class_="plot heading through")


def _month_axis(frame: Frame) -> Markup:
    first = np.datetime64("1899-12-30") + int(frame.start)
    last = np.datetime64("1899-12-30") + int(frame.end)
    months = np.arange(first.astype("datetime64[M]") + 1, last.astype("datetime64[M]") + 1)
    every = 1 if len(months) <= 8 else 3 if len(months) <= 30 else 12
    marks: list[Markup] = []
    for month in months:
        number = int(month.astype(int)) % 12
        if number % every == 0:
            share = frame.share(float((month.astype("datetime64[D]") - np.datetime64("1899-12-30")).astype(int)))
            if share < 0.94:
                words = f"{month.item():%b}" + (f" {month.item():%Y}" if number == 0 or every < 12 else "")
                marks.append(text(share, 13, words, class_="tick odd" if len(marks) % 4 else "tick", dx=2))
                marks.append(line(share, 0, share, 6, class_="hair"))
    return element("g", join(marks), class_="axis", aria_hidden="true")


def _steps_table(case: Case, beside: Beside) -> Table:
    run = case.run
    head = ("phase", "step", "planned start", "planned finish", "start", "finish", "delay", "relief", "float", "stuck")
    rows = []
    for place, phase in enumerate(run.names["phase"]):
        for at, step in enumerate(run.names["step"]):
            numbers = (_delay(case, step, phase), case.of("relief")[place, at], case.of("float")[place, at])
            plan = [_from_serial(serial[place, at]) for serial in (beside.planned_start, beside.planned_finish)]
            dates = (*plan, case.of("start")[place, at], case.of("finish")[place, at])
            stuck = "stuck" if case.of("stuck_step")[place] == step else ""
            rows.append(
                (
                    name_cell(phase),
                    name_cell(step),
                    *(date_cell(date) for date in dates),
                    *(number_cell(float(number), f"{number:,.0f}") for number in numbers),
                    Cell(stuck, stuck, False),
                )
            )
    return Table(head, tuple(rows), "days")


def _from_serial(serial: float) -> np.datetime64:
    return np.datetime64("1899-12-30") + int(serial)


def _steps_reading(case: Case, place: int) -> Markup:
    run = case.run
    stuck, spare = case.of("stuck_step")[place], case.of("float")[place]
    path = [said(step) for at, step in enumerate(run.names["step"]) if spare[at] <= 0]
    chain = Markup(", ").join(path)
    if not stuck:
        late = case.of("days_late")[place]
        moved = "as planned" if late == 0 else f"{plural(abs(late), 'day')} {'later' if late > 0 else 'earlier'}"
        return Markup("{} bills {}. Its critical path runs through {}; a delay in any of these moves billing.").format(
            said(run.names["phase"][place]), moved, chain
        )
    relief = float(case.of("relief")[place, run.names["step"].index(stuck)])
    cure = (
        f"curing it brings the last step forward by {plural(relief, 'day')}"
        if relief > 0
        else "curing it alone is worth nothing, because another path is as late"
    )
    return Markup("In {} the stuck step is {}: {}. The critical path runs through {}.").format(
        said(run.names["phase"][place]), said(stuck), cure, chain
    )


def ladder(case: Case) -> Figure | None:
    """The MW that reached each status by each quarter's end; None where no phase has MW."""
    run, mw = case.run, case.of("mw")
    reach = float(mw.max(initial=0.0))
    if reach <= 0:
        return None
    rows, table = [], []
    for place, status in enumerate(run.names["status"]):
        area = element("path", d=area_path(np.zeros(len(mw[place])), mw[place] / reach, 2, 24), class_=f"mw-{place}")
        drawing = picture(stretched(area, height=27), line(0, 26, 1, 26, class_="ground"), height=27)
        right = element("b", _mw_words(float(mw[place].max())))
        rows.append(Strip(name_label(status), drawing, right, (place,)))
        table.append(
            (name_cell(status), *(number_cell(float(amount), _mw_words(float(amount))) for amount in mw[place]))
        )
    axis = picture(time_axis(run.labels, 2), height=18, class_="plot heading")
    return Figure(
        key="mw",
        title="The MW ladder",
        unit="MW",
        reading=_ladder_reading(case, mw),
        picture=strips(
            "MW by status and quarter; the same numbers stand in the table",
            rows,
            axis,
            first=1,
            count=len(run.labels),
            right="most",
        ),
        table=Table(("status", *run.labels), tuple(table), "MW"),
        note="A phase counts from the quarter in which its step with the status ends; it counts as billing while its "
        "contract bills.",
    )


def _mw_words(mw: float) -> str:
    return "-" if mw == 0 else f"{mw:,.2f}".rstrip("0").rstrip(".")


def _ladder_reading(case: Case, mw: Array) -> Markup:
    names = list(case.run.names["status"])
    contracted, billing = mw[names.index("contracted")], mw[names.index("billing")]
    gap = contracted - billing
    before = np.arange(len(gap)) <= int(billing.argmax()) if billing.max() > 0 else np.ones(len(gap), dtype=bool)
    worst = int(np.where(before, gap, -1.0).argmax())
    if gap[worst] <= 0:
        return Markup("Every contracted MW bills.")
    dark = int(((gap > 0) & before).sum())
    return Markup(
        "The widest gap is at the end of {}: of {} MW contracted, {} MW bill ({:.1f}%). Some contracted MW are dark at "
        "{} before the most MW bill."
    ).format(
        case.run.labels[worst],
        _mw_words(float(contracted[worst])),
        _mw_words(float(billing[worst])).replace("-", "0"),
        100 * billing[worst] / contracted[worst],
        plural(dark, "quarter end"),
    )
