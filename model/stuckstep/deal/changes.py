"""Cells changed by a program: found by name, checked like those of a file, and added to a deal as scenarios."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stuckstep.deal import cells, layout
from stuckstep.deal.dates import from_serial, serial
from stuckstep.deal.records import Cell, Deal, DealError, Fault, Row, Value
from stuckstep.deal.scenarios import base, changed_cell, column_of

NUMERIC = ("number", "count", "days", "date", "trigger")


def cell_of(deal: Deal, text: str) -> Cell:
    """The cell a name such as steps.power@su1.delay or deal.base_rate means; DealError when it is no number or date."""
    table, _, rest = text.strip().partition(".")
    row, _, column = rest.rpartition(".")
    if table == "deal":
        row, column = rest.removesuffix(".value"), "value"
    cell = Cell(table, row, column)
    wrong = _misnamed(deal, cell)
    if wrong:
        allowed = "table.row.column is allowed, steps.step@phase.column, or deal.item"
        raise DealError([Fault(text, None, None, wrong, allowed)])
    if column_of(cell).type not in NUMERIC:
        raise DealError([Fault(text, None, None, "this is no number and no date", "a number or a date can be varied")])
    return cell


def _misnamed(deal: Deal, cell: Cell) -> str:
    """What is wrong with a cell's name; nothing where there is such a cell."""
    tables = [table for table in layout.tables() if table not in layout.ABOUT_RUNS]
    if cell.table not in tables:
        return f"there is no table '{cell.table}'{layout.nearest(cell.table, tables)}"
    sheets = base(deal)
    row, narrow, phase = cell.row.partition("@")
    if row not in sheets.keys(cell.table):
        return f"'{row}' is not in {cell.table}{layout.nearest(row, sheets.keys(cell.table))}"
    if narrow and cell.table != "steps":
        return f"'{cell.row}' narrows a row of {cell.table}; only a step is narrowed to a phase"
    if narrow and phase not in sheets.keys("phases"):
        return f"'{phase}' is not in phases{layout.nearest(phase, sheets.keys('phases'))}"
    columns = layout.headings(cell.table)[1:]
    if cell.column not in columns:
        return f"'{cell.column}' is not in {cell.table}{layout.nearest(cell.column, columns)}"
    if cell.table == "deal" and cell.row in layout.FIXED_ITEMS:
        return f"'{cell.row}' of deal is the same in every scenario"
    return ""


def fitted(cell: Cell, values: ArrayLike) -> NDArray[np.float64]:
    """Values for a cell as its column wants them: days and dates in whole days, the shape kept.

    Dates are serials. DealError where a value is no number, out of the column's bounds, or no whole count.
    """
    column = column_of(cell)
    given = np.asarray(values, dtype=np.float64)
    found = np.rint(given) + 0.0 if column.type in ("days", "date", "trigger") else given + 0.0
    low, high = (serial(one) if isinstance(one, datetime.date) else one for one in (column.low, column.high))
    bad = ~np.isfinite(found)
    if low is not None:
        bad |= found < low
    if high is not None:
        bad |= found > high
    if column.type == "count":
        bad |= found != np.rint(found)
    if bad.any():
        worst = np.atleast_1d(given)[np.atleast_1d(bad)][0]
        wrong = f"{shown(cell, float(worst))} is not what the cell can hold"
        raise DealError([Fault(str(cell), None, None, wrong, cells.allowed(column))])
    return found


def shown(cell: Cell, value: float) -> str:
    """A number as it is written in a cell: a day where the cell holds dates."""
    dated = column_of(cell).type in ("date", "trigger") and np.isfinite(value) and 1 <= value < 2_900_000
    return from_serial(value).isoformat() if dated else f"{value:.15g}"


def typed(cell: Cell, value: float) -> Value:
    """A number as a cell holds it: a date where the cell is one."""
    return from_serial(value) if column_of(cell).type in ("date", "trigger") else float(value)


def changes_of(deal: Deal, scenario: str) -> dict[Cell, Value]:
    """The cells a scenario of the deal changes; none for base."""
    rows = (row for row in deal.tables["scenarios"] if row.cells["scenario"] == scenario)
    found: dict[Cell, Value] = {}
    for row in rows:
        found.setdefault(changed_cell(row), row.cells["value"])
    return found


def with_scenarios(deal: Deal, scenarios: Mapping[str, Mapping[Cell, Value]]) -> Deal:
    """The deal with more scenarios, each the cells it changes (`@phase` too) and their typed values.

    They are added as rows of the table scenarios; whether they fit is for `check` to say.
    """
    from stuckstep.deal.reading import digest  # which checks with this module

    rows = [_row(name, cell, value) for name, changes in scenarios.items() for cell, value in changes.items()]
    first = max((row.number for row in deal.tables["scenarios"]), default=1) + 1
    rows = [replace(row, number=number) for number, row in enumerate(rows, first)]
    tables = {**deal.tables, "scenarios": (*deal.tables["scenarios"], *rows)}
    columns = {**deal.columns}
    columns.setdefault("scenarios", layout.headings("scenarios"))
    files = {**deal.files}
    files.setdefault("scenarios", "scenarios")
    return replace(deal, tables=tables, columns=columns, files=files, digest=digest(tables))


def _row(scenario: str, cell: Cell, value: Value) -> Row:
    column = None if cell.table == "deal" else cell.column
    named = {"scenario": scenario, "table": cell.table, "row": cell.row, "column": column, "value": value}
    return Row(0, named, {})
