"""Contracts: what the phases bill, what is collected, what customers prepay and what is owed back to them."""

from collections.abc import Sequence

from stuckstep.deal import Sheets, listed_years

from .constants import constant
from .expression import (
    NEXT_FIRST_DAY,
    ONE,
    ZERO,
    Node,
    below,
    choose,
    in_period,
    least,
    most,
    pick,
    ratio,
    total,
    upto,
    whole,
)
from .inputs import amount, trigger
from .lines import Lines
from .streams import add_accrual, add_yearly_prices, daily_quantity

STATUSES = ("connected", "installed", "active")


def billed_phases(sheets: Sheets, contract: str) -> list[str]:
    """The phases that name a contract."""
    return [phase for phase in sheets.keys("phases") if sheets.cell("phases", phase, "contract") == contract]


def add_contracts(lines: Lines, sheets: Sheets) -> None:
    """The bills, collections and prepayments of every phase that names a contract, and the MW by status."""
    for contract in sheets.keys("contracts"):
        prices = _add_prices(lines, sheets, contract)
        for phase in billed_phases(sheets, contract):
            _add_term(lines, sheets, contract, phase)
            _add_prepayment(lines, sheets, contract, phase, prices)
            _add_cash(lines, sheets, contract, phase, prices)
    _add_megawatts(lines, sheets)


def _add_prices(lines: Lines, sheets: Sheets, contract: str) -> list[Node]:
    """The price by contract year, and what a unit has billed by the end of each year."""
    first = amount(sheets, "contracts", contract, "price")
    escalator = amount(sheets, "contracts", contract, "escalator")
    years = listed_years(sheets, "contracts", contract)
    prices = add_yearly_prices(lines, "contracts", contract, first, escalator, years)
    billed = ZERO
    for year, price in enumerate(prices):
        says = f"what one unit a day has billed after {year} full years"
        billed = lines.add("contracts", contract, f"after {year} years", "money", says, billed)
        billed = billed + price * constant(lines, "year")
    load = most(
        amount(sheets, "contracts", contract, "take_or_pay"), amount(sheets, "contracts", contract, "utilisation")
    )
    says = "share of the quantity that is paid for: what is used, or what must be taken"
    lines.add("contracts", contract, "load", "share", says, load)
    return prices


def _add_term(lines: Lines, sheets: Sheets, contract: str, phase: str) -> None:
    basis = str(sheets.cell("contracts", contract, "basis"))
    load = lines.at("contracts", contract, "load")
    daily = daily_quantity(lines, sheets, basis, phase) * load
    says = f"units of {phase} that are paid for each day"
    lines.add("contracts", contract, "units a day", "units", says, daily, phase=phase)
    term = amount(sheets, "contracts", contract, "term_days")
    fixed = sheets.cell("contracts", contract, "end_rule") == "fixed"
    begins = lines.at("phases", phase, "planned billing" if fixed else "billing")
    end = lines.add(
        "contracts", contract, "end", "date", f"day after the last bill of {phase}", begins + term, phase=phase
    )
    length = most(ZERO, end - lines.at("phases", phase, "billing"))
    lines.add("contracts", contract, "days billed", "days", f"days {phase} bills in all", length, phase=phase)


def _value(lines: Lines, contract: str, phase: str, days: Node, prices: Sequence[Node]) -> Node:
    """What a phase bills over its first `days` days."""
    year = constant(lines, "year")
    listed = [lines.at("contracts", contract, f"after {count} years") for count in range(len(prices))]
    years = least(whole(days / year), lines.at("contracts", contract, "last year"))
    per_unit = pick(years, listed) + (days - years * year) * pick(years, prices)
    return lines.at("contracts", contract, "units a day", phase) * per_unit


