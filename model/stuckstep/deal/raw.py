"""Assumption files as raw tables: headings, cells and where they stand. A folder of CSV files or one workbook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stuckstep.deal import cells, layout
from stuckstep.deal.cells import Raw, Unreadable
from stuckstep.deal.lettering import fold, tidy
from stuckstep.deal.numerals import Dialect
from stuckstep.deal.records import DealError, Fault, Reading

# A row of raw cells with its number in the file.
RawRow = tuple[int, Sequence[Raw]]


@dataclass(frozen=True)
class RawTable:
    """One table as it stands in its file: headings by position, the rows below them, faults and readings of the file.

    Without headings there is nothing to read, and a fault says why. head: the number of the row of headings.
    """

    table: str
    file: str
    headings: Sequence[str]
    rows: Sequence[RawRow]
    head: int = 1
    faults: Sequence[Fault] = ()
    log: Sequence[Reading] = ()
    dialect: Dialect = cells.PLAIN


SHAPES = "a folder of .csv files or one .xlsx workbook is allowed"
OTHER_SHEETS = ", and sheets of your own that neither by name nor by headings could be one of them"
NO_HEADINGS = ("no row holds headings", "the names of the columns are required")
MOST_ROWS = 100_000
_SEARCHED = 30  # rows among which the headings are looked for
_TELLING = 3  # columns of a table that a row names by no accident
_TITLE_CELLS = 2  # a row above the headings with more cells than this is no title


def read_raw(path: Path) -> tuple[list[RawTable], list[Fault], list[Reading]]:
    """The raw tables at a path, faults of files that are no table, and readings; DealError when there is nothing."""
    if path.is_dir():
        from stuckstep.deal.csv_files import read_folder

        return read_folder(path)
    if not path.exists():
        raise DealError([Fault(str(path), None, None, "there is no such folder or workbook", SHAPES)])
    from stuckstep.deal.workbook import read_workbook  # openpyxl is slow to import

    return read_workbook(path)


def known(named: Iterable[tuple[str, str]], kind: str) -> tuple[list[tuple[str, str]], list[Fault], list[Reading]]:
    """Of (name, file) pairs the tables of the schema, in its order; a fault for each other, a reading for odd names."""
    tables: dict[str, str] = {}
    faults, log = [], []
    for name, file in named:
        table = heading_name(name, layout.tables())
        if table not in layout.tables():
            allowed = f"the {kind} {', '.join(layout.tables())} are allowed{OTHER_SHEETS if kind == 'sheets' else ''}"
            wrong = f"there is no table '{name}'{layout.nearest(name, layout.tables())}"
            faults.append(Fault(file, None, None, wrong, allowed))
        elif table in tables:
            wrong = f"the table {table} stands in {tables[table]} already"
            faults.append(Fault(file, None, None, wrong, "each table once is allowed"))
        else:
            tables[table] = file
            if table != name:
                log.append(Reading(file, None, None, f"the name {cells.quoted(name)}", table))
    return [(table, tables[table]) for table in layout.tables() if table in tables], faults, log


def heading_name(text: str, names: Iterable[str]) -> str:
    """The name a heading stands for, whatever its case and spaces; the heading itself when it is none."""
    folded = fold(text).replace(" ", "_").replace("-", "_")
    return next((name for name in names if name == folded), tidy(text))


def spoilt(table: str, file: str, wrong: str, allowed: str) -> RawTable:
    """A table that cannot be read at all."""
    return RawTable(table, file, (), (), faults=(Fault(file, None, None, wrong, allowed),))


def table_of(
    table: str,
    file: str,
    rows: Sequence[RawRow],
    faults: Iterable[Fault] = (),
    log: Iterable[Reading] = (),
    dialect: Dialect = cells.PLAIN,
) -> RawTable:
    """The raw table in the rows of a file: the headings are looked for, and what stands above them are titles."""
    if len(rows) > MOST_ROWS:
        return spoilt(table, file, f"the table has {len(rows):,} rows", f"at most {MOST_ROWS:,} are allowed")
    place = find_headings(table, rows)
    if place is None:
        return spoilt(table, file, *NO_HEADINGS)
    number, record = rows[place]
    names = known_headings(table)
    headings = [heading_name(as_heading(raw), names) for raw in record]
    log = [*log, *_odd_headings(file, number, record, headings)]
    faults = list(faults)
    limit = min(_TITLE_CELLS, sum(map(bool, headings)) - 1)
    for above, cells_above in rows[:place]:
        filled = [raw for raw in cells_above if not is_blank(raw)]
        if len(filled) > limit:
            wrong = f"the row stands above the headings in row {number}"
            faults.append(Fault(file, above, None, wrong, "titles above the headings and rows below them are allowed"))
        elif filled and not str(filled[0]).startswith(layout.OWN_TITLE):
            log.append(Reading(file, above, None, f"{cells.quoted(as_heading(filled[0]))} is a title, not read", ""))
    return RawTable(table, file, headings, rows[place + 1 :], number, faults, log, dialect)


def find_headings(table: str, rows: Sequence[RawRow]) -> int | None:
    """Which row holds the headings: of the first ones that with most names of columns, else the first not blank."""
    filled = [place for place, (_, record) in enumerate(rows) if not all(map(is_blank, record))][:_SEARCHED]
    if not filled:
        return None
    return max(filled, key=lambda place: (score(table, rows[place][1]), -place))


def score(table: str, record: Iterable[Raw]) -> int:
    """How many columns of a table a row names."""
    names = known_headings(table)
    return len({heading_name(as_heading(raw), names) for raw in record} & {*names})


def looks_like_headings(table: str, record: Sequence[Raw]) -> bool:
    """Whether a row names a table's key and two more of its columns; `item, value` heads many a list of one's own."""
    own = layout.headings(table)
    found = {heading_name(as_heading(raw), own) for raw in record} & {*own}
    return table != "deal" and layout.key(table) in found and len(found) >= min(_TELLING, len(own))


def known_headings(table: str) -> tuple[str, ...]:
    """Every heading a table may have."""
    return (*layout.headings(table), *layout.EXTRAS)


def as_heading(raw: Raw) -> str:
    """What stands in a cell, as text."""
    if isinstance(raw, Unreadable):
        return raw.wrong
    return "" if raw is None else tidy(cells.as_text(raw))


def is_blank(raw: Raw) -> bool:
    """Whether nothing stands in a cell that could be seen."""
    return raw is None or (isinstance(raw, str) and not tidy(raw))


def _odd_headings(file: str, number: int, record: Sequence[Raw], headings: Sequence[str]) -> Iterable[Reading]:
    for raw, heading in zip(record, headings, strict=True):
        if as_heading(raw) != heading:
            yield Reading(file, number, None, f"the heading {cells.quoted(as_heading(raw))}", heading)
