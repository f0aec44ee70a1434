"""What a Monte Carlo asks of its draws, and how the answers are counted, in any slices of the draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import Cell, Deal, DealError, Fault

from .batch import Batch, Model, batch, fastest, model, stream
from .distributions import Uncertainty
from .measures import Measure, measure, measures_of
from .runs import measured, prepared
from .sampling import Design, shares, values
from .store import Store
from .summaries import Histogram
from .tally import Questions, Tally, events, series, tally

Array = NDArray[np.float64]
SERIES = ("paid", "unpaid")
Kept = Mapping[str, Array]


@dataclass(frozen=True)
class Request:
    """A Monte Carlo: what is drawn, how often, and what is asked of every draw; not how it is carried out.

    measures: their names; None for a set that suits every deal. unpaid_over and later_by set the events (`events`);
    with_series keeps the quantiles by period; laws checks the laws of the model in every draw.
    """

    deal: Deal
    uncertainties: tuple[Uncertainty, ...]
    plan: Design
    start: str = "base"
    measures: tuple[str, ...] | None = None
    unpaid_over: float = 0.0
    later_by: float = 0.0
    with_series: bool = True
    laws: bool = True


@dataclass(frozen=True)
class Ready:
    """A request with its lines translated, so that any slice of the draws can be counted."""

    request: Request
    model: Model
    asked: Questions
    batch: Batch

    @property
    def nothing(self) -> Result:
        """The result before the first draw."""
        return Result({}, Histogram((len(self.asked.series), len(self.model.periods.labels))))


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


def make_ready(request: Request, *, engine: str = "auto", width: int | None = None, keep: Sequence[str] = ()) -> Ready:
    """A request with its lines translated; `keep` names lines that are wanted beside what it asks."""
    found = drawn_model(request.deal, request.uncertainties, request.start)
    if missing := [line for line in keep if line not in found.lines]:
        wrong = f"there is no line '{missing[0]}'"
        raise DealError([Fault("keep", None, None, wrong, "the name of a line is allowed")])
    asked = questions(found, request)
    chosen = fastest(request.plan.draws) if engine == "auto" else engine
    return Ready(request, found, asked, batch(found, [*asked.lines(found), *keep], engine=chosen, width=width))


def count(
    ready: Ready,
    parts: Sequence[slice] | None = None,
    *,
    threads: int = 1,
    store: Store | None = None,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """What is counted in some slices of the draws (all by default), none of which reaches over two replicates.

    `store` keeps the measures of every draw; `progress` is told after each slice how many draws are done.
    """
    request, found, asked = ready.request, ready.model, ready.asked
    size = request.plan.size

    def columns(part: slice) -> dict[Cell, Array]:
        return values(request.uncertainties, shares(request.plan, request.uncertainties, part))

    def reduce(lines: Mapping[str, Array], drawn: Mapping[Cell, Array], part: slice) -> tuple[Result, Kept]:
        one, worked = tally(found, asked, lines, drawn, part.stop - part.start)
        kept = {} if store is None else {**worked, **{line: np.array(lines[line]) for line in store.lines}}
        return Result({part.start // size: one}, series(found, asked, lines)), kept

    result, done = ready.nothing, 0
    every = request.plan.parts(ready.batch.width) if parts is None else parts
    for (one, kept), part in zip(stream(ready.batch, every, columns, reduce, threads=threads), every, strict=True):
        result.merge(one)
        if store is not None:
            store.keep(part, size, kept)  # here, and not in the threads: two must not write to one block
        done += part.stop - part.start
        if progress is not None:
            progress(done)
    return result


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


def questions(found: Model, request: Request) -> Questions:
    """What is asked of every draw: the measures named (a set for every deal by default), and all that may go wrong."""
    parties, names = found.sheets.keys("parties"), request.measures
    if names is None:
        by_party = [f"{what}:{party}" for what in ("npv", "unpaid", "half_paid") for party in parties]
        covers = [f"dscr:{facility}" for facility in found.sheets.keys("facilities")]
        names = ("days_late", "funding_gap", *by_party, *covers)
    halves = [measure(found, f"half_paid:{party}") for party in parties]
    still = dict(zip((one.name for one in halves), undrawn(found, halves), strict=True))
    happenings = events(found, still, request.unpaid_over, request.later_by)
    kept = tuple((item, party) for item in SERIES for party in parties) if request.with_series else ()
    return Questions(tuple(measures_of(found, names)), tuple(happenings), kept, True, request.laws)


def undrawn(found: Model, wanted: Sequence[Measure]) -> list[float]:
    """The measures with nothing drawn."""
    alone = model(found.deal, {}, found.start)
    again = [measure(alone, one.name) for one in wanted]
    return [float(value) for value in measured(prepared(alone, again), {}, 1, again).values[:, 0]]
