"""The summary of the checks: laws of the model, alerts about the deal, and whether the file is still as written."""

from openpyxl.utils import get_column_letter

from stuckstep.engines import excel
from stuckstep.engines.excel import Formula
from stuckstep.rules.checks import ALERTS, LAWS
from stuckstep.rules.lines import name_of

from .grid import BEFORE, CONSTANT, LABEL, MASTER, SAYS, TOTAL, UNIT, height_of
from .model import Model
from .pages import Page

HEAD_ROW = excel.FIRST_ROW
MASTER_ROW = HEAD_ROW + 1
FIRST_LAW = MASTER_ROW + 1
FIRST_ALERT = FIRST_LAW + len(LAWS)
VALUES_ROW = FIRST_ALERT + len(ALERTS)
STRUCTURE_ROW = VALUES_ROW + 1
VALUES_SAYS = "results that the engine did not give when the file was written: an input was changed"
STRUCTURE_SAYS = "rows whose words or blanks were changed: the formulas cannot follow, run stuckstep on this file"


def add_summary(page: Page, model: Model, differing: str, reshaped: str) -> None:
    """A row for each check: 0 holds, 1 does not.

    `differing` is the cell that counts results the engine did not give, `reshaped` what was changed of the structure.
    """
    heads = ("Check", "What it means", "Unit", "0 holds, 1 broken", "How often", "Kind")
    for column, head in enumerate(heads, start=LABEL):
        page.put(HEAD_ROW, column, head, "number heading" if column in (CONSTANT, TOTAL) else "heading")
    page.heights[HEAD_ROW] = 24.0
    letter = get_column_letter(CONSTANT)
    says = "laws that are broken; it must be 0. Tolerance of each: half a cent and 1e-12 of what is claimed and held"
    total = Formula(f"=SUM({letter}{FIRST_LAW}:{letter}{FIRST_ALERT - 1})")
    _put(page, MASTER_ROW, "master check", says, total, None, "audit")
    rows = [(law, says, "broken", "audit") for law, says in LAWS.items()]
    rows += [(alert, says, "alert", "alert") for alert, says in ALERTS.items()]
    for number, (check, meaning, item, kind) in enumerate(rows, start=FIRST_LAW):
        line = model.layout.lines[name_of("checks", check, item)].row
        periods = f"{get_column_letter(TOTAL)}{number}"
        flag = Formula(f"=IF({periods}>0,1,0)")
        _put(page, number, check, meaning, flag, Formula(f"={get_column_letter(TOTAL)}{line}"), kind)
    notices = {
        VALUES_ROW: ("values as written", VALUES_SAYS, differing),
        STRUCTURE_ROW: ("structure as written", STRUCTURE_SAYS, reshaped),
    }
    for number, (check, meaning, cell) in notices.items():
        flag = Formula(f"=IF({get_column_letter(TOTAL)}{number}>0,1,0)")
        _put(page, number, check, meaning, flag, Formula(f"={cell}"), "notice")
    page.define("master_check", MASTER)


def _put(page: Page, row: int, check: str, says: str, flag: Formula, count: Formula | None, kind: str) -> None:
    page.put(row, LABEL, check, "key")
    page.put(row, SAYS, says, "says")
    page.put(row, UNIT, "0/1", "unit")
    page.put(row, CONSTANT, flag, "key formula", "flag")
    if count is not None:
        page.put(row, TOTAL, count, "link" if "!" in count else "formula", "number")
    page.put(row, BEFORE, kind, "unit")
    page.heights[row] = height_of(says)
