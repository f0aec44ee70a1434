"""What every sheet shares: the column grid and the time axis, widths, print set-up, the colours of a status."""

import math
from collections.abc import Sequence

import numpy as np
from openpyxl.formatting.rule import Rule
from openpyxl.styles import Font, PatternFill
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.utils import column_index_from_string, get_column_letter
from openpyxl.worksheet.header_footer import HeaderFooterItem
from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.properties import PageSetupProperties

from stuckstep.engines import excel
from stuckstep.engines.excel import Formula

from ..flows import has_total
from .model import SELECTOR, Model
from .pages import Page
from .styles import BAD, GOOD, RED

LABEL, SAYS, UNIT, CONSTANT, TOTAL, BEFORE = range(1, 7)
HEADS_ROW, SCENARIO_ROW = 2, 7
MASTER = f"checks!${get_column_letter(CONSTANT)}${excel.FIRST_ROW + 1}"
HEADS = ("Line", "What it says", "Unit", "Constant", "Total or end", "Before")
CLOCKS = {
    excel.PERIOD_ROW: ("Period", "number of the period", "number"),
    excel.FIRST_DAY_ROW: ("First day", "first day of the period", "date"),
    excel.NEXT_FIRST_DAY_ROW: ("Next first day", "first day of the next period; constant: months of a period", "date"),
    excel.DAYS_ROW: ("Days", "calendar days of the period", "days"),
}
WORDS = (31, 48, 10)  # widths of label, meaning and unit
PRICE_WIDTH = 16  # of a constant: an amount with its cents
NARROWEST, BESIDE = 11, 2.5  # a column of numbers holds a date, or the longest amount and what stands beside it
PAGE_WIDTH, READABLE = 205, 0.68  # characters across a page at full size, and the smallest size that can be read
PAGE_HEIGHT, ROW_HEIGHT = 660.0, 15.0  # points down a page below the repeated rows, with some to spare; a plain row
ONE_LINE = 74  # characters that the column of words holds in one line


def dress_grid(page: Page, model: Model, title: str, *, repeated: bool = True) -> None:
    """What all time sheets share: title, time axis in the frozen pane, widths, print set-up, the master check."""
    last = model.layout.last_column
    page.put(1, LABEL, title, "title")
    page.heights[1] = 21.0
    for column, head in enumerate(HEADS, start=LABEL):
        page.put(HEADS_ROW, column, head, "number heading" if column >= CONSTANT else "heading")
    for row, (label, says, unit) in CLOCKS.items():
        for column, text in ((LABEL, label), (SAYS, says), (UNIT, unit)):
            page.put(row, column, text, "clock")
    page.put(SCENARIO_ROW, LABEL, "Scenario", "key")
    page.put(SCENARIO_ROW, SAYS, Formula(f"={SELECTOR}"), "key link")
    page.put(SCENARIO_ROW, UNIT, "Check", "key")
    page.put(SCENARIO_ROW, CONSTANT, Formula(f'=IF({MASTER}>0,"ERROR","OK")'), "status")
    add_status_colours(page, f"{get_column_letter(CONSTANT)}{SCENARIO_ROW}")
    _add_labels(page, model)
    width, constant_width = (number_width(model, constants=constants) for constants in (False, True))
    set_widths(page, (*WORDS, max(constant_width, PRICE_WIDTH), *([width] * (last - CONSTANT))))
    page.sheet.freeze_panes = f"{get_column_letter(BEFORE + 1)}{SCENARIO_ROW + 1}"
    rows, columns = (f"1:{SCENARIO_ROW}", f"A:{get_column_letter(UNIT)}") if repeated else (None, None)
    set_print(page, rows, columns)


def number_width(model: Model, *, constants: bool) -> float:
    """Wide enough for the largest sum of money that stands by period or as a total, or as a constant."""
    largest = 0.0
    for name, line in model.lines.items():
        if line.unit == "money" and (line.kind == "static") == constants:
            values = np.abs(model.values(name))
            is_summed = not constants and has_total(line)
            largest = max(largest, float(values.sum(axis=0).max() if is_summed else values.max()))
    return max(NARROWEST, len(f"{largest:,.0f}") + BESIDE)


