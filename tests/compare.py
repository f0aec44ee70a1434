"""Compares a solution of the engine with the plain reference program."""

import reference
from stuckstep.deal import serial
from stuckstep.results import Solution

CENT = 0.005
CLAIM_ITEMS = ("due", "late", "claimed", "paid", "unpaid")


def differences(solution: Solution, expected: dict[str, reference.Result]) -> list[str]:
    """What differs by more than half a cent, or by a day: one line each."""
    found: list[str] = []
    for position, scenario in enumerate(solution.scenarios):
        result = expected[scenario]
        found += [f"{scenario}: {line}" for line in _amounts(solution, position, result)]
        found += [f"{scenario}: {line}" for line in _dates(solution, position, result)]
    return found


def _amounts(solution: Solution, position: int, result: reference.Result) -> list[str]:
    wanted: dict[str, list[float]] = {}
    for claim, rows in result.claims.items():
        for item in CLAIM_ITEMS:
            wanted[f"claims.{claim}.{item}"] = [row[item] for row in rows]
    for account, cash in result.cash_closing.items():
        wanted[f"accounts.{account}.closing"] = cash
    for facility, series in result.facilities.items():
        wanted[f"facilities.{facility}.draw"] = series["draw"]
        wanted[f"facilities.{facility}.balance"] = series["balance_closing"]
    for support, paid in result.support_paid.items():
        wanted[f"supports.{support}.paid"] = paid
    for status, mw in result.mw.items():
        wanted[f"mw.{status}.mw"] = mw
    contracts = solution.parts[0].sheets.keys("contracts")
    for item in ("billed", "collected", "prepaid"):
        for phase, amounts in getattr(result, item).items():
            got = sum(solution.line(f"contracts.{contract}.{item}@{phase}")[:, position] for contract in contracts)
            if contracts and abs(got - amounts).max() > CENT:
                return [f"{item} of {phase}: {got} is not {amounts}"]
    return [
        f"{name} in {result.periods[worst]}: {got[worst]} is not {amounts[worst]}"
        for name, amounts in wanted.items()
        if (worst := int(abs((got := solution.line(name)[:, position]) - amounts).argmax())) >= 0
        and abs(got[worst] - amounts[worst]) > CENT
    ]


def _dates(solution: Solution, position: int, result: reference.Result) -> list[str]:
    found = []
    for (phase, step), date in result.finish.items():
        got = solution.static(f"steps.{step}.finish@{phase}")[position]
        if got != serial(date):
            found.append(f"{step} in {phase} ends on {got}, not on {date}")
        relief = solution.static(f"steps.{step}.relief@{phase}")[position]
        if relief != result.relief[phase, step]:
            found.append(f"relief of {step} in {phase} is {relief}, not {result.relief[phase, step]}")
    for phase, day in result.billing.items():
        got = solution.static(f"phases.{phase}.billing")[position]
        if got != (2_900_000 if day is None else serial(day)):
            found.append(f"{phase} bills from {got}, not from {day}")
    return found
