"""One deal, many runs: cells take arrays of values, the lines are worked chunk by chunk, only what is named is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import pairwise
from queue import SimpleQueue
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import (
    Cell,
    Deal,
    DealError,
    Fault,
    Periods,
    Sheets,
    base,
    check,
    from_serial,
    periods,
    scenario_names,
    variants,
)
from stuckstep.deal.changes import changes_of, fitted, shown, typed, with_scenarios
from stuckstep.engines import arrays
from stuckstep.results import Part, Solution
from stuckstep.results.validity import (
    Bound,
    bound_dates,
    bound_lines,
    check_due_dates,
    early,
    unsteady_dates,
    unsteady_lines,
)
from stuckstep.rules import Lines, build

from .extras import extra

Array = NDArray[np.float64]
Columns = Mapping[Cell, Array]
T = TypeVar("T")
LAWS = "checks.master.broken"
MANY = 20_000  # runs from which the lanes are worth their start
WIDTHS = {"arrays": arrays.CHUNK, "lanes": 2048}  # runs worked at a time


@dataclass(frozen=True)
class Model:
    """A deal in one scenario whose cells can be changed: the sheets with those cells at their extremes, and the lines.

    The lines serve every value between the extremes; `start` is the scenario that all else is taken from.
    """

    deal: Deal
    start: str
    cells: tuple[Cell, ...]
    sheets: Sheets
    lines: Lines
    periods: Periods
    lowest: Mapping[Cell, float]
    highest: Mapping[Cell, float]
    own: frozenset[Cell]  # cells the starting scenario changes itself
    unsteady: tuple[Bound, ...] = ()  # dates that may lie before the start in some run, so that every run is looked at

    def input(self, cell: Cell, columns: Columns) -> Array | float:
        """What an input holds in each run: its column where it is changed, else the one value it has."""
        source = self.source(cell)
        return float(self.sheets.value(cell)[0]) if source is None else columns[source]

    def source(self, cell: Cell) -> Cell | None:
        """The changed cell an input takes its value from: itself, or the plain row of a step that is not narrowed."""
        if cell in self.cells:
            return cell
        return cell.plain if cell.plain in self.cells and cell not in self.own else None


def held(deal: Deal, cell: Cell, start: str = "base") -> float | None:
    """What a cell holds in a scenario of the deal (a date as a serial); None where that is no number and no date."""
    sheets = Sheets((start,), variants(deal, [start])[0].index)
    row, _, phase = cell.row.partition("@")
    try:
        return float(sheets.value(sheets.find(cell.table, row, cell.column, phase or None))[0])
    except ValueError:
        return None


def model(deal: Deal, ranges: Mapping[Cell, tuple[float, float]], start: str = "base") -> Model:
    """The lines of a deal for any value of some cells between their lowest and highest (dates as serials).

    DealError for a cell, bound or scenario there is not, and for values with which the deal does not fit together.
    """
    if start not in scenario_names(deal):
        variants(deal, [start])  # raises
    lowest = {cell: float(fitted(cell, low)) for cell, (low, _) in ranges.items()}
    highest = {cell: float(fitted(cell, high)) for cell, (_, high) in ranges.items()}
    held = changes_of(deal, start)
    extremes = {
        f"{start}, lowest": {**held, **{cell: typed(cell, value) for cell, value in lowest.items()}},
        f"{start}, highest": {**held, **{cell: typed(cell, value) for cell, value in highest.items()}},
    }
    plain = replace(deal, tables={**deal.tables, "scenarios": ()})
    changed = with_scenarios(plain, extremes)
    _check(changed, ranges)
    groups = variants(changed, list(extremes) if any(extremes.values()) else ["base"])
    lines = build(groups[0], base(changed))
    found = Model(deal, start, tuple(ranges), groups[0], lines, periods(deal), lowest, highest, frozenset(held))
    return replace(found, unsteady=_checked_dates(found, changed))


def _check(deal: Deal, ranges: Collection[Cell]) -> None:
    try:
        check(deal)
    except DealError as error:
        cells = ", ".join(map(str, ranges))
        raise DealError(
            Fault(f"the study of {cells}", None, None, fault.wrong, fault.allowed) for fault in error.faults
        ) from None


def _checked_dates(found: Model, changed: Deal) -> tuple[Bound, ...]:
    """The due dates to look at in every run; DealError where a claim falls due before the start.

    Most due dates move one way with every cell, so the extremes tell. Where a phase may be cancelled they do not: a
    delay in between may cancel one for which a longer one would bring no prepayment, and so nothing to refund.
    """
    sheets = found.sheets
    once = [bound for bound in bound_dates(sheets) if not bound.owed]
    program = arrays.translate(found.lines, [*bound_lines(once), *unsteady_lines(sheets)])
    plan = base(changed)
    values = arrays.evaluate(
        program, sheets.value, lambda cell: float(plan.value(cell)[0]), _clock(found), len(sheets.scenarios)
    )
    part = Part(sheets, found.lines, values)
    check_due_dates(Solution(changed, found.periods, sheets.scenarios, (part,)), ["claims"])
    return tuple(unsteady_dates(part, float(found.periods.first_day[0])))


def _check_run_dates(found: Model, values: Mapping[str, Array], columns: Columns) -> None:
    """DealError for the first run in which a claim falls due before the start."""
    start = float(found.periods.first_day[0])
    for bound in found.unsteady:
        run = early(bound, values, start)
        if run is not None:
            where = ", ".join(f"{cell} = {shown(cell, float(columns[cell][run]))}" for cell in found.cells)
            wrong = f"{bound.claim} falls due on {from_serial(float(values[bound.date][run]))}, before the start"
            allowed = f"a due date on or after {from_serial(start)} is allowed"
            raise DealError([Fault(f"the run with {where or found.start}", None, None, wrong, allowed)])


def _clock(found: Model) -> arrays.Clock:
    return arrays.Clock(found.periods.first_day, found.periods.next_first_day)


@dataclass(frozen=True)
class Batch:
    """A model made ready to run: the lines it keeps, the engine that works them, how many runs at a time."""

    model: Model
    job: arrays.Job
    engine: str
    width: int

    @property
    def steps(self) -> int:
        """Operations worked for each run."""
        return len(self.job.layout.once) + len(self.job.layout.each) * self.job.periods


def batch(found: Model, keep: Collection[str], *, engine: str = "arrays", width: int | None = None) -> Batch:
    """A model made ready to run and to keep the lines named. `width` is the number of runs worked at a time.

    engine: `arrays` (numpy), `lanes` (numba), or `auto`: lanes where numba is there. Both give the same bits.
    """
    plan = base(found.sheets.deal)
    program = arrays.translate(found.lines, list(dict.fromkeys([*keep, *bound_lines(found.unsteady)])))
    changed = [cell for cell in program.inputs if found.source(cell) is not None]
    job = arrays.prepare(
        program,
        changed,
        lambda cell: float(found.sheets.value(cell)[0]),
        lambda cell: float(plan.value(cell)[0]),
        _clock(found),
    )
    chosen = fastest() if engine == "auto" else engine
    if chosen not in WIDTHS:
        raise DealError(
            [Fault("engine", None, None, f"there is no engine '{engine}'", f"auto, {', '.join(WIDTHS)} are allowed")]
        )
    return Batch(found, job, chosen, width or WIDTHS[chosen])


def fastest(runs: int = MANY) -> str:
    """The engine for so many runs: the lanes from MANY on, where numba is installed (it takes a second to import)."""
    return "lanes" if runs >= MANY and find_spec("numba") is not None else "arrays"


def worker(ready: Batch, width: int) -> arrays.Worker:
    """What works chunks of a batch of up to `width` runs, with registers of its own: one for each thread."""
    if ready.engine == "lanes":
        extra("numba")
        from stuckstep.engines.arrays import lanes  # numba is slow to import

        work = lanes.worker(ready.job, width)
    else:
        work = arrays.worker(ready.job, width)
    sources = {cell: ready.model.source(cell) for cell in ready.job.layout.inputs}

    def run(columns: Columns, size: int) -> dict[str, Array]:
        return work({cell: columns[source] for cell, source in sources.items() if source is not None}, size)

    return run


def fit(found: Model, columns: Columns) -> dict[Cell, Array]:
    """Columns of values as their cells want them, whole days rounded; DealError beyond the model's extremes."""
    fits: dict[Cell, Array] = {}
    for cell in found.cells:
        values = fitted(cell, columns[cell])
        low, high = found.lowest[cell], found.highest[cell]
        if values.size and (values.min() < low or values.max() > high):
            wrong = f"values from {values.min():.15g} to {values.max():.15g} are run"
            raise DealError([Fault(str(cell), None, None, wrong, f"the lines are made for {low:.15g} to {high:.15g}")])
        fits[cell] = np.ascontiguousarray(values)
    return fits


