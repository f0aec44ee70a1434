"""What a run is judged by: one number for each run, worked from the lines it keeps.

A measure is named `what`, or `what:of` with a party, facility, claim, phase, account or support; any line will do as
`sum:LINE`, `most:LINE`, `least:LINE` or `end:LINE`. Quarters are positions on the period axis, from 0; nothing is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import Cell, DealError, Fault
from stuckstep.deal.layout import nearest
from stuckstep.deal.records import together
from stuckstep.results.payments import HALF_CENT, first_paid, half_paid, last_paid
from stuckstep.results.returns import irr, npv
from stuckstep.rules import all_claims
from stuckstep.rules.lines import name_of

from .batch import Columns, Model

Array = NDArray[np.float64]
Found = Mapping[str, Array]


@dataclass(frozen=True)
class Measure:
    """A measure of some runs: its name, what it says, its unit, the lines it needs, and how it is worked.

    The unit is the currency, days, date, quarter (a position), 1/year, x or 1. `work` gives (scenario,) of the kept
    lines and the changed cells.
    """

    name: str
    says: str
    unit: str
    lines: tuple[str, ...]
    work: Callable[[Found, Columns], Array]


def measure(model: Model, name: str) -> Measure:
    """The measure of this name for a deal; DealError where there is none, saying what there is."""
    what, _, of = name.strip().partition(":")
    if what in _OF_LINES:
        return _of_line(model, name, what, of)
    if what not in _MAKERS:
        raise _fault(
            name, f"there is no measure '{what}'{nearest(what, _MAKERS)}", f"{', '.join(MEASURES)} are allowed"
        )
    table, says, unit, make = _MAKERS[what]
    names = _names(model, table)
    if of and of not in names:
        raise _fault(name, f"'{of}' is not in {table}{nearest(of, names)}", f"{what}:NAME of {table} is allowed")
    if not of and table not in _WHOLE:
        raise _fault(name, f"{what} of which of {table}?", f"one of {', '.join(f'{what}:{one}' for one in names)}")
    lines, work = make(model, of)
    unit = _currency(model) if unit == "money" else unit
    return Measure(name.strip(), says.format(of or "the deal"), unit, tuple(lines), work)


def measures_of(model: Model, names: Iterable[str]) -> list[Measure]:
    """The measures of these names; DealError with every fault."""
    return together(partial(measure, model, name) for name in names)


def _fault(name: str, wrong: str, allowed: str) -> DealError:
    return DealError([Fault(f"measure {name}", None, None, wrong, allowed)])


def _names(model: Model, table: str) -> tuple[str, ...]:
    if table in ("deal", ""):
        return ()
    if table == "residuals":
        return tuple(claim.name for claim in all_claims(model.sheets) if claim.kind == "residual")
    if table == "claims":  # a residual is never owed
        return tuple(claim.name for claim in all_claims(model.sheets) if claim.kind != "residual")
    return model.sheets.keys(table)


def _currency(model: Model) -> str:
    return str(model.sheets.cell("deal", "currency", "value"))


Made = tuple[Sequence[str], Callable[[Found, Columns], Array]]
_OF_LINES: Mapping[str, Callable[[Array], Array]] = {
    "sum": lambda rows: total(rows),
    "most": lambda rows: rows.max(axis=0),
    "least": lambda rows: rows.min(axis=0),
    "end": lambda rows: rows[-1].copy(),
}


def total(rows: Array) -> Array:
    """The sum over the periods, one after the other: numpy's own sum takes another order for a run alone."""
    out = np.zeros(rows.shape[1:])
    for row in rows:
        out += row
    return out


def _of_line(model: Model, name: str, how: str, line: str) -> Measure:
    if line not in model.lines:
        raise _fault(name, f"there is no line '{line}'{nearest(line, model.lines)}", "the name of a line is allowed")
    said = model.lines[line]
    unit = _currency(model) if said.unit == "money" else said.unit
    fold = _OF_LINES[how]

    def work(found: Found, _: Columns) -> Array:
        rows = found[line]
        return rows.copy() if rows.ndim == 1 else fold(rows)

    words = {"sum": "sum of", "most": "largest", "least": "smallest", "end": "last"}[how]
    return Measure(name, f"{words} {said.says}", unit, (line,), work)


def _series(model: Model, found: Found, line: str) -> Array:
    """A line by period, also one that is the same in all of them, such as a sum of nothing."""
    values = found[line]
    return np.broadcast_to(values, (len(model.periods.labels), *values.shape)) if values.ndim == 1 else values


def _fold(how: str, table: str, item: str) -> Callable[[Model, str], Made]:
    """A measure that folds one line of a row over the periods."""

    def make(model: Model, of: str) -> Made:
        line = name_of(table, of, item)
        return [line], lambda found, _: _OF_LINES[how](_series(model, found, line))

    return make


def _dated(rule: Callable[..., Array], *items: str) -> Callable[[Model, str], Made]:
    """A measure that finds a position in the lines of a party."""

    def make(model: Model, of: str) -> Made:
        lines = [name_of("parties", of, item) for item in items]
        return lines, lambda found, _: rule(*(_series(model, found, line) for line in lines))

    return make


def _phases(model: Model, of: str) -> Sequence[str]:
    return [of] if of else model.sheets.keys("phases")


def _days_late(model: Model, of: str) -> Made:
    """Days the latest phase is late; NaN where one is cancelled."""
    phases = _phases(model, of)
    lines = [name_of("phases", phase, item) for phase in phases for item in ("days late", "cancelled")]

    def work(found: Found, _: Columns) -> Array:
        late = [np.where(found[one] > 0, np.nan, found[days]) for days, one in _pairs(lines)]
        return np.asarray(np.max(late, axis=0))

    return lines, work


