"""Accounts: cash comes in, facilities are drawn, claims are paid by rank, supports step in, residuals take the rest."""

from collections.abc import Mapping

from stuckstep.deal import Sheets

from .claims import Claim, add_paid
from .constants import constant
from .contracts import billed_phases
from .expression import FIRST_DAY, ONE, ZERO, Node, choose, last, most, ratio, total, upto
from .facilities import BEFORE_DRAW, add_draw, is_open
from .inputs import amount, is_blank, listed
from .lines import Lines, name_of


class Settlement:
    """What the waterfall carries from account to account in a period: what is open of each claim, and what was paid."""

    def __init__(self, claims: tuple[Claim, ...]) -> None:
        self.claims = {claim.name: claim for claim in claims}
        self.open: dict[str, Node] = {}
        self.paid: dict[str, list[Node]] = {claim.name: [] for claim in claims}

    def ranks(self, account: str, *, residual: bool) -> list[tuple[int, list[str]]]:
        """The claims placed in an account, by rank, the lowest first; in table order inside a rank."""
        by_rank: dict[int, list[str]] = {}
        for claim in self.claims.values():
            for place in claim.places:
                if place.account == account and (claim.kind == "residual") is residual:
                    by_rank.setdefault(place.rank, []).append(claim.name)
        return sorted(by_rank.items())


def add_accounts(lines: Lines, sheets: Sheets, claims: tuple[Claim, ...]) -> None:
    """The accounts in table order: cash, draws, claims by rank, supports, residuals; then what each claim was paid."""
    settlement = Settlement(claims)
    for claim in claims:
        if claim.kind != "residual":
            item = BEFORE_DRAW if claim.kind in ("fee", "interest") else "claimed"
            settlement.open[claim.name] = lines.at("claims", claim.name, item)
    for account in sheets.keys("accounts"):
        cash = _add_cash_in(lines, sheets, account, settlement)
        cash = _add_draws(lines, sheets, account, settlement, cash)
        cash = _add_ranks(lines, account, settlement, cash)
        _add_supports(lines, sheets, account, settlement)
        cash = _add_residuals(lines, sheets, account, settlement, cash)
        _add_sums(lines, sheets, account, settlement)
        opening = amount(sheets, "accounts", account, "opening_cash")
        says = f"cash in {account} at the period's end"
        lines.add("accounts", account, "closing", "money", says, cash, opening=opening)
    for claim in claims:
        if claim.kind == "residual":
            _add_residual_links(lines, claim, settlement.paid[claim.name])
        else:
            add_paid(lines, claim, settlement.paid[claim.name], settlement.open[claim.name])


def _add_sums(lines: Lines, sheets: Sheets, account: str, settlement: Settlement) -> None:
    """What an account draws and pays in all, for its corkscrew."""
    facilities = [f for f in sheets.keys("facilities") if sheets.cell("facilities", f, "account") == account]
    drawn = total(lines.at("facilities", facility, "draw") for facility in facilities)
    lines.add("accounts", account, "drawn", "money", f"what is drawn into {account}", drawn)
    ranks = settlement.ranks(account, residual=False) + settlement.ranks(account, residual=True)
    paid = total(lines.at("accounts", account, f"{rank} {name} paid") for rank, names in ranks for name in names)
    lines.add("accounts", account, "paid out", "money", f"what {account} pays in all", paid)


def _add_cash_in(lines: Lines, sheets: Sheets, account: str, settlement: Settlement) -> Node:
    """(1) opening + collections + prepayments + what earlier accounts paid in."""
    opening = last(name_of("accounts", account, "closing"))
    opening = lines.add("accounts", account, "opening", "money", f"cash in {account} at the period's start", opening)
    parts = [opening]
    for item, column in (("collected", "account"), ("prepaid", "prepay_account")):
        contracts = [c for c in sheets.keys("contracts") if sheets.cell("contracts", c, column) == account]
        inflow = [lines.at("contracts", c, item, phase) for c in contracts for phase in billed_phases(sheets, c)]
        parts.append(lines.add("accounts", account, item, "money", f"what customers pay into {account}", total(inflow)))
    paid_in = [
        part for claim in settlement.claims.values() if claim.payee == account for part in settlement.paid[claim.name]
    ]
    says = f"what earlier accounts pay into {account}"
    parts.append(lines.add("accounts", account, "paid in", "money", says, total(paid_in)))
    return lines.add("accounts", account, "cash", "money", f"cash in {account} before any draw", total(parts))


