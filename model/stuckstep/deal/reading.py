"""From raw tables to a deal: every fault is collected before any is raised."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TypeVar

from stuckstep.deal import cells, layout
from stuckstep.deal.checking import Spoilt, cross_faults
from stuckstep.deal.limits import too_large, too_many
from stuckstep.deal.naming import as_known
from stuckstep.deal.raw import known_headings, read_raw
from stuckstep.deal.records import Deal, DealError, Fault, Reading, Row
from stuckstep.deal.rows import TableReader
from stuckstep.deal.runs import run_faults


def read(path: str | PathLike[str]) -> Deal:
    """The deal in a folder of CSV files or an .xlsx workbook; DealError with every fault found."""
    path = _given(path)
    raws, faults, log = read_raw(path)
    spoilt = Spoilt(set(), set())
    tables: dict[str, tuple[Row, ...]] = dict.fromkeys(layout.tables(), ())
    currency = ""
    for raw in raws:
        reader = TableReader(replace(raw, dialect=raw.dialect._replace(currency=currency)), spoilt)
        tables[raw.table] = tuple(reader.read())
        faults += reader.faults
        log += reader.log
        if raw.table == "deal":
            currency = next((str(row.cells["value"]) for row in tables["deal"] if row.cells["item"] == "currency"), "")
    files = {raw.table: raw.file for raw in raws}
    columns = {raw.table: tuple(heading for heading in raw.headings if heading) for raw in raws}
    faults += _missing(path, tables, files, spoilt)
    tables, renamed = as_known(tables, files)
    log += renamed
    name = path.resolve().name if path.is_dir() else path.stem
    deal = Deal(name, tables, columns, files, path, digest(tables), tuple(in_order(log, files)))
    faults += too_many(deal) or [*cross_faults(deal, spoilt), *run_faults(deal, spoilt.tables)]
    faults = faults or too_large(deal)
    if faults:
        raise DealError(in_order(faults, files))
    return deal


def _given(path: object) -> Path:
    """A path that says something: an empty one would be the current folder."""
    if not isinstance(path, (str, PathLike)):
        raise TypeError(f"a deal is read from the path of a folder or of an .xlsx workbook, not from {path!r}")
    if path == "":
        allowed = "a folder of .csv files or an .xlsx workbook is required"
        raise DealError([Fault("path", None, None, "the path is empty", allowed)])
    return Path(path)


def check(deal: Deal) -> None:
    """Raise DealError when rows of a deal do not fit together. A deal that was read has passed this."""
    if faults := [*cross_faults(deal, Spoilt(set(), set())), *run_faults(deal)]:
        raise DealError(in_order(faults, deal.files))


def digest(tables: Mapping[str, tuple[Row, ...]]) -> str:
    """SHA-256 of every table's content: row by row, what is not blank, whatever file it came from."""
    content = {table: [_content(table, row) for row in rows] for table, rows in tables.items() if rows}
    return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def _content(table: str, row: Row) -> list[tuple[str, str]]:
    """The cells of a row that are not blank, as (column, text), in the order of the schema."""
    own = [(name, cells.to_text(row.cells[name])) for name in layout.headings(table) if row.cells[name] is not None]
    return own + [(name, cells.to_text(row.extras[name])) for name in layout.EXTRAS if name in row.extras]


Found = TypeVar("Found", Fault, Reading)


def in_order(found: Iterable[Found], files: Mapping[str, str]) -> list[Found]:
    """Faults or readings without repeats, in the order of tables, rows and columns."""
    order = {files.get(table, table): place for place, table in enumerate(layout.tables())}

    def place(one: Found) -> tuple[int, int, int]:
        table = order.get(one.file, -1)
        headings = known_headings(layout.tables()[table]) if table >= 0 else ()
        return table, one.row or 0, headings.index(one.column) if one.column in headings else -1

    return sorted(dict.fromkeys(found), key=place)


def _missing(
    path: Path, tables: Mapping[str, tuple[Row, ...]], files: Mapping[str, str], spoilt: Spoilt
) -> list[Fault]:
    """Tables that every deal needs and that are absent or empty; items of the table deal that are."""
    faults = []
    for table in layout.REQUIRED:
        if table not in files:
            needed = f"the tables {', '.join(layout.REQUIRED)} are required"
            faults.append(Fault(str(path), None, None, f"the table {table} is missing", needed))
            spoilt.tables.add(table)
        elif not tables[table] and table not in spoilt.tables:
            faults.append(Fault(files[table], None, None, "the table has no rows", "one row or more is required"))
            spoilt.tables.add(table)
    given = {row.cells["item"] for row in tables["deal"]}
    for item in layout.columns("deal").values() if "deal" not in spoilt.tables else ():
        if item.default == "" and item.column not in given:
            faults.append(Fault(files["deal"], None, None, f"the item {item.column} is missing", cells.allowed(item)))
            spoilt.cells.add(("deal", item.column, "value"))
    return faults
