"""The lines as one list of operations, each said once: what every reader that works with arrays carries out.

An operation is named by its place in the list and reads only places before it, or the last period's value of a line.
What two lines say in the same words is one operation, worked once: that changes no bit, for no order of operations
changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from stuckstep.deal import Cell
from stuckstep.rules.expression import Node
from stuckstep.rules.lines import Kind, Line, Lines

COMPARISONS = frozenset({"below", "upto"})
# What gives a mask (yes or no) rather than a number.
MASKS = COMPARISONS | {"unequal"}
_CHAINS = frozenset({"add", "subtract", "multiply", "divide"})
_ORDER: tuple[Kind, ...] = ("static", "time", "cash")


class Operation(NamedTuple):
    """An operator over earlier places, or a leaf.

    `below`, `upto` and `unequal` (is a number not zero?) give a mask, yes or no; `flag` makes it 1 or 0.
    """

    operator: str
    parts: tuple[int, ...]
    leaf: float | str | Cell | None


@dataclass(frozen=True)
class Program:
    """The operations of some lines, and of all that these read.

    kinds says of each operation whether it depends on the period and on cash; places says where each line's value
    stands; openings and nexts, of each operation `last`, where its first value and its value for the next period stand.
    kept names the lines that are asked for.
    """

    operations: tuple[Operation, ...]
    kinds: tuple[Kind, ...]
    places: Mapping[str, int]
    openings: Mapping[int, int]
    nexts: Mapping[int, int]
    kept: tuple[str, ...]
    static: frozenset[str]

    @property
    def inputs(self) -> tuple[Cell, ...]:
        """The cells whose value in the scenario is read."""
        return tuple(one.leaf for one in self.operations if one.operator == "input" and isinstance(one.leaf, Cell))


def translate(lines: Lines, keep: Iterable[str] | None = None) -> Program:
    """The program that works out the lines named in `keep` (all of them by default) and all that these read."""
    kept = tuple(lines) if keep is None else tuple(dict.fromkeys(keep))
    writer = _Writer()
    needed = _needed(lines, kept)
    for line in needed:
        writer.places[line.name] = writer.number(line.value)
    lasts = {place: str(one.leaf) for place, one in enumerate(writer.operations) if one.operator == "last"}
    openings = {place: writer.number(lines[name].opening or _NOTHING) for place, name in lasts.items()}
    nexts = {place: writer.places[name] for place, name in lasts.items()}
    static = frozenset(name for name in kept if lines[name].kind == "static")
    return Program(tuple(writer.operations), tuple(writer.kinds), writer.places, openings, nexts, kept, static)


_NOTHING = Node("number", leaf=0.0)


def _needed(lines: Lines, kept: Iterable[str]) -> list[Line]:
    """The kept lines and all they read, in order."""
    found: set[str] = set()
    waiting = list(kept)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        line = lines[name]
        nodes = [*line.value.walk(), *(line.opening.walk() if line.opening is not None else ())]
        waiting += [str(node.leaf) for node in nodes if node.operator in ("line", "last")]
    return [line for name, line in lines.items() if name in found]


class _Writer:
    """Collects the operations, each once."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.kinds: list[Kind] = []
        self.places: dict[str, int] = {}
        self.known: dict[Operation, int] = {}

    def number(self, node: Node) -> int:
        """Where the number that a node gives stands."""
        if node.operator in _CHAINS:
            return self._chain(node)
        match node.operator:
            case "line":
                return self.places[str(node.leaf)]
            case "number" | "input" | "base" | "clock" | "last":
                return self._add(node.operator, (), node.leaf)
            case "below" | "upto":
                return self._add("flag", (self.mask(node),))
            case "choose":
                condition, then, otherwise = node.parts
                return self._add("choose", (self.mask(condition), self.number(then), self.number(otherwise)))
            case "least" | "most":
                parts = [self.number(part) for part in node.parts]
                return reduce(lambda left, right: self._add(node.operator, (left, right)), parts)
            case "ratio" | "whole" | "month" | "pick":
                return self._add(node.operator, tuple(self.number(part) for part in node.parts))
        raise ValueError(f"the array reader cannot express {node.operator}")

    def mask(self, node: Node) -> int:
        """Where the answer stands whether a node's number is not zero: of a comparison, whether it holds."""
        if node.operator in COMPARISONS:
            return self._add(node.operator, tuple(self.number(part) for part in node.parts))
        return self._add("unequal", (self.number(node), self._add("number", (), 0.0)))

    def _chain(self, node: Node) -> int:
        """Long sums and products from the left, without a call for each term."""
        links = []
        while node.operator in _CHAINS:
            links.append(node)
            node = node.parts[0]
        left = self.number(node)
        for link in reversed(links):
            left = self._add(link.operator, (left, self.number(link.parts[1])))
        return left

    def _add(self, operator: str, parts: tuple[int, ...], leaf: float | str | Cell | None = None) -> int:
        operation = Operation(operator, parts, leaf)
        if operation not in self.known:
            self.known[operation] = len(self.operations)
            self.operations.append(operation)
            self.kinds.append(self._kind(operation))
        return self.known[operation]

    def _kind(self, operation: Operation) -> Kind:
        if operation.operator == "last":
            return "cash"
        if operation.operator == "clock":
            return "static" if operation.leaf == "horizon" else "time"
        return max((self.kinds[part] for part in operation.parts), key=_ORDER.index, default="static")


def varying(program: Program, cells: Iterable[Cell]) -> list[bool]:
    """Of each operation, whether it depends on one of the cells; a `last` does when its opening or next value does."""
    changed = frozenset(cells)
    varies = [one.operator == "input" and one.leaf in changed for one in program.operations]
    while True:
        for place, one in enumerate(program.operations):
            varies[place] = varies[place] or any(varies[part] for part in one.parts)
        late = [p for p in program.nexts if not varies[p] and (varies[program.openings[p]] or varies[program.nexts[p]])]
        if not late:
            return varies
        for place in late:
            varies[place] = True
