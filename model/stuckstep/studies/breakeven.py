"""Break-even: the value of a cell up to which a test holds, found by running the deal, never by a slope.

The bracket is first scanned at evenly spaced values, so that every change of the test between two of them is seen; each
is then narrowed, all of them at once: to the day where the cell counts days, else by scipy's bracketed root finder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stuckstep.deal import Cell, Deal, DealError, Fault

from .axes import Axis, model_of, noted
from .batch import Batch, held
from .extras import extra
from .measures import Measure, measure
from .runs import measured, prepared
from .sensitivity import attributes_of

Array = NDArray[np.float64]
HOLDS = ("at_least", "at_most", "absent", "present")
SCAN = 64  # stretches the bracket is cut into; two changes within one of them are not seen
STEEP = 10.0  # a change over one day is a jump when it is so many times that of the days beside it
TIGHT = 1e-13  # of the first bracket: how near the two ends of a root come
NEAR = 1e-6  # so small a share of the change over the first bracket is left at a crossing, not at a jump
ALWAYS, NEVER, ONCE, MORE = "always holds", "never holds", "one", "more than one"


@dataclass(frozen=True)
class Test:
    """A measure and how it must stand: `at_least` or `at_most` a threshold, or `absent` or `present` at all.

    A measure that is nothing (NaN) fails `at_least` and `at_most`: never paid is not paid in time.
    """

    __test__ = False  # for pytest this is no test
    measure: str
    holds: str
    threshold: float = 0.0

    def margin(self, values: Array) -> Array:
        """How far the test holds: from 0 on it does, below it fails; -inf where the measure is nothing."""
        if self.holds in ("absent", "present"):
            return np.where(np.isnan(values) == (self.holds == "absent"), 1.0, -1.0)
        margin = values - self.threshold if self.holds == "at_least" else self.threshold - values
        return np.where(np.isnan(margin), -np.inf, margin)

    def __str__(self) -> str:
        limit = f" {self.threshold:,.15g}" if self.holds in ("at_least", "at_most") else ""
        return f"{self.measure} {self.holds.replace('_', ' ')}{limit}"


@dataclass
class _Runner:
    """Runs lanes: each moves its own axis to a value, at one value of `over`; counts the runs."""

    ready: Batch
    axes: Sequence[Axis]
    over: Axis | None
    test: Test
    wanted: Measure
    still: dict[Cell, float]
    threads: int = 1
    runs: int = 0
    broken: int = 0

    @property
    def overs(self) -> int:
        """How many lanes each axis has: one for each value of `over`."""
        return 1 if self.over is None else len(self.over.given)

    def axis(self, lane: np.intp) -> Axis:
        """The axis a lane moves."""
        return self.axes[int(lane) // self.overs]

    def values(self, lane: NDArray[np.intp], given: Array) -> dict[Cell, Array]:
        """The values of every cell in each run: its lane's axis moved by `given`, the others still."""
        columns = {cell: np.full(given.size, value) for cell, value in self.still.items()}
        if self.over is not None:
            columns |= {cell: values[lane % self.overs] for cell, values in self.over.moved.items()}
        for place, axis in enumerate(self.axes):
            mine = lane // self.overs == place
            for cell, values in axis.at(given[mine]).items():
                columns[cell][mine] = values
        return columns

    def margins(self, lane: NDArray[np.intp], given: Array) -> tuple[Array, Array]:
        """The margin and the measure of each run: its lane, and what its axis is moved by."""
        columns = self.values(lane.ravel(), given.ravel())
        result = measured(self.ready, columns, given.size, [self.wanted], threads=self.threads)
        self.runs += given.size
        self.broken += result.broken
        return self.test.margin(result.values[0]).reshape(given.shape), result.values[0].reshape(given.shape)


def break_even(
    deal: Deal,
    axes: Sequence[Axis],
    test: Test,
    over: Axis | None = None,
    start: str = "base",
    *,
    threads: int = 1,
    **options: Any,
) -> xr.Dataset:
    """Where the test changes, for each axis between its lowest and highest value, at each value of `over`.

    Dataset (cell, over, answer): `holds_at` and `fails_at`, the two values next to the change (days and dates: one day
    apart); `before` and `after`, the measure there; `jump`, whether the measure leaps over the threshold rather than
    crossing it. By (cell, over): `found`, which says `one`, `more than one`, `always holds` or `never holds`.
    """
    if pointless := [axis.name for axis in axes if axis.given.min() == axis.given.max()]:
        allowed = "two different values such as 0..364 are required, to look between them"
        raise DealError(Fault(name, None, None, "there is one value only", allowed) for name in pointless)
    runner = _runner(deal, axes, test, over, start, threads, options)
    lanes = np.arange(len(axes) * runner.overs, dtype=np.intp)
    scans = [_scan(runner.axis(lane)) for lane in lanes]
    lane_of, given = np.repeat(lanes, [len(scan) for scan in scans]), np.concatenate(scans)
    margin, _ = runner.margins(lane_of, given)
    same = lane_of[:-1] == lane_of[1:]
    at = np.flatnonzero(same & ((margin[:-1] >= 0) != (margin[1:] >= 0)))
    brackets = _Brackets(lane_of[at], given[at], given[at + 1], margin[at], margin[at + 1])
    answers = _narrow(runner, brackets, np.array([runner.axis(lane).is_whole for lane in lanes]))
    first = np.array([margin[lane_of == lane][0] for lane in lanes])
    return _dataset(deal, runner, answers, brackets.lane, first)


