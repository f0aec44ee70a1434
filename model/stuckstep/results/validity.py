"""What can only be judged once the schedule is worked out: what falls due before the start, or ends past all dates."""

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from stuckstep.deal import Deal, DealError, Fault, Sheets, base, from_serial, layout, scenario_names, serial
from stuckstep.rules.claims import claim_phases
from stuckstep.rules.contracts import billed_phases
from stuckstep.rules.lines import name_of

from .payments import HALF_CENT
from .solve import Array, Part, Solution, solve

_SAYS = {  # of each table: the claim, the column its due date follows from, and how
    "claims": ("{}", "trigger", "trigger + net_days"),
    "contracts": ("{}.refund", None, "the day a phase is cancelled or its term ends"),
}
# Terms and net days of a century come on top, and all of it stays before the day that stands for never.
_LATEST = datetime.date(9500, 1, 1)


def check_schedule(deal: Deal) -> None:
    """Works out only the schedule of every scenario, and raises what `check_due_dates` does."""
    check_due_dates(solve(deal, keep=_due_dates(deal)))


def check_due_dates(solution: Solution, tables: Collection[str] = ("claims", "contracts")) -> None:
    """DealError where a claim falls due on a day before the first period, or a step ends where no date reaches.

    One fault for each claim, and one for the first such step. tables: whose claims; refunds are those of the contracts.
    """
    faults = [*_beyond(solution)][:1]
    for table in tables:
        faults += [fault for row in solution.plan.keys(table) for fault in _early(solution, table, row)]
    if faults:
        raise DealError(faults)


class Bound(NamedTuple):
    """A due date that may not lie before the start: the row it belongs to, the lines of the date and of what is owed
    on it; no line where the date is refused whatever is owed."""

    table: str
    row: str
    date: str
    owed: str = ""

    @property
    def claim(self) -> str:
        """What falls due."""
        return _SAYS[self.table][0].format(self.row)


def bound_dates(sheets: Sheets) -> Iterator[Bound]:
    """The due dates of once claims, and of refunds where there is something to refund."""
    for claim in sheets.keys("claims"):
        if sheets.kind(claim) == "once":
            for phase in claim_phases(sheets, claim):
                yield Bound("claims", claim, name_of("claims", claim, "due date", phase))
    for contract, phase in _billed(sheets):
        yield _refund(contract, phase)


def _billed(sheets: Sheets) -> list[tuple[str, str]]:
    """Every contract with each phase it bills."""
    return [(contract, phase) for contract in sheets.keys("contracts") for phase in billed_phases(sheets, contract)]


def _refund(contract: str, phase: str) -> Bound:
    date, owed = (name_of("contracts", contract, item, phase) for item in ("refund date", "refund"))
    return Bound("contracts", contract, date, owed)


def bound_lines(bounds: Iterable[Bound]) -> list[str]:
    """The lines of some bound dates."""
    return [line for bound in bounds for line in (bound.date, bound.owed) if line]


def unsteady_dates(part: Part, start: float) -> list[Bound]:
    """The bound dates before the start that may lie between the extremes which are a part's scenarios.

    Most dates move one way with every cell. A refund is owed by some values and not by others, and billing jumps where
    a phase is cancelled; of these it is known how early they are at most, since no day that they can fall on moves back
    as a cell's own value grows.
    """

    def earliest(lines: Iterable[str]) -> float:
        return min(float(part.values[line].min()) for line in lines)

    refunds = [
        _refund(contract, phase)
        for contract, phase in _billed(part.sheets)
        if _prepays(part.sheets, contract) and earliest(_ends(contract, phase)) < start
    ]
    billed = [
        Bound("claims", claim, name_of("claims", claim, "due date", phase))
        for claim, phase, phases in _on_billing(part.sheets)
        if earliest(map(_finish, phases)) + _least(part.sheets, "claims", claim, "net_days") < start
    ]
    return [*billed, *refunds]


def unsteady_lines(sheets: Sheets) -> list[str]:
    """The lines that `unsteady_dates` reads."""
    ends = [end for contract, phase in _billed(sheets) for end in _ends(contract, phase)]
    return [*ends, *(_finish(phase) for _, _, phases in _on_billing(sheets) for phase in phases)]


def _ends(contract: str, phase: str) -> tuple[str, str]:
    """The days on one of which a refund falls due."""
    return name_of("phases", phase, "long-stop"), name_of("contracts", contract, "end", phase)


def _finish(phase: str) -> str:
    return name_of("phases", phase, "last finish")