def _add_draws(lines: Lines, sheets: Sheets, account: str, settlement: Settlement, cash: Node) -> Node:
    """(2) Each facility of the account, in table order, draws what is still claimed here less the cash at hand."""
    facilities = [f for f in sheets.keys("facilities") if sheets.cell("facilities", f, "account") == account]
    placed = [claim for _, names in settlement.ranks(account, residual=False) for claim in names]
    for facility in facilities:
        claimed = total(settlement.open[claim] for claim in placed)
        draw = add_draw(lines, sheets, facility, claimed, cash)
        for kind in ("fee", "interest"):
            settlement.open[f"{facility}.{kind}"] = lines.at("claims", f"{facility}.{kind}", "claimed")
        says = f"cash in {account} after {facility} is drawn"
        cash = lines.add("accounts", account, f"cash with {facility}", "money", says, cash + draw)
    return cash


def _add_ranks(lines: Lines, account: str, settlement: Settlement, cash: Node) -> Node:
    """(3) Claims by rank, pro rata inside a rank, each up to what is still open of it."""
    for rank, names in settlement.ranks(account, residual=False):
        wanted = total(settlement.open[name] for name in names)
        says = f"what is claimed of {account} at rank {rank}"
        wanted = lines.add("accounts", account, f"{rank} wanted", "money", says, wanted)
        says = f"share of it that the cash in {account} pays"
        share = lines.add("accounts", account, f"{rank} share", "share", says, _share(lines, cash, wanted))
        for name in names:
            cash = cash - _pay(lines, ("accounts", account), f"{rank} {name}", name, settlement, share)
        says = f"cash in {account} after rank {rank}"
        cash = lines.add("accounts", account, f"{rank} cash", "money", says, cash)
    return cash


def _share(lines: Lines, cash: Node, wanted: Node) -> Node:
    """All of it when the cash comes near to what is wanted: else dust would stay unpaid and flags would flip."""
    at_hand = most(ZERO, cash)
    return choose(upto(wanted, at_hand + constant(lines, "near")), ONE, ratio(at_hand, wanted))


def _pay(lines: Lines, payer: tuple[str, str], item: str, claim: str, settlement: Settlement, share: Node) -> Node:
    table, row = payer
    paid = lines.add(table, row, f"{item} paid", "money", f"what {row} pays of {claim}", settlement.open[claim] * share)
    says = f"what is then still open of {claim}"
    settlement.open[claim] = lines.add(table, row, f"{item} open", "money", says, settlement.open[claim] - paid)
    settlement.paid[claim].append(paid)
    return paid


def _covered(sheets: Sheets, support: str, account: str, settlement: Settlement) -> list[tuple[int, list[str]]]:
    """The claims a support covers here, by rank; without a list, those whose first place is this account."""
    covers = listed(sheets, "supports", support, "covers")
    names = (
        [claim.name for claim in settlement.claims.values() if claim.places and claim.places[0].account == account]
        if covers is None
        else list(covers)
    )
    ranks = settlement.ranks(account, residual=False)
    return [(rank, [n for n in members if n in names]) for rank, members in ranks if any(n in names for n in members)]


