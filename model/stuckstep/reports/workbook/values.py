"""The formulas' values, worked out by a spreadsheet engine from the file itself, and compared with the array engine's.

formualizer's own in-place recalculation refuses sheets of more than some 100,000 formulas, and gives no values to
compare; so the file is loaded and evaluated here, and the writer of the rows stores what it computed: one way for all.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from openpyxl.utils import get_column_letter

from stuckstep.engines.excel import Address

from .package import Package, Values
from .pages import Page

RELATIVE, ABSOLUTE = 1e-9, 1e-6
SHOWN = 5  # differences an error names


class WorkbookError(Exception):
    """The workbook was not written; the text says why, in one line."""


class Expected(NamedTuple):
    """Values that must stand side by side in a row, from a column on, and what they are."""

    says: str
    address: Address
    column: int
    values: NDArray[np.float64]


class Compared(NamedTuple):
    """How many numbers were compared, and the worst relative difference above the absolute tolerance."""

    cells: int
    worst: float


def recalculate(package: Package, pages: Mapping[str, Page]) -> dict[str, dict[tuple[int, int], Any]]:
    """The value of every formula of a workbook file. WorkbookError where one is an error or has no value."""
    import formualizer

    try:
        book = formualizer.load_workbook_bytes(package.write())
        book.set_temporal_egress("serial")
        book.evaluate_all()
    except Exception as error:  # whatever the spreadsheet engine could not do, no file is written
        raise WorkbookError(f"the workbook could not be recalculated: {' '.join(str(error).split())}") from error
    values: dict[str, dict[tuple[int, int], Any]] = {}
    wrong: list[str] = []
    for name, rows in package.rows.items():
        whole = formualizer.RangeAddress(name, 1, 1, *pages[name].size)
        grid = book.sheet(name).get_values(whole)
        found = values[name] = {place: grid[place[0] - 1][place[1] - 1] for place in rows.formulas}
        for (row, column), value in found.items():
            if type(value) not in (float, str):
                wrong.append(f"{name}!{_cell(row, column)} {pages[name].rows[row][column][0]} gives {value}")
    if wrong:
        raise WorkbookError(f"{len(wrong)} formulas have no value: {'; '.join(wrong[:SHOWN])}")
    return values


def compare(expected: Sequence[Expected], values: Values, pages: Mapping[str, Page]) -> Compared:
    """Checks what was recalculated against what is expected. WorkbookError names the first cells that disagree."""
    count, worst, wrong = 0, 0.0, []
    for row in expected:
        got = np.array(list(_read(row, values, pages)))
        difference = np.abs(got - row.values)
        scale = np.maximum(np.abs(row.values), np.abs(got))
        for position in np.flatnonzero(~((difference <= ABSOLUTE) | (difference <= RELATIVE * scale))):
            cell = _cell(row.address.row, row.column + int(position))
            wrong.append(f"{row.address.sheet}!{cell} ({row.says}) {got[position]!r}, engine {row.values[position]!r}")
        count += len(got)
        counts = difference > ABSOLUTE
        worst = max(worst, float((difference[counts] / scale[counts]).max(initial=0.0)))
    if wrong:
        shown = "; ".join(wrong[:SHOWN])
        raise WorkbookError(f"the workbook disagrees with the engine in {len(wrong)} of {count} cells: {shown}")
    return Compared(count, worst)


def _read(row: Expected, values: Values, pages: Mapping[str, Page]) -> Iterator[float]:
    """What stands in the row: a formula's value, or a number that is written as such."""
    sheet, number = row.address
    for column in range(row.column, row.column + len(row.values)):
        value = values[sheet].get((number, column))
        if value is None:
            value = pages[sheet].rows[number][column][0]
        yield float(value) if not isinstance(value, str) else float("nan")


def _cell(row: int, column: int) -> str:
    return f"{get_column_letter(column)}{row}"
