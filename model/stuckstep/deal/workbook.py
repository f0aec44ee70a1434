"""Assumption sheets in an .xlsx workbook: reading them as raw tables, building one from a deal."""

from __future__ import annotations

import datetime
import io
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stuckstep.deal import layout
from stuckstep.deal.cells import Raw, Unreadable, number_text, to_text
from stuckstep.deal.raw import NO_HEADINGS, SHAPES, RawRow, RawTable, known, spoilt
from stuckstep.deal.records import Deal, DealError, Fault, Value

if TYPE_CHECKING:  # openpyxl is slow to import: only where it is used
    from openpyxl import Workbook
    from openpyxl.cell import Cell
    from openpyxl.worksheet.worksheet import Worksheet

# What openpyxl and zipfile are seen to raise on broken, cut, encrypted or forged files.
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, LookupError, ValueError, TypeError, AttributeError, SyntaxError),
    *(OSError, RuntimeError, EOFError, OverflowError),
)
_OLD_FORMAT = bytes.fromhex("D0CF11E0")
_MOST_BYTES = 300_000_000
_MOST_COLUMNS = 200
_WIDEST = 60
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_NO_CELLS = f'<worksheet xmlns="{_MAIN}"><sheetData/></worksheet>'


def read_workbook(path: Path) -> tuple[list[RawTable], list[Fault]]:
    """The raw tables of a workbook and a fault for each sheet that is neither a table nor one of the program's own."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DealError([Fault(str(path), None, None, f"cannot be read ({error.strerror})", SHAPES)]) from None
    book = _load(path, content, values=False)
    sheets = [sheet for sheet in book.worksheets if sheet.title not in layout.OWN_SHEETS]
    pairs, faults = known(((sheet.title, sheet.title) for sheet in sheets), "sheets")
    formulas = any(cell.data_type == "f" for title, _ in pairs for cell in _cells(book[title]))
    values = _load(path, content, values=True) if formulas else book
    return [_read_sheet(book[title], values[title], _counts_from_1900(book)) for title, _ in pairs], faults


def _counts_from_1900(book: Workbook) -> bool:
    return bool(book.epoch.year < 1904)


def _load(path: Path, content: bytes, values: bool) -> Workbook:
    """The workbook, with formulas or with their stored values; DealError when it cannot be opened."""
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    wrong = "this is no readable workbook"
    if content.startswith(_OLD_FORMAT):
        wrong = "the workbook is encrypted or in the old .xls format"
    try:
        if sum(entry.file_size for entry in zipfile.ZipFile(io.BytesIO(content)).infolist()) > _MOST_BYTES:
            wrong = f"the workbook unpacks to more than {_MOST_BYTES // 1_000_000} MB"
            raise ValueError(wrong)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles, validations and links that are not read here
            return load_workbook(io.BytesIO(_without_own_sheets(content)), data_only=values, keep_links=False)
    except (*_BROKEN, InvalidFileException) as error:
        reason = f" ({type(error).__name__}: {error})" if wrong.startswith("this is no") else ""
        one_line = " ".join(f"{wrong}{reason}".split())
        allowed = "an .xlsx workbook without a password is allowed"
        raise DealError([Fault(str(path), None, None, one_line, allowed)]) from None


def _without_own_sheets(content: bytes) -> bytes:
    """The file with the program's own sheets emptied: they are most of an exported workbook, and never read."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w") as lighter:
        own = _parts_of_own_sheets(archive)
        if not own:
            return content
        for name in archive.namelist():
            lighter.writestr(name, _NO_CELLS if name in own else archive.read(name))
    return out.getvalue()


def _parts_of_own_sheets(archive: zipfile.ZipFile) -> set[str]:
    """The parts that hold the program's own sheets; none where the workbook does not say which they are."""
    from defusedxml.ElementTree import fromstring

    book, relations = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
    if not {book, relations} <= set(archive.namelist()):
        return set()
    targets = {one.get("Id"): one.get("Target", "") for one in fromstring(archive.read(relations))}
    sheets = list(fromstring(archive.read(book)).iter(f"{{{_MAIN}}}sheet"))
    own = {targets.get(one.get(f"{{{_RELATION}}}id"), "") for one in sheets if one.get("name") in layout.OWN_SHEETS}
    return {target.removeprefix("/") if target.startswith("/") else f"xl/{target}" for target in own if target}


def _cells(sheet: Worksheet) -> Sequence[Cell]:
    """The cells that are there, whatever size the sheet claims to have, row by row."""
    there: dict[tuple[int, int], Any] = sheet._cells
    return [there[place] for place in sorted(there) if there[place].value is not None]


def _read_sheet(sheet: Worksheet, values: Worksheet, serials: bool) -> RawTable:
    """One sheet as a raw table; its first row holds the headings."""
    table = sheet.title
    faults = [
        Fault(table, merged.min_row, None, f"the cells {merged.coord} are merged", "single cells are allowed")
        for merged in sheet.merged_cells.ranges
    ]
    rows: dict[int, list[Raw]] = {}
    far = []
    for cell in _cells(sheet):
        if cell.column > _MOST_COLUMNS:
            far.append(cell)
            continue
        row = rows.setdefault(cell.row, [])
        row += [None] * (cell.column - len(row))
        row[cell.column - 1] = _raw(cell, values)
    if far:
        allowed = f"the first {_MOST_COLUMNS} columns are allowed"
        faults.append(Fault(table, far[0].row, None, f"cell {far[0].coordinate} lies far off the table", allowed))
    headings = [_heading(raw) for raw in rows.pop(1, [])]
    if not any(headings):
        return spoilt(table, table, *NO_HEADINGS)
    found: list[RawRow] = list(rows.items())
    return RawTable(table, table, headings, found, faults, serials)


def _heading(raw: Raw) -> str:
    if isinstance(raw, Unreadable):
        return raw.wrong
    return "" if raw is None else str(raw).strip()


def _raw(cell: Cell, values: Worksheet) -> Raw:
    """What a cell holds; of a formula the value that was stored with it."""
    where, formula = f"cell {cell.coordinate} holds", cell.data_type == "f"
    if formula:
        cell = values[cell.coordinate]
        if cell.value is None:
            return Unreadable(f"{where} a formula without a stored value (open, calculate and save the workbook)")
    value = cell.value
    if cell.data_type == "e":
        return Unreadable(f"{where} the error value {value}")
    if value is None or isinstance(value, (str, bool, datetime.date)):
        return value
    return float(value) if isinstance(value, (int, float)) else Unreadable(f"{where} the time {value}")


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
