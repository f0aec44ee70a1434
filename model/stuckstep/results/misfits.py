"""Legal but odd: checks of a deal's planned dates and amounts against each other. Each yields what it finds."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from stuckstep.deal import from_serial, serial
from stuckstep.deal.cells import number_text
from stuckstep.deal.warning_codes import codes

from .oddities import Found, found
from .plan import Plan

_NEVER = 2_900_000.0


def _day(serial: float) -> str:
    return str(from_serial(serial)) if serial < _NEVER else "never"


def _money(amount: float) -> str:
    return number_text(float(round(amount)))


def never_bills(plan: Plan) -> Iterator[Found]:
    """Phases whose billing begins beyond the model."""
    for phase in plan.sheets.keys("phases"):
        billing = plan.at("phases", phase, "billing")
        if billing >= plan.end and plan.text("phases", phase, "contract") is not None:
            yield found("never_bills", "phases", phase, f"billing is planned for {_day(billing)}, beyond the model")


def prepay_late(plan: Plan) -> Iterator[Found]:
    """Prepayments that come after the bills they are for."""
    for contract in plan.sheets.keys("contracts"):
        if plan.number("contracts", contract, "prepay_share") == 0:
            continue
        for phase in plan.phases_of("contracts", contract):
            day, billing = plan.at("contracts", contract, "prepayment date", phase), plan.at("phases", phase, "billing")
            if day > billing:
                said = f"the prepayment for {phase} is planned for {_day(day)}, after billing on {_day(billing)}"
                yield found("prepay_late", "contracts", contract, said)


def before_start(plan: Plan) -> Iterator[Found]:
    """Recurring claims and prepayments of what begins within the model that are due on days before its first."""
    start = float(plan.periods.first_day[0])
    for contract in plan.sheets.keys("contracts"):
        if plan.number("contracts", contract, "prepay_share") == 0:
            continue
        for phase in plan.phases_of("contracts", contract):
            day, billing = plan.at("contracts", contract, "prepayment date", phase), plan.at("phases", phase, "billing")
            if day < start <= billing:
                said = f"the prepayment for {phase} is planned for {_day(day)}, before the start on {_day(start)}"
                yield found("before_start", "contracts", contract, said)
    for claim in plan.sheets.keys("claims"):
        if plan.sheets.kind(claim) != "recurring":
            continue
        for phase in plan.phases_of("claims", claim) if plan.number("claims", claim, "rate") else ():
            begins = plan.at("claims", claim, "begins", phase)
            due = begins + plan.number("claims", claim, "net_days")
            if due < start <= begins and plan.at("claims", claim, "units a day", phase):
                said = f"it begins on {_day(begins)} and falls due from {_day(due)}, before the start on {_day(start)}"
                yield found("before_start", "claims", claim, said)


def past_horizon(plan: Plan) -> Iterator[Found]:
    """What the model leaves out because it ends before."""
    for table in ("contracts", "claims", "facilities"):
        for row in plan.sheets.keys(table):
            last = max(_ends(plan, table, row), default=0.0)
            if last > plan.end:
                said = f"it runs to {_day(last)}, and the model ends on {_day(plan.end - 1)}"
                yield found("past_horizon", table, row, said)


def _ends(plan: Plan, table: str, row: str) -> Iterator[float]:
    """The days after the last cash of a row; none where it runs to the end whenever that is."""
    if table == "facilities":
        last = _first_of_month(_last_repayment(plan, row))
        yield last + 1
        return
    kind = plan.sheets.kind(row) if table == "claims" else "contract"
    for phase in plan.phases_of(table, row):
        if kind == "once":
            if plan.at(table, row, "amount", phase):
                yield plan.at(table, row, "due date", phase) + 1
        elif kind == "contract" or (kind == "recurring" and plan.sheets.cell("claims", row, "term_days") is not None):
            yield plan.at(table, row, "end", phase) + plan.number(table, row, "net_days")


def _last_repayment(plan: Plan, facility: str) -> int:
    """The month of a loan's last instalment, counted from year 0."""
    first = plan.date("facilities", facility, "first_repayment")
    assert first is not None
    count, every = (plan.number("facilities", facility, name) for name in ("instalments", "repay_every_months"))
    return _month(first) + int((count - 1) * every)


def _month(serial: float) -> int:
    day = from_serial(min(serial, _NEVER))
    return day.year * 12 + day.month - 1


