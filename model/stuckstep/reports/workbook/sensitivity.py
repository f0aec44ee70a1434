"""The tables of the studies: values from the engine, the run with nothing moved live, a check that both agree."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from openpyxl.formatting.rule import Rule
from openpyxl.styles import Font, PatternFill
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.utils import get_column_letter

from stuckstep.deal import Cell, default_of
from stuckstep.engines.excel import Address, Formula
from stuckstep.engines.excel.inputs import headings, row_of
from stuckstep.reports.sheets import Sheet

from .grid import break_pages, set_print, set_widths
from .measures import live
from .model import SELECTOR, Model
from .pages import Page
from .styles import BAD, GOOD, RED
from .summaries import Dates, constant
from .values import Expected

SHEET = "sensitivity"
TITLE = "Many runs: each value is a run of the engine with the named cell moved; what has nothing moved is live"
RATE_ROW, DIFFERING_ROW, FIRST_ROW = 2, 3, 5
DIFFERING = f"{SHEET}!$B${DIFFERING_ROW}"
RATE = f"$B${RATE_ROW}"
NONE = "none"
WIDTHS = (34.0, 17.0)
TESTS: Mapping[str, tuple[str, str]] = {  # how a value must stand: in words, and when it fails
    "at_least": ("at least; what is less, or nothing, is red", 'OR({cell}="none",{cell}<{limit})'),
    "at_most": ("at most; what is more, or nothing, is red", 'OR({cell}="none",{cell}>{limit})'),
    "absent": ("there must be none; any is red", '{cell}<>"none"'),
    "present": ("there must be one; none is red", '{cell}="none"'),
}


class Block(NamedTuple):
    """The cells of a table's head: the live measure, the engine's, whether they differ, the threshold."""

    live: str
    engine: str
    limit: str


def add_sensitivity(page: Page, model: Model, dates: Mapping[str, Dates], sheets: Sequence[Sheet]) -> list[Expected]:
    """All tables, one below the other; gives what the check of each must say."""
    page.put(1, 1, TITLE, "title")
    page.put(RATE_ROW, 1, "Discount rate", "key")
    page.put(RATE_ROW, 2, _rate(model), "link", "rate")
    page.put(DIFFERING_ROW, 1, "Tables that differ", "key")
    says = "tables whose measure with nothing moved is not what the live model says: an input was changed since"
    page.put(DIFFERING_ROW, 3, says, "line")
    row, checks, blocks = FIRST_ROW, [], []
    for sheet in sheets:
        top = row
        if sheet.measure:
            checks.append(_add_head(page, model, dates, sheet, row))
            row += 6
        else:
            page.put(row, 1, sheet.title, "block")
            row += 1
        last = _add_table(page, model, sheet, row)
        blocks.append(range(top, last + 1))
        row = last + 2
    count = "+".join(f"B{check}" for check in checks) or "0"
    page.put(DIFFERING_ROW, 2, Formula(f"={count}"), "key formula", "number")
    widest = max((len(sheet.headings) for sheet in sheets), default=2)
    set_widths(page, (WIDTHS[0], *([WIDTHS[1]] * max(widest - 1, 2))))
    page.sheet.freeze_panes = f"B{DIFFERING_ROW + 1}"
    set_print(page, f"1:{DIFFERING_ROW}", "A:A")
    break_pages(page, blocks)
    return [Expected("study differs", Address(SHEET, check), 2, np.zeros(1)) for check in checks]


def _rate(model: Model) -> Formula | float:
    """The discount rate of the base sheets, which no line reads."""
    row = next((row for row in model.deal.tables["deal"] if row.cells["item"] == "discount_rate"), None)
    if row is None:
        return default_of(Cell("deal", "discount_rate", "value")) or 0.0
    column = get_column_letter(headings("deal").index("value") + 1)
    return Formula(f"=deal!${column}${row_of(model.deal, 'deal', row)}")


def _add_head(page: Page, model: Model, dates: Mapping[str, Dates], sheet: Sheet, row: int) -> int:
    """What is measured, live and by the engine, and what it is held against; gives the row of the check."""
    number_format, value = _format(model, sheet), _value(model, sheet, sheet.base_value, _unit(sheet))
    block = _block(row)
    page.put(row, 1, sheet.title, "block")
    page.fill(row, range(2, max(len(sheet.headings), 3) + 1), "block")
    formula = None if _is_moved(model, sheet) else live(model, dates, sheet.measure, RATE)
    engine = "text value" if isinstance(value, str) else "value"
    for place, label in enumerate(("live: chosen scenario", f"engine: {sheet.start}", "differs", "must be"), row + 1):
        page.put(place, 1, label, "key")
    says = f"{sheet.measure} ({_unit(sheet)}) with nothing moved"
    page.put(row + 1, 3, says if formula else f"{says}; no formula gives it, so it is the engine's", "line")
    page.put(row + 1, 2, Formula(f"={formula}" if formula else f"={block.engine}"), "text link", number_format)
    page.put(row + 2, 2, value, engine, number_format)
    page.put(row + 3, 2, Formula(_differs(model, sheet, block, value)), "link", "flag")
    page.put(row + 3, 3, f"0 while the inputs are as written and {sheet.start} is chosen, or another scenario", "line")
    if sheet.holds:
        limit = "" if math.isnan(sheet.threshold) else _value(model, sheet, sheet.threshold, _unit(sheet))
        page.put(row + 4, 2, limit, "input" if limit != "" else "line", number_format)
        page.put(row + 4, 3, TESTS[sheet.holds][0], "line")
    else:
        page.put(row + 4, 2, "no threshold", "line")
    return row + 3


def _block(row: int) -> Block:
    return Block(f"$B${row + 1}", f"$B${row + 2}", f"$B${row + 4}")


def _is_moved(model: Model, sheet: Sheet) -> bool:
    """Whether the scenario discounts at a rate of its own, which the live formula does not read."""
    changes = model.solution.where(sheet.start)[0].sheets.index.changes.get(sheet.start, {})
    return Cell("deal", "discount_rate", "value") in changes


def _differs(model: Model, sheet: Sheet, block: Block, value: str | float) -> str:
    """Whether the live measure is another one than the engine's, where the study's scenario is chosen."""
    same = f"{block.live}={block.engine}"
    if _format(model, sheet) == "money" and not isinstance(value, str):
        same = f"ABS({block.live}-{block.engine})<={constant(model, 'half_cent')}"
    return f'=IF({SELECTOR}="{sheet.start}",IF({same},0,1),0)'


def _add_table(page: Page, model: Model, sheet: Sheet, top: int) -> int:
    """Headings and values, in red what fails; gives the last row."""
    for column, heading in enumerate(sheet.headings, start=1):
        is_text = sheet.units[column - 1] == ""
        page.put(top, column, heading, "heading" if is_text else "number heading")
    page.heights[top] = 24.0
    block = _block(top - 6)
    for row, cells in enumerate(sheet.rows):
        for column, cell in enumerate(cells):
            place = (top + 1 + row, column + 1)
            unit = sheet.units[column]
            number_format = _format_of(model, unit)
            if (row, column) in sheet.base:
                own = f'=IF({SELECTOR}="{sheet.start}",{block.live},{block.engine})'
                page.put(*place, Formula(own), "text link", number_format)
                continue
            content = _value(model, sheet, cell, unit)
            role = "label" if unit == "" else "text value" if isinstance(content, str) else "value"
            page.put(*place, content, role, number_format)
    last = top + len(sheet.rows)
    if sheet.holds and sheet.measured:
        _add_colours(page, sheet, block, top + 1, last)
    return last


def _add_colours(page: Page, sheet: Sheet, block: Block, first: int, last: int) -> None:
    """What fails the test is red and what holds green, as the threshold in the sheet says."""
    left, right = (get_column_letter(column + 1) for column in (sheet.measured[0], sheet.measured[-1]))
    fails = TESTS[sheet.holds][1].format(cell=f"{left}{first}", limit=block.limit)
    red = DifferentialStyle(font=Font(color=RED), fill=PatternFill(bgColor=BAD))
    green = DifferentialStyle(fill=PatternFill(bgColor=GOOD))
    for formula, look in ((fails, red), (f"NOT({fails})", green)):
        cells = f"{left}{first}:{right}{last}"
        page.sheet.conditional_formatting.add(cells, Rule("expression", formula=[formula], dxf=look))


def _unit(sheet: Sheet) -> str:
    return sheet.units[sheet.measured[0]]


def _format(model: Model, sheet: Sheet) -> str:
    return _format_of(model, _unit(sheet))


def _format_of(model: Model, unit: str) -> str:
    """The number format of a unit of a study."""
    known = {model.currency: "money", "date": "date", "quarter": "date", "1/year": "rate", "x": "multiple",
             "share": "percent", "number": "decimal", "": "text"}  # fmt: skip
    return known.get(unit, "number")


def _value(model: Model, sheet: Sheet, value: str | float, unit: str) -> str | float:
    """A value as it stands in a cell: a quarter as its last day, nothing as a word."""
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return NONE
    if unit != "quarter":
        return float(value)
    ends = model.dataset["quarter"].values.astype("datetime64[D]").astype(np.int64) + 25569
    months = len(model.periods.labels) // len(model.periods.quarter_labels)
    return float(ends[min(max(math.floor(value / months), 0), len(ends) - 1)])
