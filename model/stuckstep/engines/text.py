"""Reads a line as words: its formula, and the name and kind of each part it reads."""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from stuckstep.deal import Cell
from stuckstep.rules.expression import Node
from stuckstep.rules.lines import Line, Lines

PartKind = Literal["input", "base", "clock", "line", "last"]
CLOCKS = {
    "first_day": "first day of the period",
    "next_first_day": "first day of the next period",
    "days": "days of the period",
    "horizon": "day after the last period",
}
_SIGNS = {"add": "+", "subtract": "-", "multiply": "x", "divide": "/"}
_SUMS = frozenset({"add", "subtract"})
_PRODUCTS = frozenset({"multiply", "divide"})


class Part(NamedTuple):
    """Something a formula reads: its words, its kind, and what is read.

    An input or base (the input in the base sheets) reads a cell; a clock reads a name of CLOCKS; a line, or last (the
    line one period earlier), reads a line by its name.
    """

    words: str
    kind: PartKind
    reads: Cell | str


def formula(line: Line, lines: Lines, write: Callable[[Part], str] | None = None) -> str:
    """The line's expression in words; `write` says how a part is written (by default in its own words)."""
    return _Words(line, lines, write).of(line.value)


def parts(line: Line, lines: Lines) -> list[Part]:
    """What the formula in words names, each once, in its order; of a list every entry."""
    words = _Words(line, lines, None)
    words.of(line.value)
    return list(words.named)


def opening(line: Line, lines: Lines) -> float | Part:
    """What stands before the first period: a number, or the input it is. ValueError for anything else."""
    if line.opening is None:
        return 0.0
    if line.opening.operator == "number":
        return float(str(line.opening.leaf))
    if line.opening.operator in ("input", "base"):
        return _leaf(line.opening, line, lines)
    raise ValueError(f"the text reader cannot express the opening of {line.name}")


def _leaf(node: Node, line: Line, lines: Lines) -> Part:
    match node.operator:
        case "input":
            assert isinstance(node.leaf, Cell)
            return Part(_input_words(node.leaf, line), "input", node.leaf)
        case "base":
            assert isinstance(node.leaf, Cell)
            return Part(f"{_input_words(node.leaf, line)} in the base sheets", "base", node.leaf)
        case "clock":
            return Part(CLOCKS[str(node.leaf)], "clock", str(node.leaf))
        case "line":
            return Part(_line_words(lines[str(node.leaf)], line), "line", str(node.leaf))
        case "last":
            return Part(f"{_line_words(lines[str(node.leaf)], line)} one period earlier", "last", str(node.leaf))
    raise ValueError(f"the text reader cannot express {node.operator}")


