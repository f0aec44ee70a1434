"""The inputs as a spreadsheet sees them: the assumption sheets, and a sheet with the live values of the chosen scenario.

On the sheet `live` every input that the formulas read has one row: the cell of the assumption sheets, the default of a blank
one, its value in each scenario (linked to the scenarios sheet where the scenario changes it), and the value of the scenario
that is chosen.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from openpyxl.utils import get_column_letter

from stuckstep.deal import Cell, Deal, Row, Sheets, default_of
from stuckstep.rules.lines import Lines

from .formulas import Content

SHEET = "live"
NAME, UNIT, LIVE, DEFAULT, BASE = range(1, 6)
SELECTED_ROW, NAMES_ROW, FIRST_ROW = 2, 4, 5


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


def live_sheet(sheets: Sheets, live: Live, selected: str) -> Iterator[tuple[int, int, Content]]:
    """Row, column and content of the live sheet; `selected` is the cell that holds the chosen scenario's name."""
    scenarios = ("base", *(name for name in sheets.scenarios if name != "base"))
    last = get_column_letter(BASE + len(scenarios) - 1)
    first = get_column_letter(BASE)
    here = get_column_letter(LIVE)
    yield SELECTED_ROW, LIVE, f"=MATCH({selected},${first}${NAMES_ROW}:${last}${NAMES_ROW},0)"
    for column, scenario in enumerate(scenarios, start=BASE):
        yield NAMES_ROW, column, scenario
    for cell, row in live.rows.items():
        yield row, NAME, str(cell)
        yield row, UNIT, sheets.unit(cell)
        yield row, LIVE, f"=INDEX(${first}{row}:${last}{row},${here}${SELECTED_ROW})"
        yield from _values(sheets, live, cell, scenarios)


def _values(sheets: Sheets, live: Live, cell: Cell, scenarios: tuple[str, ...]) -> Iterator[tuple[int, int, Content]]:
    row = live.rows[cell]
    default = default_of(cell)
    if default is not None:
        yield row, DEFAULT, default
    for column, scenario in enumerate(scenarios, start=BASE):
        change = sheets.index.changes.get(scenario, {}).get(cell)
        if change is not None:
            yield row, column, f"=scenarios!{_address(sheets.deal, 'scenarios', change, 'value')}"
        elif cell.plain != cell:
            yield row, column, f"={get_column_letter(column)}{live.rows[cell.plain]}"
        elif column > BASE:
            yield row, column, f"=${get_column_letter(BASE)}{row}"
        else:
            yield row, column, _base(sheets, cell, row, default)


def _base(sheets: Sheets, cell: Cell, row: int, default: float | None) -> Content:
    """A link to the assumption sheet; where that may be blank, its default."""
    held = sheets.held(cell, "base")
    column = "value" if cell.table == "deal" else cell.column
    if held.row is None or column not in sheets.deal.columns[cell.table]:
        return f"=${get_column_letter(DEFAULT)}{row}"
    link = f"{cell.table}!{_address(sheets.deal, cell.table, held.row, column)}"
    return f"={link}" if default is None else f'=IF({link}="",${get_column_letter(DEFAULT)}{row},{link})'


def _address(deal: Deal, table: str, row: Row, column: str) -> str:
    """A cell of an assumption sheet as it is written: the headings in row 1, the rows below without a gap."""
    position = next(number for number, one in enumerate(deal.tables[table], start=2) if one is row)
    return f"${get_column_letter(deal.columns[table].index(column) + 1)}${position}"
