"""Live rows beside the lines: which step is stuck, and when each party is first, half and last paid."""

from collections.abc import Mapping
from typing import NamedTuple

from openpyxl.utils import get_column_letter

from stuckstep.engines import excel
from stuckstep.engines.excel import Formula
from stuckstep.rules.lines import name_of

from .grid import BEFORE, CONSTANT, LABEL, SAYS, TOTAL, UNIT, height_of
from .model import Model
from .pages import Page

_D, _E = get_column_letter(CONSTANT), get_column_letter(TOTAL)


class Stuck(NamedTuple):
    """The cells that hold a phase's stuck step and the days its delay costs."""

    step: str
    relief: str


class Dates(NamedTuple):
    """The cells that hold when a party is first, half and last paid: a quarter's last day, or 0."""

    first_paid: str
    half_paid: str
    last_paid: str


def cell_of(model: Model, name: str, sheet: str = "", column: int | None = None) -> str:
    """The cell of a line: its constant when it is static, else the given column (the total by default)."""
    address = model.layout.lines[name]
    if column is None:
        column = TOTAL
    if model.lines[name].kind == "static":
        column = CONSTANT
    prefix = "" if address.sheet == sheet else f"{address.sheet}!"
    return f"{prefix}${get_column_letter(column)}${address.row}"


def constant(model: Model, name: str) -> str:
    return cell_of(model, name_of("constants", name, "value"))


def add_stuck_steps(page: Page, model: Model) -> Mapping[str, Stuck]:
    """For each phase the relief and the delay without float of every step, and the step they point to."""
    return {phase: _add_stuck_step(page, model, phase) for phase in model.sheets.keys("phases")}


def _add_stuck_step(page: Page, model: Model, phase: str) -> Stuck:
    steps = model.sheets.keys("steps")
    row = next_block(page, f"stuck step · {phase}")
    for step in steps:
        relief = Formula(f"={cell_of(model, name_of('steps', step, 'relief', phase), page.name)}")
        row = put_constant(page, row, step, f"days that {phase} would gain without the delay of {step}", "days", relief)
    for step in steps:
        spare = cell_of(model, name_of("steps", step, "float", phase), page.name)
        delay = model.live.live(model.sheets.find("steps", step, "delay", phase))
        formula = Formula(f"=IF({spare}<=0,{delay},0)")
        row = put_constant(page, row, step, f"delay of {step} where it has no float left", "days", formula)
    first, middle, last = row - 2 * len(steps), row - len(steps), row - 1
    reliefs, delays = f"{_D}{first}:{_D}{middle - 1}", f"{_D}{middle}:{_D}{last}"
    most, longest, position = row, row + 1, row + 2
    row = put_constant(page, row, "most relief", "the largest of the reliefs", "days", Formula(f"=MAX({reliefs})"))
    row = put_constant(
        page, row, "longest delay", "the longest delay without float", "days", Formula(f"=MAX({delays})")
    )
    choice = f"=IF({_D}{most}>0,MATCH({_D}{most},{reliefs},0),MATCH({_D}{longest},{delays},0))"
    row = put_constant(page, row, "position", "place of the stuck step in the list of steps", "number", Formula(choice))
    late = cell_of(model, name_of("phases", phase, "days late"), page.name)
    cancelled = cell_of(model, name_of("phases", phase, "cancelled"), page.name)
    is_late = f"AND(MAX({late},{cancelled})>0,MAX({_D}{most},{_D}{longest})>0)"
    names = f"$A${first}:$A${middle - 1}"
    stuck = Formula(f'=IF({is_late},INDEX({names},{_D}{position}),"none")')
    says = "the step with the most relief; where none has any, the longest delay without float"
    put_constant(page, row, "stuck step", says, "step", stuck, key=True)
    return Stuck(f"{page.name}!${_D}${row}", f"{page.name}!${_D}${most}")


