"""Facilities: what may be drawn, what is drawn, and the fee, interest and principal that follow."""

from stuckstep.deal import Place, Sheets

from .claims import Claim, claim_phases, say_claimed
from .constants import constant
from .expression import (
    DAYS,
    FIRST_DAY,
    NEXT_FIRST_DAY,
    ONE,
    ZERO,
    Node,
    below,
    choose,
    last,
    least,
    month,
    most,
    ratio,
    total,
    upto,
    whole,
)
from .inputs import DEAL, amount, event, is_blank, listed, trigger
from .lines import Lines, name_of

BEFORE_DRAW = "claimed before draw"


def add_facilities(lines: Lines, sheets: Sheets) -> None:
    """All that depends on no cash: the window, the borrowing base, the rate, the instalments."""
    for facility in sheets.keys("facilities"):
        _add_window(lines, sheets, facility)
        _add_limit(lines, sheets, facility)
        _add_rates(lines, sheets, facility)
        _add_instalments(lines, sheets, facility)


def is_open(lines: Lines, sheets: Sheets, table: str, row: str) -> Node:
    """1 while from <= first day < until; a blank end of a facility's window is its first repayment."""
    after = [upto(date, FIRST_DAY) for date in [window_from(lines, sheets, table, row)] if date is not None]
    before = [below(FIRST_DAY, date) for date in [window_until(lines, sheets, table, row)] if date is not None]
    flag = ONE
    for condition in (*after, *before):
        flag = condition if flag is ONE else flag * condition
    return flag


def window_from(lines: Lines, sheets: Sheets, table: str, row: str) -> Node | None:
    if is_blank(sheets, table, row, "available_from"):
        return None
    return trigger(sheets, lines, table, row, "available_from", DEAL)


def window_until(lines: Lines, sheets: Sheets, table: str, row: str) -> Node | None:
    if not is_blank(sheets, table, row, "available_until"):
        return trigger(sheets, lines, table, row, "available_until", DEAL)
    return trigger(sheets, lines, table, row, "first_repayment", DEAL) if table == "facilities" else None


def _add_window(lines: Lines, sheets: Sheets, facility: str) -> None:
    closes = window_until(lines, sheets, "facilities", facility)
    assert closes is not None  # a blank end is the first repayment
    closes = lines.add(
        "facilities", facility, "window closes", "date", f"when {facility} can no longer be drawn", closes
    )
    flag = is_open(lines, sheets, "facilities", facility)
    lines.add("facilities", facility, "open", "flag", f"whether {facility} can be drawn in the period", flag)
    start = window_from(lines, sheets, "facilities", facility)
    first = FIRST_DAY if start is None else most(FIRST_DAY, start)
    inside = most(ZERO, least(NEXT_FIRST_DAY, closes) - first)
    says = f"days of the period inside the draw window of {facility}"
    lines.add("facilities", facility, "window days", "days", says, inside)


def _add_limit(lines: Lines, sheets: Sheets, facility: str) -> None:
    """The borrowing base: eligible cost, each on the day it first counts, times the advance rate."""
    eligible = []
    for claim in listed(sheets, "facilities", facility, "eligible") or ():
        parts = [_eligible(lines, sheets, facility, claim, phase) for phase in claim_phases(sheets, claim)]
        says = f"cost of {claim} that counts for {facility} by the period's end"
        eligible.append(lines.add("facilities", facility, f"eligible {claim}", "money", says, total(parts)))
    says = f"cost that counts for {facility} by the period's end"
    cost = lines.add("facilities", facility, "eligible", "money", says, total(eligible))
    opening = amount(sheets, "facilities", facility, "opening_balance")
    base = opening + amount(sheets, "facilities", facility, "advance_rate") * cost
    limit = least(amount(sheets, "facilities", facility, "commitment"), base)
    says = f"the most that can have been drawn of {facility} by the period's end"
    lines.add("facilities", facility, "limit", "money", says, limit)


def _eligible(lines: Lines, sheets: Sheets, facility: str, claim: str, phase: str) -> Node:
    dates = [lines.at("claims", claim, "due date", phase)]
    condition = sheets.cell("facilities", facility, "condition")
    if condition is not None:
        dates.append(event(lines, str(condition), phase))
    start = window_from(lines, sheets, "facilities", facility)
    if start is not None:
        dates.append(start)
    says = f"when {claim} in {phase} first counts for {facility}"
    counts_on = lines.add("facilities", facility, f"{claim} counts on", "date", says, most(*dates), phase=phase)
    end = least(NEXT_FIRST_DAY, lines.at("facilities", facility, "window closes"))
    return lines.at("claims", claim, "amount", phase) * below(counts_on, end)