class _Words:
    """Writes the expression of one line."""

    def __init__(self, line: Line, lines: Lines, write: Callable[[Part], str] | None) -> None:
        self.line, self.lines = line, lines
        self.write = write or (lambda part: part.words)
        self.named: dict[Part, None] = {}

    def of(self, node: Node) -> str:
        match node.operator:
            case "number":
                return f"{node.leaf:.15g}"
            case "input" | "base" | "clock" | "line" | "last":
                return self.write(self._name(node))
            case "add" | "subtract":
                return self._sum(node)
            case "multiply" | "divide":
                return self._product(node)
            case "least" | "most":
                return self._extreme(node)
            case "choose":
                test, then, otherwise = node.parts
                return f"({self.of(then)} if {self._test(test)}, else {self.of(otherwise)})"
            case "below" | "upto":
                return f"(1 if {self._test(node)}, else 0)"
            case "ratio":
                left, right = (self._bracketed(part, _SUMS | _PRODUCTS) for part in node.parts)
                return f"({left} / {right}, or 0 where there is nothing to divide by)"
            case "whole":
                return f"whole part of ({self.of(node.parts[0])})"
            case "month":
                return f"month of ({self.of(node.parts[0])})"
            case "pick":
                return self._pick(node)
        raise ValueError(f"the text reader cannot express {node.operator}")

    def _name(self, node: Node) -> Part:
        part = _leaf(node, self.line, self.lines)
        self.named[part] = None
        return part

    def _sum(self, node: Node) -> str:
        left, right = node.parts
        if node.operator == "subtract" and _is_number(right, 0):
            return self.of(left)
        return f"{self.of(left)} {_SIGNS[node.operator]} {self._bracketed(right, _SUMS)}"

    def _product(self, node: Node) -> str:
        left, right = node.parts
        if _is_number(right, 1):
            return self.of(left)
        within = _in_period(node)
        if within is not None:
            before, date = within
            falls = f"(1 if {self.of(date)} falls into the period, else 0)"
            return falls if before is None else f"{self._bracketed(before, _SUMS)} x {falls}"
        return f"{self._bracketed(left, _SUMS)} {_SIGNS[node.operator]} {self._bracketed(right, _SUMS | _PRODUCTS)}"

    def _extreme(self, node: Node) -> str:
        first, *others = node.parts
        if node.operator == "most" and len(others) == 1 and others[0] == Node("number", leaf=0.0) - first:
            return f"the size of ({self.of(first)}), whatever its sign"
        word = "smallest" if node.operator == "least" else "largest"
        return f"the {word} of ({'; '.join(self.of(part) for part in node.parts)})"

    def _pick(self, node: Node) -> str:
        """The entry of a list, such as `price in year [age + 1]` where the entries are numbered from 1."""
        position = self.of(node.parts[0])
        listed = [self._name(choice).words for choice in node.parts[1:]]
        for number in re.finditer("[0-9]+", listed[0]):
            before, first, after = listed[0][: number.start()], int(number[0]), listed[0][number.end() :]
            if listed == [f"{before}{first + place}{after}" for place in range(len(listed))]:
                return f"{before}[{position}{f' + {first}' if first else ''}]{after}"
        return f"entry number [{position}], counted from 0, of the list ({'; '.join(listed)})"

    def _test(self, node: Node) -> str:
        if node.operator not in ("below", "upto"):
            return self.of(node)
        return f"{self.of(node.parts[0])} {'<' if node.operator == 'below' else '<='} {self.of(node.parts[1])}"

    def _bracketed(self, node: Node, weaker: frozenset[str]) -> str:
        return f"({self.of(node)})" if node.operator in weaker else self.of(node)


def _is_number(node: Node, value: float) -> bool:
    return node.operator == "number" and node.leaf == value


def _in_period(node: Node) -> tuple[Node | None, Node] | None:
    """The date that two comparisons say falls into the period, and what is multiplied by them (if anything)."""
    if node.operator != "multiply" or node.parts[1].operator != "below":
        return None
    left, (date, end) = node.parts[0], node.parts[1].parts
    before, start = left.parts if left.operator == "multiply" else (None, left)
    bounds = (start.parts[0].leaf, end.leaf) if start.operator == "upto" else ()
    is_period = bounds == ("first_day", "next_first_day") and start.parts[1] == date
    return (before, date) if is_period else None


def _input_words(cell: Cell, line: Line) -> str:
    if cell.table == "deal":
        return cell.row
    name, narrowed, phase = cell.row.partition("@")
    where = f" in {phase}" if narrowed and phase != line.phase else ""
    is_near = name == line.row and cell.table == line.table
    return f"{cell.column}{where}" if is_near else f"{name} {cell.column}{where}"


def _line_words(read: Line, line: Line) -> str:
    if read.table == "constants":
        return read.row.replace("_", " ")
    phase = ""
    if read.phase is not None and read.phase != line.phase:
        phase = " in the whole deal" if read.phase == "deal" else f" in {read.phase}"
    item = re.sub(r"^([0-9]+) ", r"rank \1 ", read.item)
    is_near = read.row == line.row and read.table == line.table
    return f"{item}{phase}" if is_near else f"{read.row} {item}{phase}"
