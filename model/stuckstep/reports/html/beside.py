"""What the figures want beside a run's results, from the engine: the planned steps, the money on idle capacity, and the
scenario once more with one more quarter of delay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

import numpy as np

from stuckstep.deal import Cell, Deal, Place, Row, Sheets, Value, base, serial
from stuckstep.results import Solution, solve
from stuckstep.results.payments import half_paid, quarters_late
from stuckstep.results.returns import npv

from .cases import Array, Case, Run

QUARTER_DAYS = 91.0
FOREVER = 36500.0  # days


class Slip(NamedTuple):
    """A step that is one more quarter late, in some phases."""

    step: str
    phases: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Cost:
    """What a slip changes for each party (party,): present value, what is paid, quarters until half is paid, the most
    that is unpaid at a quarter's end; and how many days later the slipped phases bill (NaN when one is cancelled)."""

    slip: Slip
    npv: Array
    paid: Array
    quarters: Array
    unpaid: Array
    days: float


@dataclass(frozen=True, eq=False)
class Beside:
    """For one scenario: planned start and finish (phase, step) as serials, what is paid out on phases that do not bill
    yet (quarter,) here and in base, the costs of one more quarter, and the slip of the stuck step (None without it)."""

    planned_start: Array
    planned_finish: Array
    idle: Array
    idle_base: Array
    costs: tuple[Cost, ...]
    stuck: Slip | None


def worst_slip(case: Case) -> Slip | None:
    """The stuck step of a scenario, and the phases it holds up; None where no step is stuck."""
    phases = case.run.names["phase"]
    mw = [case.number("phases", phase, "mw") for phase in phases]
    return heaviest(phases, mw, case.of("stuck_step"), case.of("days_late"))


def heaviest(phases: Sequence[str], mw: Sequence[float], stuck: Array, late: Array) -> Slip | None:
    """Of the stuck steps by phase the one that holds up the most MW-days, with the phases it holds up.

    stuck: names by phase, blank where none is; late: days by phase, NaN where it is cancelled, which counts for longer
    than any delay.
    """
    weight: dict[str, float] = {}
    for name, days, size in zip(stuck, late, mw, strict=True):
        if name:
            weight[name] = weight.get(name, 0.0) + (max(days, 1.0) if np.isfinite(days) else FOREVER) * max(size, 1e-6)
    if not weight:
        return None
    worst = max(weight, key=lambda step: weight[step])
    return Slip(worst, tuple(phase for phase, name in zip(phases, stuck, strict=True) if name == worst))


def possible_slips(case: Case) -> list[Slip]:
    """Every step, in the phases that do not bill before the deal's first quarter."""
    phases = open_phases(case)
    return [Slip(step, phases) for step in case.run.names["step"]] if phases else []


def open_phases(case: Case) -> tuple[str, ...]:
    """The phases that begin to bill inside the run or never do; all, where every one bills from before its start."""
    starts = case.of("billing_start")
    first = case.run.ends[0] - np.timedelta64(92, "D")
    names = case.run.names["phase"]
    return tuple(name for name, start in zip(names, starts, strict=True) if np.isnat(start) or start > first)


def varied(deal: Deal, named: Mapping[str, tuple[str, Mapping[Cell, Value]]]) -> Deal:
    """The deal with more scenarios: each is another scenario's rows with some cells changed."""
    rows = list(deal.tables["scenarios"])
    for name, (like, changes) in named.items():
        kept = [row for row in deal.tables["scenarios"] if row.cells["scenario"] == like]
        rows += [Row(0, {**row.cells, "scenario": name}, row.extras) for row in kept if _cell_of(row) not in changes]
        rows += [_change(name, cell, value) for cell, value in changes.items()]
    return replace(deal, tables={**deal.tables, "scenarios": tuple(rows)})


def _cell_of(row: Row) -> Cell:
    table, name, column = (str(row.cells[heading] or "") for heading in ("table", "row", "column"))
    return Cell(table, name, column or "value" if table == "deal" else column)


def _change(scenario: str, cell: Cell, value: Value) -> Row:
    named = {"scenario": scenario, "table": cell.table, "row": cell.row, "column": cell.column, "value": value}
    return Row(0, named, {})


