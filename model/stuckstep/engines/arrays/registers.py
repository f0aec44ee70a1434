"""What is worked for every scenario, in which order, and in which register each result lies until it is last read.

What depends on no varying input is the same in every scenario: it is worked once and read from a slot. The rest becomes
steps over registers, a row of scenarios each: some once, some in each period. Each result is worked just before it is
first read, and its register is used again after the last reading, so that few are in use at a time.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stuckstep.deal import Cell

from .operations import MASKS, Program


class Step(NamedTuple):
    """An operator, the register of its result (masks are numbered on their own), and what it reads.

    An operand from 0 on is a register; below, ~operand is the slot of a value that is the same in every scenario. The
    leaf is that of the operation, where it is a number.
    """

    operator: str
    result: int
    operands: tuple[int, ...]
    leaf: float = 0.0


class Carried(NamedTuple):
    """The registers that go over into the next period: the `rows` from `first` on are read as those from `into` on."""

    first: int
    into: int
    rows: int


@dataclass(frozen=True)
class Layout:
    """The steps of a program over a batch of scenarios.

    registers and masks count the rows; inputs gives the register of each varying cell; slots the place of each value
    that is the same everywhere. Of the kept lines, those that vary lie in the registers `kept` in each period (the
    rows below kept_rows) or in `kept_once` from the start; `steady` gives the places of those that do not.
    """

    registers: int
    masks: int
    inputs: Mapping[Cell, int]
    slots: tuple[int, ...]
    once: tuple[Step, ...]
    each: tuple[Step, ...]
    carried: Carried
    kept_rows: int
    kept: Mapping[str, int]
    kept_once: Mapping[str, int]
    steady: Mapping[str, int]


def lay_out(program: Program, varies: Sequence[bool], masks: Collection[str] = MASKS) -> Layout:
    """The steps and registers of a program in which these operations differ between scenarios.

    The results of the operators `masks` get registers of their own.
    """
    where = program.places
    timed = [line for line in program.kept if line not in program.static and varies[where[line]]]
    once_kept = [line for line in program.kept if line in program.static and varies[where[line]]]
    kept, nexts, first = _rows(program, varies, dict.fromkeys(where[line] for line in timed))
    writer = _Writer(program, varies, len(kept) + sum(row >= len(kept) for row in nexts.values()), nexts, masks)
    once = writer.once([where[line] for line in once_kept], kept)
    each = writer.each(kept)
    return Layout(
        writer.numbers.size,
        writer.masks.size,
        writer.inputs,
        tuple(writer.slots),
        tuple(once),
        tuple(each),
        Carried(first, writer.first_last, len(nexts)),
        len(kept),
        {line: kept[where[line]] for line in timed},
        {line: writer.register[where[line]] for line in once_kept},
        {line: where[line] for line in program.kept if not varies[where[line]]},
    )


def _rows(
    program: Program, varies: Sequence[bool], kept: Collection[int]
) -> tuple[dict[int, int], dict[int, int], int]:
    """The rows of what is kept, and of each `last` what it is in the next period: from `first` on, without a gap.

    Kept and not carried stand first, kept and carried in the middle, the other carried ones last.
    """
    carriers: dict[int, int] = {}
    lasts = [last for last in program.nexts if varies[last]]
    for last in lasts:
        if program.nexts[last] in kept:
            carriers.setdefault(program.nexts[last], last)
    alone = [place for place in kept if place not in carriers]
    rows = {place: row for row, place in enumerate([*alone, *carriers])}
    nexts = {last: rows[place] for place, last in carriers.items()}
    for last in lasts:
        nexts.setdefault(last, len(alone) + len(nexts))
    return rows, nexts, len(alone)


class _Pool:
    """Registers that are free to use again; more when none is."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.free: list[int] = []

    def take(self) -> int:
        if self.free:
            return self.free.pop()
        self.size += 1
        return self.size - 1


