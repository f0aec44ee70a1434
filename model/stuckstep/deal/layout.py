"""The columns of every table, read from columns.csv: schema, validation, template and reference in one."""

from __future__ import annotations

import csv
import datetime
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from stuckstep.deal.lettering import nearest as nearest

EXTRAS = ("unit", "source", "note")
REQUIRED = ("deal", "parties", "phases", "steps", "accounts", "claims")
# Items that every scenario shares: they make the axes and labels of the results.
FIXED_ITEMS = ("title", "currency", "start", "quarters", "grid")
# Tables that say what to run, not what the deal is.
ABOUT_RUNS = ("scenarios", "accepted", "studies", "uncertainties")
# Tables in which a name may stand on several rows.
REPEATED = ("scenarios", "accepted", "studies")
# Sheets the program writes itself; they are no assumptions and are skipped when a workbook is read.
OWN_SHEETS = (
    *("cover", "live", "schedule", "relief", "constants", "contracts_calc", "claims_calc", "facilities_calc"),
    *("accounts_calc", "parties_calc", "checks", "results", "sensitivity", "charts", "log", "as_written"),
)


# How the row begins that the program writes above the headings of each table.
OWN_TITLE = "Check: "
# Kinds of claims that the rules declare beside those of columns.csv, each with the kind whose cells it has.
FURTHER_KINDS: dict[str, str] = {}


@dataclass(frozen=True)
class Column:
    """One column of one table (of the table deal: one item), as it stands in columns.csv.

    default: '' required, 'none' may stay blank, '=column' that column's value, else the value itself. low and high
    are inclusive bounds (a date for dates), usual the most that raises no warning. quarter: the day that the name of a
    quarter stands for (`first`, `last`, or the day `after` it). allowed: the choices; or tables whose names may be
    used, `table.suffix` for the claims a table's rows make, and 'words' in quotes.
    """

    table: str
    column: str
    type: str
    unit: str
    default: str
    low: float | datetime.date | None
    high: float | datetime.date | None
    usual: float | None
    quarter: str
    allowed: tuple[str, ...]
    meaning: str

    @property
    def words(self) -> tuple[str, ...]:
        """Words that are allowed beside names."""
        return tuple(name.strip("'") for name in self.allowed if name.startswith("'"))

    @property
    def sources(self) -> tuple[str, ...]:
        """Tables, or table.suffix, whose names are allowed."""
        return tuple(name for name in self.allowed if not name.startswith("'"))

    @property
    def optional(self) -> bool:
        """Whether a blank cell is without a value of its own, so that blankness is structure."""
        return self.default == "none" or self.default.startswith("=")


@cache
def schema() -> tuple[Column, ...]:
    """Every column of every table, in table and column order."""
    with (Path(__file__).parent / "columns.csv").open(encoding="utf-8", newline="") as file:
        return tuple(_column(row) for row in csv.DictReader(file))


def _column(row: dict[str, str]) -> Column:
    dated = row["type"] in ("date", "trigger")
    return Column(
        row["table"],
        row["column"],
        row["type"],
        row["unit"],
        row["default"],
        _bound(row["low"], dated),
        _bound(row["high"], dated),
        float(row["usual"]) if row["usual"] else None,
        row["quarter"],
        _allowed(row),
        row["meaning"],
    )


def _allowed(row: dict[str, str]) -> tuple[str, ...]:
    words = tuple(row["allowed"].split("|")) if row["allowed"] else ()
    return (*words, *FURTHER_KINDS) if (row["table"], row["column"]) == ("claims", "kind") else words


def add_kind(kind: str, like: str) -> None:
    """A further kind of claim, whose cells are those of a kind of columns.csv."""
    FURTHER_KINDS[kind] = like
    schema.cache_clear()
    columns.cache_clear()


def _bound(text: str, dated: bool) -> float | datetime.date | None:
    if not text:
        return None
    return datetime.date.fromisoformat(text) if dated else float(text)


@cache
def tables() -> tuple[str, ...]:
    """Names of all tables, in order."""
    return tuple(dict.fromkeys(column.table for column in schema()))


@cache
def columns(table: str) -> dict[str, Column]:
    """Columns of a table by name, in order; of the table deal: its items."""
    return {column.column: column for column in schema() if column.table == table}


@cache
def headings(table: str) -> tuple[str, ...]:
    """Headings of the table's own columns as they stand in a file, the key first."""
    return ("item", "value") if table == "deal" else tuple(columns(table))


def key(table: str) -> str:
    """Heading of the key column."""
    return headings(table)[0]


def column_of(table: str, row: str, column: str) -> Column:
    """The schema of a cell; KeyError when there is no such column."""
    return columns(table)[row if table == "deal" and column == "value" else column]
