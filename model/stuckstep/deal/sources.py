"""What the column `source` says of each number of a deal, and whether the facts it names exist.

A source is `column=ID+ID; column=assumption`, for the columns of its row, with the reasons in `note`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stuckstep.deal.facts import KINDS, Fact
from stuckstep.deal.records import Deal, Fault, Row, Value

RESTS_ON = (*KINDS, "worked out", "assumption", "other text", "no source")
_FACT = re.compile(r"[A-Z][A-Z0-9]*(?:-[A-Za-z0-9]+)+")
_NAMED = re.compile(r"[a-z_]+\s*=")


class Citation(NamedTuple):
    """A number or date of a deal with what its source says: fact ids, `assumption`, other text, or nothing."""

    table: str
    row: int
    column: str
    value: Value
    says: tuple[str, ...]
    note: str


def citations(deal: Deal) -> Iterator[Citation]:
    """Every number and date that is given; a trigger counts when it is a date."""
    for table, rows in deal.tables.items():
        for row in rows:
            said, note = said_by(row), str(row.extras.get("note", ""))
            for column, value in row.cells.items():
                if value is not None and not isinstance(value, str | tuple):
                    yield Citation(table, row.number, column, value, said.get(column, ()), note)


def said_by(row: Row) -> dict[str, tuple[str, ...]]:
    """A row's source by column. A source that names no column stands for all of the row's."""
    text = str(row.extras.get("source", "")).strip()
    if text and not _NAMED.match(text):
        return dict.fromkeys((column for column, value in row.cells.items() if value is not None), (text,))
    parts = [part.partition("=") for part in text.split(";") if part.strip()]
    return {name.strip(): tuple(one.strip() for one in ids.split("+") if one.strip()) for name, _, ids in parts}


def source_of(text: str, column: str) -> str:
    """What a source text says of one column: its own part of `column=source; ...`, else the whole text."""
    if not _NAMED.match(text.strip()):
        return text.strip()
    parts = (part.partition("=") for part in text.split(";"))
    return next((said.strip() for name, _, said in parts if name.strip() == column), "")


def rests_on(citation: Citation, known: Mapping[str, Fact]) -> str:
    """One of RESTS_ON: a fact's kind, `worked out` from several facts, an assumption, other text or no source."""
    if not citation.says:
        return "no source"
    if citation.says == ("assumption",):
        return "assumption"
    if not all(name in known for name in citation.says):
        return "other text"
    return known[citation.says[0]].kind if len(citation.says) == 1 else "worked out"


def shares(deal: Deal, known: Mapping[str, Fact]) -> dict[str, dict[str, int]]:
    """How many numbers and dates of each table rest on what: {table: {kind of RESTS_ON: count}}."""
    found: dict[str, dict[str, int]] = {}
    for citation in citations(deal):
        counts = found.setdefault(citation.table, dict.fromkeys(RESTS_ON, 0))
        counts[rests_on(citation, known)] += 1
    return found


def unsourced(deal: Deal, known: Mapping[str, Fact]) -> list[Fault]:
    """Numbers without a source or a reason, facts that do not exist, sources of blank cells: one fault each."""
    faults = [
        Fault(deal.files[one.table], one.row, one.column, wrong, allowed)
        for one in citations(deal)
        for wrong, allowed in _faults_of(one, known)
    ]
    for table, rows in deal.tables.items():
        for row in rows:
            blank = [column for column in said_by(row) if row.cells.get(column) is None]
            wrong, allowed = "a source is given for a blank cell", "a filled cell is required"
            faults += [Fault(deal.files[table], row.number, column, wrong, allowed) for column in blank]
    return faults


def _faults_of(one: Citation, known: Mapping[str, Fact]) -> Iterator[tuple[str, str]]:
    unknown = [name for name in one.says if _FACT.fullmatch(name) and name not in known]
    if not one.says:
        yield "the number has no source", "a fact id or the word assumption is required"
    elif unknown:
        yield f"{', '.join(unknown)} is no fact", "an id of facts.csv is required"
    elif not one.note and (len(one.says) > 1 or one.says == ("assumption",)):
        yield f"{'+'.join(one.says)} is not explained", "a reason in note is required"
