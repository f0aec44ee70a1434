"""All scenarios side by side: each party's date and amount against base."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from markupsafe import Markup

from ..amounts import HALF_CENT, money
from .beside import worst_slip
from .cases import Array, Case, Run, is_something, latest
from .cost import diverging
from .figure import Cell, Figure, Key, Table, day, money_cell, name_cell, number_cell, plural, pretty, said, sum_in
from .svg import element, join

CELLS_DRAWN = 6000  # parties x scenarios in the picture; the table behind it holds all


def compare(run: Run) -> Figure:
    """Scenario by party: quarters by which half is paid later, and how much less is paid, than in base."""
    cases = [Case(run, name) for name in run.scenarios]
    drawn = cases[: max(1, CELLS_DRAWN // max(len(run.names["party"]), 1))]
    reach = max((float(np.abs(paid_change(case)).max(initial=0.0)) for case in cases), default=0.0) or 1.0
    heads = ["scenario", "stuck step", "bills", "days late"]
    head = [
        element("th", words, scope="col", class_=("sticky", "words", None, None)[place])
        for place, words in enumerate(heads)
    ]
    head += [
        element("th", element("span", pretty(party), dir="auto", title=party), scope="col")
        for party in run.names["party"]
    ]
    rows = [_row(case, reach) for case in drawn]
    grid = element("table", element("thead", element("tr", *head)), element("tbody", *rows), class_="matrix compare")
    more = len(cases) - len(drawn)
    return Figure(
        key="compare",
        title="All scenarios against base",
        unit=run.unit,
        reading=_reading(run, cases),
        picture=element("div", grid, class_="scroll", tabindex=0),
        table=_table(run, cases),
        legend=(Key("paid less than in base", style="loss"), Key("paid more", style="gain")),
        note="In each cell: what the party is paid in the whole run against base, and below it the quarters by which "
        "half of what it is owed comes later (+) or earlier. "
        + (f"{more} more scenarios stand in the table." if more else ""),
    )


def paid_change(case: Case) -> Array:
    """What each party is paid over the run, less the same in base (party,); rounding is nothing."""
    change = case.of("paid").sum(axis=1) - case.base("paid").sum(axis=1)
    return np.where(is_something(change), change, 0.0)


def late_words(case: Case) -> str:
    """How late the latest phase bills: days, or that it is cancelled."""
    place = latest(case)
    if case.of("cancelled")[place]:
        return "cancelled"
    return f"{case.of('days_late')[place]:,.0f}".replace("-0", "0")


def _row(case: Case, reach: float) -> Markup:
    slip, place, changes, later = worst_slip(case), latest(case), paid_change(case), case.of("quarters_late")
    name = element(
        "th",
        element("a", pretty(case.scenario), dir="auto", title=case.scenario, href="#top", data_scenario=case.scenario),
        scope="row",
        class_="sticky",
    )
    cells = [
        element("td", pretty(slip.step) if slip else "-", class_="words", dir="auto"),
        element("td", day(case.of("billing_start")[place])),
        element("td", late_words(case)),
    ]
    for change, quarters in zip(changes, later, strict=True):
        words = [element("b", money(float(change), case.run.scale))]
        if np.isfinite(quarters) and quarters:
            words.append(element("small", f"{quarters:+.0f} q"))
        cells.append(element("td", *words, style=f"background:{diverging(float(change) / reach)}" if change else None))
    return element("tr", name, *cells)


def _table(run: Run, cases: list[Case]) -> Table:
    head = ["scenario", "stuck step", "bills", "days late"]
    for party in run.names["party"]:
        head += [f"{pretty(party)}: paid", f"{pretty(party)}: quarters later"]
    return Table(tuple(head), tuple(tuple(_cells(case)) for case in cases), run.unit)


def _cells(case: Case) -> Iterator[Cell]:
    slip, place = worst_slip(case), latest(case)
    late = float(case.of("days_late")[place])
    date = case.of("billing_start")[place]
    yield name_cell(case.scenario)
    yield name_cell(slip.step) if slip else Cell("-", "", False)
    yield Cell(day(date), "" if np.isnat(date) else str(date.astype("datetime64[D]")))
    yield number_cell(late, late_words(case)) if np.isfinite(late) else Cell("cancelled", "cancelled")
    for change, quarters in zip(paid_change(case), case.of("quarters_late"), strict=True):
        yield money_cell(float(change), case.run.scale)
        yield number_cell(float(quarters), f"{quarters:+.0f}".replace("+0", "0"))


def _reading(run: Run, cases: list[Case]) -> Markup:
    others = [case for case in cases if case.scenario != "base"]
    if not others:
        return Markup("The deal has no scenario besides base.")
    short = [case for case in others if is_something(case.of("unpaid")).any()]
    ends = [case for case in others if float(case.of("unpaid")[:, -1].sum()) >= HALF_CENT]
    words = Markup("In {} of {} somebody is unpaid at some quarter's end").format(
        len(short), plural(len(others), "scenario")
    )
    words += Markup(", and in {} somebody still is when the run ends.").format(len(ends)) if ends else "."
    totals = {case.scenario: float(case.of("unpaid").sum(axis=0).max()) for case in others}
    worst = max(others, key=lambda case: totals[case.scenario])
    if totals[worst.scenario] >= HALF_CENT:
        words += Markup(" Most is owed in {}: {} at once.").format(
            said(worst.scenario), sum_in(run, totals[worst.scenario])
        )
    return words


def scenario_choice(run: Run, chosen: str, available: set[str]) -> Markup:
    """The options of the scenario picker, those that are shown first."""
    options = []
    for name in run.scenarios:
        case = Case(run, name)
        late = late_words(case)
        tail = "" if late == "0" else f" ({late} days late)" if late != "cancelled" else " (cancelled)"
        options.append(
            element(
                "option",
                f"{pretty(name)}{tail}",
                value=name,
                selected="" if name == chosen else None,
                disabled=None if name in available else "",
            )
        )
    return join(options)
