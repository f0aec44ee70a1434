"""Checks: laws that hold for any deal (the model is wrong where one is broken) and alerts (the deal is in trouble)."""

from collections.abc import Iterable

from stuckstep.deal import Sheets

from .accounts import Settlement
from .claims import Claim, claim_phases
from .constants import constant
from .contracts import billed_phases
from .expression import HORIZON, NEXT_FIRST_DAY, ONE, ZERO, Node, absolute, below, least, most, total, upto, whole
from .inputs import amount, is_blank
from .lines import Lines
from .schedule import predecessors

LAWS = {
    "accounts": "cash in each account reconciles: opening and what comes in, less what is paid, is the closing cash",
    "paid": "what is paid of a claim is neither below zero nor above what is claimed",
    "ranks": "in each account its cash pays no junior claim while a senior one placed there is short",
    "balances": "the balance of each facility lies between zero and its commitment",
    "sources and uses": "opening cash and all that is put in has been paid to parties or is still in cash",
    "unpaid": "unpaid before, late and due, less what is paid, is what stays unpaid",
    "prepayments": "what a customer prepaid is credited to it or owed back",
    "steps": "no step ends before its predecessors",
    "price lists": "the lists of yearly prices reach as far as anything is billed or accrues",
}
ALERTS = {
    "unpaid at horizon": "something is still unpaid when the last period ends",
    "claims past horizon": "claims or contracts run past the last period",
    "never drawn": "a facility or a support was never used",
}


def add_checks(lines: Lines, sheets: Sheets, claims: tuple[Claim, ...]) -> None:
    """Each law's error, and a flag where it is broken; then the alerts."""
    settlement = Settlement(claims)
    bounded = [claim for claim in claims if claim.kind != "residual"]
    _add_tolerance(lines, sheets, claims)
    _say_law(lines, "accounts", (_account_error(lines, account) for account in sheets.keys("accounts")))
    _say_law(lines, "paid", (_paid_error(lines, claim.name) for claim in claims))
    _say_law(lines, "ranks", (_rank_error(lines, account, settlement) for account in sheets.keys("accounts")))
    _say_law(lines, "balances", (_balance_error(lines, sheets, facility) for facility in sheets.keys("facilities")))
    _say_law(lines, "sources and uses", [_sources_and_uses_error(lines, sheets)])
    _say_law(lines, "unpaid", (_unpaid_error(lines, claim.name) for claim in bounded))
    _say_law(lines, "prepayments", _prepayment_errors(lines, sheets))
    _say_law(lines, "steps", _step_errors(lines, sheets))
    _say_law(lines, "price lists", _price_list_errors(lines, sheets))
    broken = (lines.at("checks", law, "broken") for law in LAWS)
    lines.add("checks", "master", "broken", "number", "laws that are broken in the period: must be zero", total(broken))
    _add_alerts(lines, sheets, bounded)


def _add_tolerance(lines: Lines, sheets: Sheets, claims: tuple[Claim, ...]) -> None:
    money = total(lines.at("claims", claim.name, "claimed") for claim in claims)
    cash = total(lines.at("accounts", account, "cash") for account in sheets.keys("accounts"))
    tolerance = constant(lines, "half_cent") + constant(lines, "dust") * (money + cash)
    lines.add("checks", "laws", "tolerance", "money", "what counts as nothing in a check of money", tolerance)


def _say_law(lines: Lines, law: str, errors: Iterable[Node]) -> None:
    error = lines.add("checks", law, "error", "money", LAWS[law], total(errors))
    broken = below(lines.at("checks", "laws", "tolerance"), error)
    lines.add("checks", law, "broken", "flag", f"whether this is broken: {LAWS[law]}", broken)


def _account_error(lines: Lines, account: str) -> Node:
    cash_in = total(
        lines.at("accounts", account, item) for item in ("opening", "collected", "prepaid", "paid in", "drawn")
    )
    cash_out = lines.at("accounts", account, "paid out") + lines.at("accounts", account, "closing")
    error = absolute(cash_in - cash_out)
    return lines.add("checks", account, "cash error", "money", f"cash of {account} that does not reconcile", error)


def _paid_error(lines: Lines, claim: str) -> Node:
    paid, claimed = lines.at("claims", claim, "paid"), lines.at("claims", claim, "claimed")
    error = most(ZERO, ZERO - paid, paid - claimed)
    return lines.add(
        "checks", claim, "paid error", "money", f"what is paid of {claim} below zero or above its claim", error
    )


