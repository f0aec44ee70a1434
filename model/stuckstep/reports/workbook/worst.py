"""Live rows beside the lines: how much is unpaid at worst, when and to whom; how thin a facility's cover becomes."""

from collections.abc import Mapping
from typing import NamedTuple

from openpyxl.utils import get_column_letter

from stuckstep.engines import excel
from stuckstep.engines.excel import Formula
from stuckstep.rules import all_claims
from stuckstep.rules.lines import name_of

from .grid import CONSTANT, HEADS_ROW
from .model import Model
from .pages import Page
from .summaries import cell_of, constant, next_block, put_constant, put_label

_D = get_column_letter(CONSTANT)
HIGHEST_SHOWN = 5.0  # DSCR that a chart draws; what is higher stands there


class Worst(NamedTuple):
    """The cells with the most that is unpaid at one time and the last day of the first such period; of the whole deal
    also who is owed most of it then, that period, and how much of it is that payee's."""

    amount: str
    date: str
    owed: str = ""
    period: str = ""
    part: str = ""


class Cover(NamedTuple):
    """The cells of a facility's lowest DSCR and its date, and, {} for a period's letter, what a chart draws of it."""

    lowest: str
    date: str
    drawn: str


def owed_lines(model: Model) -> Mapping[str, tuple[str, ...]]:
    """For each party that anything falls due to, and each account that claims money, the lines of what is unpaid."""
    parties = model.sheets.keys("parties")
    lines = {party: name_of("parties", party, "unpaid") for party in parties}
    owed = {party: (line,) for party, line in lines.items() if model.lines[line].kind != "static"}
    for claim in all_claims(model.sheets):
        if claim.kind != "residual" and claim.payee not in parties:
            owed[claim.payee] = (*owed.get(claim.payee, ()), name_of("claims", claim.name, "unpaid"))
    return owed


def add_worst(page: Page, model: Model) -> Worst:
    """Most that is unpaid at a period's end in the whole deal, and who is owed most of it then."""
    most = next_block(page, "most unpaid · the whole deal")
    position, date, period, listed = range(most + 1, most + 5)
    unpaid, is_owed = _along(page, model, name_of("checks", "deal", "unpaid")), f"{_half_cent(model)}<={_D}{most}"
    says = "most that is unpaid in the whole deal at the end of a period"
    put_constant(page, most, "most unpaid", says, model.currency, Formula(f"=MAX({unpaid})"), key=True, shown="money")
    found = Formula(f"=MATCH({_D}{most},{unpaid},0)")
    put_constant(page, position, "position", "number of the first such period", "number", found)
    ended = Formula(f"=IF({is_owed},INDEX({_row(model, excel.NEXT_FIRST_DAY_ROW)},{_D}{position})-1,0)")
    put_constant(page, date, "date", "last day of that period", "date", ended, shown="date or none")
    named = Formula(f'=IF({is_owed},INDEX({_row(model, HEADS_ROW)},{_D}{position}),"never")')
    put_constant(
        page, period, "period", "that period", "period", named, shown="month" if model.is_monthly else "general"
    )
    row = listed
    for payee, lines in owed_lines(model).items():
        cells = "+".join(f"INDEX({_along(page, model, line)},{_D}{position})" for line in lines)
        says = f"what is owed to {payee} then"
        row = put_constant(page, row, payee, says, model.currency, Formula(f"={cells}"), shown="money")
    owed, names = f"{_D}{listed}:{_D}{row - 1}", f"$A${listed}:$A${row - 1}"
    payee = Formula(f'=IF({is_owed},INDEX({names},MATCH(MAX({owed}),{owed},0)),"nobody")')
    put_constant(page, row, "owed most", "who is owed most of it", "payee", payee, key=True)
    part = Formula(f"=MAX({owed})")
    put_constant(page, row + 1, "owed to it", "how much of it that is", model.currency, part, shown="money")
    return Worst(*(f"{page.name}!${_D}${cell}" for cell in (most, date, row, period, row + 1)))