class _Writer:
    """Puts operations in order and gives them registers."""

    def __init__(
        self, program: Program, varies: Sequence[bool], rows: int, nexts: Mapping[int, int], masks: Collection[str]
    ) -> None:
        self.program, self.varies, self.nexts, self.masked = program, varies, nexts, masks
        self.first_last = rows
        first = min(nexts.values(), default=0)
        self.register = {last: rows + row - first for last, row in nexts.items()}
        cells = {one.leaf: place for place, one in enumerate(program.operations) if one.operator == "input"}
        varied = {cell: place for cell, place in cells.items() if isinstance(cell, Cell) and varies[place]}
        self.inputs = {cell: rows + len(nexts) + position for position, cell in enumerate(varied)}
        self.register |= {place: self.inputs[cell] for cell, place in varied.items()}
        self.numbers, self.masks = _Pool(rows + len(nexts) + len(varied)), _Pool(0)
        self.slots: dict[int, int] = {}

    def once(self, kept: Iterable[int], rows: Collection[int]) -> list[Step]:
        """What is worked before the first period; ends with what each `last` is in the first one."""
        roots = [*rows, *(self.program.nexts[last] for last in self.nexts)]
        read = {part for place in self._order(roots, "each") for part in self.program.operations[place].parts}
        openings = {last: self.program.openings[last] for last in self.nexts}
        forever = {place for place in (*kept, *read, *roots, *openings.values()) if self._stage(place) == "once"}
        steps = self._steps(self._order(sorted(forever), "once"), forever)
        return steps + [Step("copy", self.register[last], (self._operand(one),)) for last, one in openings.items()]

    def each(self, kept: Mapping[int, int]) -> list[Step]:
        """What is worked in each period; what has a row of its own and is worked elsewhere is copied there."""
        rows = [*kept.items(), *((self.program.nexts[last], row) for last, row in self.nexts.items())]
        homes: dict[int, int] = {}
        for place, row in rows:
            if self._stage(place) == "each":
                homes.setdefault(place, row)
        self.register |= homes
        steps = self._steps(self._order(sorted(homes), "each"), homes)
        copied = {row: place for place, row in rows if homes.get(place) != row}
        return steps + [Step("copy", row, (self._operand(place),)) for row, place in copied.items()]

    def _stage(self, place: int) -> str:
        """When what varies is worked; `given` for what only lies in its register, `slot` for what does not vary."""
        if not self.varies[place]:
            return "slot"
        if self.program.operations[place].operator in ("input", "last"):
            return "given"
        return "once" if self.program.kinds[place] == "static" else "each"

    def _order(self, roots: Iterable[int], stage: str) -> list[int]:
        """The operations of a stage that the roots need, each just before what first reads it."""
        done: dict[int, None] = {}
        for root in roots:
            waiting = [(root, False)]
            while waiting:
                place, ready = waiting.pop()
                if place in done or self._stage(place) != stage:
                    continue
                if ready:
                    done[place] = None
                else:
                    waiting.append((place, True))
                    waiting += [(part, False) for part in reversed(self.program.operations[place].parts)]
        return list(done)

    def _steps(self, order: Sequence[int], lasting: Collection[int]) -> list[Step]:
        """The steps of operations in this order. A result never takes the register of an operand of its own."""
        operations = self.program.operations
        ends = {part: number for number, place in enumerate(order) for part in operations[place].parts}
        own = set(order) - set(lasting)
        steps = []
        for position, place in enumerate(order):
            operator, parts, leaf = operations[place]
            pool = self._pool(place)
            if place not in self.register:
                self.register[place] = pool.take()
            number = leaf if isinstance(leaf, float) else 0.0
            steps.append(Step(operator, self.register[place], tuple(map(self._operand, parts)), number))
            for part in dict.fromkeys(parts):
                if part in own and ends[part] == position:
                    self._pool(part).free.append(self.register[part])
        return steps

    def _pool(self, place: int) -> _Pool:
        return self.masks if self.program.operations[place].operator in self.masked else self.numbers

    def _operand(self, place: int) -> int:
        """The register of what varies, or the slot of what does not."""
        if self.varies[place]:
            return self.register[place]
        return ~self.slots.setdefault(place, len(self.slots))