def _on_billing(sheets: Sheets) -> Iterator[tuple[str, str, Sequence[str]]]:
    """The once claims that billing makes due, in each phase or the deal, with the phases whose billing that may be."""
    for claim in sheets.keys("claims"):
        if sheets.kind(claim) == "once" and sheets.cell("claims", claim, "trigger") == "billing":
            for phase in claim_phases(sheets, claim):
                yield claim, phase, [phase] if phase in sheets.keys("phases") else sheets.keys("phases")


def _least(sheets: Sheets, table: str, row: str, column: str) -> float:
    return float(sheets.value(sheets.find(table, row, column)).min())


def _prepays(sheets: Sheets, contract: str) -> bool:
    return bool((sheets.value(sheets.find("contracts", contract, "prepay_share")) > 0).any())


def early(bound: Bound, values: Mapping[str, Array], start: float) -> int | None:
    """The first run in which something falls due before the start; None where nothing does in any."""
    is_owed = values[bound.owed] > HALF_CENT if bound.owed else True
    places = np.flatnonzero((values[bound.date] < start) & is_owed)
    return int(places[0]) if places.size else None


def _due_dates(deal: Deal) -> list[str]:
    """The names that due dates can have in any scenario, whose phases may differ from base, and the steps' ends."""
    sheets = base(deal)
    phases = (*sheets.keys("phases"), "deal")
    items = {"steps": ("finish",), "claims": ("due date",), "contracts": ("refund date", "refund")}
    return [
        name_of(table, row, item, phase)
        for table, named in items.items()
        for row in sheets.keys(table)
        for item in named
        for phase in phases
    ]


def _beyond(solution: Solution) -> Iterator[Fault]:
    """A fault for each step that ends later than any date that is reckoned with, in some scenario."""
    deal, latest = solution.deal, serial(_LATEST)
    for number, step in ((row.number, row.cells["step"]) for row in deal.tables["steps"]):
        for phase in solution.plan.keys("phases"):
            late = solution.static(name_of("steps", str(step), "finish", phase)) > latest
            if late.any():
                first = solution.scenarios[int(late.argmax())]
                shown = "" if first == "base" else f" in scenario {first}"
                wrong = f"{step} in {phase} ends after {_LATEST}{shown}"
                yield Fault(deal.files["steps"], number, "step", wrong, f"an end by {_LATEST} is allowed")


def _early(solution: Solution, table: str, row: str) -> Iterator[Fault]:
    """The fault of a row, with its earliest date and the scenarios it is too early in."""
    start = float(solution.periods.first_day[0])
    found: dict[str, float] = {}
    for part in solution.parts:
        for bound in (bound for bound in bound_dates(part.sheets) if (bound.table, bound.row) == (table, row)):
            for scenario, date in zip(part.sheets.scenarios, _owed_on(part, bound), strict=True):
                if date < start:
                    found[scenario] = min(float(date), found.get(scenario, start))
    if found:
        yield _fault(solution, table, row, found, start)


def _owed_on(part: Part, bound: Bound) -> Array:
    """The date of a claim in each scenario; infinite where nothing is owed on it."""
    dates = part.values[bound.date]
    return dates if not bound.owed else np.where(part.values[bound.owed] > HALF_CENT, dates, np.inf)


def _fault(solution: Solution, table: str, row: str, found: dict[str, float], start: float) -> Fault:
    deal = solution.deal
    number = next(one.number for one in deal.tables[table] if one.cells[layout.key(table)] == row)
    names = [name for name in scenario_names(deal) if name in found]
    shown = "" if names[0] == "base" else f" in scenario {names[0]}"
    shown += f" and {len(names) - 1} more" if len(names) > 1 and names[0] != "base" else ""
    earliest = from_serial(found["base"] if "base" in found else min(found.values()))
    name, column, means = _SAYS[table]
    wrong = f"{name.format(row)} falls due on {earliest}{shown}, before the start"
    allowed = f"a due date ({means}) on or after {from_serial(start)} is allowed"
    return Fault(deal.files[table], number, column, wrong, allowed)


def check_monthly(deal: Deal) -> None:
    """DealError where a deal does not run by month: there are no monthly results to keep."""
    if base(deal).cell("deal", "grid", "value") != "month":
        row = next((row.number for row in deal.tables["deal"] if row.cells["item"] == "grid"), None)
        wrong, allowed = "monthly results need a deal that runs by month", "the grid month is required for it"
        raise DealError([Fault(deal.files["deal"], row, "value", wrong, allowed)])
