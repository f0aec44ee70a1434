"""The calculation sheets: every line a row on the same grid, one formula along all periods."""

from collections.abc import Mapping

from openpyxl.formatting.rule import Rule
from openpyxl.styles import Font, PatternFill
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.header_footer import HeaderFooterItem
from openpyxl.worksheet.properties import PageSetupProperties

from stuckstep.engines import excel
from stuckstep.engines.excel import Formula
from stuckstep.rules.lines import Line

from .model import SELECTOR, Model
from .pages import Page
from .styles import BAD, GOOD, RED, format_of

LABEL, SAYS, UNIT, CONSTANT, TOTAL, BEFORE = range(1, 7)
HEADS_ROW, SCENARIO_ROW = 2, 7
MASTER = f"checks!${get_column_letter(CONSTANT)}${excel.FIRST_ROW + 1}"
TITLES: Mapping[str, str] = {
    "constants": "Timeline and the constants of the rules",
    "schedule": "Schedule: when steps end and billing begins",
    "relief": "Relief: what one delay costs, and which step is stuck",
    "contracts_calc": "Contracts: billed, collected, prepaid; MW by status",
    "claims_calc": "Claims: due, claimed, paid, unpaid",
    "facilities_calc": "Facilities: window, limit, draws, debt service",
    "accounts_calc": "Accounts: the waterfall by rank",
    "parties_calc": "Parties: due, paid and unpaid by payee",
    "checks": "Checks: laws of the model and alerts about the deal",
}
HEADS = ("Line", "What it says", "Unit", "Constant", "Total or end", "Before")
CLOCKS = {
    excel.PERIOD_ROW: ("Period", "number of the period", "number"),
    excel.FIRST_DAY_ROW: ("First day", "first day of the period", "date"),
    excel.NEXT_FIRST_DAY_ROW: ("Next first day", "first day of the next period; constant: months of a period", "date"),
    excel.DAYS_ROW: ("Days", "calendar days of the period", "days"),
}
WIDTHS = (31, 48, 10, 14, 15, 14)
PERIOD_WIDTH = 13.5
ONE_LINE = 74  # characters that the column of words holds in one line
# Lines whose sum over the periods means something: what flows, and flags.
FLOWS = frozenset({
    *("billed", "payable", "collected", "prepaid", "due", "late", "paid", "draw", "repaid", "net", "cfads", "open"),
    *("broken", "alert", "undrawn fee", "on balance", "paid in", "paid out", "puts in", "debt service", "dates here"),
})  # fmt: skip
# Openings whose total is what stood at the start, so that the totals of the corkscrew add up too.
OPENINGS = frozenset({"balance before"})
# Lines that stand out; the rest of a block is its working and is grouped.
KEYS = frozenset({
    *("billed", "collected", "prepaid", "mw", "due", "late", "claimed", "paid", "unpaid", "draw", "drawn", "repaid"),
    *("balance", "dscr", "cfads", "opening", "cash", "closing", "net", "unpaid before", "balance before", "paid in"),
    *("debt service", "puts in", "billing", "finish", "relief", "days late", "planned billing", "broken", "alert"),
    *("value", "last finish", "paid in all"),
})  # fmt: skip


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
    set_widths(page, (*WIDTHS, *([PERIOD_WIDTH] * (last - BEFORE))))
    page.sheet.freeze_panes = f"{get_column_letter(BEFORE + 1)}{SCENARIO_ROW + 1}"
    rows, columns = (f"1:{SCENARIO_ROW}", f"A:{get_column_letter(UNIT)}") if repeated else (None, None)
    set_print(page, rows, columns)


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
    """Landscape, one page wide, titles repeated, page x of y."""
    sheet = page.sheet
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.paperSize = sheet.PAPERSIZE_A3
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
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


