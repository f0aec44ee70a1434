"""Monte Carlo: the deal run at drawn values of uncertain cells, summarised as it runs; any draw can be run again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stuckstep.deal import Cell, Deal, DealError, Fault
from stuckstep.deal.changes import changes_of, typed, with_scenarios

from .batch import Model, batch, model, stream
from .distributions import Uncertainty
from .measures import Measure, measure
from .runs import measured, prepared
from .sampling import Design, shares, values
from .sensitivity import attributes_of
from .summaries import Histogram, Sketch, Sum, spread
from .tally import Questions, Tally, events, series, tally

Array = NDArray[np.float64]
QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
SERIES = ("paid", "unpaid")
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
    threads: int = 1,
    **options: Any,
) -> xr.Dataset:
    """The distribution of the measures over the draws of a plan, with error bars from its replicates.

    Dataset: by measure `mean`, `absent` (share of draws in which it is nothing), `lowest`, `highest`, `shortfall` (mean
    of the worst `tail` of the draws) and `quantiles` (measure, quantile), each with `..._error`, the standard error;
    `probability` (event); `paid_quantiles`, `unpaid_quantiles` (party, quarter, quantile) unless `with_series` is off;
    `stuck` (phase, step), the share of draws in which a step was the stuck one. `laws` off leaves the laws unchecked.
    """
    found = drawn_model(deal, uncertainties, start)
    asked = questions(found, measures, unpaid_over, later_by, with_series=with_series, laws=laws)
    result = run(found, uncertainties, plan, asked, threads=threads, **options)
    return summarised(deal, found, asked, plan, result, quantiles, tail)


@dataclass
class Result:
    """What was counted: a tally of each replicate, and the series of all of them together."""

    tallies: dict[int, Tally]
    series: Histogram

    def merge(self, other: Result) -> None:
        """Adds what was counted elsewhere, in any order."""
        self.series.merge(other.series)
        for replicate, one in other.tallies.items():
            if replicate in self.tallies:
                self.tallies[replicate].merge(one)
            else:
                self.tallies[replicate] = one


def drawn_model(deal: Deal, uncertainties: Sequence[Uncertainty], start: str = "base") -> Model:
    """The lines of a deal for whatever may be drawn; DealError where that is more than a cell can hold."""
    ranges: dict[Cell, tuple[float, float]] = {}
    for one in uncertainties:
        for cell, ends in one.axis.at(np.array(one.span())).items():
            if cell in ranges:
                wrong = f"the uncertainty {one.name} draws a cell that another one draws"
                raise DealError([Fault(str(cell), None, None, wrong, "one uncertainty for each cell is allowed")])
            ranges[cell] = (float(ends.min()), float(ends.max()))
    return model(deal, ranges, start)


def questions(
    found: Model, names: Sequence[str] | None, unpaid_over: float, later_by: float, *, with_series: bool, laws: bool
) -> Questions:
    """What is asked of every draw: the measures named (a set for every deal by default), and all that may go wrong."""
    parties = found.sheets.keys("parties")
    if names is None:
        names = [
            "days_late",
            "funding_gap",
            *(f"{what}:{p}" for what in ("npv", "unpaid", "half_paid") for p in parties),
        ]
        names = [*names, *(f"dscr:{facility}" for facility in found.sheets.keys("facilities"))]
    halves = [measure(found, f"half_paid:{party}") for party in parties]
    still = dict(zip((one.name for one in halves), undrawn(found, halves), strict=True))
    happenings = events(found, still, unpaid_over, later_by)
    kept = tuple((item, party) for item in SERIES for party in parties) if with_series else ()
    return Questions(tuple(measure(found, name) for name in names), tuple(happenings), kept, True, laws)


def undrawn(found: Model, wanted: Sequence[Measure]) -> list[float]:
    """The measures with nothing drawn."""
    alone = model(found.deal, {}, found.start)
    again = [measure(alone, one.name) for one in wanted]
    return [float(value) for value in measured(prepared(alone, again), {}, 1, again).values[:, 0]]


def run(
    found: Model,
    uncertainties: Sequence[Uncertainty],
    plan: Design,
    asked: Questions,
    *,
    threads: int = 1,
    parts: Sequence[slice] | None = None,
    **options: Any,
) -> Result:
    """What is counted in some slices of the draws (all by default)."""
    ready = batch(found, asked.lines(found), **options)

    def columns(part: slice) -> dict[Cell, Array]:
        return values(uncertainties, shares(plan, uncertainties, part))

    def reduce(lines: Mapping[str, Array], drawn: Mapping[Cell, Array], part: slice) -> Result:
        one = tally(found, asked, lines, drawn, part.stop - part.start)
        return Result({part.start // plan.size: one}, series(found, asked, lines))

    result = Result({}, Histogram((len(asked.series), len(found.periods.labels))))
    for one in stream(ready, parts or plan.parts(ready.width), columns, reduce, threads=threads):
        result.merge(one)
    return result


def one_draw(deal: Deal, uncertainties: Sequence[Uncertainty], plan: Design, number: int, start: str = "base") -> Deal:
    """The deal with one draw as a scenario of its own, named `draw NUMBER`: from the seed and the number alone."""
    if not 0 <= number < plan.draws:
        allowed = f"a draw from 0 to {plan.draws - 1} is allowed"
        raise DealError([Fault("draw", None, None, f"there is no draw {number}", allowed)])
    drawn = values(uncertainties, shares(plan, uncertainties, slice(number, number + 1)))
    changes = {cell: typed(cell, float(value[0])) for cell, value in drawn.items()}
    return with_scenarios(deal, {f"draw {number}": {**changes_of(deal, start), **changes}})


def summarised(
    deal: Deal,
    found: Model,
    asked: Questions,
    plan: Design,
    result: Result,
    quantiles: Sequence[float] = QUANTILES,
    tail: float = TAIL,
) -> xr.Dataset:
    """The Dataset of what was counted in all replicates."""
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
        "label": ("quarter", _text(found.periods.labels)),
        "replicate": np.array(numbers),
    }
    about = {"kind": "montecarlo", "method": plan.method, "seed": plan.seed, "draws": whole.draws,
             "replicates": len(apart), "draws_of_a_replicate": plan.size, "tail": tail, "start": found.start,
             "laws_broken": whole.broken if asked.laws else "not checked"}  # fmt: skip
    return xr.Dataset(variables, coordinates, {**attributes_of(deal), **about})


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