def slipped(sheets: Sheets, slip: Slip) -> dict[Cell, Value]:
    """The cells of a scenario that make a step one more quarter late: of a deal with several phases, in these alone."""
    found: dict[Cell, Value] = {}
    for phase in slip.phases:
        cell = sheets.find("steps", slip.step, "delay", phase)
        changed = cell if len(sheets.keys("phases")) == 1 else Cell("steps", f"{slip.step}@{phase}", "delay")
        found[changed] = float(sheets.value(cell)[0]) + QUARTER_DAYS
    return found


def beside(run: Run, scenarios: Sequence[str] | None = None, every_step: Iterable[str] = ()) -> dict[str, Beside]:
    """Beside each scenario named (all by default), by one more run of the engine.

    `every_step`: the scenarios for which one more quarter of every step is asked, not of the stuck one alone.
    """
    chosen = run.scenarios if scenarios is None else tuple(dict.fromkeys(scenarios))
    every = set(every_step)
    asked: dict[str, tuple[str, Slip]] = {}
    for name in chosen:
        case = Case(run, name)
        stuck = worst_slip(case)
        slips = possible_slips(case) if name in every else []
        slips = [*([stuck] if stuck else []), *(slip for slip in slips if not stuck or slip.step != stuck.step)]
        asked |= {f"\n{name}\n{position}": (name, slip) for position, slip in enumerate(slips)}
    changes = {new: (name, slipped(run.sheets[name], slip)) for new, (name, slip) in asked.items()}
    deal = varied(run.deal, changes)
    wanted = tuple(dict.fromkeys(("base", *chosen, *asked)))
    solution = solve(deal, wanted, lines_wanted(run))
    return {
        name: beside_one(run, solution, name, {new: slip for new, (old, slip) in asked.items() if old == name})
        for name in chosen
    }


def lines_wanted(run: Run) -> list[str]:
    """The lines that `beside_one` reads."""
    names, claims = run.names, [claim for claim, _ in _own_claims(run, "base")]
    pairs = [(step, phase) for phase in names["phase"] for step in names["step"]]
    parties = [f"parties.{party}.{item}" for party in names["party"] for item in ("due", "paid", "unpaid", "net")]
    phases = [f"phases.{phase}.{item}" for phase in names["phase"] for item in ("billing", "days late", "cancelled")]
    planned = [f"steps.{step}.planned finish@{phase}" for step, phase in pairs]
    idle = [f"claims.{claim}.due@{phase}" for claim in claims for phase in (*names["phase"], "deal")]
    return [*parties, *phases, *planned, *idle, *(f"claims.{claim}.paid" for claim in claims)]


def beside_one(run: Run, solution: Solution, scenario: str, slips: Mapping[str, Slip]) -> Beside:
    """Beside one scenario of a solution that also holds the slipped ones by their names there."""
    finish = _planned_finish(run, solution)
    plain = base(run.deal)
    days = [
        [plain.value(plain.find("steps", step, "days", phase))[0] for step in run.names["step"]]
        for phase in run.names["phase"]
    ]
    return Beside(
        planned_start=finish - np.array(days, dtype=float),
        planned_finish=finish,
        idle=idle_money(run, solution, scenario),
        idle_base=idle_money(run, solution, "base"),
        costs=tuple(cost_of(run, solution, scenario, new, slip) for new, slip in slips.items()),
        stuck=worst_slip(Case(run, scenario)),
    )


def _planned_finish(run: Run, solution: Solution) -> Array:
    names = run.names
    return np.array(
        [
            [solution.static(f"steps.{step}.planned finish@{phase}")[0] for step in names["step"]]
            for phase in names["phase"]
        ]
    )


