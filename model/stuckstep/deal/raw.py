"""Assumption files as raw tables: headings, cells and where they stand. A folder of CSV files or one workbook."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stuckstep.deal import layout
from stuckstep.deal.cells import Raw
from stuckstep.deal.records import DealError, Fault

# A row of raw cells with its number in the file.
RawRow = tuple[int, Sequence[Raw]]


@dataclass(frozen=True)
class RawTable:
    """One table as it stands in its file: headings by position, rows of cells with their number, faults of the file.

    Without headings there is nothing to read, and a fault says why. serials: whether a bare number may be a date.
    """

    table: str
    file: str
    headings: Sequence[str]
    rows: Sequence[RawRow]
    faults: Sequence[Fault] = ()
    serials: bool = True


SHAPES = "a folder of .csv files or one .xlsx workbook is allowed"
NO_HEADINGS = ("the first row holds no headings", "the names of the columns are required")
_ESCAPED = re.compile(r"'+[=+\-@\t]")


def read_raw(path: Path) -> tuple[list[RawTable], list[Fault]]:
    """The raw tables at a path, and faults of files that are no table; DealError when there is nothing to read."""
    if path.is_dir():
        return _read_folder(path)
    if not path.exists():
        raise DealError([Fault(str(path), None, None, "there is no such folder or workbook", SHAPES)])
    if path.suffix.lower() in (".xlsx", ".xlsm"):
        from stuckstep.deal.workbook import read_workbook  # openpyxl is slow to import

        return read_workbook(path)
    raise DealError([Fault(str(path), None, None, "this is neither a folder nor an .xlsx workbook", SHAPES)])


def known(named: Iterable[tuple[str, str]], kind: str) -> tuple[list[tuple[str, str]], list[Fault]]:
    """Of (table name, file) pairs those of the schema, in its order, and a fault for each other one."""
    pairs = list(named)
    allowed = f"the {kind} {', '.join(layout.tables())} are allowed"
    faults = [
        Fault(file, None, None, f"there is no table '{name}'{layout.nearest(name, layout.tables())}", allowed)
        for name, file in pairs
        if name not in layout.tables()
    ]
    return [pair for table in layout.tables() for pair in pairs if pair[0] == table], faults


def _read_folder(folder: Path) -> tuple[list[RawTable], list[Fault]]:
    try:
        files = sorted(file for file in folder.iterdir() if _is_table(file))
    except OSError as error:
        raise DealError([Fault(str(folder), None, None, f"cannot be read ({error.strerror})", SHAPES)]) from None
    if not files:
        raise DealError([Fault(str(folder), None, None, "the folder holds no .csv files", SHAPES)])
    pairs, faults = known(((file.stem, file.name) for file in files), "files (with .csv)")
    return [_read_csv(folder / file, table) for table, file in pairs], faults


def _is_table(file: Path) -> bool:
    return file.suffix.lower() == ".csv" and not file.name.startswith(".") and file.is_file()


def _read_csv(file: Path, table: str) -> RawTable:
    """One CSV file; the number of a row counts records, as a spreadsheet that opens the file does."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
        records = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except UnicodeDecodeError as error:
        return spoilt(table, file.name, f"byte {error.start + 1} is not UTF-8 text", "UTF-8 text is allowed")
    except csv.Error as error:
        return spoilt(table, file.name, f"this is not CSV ({error})", 'CSV with commas and " quotes is allowed')
    except OSError as error:
        return spoilt(table, file.name, f"cannot be read ({error.strerror})", "a readable file is allowed")
    headings = [heading.strip() for heading in records[0]] if records else []
    if not any(headings):
        return spoilt(table, file.name, *NO_HEADINGS)
    if len(headings) == 1 and (mark := re.search(r"[;\t|]", headings[0])):
        name = {";": "semicolons", "\t": "tabs", "|": "bars"}[mark[0]]
        return spoilt(table, file.name, f"the columns are separated by {name}", "commas are allowed")
    rows = [(number, [_unescaped(cell) for cell in record]) for number, record in enumerate(records[1:], 2)]
    return RawTable(table, file.name, headings, rows)


def spoilt(table: str, file: str, wrong: str, allowed: str) -> RawTable:
    """A table that cannot be read at all."""
    return RawTable(table, file, (), (), (Fault(file, None, None, wrong, allowed),))


def _unescaped(text: str) -> str:
    """Text without the ' that keeps spreadsheets from taking it for a formula."""
    return text[1:] if _ESCAPED.match(text) else text
