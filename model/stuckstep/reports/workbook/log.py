"""The log: which program wrote the workbook from which assumptions and when, and what each scenario changes."""

import datetime
import math
from importlib.metadata import version

from stuckstep.deal import Cell, Row

from .assumptions import put_paragraph, put_value, text_of
from .grid import set_print, set_widths
from .model import Model
from .pages import Page

HOW = (
    "recalculated from these formulas by formualizer and compared with the engine before the file was put into place: "
    "every line, every period, 1e-9 relative, 1e-6 absolute"
)
WIDTHS = (30, 14, 26, 22, 22, 22, 18, 40, 70)
_HEADS = ("Scenario", "Table", "Row", "Column", "In base", "In the scenario", "Live in this file", "Source", "Note")


def add_log(page: Page, model: Model, written: datetime.datetime) -> None:
    set_widths(page, WIDTHS)
    page.put(1, 1, "Log", "title")
    page.heights[1] = 21.0
    rows = (
        ("Written by", f"stuckstep {version('stuckstep')}"),
        ("Written at", written.strftime("%Y-%m-%d %H:%M UTC")),
        ("Deal", model.deal.name),
        ("SHA-256 of the assumptions", model.deal.digest),
        ("Scenarios in this file", ", ".join(model.scenarios)),
        ("Saved with", model.selected),
        ("Lines", str(len(model.lines))),
        ("Values", HOW),
    )
    for row, (label, text) in enumerate(rows, start=3):
        page.put(row, 1, label, "key")
        put_paragraph(page, row, range(2, len(WIDTHS) + 1), text, "wrapped")
    row = len(rows) + 4
    page.put(row, 1, "What each scenario changes", "title")
    row += 1
    for column, head in enumerate(_HEADS, start=1):
        page.put(row, column, head, "heading")
    for number, change in enumerate(model.deal.tables["scenarios"], start=row + 1):
        _add_change(page, model, number, change)
    set_print(page, "1:1", None)


def _add_change(page: Page, model: Model, row: int, change: Row) -> None:
    scenario, table, name, column = (text_of(change.cells[part]) for part in ("scenario", "table", "row", "column"))
    cell = Cell(table, name, "value" if table == "deal" else column)
    for position, text in enumerate((scenario, table, name, cell.column), start=1):
        put_value(page, row, position, text, "line")
    put_value(page, row, 5, model.plan.input(cell.plain, "base"), "line")
    put_value(page, row, 6, change.cells["value"], "line")
    page.put(row, 7, "yes" if scenario in model.scenarios else "no: own file", "line")
    for position, extra in enumerate(("source", "note"), start=8):
        text = text_of(change.extras.get(extra))
        put_value(page, row, position, text, "wrapped")
        page.heights[row] = max(page.heights.get(row, 0.0), 12.5 * math.ceil(len(text) / WIDTHS[position - 1]))
