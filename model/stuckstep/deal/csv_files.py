"""Assumption sheets in a folder of CSV files: their encoding, separator and decimal mark."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from stuckstep.deal import cells, layout
from stuckstep.deal.lettering import tidy
from stuckstep.deal.numerals import Dialect, decimal_mark
from stuckstep.deal.raw import SHAPES, RawRow, RawTable, find_headings, known, score, spoilt, table_of
from stuckstep.deal.records import DealError, Fault, Reading

_ESCAPED = re.compile(r"'+[=+\-@\t]")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_BEGINNING = 20_000  # characters in which the headings are looked for
_MOST_BYTES = 30_000_000
_MOST_WORDS = 20
_NOT_TEXT = {
    b"PK\x03\x04": "a workbook or archive",
    b"\xd0\xcf\x11\xe0": "an old or encrypted workbook",
    b"%PDF": "a PDF",
}
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class NoCsvError(Exception):
    """A file that is no CSV: what is wrong, what is allowed."""


def read_folder(folder: Path) -> tuple[list[RawTable], list[Fault], list[Reading]]:
    """The raw tables of a folder; DealError when it holds none."""
    try:
        files = sorted(file for file in folder.iterdir() if _is_table(file))
        outside = [file for file in files if file.resolve().parent != folder.resolve()]
    except OSError as error:
        raise DealError([Fault(str(folder), None, None, f"cannot be read ({error.strerror})", SHAPES)]) from None
    if outside:
        wrong, allowed = "this is a link out of the deal's folder", "files of the folder itself are allowed"
        raise DealError(Fault(file.name, None, None, wrong, allowed) for file in outside)
    if not files:
        raise DealError([Fault(str(folder), None, None, "the folder holds no .csv files", SHAPES)])
    pairs, faults, log = known(((file.stem, file.name) for file in files), "files (with .csv)")
    return [_read_csv(folder / file, table) for table, file in pairs], faults, log


def _is_table(file: Path) -> bool:
    return file.suffix.lower() == ".csv" and not file.name.startswith(".") and file.is_file()


def _read_csv(file: Path, table: str) -> RawTable:
    """One CSV file; the number of a row counts records, as a spreadsheet that opens the file does."""
    try:
        text, log = _text_of(file)
        separator = _separator(table, text)
        records = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except NoCsvError as bad:
        return spoilt(table, file.name, *bad.args)
    except csv.Error as error:
        return spoilt(table, file.name, f"this is not CSV ({error})", 'CSV with commas and " quotes is allowed')
    except OSError as error:
        return spoilt(table, file.name, f"cannot be read ({error.strerror})", "a readable file is allowed")
    rows = [(number, [_unescaped(cell) for cell in record]) for number, record in enumerate(records, 1)]
    dialect = cells.PLAIN
    if separator != ",":
        log.append(Reading(file.name, None, None, f"the columns are separated by {_SEPARATORS[separator]}", ""))
        dialect = Dialect(decimal_mark(_numbers(table, rows)))
        if dialect.decimal == ",":
            log.append(Reading(file.name, None, None, "the numbers have decimal commas", ""))
    return table_of(table, file.name, rows, log=log, dialect=dialect)


def _text_of(file: Path) -> tuple[str, list[Reading]]:
    """The text of a file, and a reading when it is not the UTF-8 that it should be."""
    if file.stat().st_size > _MOST_BYTES:
        raise NoCsvError(f"the file is larger than {_MOST_BYTES // 1_000_000} MB", "a smaller file is allowed")
    content = file.read_bytes()
    what = next((what for magic, what in _NOT_TEXT.items() if content.startswith(magic)), None)
    if what:
        raise NoCsvError(f"this is {what}, not CSV", "text is allowed")
    if content.startswith(_UTF16):
        text = content.decode("utf-16", errors="replace")
        if "\0" in text or "\ufffd" in text:  # UTF-32 begins like UTF-16
            raise NoCsvError("the UTF-16 text is broken", "UTF-8 text is allowed")
        return text, [Reading(file.name, None, None, "the text is UTF-16", "")]
    if b"\0" in content:
        raise NoCsvError(f"byte {content.index(0) + 1} is zero, so this is no text", "UTF-8 text is allowed")
    try:
        return content.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        wrong = f"byte {error.start + 1} is not UTF-8 text"
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        raise NoCsvError(wrong, "UTF-8 text is allowed") from None
    return text, [Reading(file.name, None, None, f"{wrong}: {_letters(text)}", "Windows-1252")]


def _letters(text: str) -> str:
    """The words with letters beyond ASCII as they were decoded, each once."""
    words = list(dict.fromkeys(re.findall(r"[^\s,;\t|\"]*[^\x00-\x7f][^\s,;\t|\"]*", text)))
    more = f" and {len(words) - _MOST_WORDS} more" if len(words) > _MOST_WORDS else ""
    return ", ".join(cells.quoted(word) for word in words[:_MOST_WORDS]) + more


def _separator(table: str, text: str) -> str:
    """The separator with which the file's beginning names most columns of the table; a comma when none does."""

    def names(separator: str) -> int:
        lines = io.StringIO(text[:_BEGINNING], newline="")
        rows = [(number, record) for number, record in enumerate(_leniently(lines, separator), 1)]
        place = find_headings(table, rows)
        return 0 if place is None else score(table, rows[place][1])

    return max(_SEPARATORS, key=names)


def _leniently(lines: io.StringIO, separator: str) -> Iterator[list[str]]:
    """Records up to the first that is no CSV."""
    try:
        yield from csv.reader(lines, delimiter=separator)
    except csv.Error:
        return


def _numbers(table: str, rows: Sequence[RawRow]) -> Iterator[str]:
    """What stands in the columns of numbers (of the table deal and of scenarios: in every value)."""
    place = find_headings(table, rows)
    if place is None:
        return
    numeric = {"value"} | {column.column for column in layout.columns(table).values() if column.unit}
    headings = [tidy(str(raw)).casefold() for raw in rows[place][1]]
    columns = [position for position, heading in enumerate(headings) if heading in numeric]
    for _, record in rows[place + 1 :]:
        yield from (tidy(str(record[position])) for position in columns if position < len(record))


def _unescaped(text: str) -> str:
    """Text without the ' that keeps spreadsheets from taking it for a formula."""
    return text[1:] if _ESCAPED.match(text) else text
