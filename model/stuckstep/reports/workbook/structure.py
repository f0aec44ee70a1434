"""Whether the words that shape the formulas still stand as they were written: names, places, triggers, lists, blanks.

Formulas follow numbers and dates only. Where anything else is changed, or a row is added, the workbook says that the
program has to run on it again: a model that silently ignored an edit would be worse than none.
"""

import datetime

from openpyxl.utils import get_column_letter

from stuckstep.deal import Row
from stuckstep.engines.excel import HEADINGS_ROW, Address, Formula, headings

from .assumptions import FIRST, NOTES, SPARE_ROWS, deal_tables, is_live, put_value, text_of
from .model import Model
from .pages import Page

COUNT = 5
_MARK = "|"
_HEADS = ("Sheet", "Row", "Rows, or words as written", "Now", "Differs")


def add_structure(page: Page, model: Model, row: int) -> Address:
    """A row for each row of the assumptions; gives where those that were changed since are counted (in COUNT)."""
    page.put(row, 1, "What shapes the formulas, as written", "title")
    for column, head in enumerate(_HEADS, start=1):
        page.put(row + 1, column, head, "heading")
    first = row + 2
    number = first
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
    total = Formula(f"=SUM($E${first}:$E${number - 1})")
    page.put(row, COUNT, total, "key formula", "number")
    return Address(page.name, row)


def _put(page: Page, number: int, table: str, row: str, written: float | str, formula: Formula) -> int:
    page.put(number, 1, table, "line")
    page.put(number, 2, row, "line")
    put_value(page, number, 3, written, "line")
    page.put(number, 4, formula, "link")
    page.put(number, 5, Formula(f"=IF(C{number}=D{number},0,1)"), "formula", "flag")
    page.heights[number] = 12.5
    return number + 1


def _shaping(model: Model, table: str, row: Row) -> list[str]:
    """The headings whose words or blanks shape the formulas in this row: the key at least."""
    own = [heading for heading in headings(table) if heading not in NOTES]
    return [
        heading
        for heading in own
        if not isinstance(row.cells[heading], (float, datetime.date)) and not is_live(model, table, row, heading)
    ]
