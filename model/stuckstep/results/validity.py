"""What can only be judged once the schedule is worked out: a once claim may not fall due before the deal starts."""

from collections.abc import Iterator

from stuckstep.deal import Deal, DealError, Fault, base, from_serial, scenario_names
from stuckstep.rules.claims import claim_phases
from stuckstep.rules.lines import name_of

from .solve import Solution, solve


def check_schedule(deal: Deal) -> None:
    """Works out only the schedule of every scenario, and raises what `check_due_dates` does."""
    check_due_dates(solve(deal, keep=_due_dates(deal)))


def check_due_dates(solution: Solution) -> None:
    """DealError where a once claim falls due before the first period: one fault for each claim."""
    faults = [fault for claim in solution.plan.keys("claims") for fault in _early(solution, claim)]
    if faults:
        raise DealError(faults)


def _due_dates(deal: Deal) -> list[str]:
    """The names that due dates can have in any scenario: phases may differ from base."""
    sheets = base(deal)
    phases = (*sheets.keys("phases"), "deal")
    return [name_of("claims", claim, "due date", phase) for claim in sheets.keys("claims") for phase in phases]


def _early(solution: Solution, claim: str) -> Iterator[Fault]:
    """The fault of a claim, at its trigger, with its earliest date and the scenarios it is too early in."""
    start = float(solution.periods.first_day[0])
    found: dict[str, float] = {}
    for part in solution.parts:
        if part.sheets.kind(claim) != "once":
            continue
        for phase in claim_phases(part.sheets, claim):
            dates = part.values[name_of("claims", claim, "due date", phase)]
            for scenario, date in zip(part.sheets.scenarios, dates, strict=True):
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