def _rank_error(lines: Lines, account: str, settlement: Settlement) -> Node:
    errors, short = [], ZERO
    for rank, names in settlement.ranks(account, residual=False):
        paid = total(lines.at("accounts", account, f"{rank} {name} paid") for name in names)
        if short is not ZERO:
            errors.append(_say_jumped(lines, account, rank, least(short, paid)))
        here = total(lines.at("accounts", account, f"{rank} {name} open") for name in names)
        says = f"what {account} leaves open up to rank {rank}"
        short = lines.add("checks", account, f"{rank} short", "money", says, here if short is ZERO else short + here)
    for rank, names in settlement.ranks(account, residual=True):
        paid = total(lines.at("accounts", account, f"{rank} {name} paid") for name in names)
        if short is not ZERO:
            errors.append(_say_jumped(lines, account, rank, least(short, paid)))
    return total(errors)


def _say_jumped(lines: Lines, account: str, rank: int, error: Node) -> Node:
    says = f"what {account} pays at rank {rank} while a senior claim is short"
    return lines.add("checks", account, f"{rank} jumped", "money", says, error)


def _balance_error(lines: Lines, sheets: Sheets, facility: str) -> Node:
    balance = lines.at("facilities", facility, "balance")
    error = most(ZERO, ZERO - balance, balance - amount(sheets, "facilities", facility, "commitment"))
    says = f"balance of {facility} below zero or above its commitment"
    return lines.add("checks", facility, "balance error", "money", says, error)


def _sources_and_uses_error(lines: Lines, sheets: Sheets) -> Node:
    opening = total(lines.at("accounts", account, "opening") for account in sheets.keys("accounts"))
    closing = total(lines.at("accounts", account, "closing") for account in sheets.keys("accounts"))
    puts_in = total(lines.at("parties", party, "puts in") for party in sheets.keys("parties"))
    paid = total(lines.at("parties", party, "paid") for party in sheets.keys("parties"))
    return absolute(opening + puts_in - paid - closing)


def _unpaid_error(lines: Lines, claim: str) -> Node:
    before, late, due = (lines.at("claims", claim, item) for item in ("unpaid before", "late", "due"))
    error = before + late + due - lines.at("claims", claim, "paid") - lines.at("claims", claim, "unpaid")
    says = f"what of {claim} is neither paid nor unpaid"
    return lines.add("checks", claim, "unpaid error", "money", says, absolute(error))


def _prepayment_errors(lines: Lines, sheets: Sheets) -> Iterable[Node]:
    for contract in sheets.keys("contracts"):
        for phase in billed_phases(sheets, contract):
            credited = ONE - lines.at("contracts", contract, "collected share", phase)
            credited = credited * lines.at("contracts", contract, "to be billed", phase)
            settled = credited + lines.at("contracts", contract, "refund", phase)
            error = lines.at("contracts", contract, "prepayment", phase) - settled
            says = f"what is prepaid for {phase}, neither credited nor owed back"
            yield lines.add("checks", contract, "prepayment error", "money", says, absolute(error), phase=phase)


def _step_errors(lines: Lines, sheets: Sheets) -> Iterable[Node]:
    for phase in sheets.keys("phases"):
        overlaps = (
            most(ZERO, lines.at("steps", other, "finish", phase) - lines.at("steps", step, "finish", phase))
            for step, waits_for in predecessors(sheets, phase).items()
            for other in waits_for
        )
        says = f"days by which steps of {phase} end before those they wait for"
        yield lines.add("checks", phase, "step overlaps", "days", says, total(overlaps))


def _price_list_errors(lines: Lines, sheets: Sheets) -> Iterable[Node]:
    """The lists are made long enough for every scenario; a longer term typed into a workbook can outrun them."""

    def say(table: str, row: str, phase: str, days: Node) -> Node:
        years = whole(days / constant(lines, "year"))
        over = most(ZERO, years - lines.at(table, row, "last year"))
        says = f"years of {row} in {phase} beyond its list of prices"
        return lines.add("checks", row, f"{table} beyond list", "years", says, over, phase=phase)

    def say_all(table: str, row: str, parts: list[Node]) -> Node:
        """Phases by row first: a sum of every claim in every phase is longer than a spreadsheet engine takes."""
        says = f"years of {row} beyond its lists of prices"
        return lines.add("checks", row, f"{table} beyond lists", "years", says, total(parts))

    for contract in sheets.keys("contracts"):
        term = amount(sheets, "contracts", contract, "term_days")
        phases = billed_phases(sheets, contract)
        days = [most(lines.at("contracts", contract, "days billed", phase), term) for phase in phases]
        parts = [say("contracts", contract, phase, one) for phase, one in zip(phases, days, strict=True)]
        yield say_all("contracts", contract, parts)
    for claim in sheets.keys("claims"):
        if sheets.kind(claim) != "recurring":
            continue
        end = HORIZON - amount(sheets, "claims", claim, "net_days")
        is_endless = is_blank(sheets, "claims", claim, "term_days")
        parts = []
        for phase in claim_phases(sheets, claim):
            last = end if is_endless else least(end, lines.at("claims", claim, "end", phase))
            parts.append(say("claims", claim, phase, last - lines.at("claims", claim, "begins", phase)))
        yield say_all("claims", claim, parts)