def chunks(count: int, width: int) -> list[slice]:
    """So many runs in even slices of up to `width`."""
    parts = -(-count // width)
    edges = [count * part // parts for part in range(parts + 1)] if parts else [0]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def stream(
    ready: Batch,
    parts: Sequence[slice],
    columns: Callable[[slice], Columns],
    reduce: Callable[[Mapping[str, Array], Columns, slice], T],
    *,
    threads: int = 1,
) -> Iterator[T]:
    """What `reduce` makes of each chunk, a slice of runs, in their order, whatever the threads.

    `columns` gives the values of a slice of runs. `reduce` gets the kept lines, (scenario,) or (period, scenario), in
    buffers the next chunk uses again, and the columns as the cells want them; it runs in the thread that worked them.
    """
    width = max((part.stop - part.start for part in parts), default=1)
    workers: SimpleQueue[arrays.Worker] = SimpleQueue()
    for _ in range(max(1, min(threads, len(parts)))):
        workers.put(worker(ready, width))

    def run(part: slice) -> T:
        values = fit(ready.model, columns(part))
        work = workers.get()
        try:
            lines = work(values, part.stop - part.start)
            _check_run_dates(ready.model, lines, values)
            return reduce(lines, values, part)
        finally:
            workers.put(work)

    if threads <= 1 or len(parts) <= 1:
        yield from map(run, parts)
    else:
        yield from _threaded(run, parts, threads)


def _threaded(run: Callable[[slice], T], parts: Sequence[slice], threads: int) -> Iterator[T]:
    """Runs in threads, a few ahead of what is taken, so that what waits to be taken does not grow."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: list[Future[T]] = []
        for part in parts:
            waiting.append(pool.submit(run, part))
            if len(waiting) >= 2 * threads:
                yield waiting.pop(0).result()
        for one in waiting:
            yield one.result()
