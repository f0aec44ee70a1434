"""What can only be judged once the schedule is worked out: what falls due before the start, or ends past all dates."""

import datetime
from collections.abc import Iterator

from stuckstep.deal import Deal, DealError, Fault, Sheets, base, from_serial, scenario_names, serial
from stuckstep.rules.claims import claim_phases
from stuckstep.rules.lines import name_of

from .solve import Solution, solve

# Terms and net days of a century come on top, and all of it stays before the day that stands for never.
_LATEST = datetime.date(9500, 1, 1)


def check_schedule(deal: Deal) -> None:
    """Works out only the schedule of every scenario, and raises what `check_due_dates` does."""
    check_due_dates(solve(deal, keep=_due_dates(deal)))


def check_due_dates(solution: Solution) -> None:
    """DealError where a once claim falls due before the first period, or a step ends where no date reaches.

    One fault for each claim, and one for the first such step.
    """
    faults = [*_beyond(solution)][:1]
    faults += [fault for claim in solution.plan.keys("claims") for fault in _early(solution, claim)]
    if faults:
        raise DealError(faults)


def bound_dates(sheets: Sheets) -> Iterator[tuple[str, str]]:
    """The due dates that may not lie before the start: the claim and the line of each."""
    for claim in sheets.keys("claims"):
        if sheets.kind(claim) == "once":
            for phase in claim_phases(sheets, claim):
                yield claim, name_of("claims", claim, "due date", phase)


def _due_dates(deal: Deal) -> list[str]:
    """The names that due dates can have in any scenario, whose phases may differ from base, and the steps' ends."""
    sheets = base(deal)
    phases = (*sheets.keys("phases"), "deal")
    ends = [name_of("steps", step, "finish", phase) for step in sheets.keys("steps") for phase in phases[:-1]]
    return ends + [name_of("claims", claim, "due date", phase) for claim in sheets.keys("claims") for phase in phases]


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


def _early(solution: Solution, claim: str) -> Iterator[Fault]:
    """The fault of a claim, at its trigger, with its earliest date and the scenarios it is too early in."""
    start = float(solution.periods.first_day[0])
    found: dict[str, float] = {}
    for part in solution.parts:
        for line in (line for one, line in bound_dates(part.sheets) if one == claim):
            for scenario, date in zip(part.sheets.scenarios, part.values[line], strict=True):
                if date < start:
                    found[scenario] = min(float(date), found.get(scenario, start))
    if found:
        yield _fault(solution, claim, found, start)


def _fault(solution: Solution, claim: str, found: dict[str, float], start: float) -> Fault:
    deal = solution.deal
    row = next(row for row in deal.tables["claims"] if row.cells["claim"] == claim)
    names = [name for name in scenario_names(deal) if name in found]
    shown = "" if names[0] == "base" else f" in scenario {names[0]}"
    shown += f" and {len(names) - 1} more" if len(names) > 1 and names[0] != "base" else ""
    earliest = found["base"] if "base" in found else min(found.values())
    wrong = f"{claim} falls due on {from_serial(earliest)}{shown}, before the start"
    allowed = f"a due date (trigger + net_days) on or after {from_serial(start)} is allowed"
    return Fault(deal.files["claims"], row.number, "trigger", wrong, allowed)


def check_monthly(deal: Deal) -> None:
    """DealError where a deal does not run by month: there are no monthly results to keep."""
    if base(deal).cell("deal", "grid", "value") != "month":
        row = next((row.number for row in deal.tables["deal"] if row.cells["item"] == "grid"), None)
        wrong, allowed = "monthly results need a deal that runs by month", "the grid month is required for it"
        raise DealError([Fault(deal.files["deal"], row, "value", wrong, allowed)])