def _add_labels(page: Page, model: Model) -> None:
    """The names of the periods: text by quarter, dates by month."""
    for column in model.period_columns():
        letter = get_column_letter(column)
        if page.name != excel.TIMELINE:
            formula = f"={excel.TIMELINE}!{letter}{HEADS_ROW}"
        elif model.is_monthly:
            formula = f"={letter}{excel.FIRST_DAY_ROW}"
        else:
            first = f"{letter}{excel.FIRST_DAY_ROW}"
            formula = f'=YEAR({first})&"Q"&(MONTH({first})+2)/3'
        page.put(HEADS_ROW, column, Formula(formula), "time", "month" if model.is_monthly else "text")


def set_widths(page: Page, widths: tuple[float, ...]) -> None:
    for column, width in enumerate(widths, start=1):
        page.sheet.column_dimensions[get_column_letter(column)].width = width


def set_print(page: Page, rows: str | None, columns: str | None) -> None:
    """Landscape, titles repeated, page x of y; after the widths: so many pages wide that it can be read."""
    sheet = page.sheet
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.paperSize = sheet.PAPERSIZE_A3
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = _pages_wide(page, columns), 0
    sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    if rows is not None:
        sheet.print_title_rows = rows
    if columns is not None:
        sheet.print_title_cols = columns
    footer = HeaderFooterItem()
    for part, text in ((footer.left, "&F"), (footer.center, "&A"), (footer.right, "Page &P of &N")):
        if part is not None:
            part.text = text
    sheet.HeaderFooter.oddFooter = footer
    sheet.page_margins.left = sheet.page_margins.right = sheet.page_margins.top = 0.4
    sheet.page_margins.header = 0.2
    sheet.sheet_view.zoomScale = 85
    sheet.sheet_view.showGridLines = False


def _pages_wide(page: Page, repeated: str | None) -> int:
    """Pages side by side on which nothing is printed smaller than READABLE; `repeated` columns stand on each."""
    widths = {letter: one.width for letter, one in page.sheet.column_dimensions.items()}
    first, last = (column_index_from_string(letter) for letter in (repeated or "A:A").split(":"))
    again = sum(widths[get_column_letter(column)] for column in range(first, last + 1)) if repeated else 0.0
    return max(1, math.ceil((sum(widths.values()) - again) / (PAGE_WIDTH / READABLE - again)))


def set_scale(page: Page, scale: float) -> None:
    """Prints at a scale: a spreadsheet keeps the breaks of a sheet that it does not fit to pages."""
    page.sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=False)
    page.sheet.page_setup.fitToWidth = page.sheet.page_setup.fitToHeight = None
    page.sheet.page_setup.scale = round(100 * scale)


def break_pages(page: Page, blocks: Sequence[range]) -> None:
    """Begins a new page before each block of rows that would not end on the page it began on."""
    width = sum(one.width for one in page.sheet.column_dimensions.values())
    scale = max(READABLE, min(1.0, PAGE_WIDTH / width))
    set_scale(page, scale)
    first = blocks[0].start if blocks else 0
    for block in blocks:
        if block.start > first and _height(page, range(first, block.stop)) * scale > PAGE_HEIGHT:
            page.sheet.row_breaks.append(Break(id=block.start - 2))  # with the blank row above it
            first = block.start


def _height(page: Page, rows: range) -> float:
    return sum(page.heights.get(row, ROW_HEIGHT) for row in rows)


def add_status_colours(page: Page, cell: str, fine: str = "OK") -> None:
    """A cell that says all is fine is green, one that says anything else red."""
    good = Rule("expression", formula=[f'{cell}="{fine}"'], dxf=DifferentialStyle(fill=PatternFill(bgColor=GOOD)))
    font, fill = Font(color=RED, bold=True), PatternFill(bgColor=BAD)
    bad = Rule("expression", formula=[f'{cell}<>"{fine}"'], dxf=DifferentialStyle(font=font, fill=fill))
    page.sheet.conditional_formatting.add(cell, good)
    page.sheet.conditional_formatting.add(cell, bad)


def height_of(says: str) -> float:
    """A row's height: one line, or two where the words need them."""
    return 24.0 if len(says) > ONE_LINE else 13.0