def cost_of(run: Run, solution: Solution, scenario: str, slipped_name: str, slip: Slip) -> Cost:
    """What the slipped scenario changes against the scenario itself."""
    lanes = [solution.scenarios.index(scenario), solution.scenarios.index(slipped_name)]
    parties = run.names["party"]
    due, paid, unpaid, net = (
        np.stack([solution.line(f"parties.{party}.{item}")[:, lanes] for party in parties], axis=1)
        for item in ("due", "paid", "unpaid", "net")
    )
    rate = Case(run, scenario).number("deal", "discount_rate", "value")
    worth = npv(net, solution.periods.next_first_day - 1, np.array(rate), solution.periods.first_day[0])
    half = half_paid(_by_quarter(solution, paid), _by_quarter(solution, due))
    days = [
        np.where(solution.static(f"phases.{phase}.cancelled") > 0, np.nan, solution.static(f"phases.{phase}.days late"))
        for phase in slip.phases
    ]
    later = [phase[lanes[1]] - phase[lanes[0]] for phase in days]
    return Cost(
        slip=slip,
        npv=worth[:, 1] - worth[:, 0],
        paid=paid[..., 1].sum(axis=0) - paid[..., 0].sum(axis=0),
        quarters=quarters_late(half[:, 1], half[:, 0]),
        unpaid=unpaid[..., 1].max(axis=0) - unpaid[..., 0].max(axis=0),
        days=float(np.max(later)) if later else 0.0,
    )


def _by_quarter(solution: Solution, flows: Array) -> Array:
    index = solution.periods.quarter_index
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    return np.add.reduceat(flows, starts, axis=0)


def idle_money(run: Run, solution: Solution, scenario: str) -> Array:
    """What the programme's own accounts have paid out by each quarter's end on phases that do not bill yet (quarter,).

    A claim's payments belong to its phases as what fell due on it so far does; of a claim of the whole deal, the MW of
    the phases that do not bill yet count. Debt service, refunds and what is left over are not spent on capacity.
    """
    lane = solution.scenarios.index(scenario)
    phases = run.names["phase"]
    ends = solution.periods.next_first_day - 1
    dark = {phase: solution.static(f"phases.{phase}.billing")[lane] > ends for phase in phases}
    mw = {phase: Case(run, scenario).number("phases", phase, "mw") for phase in phases}
    dark["deal"] = sum(dark[phase] * mw[phase] for phase in phases) / max(sum(mw.values()), 1e-9)
    out = np.zeros(len(ends))
    for claim, of_phases in _own_claims(run, scenario):
        paid = solution.line(f"claims.{claim}.paid")[:, lane].cumsum()
        due = {phase: solution.line(f"claims.{claim}.due@{phase}")[:, lane].cumsum() for phase in of_phases}
        total = sum(due.values(), np.zeros(len(ends)))
        idle = sum((due[phase] * dark[phase] for phase in of_phases), np.zeros(len(ends)))
        out += np.where(total > 0, paid * idle / np.where(total > 0, total, 1.0), 0.0)
    last = np.append(np.flatnonzero(np.diff(solution.periods.quarter_index)), len(ends) - 1)
    return np.asarray(out[last])


def _own_claims(run: Run, scenario: str) -> list[tuple[str, tuple[str, ...]]]:
    """The claims that buy capacity from the programme's own accounts, with the phases they exist in.

    The programme's accounts are those of the parties that collect from customers or draw loans: what a supplier pays
    its own suppliers is already inside what it is paid.
    """
    sheets = run.sheets[scenario]
    used = [str(sheets.cell("contracts", contract, "account")) for contract in sheets.keys("contracts")]
    used += [str(sheets.cell("facilities", facility, "account")) for facility in sheets.keys("facilities")]
    owners = {sheets.cell("accounts", account, "party") for account in used}
    found = []
    for claim in sheets.keys("claims"):
        places = sheets.cell("claims", claim, "paid_from")
        first = places[0] if isinstance(places, tuple) and places else None
        is_residual = sheets.kind(claim) == "residual"
        is_to_party = sheets.cell("claims", claim, "payee") in run.names["party"]
        if not is_residual and is_to_party and isinstance(first, Place):
            phases = sheets.cell("claims", claim, "phase")
            named = tuple(str(phase) for phase in phases) if isinstance(phases, tuple) else run.names["phase"]
            if sheets.cell("accounts", first.account, "party") in owners:
                found.append((claim, named))
    return found


def serials(dates: Array) -> Array:
    """Dates (numpy) as spreadsheet serials; NaN for no date."""
    days = dates.astype("datetime64[D]").astype(float)
    return np.where(np.isnat(dates), np.nan, days + serial(date(1970, 1, 1)))
