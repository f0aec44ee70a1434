"""The measures of the studies as live formulas: what a run is judged by, read from the model of the chosen scenario.

A measure is folded from the rows of lines, as `studies` folds it from the arrays. One that no plain formula gives (a
rate of return) has none.
"""

from collections.abc import Callable, Mapping, Sequence

from openpyxl.utils import get_column_letter

from stuckstep.engines import excel
from stuckstep.rules import all_claims
from stuckstep.rules.lines import name_of

from .model import Model
from .summaries import Dates, cell_of, constant

NOTHING = '"none"'
_FOLDS: Mapping[str, str] = {"sum": "SUM", "most": "MAX", "least": "MIN"}
_OF_ROWS: Mapping[str, tuple[str, str, str]] = {  # measure: how its row is folded, table and item of the row
    "paid": ("sum", "parties", "paid"),
    "due": ("sum", "parties", "due"),
    "net": ("sum", "parties", "net"),
    "unpaid": ("most", "parties", "unpaid"),
    "unpaid_end": ("end", "parties", "unpaid"),
    "draw": ("sum", "facilities", "draw"),
    "support": ("sum", "supports", "paid"),
    "cash": ("least", "accounts", "closing"),
    "claim_unpaid": ("most", "claims", "unpaid"),
}


def live(model: Model, dates: Mapping[str, Dates], name: str, rate: str) -> str | None:
    """The formula of a measure, without its equals sign; None where there is none. `rate` is the discount rate's cell.

    Text says that there is nothing to measure, such as the date of a payment that is never made.
    """
    what, _, of = name.partition(":")
    if what in ("sum", "most", "least", "end"):
        return _fold(model, what, of)
    if what in _OF_ROWS:
        how, table, item = _OF_ROWS[what]
        return _fold(model, how, name_of(table, of, item))
    if what in Dates._fields:
        cell = getattr(dates[of], what)
        return f"IF({cell}>0,{cell},{NOTHING})"
    make = _OTHERS.get(what)
    return None if make is None else make(model, of, rate)


def row_of(model: Model, name: str) -> str:
    """All periods of a line; of one that is the same in all of them its one cell."""
    if model.lines[name].kind == "static":
        return cell_of(model, name)
    return _periods(model, model.layout.lines[name].sheet, model.layout.lines[name].row)


def _periods(model: Model, sheet: str, row: int) -> str:
    first, last = (get_column_letter(column) for column in (excel.FIRST_PERIOD, model.layout.last_column))
    return f"{sheet}!${first}${row}:${last}${row}"


def _fold(model: Model, how: str, name: str) -> str:
    if how == "end" or model.lines[name].kind == "static":
        return cell_of(model, name, column=model.layout.last_column)
    return f"{_FOLDS[how]}({row_of(model, name)})"


def _days_late(model: Model, of: str, _: str) -> str:
    late, cancelled = (
        ",".join(cell_of(model, name_of("phases", phase, item)) for phase in _phases(model, of))
        for item in ("days late", "cancelled")
    )
    return f"IF(MAX({cancelled})>0,{NOTHING},MAX({late}))"


def _phases(model: Model, of: str) -> Sequence[str]:
    return [of] if of else model.sheets.keys("phases")


def _billing(model: Model, of: str, _: str) -> str:
    cell = cell_of(model, name_of("phases", of or "deal", "billing"))
    return f"IF({cell}<{constant(model, 'never')},{cell},{NOTHING})"


def _funding_gap(model: Model, _: str, __: str) -> str:
    return _fold(model, "most", name_of("checks", "deal", "unpaid"))


def _npv(model: Model, of: str, rate: str) -> str:
    """What a party is paid less what it puts in, discounted from each period's last day to the start."""
    start = f"{excel.TIMELINE}!${get_column_letter(excel.FIRST_PERIOD)}${excel.FIRST_DAY_ROW}"
    ends = _periods(model, excel.TIMELINE, excel.NEXT_FIRST_DAY_ROW)
    net = row_of(model, name_of("parties", of, "net"))
    return f"SUMPRODUCT({net}/(1+{rate})^(({ends}-1-{start})/{constant(model, 'year')}))"


def _dscr(model: Model, of: str, _: str) -> str:
    """The lowest cover of a period in which an instalment falls due."""
    principal = row_of(model, name_of("claims", f"{of}.principal", "due"))
    cover = row_of(model, name_of("facilities", of, "dscr"))
    never, enough = constant(model, "never"), constant(model, "half_cent")
    lowest = f"SUMPRODUCT(MIN({cover}+({principal}<{enough})*{never}))"
    return f"IF(MAX({principal})>={enough},{lowest},{NOTHING})"


def _missed(model: Model, of: str, _: str) -> str:
    """The end of the first quarter that leaves a payment unpaid: the latest when counted back from never."""
    unpaid = "+".join(row_of(model, name_of("claims", f"{of}.{kind}", "unpaid")) for kind in _PAYMENTS)
    never, enough = constant(model, "never"), constant(model, "half_cent")
    days = _periods(model, excel.TIMELINE, excel.FIRST_DAY_ROW)
    back = f"SUMPRODUCT(MAX(({unpaid}>={enough})*({never}-{days})))"
    first = f"({never}-{back})"
    return f"IF({back}>0,DATE(YEAR{first},INT((MONTH{first}+2)/3)*3+1,1)-1,{NOTHING})"


def _blocked(model: Model, of: str, _: str) -> str:
    """Periods in which a residual has begun and one of its lock-ups forbids it."""
    places = next(claim.places for claim in all_claims(model.sheets) if claim.name == of)
    enough, days = constant(model, "half_cent"), _periods(model, excel.TIMELINE, excel.FIRST_DAY_ROW)
    free = "*".join(
        f"({row_of(model, name_of('accounts', place.account, f'{place.rank} {of} lock-up'))}<={enough})"
        for place in places
    )
    starts = cell_of(model, name_of("claims", of, "starts"))
    return f"SUMPRODUCT((1-{free})*({starts}<={days}))"


_PAYMENTS = ("fee", "interest", "principal")
_OTHERS: Mapping[str, Callable[[Model, str, str], str]] = {
    "days_late": _days_late,
    "billing": _billing,
    "funding_gap": _funding_gap,
    "npv": _npv,
    "dscr": _dscr,
    "missed": _missed,
    "blocked": _blocked,
}
