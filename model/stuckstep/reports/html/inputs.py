"""The assumptions as they stand in the sheets, what a scenario changes in them, and the facts they cite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from markupsafe import Markup

from stuckstep.deal import Deal, Place, Value, schema

from ..amounts import number
from .svg import element, join

EXTRAS = ("unit", "source", "note")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*[A-Za-z0-9]")


class Sheet(NamedTuple):
    """One table of the deal: where it stands, its headings, and its rows as (words, whether a number)."""

    name: str
    file: str
    head: tuple[str, ...]
    rows: tuple[tuple[tuple[str, bool], ...], ...]


class Change(NamedTuple):
    """A cell that a scenario changes: its name, what stands in the sheets, what stands there now, source and note."""

    cell: str
    was: str
    now: str
    source: str
    note: str


def sheets(deal: Deal) -> Iterator[Sheet]:
    """Every table that has rows, its columns as they stand in its file; the scenarios are shown as changes."""
    for table in dict.fromkeys(column.table for column in schema()):
        if deal.tables.get(table) and table != "scenarios":
            head = deal.columns[table]
            rows = (
                tuple(_words(row.cells[name] if name in row.cells else row.extras.get(name)) for name in head)
                for row in deal.tables[table]
            )
            yield Sheet(table, deal.files.get(table, table), head, tuple(rows))


def changes(deal: Deal, scenario: str) -> tuple[Change, ...]:
    """What a scenario changes in the sheets, in the order of its rows."""
    found = []
    for row in deal.tables["scenarios"]:
        if row.cells["scenario"] == scenario:
            table, name, column = (str(row.cells[heading] or "") for heading in ("table", "row", "column"))
            column = column or "value"
            extras = {key: str(row.extras.get(key, "")) for key in EXTRAS}
            was = _words(_in_sheets(deal, table, name.split("@")[0], column))[0]
            now = _words(row.cells["value"])[0]
            found.append(Change(f"{table}, {name}, {column}", was, now, extras["source"], extras["note"]))
    return tuple(found)


def _in_sheets(deal: Deal, table: str, name: str, column: str) -> Value:
    for row in deal.tables[table]:
        if next(iter(row.cells.values())) == name:
            return row.cells.get(column)
    return None


def _words(value: Value) -> tuple[str, bool]:
    """A value as it is read, and whether it stands right."""
    if value is None:
        return "", False
    if isinstance(value, float):
        return number(value), True
    if isinstance(value, tuple):
        return "; ".join(f"{part.account}:{part.rank}" if isinstance(part, Place) else part for part in value), False
    return str(value), False


def cited(deal: Deal, known: set[str]) -> list[str]:
    """The facts that the source columns of the deal name, in order of first appearance."""
    found: dict[str, None] = {}
    for table in deal.tables.values():
        for row in table:
            for word in _WORD.findall(str(row.extras.get("source", "")) + " " + str(row.extras.get("note", ""))):
                if word in known:
                    found[word] = None
    return list(found)


def linked(words: str, known: set[str]) -> Markup:
    """Text whose fact ids lead to the list of facts."""
    parts, at = [], 0
    for match in _WORD.finditer(words):
        if match[0] in known:
            parts += [words[at : match.start()], element("a", match[0], href=f"#fact-{match[0]}")]
            at = match.end()
    return join([*parts, words[at:]])
