"""The calculation sheets: every line a row on the same grid, one formula along all periods."""

from collections.abc import Mapping

from openpyxl.utils import get_column_letter

from stuckstep.engines import excel
from stuckstep.engines.excel import Formula
from stuckstep.rules.lines import Line

from ..flows import has_total
from .grid import BEFORE, CONSTANT, LABEL, SAYS, TOTAL, UNIT, height_of
from .model import Model
from .pages import Page
from .styles import format_of

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
# Openings whose total is what stood at the start, so that the totals of the corkscrew add up too.
OPENINGS = frozenset({"balance before"})
# Lines that stand out; the rest of a block is its working and is grouped.
KEYS = frozenset({
    *("billed", "collected", "prepaid", "mw", "due", "late", "claimed", "paid", "unpaid", "draw", "drawn", "repaid"),
    *("balance", "dscr", "cfads", "opening", "cash", "closing", "net", "unpaid before", "balance before", "paid in"),
    *("debt service", "puts in", "billing", "finish", "relief", "days late", "planned billing", "broken", "alert"),
    *("value", "last finish", "paid in all"),
})  # fmt: skip


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


def _role(content: object, column: int, is_key: bool) -> str:
    if column == BEFORE:
        return "opening"
    if not isinstance(content, Formula):
        return "value"
    kind = "link" if "!" in content else "formula"
    return f"key {kind}" if is_key else kind