def add_payment_dates(page: Page, model: Model) -> Mapping[str, Dates]:
    """For each party the rows that find the quarters in which it is first, half and last paid."""
    row = next_block(page, "quarters")
    says = "last day of the quarter that the period lies in"
    for column in model.period_columns():
        first = f"{get_column_letter(column)}${excel.FIRST_DAY_ROW}"
        end = Formula(f"=DATE(YEAR({first}),INT((MONTH({first})+2)/3)*3+1,1)-1")
        page.put(row, column, end, "formula", "date")
    put_label(page, row, "quarter end", says, "date")
    return {party: _add_party(page, model, party, row) for party in model.sheets.keys("parties")}


def _add_party(page: Page, model: Model, party: str, ends: int) -> Dates:
    paid, due = name_of("parties", party, "paid"), name_of("parties", party, "due")
    half_cent = constant(model, "half_cent")
    top = next_block(page, f"payment dates · {party}")
    quarter, enough, is_paid, first, last, so_far, is_half, half = range(top, top + 8)
    rows = {
        quarter: ("paid in the quarter", f"what {party} is paid from the quarter's start on", "money"),
        enough: ("half of all due", f"half of all that falls due to {party}, less half a cent", "money"),
        is_paid: ("is paid", f"whether anything was paid to {party} in the quarter so far", "flag"),
        first: ("first paid", f"end of the quarter in which {party} is first paid", "date"),
        last: ("last paid", f"end of the last quarter in which {party} was paid", "date"),
        so_far: ("paid so far", f"all that was paid to {party}", "money"),
        is_half: ("is half paid", f"whether half of all that falls due to {party} is paid", "flag"),
        half: ("half paid", f"end of the quarter by which half was paid to {party}", "date"),
    }
    for row, (label, says, unit) in rows.items():
        put_label(page, row, label, says, model.currency if unit == "money" else unit)
    total = cell_of(model, due, page.name)
    page.put(enough, CONSTANT, Formula(f"=MAX({total}/2-{half_cent},{half_cent})"), "link", "money")
    for column in model.period_columns():
        here, before = get_column_letter(column), get_column_letter(column - 1)
        paid_cell = f"{here}{model.layout.lines[paid].row}"
        if model.lines[paid].kind == "static":
            paid_cell = cell_of(model, paid, page.name)
        end = f"{here}${ends}"
        cells = {
            quarter: (f"=IF({before}${ends}={end},{before}{quarter},0)+{paid_cell}", "money"),
            is_paid: (f"=IF({half_cent}<={here}{quarter},1,0)", "flag"),
            first: (f"=IF({before}{first}>0,{before}{first},{here}{is_paid}*{end})", "date"),
            last: (f"=IF({here}{is_paid}>0,{end},{before}{last})", "date"),
            so_far: (f"={before}{so_far}+{paid_cell}", "money"),
            is_half: (f"=IF(${_D}{enough}<={here}{so_far},1,0)*IF({half_cent}<={total},1,0)", "flag"),
            half: (f"=IF({before}{half}>0,{before}{half},{here}{is_half}*{end})", "date"),
        }
        for row, (formula, number_format) in cells.items():
            page.put(row, column, Formula(formula), "link" if "!" in formula else "formula", number_format)
    end_column = get_column_letter(model.layout.last_column)
    return Dates(*(f"{page.name}!${end_column}${row}" for row in (first, half, last)))


def next_block(page: Page, heading: str) -> int:
    """Writes a block's heading below all that stands on the page, and gives the row after it."""
    row = page.size[0] + 2
    page.put(row, LABEL, heading, "block")
    page.fill(row, range(SAYS, BEFORE + 1), "block")
    return row + 1


def put_label(page: Page, row: int, label: str, says: str, unit: str, *, key: bool = False) -> None:
    page.put(row, LABEL, label, "key" if key else "label")
    page.put(row, SAYS, says, "says")
    page.put(row, UNIT, unit, "unit")
    page.heights[row] = height_of(says)


def put_constant(
    page: Page,
    row: int,
    label: str,
    says: str,
    unit: str,
    formula: Formula,
    *,
    key: bool = False,
    shown: str = "number",
) -> int:
    """A row whose formula stands in the constant column; gives the row below it."""
    put_label(page, row, label, says, unit, key=key)
    role = "link" if "!" in formula else "formula"
    page.put(row, CONSTANT, formula, f"key {role}" if key else role, shown)
    return row + 1
