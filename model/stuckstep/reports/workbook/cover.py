"""The cover: what the workbook is, the scenario selector, the master check, and the answer in a few lines."""

from collections.abc import Mapping

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.hyperlink import Hyperlink

from stuckstep.engines.excel import Formula
from stuckstep.engines.excel.inputs import FIRST_SCENARIO
from stuckstep.rules.checks import ALERTS
from stuckstep.rules.lines import name_of

from .assumptions import meaning_of
from .calculations import TITLES
from .checks import FIRST_ALERT, STRUCTURE_ROW, VALUES_ROW
from .grid import MASTER, add_status_colours, set_print, set_widths
from .model import SELECTOR, Model
from .pages import Page
from .results import LIVE
from .summaries import Stuck, cell_of

WHAT = (
    "A live model of who is paid, when and how much, when a stuck step delays billing. Every number is a formula: "
    "change a yellow cell or choose a scenario, and all of it recalculates."
)
LEGEND = (
    ("input", "Typed input that the formulas read: change it and everything follows"),
    ("shape", "Typed input that shapes the formulas (names, places, triggers, lists): change it, or add a row, and run "
              "stuckstep on this file"),
    ("formula", "Formula on the same sheet (black)"),
    ("link", "Formula that reads another sheet (green)"),
    ("opening", "What stands before the first period"),
    ("total", "Sum over all periods"),
)  # fmt: skip
OTHERS = {
    "live": "The inputs of the chosen scenario, and of every other one",
    "results": "Every scenario as computed by the engine, and the chosen one live",
    "charts": "Payment order, sources and uses, cash, debt and DSCR, what is unpaid",
    "log": "Version, fingerprint of the assumptions, what each scenario changes",
}
MASTER_SAYS = "OK: every law of the model holds (sheet checks)"
ALERTS_SAYS = "How many alerts about the deal are raised (sheet checks)"
VALUES_SAYS = "OK: the engine gave the same results when the file was written. CHANGED: an input was changed since"
STRUCTURE_SAYS = "OK: names, places, triggers, lists stand as written. CHANGED: run stuckstep on this file again"
SIGNS = (
    "Money in is positive and so is money out; a balance grows by what comes in and falls by what is paid. "
    "Negative numbers stand in brackets, zero is a dash, and 0 or (0) is less than half a unit."
)
NO_RELIEF = "curing this delay alone is worth nothing"
OTHERS_NAMED = 4
_NOTE = "Amounts in {currency}; dates are year-month-day; what a period holds counts from its first to its last day."


def add_cover(
    page: Page, model: Model, stuck: Mapping[str, Stuck], results: Mapping[str, int], sheets: list[str]
) -> None:
    page.put(2, 2, model.item("title"), "title")
    page.put(3, 2, WHAT, "line")
    _add_selector(page, model)
    row = _add_phases(page, model, stuck, 12)
    row = _add_waiting(page, model, row + 2)
    row = _add_parties(page, model, results, row + 2)
    row = _add_legend(page, row + 2)
    _add_contents(page, sheets, row + 2)
    set_widths(page, (2, 30, 36, 15, 15, 15, 15, 15, 17, 17, 17))
    set_print(page, None, None)


def _add_selector(page: Page, model: Model) -> None:
    page.put(5, 2, "Scenario", "headline")
    page.put(5, 3, model.selected, "selector", "text")
    first, last = get_column_letter(FIRST_SCENARIO), get_column_letter(FIRST_SCENARIO + len(model.scenarios) - 1)
    names = f"live!${first}$5:${last}$5"
    choice = DataValidation(type="list", formula1=names, allow_blank=False, showErrorMessage=True)
    choice.error, choice.errorTitle = "Choose one of the scenarios of the list", "Scenario"
    choice.add("C5")
    page.sheet.add_data_validation(choice)
    page.define("scenario", SELECTOR)
    page.put(5, 4, f"Choose from the list; the file was saved with this one.{_elsewhere(model)}", "line")
    alerts = f"checks!$D${FIRST_ALERT}:$D${FIRST_ALERT + len(ALERTS) - 1}"
    rows = (
        (6, "Master check", f'=IF({MASTER}>0,"ERROR","OK")', MASTER_SAYS),
        (7, "Alerts", f"=SUM({alerts})", ALERTS_SAYS),
        (8, "Values", f'=IF(checks!$D${VALUES_ROW}>0,"CHANGED","OK")', VALUES_SAYS),
        (9, "Structure", f'=IF(checks!$D${STRUCTURE_ROW}>0,"CHANGED","OK")', STRUCTURE_SAYS),
    )
    for row, label, formula, says in rows:
        page.put(row, 2, label, "headline")
        page.put(row, 3, Formula(formula), "status", "number")
        page.put(row, 4, says, "line")
    for row in (6, 8, 9):
        add_status_colours(page, f"C{row}")
    page.put(10, 2, _NOTE.format(currency=model.currency), "line")


