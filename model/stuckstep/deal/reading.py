"""From raw tables to a deal: every cell parsed by its column, every fault collected before any is raised."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path

from stuckstep.deal import cells, layout
from stuckstep.deal.cells import CellError, Raw
from stuckstep.deal.checking import Spoilt, cross_faults
from stuckstep.deal.raw import RawTable, read_raw
from stuckstep.deal.records import Deal, DealError, Fault, Row, Value


def read(path: str | PathLike[str]) -> Deal:
    """The deal in a folder of CSV files or an .xlsx workbook; DealError with every fault found."""
    path = Path(path)
    raws, faults = read_raw(path)
    spoilt = Spoilt(set(), set())
    tables: dict[str, tuple[Row, ...]] = dict.fromkeys(layout.tables(), ())
    for raw in raws:
        rows, found = _read_table(raw, spoilt)
        tables[raw.table] = tuple(rows)
        faults = [*faults, *found]
    files = {raw.table: raw.file for raw in raws}
    columns = {raw.table: tuple(heading for heading in raw.headings if heading) for raw in raws}
    faults += _missing(path, tables, files, spoilt)
    name = path.resolve().name if path.is_dir() else path.stem
    deal = Deal(name, tables, columns, files, path, digest(tables))
    faults += cross_faults(deal, spoilt)
    if faults:
        raise DealError(in_order(faults, deal))
    return deal


def check(deal: Deal) -> None:
    """Raise DealError when rows of a deal do not fit together. A deal that was read has passed this."""
    if faults := cross_faults(deal, Spoilt(set(), set())):
        raise DealError(in_order(faults, deal))


def digest(tables: Mapping[str, tuple[Row, ...]]) -> str:
    """SHA-256 of every table's content: row by row, what is not blank, whatever file it came from."""
    content = {table: [_content(table, row) for row in rows] for table, rows in tables.items() if rows}
    return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def _content(table: str, row: Row) -> list[tuple[str, str]]:
    """The cells of a row that are not blank, as (column, text), in the order of the schema."""
    own = [(name, cells.to_text(row.cells[name])) for name in layout.headings(table) if row.cells[name] is not None]
    return own + [(name, cells.to_text(row.extras[name])) for name in layout.EXTRAS if name in row.extras]


def in_order(faults: Iterable[Fault], deal: Deal) -> list[Fault]:
    """Faults without repeats, in the order of tables, rows and columns."""
    order = {deal.files.get(table, table): place for place, table in enumerate(layout.tables())}

    def place(fault: Fault) -> tuple[int, int, int]:
        table = order.get(fault.file, -1)
        headings = (*layout.headings(layout.tables()[table]), *layout.EXTRAS) if table >= 0 else ()
        return table, fault.row or 0, headings.index(fault.column) if fault.column in headings else -1

    return sorted(dict.fromkeys(faults), key=place)


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


def _read_table(raw: RawTable, spoilt: Spoilt) -> tuple[list[Row], list[Fault]]:
    """The typed rows of a table and its faults; what cannot be judged further is noted in spoilt."""
    faults = [*raw.faults, *(_heading_faults(raw) if raw.headings else ())]
    if layout.key(raw.table) not in raw.headings:
        spoilt.tables.add(raw.table)
        return [], faults
    rows: list[Row] = []
    for number, record in raw.rows:
        if all(_is_blank(cell) for cell in record):
            continue
        row, found = _read_row(raw, number, record, spoilt)
        faults += found
        if row is not None:
            rows.append(row)
    return rows, faults + _double_keys(raw, rows)


def _is_blank(raw: Raw) -> bool:
    return raw is None or (isinstance(raw, str) and not raw.strip())


def _heading_faults(raw: RawTable) -> list[Fault]:
    """Headings that are unknown, stand twice, or are missing though the column is required."""
    known = (*layout.headings(raw.table), *layout.EXTRAS)
    allowed = f"the columns {', '.join(known)} are allowed"
    faults = []
    for position, heading in enumerate(raw.headings):
        if heading and heading in raw.headings[:position]:
            faults.append(Fault(raw.file, 1, heading, "the column stands there twice", "each column once is allowed"))
        elif heading and heading not in known:
            wrong = f"there is no column '{heading}'{layout.nearest(heading, known)}"
            faults.append(Fault(raw.file, 1, None, wrong, allowed))
    for heading in layout.headings(raw.table):
        required = raw.table == "deal" or layout.columns(raw.table)[heading].default == ""
        if required and heading not in raw.headings:
            faults.append(Fault(raw.file, 1, None, f"the column {heading} is missing", "the column is required"))
    return faults


def _read_row(raw: RawTable, number: int, record: Iterable[Raw], spoilt: Spoilt) -> tuple[Row | None, list[Fault]]:
    """One typed row, or None when its key cannot be read."""
    faults: list[Fault] = []
    found: dict[str, Raw] = {}
    for position, cell in enumerate(record):
        heading = raw.headings[position] if position < len(raw.headings) else ""
        if heading:
            found.setdefault(heading, cell)
        elif not _is_blank(cell):
            wrong = f"cell {position + 1} of the row stands under no heading"
            faults.append(Fault(raw.file, number, None, wrong, "cells under a heading are allowed"))
    if raw.table == "deal":
        values = _read_item(raw, number, found, spoilt, faults)
    elif raw.table == "scenarios":
        values = _read_change(raw, number, found, spoilt, faults)
    else:
        name = _name_of(found.get(layout.key(raw.table)))
        columns = layout.columns(raw.table).values()
        values = {column.column: _cell(raw, number, column, found, name, spoilt, faults) for column in columns}
        values[layout.key(raw.table)] = values[layout.key(raw.table)] or name
    extras = {name: value for name in layout.EXTRAS if (value := _extra(raw, number, name, found, faults)) is not None}
    return (Row(number, values, extras) if values and values[layout.key(raw.table)] else None), faults


