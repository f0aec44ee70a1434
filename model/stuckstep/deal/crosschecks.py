"""The checks between cells: each takes a view of one scenario and a row, and says what is wrong there."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from stuckstep.deal import cells, layout
from stuckstep.deal.records import Cell, Place, Value
from stuckstep.deal.scenarios import BASE
from stuckstep.deal.view import Check, NotJudged, Problem, View, listed, said

ONCE_BASES = ("usd", "usd_per_rack", "usd_per_gpu", "usd_per_mw")
DAILY_BASES = ("usd_per_kw_month", "usd_per_mw_year", "usd_per_gpu_hour", "usd_per_mwh", "usd_per_year")
# Where the places of the claims that facilities and contracts make are written.
MADE_CLAIMS = {
    "fee": ("facilities", "fee_from"),
    "interest": ("facilities", "interest_from"),
    "principal": ("facilities", "principal_from"),
    "refund": ("contracts", "refund_from"),
}


def reference_check(column: layout.Column) -> Check:
    """A check that every name in a column is known."""
    words = ("order", "billing") if column.type == "trigger" else column.words

    def known_names(view: View, row: str) -> Iterator[Problem]:
        given = _names_in(view.get(column.table, row, column.column))
        if not given:
            return
        names = tuple(name for source in column.sources for name in view.names(source))
        for name in given:
            if name in words or name in names:
                continue
            where = f"in {' or '.join(said(column.sources))}"
            allowed = listed(names, column.sources, words)
            if column.type == "trigger":
                where, allowed = "order, billing, a step or a date", cells.allowed(column)
            wrong = f"'{name}' is not {where}{layout.nearest(name, (*names, *words))}"
            yield Problem(Cell(column.table, row, column.column), wrong, allowed)

    return known_names


def _names_in(value: Value) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return tuple(part.account if isinstance(part, Place) else part for part in value)
    return (value,) if isinstance(value, str) else ()


def place_check(column: layout.Column) -> Check:
    """A check that places stand in the order of the accounts table, each account once."""

    def places_in_order(view: View, row: str) -> Iterator[Problem]:
        accounts = [place.account for place in view.places(column.table, row, column.column)]
        for place, (first, second) in enumerate(pairwise(accounts), 1):
            if second in accounts[:place]:
                wrong = f"account {second} stands there twice"
            elif view.rank(second) < view.rank(first):
                wrong = f"{second} stands after {first} but is settled before it"
            else:
                continue
            yield Problem(Cell(column.table, row, column.column), wrong, cells.allowed(column))

    return places_in_order


def start_of_quarter(view: View, item: str) -> Iterator[Problem]:
    """The model starts on the first day of a quarter."""
    if item != "start":
        return
    start = view.get("deal", item, "value")
    if isinstance(start, datetime.date) and (start.day != 1 or start.month % 3 != 1):
        allowed = "the first day of January, April, July or October is allowed"
        yield Problem(Cell("deal", item, "value"), f"{start} is not the first day of a quarter", allowed)


def own_name(view: View, account: str) -> Iterator[Problem]:
    """Accounts and parties share no name: a payee must be one or the other."""
    if account in view.names("parties"):
        wrong = f"'{account}' is the name of a party"
        yield Problem(Cell("accounts", account, "account"), wrong, "a name that no party has is allowed")


def not_made(view: View, claim: str) -> Iterator[Problem]:
    """No claim has the name of one that a facility or contract makes."""
    owner, _, suffix = claim.rpartition(".")
    table = MADE_CLAIMS.get(suffix, ("", ""))[0]
    if table and owner in view.names(table):
        wrong = f"'{claim}' is the name of a claim that {owner} of {table} makes"
        yield Problem(Cell("claims", claim, "claim"), wrong, "another name is allowed")


def no_circle(view: View, step: str) -> Iterator[Problem]:
    """No step waits for itself, in any phase. Said once for a circle, at its first step."""
    names = view.sheets.keys("steps")
    if step != names[0]:
        return
    narrowed = {cell.row.partition("@")[2] for cell in view.sheets.index.narrowed if cell.column == "after"}
    for phase in (None, *sorted(narrowed)):
        after = {name: _names_in(_after(view, name, phase)) for name in names}
        while circle := _circle(after):
            cell = view.sheets.find("steps", circle[0], "after", phase)
            wrong = f"{circle[0]} waits for itself: {' after '.join((*circle, circle[0]))}"
            yield Problem(cell, wrong, "steps that do not wait for one another are allowed")
            for name in circle:
                after[name] = ()


def _after(view: View, step: str, phase: str | None) -> Value:
    try:
        return view.get("steps", step, "after", phase)
    except NotJudged:
        return None


def _circle(after: Mapping[str, Sequence[str]]) -> list[str]:
    """The steps of one circle, from its first step back along `after`; empty when there is none."""
    left = dict(after)
    while free := [step for step, before in left.items() if not any(other in left for other in before)]:
        for step in free:
            del left[step]
    if not left:
        return []
    walk = [next(iter(left))]
    while walk[-1] not in walk[:-1]:
        walk.append(next(other for other in left[walk[-1]] if other in left))
    circle = walk[walk.index(walk[-1]) : -1]
    first = min(range(len(circle)), key=lambda place: list(after).index(circle[place]))
    return circle[first:] + circle[:first]


def not_empty(view: View, phase: str) -> Iterator[Problem]:
    """A phase has racks or MW."""
    if view.get("phases", phase, "racks") == 0 and view.get("phases", phase, "mw") == 0:
        wrong = f"phase {phase} is empty: it has no racks and no mw"
        yield Problem(Cell("phases", phase, "racks"), wrong, "racks or mw above 0 are allowed")


def basis_of_kind(view: View, claim: str) -> Iterator[Problem]:
    """Once claims have a basis per thing, recurring ones per day; a claim of the whole deal has no quantity."""
    kind, basis = view.kind(claim), view.get("claims", claim, "basis")
    if kind == "residual" or basis is None:
        return
    bases: tuple[str, ...] = ONCE_BASES if kind == "once" else DAILY_BASES
    what = f"a {kind} claim"
    if view.get("claims", claim, "phase") == ("deal",):
        bases, what = (bases[:1] if kind == "once" else bases[-1:]), f"{what} of the whole deal"
    if basis not in bases:
        allowed = f"{', '.join(bases)} {'is' if len(bases) == 1 else 'are'} allowed"
        yield Problem(Cell("claims", claim, "basis"), f"{basis} is no basis of {what}", allowed)


def amount_given(view: View, claim: str) -> Iterator[Problem]:
    """A claim that is not a residual has a basis and a rate."""
    kind = view.kind(claim)
    for column in ("basis", "rate") if kind != "residual" else ():
        if view.get("claims", claim, column) is None:
            schemed = layout.columns("claims")[column]
            allowed = f"{cells.wanted(schemed)} is required"
            yield Problem(Cell("claims", claim, column), f"the cell is blank and the claim is {kind}", allowed)


def residual_only(view: View, claim: str) -> Iterator[Problem]:
    """Only a residual has a lockup, and it belongs to no phase."""
    residual = view.kind(claim) == "residual"
    lockup, phase = view.get("claims", claim, "lockup"), view.get("claims", claim, "phase")
    if lockup is not None and not residual:
        yield Problem(Cell("claims", claim, "lockup"), "only a residual has a lockup", "a blank cell is allowed")
    if phase not in (None, ("deal",)) and residual:
        yield Problem(Cell("claims", claim, "phase"), "a residual belongs to no phase", "blank or deal is allowed")


def idle_columns(view: View, claim: str) -> Iterator[Problem]:
    """What a kind of claim makes no use of is blank or has no effect."""
    kind = view.kind(claim)
    idle: dict[str, float | None] = {"term_days": None, "escalator": 0.0}
    if kind == "residual":
        idle |= {"basis": None, "rate": None, "share": 1.0, "net_days": 0.0, "late_rate": 0.0}
    for column, neutral in idle.items() if kind != "recurring" else ():
        value = view.get("claims", claim, column)
        if value != neutral:
            allowed = "a blank cell is allowed" if neutral is None else f"blank or {neutral:g} is allowed"
            wrong = f"{cells.to_text(value)} has no use: a {kind} claim has no {column}"
            yield Problem(Cell("claims", claim, column), wrong, allowed)


def later_payee(view: View, claim: str) -> Iterator[Problem]:
    """An account that is paid is settled after every account that pays it."""
    payee = view.get("claims", claim, "payee")
    if payee not in view.names("accounts") or payee in view.names("parties"):
        return
    for place in view.places("claims", claim, "paid_from"):
        if view.rank(place.account) >= view.rank(payee):
            wrong = f"account {payee} is paid from {place.account}, which is not settled before it"
            yield Problem(Cell("claims", claim, "payee"), wrong, "a party or a later account is allowed")
            return


def lockup_paid(view: View, claim: str) -> Iterator[Problem]:
    """A residual has nothing to be paid in full, so it locks nothing."""
    for name in _names_in(view.get("claims", claim, "lockup")):
        if name in view.names("claims") and view.kind(name) == "residual":
            wrong = f"{name} is a residual, always paid in full"
            yield Problem(Cell("claims", claim, "lockup"), wrong, "once and recurring claims are allowed")


def eligible_once(view: View, facility: str) -> Iterator[Problem]:
    """A facility lends against once claims."""
    for name in _names_in(view.get("facilities", facility, "eligible")):
        if name in view.names("claims") and (kind := view.get("claims", name, "kind")) != "once":
            wrong = f"{name} is a {kind} claim"
            yield Problem(Cell("facilities", facility, "eligible"), wrong, "once claims are allowed")


def after_own_account(view: View, facility: str) -> Iterator[Problem]:
    """Fee and interest depend on the draw, so no account settled before the facility's own can pay them."""
    own = view.get("facilities", facility, "account")
    for column in ("fee_from", "interest_from"):
        for place in view.places("facilities", facility, column):
            if view.rank(place.account) < view.rank(own):
                wrong = f"{place.account} is settled before the facility's own account {own}"
                allowed = f"{own} and later accounts are allowed"
                yield Problem(Cell("facilities", facility, column), wrong, allowed)


