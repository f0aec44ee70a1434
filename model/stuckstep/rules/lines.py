"""A line: one row of the workbook, and one (period, scenario) slice of the results."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from .expression import Node

Kind = Literal["static", "time", "cash"]


def name_of(table: str, row: str, item: str, phase: str | None = None) -> str:
    """A line's name, such as `steps.power.finish@su1` or `claims.rent.due`."""
    return f"{table}.{row}.{item}" + (f"@{phase}" if phase is not None else "")


@dataclass(frozen=True, slots=True)
class Line:
    """A name (table, row, item, phase), a unit, what it says, and the expression that gives it.

    `unit` is `money` for an amount in the deal's currency. `opening` is what stands before the first period. `kind`
    follows from what the line reads: static (no period), time (no cash), cash (this period and the last).
    """

    table: str
    row: str
    item: str
    phase: str | None
    unit: str
    says: str
    value: Node
    opening: Node | None
    kind: Kind

    @property
    def name(self) -> str:
        return name_of(self.table, self.row, self.item, self.phase)


class Lines(Mapping[str, Line]):
    """The lines in the order they were said; each reads only lines above it, or last period's."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}

    def __getitem__(self, name: str) -> Line:
        return self._lines[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def add(
        self,
        table: str,
        row: str,
        item: str,
        unit: str,
        says: str,
        value: Node,
        *,
        phase: str | None = None,
        opening: Node | None = None,
    ) -> Node:
        """Says a line and gives the node that reads it. ValueError where the name is taken."""
        line = Line(table, row, item, phase, unit, says, value, opening, self._kind(value, opening))
        if line.name in self._lines:
            raise ValueError(f"the line {line.name} is said twice")
        self._lines[line.name] = line
        return self.read(line.name)

    def read(self, name: str) -> Node:
        """The node that reads a line above. KeyError where no such line stands yet."""
        if name not in self._lines:
            raise KeyError(f"no line {name} stands above")
        return Node("line", leaf=name)

    def at(self, table: str, row: str, item: str, phase: str | None = None) -> Node:
        """The node that reads the line of this table, row, item and phase."""
        return self.read(name_of(table, row, item, phase))

    def close(self) -> "Lines":
        """Checks that every line read one period earlier exists. ValueError where not."""
        for line in self._lines.values():
            for node in line.value.walk():
                if node.operator == "last" and node.leaf not in self._lines:
                    raise ValueError(f"the line {line.name} reads {node.leaf}, which nobody says")
        return self

    def _kind(self, value: Node, opening: Node | None) -> Kind:
        kinds = {self._kind_of_leaf(node) for node in value.walk()}
        if opening is not None or "cash" in kinds:
            return "cash"
        return "time" if "time" in kinds else "static"

    def _kind_of_leaf(self, node: Node) -> Kind:
        if node.operator == "last":
            return "cash"
        if node.operator == "clock" and node.leaf != "horizon":
            return "time"
        if node.operator == "line":
            return self[str(node.leaf)].kind
        return "static"
