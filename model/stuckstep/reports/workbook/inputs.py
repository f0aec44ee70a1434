"""The sheet `live`: every input that the formulas read, by scenario, and the value of the chosen one."""

from openpyxl.utils import get_column_letter

from stuckstep.deal import Cell
from stuckstep.engines import excel
from stuckstep.engines.excel import Formula

from .assumptions import column_of
from .grid import MASTER, add_status_colours, set_print, set_widths
from .model import SELECTOR, Model
from .pages import Page

SAID_ROW, STATUS_ROW = 2, 4
_LIVE = "C"


def add_live(page: Page, model: Model) -> None:
    cells = {row: cell for cell, row in model.live.rows.items()}
    heads = ("Input", "Unit", "Live", "Default", "Base")
    page.put(1, 1, "Live inputs: what the formulas read in the chosen scenario", "title")
    text = (
        "Live is what the chosen scenario changes the input to, else its base value; a blank input takes its default."
    )
    page.put(SAID_ROW, 1, text, "line")
    page.put(3, 1, "Place of the chosen scenario", "key")
    page.put(STATUS_ROW, 1, "Scenario", "key")
    page.put(STATUS_ROW, 2, "Check", "key")
    page.put(STATUS_ROW, 3, Formula(f'=IF({MASTER}>0,"ERROR","OK")'), "status")
    page.put(STATUS_ROW, 4, Formula(f"={SELECTOR}"), "key link")
    add_status_colours(page, f"{_LIVE}{STATUS_ROW}")
    names_row = min(cells, default=6) - 1
    for column, head in enumerate(heads, start=1):
        page.put(names_row, column, head, "number heading" if column > 2 else "heading")
    for placed in excel.live_sheet(model.sheets, model.live, SELECTOR):
        _, row, column, content = placed
        if row == names_row:
            page.put(row, column, content, "number heading")
        elif row not in cells:
            page.put(row, column, content, "key link", "number")
        elif column == 1:
            page.put(row, column, content, "label")
        elif column == 2:
            page.put(row, column, content, "unit")
        else:
            role = "value" if not isinstance(content, Formula) else "link" if "!" in content else "formula"
            page.put(
                row, column, content, f"key {role}" if column == 3 and role != "value" else role, _format(cells[row])
            )
    page.heights[names_row] = 36.0
    set_widths(page, (44, 16, 15, 12, *([15.0] * (len(model.scenarios) + 1))))
    page.sheet.freeze_panes = f"{get_column_letter(6)}{names_row + 1}"
    set_print(page, f"1:{names_row}", "A:C")


def _format(cell: Cell) -> str:
    column = column_of(cell)
    if column.type in ("date", "trigger"):
        return "date"
    by_unit = {"1": "percent", "1/year": "rate", "currency": "money"}
    return by_unit.get(column.unit, "number" if column.type in ("days", "count") else "decimal")