def _add_supports(lines: Lines, sheets: Sheets, account: str, settlement: Settlement) -> None:
    """(4) The open supports, in table order, pay what is left open of the claims they cover, as far as they last."""
    for support in sheets.keys("supports"):
        if sheets.cell("supports", support, "account") != account:
            continue
        flag = is_open(lines, sheets, "supports", support)
        flag = lines.add("supports", support, "open", "flag", f"whether {support} is open in the period", flag)
        limited = not is_blank(sheets, "supports", support, "commitment")
        parts: list[Node] = []
        if limited:
            before = last(name_of("supports", support, "paid in all"))
            before = lines.add(
                "supports", support, "paid before", "money", f"what {support} paid before the period", before
            )
            left = flag * most(ZERO, amount(sheets, "supports", support, "commitment") - before)
            left = lines.add("supports", support, "left", "money", f"what {support} can pay in the period", left)
        for rank, names in _covered(sheets, support, account, settlement):
            share = flag
            if limited:
                wanted = total(settlement.open[name] for name in names)
                says = f"what is open of what {support} covers at rank {rank}"
                wanted = lines.add("supports", support, f"{rank} wanted", "money", says, wanted)
                value = flag * _share(lines, left, wanted)
                share = lines.add(
                    "supports", support, f"{rank} share", "share", f"share of it that {support} pays", value
                )
            paid = [_pay(lines, ("supports", support), f"{rank} {name}", name, settlement, share) for name in names]
            parts += paid
            if limited:
                says = f"what {support} can still pay after rank {rank}"
                for part in paid:
                    left = left - part
                left = lines.add("supports", support, f"{rank} left", "money", says, left)
        paid_here = lines.add("supports", support, "paid", "money", f"what {support} pays", total(parts))
        says = f"what {support} has paid in all"
        in_all = last(name_of("supports", support, "paid in all")) + paid_here
        lines.add("supports", support, "paid in all", "money", says, in_all, opening=ZERO)


def _add_residuals(lines: Lines, sheets: Sheets, account: str, settlement: Settlement, cash: Node) -> Node:
    """(5) A residual takes the cash above the minimum once it has started and its lock-up was paid in full."""
    for rank, names in settlement.ranks(account, residual=True):
        for name in names:
            locked = [lines.at("claims", claim, "unpaid before") for claim in lockup(sheets, name, settlement.claims)]
            says = f"what was left unpaid of the claims that lock {name} up"
            locked_by = lines.add("accounts", account, f"{rank} {name} lock-up", "money", says, total(locked))
            allowed = upto(lines.at("claims", name, "starts"), FIRST_DAY) * upto(
                locked_by, constant(lines, "half_cent")
            )
            says = f"whether {name} may be paid in the period"
            allowed = lines.add("accounts", account, f"{rank} {name} allowed", "flag", says, allowed)
            spare = most(ZERO, cash - amount(sheets, "accounts", account, "minimum_cash"))
            says = f"what {account} pays of {name}"
            paid = lines.add("accounts", account, f"{rank} {name} paid", "money", says, allowed * spare)
            settlement.paid[name].append(paid)
            cash = lines.add(
                "accounts", account, f"{rank} {name} cash", "money", f"cash in {account} after {name}", cash - paid
            )
    return cash


def lockup(sheets: Sheets, residual: str, claims: Mapping[str, Claim]) -> list[str]:
    """The claims that must have been paid in full: those listed; else all for a party, none for an account."""
    named = listed(sheets, "claims", residual, "lockup")
    if named is not None:
        return [name for name in named if name != "none"]
    if claims[residual].payee in sheets.keys("accounts"):
        return []
    return [claim.name for claim in claims.values() if claim.kind != "residual"]


def _add_residual_links(lines: Lines, claim: Claim, parts: list[Node]) -> None:
    """A residual's due, claimed and paid are one amount."""
    paid = lines.add("claims", claim.name, "paid", "money", f"what is paid of {claim.name}", total(parts))
    lines.add("claims", claim.name, "due", "money", f"what falls due on {claim.name}: what it is paid", paid)
    lines.add("claims", claim.name, "claimed", "money", f"what is claimed of {claim.name}: what it is paid", paid)