def opening_within(view: View, facility: str) -> Iterator[Problem]:
    """What is outstanding at the start lies within the commitment."""
    opening, commitment = (view.get("facilities", facility, name) for name in ("opening_balance", "commitment"))
    if isinstance(opening, float) and isinstance(commitment, float) and opening > commitment:
        wrong = f"{cells.to_text(opening)} is above the commitment {cells.to_text(commitment)}"
        yield Problem(
            Cell("facilities", facility, "opening_balance"), wrong, "an amount within the commitment is allowed"
        )


def rate_not_negative(view: View, facility: str) -> Iterator[Problem]:
    """No loan bears less than nothing: interest is a claim, and no claim is below zero."""
    if _rate(view, facility) < 0:
        wrong = f"max(base_rate, floor) + margin is {cells.number_text(_rate(view, facility))}, below 0"
        yield Problem(Cell("facilities", facility, "margin"), wrong, "a rate of 0 or more is allowed")


def base_rate_not_negative(view: View, item: str) -> Iterator[Problem]:
    """The same, where a scenario changes the base rate: no facility's row is changed then."""
    if item == "base_rate" and view.sheets.scenarios[0] != BASE:
        for facility in view.names("facilities"):
            if _rate(view, facility) < 0:
                wrong = f"the rate of {facility} becomes {cells.number_text(_rate(view, facility))}, below 0"
                yield Problem(Cell("deal", item, "value"), wrong, "a rate of 0 or more is allowed")


