"""What caused a loss: a scenario's changes shared out between its causes, and the price of one more quarter of delay.

A cause gets its Shapley value: the change it makes to a measure, averaged over every order in which the causes could
have come. The shares add up to the whole change; what changes nothing gets nothing; what is alike gets alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import factorial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stuckstep.deal import Cell, Deal, DealError, Fault, base, scenario_names, serial
from stuckstep.deal.changes import changes_of, fitted
from stuckstep.deal.scenarios import column_of
from stuckstep.results import solve
from stuckstep.rules.lines import name_of

from .batch import Columns, Model, held, model
from .measures import Measure, measure, measures_of
from .runs import measured, prepared
from .sensitivity import attributes_of

Array = NDArray[np.float64]
Causes = Mapping[str, Mapping[Cell, float]]
EXACT = 8  # up to so many causes every combination is run: 2 to this power
ORDERS = 500  # pairs of an order and its reverse that are sampled beyond
QUARTER = 91.0  # days of one more quarter of delay


def causes_of(
    deal: Deal, scenario: str, groups: Mapping[str, Sequence[str]] | None = None
) -> dict[str, dict[Cell, float]]:
    """A scenario's changes as causes: each row of a table one, a step in all its phases; or the groups of cells named.

    DealError for an unknown scenario and for a change that is no number or date: what changes structure has no share.
    """
    if scenario not in scenario_names(deal):
        names = ", ".join(scenario_names(deal))
        raise DealError(
            [Fault("attribution", None, None, f"there is no scenario '{scenario}'", f"{names} are allowed")]
        )
    changes = {cell: _number(cell, value, scenario) for cell, value in changes_of(deal, scenario).items()}
    if groups is None:
        found: dict[str, dict[Cell, float]] = {}
        for cell, value in changes.items():
            found.setdefault(f"{cell.table}.{cell.plain.row}", {})[cell] = value
        return found
    named = {str(cell): cell for cell in changes}
    chosen = {
        name: {named[one]: changes[named[one]] for one in cells if one in named} for name, cells in groups.items()
    }
    taken = {cell for cells in chosen.values() for cell in cells}
    left = {str(cell): {cell: value} for cell, value in changes.items() if cell not in taken}
    return {**chosen, **left}


def _number(cell: Cell, value: Any, scenario: str) -> float:
    if column_of(cell).type not in ("number", "count", "days", "date", "trigger") or isinstance(
        value, (str, type(None))
    ):
        wrong = f"{scenario} changes its structure, which has no share of a loss"
        raise DealError([Fault(str(cell), None, None, wrong, "numbers and dates are shared out")])
    return value if isinstance(value, float) else serial(value)


def attribute(
    deal: Deal,
    causes: Causes,
    measures: Sequence[str],
    *,
    start: str = "base",
    exact: int = EXACT,
    orders: int = ORDERS,
    seed: int = 0,
    threads: int = 1,
    **options: Any,
) -> xr.Dataset:
    """How much of the change of each measure each cause made: `share` (measure, cause), in all `change` (measure).

    Up to `exact` causes every combination is run, beyond it `orders` random orders and their reverses, with a standard
    error in `share_error`. A measure that is nothing (NaN) in a combination has no shares.
    """
    if not causes:
        raise DealError([Fault("attribution", None, None, "there are no causes", "one cause or more is required")])
    names, found, still = list(causes), _model(deal, causes, start), _still(deal, causes, start)
    wanted = measures_of(found, measures)
    ready = prepared(found, wanted, **options)

    broken = 0

    def run(sets: NDArray[np.bool_]) -> Array:
        nonlocal broken
        runs = measured(ready, _columns(causes, still, sets), len(sets), wanted, threads=threads)
        broken += runs.broken
        return runs.values

    if len(names) <= exact:
        shares, errors, ends, count = _exactly(run, len(names))
    else:
        shares, errors, ends, count = _sampled(run, len(names), orders, seed)
    about = {"kind": "attribution", "start": start, "runs": count, "exact": int(len(names) <= exact)}
    about["laws_broken"] = broken
    return _dataset(deal, wanted, names, shares, errors, ends, about)


def _model(deal: Deal, causes: Causes, start: str) -> Model:
    ranges: dict[Cell, tuple[float, float]] = {}
    for cells in causes.values():
        for cell, value in cells.items():
            if cell in ranges:
                raise DealError([Fault(str(cell), None, None, "two causes change the cell", "one cause is allowed")])
            both = (float(fitted(cell, value)), _held(deal, cell, start))
            ranges[cell] = (min(both), max(both))
    return model(deal, ranges, start)


def _held(deal: Deal, cell: Cell, start: str) -> float:
    value = held(deal, cell, start)
    if value is None:
        wrong = f"the cell is blank in {start}, so without the cause it would change structure"
        raise DealError([Fault(str(cell), None, None, wrong, "a number or a date there is required")])
    return value


def _still(deal: Deal, causes: Causes, start: str) -> dict[Cell, float]:
    return {cell: _held(deal, cell, start) for cells in causes.values() for cell in cells}


def _columns(causes: Causes, still: Mapping[Cell, float], sets: NDArray[np.bool_]) -> Columns:
    """The cells of each run: `sets` (run, cause) says which causes are there."""
    return {
        cell: np.where(sets[:, place], value, still[cell])
        for place, cells in enumerate(causes.values())
        for cell, value in cells.items()
    }


Shared = tuple[Array, Array, Array, int]  # shares and their errors (measure, cause), without and with all, runs


def _exactly(run: Any, count: int) -> Shared:
    """Every combination once; number n holds the causes whose bits are set in n."""
    numbers = np.arange(1 << count)
    sets = (numbers[:, None] >> np.arange(count)) & 1 > 0
    values = run(sets)
    size = sets.sum(axis=1)
    weight = np.array([factorial(n) * factorial(count - n - 1) / factorial(count) for n in range(count)])
    shares = np.empty((len(values), count))
    for cause in range(count):
        without = numbers[~sets[:, cause]]
        gained = values[:, without | (1 << cause)] - values[:, without]
        shares[:, cause] = (gained * weight[size[without]]).sum(axis=1)
    return shares, np.zeros_like(shares), values[:, [0, -1]], len(numbers)


def _sampled(run: Any, count: int, orders: int, seed: int) -> Shared:
    """Random orders, each with its reverse: along each the gains add up to the whole change."""
    random = np.random.default_rng(seed)
    one_way = np.array([random.permutation(count) for _ in range(orders)])
    order = np.stack([one_way, one_way[:, ::-1]], axis=1).reshape(2 * orders, count)
    rank = np.argsort(order, axis=1)
    steps = np.arange(count + 1)
    sets = rank[:, None, :] < steps[None, :, None]
    values = run(sets.reshape(-1, count)).reshape(-1, 2 * orders, count + 1)
    gains = np.diff(values, axis=2)
    by_cause = np.take_along_axis(gains, rank[None], axis=2)
    pairs = by_cause.reshape(len(values), orders, 2, count).mean(axis=2)
    errors = pairs.std(axis=1, ddof=1) / np.sqrt(orders) if orders > 1 else np.full((len(values), count), np.nan)
    return pairs.mean(axis=1), errors, values[:, 0, [0, -1]], sets.shape[0] * sets.shape[1]


def _dataset(
    deal: Deal,
    wanted: Sequence[Measure],
    names: Sequence[str],
    shares: Array,
    errors: Array,
    ends: Array,
    about: Mapping[str, Any],
) -> xr.Dataset:
    both = ("measure", "cause")
    variables = {
        "share": (both, shares, {"long_name": "what of the change the cause made"}),
        "share_error": (both, errors, {"long_name": "standard error of share; zero where all combinations are run"}),
        "without": (("measure",), ends[:, 0], {"long_name": "the measure without any of the causes"}),
        "with_all": (("measure",), ends[:, 1], {"long_name": "the measure with all of the causes"}),
        "change": (("measure",), ends[:, 1] - ends[:, 0], {"long_name": "with_all - without"}),
    }
    coordinates = {
        "measure": np.array([one.name for one in wanted], dtype=object),
        "unit": ("measure", np.array([one.unit for one in wanted], dtype=object)),
        "says": ("measure", np.array([one.says for one in wanted], dtype=object)),
        "cause": np.array(list(names), dtype=object),
    }
    return xr.Dataset(variables, coordinates, {**attributes_of(deal), **about})


def loss_by_cause(deal: Deal, scenario: str, *, what: str = "npv", **options: Any) -> xr.Dataset:
    """What each party loses (or gains) in a scenario against base, by cause; `what` is `npv` or `net`."""
    parties = base(deal).keys("parties")
    return attribute(deal, causes_of(deal, scenario), [f"{what}:{party}" for party in parties], **options)


def cost_of_delay(
    deal: Deal, *, days: float = QUARTER, start: str = "base", threads: int = 1, **options: Any
) -> xr.Dataset:
    """What one more quarter of delay of each step changes for each party: `npv`, `net` and `unpaid` (party, step).

    A step is delayed in the phases in which it ends after the deal's start, on top of its delay in `start`. `days_late`
    (step) is what it adds to the lateness of the latest phase; NaN where the delay cancels it.
    """
    sheets = base(deal)
    steps, parties = sheets.keys("steps"), sheets.keys("parties")
    cells = {step: _ahead(deal, step, start) for step in steps}
    causes = {step: {cell: _held(deal, cell, start) + days for cell in cells[step]} for step in steps}
    found, still = _model(deal, causes, start), _still(deal, causes, start)
    wanted = [measure(found, f"{what}:{party}") for what in ("npv", "net", "unpaid") for party in parties]
    wanted.append(measure(found, "days_late"))
    sets = np.concatenate([np.zeros((1, len(steps)), dtype=bool), np.eye(len(steps), dtype=bool)])
    runs = measured(
        prepared(found, wanted, **options), _columns(causes, still, sets), len(sets), wanted, threads=threads
    )
    change = runs.values[:, 1:] - runs.values[:, :1]
    variables: dict[str, Any] = {}
    for place, what in enumerate(("npv", "net", "unpaid")):
        rows = change[place * len(parties) : (place + 1) * len(parties)]
        says = {"long_name": f"change of {what} by {days:.15g} more days of delay", "units": wanted[0].unit}
        variables[what] = (("party", "step"), rows, says)
    says = {"long_name": f"days billing of the latest phase moves by {days:.15g} more days of delay", "units": "days"}
    variables["days_late"] = (("step",), change[-1], says)
    coordinates = {"party": np.array(parties, dtype=object), "step": np.array(steps, dtype=object)}
    about = {"kind": "delay", "start": start, "days": days, "runs": len(sets), "laws_broken": runs.broken}
    return xr.Dataset(variables, coordinates, {**attributes_of(deal), **about})


def _ahead(deal: Deal, step: str, start: str) -> list[Cell]:
    """The cells of a step's delay in the phases where it ends after the start: the plain one where that is in all."""
    phases = base(deal).keys("phases")
    lines = [name_of("steps", step, "finish", phase) for phase in phases]
    solution = solve(deal, [start], lines)
    first = float(solution.periods.first_day[0])
    ahead = [phase for phase, line in zip(phases, lines, strict=True) if solution.static(line)[0] > first]
    narrowed = any(cell.row.startswith(f"{step}@") and cell.column == "delay" for cell in changes_of(deal, start))
    if len(ahead) == len(phases) and not narrowed:
        return [Cell("steps", step, "delay")]
    return [Cell("steps", f"{step}@{phase}", "delay") for phase in ahead]
