"""Assumption sheets in an .xlsx workbook as raw tables: what stands in their cells, and what looks otherwise."""

from __future__ import annotations

import datetime
import io
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stuckstep.deal import layout
from stuckstep.deal.cells import Raw, Unreadable, quoted, to_text
from stuckstep.deal.formats import looks
from stuckstep.deal.numerals import Dialect
from stuckstep.deal.packages import open_package, refused
from stuckstep.deal.raw import RawRow, RawTable, find_headings, heading_name, known, looks_like_headings, table_of
from stuckstep.deal.records import Fault, Reading

_MOST_COLUMNS = 200
_NEAR = 0.7  # how alike a sheet's name and a table's are for the one to be a slip of the other
_LARGEST = 10**308  # whole numbers of so many digits fit in no float
_MACROS = "xl/vbaProject.bin"


@dataclass(frozen=True)
class _Sheet:
    """One sheet: its cells that are not blank by (row, column), merged ranges with their rows, what is hidden."""

    title: str
    cells: Mapping[tuple[int, int], Any]
    merged: tuple[tuple[str, int, int], ...]
    hidden: bool
    hidden_rows: frozenset[int]
    hidden_columns: frozenset[int]
    serials: bool


def read_workbook(path: Path) -> tuple[list[RawTable], list[Fault], list[Reading]]:
    """The raw tables of a workbook, a fault for each sheet that is neither a table nor the program's own, readings."""
    content = open_package(path)
    sheets, macros = _load(path, content, values=False)
    named = [(title, title) for title, sheet in sheets.items() if sheet.cells or title in layout.tables()]
    others = [title for title, _ in named if _is_of_others(title, sheets[title])]
    pairs, faults, log = known([pair for pair in named if pair[0] not in others], "sheets")
    log += [Reading(title, None, None, "the sheet is no table, not read", "") for title in others]
    log += [
        Reading(title, None, None, "the sheet is empty, not read", "")
        for title in sheets
        if (title, title) not in named
    ]
    if macros:
        log.append(Reading(path.name, None, None, "the workbook holds macros, which are ignored", ""))
    formulas = any(cell.data_type == "f" for _, title in pairs for cell in sheets[title].cells.values())
    values = _load(path, content, values=True)[0] if formulas else sheets
    return [_read_sheet(table, sheets[title], values[title]) for table, title in pairs], faults, log


def _is_of_others(title: str, sheet: _Sheet) -> bool:
    """Whether a sheet is somebody's own: neither its name nor a row of it is near what a table's would be."""
    if heading_name(title, layout.tables()) in layout.tables() or layout.nearest(title, layout.tables(), _NEAR):
        return False
    rows: dict[int, list[Raw]] = {}
    for (number, _), cell in sheet.cells.items():
        if cell.data_type in ("s", "inlineStr"):
            rows.setdefault(number, []).append(str(cell.value))
    return not any(looks_like_headings(table, row) for table in layout.tables() for row in rows.values())


def _load(path: Path, content: bytes, values: bool) -> tuple[dict[str, _Sheet], bool]:
    """The sheets that are not the program's own, with formulas or with stored values, and whether there are macros.

    Only cells are loaded: no charts, comments, links or pivot tables. DealError when the workbook cannot be read.
    """
    from openpyxl.reader.excel import ExcelReader
    from openpyxl.styles.stylesheet import apply_stylesheet
    from openpyxl.worksheet._reader import WorksheetReader

    sheets: dict[str, _Sheet] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles, validations and links that are not read here
            reader = ExcelReader(io.BytesIO(content), data_only=values, keep_links=False)
            reader.read_manifest()
            reader.read_strings()
            reader.read_workbook()
            apply_stylesheet(reader.archive, reader.wb)
            for listed, part in reader.parser.find_sheets():
                if listed.name in layout.OWN_SHEETS or "worksheet" not in part.Type:
                    continue
                if part.target not in reader.valid_files:
                    raise ValueError(f"the part of the sheet {listed.name} is missing")
                made = reader.wb.create_sheet(listed.name)
                with reader.archive.open(part.target) as lines:
                    found = WorksheetReader(made, lines, reader.shared_strings, values, False)
                    found.bind_cells()
                sheets[listed.name] = _sheet(made, found.parser, listed.state)
            return sheets, _MACROS in reader.valid_files
    except Exception as error:  # openpyxl raises whatever the damage leads to
        about = str(error.args[0] if error.args else error).split("\n")[0]
        raise refused(path, f"this is no readable workbook ({type(error).__name__}: {about})") from None


