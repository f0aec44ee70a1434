"""What a check sees: one scenario of the sheets without what was spoilt, and how it says what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stuckstep.deal import layout
from stuckstep.deal.records import Cell, Place, Value
from stuckstep.deal.scenarios import Sheets


class Problem(NamedTuple):
    """What is wrong at a cell, whatever file it stands in."""

    cell: Cell
    wrong: str
    allowed: str


Check = Callable[["View", str], Iterator[Problem]]


class NotJudged(Exception):  # noqa: N818 - it is no error, the check only stops
    """A check needs a cell or table that had a fault of its own."""


@dataclass(frozen=True)
class View:
    """The sheets of one scenario, without what had a fault when it was read."""

    sheets: Sheets
    spoilt_tables: set[str]
    spoilt_cells: set[tuple[str, str, str]]

    def rows(self, table: str) -> tuple[str, ...]:
        """Rows of a table that can be judged, the steps that a scenario narrows (step@phase) too."""
        if table in self.spoilt_tables:
            return ()
        changes = self.sheets.index.changes.get(self.sheets.scenarios[0], {}) if table == "steps" else {}
        narrowed = dict.fromkeys(cell.row for cell in changes if "@" in cell.row)
        return (*self.sheets.keys(table), *narrowed)

    def names(self, source: str) -> tuple[str, ...]:
        """Names of a table, or of the claims (table.suffix) its rows make."""
        table, dot, suffix = source.partition(".")
        if table in self.spoilt_tables:
            raise NotJudged
        names = self.sheets.keys(table)
        if suffix == "refund":
            names = tuple(name for name in names if self.may_refund(name))
        return tuple(f"{name}{dot}{suffix}" for name in names)

    def kind(self, claim: str) -> Value:
        """The kind of a claim, or the one whose cells its kind has."""
        kind = self.get("claims", claim, "kind")
        return layout.FURTHER_KINDS.get(str(kind), kind)

    def may_refund(self, contract: str) -> bool:
        """Whether a contract makes a refund claim, as far as can be judged."""
        try:
            return self.get("contracts", contract, "refund_from") is not None
        except NotJudged:
            return True

    def get(self, table: str, row: str, column: str, phase: str | None = None) -> Value:
        """What stands in a cell, defaults applied."""
        cell = self.sheets.find(table, row, column, phase)
        asked = (Cell(table, row, column), cell, cell.plain)
        if any((one.table, one.row, one.column) in self.spoilt_cells for one in asked):
            raise NotJudged
        return self.sheets.cell(table, row, column, phase)

    def places(self, table: str, row: str, column: str) -> tuple[Place, ...]:
        """The places in a cell whose accounts are known."""
        value = self.get(table, row, column)
        places = value if isinstance(value, tuple) else ()
        return tuple(place for place in places if isinstance(place, Place) and place.account in self.names("accounts"))

    def rank(self, account: Value) -> int:
        """Place of an account in the order of settlement."""
        names = self.names("accounts")
        if account not in names:
            raise NotJudged
        return names.index(str(account))


def listed(names: Sequence[str], sources: Iterable[str], words: Iterable[str] = ()) -> str:
    """What may be named, as a clause: the names themselves when they are few."""
    named = [*names, *words]
    if 0 < len(named) <= 12:
        return f"{', '.join(named)} {'is' if len(named) == 1 else 'are'} allowed"
    return f"a name from {' or '.join((*said(sources), *words))} is allowed"


def said(sources: Iterable[str]) -> list[str]:
    """Sources of names as they are spoken of: tables, and FACILITY.fee for what facilities.fee stands for."""
    owners = {"facilities": "FACILITY", "contracts": "CONTRACT"}
    return [f"{owners[name.partition('.')[0]]}.{name.partition('.')[2]}" if "." in name else name for name in sources]
