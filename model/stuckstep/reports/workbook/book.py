"""Puts the whole workbook together from a model."""

import datetime
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from openpyxl import Workbook
from openpyxl.utils import get_column_letter

from stuckstep.deal import schema
from stuckstep.engines import excel
from stuckstep.engines.excel import Address
from stuckstep.reports.sheets import Sheet

from .as_written import DIFFERS as CHANGED
from .as_written import FLAGS, NO_NUMBER, NOT_ALLOWED, AsWritten, add_as_written
from .assumptions import add_table, deal_tables
from .calculations import TITLES, add_lines
from .charts import add_charts
from .checks import add_summary
from .cover import add_cover
from .grid import dress_grid
from .inputs import add_live
from .log import add_log
from .model import Model
from .package import Package
from .pages import Page
from .results import DIFFERING, DIFFERS, FIRST_SCENARIO, LIVE, Found, Rows, add_results
from .sensitivity import DIFFERING as STUDIES_DIFFERING
from .sensitivity import SHEET, add_sensitivity
from .styles import Styles
from .summaries import add_payment_dates, add_stuck_steps
from .values import Expected
from .worst import add_covers, add_worst, add_worst_by_party

TABS: Mapping[str, str] = {
    "cover": "1F3A5F",
    "inputs": "F2C94C",
    "calculations": "9AA5B1",
    "outputs": "2E7D32",
    "log": "7B6D8D",
}


class Book(NamedTuple):
    """The file's parts, its pages by name, and the values that its formulas must give."""

    package: Package
    pages: Mapping[str, Page]
    expected: Sequence[Expected]


def put_together(model: Model, written: datetime.datetime, studies: Sequence[Sheet] = ()) -> Book:
    """All sheets of the workbook; `studies` are tables of many runs of the deal."""
    book = Workbook()
    book.remove(book.worksheets[0])
    styles = Styles(book)
    given = (column.table for column in schema() if column.table in model.deal.columns)
    tables = list(dict.fromkeys((*deal_tables(), *given)))
    calculations = list(dict.fromkeys(excel.SHEETS.values()))
    kinds = {"cover": "cover"} | dict.fromkeys(tables, "inputs") | {"live": "inputs"}
    outputs = ("results", *((SHEET,) if studies else ()), "charts")
    kinds |= dict.fromkeys(calculations, "calculations") | dict.fromkeys(outputs, "outputs")
    kinds |= dict.fromkeys(("log", "as_written"), "log")
    pages = {}
    for name, kind in kinds.items():
        pages[name] = Page(book.create_sheet(name), styles)
        pages[name].sheet.sheet_properties.tabColor = TABS[kind]
    for table in tables:
        add_table(pages[table], model, table)
    add_live(pages["live"], model)
    for name in calculations:
        dress_grid(pages[name], model, TITLES[name])
    add_lines(pages, model)
    found = Found(
        add_stuck_steps(pages["relief"], model),
        add_payment_dates(pages["parties_calc"], model),
        add_worst(pages["parties_calc"], model),
        add_worst_by_party(pages["parties_calc"], model),
        add_covers(pages["facilities_calc"], model),
    )
    results = add_results(pages["results"], model, found)
    moved = add_sensitivity(pages[SHEET], model, found.dates, studies) if studies else []
    add_log(pages["log"], model, written)
    changed = add_as_written(pages["as_written"], model)
    add_summary(pages["checks"], model, _counts(changed, bool(studies)))
    add_charts(pages["charts"], model, found.covers, found.worst)
    add_cover(pages["cover"], model, found, results, list(pages))
    for page in pages.values():
        page.sheet.sheet_format.outlineLevelRow = max(page.outlines.values(), default=0)
    styles.close()
    book.properties.creator, book.properties.title = "stuckstep", model.item("title")
    package = Package(book, list(pages.values()), written)
    return Book(package, pages, [*_expected(model, pages["results"], results, changed), *moved])


def _counts(changed: AsWritten, has_studies: bool) -> Mapping[str, str]:
    """For each notice the cell that counts what it is about."""
    numbers, shapes = (f"{at.sheet}!${get_column_letter(CHANGED)}${at.row}" for at in (changed.numbers, changed.shapes))
    differing = f"{DIFFERING}+{STUDIES_DIFFERING}" if has_studies else DIFFERING
    return {
        "inputs as written": numbers,
        "structure as written": f"{shapes}+{changed.raised(NO_NUMBER)}",
        "inputs allowed": changed.raised(NOT_ALLOWED),
        "values as written": differing,
    }


def _expected(model: Model, page: Page, results: Rows, changed: AsWritten) -> list[Expected]:
    """Every line, every period, every live input and the clock, for the selected scenario."""
    position, found = model.position, []
    for name, line in model.lines.items():
        values = model.values(name)[..., position]
        column = excel.FIRST_PERIOD if line.kind != "static" else excel.CONSTANT
        found.append(Expected(name, model.layout.lines[name], column, np.atleast_1d(values)))
    for cell in excel.read_inputs(model.lines):
        value = model.sheets.value(cell)[position : position + 1]
        found.append(Expected(str(cell), Address("live", model.live.rows[cell]), 3, value))
    clock = {excel.FIRST_DAY_ROW: model.periods.first_day, excel.NEXT_FIRST_DAY_ROW: model.periods.next_first_day}
    for row, days in clock.items():
        found.append(Expected("clock", Address(excel.TIMELINE, row), excel.FIRST_PERIOD, days))
    for result, row in results.live.items():
        found.append(Expected(f"differs: {result}", Address("results", row), DIFFERS, np.zeros(1)))
    column = FIRST_SCENARIO + model.shown.index(model.selected)
    for result, row in results.compared.items():
        value = np.array([page.rows[row][column][0]])
        found.append(Expected(f"compared: {result}", Address("results", row), LIVE, value))
    for what, where in zip(changed._fields, changed, strict=True):
        found.append(Expected(f"{what} as written", where, CHANGED, np.zeros(len(FLAGS))))
    return found