def add_worst_by_party(page: Page, model: Model) -> Mapping[str, Worst]:
    """The same for each party by itself."""
    row, found = next_block(page, "most unpaid · each party"), {}
    for party in model.sheets.keys("parties"):
        line = name_of("parties", party, "unpaid")
        is_static = model.lines[line].kind == "static"
        unpaid = cell_of(model, line, page.name) if is_static else _along(page, model, line)
        says = f"most that is unpaid to {party} at the end of a period"
        put_constant(page, row, party, says, model.currency, Formula(f"=MAX({unpaid})"), shown="money")
        ended = f"INDEX({_row(model, excel.NEXT_FIRST_DAY_ROW)},MATCH({_D}{row},{unpaid},0))-1"
        says = f"last day of the first period in which so much is unpaid to {party}"
        date = Formula(f"=IF({_half_cent(model)}<={_D}{row},{ended},0)")
        put_constant(page, row + 1, f"{party}: date", says, "date", date, shown="date or none")
        found[party] = Worst(f"{page.name}!${_D}${row}", f"{page.name}!${_D}${row + 1}")
        row += 2
    return found


def add_covers(page: Page, model: Model) -> Mapping[str, Cover]:
    """For each facility its DSCR where an instalment falls due: before the first, equity and draws pay the interest."""
    return {facility: _add_cover(page, model, facility) for facility in model.sheets.keys("facilities")}


def _add_cover(page: Page, model: Model, facility: str) -> Cover:
    is_tested = next_block(page, f"dscr where an instalment falls due · {facility}")
    tested, drawn, lowest, date = range(is_tested + 1, is_tested + 5)
    put_label(page, is_tested, "is tested", f"whether an instalment of {facility} falls due", "flag")
    put_label(page, tested, "dscr tested", f"dscr of {facility} in those periods, none in others", "x")
    says = "what the chart draws: not below 0, not above the constant, and -1, below the axis, where there is none"
    put_label(page, drawn, "dscr drawn", says, "x")
    page.put(drawn, CONSTANT, HIGHEST_SHOWN, "value", "multiple")
    never = constant(model, "never")
    dscr = model.layout.lines[name_of("facilities", facility, "dscr")].row
    principal = model.layout.lines[name_of("claims", f"{facility}.principal", "due")]
    for column in model.period_columns():
        here = get_column_letter(column)
        instalment = f"{principal.sheet}!{here}{principal.row}"
        page.put(is_tested, column, Formula(f"=IF({_half_cent(model)}<={instalment},1,0)"), "link", "flag")
        ratio = Formula(f"=IF({here}{is_tested}>0,{here}{dscr},{never})")
        page.put(tested, column, ratio, "link", "multiple or none")
        shown = f"MAX(0,MIN({here}{tested},${_D}{drawn}))"
        page.put(drawn, column, Formula(f"=IF({here}{is_tested}>0,{shown},-1)"), "formula", "multiple drawn")
    row = _row(model, tested)
    says, least = f"the lowest dscr of {facility} in those periods", Formula(f"=MIN({row})")
    put_constant(page, lowest, "lowest dscr", says, "x", least, key=True, shown="multiple or none")
    ended = f"INDEX({_row(model, excel.NEXT_FIRST_DAY_ROW)},MATCH({_D}{lowest},{row},0))-1"
    says = "last day of the first period in which it is so low"
    put_constant(
        page, date, "date", says, "date", Formula(f"=IF({_D}{lowest}<{never},{ended},0)"), shown="date or none"
    )
    return Cover(f"{page.name}!${_D}${lowest}", f"{page.name}!${_D}${date}", f"{page.name}!{{}}{drawn}")


def _half_cent(model: Model) -> str:
    return constant(model, "half_cent")


def _row(model: Model, row: int) -> str:
    """A row of a time sheet along all periods."""
    return f"${get_column_letter(excel.FIRST_PERIOD)}${row}:${get_column_letter(model.layout.last_column)}${row}"


def _along(page: Page, model: Model, line: str) -> str:
    """A line along all periods."""
    address = model.layout.lines[line]
    return f"{'' if address.sheet == page.name else f'{address.sheet}!'}{_row(model, address.row)}"
