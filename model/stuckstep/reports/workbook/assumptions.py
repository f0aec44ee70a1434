"""The assumption sheets, as the deal room reads them: a title, the headings, the rows below, nothing else."""

import datetime
import math
from collections.abc import Iterator, Mapping
from typing import Literal

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.cell_range import MultiCellRange
from openpyxl.worksheet.datavalidation import DataValidation

from stuckstep.deal import Cell, Column, Row, Value, default_of, schema, serial
from stuckstep.deal.layout import OWN_TITLE
from stuckstep.engines.excel import HEADINGS_ROW, Formula, headings

from .grid import MASTER, add_status_colours, set_print, set_widths
from .model import Model
from .pages import Page

FIRST = HEADINGS_ROW + 1  # row of a table
TITLE_CELLS = 2
SPARE_ROWS = 20  # rows below a table that already have its drop-downs and bounds
WIDEST, WIDEST_NOTE, NARROWEST, STATUS_WIDTH = 34, 60, 9, 15
_KINDS: Mapping[str, Literal["decimal", "whole", "date"]] = {
    "number": "decimal",
    "days": "whole",
    "count": "whole",
    "date": "date",
}
_MARKS = ("=", "+", "-", "@", "'", "\t")
NOTES = ("unit", "source", "note")
_PROMPT, _PROMPT_TITLE, _LIST = 255, 32, 255  # characters a spreadsheet takes


def add_table(page: Page, model: Model, table: str) -> None:
    """One table: blue inputs, yellow where the formulas follow a change, grey where the program must run again."""
    names = _shown(model, table)
    rows = list(enumerate(model.deal.tables[table], start=FIRST))
    page.put(1, 1, Formula(f'=IF({MASTER}>0,"{OWN_TITLE}ERROR","{OWN_TITLE}OK")'), "status")
    if len(names) > TITLE_CELLS:  # else the row would pass for one of the table
        page.put(1, 2, meaning_of(table), "key")
    add_status_colours(page, "A1", f"{OWN_TITLE}OK")
    for column, heading in enumerate(names, start=1):
        page.put(HEADINGS_ROW, column, heading, "heading")
    for number, row in rows:
        for column, heading in enumerate(names, start=1):
            _put(page, model, table, row, number, column, heading)
    widths = {heading: _width(model, table, heading) for heading in names}
    set_widths(page, tuple(widths.values()))
    for number, row in rows:
        page.heights[number] = _height(row, widths)
    page.heights[1], page.heights[HEADINGS_ROW] = 18.0, 20.0
    page.sheet.freeze_panes = f"B{FIRST}"
    set_print(page, f"1:{HEADINGS_ROW}", "A:A")
    for validation in _validations(model, table):
        page.sheet.add_data_validation(validation)


def _shown(model: Model, table: str) -> list[str]:
    """The headings of a sheet: every column of the table, and of unit, source and note those that its file has."""
    given = model.deal.columns.get(table, NOTES)
    return [heading for heading in headings(table) if heading not in NOTES or heading in given]


def deal_tables() -> tuple[str, ...]:
    """The tables that say what the deal is, scenarios included; the rest of the schema says what to run."""
    changed = next(column for column in schema() if (column.table, column.column) == ("scenarios", "table"))
    return (*changed.allowed, "scenarios")


def meaning_of(table: str) -> str:
    """What the rows of a table are."""
    if table == "deal":
        return "The deal: title, currency, start and length, rates"
    return next(column.meaning for column in schema() if column.table == table)


def text_of(value: Value | str) -> str:
    """A value of a cell as it is typed."""
    if isinstance(value, tuple):
        return ";".join(f"{part[0]}:{part[1]}" if isinstance(part, tuple) else part for part in value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:.15g}"
    return "" if value is None else value


def put_value(page: Page, row: int, column: int, value: Value, role: str) -> None:
    """A typed value with the format its kind asks for; text that begins like a formula is quoted."""
    if isinstance(value, float):
        whole = "number input" if value.is_integer() else "decimal input"
        page.put(row, column, value, role, whole)
    elif isinstance(value, datetime.date):
        page.put(row, column, serial(value), role, "input date")
    else:
        text = text_of(value)
        page.put(row, column, text, f"{role} quoted" if text.startswith(_MARKS) else role, "general")


def put_paragraph(page: Page, row: int, columns: range, text: str, role: str) -> None:
    """A text across some columns, after the widths, with as many lines as it needs."""
    if text:
        put_value(page, row, columns[0], text, role)
        first, last = (get_column_letter(column) for column in (columns[0], columns[-1]))
        page.sheet.merged_cells.add(f"{first}{row}:{last}{row}")
        width = sum(page.sheet.column_dimensions[get_column_letter(column)].width for column in columns)
        page.heights[row] = 13.0 * math.ceil(len(text) / width) + 2


def _put(page: Page, model: Model, table: str, row: Row, number: int, column: int, heading: str) -> None:
    if heading in NOTES:
        put_value(page, number, column, row.extras.get(heading), "note")
        return
    value = row.cells[heading]
    role = "input" if is_live(model, table, row, heading) else "shape"
    if isinstance(value, float) and _is_rate(table, row, heading):
        page.put(number, column, value, role, "percent input")
    else:
        put_value(page, number, column, value, role)