def _name_of(raw: Raw) -> str | None:
    """A key as text even when it is no good name, so that references to it are not faults as well."""
    try:
        raw = cells.clean(raw)
    except CellError:
        return None
    return None if raw is None else cells.as_text(raw)


def _cell(
    raw: RawTable,
    number: int,
    column: layout.Column,
    found: Mapping[str, Raw],
    row: str | None,
    spoilt: Spoilt,
    faults: list[Fault],
    heading: str | None = None,
) -> Value:
    """The typed value of one cell; a fault and None when it is bad. A missing required column is one fault already."""
    heading = heading or column.column
    try:
        if heading in raw.headings:
            return cells.parse(column, found.get(heading), raw.serials)
    except CellError as bad:
        faults.append(Fault(raw.file, number, heading, str(bad), cells.allowed(column)))
    if column.default == "" or heading in raw.headings:
        spoilt.cells.add((raw.table, str(row), heading))
    return None


def _read_item(
    raw: RawTable, number: int, found: Mapping[str, Raw], spoilt: Spoilt, faults: list[Fault]
) -> dict[str, Value]:
    """The two cells of a row of the table deal; nothing when there is no such item."""
    item = _name_of(found.get("item"))
    column = layout.columns("deal").get(item or "")
    if column is None:
        items = tuple(layout.columns("deal"))
        wrong = f"there is no item '{item}'{layout.nearest(item, items)}" if item else "the cell is blank"
        faults.append(Fault(raw.file, number, "item", wrong, f"the items {', '.join(items)} are allowed"))
        return {}
    return {"item": item, "value": _cell(raw, number, column, found, item, spoilt, faults, "value")}


def _read_change(
    raw: RawTable, number: int, found: Mapping[str, Raw], spoilt: Spoilt, faults: list[Fault]
) -> dict[str, Value]:
    """The five cells of a row of the table scenarios; the value is typed as the cell it names. Nothing when bad."""
    columns = dict(layout.columns("scenarios"))
    value = columns.pop("value")
    before = len(faults)
    of_deal = _name_of(found.get("table")) == "deal"
    if of_deal and _is_blank(found.get("column")):
        del columns["column"]
    values: dict[str, Value] = {"column": None}
    values |= {name: _cell(raw, number, column, found, None, spoilt, faults) for name, column in columns.items()}
    target = _target(raw, number, values, faults) if len(faults) == before else None
    if target is None:
        return {}
    typed = _cell(raw, number, target, found, None, spoilt, faults, "value")
    return {} if len(faults) > before else {**values, value.column: typed}


def _target(raw: RawTable, number: int, values: Mapping[str, Value], faults: list[Fault]) -> layout.Column | None:
    """The column that a scenario's row changes; a fault and None when there is no such column or it is fixed."""
    table, row, heading = (cells.to_text(values[name]) for name in ("table", "row", "column"))
    if table == "deal":
        names, name, where = tuple(layout.columns("deal")), row, "row"
        if heading not in ("", "value"):
            faults.append(Fault(raw.file, number, "column", f"'{heading}' is not a column", "value is allowed"))
            return None
    else:
        names, name, where = layout.headings(table)[1:], heading, "column"
    if name in names and not (table == "deal" and name in layout.FIXED_ITEMS):
        return layout.columns(table)[name]
    fixed = name in names or name in layout.headings(table)
    wrong = f"'{name}' of {table} is the same in every scenario" if fixed else f"'{name}' is not in {table}"
    free = [other for other in names if not (table == "deal" and other in layout.FIXED_ITEMS)]
    wrong += "" if fixed else layout.nearest(name, free)
    faults.append(Fault(raw.file, number, where, wrong, f"{', '.join(free)} are allowed"))
    return None


def _extra(
    raw: RawTable, number: int, heading: str, found: Mapping[str, Raw], faults: list[Fault]
) -> str | float | None:
    try:
        return cells.extra(found.get(heading))
    except CellError as bad:
        faults.append(Fault(raw.file, number, heading, str(bad), "text or a number is allowed"))
        return None


def _double_keys(raw: RawTable, rows: Iterable[Row]) -> list[Fault]:
    """A fault for each row whose key stands there before, in any case and width of letters."""
    if raw.table == "scenarios":
        return []
    seen: dict[str, int] = {}
    faults = []
    for row in rows:
        name = str(row.cells[layout.key(raw.table)])
        first = seen.setdefault(unicodedata.normalize("NFKC", name).casefold(), row.number)
        if first != row.number:
            wrong = f"'{name}' stands in row {first} already"
            faults.append(Fault(raw.file, row.number, layout.key(raw.table), wrong, "each name once is allowed"))
    return faults