def _rate(view: View, facility: str) -> float:
    base = view.get("deal", "base_rate", "value")
    floor, margin = (view.get("facilities", facility, name) for name in ("floor", "margin"))
    known = isinstance(base, float) and isinstance(floor, float) and isinstance(margin, float)
    return cells.exact(max(base, floor) + margin) if known else 0.0  # type: ignore[type-var, operator, arg-type]


def covered_here(view: View, support: str) -> Iterator[Problem]:
    """A support covers claims that are placed in its account and are no residual."""
    account = view.get("supports", support, "account")
    cell = Cell("supports", support, "covers")
    for name in _names_in(view.get("supports", support, "covers")):
        made = name not in view.names("claims")
        owner, _, suffix = name.rpartition(".")
        table, column = MADE_CLAIMS.get(suffix, ("", "")) if made else ("claims", "paid_from")
        owner = owner if made else name
        if not table or owner not in view.names(table):
            continue
        if not made and view.kind(name) == "residual":
            yield Problem(cell, f"{name} is a residual", "once and recurring claims are allowed")
        elif account not in [place.account for place in view.places(table, owner, column)]:
            yield Problem(cell, f"{name} is not placed in {account}", f"claims placed in {account} are allowed")


def _references() -> dict[str, list[Check]]:
    """The checks of names and places, by table, from the schema."""
    found: dict[str, list[Check]] = {}
    for column in layout.schema():
        if column.sources and column.type != "choice":
            found.setdefault(column.table, []).append(reference_check(column))
        if column.type == "places":
            found[column.table].append(place_check(column))
    return found


# Checks of names, choices and blanks: one scenario of each structure stands for all.
STRUCTURE: dict[str, list[Check]] = _references()
_AMONG_ROWS: dict[str, list[Check]] = {
    "deal": [start_of_quarter],
    "accounts": [own_name],
    "steps": [no_circle],
    "claims": [not_made, amount_given, basis_of_kind, residual_only, later_payee, lockup_paid],
    "facilities": [eligible_once, after_own_account],
    "supports": [covered_here],
}
for _table, _checks in _AMONG_ROWS.items():
    STRUCTURE.setdefault(_table, []).extend(_checks)
# Checks of numbers, made in every scenario for each row that it changes.
NUMBERS: dict[str, list[Check]] = {
    "deal": [base_rate_not_negative],
    "phases": [not_empty],
    "claims": [idle_columns],
    "facilities": [opening_within, rate_not_negative],
}