def _first_of_month(month: int) -> float:
    return serial(datetime.date(month // 12, month % 12 + 1, 1)) if month < 9999 * 12 else _NEVER


def overfunded(plan: Plan) -> Iterator[Found]:
    """Accounts into which lenders and customers pay more than the once claims placed there."""
    for account in plan.sheets.keys("accounts"):
        loans = sum(_lendable(plan, f) for f in plan.sheets.keys("facilities") if _is_at(plan, f, account))
        prepaid = sum(
            plan.at("contracts", contract, "prepayment", phase)
            for contract in plan.sheets.keys("contracts")
            if plan.text("contracts", contract, "prepay_account") == account
            for phase in plan.phases_of("contracts", contract)
        )
        placed = [claim for claim in plan.sheets.keys("claims") if _is_placed(plan, claim, account)]
        cost = sum(_cost(plan, claim) for claim in placed)
        if loans and loans + prepaid > codes()["overfunded"].most * cost:
            said = f"loans of {_money(loans)} and prepayments of {_money(prepaid)} for once claims of {_money(cost)}"
            yield found("overfunded", "accounts", account, said)


def _is_at(plan: Plan, facility: str, account: str) -> bool:
    return plan.text("facilities", facility, "account") == account


def _is_placed(plan: Plan, claim: str, account: str) -> bool:
    places = plan.sheets.cell("claims", claim, "paid_from")
    return isinstance(places, tuple) and account in [place[0] for place in places]


def _cost(plan: Plan, claim: str) -> float:
    """What a once claim comes to in all its phases."""
    if plan.sheets.kind(claim) != "once":
        return 0.0
    return sum(plan.at("claims", claim, "amount", phase) for phase in plan.phases_of("claims", claim))


def _supported(plan: Plan, facility: str) -> float:
    """What the eligible claims let a loan lend."""
    eligible = plan.sheets.cell("facilities", facility, "eligible")
    cost = sum(_cost(plan, str(claim)) for claim in eligible) if isinstance(eligible, tuple) else 0.0
    return plan.number("facilities", facility, "advance_rate") * cost


def _lendable(plan: Plan, facility: str) -> float:
    """What is still to be lent: within the commitment and what the eligible claims support."""
    left = plan.number("facilities", facility, "commitment") - plan.number("facilities", facility, "opening_balance")
    return min(left, _supported(plan, facility))


def commitment_idle(plan: Plan) -> Iterator[Found]:
    """Commitments that the eligible claims cannot use."""
    for facility in plan.sheets.keys("facilities"):
        commitment = plan.number("facilities", facility, "commitment")
        left = commitment - plan.number("facilities", facility, "opening_balance")
        supported = _supported(plan, facility)
        if left > 0 and left > codes()["commitment_idle"].most * supported:
            said = f"{_money(left)} may be drawn, and the eligible claims support {_money(supported)}"
            yield found("commitment_idle", "facilities", facility, said)


def window_closed(plan: Plan) -> Iterator[Found]:
    """Draw windows that are never open, or closed when eligible claims count."""
    for facility in plan.sheets.keys("facilities"):
        until = plan.date("facilities", facility, "available_until")
        until = plan.date("facilities", facility, "first_repayment") if until is None else until
        assert until is not None
        if not _is_ever_open(plan, plan.date("facilities", facility, "available_from"), until):
            said = "the window is open on no first day of a period, so nothing is drawn"
            yield found("window_closed", "facilities", facility, said)
            continue
        eligible = plan.sheets.cell("facilities", facility, "eligible")
        late = [
            f"{claim} in {phase} ({_day(day)})"
            for claim in (eligible if isinstance(eligible, tuple) else ())
            for phase in plan.phases_of("claims", str(claim))
            if plan.at("claims", str(claim), "amount", phase)
            and (day := plan.at("facilities", facility, f"{claim} counts on", phase)) >= until
        ]
        if late:
            more = f" and {len(late) - 4} more" if len(late) > 4 else ""
            said = f"the window closes on {_day(until)}, before these count: {', '.join(late[:4])}{more}"
            yield found("window_closed", "facilities", facility, said)


def _is_ever_open(plan: Plan, begins: float | None, ends: float) -> bool:
    return any((begins is None or begins <= day) and day < ends for day in plan.periods.first_day)


def repays_early(plan: Plan) -> Iterator[Found]:
    """Loans whose first instalment comes before anything bills."""
    phases = [phase for phase in plan.sheets.keys("phases") if plan.text("phases", phase, "contract") is not None]
    billing = min((plan.at("phases", phase, "billing") for phase in phases), default=None)
    for facility in plan.sheets.keys("facilities") if billing is not None else ():
        first = plan.date("facilities", facility, "first_repayment")
        assert first is not None
        assert billing is not None
        if first < billing:
            said = f"the first instalment is planned for {_day(first)}, the first bill for {_day(billing)}"
            yield found("repays_early", "facilities", facility, said)


def tenor_long(plan: Plan) -> Iterator[Found]:
    """Loans that run longer than the bills that repay them."""
    ends = [
        plan.at("contracts", contract, "end", phase) + plan.number("contracts", contract, "net_days")
        for contract in plan.sheets.keys("contracts")
        for phase in plan.phases_of("contracts", contract)
    ]
    for facility in plan.sheets.keys("facilities") if ends else ():
        last = _last_repayment(plan, facility)
        if last > _month(max(ends)):
            said = f"the last instalment is planned for {last // 12}-{last % 12 + 1:02}, the last cash of a customer"
            yield found("tenor_long", "facilities", facility, f"{said} for {_day(max(ends))}")


def support_idle(plan: Plan) -> Iterator[Found]:
    """Supports that are closed before anything they cover falls due."""
    for support in plan.sheets.keys("supports"):
        until = plan.date("supports", support, "available_until")
        until = _NEVER if until is None else until
        if not _is_ever_open(plan, plan.date("supports", support, "available_from"), until):
            said = "the window is open on no first day of a period"
            yield found("support_idle", "supports", support, said)
            continue
        due = [_first_due(plan, claim) for claim in plan.covered[support]]
        if not due:
            yield found("support_idle", "supports", support, "it covers no claim")
        elif min(due) >= until:
            said = f"it closes on {_day(until)}, and what it covers first falls due on {_day(min(due))}"
            yield found("support_idle", "supports", support, said)


def _first_due(plan: Plan, claim: str) -> float:
    """The planned day on which a claim first falls due; the start for one that a loan or contract makes."""
    kind = plan.sheets.kind(claim) if claim in plan.sheets.keys("claims") else None
    if kind is None:
        return float(plan.periods.first_day[0])
    phases = plan.phases_of("claims", claim)
    if kind == "once":
        return min(plan.at("claims", claim, "due date", phase) for phase in phases)
    net = plan.number("claims", claim, "net_days")
    return min(plan.at("claims", claim, "begins", phase) for phase in phases) + net
