"""Works the lines out with numpy: all scenarios of a chunk at once, period by period.

What does not differ between the scenarios is worked once, in plain numbers and series. Every operation is elementwise
and in the order the expression states, so a scenario alone gives the bits it gives in a batch, in a chunk of any size.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import Cell

from .operations import Program, translate, varying
from .registers import Layout, Step, lay_out
from .steady import month, steady

__all__ = ["CHUNK", "Array", "Clock", "Job", "Program", "Worker", "evaluate", "prepare", "translate", "worker"]

Array = NDArray[np.float64]
# Works out one chunk: the varying inputs (scenario,) and how many scenarios there are go in, the kept lines come out,
# (scenario,) or (period, scenario).
# What comes out lies in buffers that the next chunk uses again.
Worker = Callable[[Mapping[Cell, Array], int], dict[str, Array]]
CHUNK = 4096  # scenarios worked at a time: the more, the less it costs to call numpy; the fewer, the nearer the cache


class Clock(NamedTuple):
    """The periods' first days and those of the next periods, as spreadsheet serials of shape (period,)."""

    first_day: Array
    next_first_day: Array


@dataclass(frozen=True)
class Job:
    """A program made ready for a batch: which operations vary, and the values of those that do not.

    values gives, by its place, what is the same in every scenario: a number, or a series (period,).
    """

    program: Program
    varies: Sequence[bool]
    values: Mapping[int, Any]
    periods: int
    layout: Layout


def prepare(
    program: Program,
    changed: Sequence[Cell],
    value: Callable[[Cell], float],
    base_value: Callable[[Cell], float],
    clock: Clock,
) -> Job:
    """A program ready for scenarios in which the cells `changed` differ; `value` gives every other input's value.

    `base_value` gives an input's value in the base sheets.
    """
    varies = varying(program, changed)
    layout = lay_out(program, varies)
    values = steady(program, varies, value, base_value, clock)
    return Job(program, varies, values, len(clock.first_day), layout)


def slots_of(job: Job, layout: Layout) -> Array:
    """What the steps read that is the same in every scenario, (period, slot)."""
    slots = np.empty((job.periods, len(layout.slots)))
    for slot, place in enumerate(layout.slots):
        slots[:, slot] = job.values[place]
    return slots


def evaluate(
    program: Program,
    value: Callable[[Cell], Array],
    base_value: Callable[[Cell], float],
    clock: Clock,
    scenarios: int,
) -> dict[str, Array]:
    """What each kept line gives: shape (scenario,) for a static line, (period, scenario) for the others.

    `value` gives an input's value by scenario, `base_value` its value in the base sheets.
    """
    columns = {cell: value(cell) for cell in program.inputs}
    changed = [cell for cell, values in columns.items() if not (values == values[0]).all()]
    job = prepare(program, changed, lambda cell: float(columns[cell][0]), base_value, clock)
    width = min(scenarios, CHUNK)
    work = worker(job, width)
    out = {
        name: np.empty(scenarios if name in program.static else (job.periods, scenarios), dtype=np.float64)
        for name in program.kept
    }
    for start in range(0, scenarios, width):
        part = slice(start, start + width)
        for name, values in work(
            {cell: columns[cell][part] for cell in changed}, min(width, scenarios - start)
        ).items():
            out[name][..., part] = values
    return out


def worker(job: Job, width: int) -> Worker:
    """What works out chunks of up to `width` scenarios of a job, in registers of its own (one thread's)."""
    layout, slots = job.layout, slots_of(job, job.layout)
    registers = np.zeros((layout.registers, width))
    masks = np.zeros((layout.masks, width), dtype=bool)
    now = np.zeros(len(layout.slots))
    once, each = (_bind(steps, registers, masks, now, slots) for steps in (layout.once, layout.each))
    out = np.empty((layout.kept_rows, job.periods, width))
    same = {line: filled(job, line, width) for line in layout.steady}
    first, into, count = layout.carried

    def work(columns: Mapping[Cell, Array], size: int) -> dict[str, Array]:
        for cell, register in layout.inputs.items():
            registers[register, :size] = columns[cell]
            registers[register, size:] = columns[cell][-1]
        with np.errstate(all="ignore"):
            now[:] = slots[0]
            for function, operands in once:
                function(*operands)
            for period, row in enumerate(slots):
                now[:] = row
                for function, operands in each:
                    function(*operands)
                out[:, period] = registers[: layout.kept_rows]
                registers[into : into + count] = registers[first : first + count]
        found = {line: values[..., :size] for line, values in same.items()}
        found |= {line: registers[row, :size] for line, row in layout.kept_once.items()}
        found |= {line: out[row, :, :size] for line, row in layout.kept.items()}
        return found

    return work


