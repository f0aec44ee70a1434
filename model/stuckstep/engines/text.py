"""Reads a line as words: its formula, and the value and origin of each part."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from stuckstep.deal import Cell
from stuckstep.rules.expression import Node
from stuckstep.rules.lines import Line, Lines

_CLOCKS = {
    "first_day": "first day",
    "next_first_day": "next period's first day",
    "days": "days of the period",
    "horizon": "day after the last period",
}
_SIGNS = {"add": "+", "subtract": "-", "multiply": "x", "divide": "/"}
_SUMS = frozenset({"add", "subtract"})
_PRODUCTS = frozenset({"multiply", "divide"})


class Part(NamedTuple):
    """Something a formula reads: its words, the leaf that is read, and what kind of leaf it is."""

    words: str
    node: Node


def formula(line: Line, lines: Lines) -> str:
    """The line's expression in words."""
    return _words(line.value, line, lines)


def parts(line: Line, lines: Lines) -> list[Part]:
    """What the line's expression reads, each once, in the order of the formula; constants by their names."""
    leaves = {node: None for node in _leaves(line.value)}
    return [Part(_words(node, line, lines), node) for node in leaves]


def _leaves(node: Node) -> Iterator[Node]:
    return (found for found in node.walk() if not found.parts and found.operator != "number")


def _words(node: Node, line: Line, lines: Lines) -> str:
    def write(part: Node) -> str:
        return _words(part, line, lines)

    def bracketed(part: Node, weaker: frozenset[str]) -> str:
        return f"({write(part)})" if part.operator in weaker else write(part)

    match node.operator:
        case "number":
            return f"{node.leaf:g}"
        case "input":
            return _input_words(node.leaf, line)
        case "base":
            return f"{_input_words(node.leaf, line)} in the base sheets"
        case "clock":
            return _CLOCKS[str(node.leaf)]
        case "line":
            return _line_words(lines[str(node.leaf)], line)
        case "last":
            return f"{_line_words(lines[str(node.leaf)], line)} one period earlier"
        case "add" | "subtract":
            return f"{write(node.parts[0])} {_SIGNS[node.operator]} {bracketed(node.parts[1], _SUMS)}"
        case "multiply" | "divide":
            left = bracketed(node.parts[0], _SUMS)
            return f"{left} {_SIGNS[node.operator]} {bracketed(node.parts[1], _SUMS | _PRODUCTS)}"
        case "least" | "most":
            word = "smallest" if node.operator == "least" else "largest"
            return f"the {word} of ({'; '.join(write(part) for part in node.parts)})"
        case "choose":
            test, then, otherwise = node.parts
            return f"({write(then)} if {_test_words(test, write)}, else {write(otherwise)})"
        case "below" | "upto":
            return f"(1 if {_test_words(node, write)}, else 0)"
        case "ratio":
            left, right = (bracketed(part, _SUMS | _PRODUCTS) for part in node.parts)
            return f"({left} / {right}, or 0 where {right} is not above 0)"
        case "whole":
            return f"the whole part of ({write(node.parts[0])})"
        case "month":
            return f"the month of ({write(node.parts[0])})"
        case "pick":
            first = lines[str(node.parts[1].leaf)]
            return f"the entry at ({write(node.parts[0])}) of the list from {_line_words(first, line)} on"
    raise ValueError(f"the text reader cannot express {node.operator}")


def _test_words(node: Node, write: Callable[[Node], str]) -> str:
    if node.operator not in ("below", "upto"):
        return write(node)
    return f"{write(node.parts[0])} {'<' if node.operator == 'below' else '<='} {write(node.parts[1])}"


def _input_words(leaf: object, line: Line) -> str:
    assert isinstance(leaf, Cell)
    if leaf.table == "deal":
        return leaf.row
    return leaf.column if leaf.row == line.row and leaf.table == line.table else f"{leaf.row} {leaf.column}"


def _line_words(read: Line, line: Line) -> str:
    if read.table == "constants":
        return read.row.replace("_", " ")
    phase = f" in {read.phase}" if read.phase is not None and read.phase != line.phase else ""
    is_near = read.row == line.row and read.table == line.table
    return f"{read.item}{phase}" if is_near else f"{read.row} {read.item}{phase}"