def _add_rates(lines: Lines, sheets: Sheets, facility: str) -> None:
    base = amount(sheets, "deal", "base_rate", "value")
    rate = most(base, amount(sheets, "facilities", facility, "floor")) + amount(
        sheets, "facilities", facility, "margin"
    )
    rate = lines.add("facilities", facility, "rate", "1/year", f"interest rate of {facility}", rate)
    overdue = rate + amount(sheets, "facilities", facility, "default_margin")
    lines.add("facilities", facility, "overdue rate", "1/year", f"rate on what is overdue of {facility}", overdue)


def _add_instalments(lines: Lines, sheets: Sheets, facility: str) -> None:
    """Periods begin on the first of a month, so the months alone tell how many instalment dates lie before a day."""
    first = month(trigger(sheets, lines, "facilities", facility, "first_repayment", DEAL))
    says = f"month of the first instalment of {facility}"
    first = lines.add("facilities", facility, "first month", "month", says, first)
    every = amount(sheets, "facilities", facility, "repay_every_months")
    count = amount(sheets, "facilities", facility, "instalments")

    def dates_before(day: Node) -> Node:
        return most(ZERO, least(count, whole((month(day) - first + every - ONE) / every)))

    says = f"instalment dates of {facility} before the period"
    before = lines.add("facilities", facility, "dates before", "number", says, dates_before(FIRST_DAY))
    here = dates_before(NEXT_FIRST_DAY) - before
    here = lines.add(
        "facilities", facility, "dates here", "number", f"instalment dates of {facility} in the period", here
    )
    share = choose(upto(count, before), ONE, ratio(here, count - before))
    says = f"share of what is not yet due of {facility} that falls due in the period"
    lines.add("facilities", facility, "instalment share", "share", says, share)


def add_debt_before_draw(lines: Lines, sheets: Sheets) -> None:
    """The opening of each facility's corkscrew, and what is claimed on it before anything is drawn in the period."""
    for facility in sheets.keys("facilities"):
        _add_opening(lines, facility)
        _add_late(lines, facility)
        _add_principal(lines, facility)
        _add_before_draw(lines, sheets, facility)


def _add_opening(lines: Lines, facility: str) -> None:
    for item, what in (("balance", "outstanding"), ("drawn", "drawn in all"), ("fallen due", "fallen due in all")):
        before = last(name_of("facilities", facility, item))
        lines.add("facilities", facility, f"{item} before", "money", f"{what} of {facility} before the period", before)


def _add_late(lines: Lines, facility: str) -> None:
    """Overdue interest and fees bear the overdue rate, overdue principal the default margin on top of its interest."""
    money_year = constant(lines, "money_year")
    overdue = lines.at("facilities", facility, "overdue rate")
    margin = overdue - lines.at("facilities", facility, "rate")
    unpaid = {
        kind: lines.at("claims", f"{facility}.{kind}", "unpaid before") for kind in ("fee", "interest", "principal")
    }
    late = {
        "fee": unpaid["fee"] * overdue * DAYS / money_year,
        "interest": (unpaid["interest"] * overdue + unpaid["principal"] * margin) * DAYS / money_year,
        "principal": ZERO,
    }
    for kind, value in late.items():
        says = f"late interest borne by the {kind} of {facility}"
        lines.add("claims", f"{facility}.{kind}", "late", "money", says, value)


def _add_principal(lines: Lines, facility: str) -> None:
    left = lines.at("facilities", facility, "drawn before") - lines.at("facilities", facility, "fallen due before")
    due = left * lines.at("facilities", facility, "instalment share")
    says = f"principal of {facility} that falls due"
    due = lines.add("claims", f"{facility}.principal", "due", "money", says, due)
    fallen = lines.at("facilities", facility, "fallen due before") + due
    says = f"principal of {facility} fallen due in all"
    lines.add("facilities", facility, "fallen due", "money", says, fallen, opening=ZERO)
    say_claimed(lines, f"{facility}.principal")


def _add_before_draw(lines: Lines, sheets: Sheets, facility: str) -> None:
    undrawn = amount(sheets, "facilities", facility, "commitment") - lines.at("facilities", facility, "drawn before")
    days = lines.at("facilities", facility, "window days")
    fee = amount(sheets, "facilities", facility, "commitment_fee") * undrawn * days / constant(lines, "money_year")
    lines.add("claims", f"{facility}.fee", "undrawn fee", "money", f"fee on what is not drawn of {facility}", fee)
    balance = lines.at("facilities", facility, "balance before")
    interest = balance * lines.at("facilities", facility, "rate") * DAYS / constant(lines, "money_year")
    says = f"interest on the opening balance of {facility}"
    lines.add("claims", f"{facility}.interest", "on balance", "money", says, interest)
    say_claimed(lines, f"{facility}.fee", BEFORE_DRAW, "undrawn fee")
    say_claimed(lines, f"{facility}.interest", BEFORE_DRAW, "on balance")


