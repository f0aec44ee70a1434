"""Whether the assumptions still stand as written: the numbers that formulas follow, and all that shapes them.

Formulas follow numbers and dates: where one was changed, what is stored of other scenarios is no longer what the inputs
come to. They cannot follow anything else, nor a row that is added, nor a blank that stands for no number: then the
program has to run on the file again. A model that silently ignored an edit, or compared with what is no longer so,
would be worse than none. What was typed is held against the bounds of the schema too, since a paste passes by them.
"""

import datetime
from collections.abc import Iterator
from typing import NamedTuple

from openpyxl.utils import get_column_letter

from stuckstep.deal import Cell, Row, Sheets, Value, default_of, serial
from stuckstep.engines import excel
from stuckstep.engines.excel import HEADINGS_ROW, Address, Formula, headings
from stuckstep.engines.excel.inputs import FIRST_SCENARIO
from stuckstep.results.validity import bound_dates

from .assumptions import FIRST, NOTES, SPARE_ROWS, column_of, deal_tables, is_live, put_value, text_of
from .grid import set_print, set_widths
from .model import Model
from .pages import Page
from .summaries import cell_of, constant

WRITTEN, NOW, DIFFERS, NO_NUMBER, NOT_ALLOWED, LOWEST, HIGHEST, WHOLE = range(3, 11)
FLAGS = range(DIFFERS, NOT_ALLOWED + 1)
FIRST_ROW = 3
TITLE = "As written: whether the assumptions are still those of the stored results, and within what is allowed"
WIDTHS = (24, 44, 60, 60, 9, 9, 9, 24, 24, 7)
_MARK = "|"
_HEADS = ("Sheet, or scenario", "Row, or input", "As written", "Now", "Differs", "No number", "Not allowed", "Lowest",
          "Highest", "Whole")  # fmt: skip
_COUNTING = ("days", "count", "date", "trigger")  # types of which only whole numbers are read


class AsWritten(NamedTuple):
    """The headings of the blocks, whose flags count what was changed since the file was written."""

    numbers: Address
    shapes: Address
    dates: Address

    def raised(self, flag: int) -> str:
        """How often a flag is raised, as a formula."""
        return "+".join(f"{where.sheet}!${get_column_letter(flag)}${where.row}" for where in self)


class Bounds(NamedTuple):
    """What a number or date may be; a bound may be a formula."""

    low: float | datetime.date | Formula | None
    high: float | datetime.date | Formula | None
    whole: bool


class Entry(NamedTuple):
    """A row: what was written and the cells that say what stands there now; `typed` is where a number must stand."""

    where: str
    what: str
    written: Value
    now: str
    typed: str = ""
    may_be_blank: bool = False
    bounds: Bounds | None = None


def add_as_written(page: Page, model: Model) -> AsWritten:
    """The assumptions as written, beside what stands there now and what is allowed there."""
    page.put(1, 1, TITLE, "title")
    page.heights[1] = 21.0
    for column, head in enumerate(_HEADS, start=1):
        page.put(2, column, head, "heading")
    page.heights[2] = 26.0
    set_widths(page, WIDTHS)
    set_print(page, "1:2", None)
    page.sheet.freeze_panes = "A3"
    blocks = {
        "Numbers and dates that the formulas follow": _numbers(model),
        "Words, blanks, rows, and numbers that no formula reads: they shape the formulas": _shapes(model),
        "Dates that the first day bounds, in the chosen scenario": _dates(model),
    }
    row, heads = FIRST_ROW, []
    for says, entries in blocks.items():
        heads.append(Address(page.name, row))
        last = row
        for last, entry in enumerate(entries, start=row + 1):
            _put(page, last, entry)
        _add_head(page, row, last + 1, says)
        row = last + 2
    return AsWritten(*heads)


def _add_head(page: Page, row: int, last: int, says: str) -> None:
    """A heading for the rows below it, with how many of them raise each flag."""
    page.put(row, 1, says, "block")
    for column in FLAGS:
        letter = get_column_letter(column)
        page.put(row, column, Formula(f"=SUM({letter}{row + 1}:{letter}{last})"), "total", "number")
    page.fill(row, range(2, WHOLE + 1), "block")


def _numbers(model: Model) -> Iterator[Entry]:
    """The first day, every input's base value, and what each scenario changes it to."""
    start = _start(model)
    yield _number(Cell("deal", "start", "value"), "deal", _start_row(model).cells["value"], start, start)
    for cell, row in model.live.rows.items():
        if cell.plain == cell and (written := _number_in(model.plan, cell)) is not None:
            held = model.plan.held(cell, "base").row
            typed = "" if held is None else excel.address(model.deal, cell.table, held, cell.column)
            yield _number(cell, "base", written, model.live.base(cell), typed)
        for position, scenario in enumerate(model.scenarios):
            change = model.sheets.index.changes.get(scenario, {}).get(cell)
            if change is not None:
                now = f"live!${get_column_letter(FIRST_SCENARIO + position)}${row}"
                typed = excel.address(model.deal, "scenarios", change, "value")
                written = float(model.sheets.value(cell)[position])  # a step may be blank where one phase of it is not
                yield _number(cell, scenario, written, now, typed)


def _number(cell: Cell, where: str, written: Value, now: str, typed: str) -> Entry:
    column = column_of(cell)
    bounds = Bounds(column.low, column.high, column.type in _COUNTING)
    return Entry(where, str(cell), written, now, typed, default_of(cell) is not None, bounds if typed else None)


