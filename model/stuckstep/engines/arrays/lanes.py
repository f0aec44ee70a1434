"""Works the lines out with numba: one small interpreter, compiled once for any deal, over registers of a few scenarios.

The steps are those of the arrays (`registers`), drawn together where that saves a store (`fusion`), in the same order
of arithmetic and without any fast-math, so the bits are the same. The interpreter holds no lock, so threads run beside
each other, each with a worker of its own.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import Cell

from .fusion import fuse
from .interpreter import LANES, NUMBERS, interpret
from .registers import Layout, Step, lay_out
from .vectors import Array, Job, Worker, filled, slots_of

Code = NDArray[np.int64]
OPERANDS = 6  # columns of the code: operator, result, the operands, and the signs of a sum or where a list begins


def worker(job: Job, width: int) -> Worker:
    """What works out chunks of up to `width` scenarios of a job, in registers of its own (one thread's)."""
    layout = lay_out(fuse(job.program, job.varies), job.varies, masks=())
    slots = slots_of(job, layout)
    first_slot = layout.registers
    registers = np.zeros((first_slot + len(layout.slots) or 1, LANES))
    registers[first_slot:] = slots[:1].T if layout.slots else 0.0
    lists: list[int] = []
    once, even = (_encode(steps, first_slot, lists) for steps in (layout.once, layout.each))
    swapped = _swapped(layout, len(registers))
    odd = even.copy()
    odd[:, 1:-1] = swapped[even[:, 1:-1]]
    moving = np.flatnonzero((slots != slots[:1]).any(axis=0))
    series = np.ascontiguousarray(slots[:, moving])
    listed = np.array([*lists, 0])
    numbers = registers[listed, 0]  # what the lists hold that are the same in every lane
    given = np.array([*layout.inputs.values()], dtype=np.int64)
    kept = np.stack([np.arange(layout.kept_rows), swapped[: layout.kept_rows]])
    kept_once = np.array([*dict.fromkeys(layout.kept_once.values())], dtype=np.int64)
    places = {register: place for place, register in enumerate(kept_once.tolist())}
    out, out_once = np.empty((layout.kept_rows, job.periods, width)), np.empty((len(kept_once), width))
    same = {line: filled(job, line, width) for line in layout.steady}

    def work(columns: Mapping[Cell, Array], size: int) -> dict[str, Array]:
        values = np.empty((len(given), size))
        for place, cell in enumerate(layout.inputs):
            values[place] = columns[cell]
        rows = (moving + first_slot, series, kept, kept_once, out_once, out)
        interpret(once, even, odd, listed, numbers, registers, given, values, *rows)
        found = {line: rows[..., :size] for line, rows in same.items()}
        found |= {line: out_once[places[row], :size] for line, row in layout.kept_once.items()}
        return found | {line: out[row, :, :size] for line, row in layout.kept.items()}

    return work


def _swapped(layout: Layout, rows: int) -> Code:
    """Each register's place in odd periods: what is carried over changes places with where it is read."""
    first, into, count = layout.carried
    places = np.arange(rows)
    places[first : first + count], places[into : into + count] = (
        places[into : into + count].copy(),
        places[first : first + count].copy(),
    )
    return places


def _encode(steps: Sequence[Step], first_slot: int, lists: list[int]) -> Code:
    """Steps as whole numbers; a list's registers go to `lists`."""
    code = np.zeros((len(steps), 2 + OPERANDS + 1), dtype=np.int64)
    for place, (name, result, operands, leaf) in enumerate(steps):
        rows = [operand if operand >= 0 else first_slot + ~operand for operand in operands]
        code[place, -1] = int(leaf)
        if name == "pick":
            code[place, -1] = len(lists)
            lists += rows[1:]
            name = "pick one" if min(rows[1:]) >= first_slot else name
            rows = rows[:1]
        name, rows = _variant(name, rows, [row >= first_slot for row in rows])
        code[place, 0], code[place, 1] = NUMBERS[name], result
        code[place, 2 : 2 + len(rows)] = rows
    return _pairs(code)


def _pairs(code: Code) -> Code:
    """The steps in which a claim is paid and what is still open of it follow each other, as one step each."""
    kept = np.ones(len(code), dtype=bool)
    code = code.copy()
    for place in range(len(code) - 1):
        first, second = code[place], code[place + 1]
        pays = kept[place] and first[0] == NUMBERS["multiply"] and second[0] == NUMBERS["subtract"]
        if pays and second[2] == first[2] and second[3] == first[1] and second[1] != first[3]:
            code[place, 0], code[place, 4] = NUMBERS["pay"], second[1]
            kept[place + 1] = False
    return code[kept]


def _variant(name: str, rows: list[int], one: list[bool]) -> tuple[str, list[int]]:
    """The operator and operands of a step where some operands are the same in every lane."""
    match name, one:
        case "sum", _:
            return f"sum {len(rows)}", rows
        case (("add" | "multiply" | "least" | "most"), [True, False]):
            return f"{name} one", rows[::-1]
        case (("add" | "multiply" | "divide" | "least" | "most" | "below" | "upto"), [False, True]):
            return f"{name} one", rows
        case (("below" | "upto"), [True, False]):
            return f"one {name}", rows[::-1]
        case "subtract", [True, False]:
            return "from one", rows[::-1]
        case "multiply multiply", [False, True, True]:
            return "multiply one one", rows
        case "most difference", [True, False, False]:
            return "most difference one", [rows[1], rows[0], rows[2]]
    return name, rows
