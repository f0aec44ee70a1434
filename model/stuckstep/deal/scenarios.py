"""The sheets as a set of scenarios sees them: cells with defaults, narrowed to a phase, and where each one stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import cells, layout
from stuckstep.deal.dates import serial
from stuckstep.deal.records import Cell, Deal, DealError, Fault, Row, Value

BASE = "base"
_UNITS = {
    "usd": "",
    "usd_per_rack": "/rack",
    "usd_per_gpu": "/GPU",
    "usd_per_mw": "/MW",
    "usd_per_kw_month": "/kW/month",
    "usd_per_mw_year": "/MW/year",
    "usd_per_gpu_hour": "/GPU/hour",
    "usd_per_mwh": "/MWh",
    "usd_per_year": "/year",
}


class Held(NamedTuple):
    """What a cell holds in one scenario, and the row it stands in: its own or one of the scenarios table."""

    value: Value
    row: Row | None
    changed: bool


@dataclass(frozen=True, eq=False)
class Index:
    """The rows and changes of a deal by name; one for all its Sheets."""

    deal: Deal
    rows: Mapping[str, Mapping[str, Row]]
    changes: Mapping[str, Mapping[Cell, Row]]
    narrowed: frozenset[Cell]


@dataclass(frozen=True, eq=False)
class Sheets:
    """The sheets of one structure, with the values of the scenarios that share it."""

    scenarios: tuple[str, ...]
    index: Index = field(repr=False)

    @property
    def deal(self) -> Deal:
        """The deal the sheets belong to."""
        return self.index.deal

    def keys(self, table: str) -> tuple[str, ...]:
        """Names of a table's rows, in order; of the table deal: every item."""
        return tuple(layout.columns(table)) if table == "deal" else tuple(self.index.rows[table])

    def cell(self, table: str, row: str, column: str, phase: str | None = None) -> Value:
        """What stands in a cell, its default applied. For structure: a number or date is the first scenario's."""
        cell = self.find(table, row, column, phase)
        value = self.held(cell, self.scenarios[0]).value
        return cells.default(column_of(cell)) if value is None else value

    def kind(self, claim: str) -> str:
        """The kind of a claim, or the one whose cells its kind has."""
        kind = cells.to_text(self.cell("claims", claim, "kind"))
        return layout.FURTHER_KINDS.get(kind, kind)

    def find(self, table: str, row: str, column: str, phase: str | None = None) -> Cell:
        """The cell that holds a value: narrowed when any scenario narrows it, another column when its default is."""
        narrowed = Cell(table, f"{row}@{phase}", column)
        cell = narrowed if narrowed in self.index.narrowed else Cell(table, row, column)
        default = column_of(cell).default
        if default.startswith("=") and self.held(cell, self.scenarios[0]).value is None:
            return self.find(table, row, default[1:], phase)
        return cell

    def value(self, cell: Cell) -> NDArray[np.float64]:
        """The number or date (as a serial) of a cell in each scenario (scenario,); ValueError where there is none."""
        return np.array([_as_number(cell, self.input(cell, scenario)) for scenario in self.scenarios])

    def input(self, cell: Cell, scenario: str) -> Value:
        """What a cell holds in one scenario, its literal default applied."""
        value = self.held(cell, scenario).value
        return cells.default(column_of(cell)) if value is None else value

    def unit(self, cell: Cell) -> str:
        """Unit of a cell: the deal's currency for money, per unit of the row's basis for a rate or price."""
        unit = column_of(cell).unit
        if not unit.startswith("currency"):
            return unit
        basis = self.cell(cell.table, cell.row, "basis") if unit.endswith("/basis") else "usd"
        return f"{self.cell('deal', 'currency', 'value')}{_UNITS.get(str(basis), '')}"

    def source(self, cell: Cell, scenario: str) -> tuple[str, str]:
        """Where a cell stands in a scenario and what its row says its source is ('default' when it is blank)."""
        held = self.held(cell, scenario)
        table, column = ("scenarios", "value") if held.changed else (cell.table, cell.column)
        file = self.deal.files.get(table, table)
        if held.row is None:
            return f"{file}, {cell.row} not given", "default"
        where = f"{file}, row {held.row.number}, column {column}"
        return where, "default" if held.value is None else cells.to_text(held.row.extras.get("source"))

    def held(self, cell: Cell, scenario: str) -> Held:
        """What stands in a cell in one scenario, no default applied. A narrowed change wins over a plain one."""
        changes = self.index.changes.get(scenario, {})
        plain = cell.plain
        change = changes.get(cell) or changes.get(plain)
        if change is not None:
            return Held(change.cells["value"], change, True)
        rows = self.index.rows[cell.table]
        row = rows.get(cell.row) or rows.get(plain.row)
        if row is None and cell.table != "deal":
            raise KeyError(f"no row {cell.row} in {cell.table}")
        return Held(row.cells[plain.column] if row else None, row, False)


