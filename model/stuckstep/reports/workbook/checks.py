"""The summary of the checks: laws of the model, alerts about the deal, and whether the file is still as written."""

from collections.abc import Mapping

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
NOTICES: Mapping[str, str] = {
    "inputs as written": "numbers and dates that were changed since: what is stored is no longer what they come to",
    "structure as written": "words, blanks and rows that were changed: formulas cannot follow, run stuckstep on it",
    "inputs allowed": "numbers and dates that are not allowed, due dates before the start: run stuckstep check on it",
    "values as written": "live results that are not what the engine gave for the scenario: 0 unless inputs changed",
}
NOTICE_ROWS: Mapping[str, int] = {name: row for row, name in enumerate(NOTICES, start=FIRST_ALERT + len(ALERTS))}
STALE_ROW = FIRST_ALERT + len(ALERTS) + len(NOTICES)
STALE_SAYS = "whether any of these is raised: then nothing live is compared with what is stored of base"
STALE = f"checks!${get_column_letter(CONSTANT)}${STALE_ROW}"


def notice(name: str) -> str:
    """The cell that says whether a notice is raised."""
    return f"checks!${get_column_letter(CONSTANT)}${NOTICE_ROWS[name]}"


def add_summary(page: Page, model: Model, counts: Mapping[str, str]) -> None:
    """A row for each check: 0 holds, 1 does not. `counts`: for each notice the cell that counts what it is about."""
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
        flag = _flag(periods)
        _put(page, number, check, meaning, flag, Formula(f"={get_column_letter(TOTAL)}{line}"), kind)
    for check, number in NOTICE_ROWS.items():
        flag = _flag(f"{get_column_letter(TOTAL)}{number}")
        _put(page, number, check, NOTICES[check], flag, Formula(f"={counts[check]}"), "notice")
    raised = Formula(f"=MAX({letter}{STALE_ROW - len(NOTICES)}:{letter}{STALE_ROW - 1})")
    _put(page, STALE_ROW, "not to be compared", STALE_SAYS, raised, None, "notice")
    page.define("master_check", MASTER)


def _flag(count: str) -> Formula:
    """1 where something was counted, and where an error leaves nothing to count: the error goes no further."""
    return Formula(f"=IF(ISNUMBER({count}),IF({count}>0,1,0),1)")


def _put(page: Page, row: int, check: str, says: str, flag: Formula, count: Formula | None, kind: str) -> None:
    page.put(row, LABEL, check, "key")
    page.put(row, SAYS, says, "says")
    page.put(row, UNIT, "0/1", "unit")
    page.put(row, CONSTANT, flag, "key formula", "flag")
    if count is not None:
        page.put(row, TOTAL, count, "link" if "!" in count else "formula", "number")
    page.put(row, BEFORE, kind, "unit")
    page.heights[row] = height_of(says)
