"""The cover: what the workbook is, the scenario selector, the master check, and the answer in a few lines."""

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.hyperlink import Hyperlink

from stuckstep.engines.excel import Formula
from stuckstep.engines.excel.inputs import FIRST_SCENARIO
from stuckstep.rules.checks import ALERTS
from stuckstep.rules.lines import name_of

from .assumptions import meaning_of, put_paragraph, text_of
from .calculations import TITLES
from .checks import FIRST_ALERT, STALE, notice
from .grid import MASTER, add_status_colours, set_print, set_widths
from .model import SELECTOR, Model
from .pages import Page
from .results import LIVE, UNKNOWN, Found, Rows
from .summaries import cell_of

WHAT = (
    "A live model of who is paid, when and how much, when a stuck step delays billing. Live: choose a scenario or "
    "change a yellow cell, and this page and every calculation sheet recalculate. Stored when the file was written: "
    "what every scenario comes to (sheet results), base among them, to which this page compares. Where an input was "
    "changed since, nothing is compared: run stuckstep on this file."
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
    "results": "The chosen scenario live, and every scenario as exported",
    "sensitivity": "Many runs: what is measured while cells are moved, what has nothing moved live",
    "charts": "Payment order, sources and uses, cash, debt and DSCR, what is unpaid",
    "log": "Version, fingerprint of the assumptions, what each scenario changes",
    "as_written": "Whether inputs were changed since the file was written, each beside what it was and what is allowed",
}
MASTER_SAYS = "OK: every law of the model holds (sheet checks)"
ALERTS_SAYS = "How many alerts about the deal are raised (sheet checks)"
INPUTS_SAYS = "OK: numbers and dates stand as written. CHANGED: what is stored of the scenarios is no longer theirs"
VALUES_SAYS = "OK: what is live is what the engine gave. CHANGED: inputs were changed. ERROR: it is not, and none was"
ALLOWED_SAYS = "OK: numbers and dates lie within what is allowed. ERROR: run stuckstep check on this file"
STRUCTURE_SAYS = (
    "OK: names, places, triggers, lists, blanks stand as written. CHANGED: run stuckstep on this file again"
)
SIGNS = (
    "Money in is positive and so is money out; a balance grows by what comes in and falls by what is paid. "
    "Negative numbers stand in brackets, zero is a dash, and 0 or (0) is less than half a unit."
)
NO_RELIEF = "curing this delay alone is worth nothing"
OTHERS_NAMED = 4
WIDTHS = (2, 30, 36, 15, 15, 15, 15, 15, 17, 17, 17, 17, 15)
TEXT = range(2, 10)  # columns that a paragraph goes across
NOBODY_WAITS = "nobody waits longer than in base"
CANNOT_COMPARE = "inputs changed: run again to compare"
WAITS_SAYS = "quarters longer than in base as exported until half of all that falls due is paid"
NEVER_SAYS = "parties that base as exported pays half and this does not (the first is named)"
DSCR_SAYS = "where an instalment falls due: before the first, equity and draws pay the interest, as planned"
_NOTE = "Amounts in {currency}; dates are year-month-day; what a period holds counts from its first to its last day."


def add_cover(page: Page, model: Model, found: Found, results: Rows, sheets: list[str]) -> None:
    set_widths(page, WIDTHS)
    page.put(2, 2, model.item("title"), "title")
    page.heights[2] = 21.0
    put_paragraph(page, 3, TEXT, _lesson(model), "lesson")
    put_paragraph(page, 4, TEXT, WHAT, "paragraph")
    _add_selector(page, model)
    row = _add_phases(page, model, found, 14)
    row = _add_waiting(page, model, found, row + 2)
    row = _add_parties(page, model, results, row + 2)
    row = _add_debt(page, model, results, row + 2) if model.sheets.keys("facilities") else row
    row = _add_legend(page, row + 2)
    _add_contents(page, sheets, row + 2)
    set_print(page, None, None)


def _lesson(model: Model) -> str:
    """What the deal's author says of it as a whole: the note of its title."""
    row = next(row for row in model.deal.tables["deal"] if row.cells["item"] == "title")
    return text_of(row.extras.get("note"))


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
        (8, "Inputs", f'=IF({notice("inputs as written")}>0,"CHANGED","OK")', INPUTS_SAYS),
        (9, "Structure", f'=IF({notice("structure as written")}>0,"CHANGED","OK")', STRUCTURE_SAYS),
        (10, "Values", f'=IF({notice("values as written")}>0,IF(C8&C9="OKOK","ERROR","CHANGED"),"OK")', VALUES_SAYS),
        (11, "Inputs allowed", f'=IF({notice("inputs allowed")}>0,"ERROR","OK")', ALLOWED_SAYS),
    )
    for row, label, formula, says in rows:
        page.put(row, 2, label, "headline")
        page.put(row, 3, Formula(formula), "status", "number")
        page.put(row, 4, says, "line")
    for row in (6, 8, 9, 10, 11):
        add_status_colours(page, f"C{row}")
    page.put(12, 2, _NOTE.format(currency=model.currency), "line")


def _elsewhere(model: Model) -> str:
    """Which scenarios need a file of their own."""
    others = [name for name in model.solution.scenarios if name not in model.scenarios]
    if not others:
        return ""
    named = ", ".join(others[:OTHERS_NAMED]) + (", ... (sheet log)" if len(others) > OTHERS_NAMED else "")
    return f" Not in this file, since they change the structure: {named}. Export each on its own."


