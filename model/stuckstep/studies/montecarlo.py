"""Monte Carlo: the deal run at drawn values of uncertain cells, summarised as it runs; any draw can be run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stuckstep.deal import Deal, DealError, Fault
from stuckstep.deal.changes import changes_of, typed, with_scenarios
from stuckstep.results.grid import dates

from .batch import Model
from .counting import Ready, Request, Result, count, make_ready
from .distributions import Uncertainty
from .sampling import Design, shares, values
from .sensitivity import attributes_of
from .store import open_store
from .summaries import Histogram, Sketch, Sum, spread
from .tally import Questions, Tally

Array = NDArray[np.float64]
QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
TAIL = 0.05  # the share of the draws whose mean is the expected shortfall
# Measures of which more is worse; of all others less is.
MORE_IS_WORSE = ("days_late", "billing", "first_paid", "half_paid", "last_paid", "unpaid", "unpaid_end", "claim_unpaid",
                 "funding_gap", "draw", "support", "blocked", "due")  # fmt: skip


def monte_carlo(
    deal: Deal,
    uncertainties: Sequence[Uncertainty],
    plan: Design,
    *,
    measures: Sequence[str] | None = None,
    start: str = "base",
    quantiles: Sequence[float] = QUANTILES,
    tail: float = TAIL,
    unpaid_over: float = 0.0,
    later_by: float = 0.0,
    with_series: bool = True,
    laws: bool = True,
    engine: str = "auto",
    width: int | None = None,
    threads: int = 1,
    scheduler: Any = None,
    store: str | PathLike[str] | None = None,
    keep: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> xr.Dataset:
    """The distribution of the measures over the draws of a plan, with error bars from its replicates.

    Dataset: by measure `mean`, `absent` (share of draws in which it is nothing), `lowest`, `highest`, `shortfall` (mean
    of the worst `tail` of the draws) and `quantiles` (measure, quantile), each with `..._error`, the standard error;
    `probability` (event); `paid_quantiles`, `unpaid_quantiles` (party, quarter, quantile) unless `with_series` is off;
    `stuck` (phase, step), the share of draws in which a step was the stuck one. `laws` off leaves the laws unchecked.

    scheduler: the address of a dask cluster, or a client of one, to run on. store: a zarr folder for the measures of
    every draw and for the lines named in `keep`. progress is told how many draws are done. None of these, nor engine,
    width or threads, changes a bit of the result.
    """
    names = None if measures is None else tuple(measures)
    request = Request(deal, tuple(uncertainties), plan, start, names, unpaid_over, later_by, with_series, laws)
    ready = make_ready(request, engine=engine, width=width, keep=keep)
    kept = None if store is None else open_store(store, ready.asked, plan, ready.model, keep)
    if scheduler is None:
        result = count(ready, threads=threads, store=kept, progress=progress)
    else:
        from .cluster import count_on

        result = count_on(scheduler, request, ready, engine=engine, width=width, store=kept, progress=progress)
    return summarised(ready, result, quantiles, tail)


def one_draw(deal: Deal, uncertainties: Sequence[Uncertainty], plan: Design, number: int, start: str = "base") -> Deal:
    """The deal with one draw as a scenario of its own, named `draw NUMBER`: from the seed and the number alone."""
    if not 0 <= number < plan.draws:
        allowed = f"a draw from 0 to {plan.draws - 1} is allowed"
        raise DealError([Fault("draw", None, None, f"there is no draw {number}", allowed)])
    drawn = values(uncertainties, shares(plan, uncertainties, slice(number, number + 1)))
    changes = {cell: typed(cell, float(value[0])) for cell, value in drawn.items()}
    return with_scenarios(deal, {f"draw {number}": {**changes_of(deal, start), **changes}})


def summarised(ready: Ready, result: Result, quantiles: Sequence[float] = QUANTILES, tail: float = TAIL) -> xr.Dataset:
    """The Dataset of what was counted in all replicates."""
    found, asked, plan = ready.model, ready.asked, ready.request.plan
    numbers = sorted(result.tallies)
    apart = [result.tallies[replicate] for replicate in numbers]
    whole = _whole(apart, asked)
    variables: dict[str, Any] = {}
    _of_measures(variables, asked, whole, apart, quantiles, tail)
    _of_events(variables, whole, apart)
    _of_series(variables, found, asked, result.series, quantiles)
    phases, steps = found.sheets.keys("phases"), found.sheets.keys("steps")
    says = {"long_name": "share of draws in which the step was the stuck one; the last: none was", "units": "1"}
    variables["stuck"] = (("phase", "step"), whole.stuck / whole.draws, says)
    coordinates = {
        "measure": _text(one.name for one in asked.measures),
        "unit": ("measure", _text(one.unit for one in asked.measures)),
        "says": ("measure", _text(one.says for one in asked.measures)),
        "event": _text(one.name for one in asked.events),
        "what": ("event", _text(one.says for one in asked.events)),
        "quantile": np.array(quantiles, dtype=float),
        "phase": _text(phases),
        "step": _text([*steps, ""]),
        "party": _text(found.sheets.keys("parties")),
        "quarter": dates(found.periods.next_first_day - 1),
        "label": ("quarter", _text(found.periods.labels)),
        "replicate": np.array(numbers),
    }
    about = {"kind": "montecarlo", "method": plan.method, "seed": plan.seed, "draws": whole.draws,
             "replicates": len(apart), "draws_of_a_replicate": plan.size, "tail": tail, "start": found.start,
             "laws_broken": whole.broken if asked.laws else "not checked"}  # fmt: skip
    return xr.Dataset(variables, coordinates, {**attributes_of(found.deal), **about})


def _text(texts: Iterable[str]) -> NDArray[np.object_]:
    return np.array(list(texts), dtype=object)


def _whole(apart: Sequence[Tally], asked: Questions) -> Tally:
    """All replicates as one; they are left as they are."""
    whole = Tally(
        0,
        [Sum() for _ in asked.measures],
        [Sketch(one.bits) for one in apart[0].sketches],
        np.zeros(len(asked.events), dtype=np.int64),
        np.zeros_like(apart[0].stuck),
        0,
    )
    for one in apart:
        whole.merge(one)
    return whole


def is_worse_high(name: str) -> bool:
    """Whether more of a measure is worse."""
    return name.partition(":")[0] in MORE_IS_WORSE


def _of_measures(
    variables: dict[str, Any],
    asked: Questions,
    whole: Tally,
    apart: Sequence[Tally],
    quantiles: Sequence[float],
    tail: float,
) -> None:
    names = [one.name for one in asked.measures]
    range_of = range(len(names))
    means = np.array([[one.sums[place].mean for one in apart] for place in range_of]).reshape(len(names), -1)
    absent = [whole.sums[place].absent / whole.draws for place in range_of]
    tails = [[one.sketches[p].tail(tail, high=is_worse_high(names[p])) for one in (whole, *apart)] for p in range_of]
    levels = np.array([[one.sketches[p].quantiles(quantiles) for one in (whole, *apart)] for p in range_of])
    levels = levels.reshape(len(names), len(apart) + 1, len(quantiles))
    ends = [(one.lowest, one.highest) if one.keys.size else (np.nan, np.nan) for one in whole.sketches]
    by = ("measure",)
    variables["mean"] = (
        by,
        np.array([one.mean for one in whole.sums]),
        {"long_name": "mean of the draws that have it"},
    )
    variables["mean_error"] = (by, np.array([spread(row) for row in means]), {"long_name": "standard error of mean"})
    variables["replicate_mean"] = (("measure", "replicate"), means, {"long_name": "mean of each replicate"})
    variables["absent"] = (by, np.array(absent), {"long_name": "share of draws without it", "units": "1"})
    variables["lowest"] = (by, np.array([low for low, _ in ends]), {"long_name": "lowest of the draws"})
    variables["highest"] = (by, np.array([high for _, high in ends]), {"long_name": "highest of the draws"})
    says = {"long_name": f"mean of the worst {tail:.15g} of the draws that have it"}
    variables["shortfall"] = (by, np.array([row[0] for row in tails]), says)
    errors = np.array([spread(row[1:]) for row in tails])
    variables["shortfall_error"] = (by, errors, {"long_name": "standard error of shortfall"})
    both = ("measure", "quantile")
    variables["quantiles"] = (both, levels[:, 0], {"long_name": "quantiles of the draws that have it"})
    bars = [[spread(levels[place, 1:, one]) for one in range(len(quantiles))] for place in range_of]
    table = np.array(bars, dtype=float).reshape(len(names), len(quantiles))
    variables["quantile_error"] = (both, table, {"long_name": "standard error of quantiles"})
    share = np.array([one.error for one in whole.sketches])
    variables["sketch_error"] = (by, share, {"long_name": "how far a quantile may lie off for its bucket, as a share"})


def _of_events(variables: dict[str, Any], whole: Tally, apart: Sequence[Tally]) -> None:
    shares_of = np.array([one.events / one.draws for one in apart]).reshape(len(apart), -1)
    says = {"long_name": "share of draws in which it happens", "units": "1"}
    variables["probability"] = (("event",), whole.events / whole.draws, says)
    errors = np.array([spread(shares_of[:, place]) for place in range(shares_of.shape[1])])
    variables["probability_error"] = (("event",), errors, {"long_name": "standard error of probability"})


def _of_series(
    variables: dict[str, Any], found: Model, asked: Questions, counted: Histogram, quantiles: Sequence[float]
) -> None:
    parties = found.sheets.keys("parties")
    table = counted.quantiles(quantiles)
    for item in dict.fromkeys(item for item, _ in asked.series):
        places = [asked.series.index((item, party)) for party in parties]
        says = {"long_name": f"quantiles of what is {item} by party and period; right to 0.2%"}
        variables[f"{item}_quantiles"] = (("party", "quarter", "quantile"), table[places], says)