def _elsewhere(model: Model) -> str:
    """Which scenarios need a file of their own."""
    others = [name for name in model.solution.scenarios if name not in model.scenarios]
    if not others:
        return ""
    named = ", ".join(others[:OTHERS_NAMED]) + (", ... (sheet log)" if len(others) > OTHERS_NAMED else "")
    return f" Not in this file, since they change the structure: {named}. Export each on its own."


def _add_phases(page: Page, model: Model, stuck: Mapping[str, Stuck], row: int) -> int:
    heads = ("Phase", "Stuck step", "Planned billing", "Billing", "Days late", "Its delay costs, days", "Cancelled")
    for column, head in enumerate(heads, start=2):
        page.put(row, column, head, "number heading" if column > 3 else "heading")
    for phase in model.sheets.keys("phases"):
        row += 1
        items = ("planned billing", "billing", "days late", "cancelled")
        planned, billing, late, cancelled = (cell_of(model, name_of("phases", phase, item)) for item in items)
        step = stuck[phase].step
        page.put(row, 2, phase, "headline")
        page.put(row, 3, Formula(f"={step}"), "headline")
        page.put(row, 4, Formula(f"={planned}"), "link", "date")
        page.put(row, 5, Formula(f"={billing}"), "key link", "date")
        page.put(row, 6, Formula(f"=IF({cancelled}>0,0,{late})"), "key link", "number")
        page.put(row, 7, Formula(f"={stuck[phase].relief}"), "link", "number")
        page.put(row, 8, Formula(f"={cancelled}"), "link", "flag")
        alone = f'=IF(AND(C{row}<>"none",G{row}<=0),"{NO_RELIEF}","-")'
        page.put(row, 9, Formula(alone), "formula")
    return row


def _add_waiting(page: Page, model: Model, row: int) -> int:
    """Who waits longest: the largest of the quarters by which half is paid later than in base."""
    parties = model.sheets.keys("parties")
    first = row + 4  # of the parties' table, which stands below
    last = first + len(parties) - 1
    page.put(row, 2, "Who waits longest", "headline")
    longest = f"MAX($G${first}:$G${last})"
    name = f"INDEX($B${first}:$B${last},MATCH({longest},$G${first}:$G${last},0))"
    page.put(row, 3, Formula(f'=IF({longest}>0,{name},"nobody waits longer than in base")'), "headline")
    page.put(row, 4, Formula(f"={longest}"), "key formula", "number")
    page.put(row, 5, "quarters longer than in base until half of all that falls due is paid", "line")
    page.put(row + 1, 2, "Never half paid", "headline")
    never = f"$H${first}:$H${last}"
    name = f"INDEX($B${first}:$B${last},MATCH(1,{never},0))"
    page.put(row + 1, 3, Formula(f'=IF(SUM({never})>0,{name},"nobody")'), "headline")
    page.put(row + 1, 4, Formula(f"=SUM({never})"), "key formula", "number")
    page.put(row + 1, 5, "parties that base pays half and this scenario does not (the first is named)", "line")
    return row + 1


def _add_parties(page: Page, model: Model, results: Mapping[str, int], row: int) -> int:
    """Who is paid, when and how much: one row for each party in the order of the chain."""
    heads = ("Party", "Role", "First paid", "Half paid", "Last paid", "Half paid later than base, quarters",
             "Never half paid", "Due", "Paid", "Unpaid at the end")  # fmt: skip
    for column, head in enumerate(heads, start=2):
        page.put(row, column, head, "number heading" if column > 3 else "heading")
    page.heights[row] = 36.0
    labels = ("first paid", "half paid", "last paid", "half paid later than base", "never half paid", "due", "paid",
              "unpaid at the end")  # fmt: skip
    formats = ("date or none", "date or none", "date or none", "number", "flag", "money", "money", "money")
    for party in model.sheets.keys("parties"):
        row += 1
        page.put(row, 2, party, "key")
        page.put(row, 3, str(model.sheets.cell("parties", party, "role")), "line")
        for column, (label, number_format) in enumerate(zip(labels, formats, strict=True), start=4):
            cell = f"results!${get_column_letter(LIVE)}${results[f'{label} {party}']}"
            page.put(row, column, Formula(f"={cell}"), "link", number_format)
    return row


def _add_legend(page: Page, row: int) -> int:
    page.put(row, 2, "Legend", "heading")
    page.put(row, 3, "What the colours mean", "heading")
    for role, says in LEGEND:
        row += 1
        page.put(row, 2, role if role != "shape" else "structure", role)
        page.put(row, 3, says, "line")
    row += 1
    page.put(row, 2, SIGNS, "line")
    return row


def _add_contents(page: Page, sheets: list[str], row: int) -> None:
    page.put(row, 2, "Sheet", "heading")
    page.put(row, 3, "What it holds", "heading")
    for name in sheets:
        if name == page.name:
            continue
        row += 1
        page.put(row, 2, name, "key link")
        link = Hyperlink(ref=f"B{row}", location=f"'{name}'!A1", display=name)
        page.sheet._hyperlinks.append(link)  # type: ignore[attr-defined]
        page.put(row, 3, TITLES.get(name) or OTHERS.get(name) or f"Assumptions: {meaning_of(name)}", "line")