def add_draw(lines: Lines, sheets: Sheets, facility: str, claimed: Node, cash: Node) -> Node:
    """What the facility's account draws: what is claimed there less its cash, as far as the limit allows."""
    says = f"what the account of {facility} is short of"
    need = lines.add("facilities", facility, "need", "money", says, most(ZERO, claimed - cash))
    room = lines.at("facilities", facility, "limit") - lines.at("facilities", facility, "drawn before")
    room = most(ZERO, room) * lines.at("facilities", facility, "open")
    room = lines.add("facilities", facility, "room", "money", f"what can be drawn of {facility} in the period", room)
    draw = lines.add("facilities", facility, "draw", "money", f"what is drawn of {facility}", least(room, need))
    opening = amount(sheets, "facilities", facility, "opening_balance")
    drawn = lines.at("facilities", facility, "drawn before") + draw
    lines.add("facilities", facility, "drawn", "money", f"what is drawn of {facility} in all", drawn, opening=opening)
    _add_fee_and_interest(lines, sheets, facility, draw)
    return draw


def _add_fee_and_interest(lines: Lines, sheets: Sheets, facility: str, draw: Node) -> None:
    fee = amount(sheets, "facilities", facility, "upfront_fee") * draw + lines.at(
        "claims", f"{facility}.fee", "undrawn fee"
    )
    lines.add("claims", f"{facility}.fee", "due", "money", f"fees of {facility} that fall due", fee)
    rate = lines.at("facilities", facility, "rate")
    on_draw = constant(lines, "half") * draw * rate * DAYS / constant(lines, "money_year")
    interest = lines.at("claims", f"{facility}.interest", "on balance") + on_draw
    lines.add("claims", f"{facility}.interest", "due", "money", f"interest of {facility} that falls due", interest)
    for kind in ("fee", "interest"):
        say_claimed(lines, f"{facility}.{kind}")


def add_balances(lines: Lines, sheets: Sheets) -> None:
    """The closing of each facility's corkscrew: opening, and draw, less principal paid."""
    for facility in sheets.keys("facilities"):
        balance = lines.at("facilities", facility, "balance before") + lines.at("facilities", facility, "draw")
        says = f"principal of {facility} that is paid"
        repaid = lines.at("claims", f"{facility}.principal", "paid")
        balance = balance - lines.add("facilities", facility, "repaid", "money", says, repaid)
        opening = amount(sheets, "facilities", facility, "opening_balance")
        says = f"outstanding of {facility} at the period's end"
        lines.add("facilities", facility, "balance", "money", says, balance, opening=opening)


def add_cover(lines: Lines, sheets: Sheets, claims: tuple[Claim, ...]) -> None:
    """CFADS and debt service: the two sides of the DSCR, in the account that first pays the facility's principal."""
    for facility in sheets.keys("facilities"):
        place = next(claim for claim in claims if claim.name == f"{facility}.principal").places[0]
        ahead = (lines.at("claims", name, "due") for name in _ahead_of_principal(facility, place, claims))
        says = f"what {place.account} collects, less what falls due there ahead of the principal of {facility}"
        cfads = lines.at("accounts", place.account, "collected") - total(ahead)
        cfads = lines.add("facilities", facility, "cfads", "money", says, cfads)
        service = lines.at("claims", f"{facility}.interest", "due") + lines.at("claims", f"{facility}.principal", "due")
        says = f"interest and principal of {facility} that fall due"
        service = lines.add("facilities", facility, "debt service", "money", says, service)
        # after the last instalment dust may be left, over which a ratio would mean nothing
        is_due = below(constant(lines, "half_cent"), service)
        says = f"CFADS of {facility} over its debt service; 0 where nothing is due"
        lines.add("facilities", facility, "dscr", "x", says, choose(is_due, ratio(cfads, service), ZERO))


def _ahead_of_principal(facility: str, place: Place, claims: tuple[Claim, ...]) -> list[str]:
    """The claims of a lower rank in the principal's first account, the facility's own fee and interest apart."""
    own = (f"{facility}.fee", f"{facility}.interest")
    return [
        claim.name
        for claim in claims
        if claim.kind != "residual" and claim.name not in own
        if any(one.account == place.account and one.rank < place.rank for one in claim.places)
    ]
