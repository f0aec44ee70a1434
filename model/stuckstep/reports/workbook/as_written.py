"""Whether the assumptions still stand as written: the numbers that formulas follow, and the words that shape them.

Formulas follow numbers and dates: where one was changed, what is stored of other scenarios is no longer what the inputs
come to. They cannot follow anything else, nor a row that is added: then the program has to run on the file again. A
model that silently ignored an edit, or compared with what is no longer so, would be worse than none.
"""

import datetime
from typing import NamedTuple

from openpyxl.utils import get_column_letter

from stuckstep.deal import Row, Value, serial
from stuckstep.engines import excel
from stuckstep.engines.excel import HEADINGS_ROW, Address, Formula, headings
from stuckstep.engines.excel.inputs import FIRST_SCENARIO

from .assumptions import FIRST, NOTES, SPARE_ROWS, deal_tables, is_live, put_value, text_of
from .grid import set_print, set_widths
from .model import Model
from .pages import Page

WRITTEN, NOW, DIFFERS = 3, 4, 5
FIRST_ROW = 3
TITLE = "As written: whether the assumptions are still those of the stored results"
WIDTHS = (24, 44, 70, 70, 10)
_MARK = "|"
_HEADS = ("Sheet, or scenario", "Row, or input", "As written", "Now", "Differs")


class AsWritten(NamedTuple):
    """The cells that count what was changed since the file was written."""

    words: Address
    numbers: Address


def add_as_written(page: Page, model: Model) -> AsWritten:
    """The numbers and the words of the assumptions as written, beside what stands there now."""
    page.put(1, 1, TITLE, "title")
    page.heights[1] = 21.0
    for column, head in enumerate(_HEADS, start=1):
        page.put(2, column, head, "heading")
    set_widths(page, WIDTHS)
    set_print(page, "1:2", None)
    page.sheet.freeze_panes = "A3"
    last = _add_numbers(page, model, FIRST_ROW + 1)
    numbers = _count(page, FIRST_ROW, last, "Numbers and dates that the formulas follow")
    row = last + 1
    last = _add_words(page, model, row + 1)
    return AsWritten(_count(page, row, last, "Words, blanks and rows, which shape the formulas"), numbers)


def _count(page: Page, row: int, last: int, says: str) -> Address:
    """A heading for the rows below it, with how many of them differ."""
    page.put(row, 1, says, "block")
    page.fill(row, range(2, DIFFERS), "block")
    letter = get_column_letter(DIFFERS)
    page.put(row, DIFFERS, Formula(f"=SUM({letter}{row + 1}:{letter}{last - 1})"), "total", "number")
    return Address(page.name, row)


def _add_words(page: Page, model: Model, number: int) -> int:
    for table in deal_tables():
        rows = model.deal.tables[table]
        last = HEADINGS_ROW + len(rows) + SPARE_ROWS
        count = Formula(f'=SUMPRODUCT(({table}!$A${FIRST}:$A${last}<>"")*1)')
        number = _put(page, number, table, "rows", float(len(rows)), count)
        for place, one in enumerate(rows, start=FIRST):
            columns = _shaping(model, table, one)
            written = _MARK.join(text_of(one.cells[heading]) for heading in columns)
            cells = (f"{table}!${get_column_letter(headings(table).index(heading) + 1)}${place}" for heading in columns)
            formula = Formula("=" + f'&"{_MARK}"&'.join(cells) + ("" if len(columns) > 1 else '&""'))
            number = _put(page, number, table, str(place), written, formula)
    return number


def _add_numbers(page: Page, model: Model, number: int) -> int:
    """The first day, every input's base value, and what each scenario changes it to."""
    start = next(row for row in model.deal.tables["deal"] if row.cells["item"] == "start")
    first_day = Formula(f"=deal!$B${excel.row_of(model.deal, 'deal', start)}")
    number = _put(page, number, "deal", "start", start.cells["value"], first_day)
    for cell, row in model.live.rows.items():
        if cell.plain == cell:
            written = model.plan.input(cell, "base")
            number = _put(page, number, "base", str(cell), written, Formula(f"={model.live.base(cell)}"))
        values = model.sheets.value(cell)
        for position, scenario in enumerate(model.scenarios):
            if cell in model.sheets.index.changes.get(scenario, {}):
                column = get_column_letter(FIRST_SCENARIO + position)
                change = Formula(f"=live!${column}${row}")
                number = _put(page, number, scenario, str(cell), float(values[position]), change)
    return number


def _put(page: Page, number: int, where: str, row: str, written: Value, formula: Formula) -> int:
    """What was written, what stands there now, and whether they differ; a link to a blank cell is 0."""
    page.put(number, 1, where, "line")
    page.put(number, 2, row, "line")
    if isinstance(written, (str, tuple)):
        text = text_of(written)
        put_value(page, number, WRITTEN, text, "wrapped")
        page.put(number, NOW, formula, "wrapped link")
        page.heights[number] = 12.5 * -(-max(len(text), 1) // WIDTHS[WRITTEN - 1])
    elif isinstance(written, datetime.date):
        page.put(number, WRITTEN, serial(written), "value", "date")
        page.put(number, NOW, formula, "link", "date")
    else:
        page.put(number, WRITTEN, written or 0.0, "value", "exact")
        page.put(number, NOW, formula, "link", "exact")
    page.put(number, DIFFERS, Formula(f"=IF(C{number}=D{number},0,1)"), "formula", "flag")
    return number + 1


def _shaping(model: Model, table: str, row: Row) -> list[str]:
    """The headings whose words or blanks shape the formulas in this row: the key at least."""
    own = [heading for heading in headings(table) if heading not in NOTES]
    return [
        heading
        for heading in own
        if not isinstance(row.cells[heading], (float, datetime.date)) and not is_live(model, table, row, heading)
    ]