def _pairs(lines: Sequence[str]) -> Iterable[tuple[str, str]]:
    return zip(lines[::2], lines[1::2], strict=True)


def _billing(model: Model, of: str) -> Made:
    line = name_of("phases", of or "deal", "billing")
    never = name_of("constants", "never", "value")

    def work(found: Found, _: Columns) -> Array:
        return np.where(found[line] < found[never], found[line], np.nan)

    return [line, never], work


def _unpaid_in_all(model: Model, of: str) -> Made:
    line = name_of("checks", "deal", "unpaid")
    return [line], lambda found, _: np.asarray(_series(model, found, line).max(axis=0))


def _npv(model: Model, of: str) -> Made:
    line = name_of("parties", of, "net")
    rate = Cell("deal", "discount_rate", "value")
    ends, start = model.periods.next_first_day - 1, float(model.periods.first_day[0])

    def work(found: Found, columns: Columns) -> Array:
        return npv(_series(model, found, line), ends, model.input(rate, columns), start)

    return [line], work


def _irr(model: Model, of: str) -> Made:
    line = name_of("parties", of, "net")
    ends = model.periods.next_first_day - 1
    return [line], lambda found, _: irr(_series(model, found, line), ends)[0]


def _dscr(model: Model, of: str) -> Made:
    """The lowest cover of a period in which an instalment falls due, as `run` says it; NaN without any."""
    cfads, service = name_of("facilities", of, "cfads"), name_of("facilities", of, "debt service")
    principal = name_of("claims", f"{of}.principal", "due")

    def work(found: Found, _: Columns) -> Array:
        due = _series(model, found, principal) >= HALF_CENT
        services = np.where(due, _series(model, found, service), 1.0)
        cover = np.where(due, _series(model, found, cfads) / services, np.inf).min(axis=0)
        return np.where(np.isfinite(cover), cover, np.nan)

    return [cfads, service, principal], work


def _missed(model: Model, of: str) -> Made:
    """The first period that leaves fee, interest or principal of a facility unpaid."""
    lines = [name_of("claims", f"{of}.{kind}", "unpaid") for kind in ("fee", "interest", "principal")]

    def work(found: Found, _: Columns) -> Array:
        first, *others = (_series(model, found, line) for line in lines)
        return first_paid(sum(others, first))  # the first period in which there is half a cent of it

    return lines, work


def _blocked(model: Model, of: str) -> Made:
    """Periods in which a residual is due to be paid and its lock-up forbids it."""
    places = next(claim.places for claim in all_claims(model.sheets) if claim.name == of)
    locks = [name_of("accounts", place.account, f"{place.rank} {of} lock-up") for place in places]
    starts = name_of("claims", of, "starts")
    days = model.periods.first_day[:, None]

    def work(found: Found, _: Columns) -> Array:
        locked = np.max([_series(model, found, line) > HALF_CENT for line in locks], axis=0)
        return np.asarray((locked & (found[starts] <= days)).sum(axis=0), dtype=float)

    return [starts, *locks], work


Maker = Callable[[Model, str], Made]
_WHOLE = ("phases", "deal")
# what: the table of the names it takes, what it says, its unit, and what makes it.
_MAKERS: Mapping[str, tuple[str, str, str, Maker]] = {
    "days_late": (
        "phases",
        "days by which billing of {} begins late; nothing where it is cancelled",
        "days",
        _days_late,
    ),
    "billing": ("phases", "when billing of {} begins", "date", _billing),
    "first_paid": ("parties", "period in which {} is first paid", "quarter", _dated(first_paid, "paid")),
    "half_paid": ("parties", "period by which half is paid to {}", "quarter", _dated(half_paid, "paid", "due")),
    "last_paid": ("parties", "period in which {} is last paid", "quarter", _dated(last_paid, "paid")),
    "paid": ("parties", "what is paid to {} in all", "money", _fold("sum", "parties", "paid")),
    "due": ("parties", "what falls due to {} in all", "money", _fold("sum", "parties", "due")),
    "net": ("parties", "what {} is paid less what it puts in, in all", "money", _fold("sum", "parties", "net")),
    "unpaid": (
        "parties",
        "what is unpaid to {} at the worst period's end",
        "money",
        _fold("most", "parties", "unpaid"),
    ),
    "unpaid_end": (
        "parties",
        "what is unpaid to {} at the last period's end",
        "money",
        _fold("end", "parties", "unpaid"),
    ),
    "npv": ("parties", "present value of the flows of {}", "money", _npv),
    "irr": ("parties", "annual effective rate of the flows of {}", "1/year", _irr),
    "dscr": ("facilities", "lowest debt service cover of {} where an instalment falls due", "x", _dscr),
    "missed": ("facilities", "first period that leaves a payment on {} unpaid", "quarter", _missed),
    "draw": ("facilities", "what is drawn of {} in all", "money", _fold("sum", "facilities", "draw")),
    "support": ("supports", "what {} pays in all", "money", _fold("sum", "supports", "paid")),
    "cash": ("accounts", "lowest cash of {} at a period's end", "money", _fold("least", "accounts", "closing")),
    "claim_unpaid": (
        "claims",
        "what is unpaid of {} at the worst period's end",
        "money",
        _fold("most", "claims", "unpaid"),
    ),
    "blocked": ("residuals", "periods in which {} has begun and is locked up", "periods", _blocked),
    "funding_gap": ("deal", "what is unpaid in {} at the worst period's end", "money", _unpaid_in_all),
}
MEASURES: tuple[str, ...] = (
    *(what if table in _WHOLE else f"{what}:NAME" for what, (table, *_) in _MAKERS.items()),
    *(f"{how}:LINE" for how in _OF_LINES),
)