def add_status_colours(page: Page, cell: str) -> None:
    """A cell that says OK is green, one that says anything else red."""
    good = Rule("expression", formula=[f'{cell}="OK"'], dxf=DifferentialStyle(fill=PatternFill(bgColor=GOOD)))
    font, fill = Font(color=RED, bold=True), PatternFill(bgColor=BAD)
    bad = Rule("expression", formula=[f'{cell}<>"OK"'], dxf=DifferentialStyle(font=font, fill=fill))
    page.sheet.conditional_formatting.add(cell, good)
    page.sheet.conditional_formatting.add(cell, bad)


def add_lines(pages: Mapping[str, Page], model: Model) -> None:
    """Every line with its label, unit, formulas and total, and the clock above them."""
    layout, last = model.layout, model.layout.last_column
    for address, heading in layout.headings.items():
        pages[address.sheet].put(address.row, LABEL, heading.replace(": ", " · "), "block")
        pages[address.sheet].fill(address.row, range(SAYS, BEFORE + 1), "block")
    for name, line in model.lines.items():
        _add_label(pages[layout.lines[name].sheet], layout.lines[name].row, line, model)
    start = f"deal!$B${_start_row(model)}"
    for sheet, row, column, content in excel.timeline(layout, start, 1 if model.is_monthly else 3):
        is_date = row in (excel.FIRST_DAY_ROW, excel.NEXT_FIRST_DAY_ROW) and column != CONSTANT
        pages[sheet].put(row, column, content, "clock", "date" if is_date else "number")
    formats = {(address.sheet, address.row): _dress(model.lines[name]) for name, address in layout.lines.items()}
    for sheet, row, column, content in excel.formulas(model.lines, layout, model.live.live, model.live.base):
        number_format, is_key = formats[sheet, row]
        role = _role(content, column, is_key)
        pages[sheet].put(row, column, content, role, number_format)
    first, end = get_column_letter(excel.FIRST_PERIOD), get_column_letter(last)
    for name, line in model.lines.items():
        sheet, row = layout.lines[name]
        if line.item in OPENINGS:
            pages[sheet].put(row, TOTAL, Formula(f"={first}{row}"), "total", formats[sheet, row][0])
        elif line.opening is not None:
            pages[sheet].put(row, TOTAL, Formula(f"={end}{row}"), "total", formats[sheet, row][0])
        elif line.kind != "static" and has_total(line):
            pages[sheet].put(row, TOTAL, Formula(f"=SUM({first}{row}:{end}{row})"), "total", formats[sheet, row][0])


def _start_row(model: Model) -> int:
    row = next(row for row in model.deal.tables["deal"] if row.cells["item"] == "start")
    return excel.row_of(model.deal, "deal", row)


def _add_label(page: Page, row: int, line: Line, model: Model) -> None:
    label = f"{line.item} · {line.phase}" if line.phase is not None else line.item
    page.put(row, LABEL, label, "key" if _is_key(line) else "label")
    page.put(row, SAYS, line.says, "says")
    page.put(row, UNIT, model.unit(line), "unit")
    page.heights[row] = height_of(line.says)
    if not _is_key(line):
        page.outlines[row] = 1


def _dress(line: Line) -> tuple[str, bool]:
    number_format = format_of(line.unit)
    if line.unit == "money" and (line.item.startswith("price") or line.table == "constants"):
        number_format = "price" if line.table != "constants" else "general"
    if line.table == "constants" and line.unit != "date":
        number_format = "general"
    return number_format, _is_key(line)


def _is_key(line: Line) -> bool:
    """Whether a line is what its block is for; what a claim comes to in one phase is a working."""
    return line.item in KEYS and (line.phase is None or line.table != "claims")


def height_of(says: str) -> float:
    """A row's height: one line, or two where the words need them."""
    return 24.0 if len(says) > ONE_LINE else 13.0


def _role(content: object, column: int, is_key: bool) -> str:
    if column == BEFORE:
        return "opening"
    if not isinstance(content, Formula):
        return "value"
    kind = "link" if "!" in content else "formula"
    return f"key {kind}" if is_key else kind


def has_total(line: Line) -> bool:
    """Whether a line is a flow or a flag, so that its sum over the periods means something."""
    return line.item in FLOWS or line.item.endswith((" paid", " allowed", " error"))
