"""The formulas' values, worked out by a spreadsheet engine from the file itself, and compared with the array engine's.

formualizer's own in-place recalculation refuses sheets of more than some 100,000 formulas, and gives no values to
compare; so the file is loaded and evaluated here, and the writer of the rows stores what it computed: one way for all.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stuckstep.engines.excel import Address

from .package import Values
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
    """How many numbers were compared and the worst relative difference among them."""

    cells: int
    worst: float


def recalculate(content: bytes, pages: Sequence[Page]) -> dict[str, dict[tuple[int, int], Any]]:
    """The value of every formula of a workbook file. WorkbookError where one is an error or has no value."""
    import formualizer

    book = formualizer.load_workbook_bytes(content)
    book.set_temporal_egress("serial")
    book.evaluate_all()
    values: dict[str, dict[tuple[int, int], Any]] = {}
    wrong: list[str] = []
    for page in pages:
        rows, columns = page.size
        grid = book.sheet(page.name).get_values(formualizer.RangeAddress(page.name, 1, 1, rows, columns))
        found = values[page.name] = {}
        for row, column, formula in page.formulas():
            value = grid[row - 1][column - 1]
            if isinstance(value, (bool, int)):
                value = float(value)
            if not isinstance(value, (float, str)):
                wrong.append(f"{page.name} {_cell(row, column)} {formula} gives {value}")
            found[row, column] = value
    if wrong:
        raise WorkbookError(f"{len(wrong)} formulas have no value: {'; '.join(wrong[:SHOWN])}")
    return values


def compare(expected: Sequence[Expected], values: Values, constants: Mapping[str, Page]) -> Compared:
    """Checks what was recalculated against what is expected. WorkbookError names the first cells that disagree."""
    count, worst, wrong = 0, 0.0, []
    for row in expected:
        got = np.array(list(_read(row, values, constants)))
        difference = np.abs(got - row.values)
        scale = np.maximum(np.abs(row.values), np.abs(got))
        for position in np.flatnonzero(~((difference <= ABSOLUTE) | (difference <= RELATIVE * scale))):
            cell = _cell(row.address.row, row.column + int(position))
            wrong.append(f"{row.address.sheet}!{cell} ({row.says}) {got[position]!r}, engine {row.values[position]!r}")
        count += len(got)
        relative = difference / np.where(scale > 0, scale, 1.0)
        worst = max(worst, float(relative[difference > 0].max(initial=0.0)))
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
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column)}{row}"
