"""Results that no single line holds, explained by the rows they are worked out from: dates of payment, returns, the
stuck step."""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd
import xarray as xr

from stuckstep.deal import Deal, DealError, Fault, Sheets, base
from stuckstep.results import Solution, label, solve

from .amounts import HALF_CENT, money, number
from .console import Block, Heading, Sentence, Table
from .tables import period_of

OUTCOMES = {
    "party": ("first_paid", "half_paid", "last_paid", "quarters_late", "irr", "npv"),
    "phase": ("stuck_step",),
}
TABLES = {"party": "parties", "phase": "phases"}
RATED = ("irr", "npv")  # these are of the flows of the run's own periods


class Outcome(NamedTuple):
    """A variable of the Dataset for one label of its dimension."""

    variable: str
    dimension: str
    name: str


def find_outcome(deal: Deal, typed: str) -> Outcome | None:
    """What `neocloud.irr` means, or `stuck_step` where there is one phase; None where it is no outcome.

    DealError where the row is missing among several, or unknown.
    """
    row, _, last = typed.strip().rpartition(".")
    variable = last.casefold().replace(" ", "_")
    dimension = next((name for name, variables in OUTCOMES.items() if variable in variables), None)
    if dimension is None:
        return None
    names = base(deal).keys(TABLES[dimension])
    found = [name for name in names if not row or name.casefold() == row.casefold()]
    if len(found) != 1:
        wrong = f"no {dimension} has this name" if row else f"it is one for each {dimension}"
        allowed = ", ".join(f"{name}.{variable}" for name in names)
        raise DealError([Fault(typed, None, None, wrong, f"one of {allowed} is allowed")])
    return Outcome(variable, dimension, found[0])


def outcome_names(sheets: Sheets) -> Iterator[str]:
    """What may be typed for an outcome: of each row, as neocloud.irr, and alone."""
    for dimension, variables in OUTCOMES.items():
        yield from (f"{row}.{variable}" for row in sheets.keys(TABLES[dimension]) for variable in variables)
        yield from variables


def explain_outcome(deal: Deal, outcome: Outcome, scenario: str = "base") -> Iterator[Block]:
    """The value, how it is worked out, and the rows it is worked out from. DealError for an unknown scenario."""
    solution = solve(deal, list(dict.fromkeys(("base", scenario))))
    is_monthly = len(solution.periods.labels) != len(solution.periods.quarter_labels)
    dataset = label(solution, monthly=is_monthly and outcome.variable in RATED)
    found = dataset[outcome.variable].sel({outcome.dimension: outcome.name, "scenario": scenario})
    currency = str(dataset.attrs["currency"])
    yield Heading(f"{outcome.name}.{outcome.variable} = {_shown(found, currency)}")
    yield Sentence(f"{found.attrs['long_name']}; scenario {scenario}")
    yield Sentence(f"= {found.attrs['formula']}", indent=2)
    case = dataset.sel(scenario=scenario)
    if outcome.dimension == "phase":
        yield _steps(solution, case, outcome.name, scenario)
        return
    party = case.sel(party=outcome.name)
    if outcome.variable == "irr" and str(party["irr_reason"].item()) not in ("ok", ""):
        yield Sentence(f"{party['irr_reason'].item()}.")
    if outcome.variable == "quarters_late":
        before = dataset["half_paid"].sel(party=outcome.name, scenario="base").item()
        yield Sentence(f"half paid in base: {_day(before)}; in {scenario}: {_day(party['half_paid'].item())}")
    yield _flows(party, currency)
    yield Sentence(
        f"Each of these rows is a line: {outcome.name}.paid, {outcome.name}.due and so on, by {period_of(dataset)}."
    )


def _steps(solution: Solution, case: xr.Dataset, phase: str, scenario: str) -> Table:
    """The steps of a phase: planned and late, and what curing each alone would gain."""
    part, place = solution.where(scenario)
    rows = []
    for step in map(str, case["step"].values):
        here = case.sel(step=step, phase=phase)
        delay = part.sheets.value(part.sheets.find("steps", step, "delay", phase))[place]
        days = [number(float(value)) for value in (delay, here["relief"].item(), here["float"].item())]
        rows.append([step, _day(here["start"].item()), _day(here["finish"].item()), *days])
    return Table(["step", "start", "finish", "delay", "relief", "float"], rows, title=f"Steps of {phase} (days)")


def _flows(party: xr.Dataset, currency: str) -> Table:
    """What falls due to a party, what it is paid and what it puts in, in the periods in which anything moves."""
    names = ("due", "paid", "puts_in", "net")
    amounts = {name: party[name].values for name in names}
    labels = map(str, party["label"].values)
    rows = [
        [at, _day(end), *(money(float(amounts[name][place])) for name in names)]
        for place, (at, end) in enumerate(zip(labels, party[period_of(party)].values, strict=True))
        if any(abs(amounts[name][place]) >= HALF_CENT for name in names)
    ]
    return Table([period_of(party), "dated", "due", "paid", "puts in", "net"], rows, title=f"Flows ({currency})")


def _shown(found: xr.DataArray, currency: str) -> str:
    value = found.item()
    match str(found.attrs["units"]):
        case "date":
            return _day(value)
        case "1/year":
            return "none" if value != value else f"{100 * value:,.2f}% a year"
        case "1":
            return str(value) or "none"
        case "quarters":
            return "none" if value != value else f"{value:,.0f} quarters"
    return f"{currency} {money(float(value))}"


def _day(value: object) -> str:
    day = pd.Timestamp(value)  # type: ignore[arg-type]
    return "never" if pd.isna(day) else f"{day:%Y-%m-%d}"
