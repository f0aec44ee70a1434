"""What one more quarter of delay costs whom: the engine's answer for the stuck step, and for every step."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from ..amounts import money
from .beside import Beside, Cost
from .cases import Case, is_something
from .figure import (
    Figure,
    Key,
    Strip,
    Table,
    listing,
    money_cell,
    name_cell,
    name_label,
    number_cell,
    plural,
    pretty,
    said,
    strips,
    sum_in,
)
from .svg import bar, element, join, line, picture


def one_more_quarter(case: Case, beside: Beside) -> Figure | None:
    """Who loses and who gains when a step slips one more quarter; None where nothing can slip."""
    if not beside.costs:
        return None
    if beside.stuck is None and len(beside.costs) > 1:
        return _every_step(case, beside)
    return _one_step(case, beside.costs[0])


def losers(case: Case, cost: Cost, most: int = 3) -> list[tuple[str, float]]:
    """The parties that lose present value, the worst hit first."""
    order = np.argsort(cost.npv)
    return [(case.run.names["party"][at], float(-cost.npv[at])) for at in order[:most] if cost.npv[at] <= -0.005]


def gainers(case: Case, cost: Cost, most: int = 2) -> list[tuple[str, float]]:
    """The parties that gain present value, the best off first."""
    order = np.argsort(-cost.npv)
    return [(case.run.names["party"][at], float(cost.npv[at])) for at in order[:most] if cost.npv[at] >= 0.005]


def cost_words(case: Case, cost: Cost, lead: Markup | None = None, most: int = 3) -> Markup:
    """One more quarter in a sentence: what it costs, and whom."""
    lost = [Markup("{} {}").format(said(party), sum_in(case.run, amount)) for party, amount in losers(case, cost, most)]
    won = [Markup("{} {}").format(said(party), sum_in(case.run, amount)) for party, amount in gainers(case, cost)]
    words = lead or Markup("One more quarter of {} costs ").format(said(cost.slip.step))
    words += listing(lost) if lost else Markup("nobody anything")
    if won:
        words += Markup("; it is worth {} to {}").format(
            listing([sum_in(case.run, amount) for _, amount in gainers(case, cost)]),
            listing([said(party) for party, _ in gainers(case, cost)]),
        )
    rate = case.number("deal", "discount_rate", "value")
    return words + Markup(" (present value at {:.2f}%).").format(100 * rate)


def _later(cost: Cost) -> str:
    if np.isnan(cost.days):
        return "the phase is then cancelled"
    return f"billing moves by {plural(cost.days, 'day')}" if cost.days else "billing does not move"


def _one_step(case: Case, cost: Cost) -> Figure:
    run = case.run
    reach = float(np.abs(cost.npv).max(initial=0.0)) or 1.0
    rows, table = [], []
    for place, party in enumerate(run.names["party"]):
        change = float(cost.npv[place])
        drawing = _bar_from_middle(change, reach)
        right = join((element("b", money(change, run.scale)), element("small", _quarters(cost.quarters[place]))))
        rows.append(Strip(name_label(party), drawing, right, (place,)))
        table.append(
            (
                name_cell(party),
                money_cell(change, run.scale),
                money_cell(float(cost.paid[place]), run.scale),
                number_cell(float(cost.quarters[place]), f"{cost.quarters[place]:+.0f}".replace("+0", "0")),
                money_cell(float(cost.unpaid[place]), run.scale),
            )
        )
    head = ("party", "present value", "paid in the run", "quarters until half is paid", "most unpaid")
    return Figure(
        key="quarter",
        title=f"One more quarter of {pretty(cost.slip.step)}",
        unit=run.unit,
        reading=cost_words(case, cost) + Markup(" {}.").format(_capital(_later(cost))),
        picture=strips(
            "Change of each party's present value; the same numbers stand in the table",
            rows,
            Markup(""),
            first=1,
            count=0,
            class_="cost",
            right="gain (loss)",
        ),
        table=Table(head, tuple(table), run.unit),
        legend=(Key("loses", style="loss"), Key("gains", style="gain")),
        note=_note(case, cost),
    )


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _quarters(later: float) -> str:
    if np.isnan(later) or later == 0:
        return ""
    return f"{later:+.0f} q"


def _note(case: Case, cost: Cost) -> str:
    phases = "" if len(case.run.names["phase"]) == 1 else f" in {plural(len(cost.slip.phases), 'phase')}"
    return (
        f"The scenario run once more by the engine with 91 more days of delay{phases}, nothing else changed. What "
        "moves past the last quarter counts as lost."
    )


def _bar_from_middle(change: float, reach: float) -> Markup:
    share = abs(change) / reach * 0.48
    start = 0.5 - share if change < 0 else 0.5
    parts = [line(0.5, 0, 0.5, 26, class_="ground")]
    if is_something(np.asarray(change)):
        parts.append(bar(start, max(share, 0.002), 5, 16, class_="loss" if change < 0 else "gain"))
    return picture(*parts, height=26)


def _every_step(case: Case, beside: Beside) -> Figure:
    """Step by party: the change of present value when that step alone slips by one quarter."""
    run, costs = case.run, beside.costs
    reach = float(max(np.abs(cost.npv).max(initial=0.0) for cost in costs)) or 1.0
    parties = run.names["party"]
    head = [element("th", "step", scope="col", class_="sticky")]
    head += [element("th", element("span", pretty(party), dir="auto", title=party), scope="col") for party in parties]
    head.append(element("th", "billing", scope="col"))
    body, table = [], []
    for cost in costs:
        cells = [
            element("td", money(float(change), run.scale), style=f"background:{diverging(float(change) / reach)}")
            for change in cost.npv
        ]
        moved = "cancelled" if np.isnan(cost.days) else f"+{cost.days:,.0f} days"
        name = element(
            "th",
            element("span", pretty(cost.slip.step), dir="auto", title=cost.slip.step),
            scope="row",
            class_="sticky",
        )
        body.append(element("tr", name, *cells, element("td", moved)))
        table.append(
            (
                name_cell(cost.slip.step),
                *(money_cell(float(change), run.scale) for change in cost.npv),
                number_cell(cost.days, f"{cost.days:,.0f}"),
            )
        )
    grid = element("table", element("thead", element("tr", *head)), element("tbody", *body), class_="matrix")
    return Figure(
        key="quarter",
        title="One quarter lost in each step",
        unit=run.unit,
        reading=dearest_words(case, costs),
        picture=element("div", grid, class_="scroll", tabindex=0),
        table=Table(("step", *parties, "days billing moves"), tuple(table), run.unit),
        legend=(Key("loses", style="loss"), Key("gains", style="gain")),
        note="No step is stuck here, so each step in turn is made 91 days late by the engine, nothing else changed. "
        "Change of present value; what moves past the last quarter counts as lost. Dearest is the step by which "
        "those who lose lose most together; of equal ones the first.",
    )


def dearest(costs: tuple[Cost, ...]) -> Cost:
    """The slip that takes most from those who lose."""
    return min(costs, key=lambda cost: float(np.minimum(cost.npv, 0).sum()))


def dearest_words(case: Case, costs: tuple[Cost, ...]) -> Markup:
    """What a quarter lost in the dearest step costs whom."""
    worst = dearest(costs)
    return cost_words(case, worst, Markup("A quarter lost is dearest in {}: it costs ").format(said(worst.slip.step)))


def diverging(share: float) -> str:
    """Orange for a loss, blue for a gain, white for none: a pair that colour-blind readers tell apart."""
    end = (230, 126, 34) if share < 0 else (70, 130, 190)
    weight = min(abs(share), 1.0) ** 0.6 * 0.85
    return "#" + "".join(f"{round(255 + (part - 255) * weight):02x}" for part in end)