def _number_in(sheets: Sheets, cell: Cell) -> Value:
    """What the base sheets hold where it is a number or a date."""
    value = sheets.input(cell, "base")
    return value if isinstance(value, (float, datetime.date)) else None


def _shapes(model: Model) -> Iterator[Entry]:
    """Of every table its headings, how many rows it has, and of each row all that no formula follows."""
    for table in deal_tables():
        rows = model.deal.tables[table]
        own = [heading for heading in headings(table) if heading not in NOTES]
        yield _words(table, "headings", HEADINGS_ROW, {heading: heading for heading in own})
        last = HEADINGS_ROW + len(rows) + SPARE_ROWS
        yield Entry(table, "rows", float(len(rows)), f'SUMPRODUCT(({table}!$A${FIRST}:$A${last}<>"")*1)')
        for place, row in enumerate(rows, start=FIRST):
            shaping = {heading: row.cells[heading] for heading in own if not is_live(model, table, row, heading)}
            numbers = {name: value for name, value in shaping.items() if isinstance(value, (float, datetime.date))}
            yield _words(table, str(place), place, {name: shaping[name] for name in shaping if name not in numbers})
            for heading, value in numbers.items():
                cell = excel.address(model.deal, table, row, heading)
                yield Entry(table, f"{place}, {heading}", value, cell, cell)


def _words(table: str, what: str, place: int, cells: dict[str, Value]) -> Entry:
    """The words of a row as one text: its key at least."""
    now = (f"{table}!${get_column_letter(headings(table).index(heading) + 1)}${place}" for heading in cells)
    joined = f'&"{_MARK}"&'.join(now) + ("" if len(cells) > 1 else '&""')
    return Entry(table, what, _MARK.join(text_of(value) for value in cells.values()), joined)


def _dates(model: Model) -> Iterator[Entry]:
    """The start, on the first day of a quarter; and the due dates that may not lie before it."""
    start = _start(model)
    quarter = Formula(f"=DATE(YEAR({start}),3*INT((MONTH({start})+2)/3)-2,1)")
    bounds = Bounds(quarter, quarter, False)
    yield Entry("deal", "start, the first day of a quarter", None, start, start, bounds=bounds)
    for bound in bound_dates(model.sheets):
        date, low = cell_of(model, bound.date), f"={start}"
        if bound.owed:
            low = f"=IF({cell_of(model, bound.owed)}>{constant(model, 'half_cent')},{start},0)"
        yield Entry(
            bound.table, f"due date of {bound.claim}", None, date, date, bounds=Bounds(Formula(low), None, False)
        )


def _start_row(model: Model) -> Row:
    return next(row for row in model.deal.tables["deal"] if row.cells["item"] == "start")


def _start(model: Model) -> str:
    return excel.address(model.deal, "deal", _start_row(model), "value")


def _put(page: Page, number: int, entry: Entry) -> None:
    """What was written, what stands there now, whether they differ, and whether it may; a link to a blank cell is 0."""
    page.put(number, 1, entry.where, "line")
    page.put(number, 2, entry.what, "line")
    kind = _format(entry)
    if isinstance(entry.written, (str, tuple)):
        text = text_of(entry.written)
        put_value(page, number, WRITTEN, text, "wrapped")
        page.heights[number] = 12.5 * -(-max(len(text), 1) // WIDTHS[WRITTEN - 1])
    elif entry.written is not None:
        page.put(number, WRITTEN, _plain(entry.written), "value", kind)
    page.put(number, NOW, Formula(f"={entry.now}"), "wrapped link" if kind == "general" else "link", kind)
    if entry.written is not None:
        page.put(number, DIFFERS, Formula(f"=IF(C{number}=D{number},0,1)"), "formula", "flag")
        _put_no_number(page, number, entry)
    if entry.bounds is not None:
        _put_bounds(page, number, entry.bounds, entry.typed, kind)


def _format(entry: Entry) -> str:
    if isinstance(entry.written, (str, tuple)):
        return "general"
    return "exact" if isinstance(entry.written, float) else "date"


def _put_no_number(page: Page, number: int, entry: Entry) -> None:
    """Whether no number stands where one must, or a blank that has a number for its default."""
    if entry.typed:
        is_number = f"ISNUMBER({entry.typed})"
        fine = f"OR({is_number},ISBLANK({entry.typed}))" if entry.may_be_blank else is_number
        page.put(number, NO_NUMBER, Formula(f"=IF({fine},0,1)"), "link", "flag")


def _put_bounds(page: Page, number: int, bounds: Bounds, typed: str, kind: str) -> None:
    """The bounds, and whether a number lies outside them; what is no number has a flag of its own."""
    inside = []
    for column, sign, bound in ((LOWEST, ">=", bounds.low), (HIGHEST, "<=", bounds.high)):
        if bound is not None:
            inside.append(f"D{number}{sign}{get_column_letter(column)}{number}")
            content = bound if isinstance(bound, Formula) else _plain(bound)
            page.put(number, column, content, "link" if isinstance(bound, Formula) else "value", kind)
    if bounds.whole:
        inside.append(f"D{number}=INT(D{number})")
        page.put(number, WHOLE, "whole", "line")
    outside = Formula(f"=IF(ISNUMBER({typed}),IF(AND({','.join(inside)}),0,1),0)")
    page.put(number, NOT_ALLOWED, outside, "formula", "flag")


def _plain(value: float | datetime.date) -> float:
    return serial(value) if isinstance(value, datetime.date) else value