def is_live(model: Model, table: str, row: Row, heading: str) -> bool:
    """Whether formulas follow when the cell is changed: they read it, and it is a number, a date, or the default."""
    cell = _cell_of(model, table, row, heading)
    if cell is None or (cell not in model.live.rows and cell != Cell("deal", "start", "value")):
        return False
    value = row.cells[heading]
    return isinstance(value, (float, datetime.date)) or (value is None and default_of(cell) is not None)


def _cell_of(model: Model, table: str, row: Row, heading: str) -> Cell | None:
    """The input that stands in a cell of an assumption sheet, in a scenario of this file too."""
    key = text_of(row.cells[headings(table)[0]])
    if table not in ("deal", "scenarios"):
        return Cell(table, key, heading)
    if heading != "value" or (table == "scenarios" and key not in model.scenarios):
        return None
    if table == "deal":
        return Cell("deal", key, "value")
    where, name, column = (text_of(row.cells[part]) for part in ("table", "row", "column"))
    return Cell(where, name, "value" if where == "deal" else column)


def _is_rate(table: str, row: Row, heading: str) -> bool:
    column = _column(table, text_of(row.cells["item"]) if table == "deal" else heading)
    return column is not None and column.unit in ("1", "1/year")


def column_of(cell: Cell) -> Column:
    """The schema of an input."""
    name = cell.row if cell.table == "deal" else cell.column
    return next(one for one in schema() if one.table == cell.table and one.column == name)


def _column(table: str, name: str) -> Column | None:
    return next((column for column in schema() if column.table == table and column.column == name), None)


def _texts(model: Model, table: str, heading: str) -> Iterator[str]:
    for row in model.deal.tables[table]:
        value = row.extras.get(heading) if heading in NOTES else row.cells[heading]
        yield text_of(value)


def _width(model: Model, table: str, heading: str) -> float:
    widest = max((len(text) for text in _texts(model, table, heading)), default=0)
    longest = WIDEST_NOTE if heading in NOTES else WIDEST
    narrowest = STATUS_WIDTH if heading == headings(table)[0] else NARROWEST
    return min(max(widest + 3, len(heading) + 3, narrowest), longest)


def _height(row: Row, widths: Mapping[str, float]) -> float:
    """Enough lines for the longest text of the row."""
    lines = 1
    for heading, width in widths.items():
        text = text_of(row.extras.get(heading) if heading in NOTES else row.cells[heading])
        per_line = width * (1.5 if heading in NOTES else 1.15)
        lines = max(lines, -(-len(text) // int(per_line)))
    return 12.5 * lines + 2


def _validations(model: Model, table: str) -> Iterator[DataValidation]:
    """A drop-down for choices and names, bounds for numbers and dates, and a prompt that says what a column means."""
    last = HEADINGS_ROW + len(model.deal.tables[table]) + SPARE_ROWS
    if table == "deal":
        for number, row in enumerate(model.deal.tables["deal"], start=FIRST):
            column = _column("deal", text_of(row.cells["item"]))
            if column is not None:
                yield _validation(model, column, f"B{number}")
        return
    for position, heading in enumerate(headings(table), start=1):
        column = _column(table, heading)
        if column is not None:
            letter = get_column_letter(position)
            yield _validation(model, column, f"{letter}{FIRST}:{letter}{last}")


def _validation(model: Model, column: Column, where: str) -> DataValidation:
    validation = _rule(model, column)
    validation.allow_blank, validation.sqref = True, MultiCellRange(where)
    validation.promptTitle = column.column[:_PROMPT_TITLE]
    unit = "" if column.type not in ("number", "days", "count", "date") else f" [{column.unit}]"
    validation.prompt = f"{column.meaning}{unit}{_default(column)}"[:_PROMPT]
    validation.errorTitle = column.column[:_PROMPT_TITLE]
    validation.error = f"{column.meaning}{_range(column)}"[:_PROMPT]
    validation.showInputMessage = validation.showErrorMessage = True
    return validation


def _default(column: Column) -> str:
    if column.default in ("", "none"):
        return "" if column.default else "; required"
    return f"; blank: {column.default.lstrip('=')}"


def _range(column: Column) -> str:
    return "" if column.low is None else f" ({text_of(column.low)} to {text_of(column.high)})"


def _rule(model: Model, column: Column) -> DataValidation:
    if column.type == "choice":
        choices = f'"{",".join(column.allowed)}"'
        return DataValidation("list", choices) if len(choices) <= _LIST else DataValidation()
    if column.type == "ref" and len(column.sources) == 1 and not column.words:
        rows = model.deal.tables.get(column.sources[0], ())
        return (
            DataValidation("list", f"{column.sources[0]}!$A${FIRST}:$A${len(rows) + HEADINGS_ROW}")
            if rows
            else DataValidation()
        )
    kind = _KINDS.get(column.type)
    if kind is None or column.low is None or column.high is None:
        return DataValidation()
    return DataValidation(kind, _bound(column.low), _bound(column.high), operator="between")


def _bound(bound: float | datetime.date) -> str:
    return f"{serial(bound):.0f}" if isinstance(bound, datetime.date) else f"{bound:.15g}"
