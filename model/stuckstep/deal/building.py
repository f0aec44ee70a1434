"""A deal as an .xlsx workbook: a plain sheet for each table."""

from __future__ import annotations

import datetime
import io
from typing import TYPE_CHECKING, Any

from stuckstep.deal import layout
from stuckstep.deal.cells import number_text, to_text
from stuckstep.deal.records import Deal, Value

if TYPE_CHECKING:  # openpyxl is slow to import: only where it is used
    from openpyxl.worksheet.worksheet import Worksheet

_WIDEST = 60


def build_workbook(deal: Deal) -> bytes:
    """The deal's tables as a plain workbook: a sheet for each, bold frozen headings, real numbers and dates."""
    from openpyxl import Workbook

    book = Workbook()
    for sheet in book.worksheets:
        book.remove(sheet)
    for table in (name for name in layout.tables() if name in deal.columns):
        fill_sheet(book.create_sheet(table), deal, table)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def fill_sheet(sheet: Worksheet, deal: Deal, table: str) -> None:
    """Write one table of a deal into an empty sheet."""
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    for position, heading in enumerate(deal.columns[table], 1):
        sheet.cell(1, position, heading).font = Font(bold=True)
        widest = len(heading)
        for number, row in enumerate(deal.tables[table], 2):
            value = row.cells[heading] if heading in row.cells else row.extras.get(heading)
            if value is not None:
                put(sheet.cell(number, position), value)
                widest = max(widest, len(to_text(value)))
        sheet.column_dimensions[get_column_letter(position)].width = min(widest, _WIDEST) + 2
    sheet.freeze_panes = "A2"


def put(cell: Any, value: Value) -> None:
    """Put a value into a cell of a sheet: numbers and dates as such, text always as text, never as a formula."""
    if isinstance(value, float):
        cell.value = int(value) if number_text(value).lstrip("-").isdigit() else value
    elif isinstance(value, datetime.date):
        cell.value = value
        cell.number_format = "yyyy-mm-dd"
    else:
        text = to_text(value)
        cell.value = text
        cell.data_type = "s"
        cell.quotePrefix = text[:1] in "=+-@'"