def column_of(cell: Cell) -> layout.Column:
    """The schema of a cell."""
    return layout.column_of(cell.table, cell.row, cell.column)


def default_of(cell: Cell) -> float | None:
    """The number that stands for a blank cell; None where a blank one has no value of its own."""
    default = cells.default(column_of(cell))
    return default if isinstance(default, float) else None


def _as_number(cell: Cell, value: Value) -> float:
    if isinstance(value, date):
        return serial(value)
    if isinstance(value, float):
        return value
    raise ValueError(f"{cell} holds {value!r}, not a number or a date")


def base(deal: Deal) -> Sheets:
    """The sheets themselves: the scenario base alone."""
    return Sheets((BASE,), deal.index)


def scenario_names(deal: Deal) -> tuple[str, ...]:
    """base and every scenario of the deal, in order of first appearance."""
    names = (cells.to_text(row.cells["scenario"]) for row in deal.tables["scenarios"])
    return tuple(dict.fromkeys((BASE, *names)))


def variants(deal: Deal, only: Sequence[str] | None = None) -> list[Sheets]:
    """The scenarios (or only some) grouped by structure, in order of first appearance; DealError for an unknown name.

    Structure is every cell that is no plain number or date: names, choices, lists, places, whether a cell without a
    value of its own is blank, whether a trigger is a name or a date.
    """
    names = scenario_names(deal)
    chosen = names if only is None else tuple(dict.fromkeys(only))
    if unknown := [name for name in chosen if name not in names]:
        file = deal.files.get("scenarios", "scenarios")
        allowed = f"one of {', '.join(names)} is allowed"
        raise DealError(
            Fault(file, None, "scenario", f"there is no scenario '{name}'{layout.nearest(name, names)}", allowed)
            for name in unknown
        )
    shared = deal.index
    plain = Sheets((BASE,), shared)
    groups: dict[frozenset[tuple[Cell, Value]], list[str]] = {}
    for name in chosen:
        groups.setdefault(_difference(plain, name), []).append(name)
    return [Sheets(tuple(group), shared) for group in groups.values()]


def index(deal: Deal) -> Index:
    """The rows and changes of a deal by name. Of rows with one name the first counts."""
    rows: dict[str, dict[str, Row]] = {}
    for table in layout.tables():
        named = rows.setdefault(table, {})
        for row in deal.tables[table] if table != "scenarios" else ():
            named.setdefault(cells.to_text(row.cells[layout.key(table)]), row)
    changes: dict[str, dict[Cell, Row]] = {}
    for row in deal.tables["scenarios"]:
        changes.setdefault(cells.to_text(row.cells["scenario"]), {}).setdefault(changed_cell(row), row)
    narrowed = frozenset(cell for found in changes.values() for cell in found if "@" in cell.row)
    return Index(deal, rows, changes, narrowed)


def changed_cell(row: Row) -> Cell:
    """The cell that a row of the table scenarios changes."""
    table, name, column = (cells.to_text(row.cells[heading]) for heading in ("table", "row", "column"))
    return Cell(table, name, column or "value" if table == "deal" else column)


def _difference(plain: Sheets, scenario: str) -> frozenset[tuple[Cell, Value]]:
    """The cells whose structure in a scenario is not that of base, with what it is."""
    changed = plain.index.changes.get(scenario, {})
    touched = {*changed, *(cell for cell in plain.index.narrowed if cell.plain in changed)}
    return frozenset(
        (cell, mark) for cell in touched if (mark := _structure(plain, cell, scenario)) != _structure(plain, cell, BASE)
    )


def _structure(sheets: Sheets, cell: Cell, scenario: str) -> Value:
    """What of a cell is structure: a name or list itself, ('',) where a value may be absent and is not, else None."""
    column = column_of(cell)
    value = sheets.input(cell, scenario)
    if isinstance(value, (float, date)):
        return ("",) if column.optional or column.type == "trigger" else None
    return value