def _runner(
    deal: Deal, axes: Sequence[Axis], test: Test, over: Axis | None, start: str, threads: int, options: dict[str, Any]
) -> _Runner:
    _no_shared(axes, over)
    if test.holds not in HOLDS:
        raise DealError([Fault(str(test), None, None, f"'{test.holds}' is no test", f"{', '.join(HOLDS)} are allowed")])
    found = model_of(deal, [*axes, *([] if over is None else [over])], start)
    wanted = measure(found, test.measure)
    still = {cell: _still(deal, cell, axis, start) for axis in axes for cell in axis.cells}
    return _Runner(prepared(found, [wanted], **options), axes, over, test, wanted, still, threads)


def _no_shared(axes: Sequence[Axis], over: Axis | None) -> None:
    for axis in axes:
        if over is not None and (shared := set(axis.cells) & set(over.cells)):
            wrong = "the cell is looked for and moved as well"
            raise DealError([Fault(str(min(shared)), None, None, wrong, "two different cells are allowed")])


def _still(deal: Deal, cell: Cell, axis: Axis, start: str) -> float:
    """What a cell holds while another axis is moved; a blank one is alone, and never still."""
    value = held(deal, cell, start)
    return float(axis.at(axis.given)[cell].min()) if value is None else value


def _scan(axis: Axis) -> Array:
    low, high = float(axis.given.min()), float(axis.given.max())
    values = np.linspace(low, high, SCAN + 1)
    return np.unique(np.rint(values)) if axis.is_whole else np.unique(values)


@dataclass(frozen=True)
class _Brackets:
    """The stretches in which the test changes: lane, the two ends and the margin at each."""

    lane: NDArray[np.intp]
    low: Array
    high: Array
    at_low: Array
    at_high: Array


@dataclass(frozen=True)
class _Answers:
    """For each bracket the values next to the change, the measure at both, and whether it leaps there."""

    holds_at: Array
    fails_at: Array
    before: Array
    after: Array
    jump: NDArray[np.bool_]


def _narrow(runner: _Runner, brackets: _Brackets, whole: NDArray[np.bool_]) -> _Answers:
    low, high = brackets.low.copy(), brackets.high.copy()
    counted = whole[brackets.lane]
    if counted.any():
        low[counted], high[counted] = _to_the_day(runner, brackets, counted)
    if (~counted).any():
        low[~counted], high[~counted] = _to_the_root(runner, brackets, ~counted)
    holds = brackets.at_low >= 0
    holds_at, fails_at = np.where(holds, low, high), np.where(holds, high, low)
    if not holds.size:
        return _Answers(holds_at, fails_at, holds_at, holds_at, holds)
    margins, values = runner.margins(np.stack([brackets.lane, brackets.lane]), np.stack([holds_at, fails_at]))
    with np.errstate(invalid="ignore"):
        change = np.abs(margins[0] - margins[1])
        usual = np.abs(brackets.at_high - brackets.at_low) * NEAR
    if counted.any():
        usual[counted] = _beside(runner, brackets, low, high, counted)
    jump = ~np.isfinite(change) | (change > usual)
    return _Answers(holds_at, fails_at, values[0], values[1], jump)