def _sheet(made: Any, parser: Any, state: str | None) -> _Sheet:
    from openpyxl.utils import range_boundaries

    cells = {place: cell for place, cell in sorted(made._cells.items()) if cell.value is not None}
    ranges = [range_.ref for range_ in parser.merged_cells.mergeCell] if parser.merged_cells else []
    merged = tuple((ref, *range_boundaries(ref)[1::2]) for ref in ranges)
    rows = frozenset(int(row) for row, found in parser.row_dimensions.items() if _is_hidden(found, "ht"))
    columns: set[int] = set()
    for found in parser.column_dimensions.values():
        if _is_hidden(found, "width"):
            columns.update(range(int(found["min"]), min(int(found["max"]), _MOST_COLUMNS) + 1))
    return _Sheet(
        made.title,
        cells,
        merged,
        state not in (None, "visible"),
        rows,
        frozenset(columns),
        made.parent.epoch.year < 1904,
    )


def _is_hidden(found: Mapping[str, str], size: str) -> bool:
    return found.get("hidden") in ("1", "true") or float(found.get(size) or 1) == 0


def _read_sheet(table: str, sheet: _Sheet, values: _Sheet) -> RawTable:
    """One sheet as a raw table; what is merged above its headings are titles."""
    rows: dict[int, list[Raw]] = {}
    faults: list[Fault] = []
    for (number, column), cell in sheet.cells.items():
        if column > _MOST_COLUMNS:
            allowed = f"the first {_MOST_COLUMNS} columns are allowed"
            wrong = f"cell {cell.coordinate} lies far off the table"
            faults = faults or [Fault(sheet.title, number, None, wrong, allowed)]
            continue
        row = rows.setdefault(number, [])
        row += [None] * (column - len(row))
        row[column - 1] = _raw(cell, values)
    listed: list[RawRow] = list(rows.items())
    place = find_headings(table, listed)
    head = 0 if place is None else listed[place][0]
    faults += [
        Fault(sheet.title, first, None, f"the cells {merged} are merged", "single cells are allowed")
        for merged, first, last in sheet.merged
        if last >= head
    ]
    found = table_of(table, sheet.title, listed, faults, dialect=Dialect(serials=sheet.serials))
    log = [*_hidden(sheet, found), *found.log, *_looks(sheet, values, found)]
    return RawTable(**{**vars(found), "log": log})


def _hidden(sheet: _Sheet, found: RawTable) -> Iterator[Reading]:
    """What of a table cannot be seen in its sheet; it is read all the same."""
    if sheet.hidden:
        yield Reading(sheet.title, None, None, "the sheet is hidden, and read", "")
    for number, _ in found.rows:
        if number in sheet.hidden_rows:
            yield Reading(sheet.title, number, None, "the row is hidden, and read", "")
    for position, heading in enumerate(found.headings, 1):
        if heading and position in sheet.hidden_columns:
            yield Reading(sheet.title, None, heading, "the column is hidden, and read", "")


def _looks(sheet: _Sheet, values: _Sheet, found: RawTable) -> Iterator[Reading]:
    """Formulas, and numbers and dates whose format hides part of them, in the table's own columns."""
    for number, record in found.rows:
        for position, (heading, raw) in enumerate(zip(found.headings, record, strict=False), 1):
            cell = sheet.cells.get((number, position))
            if cell is None or heading not in layout.headings(found.table) or isinstance(raw, Unreadable):
                continue
            if cell.data_type == "f":
                formula = quoted(str(getattr(cell.value, "text", cell.value)))
                yield Reading(sheet.title, number, heading, f"the formula {formula}", f"its stored value {_text(raw)}")
                cell = values.cells[number, position]
            if isinstance(raw, (float, datetime.date)) and (looking := looks(raw, cell.number_format)):
                yield Reading(sheet.title, number, heading, looking, _text(raw))


def _text(raw: Raw) -> str:
    if isinstance(raw, datetime.datetime):
        raw = raw.date() if raw.time() == datetime.time() else raw
    return (
        quoted(raw) if isinstance(raw, str) else to_text(raw) if isinstance(raw, (float, datetime.date)) else str(raw)
    )


def _raw(cell: Any, values: _Sheet) -> Raw:
    """What a cell holds; of a formula the value that was stored with it."""
    where = f"cell {cell.coordinate} holds"
    if cell.data_type == "f":
        cell = values.cells.get((cell.row, cell.column))
        if cell is None:
            return Unreadable(f"{where} a formula without a stored value (open, calculate and save the workbook)")
    value = cell.value
    if cell.data_type == "e":
        return Unreadable(f"{where} the error value {value}")
    if value is None or isinstance(value, (str, bool, datetime.date)):
        return value
    if isinstance(value, int) and abs(value) >= _LARGEST:
        return Unreadable(f"{where} a number too large to read")
    if isinstance(value, (int, float)):
        return float(value)
    return Unreadable(f"{where} the time {value}")
