"""What a deal is made of once it is read: typed rows, cells by name, and the faults that stop it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from stuckstep.deal.scenarios import Index


class Place(NamedTuple):
    """Where a claim is paid from: an account and the rank inside it (the lowest is paid first)."""

    account: str
    rank: int


Value = str | float | datetime.date | tuple[str, ...] | tuple[Place, ...] | None


def place(file: str, row: int | None, column: str | None) -> str:
    """Where something stands, in words."""
    return f"{file}{'' if row is None else f', row {row}'}{'' if column is None else f', column {column}'}"


class Fault(NamedTuple):
    """One thing wrong in the assumptions: where it stands, what is wrong, what is allowed (a full clause)."""

    file: str
    row: int | None
    column: str | None
    wrong: str
    allowed: str

    def __str__(self) -> str:
        return f"{place(self.file, self.row, self.column)}: {self.wrong}; {self.allowed}"


class Reading(NamedTuple):
    """Something read otherwise than it looks: where it stands, what stood there, what was read ('' when it is said)."""

    file: str
    row: int | None
    column: str | None
    stood: str
    read: str

    def __str__(self) -> str:
        read = f" was read as {self.read}" if self.read else ""
        return f"{place(self.file, self.row, self.column)}: {self.stood}{read}"


class DealError(Exception):
    """Every fault found in a deal; its text has one line for each."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __reduce__(self) -> tuple[type[DealError], tuple[tuple[Fault, ...]]]:
        return type(self), (self.faults,)  # else it comes from another process with a letter for each fault


Found = TypeVar("Found")


def together(checks: Iterable[Callable[[], Found]]) -> list[Found]:
    """What each of some calls gives; DealError with the faults of all of them, each once."""
    found: list[Found] = []
    faults: list[Fault] = []
    for check in checks:
        try:
            found.append(check())
        except DealError as error:
            faults += error.faults
    if faults:
        raise DealError(dict.fromkeys(faults))
    return found


@dataclass(frozen=True)
class Row:
    """One row of a table.

    number is the row in the file (the header is row 1). cells holds every column of the table, typed, a blank one as
    None (no default applied). extras holds what stands in the columns unit, source and note.
    """

    number: int = field(compare=False)
    cells: Mapping[str, Value]
    extras: Mapping[str, str | float]


@dataclass(frozen=True)
class Deal:
    """The assumptions of one deal. Two deals are equal when their rows, values, extras and columns are.

    tables maps every table of the schema to its rows (a table that was not given has none); columns maps the tables
    given to their headings in the order of the file; files says which file or sheet each table stands in; digest is
    the SHA-256 of the content and the same for CSV and xlsx; log says what was read otherwise than it looks.
    """

    name: str = field(compare=False)
    tables: Mapping[str, tuple[Row, ...]]
    columns: Mapping[str, tuple[str, ...]]
    files: Mapping[str, str] = field(compare=False)
    path: Path = field(compare=False)
    digest: str
    log: tuple[Reading, ...] = field(default=(), compare=False)

    @cached_property
    def index(self) -> Index:
        """The rows and the scenarios' changes by name, worked out once."""
        from stuckstep.deal.scenarios import index

        return index(self)


@dataclass(frozen=True, order=True)
class Cell:
    """One input cell by name. The row may be narrowed to a phase (power@su1); for the table deal it is the item."""

    table: str
    row: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.row}.{self.column}"

    @property
    def plain(self) -> Cell:
        """The cell without its phase."""
        return Cell(self.table, self.row.split("@")[0], self.column)