def _to_the_day(runner: _Runner, brackets: _Brackets, chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The two neighbouring whole numbers between which the test changes, by halving, all brackets at once."""
    lane, low, high = brackets.lane[chosen], brackets.low[chosen].copy(), brackets.high[chosen].copy()
    holds_low = brackets.at_low[chosen] >= 0
    while (wide := np.flatnonzero(high - low > 1)).size:
        middle = np.floor((low[wide] + high[wide]) / 2)
        margin, _ = runner.margins(lane[wide], middle)
        as_low = (margin >= 0) == holds_low[wide]
        low[wide] = np.where(as_low, middle, low[wide])
        high[wide] = np.where(as_low, high[wide], middle)
    return low, high


def _to_the_root(runner: _Runner, brackets: _Brackets, chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The ends of each bracket as narrow as numbers allow, by Chandrupatla's method in scipy."""
    lane, low, width = brackets.lane[chosen], brackets.low[chosen], (brackets.high - brackets.low)[chosen]
    with np.errstate(invalid="ignore"):
        scale = np.maximum(np.abs(brackets.at_low[chosen]), np.abs(brackets.at_high[chosen]))
    cap = np.where(np.isfinite(scale), scale, 1.0)

    def work(share: Array, which: Array) -> Array:
        one = which.astype(np.intp)
        margin, _ = runner.margins(lane[one], low[one] + share * width[one])
        margin = np.where(np.isfinite(margin), margin, -cap[one])
        return np.where(margin == 0, np.finfo(float).tiny, margin)  # on the threshold the test holds

    ends = (np.zeros(lane.size), np.ones(lane.size))
    exact = {"xatol": TIGHT, "xrtol": 0.0, "fatol": 0.0, "frtol": 0.0}
    result = extra("scipy.optimize.elementwise").find_root(
        work, ends, args=(np.arange(lane.size, dtype=float),), tolerances=exact, maxiter=200
    )
    share = np.sort(np.stack(result.bracket), axis=0)
    return low + share[0] * width, low + share[1] * width


def _beside(runner: _Runner, brackets: _Brackets, low: Array, high: Array, chosen: NDArray[np.bool_]) -> Array:
    """What counts as the usual change over a day: STEEP times the larger change over the days on both sides."""
    lane, low, high = brackets.lane[chosen], low[chosen], high[chosen]
    first = np.array([runner.axis(one).given.min() for one in lane])
    last = np.array([runner.axis(one).given.max() for one in lane])
    points = np.stack([np.maximum(low - 1, first), low, high, np.minimum(high + 1, last)])
    margin, _ = runner.margins(np.broadcast_to(lane, points.shape), points)
    with np.errstate(invalid="ignore"):
        sides = np.abs(np.stack([margin[1] - margin[0], margin[3] - margin[2]]))
    return np.asarray(STEEP * np.where(np.isfinite(sides), sides, 0.0).max(axis=0))


def _dataset(deal: Deal, runner: _Runner, answers: _Answers, lane: NDArray[np.intp], first: Array) -> xr.Dataset:
    """The answers by (cell, over, answer); NaN and blank where there are fewer."""
    counts = np.bincount(lane, minlength=len(first))
    most = max(int(counts.max(initial=0)), 1)
    place = np.arange(len(lane)) - np.concatenate([[0], np.cumsum(counts)])[lane]
    shape = (len(runner.axes), runner.overs)

    def spread(values: Array, empty: float) -> Array:
        table = np.full((len(first), most), empty)
        table[lane, place] = values
        return table.reshape(*shape, most)

    said = np.where(counts == 1, ONCE, np.where(counts > 1, MORE, np.where(first >= 0, ALWAYS, NEVER)))
    holds_at, fails_at = (_cell_value(runner, one, lane) for one in (answers.holds_at, answers.fails_at))
    dims = ("cell", "over", "answer")
    variables = {
        "holds_at": (dims, spread(holds_at, np.nan), {"long_name": "value next to the change at which the test holds"}),
        "fails_at": (dims, spread(fails_at, np.nan), {"long_name": "value next to the change at which it fails"}),
        "before": (dims, spread(answers.before, np.nan), {"long_name": "the measure where the test holds"}),
        "after": (dims, spread(answers.after, np.nan), {"long_name": "the measure where it fails"}),
        "jump": (dims, spread(answers.jump.astype(float), 0.0) > 0, {"long_name": "whether the measure leaps there"}),
        "found": (("cell", "over"), said.astype(object).reshape(shape), {"long_name": "how many changes there are"}),
    }
    coordinates = {
        "cell": np.array([axis.name for axis in runner.axes], dtype=object),
        "lowest": ("cell", np.array([axis.values.min() for axis in runner.axes])),
        "highest": ("cell", np.array([axis.values.max() for axis in runner.axes])),
        "is_date": ("cell", np.array([axis.is_date for axis in runner.axes])),
        "answer": np.arange(most),
        "over": np.zeros(1) if runner.over is None else runner.over.values,
    }
    about = {"kind": "breakeven", "test": str(runner.test), "unit": runner.wanted.unit,
             "start": runner.ready.model.start, "over": "" if runner.over is None else runner.over.name,
             "scanned": SCAN + 1, "runs": runner.runs, "laws_broken": runner.broken,
             **noted([*runner.axes, *([] if runner.over is None else [runner.over])])}  # fmt: skip
    return xr.Dataset(variables, coordinates, {**attributes_of(deal), **about})


def _cell_value(runner: _Runner, given: Array, lane: NDArray[np.intp]) -> Array:
    """What the first cell of each lane's axis holds where it is moved by `given`."""
    out = np.empty(given.shape)
    for place, axis in enumerate(runner.axes):
        mine = lane // runner.overs == place
        out[mine] = axis.at(given[mine])[axis.cells[0]]
    return out
