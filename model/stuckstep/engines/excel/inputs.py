"""The inputs as a spreadsheet sees them: the assumption sheets, and a sheet with the live values of the chosen scenario.

On the sheet `live` every input that the formulas read has one row: the cell of the assumption sheets, the default of a blank
one, its value in each scenario (linked to the scenarios sheet where the scenario changes it), and the value of the scenario
that is chosen.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from openpyxl.utils import get_column_letter

from stuckstep.deal import Cell, Deal, Row, Sheets, default_of, schema
from stuckstep.rules.lines import Lines

from .content import Cells, Formula, Placed

SHEET = "live"
NAME, UNIT, LIVE, DEFAULT, BASE = range(1, 6)
SELECTED_ROW, NAMES_ROW, FIRST_ROW = 3, 5, 6
EXTRAS = ("unit", "source", "note")


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
    """A row of the live sheet for each input, and for the plain cell of each narrowed one above it."""
    wanted = (one for cell in cells for one in dict.fromkeys((cell.plain, cell)))
    return Live({cell: row for row, cell in enumerate(dict.fromkeys(wanted), start=FIRST_ROW)})


@cache
def headings(table: str) -> tuple[str, ...]:
    """The headings of an assumption sheet: the table's columns in the schema's order, then unit, source and note."""
    own = ("item", "value") if table == "deal" else tuple(column.column for column in schema() if column.table == table)
    return (*own, *EXTRAS)


def ordered(scenarios: Iterable[str]) -> tuple[str, ...]:
    """The scenarios of the live sheet: base first, whether or not it shares their structure."""
    return ("base", *(name for name in scenarios if name != "base"))


def live_sheet(sheets: Sheets, live: Live, selected: str) -> Cells:
    """The live sheet; `selected` is the cell that holds the chosen scenario's name."""
    scenarios = ordered(sheets.scenarios)
    last = get_column_letter(BASE + len(scenarios) - 1)
    first = get_column_letter(BASE)
    here = get_column_letter(LIVE)
    match = Formula(f"=MATCH({selected},${first}${NAMES_ROW}:${last}${NAMES_ROW},0)")
    yield Placed(SHEET, SELECTED_ROW, LIVE, match)
    for column, scenario in enumerate(scenarios, start=BASE):
        yield Placed(SHEET, NAMES_ROW, column, scenario)
    for cell, row in live.rows.items():
        yield Placed(SHEET, row, NAME, str(cell))
        yield Placed(SHEET, row, UNIT, sheets.unit(cell))
        yield Placed(SHEET, row, LIVE, Formula(f"=INDEX(${first}{row}:${last}{row},${here}${SELECTED_ROW})"))
        yield from _values(sheets, live, cell, scenarios)


def _values(sheets: Sheets, live: Live, cell: Cell, scenarios: tuple[str, ...]) -> Cells:
    row = live.rows[cell]
    default = default_of(cell)
    if default is not None:
        yield Placed(SHEET, row, DEFAULT, default)
    for column, scenario in enumerate(scenarios, start=BASE):
        change = sheets.index.changes.get(scenario, {}).get(cell)
        if change is not None:
            formula = _link(f"scenarios!{_address(sheets.deal, 'scenarios', change, 'value')}", row, default)
        elif cell.plain != cell:
            formula = f"={get_column_letter(column)}{live.rows[cell.plain]}"
        elif column > BASE:
            formula = f"=${get_column_letter(BASE)}{row}"
        else:
            formula = _base(sheets, cell, row, default)
        yield Placed(SHEET, row, column, Formula(formula))


def _base(sheets: Sheets, cell: Cell, row: int, default: float | None) -> str:
    held = sheets.held(cell, "base")
    if held.row is None:
        return f"=${get_column_letter(DEFAULT)}{row}"
    column = "value" if cell.table == "deal" else cell.column
    return _link(f"{cell.table}!{_address(sheets.deal, cell.table, held.row, column)}", row, default)


def _link(link: str, row: int, default: float | None) -> str:
    """A link to an assumption sheet; where the cell may be blank, its default."""
    return f"={link}" if default is None else f'=IF({link}="",${get_column_letter(DEFAULT)}{row},{link})'


def _address(deal: Deal, table: str, row: Row, column: str) -> str:
    """A cell of an assumption sheet as it is written: the headings in row 1, the rows below without a gap."""
    return f"${get_column_letter(headings(table).index(column) + 1)}${row_of(deal, table, row)}"


def row_of(deal: Deal, table: str, row: Row) -> int:
    """The row of an assumption sheet that a row of the deal is written to."""
    return next(number for number, one in enumerate(deal.tables[table], start=2) if one is row)