def _add_prepayment(lines: Lines, sheets: Sheets, contract: str, phase: str, prices: Sequence[Node]) -> None:
    def say(item: str, unit: str, says: str, value: Node) -> Node:
        return lines.add("contracts", contract, item, unit, says, value, phase=phase)

    term = amount(sheets, "contracts", contract, "term_days")
    planned = say(
        "value", "money", f"what {phase} would bill over the full term", _value(lines, contract, phase, term, prices)
    )
    length = lines.at("contracts", contract, "days billed", phase)
    billed = _value(lines, contract, phase, length, prices)
    billed = say("to be billed", "money", f"what {phase} bills over its term as it comes", billed)
    date = trigger(sheets, lines, "contracts", contract, "prepay_trigger", phase)
    date = say("prepayment date", "date", f"when the prepayment for {phase} falls", date)
    stop, cancelled = lines.at("phases", phase, "long-stop"), lines.at("phases", phase, "cancelled")
    agreed = amount(sheets, "contracts", contract, "prepay_share") * planned
    received = choose(cancelled, below(date, stop), ONE) * agreed
    received = say("prepayment", "money", f"what is prepaid for {phase}; nothing once it is cancelled", received)
    credited = choose(cancelled, ZERO, least(received, billed))
    credited = say("credited", "money", f"how much of the prepayment the bills of {phase} use up", credited)
    says = f"share of each bill of {phase} that is collected, the rest being prepaid"
    say("collected share", "share", says, ONE - ratio(credited, billed))
    say("refund", "money", f"what of the prepayment for {phase} is owed back", received - credited)
    end = lines.at("contracts", contract, "end", phase)
    say("refund date", "date", f"when it is owed back for {phase}", choose(cancelled, stop, end))


def _add_cash(lines: Lines, sheets: Sheets, contract: str, phase: str, prices: Sequence[Node]) -> None:
    daily = lines.at("contracts", contract, "units a day", phase)
    begins, ends = lines.at("phases", phase, "billing"), lines.at("contracts", contract, "end", phase)
    add_accrual(lines, ("contracts", contract, "billed", phase), daily, prices, begins, ends, ZERO)
    net = amount(sheets, "contracts", contract, "net_days")
    bill = add_accrual(lines, ("contracts", contract, "payable", phase), daily, prices, begins, ends, net)
    share = lines.at("contracts", contract, "collected share", phase)
    says = f"what the customer pays on the bills of {phase}"
    lines.add("contracts", contract, "collected", "money", says, bill * share, phase=phase)
    prepaid = lines.at("contracts", contract, "prepayment", phase)
    prepaid = prepaid * in_period(lines.at("contracts", contract, "prepayment date", phase))
    lines.add("contracts", contract, "prepaid", "money", f"what the customer prepays for {phase}", prepaid, phase=phase)


def refund_due(lines: Lines, sheets: Sheets, contract: str) -> Node:
    """What of its prepayments falls due back to a customer in a period."""
    return total(
        lines.at("contracts", contract, "refund", phase)
        * in_period(lines.at("contracts", contract, "refund date", phase))
        for phase in billed_phases(sheets, contract)
    )


def _add_megawatts(lines: Lines, sheets: Sheets) -> None:
    """The MW that reached a status by each period's end; `billing` only while the contract bills."""
    phases = sheets.keys("phases")
    reached: dict[str, list[Node]] = {status: [] for status in ("contracted", *STATUSES, "billing")}
    for phase in phases:
        mw = amount(sheets, "phases", phase, "mw")
        reached["contracted"].append(mw * below(lines.at("phases", phase, "order"), NEXT_FIRST_DAY))
        for status in STATUSES:
            granting = [s for s in sheets.keys("steps") if sheets.cell("steps", s, "status", phase) == status]
            if granting:
                done = most(*(lines.at("steps", step, "finish", phase) for step in granting))
                reached[status].append(mw * below(done, NEXT_FIRST_DAY))
        contract = sheets.cell("phases", phase, "contract")
        if contract is not None:
            begun = below(lines.at("phases", phase, "billing"), NEXT_FIRST_DAY)
            running = upto(NEXT_FIRST_DAY, lines.at("contracts", str(contract), "end", phase))
            reached["billing"].append(mw * begun * running)
    for status, parts in reached.items():
        lines.add("mw", status, "mw", "MW", f"MW that are {status} at the period's end", total(parts))
