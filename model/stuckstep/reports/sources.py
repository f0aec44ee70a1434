"""What the column `source` of a row says about each of its numbers."""

import re
from collections.abc import Iterator

from stuckstep.deal import Deal, schema

_NAMED = re.compile(r"(?:^|;)\s*([a-z_]+)\s*=\s*([^;]*)")
_FACT = re.compile(r"[A-Z][A-Z0-9]*(-[A-Za-z0-9]+)+")
KINDS = ("fact", "assumption", "text", "none")
_NUMBERS = ("number", "count", "days", "date")


def source_of(text: str, column: str) -> str:
    """What a row's source says of one column: its part of `column=source; column=source`, else the whole text."""
    named = {name: said.strip() for name, said in _NAMED.findall(text)}
    return named.get(column, "") if named else text.strip()


def kind_of(source: str) -> str:
    """fact (an id such as DDTL3-02), assumption, other text, or none."""
    if not source:
        return "none"
    if _FACT.search(source):
        return "fact"
    return "assumption" if "assum" in source.casefold() else "text"


def shares(deal: Deal) -> dict[str, dict[str, int]]:
    """How many numbers and dates of each table (blank ones apart) rest on what kind of source."""
    found: dict[str, dict[str, int]] = {}
    for table, source in _numbers(deal):
        counts = found.setdefault(table, dict.fromkeys(KINDS, 0))
        counts[kind_of(source)] += 1
    return found


def _numbers(deal: Deal) -> Iterator[tuple[str, str]]:
    """(table, source) of every number and date that is given; a trigger counts when it is a date."""
    types = {(column.table, column.column): column.type for column in schema()}
    for table, rows in deal.tables.items():
        for row in rows:
            text = str(row.extras.get("source", ""))
            for column, value in row.cells.items():
                is_number = not isinstance(value, str | tuple | None)
                if is_number and types.get((table, column), "number") != "name":
                    yield table, source_of(text, column)