def filled(job: Job, line: str, width: int) -> Array:
    """A kept line that is the same in every scenario, as if it were worked for each."""
    values = job.values[job.program.places[line]]
    shape = (width,) if line in job.program.static else (job.periods, width)
    return np.broadcast_to(values if np.ndim(values) == 0 else np.asarray(values)[:, None], shape)


Bound = tuple[Callable[..., Any], tuple[Any, ...]]


def _bind(steps: Sequence[Step], registers: Array, masks: NDArray[np.bool_], now: Array, slots: Array) -> list[Bound]:
    """Each step as a function and the rows it works on; slots as views of what they hold now."""

    def row(operand: int) -> Any:
        return registers[operand] if operand >= 0 else now[~operand, ...]

    def mask(operand: int) -> Any:
        return masks[operand] if operand >= 0 else now[~operand, ...]

    spare, index = np.zeros(registers.shape[1], dtype=bool), np.zeros(registers.shape[1], dtype=np.intp)
    bound: list[Bound] = []
    for name, result, operands, _ in steps:
        match name:
            case "choose":
                rows = [mask(operands[0]), *map(row, operands[1:]), registers[result]]
                bound.append((_choose if operands[0] >= 0 else _choose_one, tuple(rows)))
            case "flag":
                bound.append((np.copyto, (registers[result], masks[operands[0]])))
            case "copy":
                bound.append((np.copyto, (registers[result], row(operands[0]))))
            case "below" | "upto" | "unequal":
                bound.append((_COMPARE[name], (*map(row, operands), masks[result])))
            case "ratio":
                bound.append((_ratio, (*map(row, operands), spare, registers[result])))
            case "pick" if max(operands[1:]) < 0:  # the list is static and the same everywhere
                listed = slots[0, [~one for one in operands[1:]]]
                bound.append((_pick_listed, (row(operands[0]), listed, index, registers[result])))
            case "pick":
                bound.append((_pick, (row(operands[0]), [row(one) for one in operands[1:]], spare, registers[result])))
            case _:
                bound.append((_INTO[name], (*map(row, operands), registers[result])))
    return bound


def _choose(mask: Any, then: Any, otherwise: Any, out: Array) -> None:
    np.copyto(out, otherwise)
    np.copyto(out, then, where=mask)


def _choose_one(mask: Any, then: Any, otherwise: Any, out: Array) -> None:
    np.copyto(out, then if mask else otherwise)


def _ratio(left: Any, right: Any, spare: Any, out: Array) -> None:
    np.divide(left, right, out)
    np.less_equal(right, 0.0, spare)
    np.copyto(out, 0.0, where=spare)


def _pick(position: Any, choices: Sequence[Any], spare: Any, out: Array) -> None:
    for number, choice in enumerate(choices):
        np.equal(position, number, spare)
        np.copyto(out, choice, where=spare)


def _pick_listed(position: Any, listed: Array, index: NDArray[np.intp], out: Array) -> None:
    np.copyto(index, position, casting="unsafe")
    listed.take(index, out=out, mode="clip")


def _month(date: Any, out: Array) -> None:
    out[:] = month(date)


_COMPARE: Mapping[str, Callable[..., Any]] = {"below": np.less, "upto": np.less_equal, "unequal": np.not_equal}
_INTO: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "least": np.fmin,
    "most": np.fmax,
    "whole": np.floor,
    "month": _month,
}
