"""What a line is made of: a small closed list of operators over inputs, clocks and other lines.

An expression is said once and read many ways (arrays, spreadsheet formulas, words), so its order of operations is part
of its meaning: sums and products always stand left to right, however they were written, and every reader keeps that.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from stuckstep.deal import Cell

Operator = Literal[
    "number", "input", "base", "clock", "line", "last",
    "add", "subtract", "multiply", "divide", "ratio",
    "least", "most", "choose", "below", "upto", "whole", "month", "pick",
]  # fmt: skip
Clock = Literal["first_day", "next_first_day", "days", "horizon"]


@dataclass(frozen=True, slots=True)
class Node:
    """One operation. A leaf holds a number, an input's cell, a clock's or a line's name; the rest hold nodes."""

    operator: Operator
    parts: tuple["Node", ...] = ()
    leaf: float | str | Cell | None = None

    def __add__(self, other: "Node") -> "Node":
        if other.operator == "add":
            return self + other.parts[0] + other.parts[1]
        if other.operator == "subtract":
            return self + other.parts[0] - other.parts[1]
        return Node("add", (self, other))

    def __sub__(self, other: "Node") -> "Node":
        return Node("subtract", (self, other))

    def __mul__(self, other: "Node") -> "Node":
        if other.operator == "multiply":
            return self * other.parts[0] * other.parts[1]
        if other.operator == "divide":
            return self * other.parts[0] / other.parts[1]
        return Node("multiply", (self, other))

    def __truediv__(self, other: "Node") -> "Node":
        return Node("divide", (self, other))

    def walk(self) -> Iterator["Node"]:
        """This node and all below it, from the top. A sum of thousands is as deep as it is long: no recursion."""
        ahead = [self]
        while ahead:
            yield (node := ahead.pop())
            ahead += reversed(node.parts)


def number(value: float) -> Node:
    return Node("number", leaf=float(value))


ZERO, ONE = number(0), number(1)


def input_of(cell: Cell) -> Node:
    """The cell's value in the scenario."""
    return Node("input", leaf=cell)


def base_of(cell: Cell) -> Node:
    """The cell's value in the base sheets, whatever the scenario."""
    return Node("base", leaf=cell)


def clock(name: Clock) -> Node:
    """A period's first day, the next period's, its length in days; or the day after the last period (`horizon`)."""
    return Node("clock", leaf=name)


FIRST_DAY, NEXT_FIRST_DAY, DAYS = clock("first_day"), clock("next_first_day"), clock("days")
HORIZON = clock("horizon")


def last(name: str) -> Node:
    """The named line one period earlier; its opening value in the first period."""
    return Node("last", leaf=name)


def total(parts: Iterable[Node]) -> Node:
    """The sum from left to right; of nothing, zero."""
    terms = list(parts)
    return reduce(Node.__add__, terms) if terms else ZERO


def least(*parts: Node) -> Node:
    return parts[0] if len(parts) == 1 else Node("least", parts)


def most(*parts: Node) -> Node:
    return parts[0] if len(parts) == 1 else Node("most", parts)


def absolute(value: Node) -> Node:
    return most(value, ZERO - value)


def choose(condition: Node, then: Node, otherwise: Node) -> Node:
    """`then` where the condition (a flag, or a comparison) holds."""
    return Node("choose", (condition, then, otherwise))


def below(left: Node, right: Node) -> Node:
    """1 where left < right, else 0."""
    return Node("below", (left, right))


def upto(left: Node, right: Node) -> Node:
    """1 where left <= right, else 0."""
    return Node("upto", (left, right))


def ratio(left: Node, right: Node) -> Node:
    """left / right, and zero where right is not above zero."""
    return Node("ratio", (left, right))


def whole(value: Node) -> Node:
    """The largest whole number not above the value."""
    return Node("whole", (value,))


def month(date: Node) -> Node:
    """The running number of the date's month: year x 12 + month."""
    return Node("month", (date,))


def pick(position: Node, choices: Iterable[Node]) -> Node:
    """The line at a position (from 0) of a list of static lines that stand below each other."""
    return Node("pick", (position, *choices))


def in_period(date: Node) -> Node:
    """1 in the period that the date falls into."""
    return upto(FIRST_DAY, date) * below(date, NEXT_FIRST_DAY)