def _add_alerts(lines: Lines, sheets: Sheets, claims: list[Claim]) -> None:
    final = upto(HORIZON, NEXT_FIRST_DAY)
    half_cent = constant(lines, "half_cent")
    unpaid = total(lines.at("claims", claim.name, "unpaid") for claim in claims)
    unpaid = lines.add("checks", "deal", "unpaid", "money", "what is unpaid in the whole deal", unpaid)
    alerts = {
        "unpaid at horizon": below(half_cent, unpaid) * final,
        "claims past horizon": total(_past_horizon(lines, sheets)) * final,
        "never drawn": total(_never_used(lines, sheets)) * final,
    }
    for alert, value in alerts.items():
        lines.add("checks", alert, "alert", "number", ALERTS[alert], value)


def _past_horizon(lines: Lines, sheets: Sheets) -> Iterable[Node]:
    """For each claim and contract, the phases in which it runs past the horizon; for a loan, whether it does."""
    for claim in sheets.keys("claims"):
        if sheets.kind(claim) != "residual":
            parts = [_claim_past_horizon(lines, sheets, claim, phase) for phase in claim_phases(sheets, claim)]
            yield _say_past_horizon(lines, claim, "claimed", parts)
    for facility in sheets.keys("facilities"):
        principal = f"{facility}.principal"
        not_due = lines.at("facilities", facility, "balance") - lines.at("claims", principal, "unpaid")
        says = f"whether more of {facility} is lent than has fallen due by the period's end"
        lent = below(constant(lines, "half_cent"), not_due)
        yield lines.add("checks", principal, "claimed past horizon", "flag", says, lent)
    for contract in sheets.keys("contracts"):
        parts = [_contract_past_horizon(lines, sheets, contract, phase) for phase in billed_phases(sheets, contract)]
        yield _say_past_horizon(lines, contract, "billed", parts)


def _say_past_horizon(lines: Lines, row: str, done: str, parts: list[Node]) -> Node:
    """A claim and a contract may share a name, so the line says which of the two it is about."""
    says = f"phases in which {row} is {done} past the last period"
    return lines.add("checks", row, f"{done} past horizon", "number", says, total(parts))


def _claim_past_horizon(lines: Lines, sheets: Sheets, claim: str, phase: str) -> Node:
    never = constant(lines, "never")
    if sheets.kind(claim) == "once":
        date = lines.at("claims", claim, "due date", phase)
        return upto(HORIZON, date) * below(date, never)
    begins = lines.at("claims", claim, "begins", phase)
    if is_blank(sheets, "claims", claim, "term_days"):
        return below(begins, never)
    end = lines.at("claims", claim, "end", phase) + amount(sheets, "claims", claim, "net_days")
    return below(HORIZON, end) * below(begins, never)


def _contract_past_horizon(lines: Lines, sheets: Sheets, contract: str, phase: str) -> Node:
    end = lines.at("contracts", contract, "end", phase) + amount(sheets, "contracts", contract, "net_days")
    return below(HORIZON, end) * below(lines.at("phases", phase, "billing"), constant(lines, "never"))


def _never_used(lines: Lines, sheets: Sheets) -> Iterable[Node]:
    """For each facility and support, whether nothing of it was ever used."""
    half_cent = constant(lines, "half_cent")
    for facility in sheets.keys("facilities"):
        is_idle = upto(lines.at("facilities", facility, "drawn"), half_cent)  # what was drawn before counts as well
        yield _say_never_used(lines, facility, "facility never drawn", is_idle)
    for support in sheets.keys("supports"):
        is_idle = upto(lines.at("supports", support, "paid in all"), half_cent)
        yield _say_never_used(lines, support, "support never drawn", is_idle)


def _say_never_used(lines: Lines, row: str, item: str, is_idle: Node) -> Node:
    return lines.add("checks", row, item, "flag", f"whether nothing of {row} was drawn by the period's end", is_idle)
