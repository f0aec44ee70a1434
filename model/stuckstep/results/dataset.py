"""The results as one labelled Dataset: (party, quarter, scenario) and the workings behind it."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stuckstep.deal import Deal
from stuckstep.rules import Line, all_claims
from stuckstep.rules.checks import ALERTS, LAWS

from .checks import check_variables
from .grid import FLOW, STOCK, Grid, Variable, dates
from .payments import HALF_CENT, first_paid, half_paid, last_paid, quarters_late
from .returns import irr, npv, reason_text
from .schedule import schedule_variables
from .solve import Array, Solution, solve
from .validity import check_due_dates, check_monthly

DUST = 1e-12  # of what moves both ways in a period
STATUSES = ("contracted", "connected", "installed", "active", "billing")


def run(deal: Deal, scenarios: Sequence[str] | None = None, *, monthly: bool = False) -> xr.Dataset:
    """Who is paid, when and how much: the results of the scenarios named (all by default).

    Dimensions (party, quarter, scenario), and claim, account, facility, support, phase, step, status, law and alert for
    the workings; `monthly` keeps a monthly grid's periods (month in place of quarter). DealError for an unknown
    scenario, and for monthly results of a deal by quarter.
    """
    if scenarios is not None:
        scenarios = _named(scenarios)
    if monthly:
        check_monthly(deal)
    wanted = None if scenarios is None else tuple(dict.fromkeys(("base", *scenarios)))
    solution = solve(deal, wanted, is_shown)
    check_due_dates(solution)
    dataset = label(solution, monthly=monthly)
    return dataset if scenarios is None else dataset.sel(scenario=list(dict.fromkeys(scenarios)))


def _named(scenarios: Any) -> list[str]:
    """The names of scenarios that are asked for: one or several. TypeError for what is no name."""
    names: list[Any] = (
        [scenarios] if isinstance(scenarios, str) or not isinstance(scenarios, Iterable) else list(scenarios)
    )
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"scenarios are asked for by name, such as 'base', not by {name!r}")
    return names


def is_shown(line: Line) -> bool:
    """Whether `label` reads a line: the workings by phase are many times as many, and fill the memory of a large deal.

    The due dates are kept for `check_due_dates`.
    """
    if line.table in ("steps", "phases", "checks") or (line.table, line.item) in _SHOWN_BY_PHASE:
        return True
    return line.phase is None and (line.table, line.item) in _shown()


_SHOWN_BY_PHASE = {
    ("contracts", "billed"),
    ("contracts", "collected"),
    ("contracts", "prepaid"),
    ("claims", "due date"),
    ("contracts", "refund date"),
    ("contracts", "refund"),
}


@cache
def _shown() -> frozenset[tuple[str, str]]:
    return frozenset({("facilities", "window closes"), *((row["table"], row["item"]) for row in tabled())})


@cache
def tabled() -> tuple[dict[str, str], ...]:
    """The rows of variables.csv: the variables that are one line for each label of a dimension, and those lines."""
    with files(__package__).joinpath("variables.csv").open(encoding="utf-8") as table:
        return tuple(csv.DictReader(table))


def label(solution: Solution, *, monthly: bool = False) -> xr.Dataset:
    """The Dataset of a solution that kept every line, or all that are shown, and holds the scenario base."""
    xr.set_options(arithmetic_join="exact")  # type: ignore[no-untyped-call]
    period = "month" if monthly else "quarter"
    grid = Grid(solution, monthly)
    variables: dict[str, Variable] = {}
    variables.update(_tabled(solution, grid))
    variables.update(_by_phase(solution, grid))
    variables.update(_debt(solution, grid, variables))
    variables.update(schedule_variables(solution))
    variables.update(_payment_order(solution, grid, variables))
    variables.update(_returns(solution))
    variables.update(check_variables(solution))
    named = {
        name: (tuple(period if one == "quarter" else one for one in dims), values, _dressed(attributes, period))
        for name, (dims, values, attributes) in variables.items()
    }
    return xr.Dataset(named, _coordinates(solution, grid, period), _attributes(solution))


def _dressed(attributes: dict[str, str], period: str) -> dict[str, str]:
    methods = attributes["cell_methods"]
    return attributes | {"cell_methods": methods.replace("quarter", period)}


def names(solution: Solution, dimension: str) -> tuple[str, ...]:
    """The labels of a dimension, in table order."""
    sheets = solution.plan
    if dimension == "claim":
        return tuple(claim.name for claim in all_claims(sheets))
    tables = {"party": "parties", "facility": "facilities"}
    fixed = {"status": STATUSES, "law": tuple(LAWS), "alert": tuple(ALERTS)}
    return fixed.get(dimension) or sheets.keys(tables.get(dimension, f"{dimension}s"))


def _stack(read: Callable[[str], Array], lines: Sequence[str], shape: tuple[int, ...]) -> Array:
    return np.stack([read(line) for line in lines]) if lines else np.zeros((0, *shape))


def _shape(solution: Solution) -> tuple[int, int]:
    return len(solution.periods.labels), len(solution.scenarios)


def _unit(solution: Solution, unit: str) -> str:
    return str(solution.plan.cell("deal", "currency", "value")) if unit == "money" else unit


def _tabled(solution: Solution, grid: Grid) -> Iterator[tuple[str, Variable]]:
    """The variables that are one line for each label of a dimension: the rows of variables.csv."""
    for row in tabled():
        labels = names(solution, row["dimension"])
        lines = [f"{row['table']}.{label}.{row['item']}" for label in labels]
        values = _stack(solution.line, lines, _shape(solution))
        method = STOCK if "point" in row["cell_methods"] else FLOW
        if row["variable"] == "claim_claimed":
            values = _claimed(solution, grid, labels)
        else:
            values = grid.roll_up(values, method)
        attributes = {key: row[key] for key in ("long_name", "cell_methods", "formula")}
        attributes["units"] = _unit(solution, row["unit"])
        yield row["variable"], ((row["dimension"], "quarter", "scenario"), values, attributes)


def _claimed(solution: Solution, grid: Grid, claims: Sequence[str]) -> Array:
    """Claimed over several months: what was unpaid before the first, and the late and due of all."""
    if len(grid.starts) == len(solution.periods.labels):
        return _stack(solution.line, [f"claims.{claim}.claimed" for claim in claims], _shape(solution))
    first = _stack(solution.line, [f"claims.{claim}.claimed" for claim in claims], _shape(solution))[:, grid.starts]
    for step in range(1, int((grid.last - grid.starts).max()) + 1):
        for item in ("late", "due"):
            lines = [f"claims.{claim}.{item}" for claim in claims]
            first = first + _stack(solution.line, lines, _shape(solution))[:, grid.starts + step]
    return first


def _by_phase(solution: Solution, grid: Grid) -> Iterator[tuple[str, Variable]]:
    """What each phase bills under its contract, and what its customer pays and prepays."""
    says = {
        "billed": ("what a phase bills", "units a day x days x price of the contract year"),
        "collected": (
            "what the customer pays on a phase's bills",
            "bills of net_days earlier x (1 - prepayment / all bills)",
        ),
        "prepaid": ("what the customer prepays for a phase", "prepay_share x planned contract value, on its trigger"),
    }
    for item, (long_name, formula) in says.items():
        values = np.zeros((len(names(solution, "phase")), *_shape(solution)))
        for position, phase in enumerate(names(solution, "phase")):
            for contract in solution.plan.keys("contracts"):
                values[position] += solution.line(f"contracts.{contract}.{item}@{phase}")
        attributes = {"long_name": long_name, "formula": formula, "cell_methods": "quarter: sum"}
        attributes["units"] = _unit(solution, "money")
        yield item, (("phase", "quarter", "scenario"), grid.roll_up(values, FLOW), attributes)


def _debt(solution: Solution, grid: Grid, variables: dict[str, Variable]) -> Iterator[tuple[str, Variable]]:
    """What falls due on each facility, and its DSCR, absent where nothing does."""
    says = {
        "fee": "upfront_fee x draw + commitment_fee x undrawn x days in the window / 360",
        "interest": "(opening balance + half of the draw) x rate x days / 360",
        "principal": "(drawn before - fallen due before) / instalments left x instalment dates in the period",
    }
    dims = ("facility", "quarter", "scenario")
    for kind, formula in says.items():
        lines = [f"claims.{facility}.{kind}.due" for facility in names(solution, "facility")]
        values = grid.roll_up(_stack(solution.line, lines, _shape(solution)), FLOW)
        attributes = {"long_name": f"{kind} that falls due", "formula": formula, "cell_methods": "quarter: sum"}
        yield f"{kind}_due", (dims, values, attributes | {"units": _unit(solution, "money")})
    cfads, service = variables["cfads"][1], variables["debt_service"][1]
    is_due = service > HALF_CENT  # after the last instalment dust may be left
    dscr = np.where(is_due, cfads / np.where(is_due, service, 1.0), np.nan)
    attributes = {
        "long_name": "debt service cover ratio; absent where nothing is due",
        "formula": "cfads / debt_service",
        "cell_methods": "quarter: sum (comment: of both sides of the ratio)",
        "units": "1",
    }
    yield "dscr", (dims, dscr, attributes)
    closes = [solution.static(f"facilities.{facility}.window closes") for facility in names(solution, "facility")]
    attributes = {
        "long_name": "when a facility can no longer be drawn",
        "formula": "its date or the latest phase's trigger",
    }
    attributes |= {"cell_methods": "quarter: point", "units": "date"}
    shape = (0, len(solution.scenarios))
    yield "available_until", (dims[::2], dates(np.stack(closes) if closes else np.zeros(shape)), attributes)


def _payment_order(solution: Solution, grid: Grid, variables: dict[str, Variable]) -> Iterator[tuple[str, Variable]]:
    """When each party is first, half and last paid, and how much later than in base."""
    due, paid = (np.moveaxis(variables[name][1], 1, 0) for name in ("due", "paid"))
    half = half_paid(paid, due)
    position = solution.scenarios.index("base")
    found = {
        "first_paid": (first_paid(paid), "end of the first quarter in which a party is paid"),
        "half_paid": (half, "end of the first quarter by which half of all that falls due to a party is paid"),
        "last_paid": (last_paid(paid), "end of the last quarter in which a party is paid"),
    }
    for name, (index, long_name) in found.items():
        attributes = {"long_name": long_name, "formula": f"from paid{' and due' * (name == 'half_paid')}"}
        attributes |= {"cell_methods": "quarter: point", "units": "date"}
        yield name, (("party", "scenario"), _end_of(grid, index), attributes)
    late = quarters_late(half, half[:, position : position + 1])
    attributes = {
        "long_name": "quarters by which half_paid comes later than in base; absent where either is",
        "formula": "half_paid - half_paid of base",
        "cell_methods": "quarter: point",
        "units": "quarters",
    }
    yield "quarters_late", (("party", "scenario"), late, attributes)


def _end_of(grid: Grid, index: Array) -> NDArray[np.datetime64]:
    known = np.isfinite(index)
    ends = grid.end[np.where(known, index, 0).astype(np.intp)]
    return np.where(known, ends, np.datetime64("NaT", "s"))


def _returns(solution: Solution) -> Iterator[tuple[str, Variable]]:
    """IRR and NPV of each party's flows, dated at the ends of the run's own periods."""
    parties = names(solution, "party")
    net, paid, puts_in = (
        np.moveaxis(_stack(solution.line, [f"parties.{party}.{item}" for party in parties], _shape(solution)), 1, 0)
        for item in ("net", "paid", "puts in")
    )
    flows = np.where(np.abs(net) <= DUST * (paid + puts_in), 0.0, net)  # what cancels out within a period is no flow
    ends = solution.periods.next_first_day - 1
    rate, reason = irr(flows, ends)
    discount = _deal_numbers(solution, "discount_rate")
    worth = npv(flows, ends, discount[None, :], solution.periods.first_day[0])
    dims = ("party", "scenario")
    said = {"cell_methods": "quarter: sum"}
    formula = "sum of net / (1 + rate) ** ((period end - {}) / 365)"
    yield "irr", (dims, rate, said | {"long_name": "annual effective rate of a party's flows", "units": "1/year",
                  "formula": f"the rate at which {formula.format('start')} is zero"})  # fmt: skip
    words = reason_text(reason).astype(object)
    yield "irr_reason", (dims, words, said | {"long_name": "why irr is absent or not the only one", "units": "1",
                         "formula": "from the signs of net"})  # fmt: skip
    yield "npv", (dims, worth, said | {"long_name": "a party's flows discounted to start at discount_rate",
                  "units": _unit(solution, "money"), "formula": formula.format("start")})  # fmt: skip


def _deal_numbers(solution: Solution, item: str) -> Array:
    """A number of the table deal in each scenario."""
    found: dict[str, float] = {}
    for part in solution.parts:
        values = part.sheets.value(part.sheets.find("deal", item, "value"))
        found.update(zip(part.sheets.scenarios, values, strict=True))
    return np.array([found[name] for name in solution.scenarios])


def _coordinates(solution: Solution, grid: Grid, period: str) -> dict[str, Any]:
    dimensions = ("party", "claim", "account", "facility", "support", "phase", "step", "status", "law", "alert")
    coordinates: dict[str, Any] = {name: np.array(names(solution, name), dtype=object) for name in dimensions}
    paid_to: dict[str, tuple[str, ...]] = {}
    for part in solution.parts:
        paid_to |= dict.fromkeys(part.sheets.scenarios, tuple(claim.payee for claim in all_claims(part.sheets)))
    payees = [paid_to[name] for name in solution.scenarios]
    return coordinates | {
        period: (period, grid.end, {"long_name": f"last day of the {period}"}),
        "label": (period, np.array(grid.labels, dtype=object)),
        "scenario": np.array(solution.scenarios, dtype=object),
        "payee": (("claim", "scenario"), np.array(payees, dtype=object).T, {"long_name": "who a claim is paid to"}),
    }


def _attributes(solution: Solution) -> dict[str, str]:
    sheets = solution.plan
    return {
        "title": str(sheets.cell("deal", "title", "value")),
        "currency": str(sheets.cell("deal", "currency", "value")),
        "stuckstep_version": version("stuckstep"),
        "assumptions_sha256": solution.deal.digest,
    }
