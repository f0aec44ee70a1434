"""One raw table as typed rows: every cell parsed by its column, with the faults and what was read otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stuckstep.deal import cells, layout
from stuckstep.deal.cells import CellError, Raw
from stuckstep.deal.checking import Spoilt
from stuckstep.deal.layout import Column
from stuckstep.deal.lettering import fold, look, name_text, nearest, odd_letter
from stuckstep.deal.raw import RawTable, heading_name, is_blank, known_headings
from stuckstep.deal.records import Fault, Reading, Row, Value


class TableReader:
    """Reads one raw table into typed rows; keeps the faults and readings, and notes what cannot be judged further."""

    def __init__(self, raw: RawTable, spoilt: Spoilt) -> None:
        self.raw = raw
        self.spoilt = spoilt
        self.faults = list(raw.faults)
        self.log = list(raw.log)

    def fault(self, row: int | None, column: str | None, wrong: str, allowed: str) -> None:
        """Note a fault of this table."""
        self.faults.append(Fault(self.raw.file, row, column, wrong, allowed))

    def read(self) -> list[Row]:
        """The rows whose key can be read."""
        raw = self.raw
        if raw.headings:
            self._check_headings()
        if layout.key(raw.table) not in raw.headings:
            self.spoilt.tables.add(raw.table)
            return []
        records = [(number, record) for number, record in raw.rows if not all(map(is_blank, record))]
        rows = [row for number, record in records if (row := self._row(number, record)) is not None]
        self._check_keys(rows)
        return rows

    def _check_headings(self) -> None:
        """Headings that are unknown, stand twice, or are missing though the column is required."""
        raw, known = self.raw, known_headings(self.raw.table)
        for position, heading in enumerate(raw.headings):
            if heading and heading in raw.headings[:position]:
                self.fault(raw.head, heading, "the column stands there twice", "each column once is allowed")
            elif heading and heading not in known:
                wrong = f"there is no column {cells.quoted(heading)}{nearest(heading, known)}"
                self.fault(raw.head, None, wrong, f"the columns {', '.join(known)} are allowed")
        for heading in layout.headings(raw.table):
            required = raw.table == "deal" or layout.columns(raw.table)[heading].default == ""
            if required and heading not in raw.headings:
                self.fault(raw.head, None, f"the column {heading} is missing", "the column is required")

    def _row(self, number: int, record: Sequence[Raw]) -> Row | None:
        """One typed row, or None when its key cannot be read."""
        raw = self.raw
        found: dict[str, Raw] = {}
        for position, cell in enumerate(record):
            heading = raw.headings[position] if position < len(raw.headings) else ""
            if heading:
                found.setdefault(heading, cell)
            elif not is_blank(cell):
                wrong = f"cell {position + 1} of the row stands under no heading"
                self.fault(number, None, wrong, "cells under a heading are allowed")
        if raw.table == "deal":
            values = self._item(number, found)
        elif raw.table == "scenarios":
            values = self._change(number, found)
        else:
            name = _name_of(found.get(layout.key(raw.table)))
            columns = layout.columns(raw.table).values()
            values = {column.column: self._cell(number, column, found, name) for column in columns}
            values[layout.key(raw.table)] = values[layout.key(raw.table)] or name
        extras = {name: value for name in layout.EXTRAS if (value := self._extra(number, name, found)) is not None}
        return Row(number, values, extras) if values and values[layout.key(raw.table)] else None

    def _cell(
        self, number: int, column: Column, found: Mapping[str, Raw], row: str | None, heading: str | None = None
    ) -> Value:
        """The typed value of a cell; a fault and None when it is bad. A missing required column is a fault already."""
        heading = heading or column.column
        if heading in self.raw.headings:
            raw = found.get(heading)
            try:
                value = cells.parse(column, raw, self.raw.dialect)
            except CellError as bad:
                self.fault(number, heading, str(bad), cells.allowed(column))
            else:
                if said := cells.otherwise(raw, value):
                    self.log.append(Reading(self.raw.file, number, heading, *said))
                return value
        if column.default == "" or heading in self.raw.headings:
            self.spoilt.cells.add((self.raw.table, str(row), heading))
        return None

    def _item(self, number: int, found: Mapping[str, Raw]) -> dict[str, Value]:
        """The two cells of a row of the table deal; nothing when there is no such item."""
        items = tuple(layout.columns("deal"))
        given = _name_of(found.get("item"))
        item = heading_name(given or "", items)
        if item not in items:
            wrong = f"there is no item {cells.quoted(item)}{nearest(item, items)}" if item else "the cell is blank"
            self.fault(number, "item", wrong, f"the items {', '.join(items)} are allowed")
            return {}
        if item != given:
            self.log.append(Reading(self.raw.file, number, "item", cells.quoted(str(given)), cells.quoted(item)))
        return {"item": item, "value": self._cell(number, layout.columns("deal")[item], found, item, "value")}

    def _change(self, number: int, found: Mapping[str, Raw]) -> dict[str, Value]:
        """The five cells of a row of the table scenarios, the value typed as the cell it names. Nothing when bad."""
        columns = dict(layout.columns("scenarios"))
        value = columns.pop("value")
        before = len(self.faults)
        if _name_of(found.get("table")) == "deal" and is_blank(found.get("column")):
            del columns["column"]
        values: dict[str, Value] = {"column": None}
        values |= {name: self._cell(number, column, found, None) for name, column in columns.items()}
        is_whole = len(self.faults) == before and all(values[name] is not None for name in columns)
        target = self._target(number, values) if is_whole else None
        if target is None:
            return {}
        typed = self._cell(number, target, found, None, "value")
        return {} if len(self.faults) > before else {**values, value.column: typed}

    def _target(self, number: int, values: dict[str, Value]) -> Column | None:
        """The column that a scenario's row changes, its name made plain; a fault and None when it cannot be changed."""
        table, row, heading = (cells.to_text(values[name]) for name in ("table", "row", "column"))
        names = layout.headings(table)[1:]
        where = "row" if table == "deal" else "column"
        if table == "deal":
            if heading and heading_name(heading, names) != "value":
                self.fault(number, "column", f"{cells.quoted(heading)} is not a column", "value is allowed")
                return None
            names = tuple(layout.columns("deal"))
        name = heading_name(row if table == "deal" else heading, (*names, layout.key(table)))
        if name != values[where]:
            self.log.append(Reading(self.raw.file, number, where, cells.quoted(str(values[where])), cells.quoted(name)))
            values[where] = name
        if table == "deal" and heading:
            values["column"] = "value"
        free = [other for other in names if not (table == "deal" and other in layout.FIXED_ITEMS)]
        if name in free:
            return layout.columns(table)[name]
        fixed = name in (*names, layout.key(table))
        wrong = f"'{name}' of {table} is the same in every scenario" if fixed else f"'{name}' is not in {table}"
        self.fault(number, where, wrong + ("" if fixed else nearest(name, free)), f"{', '.join(free)} are allowed")
        return None

    def _extra(self, number: int, heading: str, found: Mapping[str, Raw]) -> str | float | None:
        try:
            return cells.extra(found.get(heading))
        except CellError as bad:
            self.fault(number, heading, str(bad), "text or a number is allowed")
            return None

    def _check_keys(self, rows: Iterable[Row]) -> None:
        """A fault for each row whose key stands there before, in any case and width of letters, or looks the same."""
        if self.raw.table in layout.REPEATED:
            return
        key = layout.key(self.raw.table)
        seen: dict[str, tuple[int, str]] = {}
        for row in rows:
            name = str(row.cells[key])
            number, first = seen.setdefault(look(name), (row.number, name))
            if number == row.number:
                continue
            wrong = f"'{name}' stands in row {number} already"
            if fold(first) != fold(name):
                wrong = f"'{name}' looks like '{first}' of row {number}{odd_letter(name, first)}"
            self.fault(row.number, key, wrong, "each name once is allowed")


def _name_of(raw: Raw) -> str | None:
    """A key as text even when it is no good name, so that references to it are not faults as well."""
    try:
        raw = cells.clean(raw)
    except CellError:
        return None
    return None if raw is None else name_text(cells.as_text(raw))
