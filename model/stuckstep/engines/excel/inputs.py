"""The inputs as a spreadsheet sees them: the assumption sheets, and a sheet with the values of the chosen scenario.

On the sheet `live` every input that the formulas read has one row: the value of the chosen scenario, the default of a
blank cell, the value in the base sheets, and what each scenario changes it to, linked to the scenarios sheet; blank
where a scenario changes nothing.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from openpyxl.utils import get_column_letter

from stuckstep.deal import Cell, Deal, Row, Sheets, default_of, schema
from stuckstep.rules.lines import Lines

from .content import Cells, Formula, Placed

SHEET = "live"
NAME, UNIT, LIVE, DEFAULT, BASE, FIRST_SCENARIO = range(1, 7)
SELECTED_ROW, NAMES_ROW, FIRST_ROW = 3, 5, 6
EXTRAS = ("unit", "source", "note")
HEADINGS_ROW = 2  # of an assumption sheet; its title stands above


class Live(NamedTuple):
    """Where the live and the base value of each input stand."""

    rows: Mapping[Cell, int]

    def live(self, cell: Cell) -> str:
        return f"{SHEET}!${get_column_letter(LIVE)}${self.rows[cell]}"

    def base(self, cell: Cell) -> str:
        return f"{SHEET}!${get_column_letter(BASE)}${self.rows[cell]}"


def read_inputs(lines: Lines) -> list[Cell]:
    """The inputs the lines read, in order of first reading."""
    nodes = (node for line in lines.values() for value in (line.value, line.opening) if value for node in value.walk())
    return list(dict.fromkeys(node.leaf for node in nodes if isinstance(node.leaf, Cell)))


def place(cells: Iterable[Cell]) -> Live:
    """A row of the live sheet for each input; below them, apart, the cells that are narrowed to a phase."""
    wanted = list(dict.fromkeys(one for cell in cells for one in (cell.plain, cell)))
    plain = [cell for cell in wanted if cell.plain == cell]
    rows = {cell: row for row, cell in enumerate(plain, start=FIRST_ROW)}
    narrowed = (cell for cell in wanted if cell.plain != cell)
    return Live(rows | {cell: row for row, cell in enumerate(narrowed, start=FIRST_ROW + len(plain) + 1)})


@cache
def headings(table: str) -> tuple[str, ...]:
    """The headings of an assumption sheet: the table's columns in the schema's order, then unit, source and note."""
    own = ("item", "value") if table == "deal" else tuple(column.column for column in schema() if column.table == table)
    return (*own, *EXTRAS)


def live_sheet(sheets: Sheets, live: Live, selected: str) -> Cells:
    """The live sheet; `selected` is the cell that holds the chosen scenario's name."""
    first = get_column_letter(FIRST_SCENARIO)
    last = get_column_letter(FIRST_SCENARIO + len(sheets.scenarios) - 1)
    here = get_column_letter(LIVE)
    match = Formula(f"=MATCH({selected},${first}${NAMES_ROW}:${last}${NAMES_ROW},0)")
    yield Placed(SHEET, SELECTED_ROW, LIVE, match)
    for column, scenario in enumerate(sheets.scenarios, start=FIRST_SCENARIO):
        yield Placed(SHEET, NAMES_ROW, column, scenario)
    for cell, row in live.rows.items():
        yield Placed(SHEET, row, NAME, str(cell))
        yield Placed(SHEET, row, UNIT, sheets.unit(cell))
        change = f"INDEX(${first}{row}:${last}{row},${here}${SELECTED_ROW})"
        otherwise = f"${get_column_letter(BASE)}{row}" if cell.plain == cell else f"${here}{live.rows[cell.plain]}"
        yield Placed(SHEET, row, LIVE, Formula(f'=IF({change}="",{otherwise},{change})'))
        yield from _values(sheets, live, cell)


def _values(sheets: Sheets, live: Live, cell: Cell) -> Cells:
    """The default, the base value, and what the scenarios change."""
    row = live.rows[cell]
    default = default_of(cell)
    if default is not None:
        yield Placed(SHEET, row, DEFAULT, default)
    base = f"=${get_column_letter(BASE)}{live.rows[cell.plain]}"
    yield Placed(SHEET, row, BASE, Formula(base if cell.plain != cell else _base(sheets, cell, row, default)))
    for column, scenario in enumerate(sheets.scenarios, start=FIRST_SCENARIO):
        change = sheets.index.changes.get(scenario, {}).get(cell)
        if change is not None:
            link = address(sheets.deal, "scenarios", change, "value")
            yield Placed(SHEET, row, column, Formula(_link(link, row, default)))


def _base(sheets: Sheets, cell: Cell, row: int, default: float | None) -> str:
    held = sheets.held(cell, "base")
    if held.row is None:
        return f"=${get_column_letter(DEFAULT)}{row}"
    column = "value" if cell.table == "deal" else cell.column
    return _link(address(sheets.deal, cell.table, held.row, column), row, default)


def _link(link: str, row: int, default: float | None) -> str:
    """A link to an assumption sheet; where the cell may be blank, its default."""
    return f"={link}" if default is None else f'=IF({link}="",${get_column_letter(DEFAULT)}{row},{link})'


def address(deal: Deal, table: str, row: Row, column: str) -> str:
    """A cell of an assumption sheet as it is written: the headings, and the rows below without a gap."""
    return f"{table}!${get_column_letter(headings(table).index(column) + 1)}${row_of(deal, table, row)}"


def row_of(deal: Deal, table: str, row: Row) -> int:
    """The row of an assumption sheet that a row of the deal is written to."""
    return next(number for number, one in enumerate(deal.tables[table], start=HEADINGS_ROW + 1) if one is row)