def _add_phases(page: Page, model: Model, found: Found, row: int) -> int:
    heads = ("Phase", "Stuck step", "Planned billing", "Billing", "Days late", "Its delay costs, days", "Cancelled")
    for column, head in enumerate(heads, start=2):
        page.put(row, column, head, "number heading" if column > 3 else "heading")
    for phase in model.sheets.keys("phases"):
        row += 1
        items = ("planned billing", "billing", "days late", "cancelled")
        planned, billing, late, cancelled = (cell_of(model, name_of("phases", phase, item)) for item in items)
        step, relief = found.stuck[phase]
        page.put(row, 2, phase, "headline")
        page.put(row, 3, Formula(f"={step}"), "headline")
        page.put(row, 4, Formula(f"={planned}"), "link", "date")
        page.put(row, 5, Formula(f"={billing}"), "key link", "date")
        page.put(row, 6, Formula(f"=IF({cancelled}>0,0,{late})"), "key link", "number")
        page.put(row, 7, Formula(f"={relief}"), "link", "number")
        page.put(row, 8, Formula(f"={cancelled}"), "link", "flag")
        alone = f'=IF(AND(C{row}<>"none",G{row}<=0),"{NO_RELIEF}","-")'
        page.put(row, 9, Formula(alone), "formula")
    return row


def _add_waiting(page: Page, model: Model, found: Found, row: int) -> int:
    """The answer: how much is unpaid at worst, when and to whom; and who waits longest, compared with base."""
    worst = found.worst
    page.put(row, 2, "Most unpaid at one time", "headline")
    whom = f'=IF({worst.date}>0,"to all together","nothing is unpaid at the end of any period")'
    page.put(row, 3, Formula(whom), "headline")
    page.put(row, 4, Formula(f"={worst.amount}"), "key link", "money")
    page.put(row, 5, Formula(f"={worst.period}"), "text link", "month" if model.is_monthly else "general")
    page.put(row, 6, "all that is unpaid at the end of that period, in which it is most", "line")
    row += 1
    page.put(row, 2, "Most of it is owed to", "headline")
    page.put(row, 3, Formula(f"={worst.owed}"), "headline")
    page.put(row, 4, Formula(f"={worst.part}"), "key link", "money")
    page.put(row, 5, "how much of it that is", "line")
    first = row + 5  # of the parties' table, which stands below
    last = first + len(model.sheets.keys("parties")) - 1
    later, never = f"$G${first}:$G${last}", f"$H${first}:$H${last}"
    waits = f'IF(MAX({later})>0,INDEX($B${first}:$B${last},MATCH(MAX({later}),{later},0)),"{NOBODY_WAITS}")'
    unpaid = f'IF(SUM({never})>0,INDEX($B${first}:$B${last},MATCH(1,{never},0)),"nobody")'
    rows = (
        ("Who waits longest", waits, f"MAX({later})", WAITS_SAYS),
        ("Never half paid", unpaid, f"SUM({never})", NEVER_SAYS),
    )
    for place, (label, name, number, says) in enumerate(rows, start=row + 1):
        page.put(place, 2, label, "headline")
        page.put(place, 3, Formula(f'=IF({STALE}>0,"{CANNOT_COMPARE}",{name})'), "headline")
        page.put(place, 4, Formula(f'=IF({STALE}>0,"{UNKNOWN}",{number})'), "key link", "number")
        page.put(place, 5, says, "line")
    return row + len(rows)


def _add_parties(page: Page, model: Model, results: Rows, row: int) -> int:
    """Who is paid, when and how much: one row for each party in the order of the chain."""
    heads = ("Party", "Role", "First paid", "Half paid", "Last paid", "Half paid later than base as exported, quarters",
             "Never half paid, and base as exported is", "Due", "Paid", "Unpaid at the end", "Most unpaid",
             "At the end of")  # fmt: skip
    for column, head in enumerate(heads, start=2):
        page.put(row, column, head, "number heading" if column > 3 else "heading")
    page.heights[row] = 48.0
    labels = ("first paid", "half paid", "last paid", "half paid later than base", "never half paid", "due", "paid",
              "unpaid at the end", "most unpaid", "most unpaid at the end of")  # fmt: skip
    formats = ("date or none", "date or none", "date or none", "number", "flag", "money", "money", "money", "money",
               "date or none")  # fmt: skip
    for party in model.sheets.keys("parties"):
        row += 1
        page.put(row, 2, party, "key")
        page.put(row, 3, str(model.sheets.cell("parties", party, "role")), "line")
        for column, (label, number_format) in enumerate(zip(labels, formats, strict=True), start=4):
            cell = f"results!${get_column_letter(LIVE)}${results.of(f'{label} {party}')}"
            page.put(row, column, Formula(f"={cell}"), "link", number_format)
    return row


def _add_debt(page: Page, model: Model, results: Rows, row: int) -> int:
    """What each facility lent, what is outstanding at the end, and how thin its cover becomes while it bills."""
    heads = ("Facility", "Lender", "Drawn", "Balance at the end", "Lowest DSCR", "At the end of")
    for column, head in enumerate(heads, start=2):
        page.put(row, column, head, "number heading" if column > 3 else "heading")
    page.put(row, 8, DSCR_SAYS, "line")
    labels = {"drawn": "money", "balance at the end": "money", "lowest DSCR": "multiple or none",
              "lowest DSCR at the end of": "date or none"}  # fmt: skip
    for facility in model.sheets.keys("facilities"):
        row += 1
        page.put(row, 2, facility, "key")
        page.put(row, 3, str(model.sheets.cell("facilities", facility, "lender")), "line")
        for column, (label, number_format) in enumerate(labels.items(), start=4):
            cell = f"results!${get_column_letter(LIVE)}${results.of(f'{label} {facility}')}"
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
