"""Claims: what falls due to whom, from where it is paid, and what stays unpaid."""

from collections.abc import Callable
from typing import NamedTuple

from stuckstep.deal import Place, Sheets, add_kind, listed_years

from .constants import constant
from .contracts import refund_due
from .expression import DAYS, ZERO, Node, in_period, last, total
from .inputs import DEAL, amount, is_blank, listed, places, trigger
from .lines import Lines, name_of
from .streams import add_accrual, add_yearly_prices, daily_quantity

Due = Callable[[Lines, Sheets, str], list[Node]]
KINDS: dict[str, Due] = {}  # for each kind of the claims table what says its lines and gives what falls due by phase


def kind(name: str, like: str) -> Callable[[Due], Due]:
    """Declares a kind of claim. It has the cells of the kind it is `like` and says that kind's lines.

    Like once: amount, due date and due in each phase. Like recurring: begins, due and, with a term, end in each phase;
    and the list of prices. Like residual: starts.
    """

    def declare(due: Due) -> Due:
        KINDS[name] = due
        if name != like:
            add_kind(name, like)
        return due

    return declare


class Claim(NamedTuple):
    """A claim of any origin: a row of the claims table, or what a facility or a contract gives rise to."""

    name: str
    kind: str
    payee: str
    places: tuple[Place, ...]


def all_claims(sheets: Sheets) -> tuple[Claim, ...]:
    """Every claim of the deal: the table's, then the facilities', then the contracts' refunds."""
    found = []
    for claim in sheets.keys("claims"):
        payee = str(sheets.cell("claims", claim, "payee"))
        found.append(Claim(claim, sheets.kind(claim), payee, places(sheets, "claims", claim, "paid_from")))
    for facility in sheets.keys("facilities"):
        lender = str(sheets.cell("facilities", facility, "lender"))
        for kind in ("fee", "interest", "principal"):
            paid_from = places(sheets, "facilities", facility, f"{kind}_from")
            found.append(Claim(f"{facility}.{kind}", kind, lender, paid_from))
    for contract in sheets.keys("contracts"):
        customer = str(sheets.cell("contracts", contract, "customer"))
        paid_from = places(sheets, "contracts", contract, "refund_from")
        found.append(Claim(f"{contract}.refund", "refund", customer, paid_from))
    return tuple(found)


def claim_phases(sheets: Sheets, claim: str) -> tuple[str, ...]:
    """The phases a claim exists in; `deal` alone for one that exists once in the deal."""
    named = listed(sheets, "claims", claim, "phase")
    return sheets.keys("phases") if named is None else named


def add_due(lines: Lines, sheets: Sheets) -> None:
    """What falls due in each period on the claims that depend on no cash."""
    for claim in sheets.keys("claims"):
        parts = KINDS[str(sheets.cell("claims", claim, "kind"))](lines, sheets, claim)
        if sheets.kind(claim) != "residual":  # what is left over is no one's due before it is there
            _say_due(lines, claim, parts)
    for contract in sheets.keys("contracts"):
        _say_due(lines, f"{contract}.refund", [refund_due(lines, sheets, contract)])


def _say_due(lines: Lines, claim: str, parts: list[Node]) -> None:
    lines.add("claims", claim, "due", "money", f"what falls due on {claim}", total(parts))


def quantity(lines: Lines, sheets: Sheets, claim: str, phase: str) -> Node:
    basis = str(sheets.cell("claims", claim, "basis"))
    return daily_quantity(lines, sheets, basis, None if phase == DEAL else phase)


@kind("once", like="once")
def add_once(lines: Lines, sheets: Sheets, claim: str) -> list[Node]:
    """What falls due on a day in each phase."""
    return [_add_once(lines, sheets, claim, phase) for phase in claim_phases(sheets, claim)]


@kind("residual", like="residual")
def add_residual(lines: Lines, sheets: Sheets, claim: str) -> list[Node]:
    """When what is left over may first be paid out."""
    starts = trigger(sheets, lines, "claims", claim, "trigger", DEAL)
    lines.add("claims", claim, "starts", "date", f"when {claim} may first be paid", starts)
    return []


def _add_once(lines: Lines, sheets: Sheets, claim: str, phase: str) -> Node:
    rate, share = amount(sheets, "claims", claim, "rate"), amount(sheets, "claims", claim, "share")
    owed = rate * share * quantity(lines, sheets, claim, phase)
    owed = lines.add("claims", claim, "amount", "money", f"what {claim} comes to in {phase}", owed, phase=phase)
    date = trigger(sheets, lines, "claims", claim, "trigger", phase) + amount(sheets, "claims", claim, "net_days")
    date = lines.add("claims", claim, "due date", "date", f"when {claim} falls due in {phase}", date, phase=phase)
    says = f"what falls due on {claim} in {phase}"
    return lines.add("claims", claim, "due", "money", says, owed * in_period(date), phase=phase)


@kind("recurring", like="recurring")
def add_recurring(lines: Lines, sheets: Sheets, claim: str) -> list[Node]:
    """What accrues day by day in each phase."""
    first = amount(sheets, "claims", claim, "rate") * amount(sheets, "claims", claim, "share")
    years = listed_years(sheets, "claims", claim)
    prices = add_yearly_prices(lines, "claims", claim, first, amount(sheets, "claims", claim, "escalator"), years)
    parts = []
    for phase in claim_phases(sheets, claim):
        units = quantity(lines, sheets, claim, phase)
        units = lines.add(
            "claims", claim, "units a day", "units", f"units of {claim} a day in {phase}", units, phase=phase
        )
        begins = trigger(sheets, lines, "claims", claim, "trigger", phase)
        begins = lines.add("claims", claim, "begins", "date", f"when {claim} begins in {phase}", begins, phase=phase)
        ends = None
        if not is_blank(sheets, "claims", claim, "term_days"):
            end = begins + amount(sheets, "claims", claim, "term_days")
            ends = lines.add(
                "claims", claim, "end", "date", f"day after the last of {claim} in {phase}", end, phase=phase
            )
        net = amount(sheets, "claims", claim, "net_days")
        parts.append(add_accrual(lines, ("claims", claim, "due", phase), units, prices, begins, ends, net))
    return parts


def add_unpaid_before(lines: Lines, claims: tuple[Claim, ...]) -> None:
    """What each claim brings from the period before: the first row of its corkscrew."""
    for claim in claims:
        if claim.kind != "residual":
            before = last(name_of("claims", claim.name, "unpaid"))
            says = f"what is still unpaid of {claim.name} from before"
            lines.add("claims", claim.name, "unpaid before", "money", says, before)


def add_claimed(lines: Lines, sheets: Sheets, claims: tuple[Claim, ...]) -> None:
    """Late interest and what is claimed, for the claims that wait for no draw."""
    for claim in claims:
        if claim.kind in ("once", "recurring", "refund"):
            unpaid = lines.at("claims", claim.name, "unpaid before")
            late = ZERO
            if claim.kind != "refund":
                late_rate = amount(sheets, "claims", claim.name, "late_rate")
                late = unpaid * late_rate * DAYS / constant(lines, "year")
            lines.add("claims", claim.name, "late", "money", f"late interest on what is unpaid of {claim.name}", late)
            say_claimed(lines, claim.name)


def say_claimed(lines: Lines, claim: str, item: str = "claimed", due: str = "due") -> Node:
    """claimed = unpaid before + late + due."""
    parts = (lines.at("claims", claim, part) for part in ("unpaid before", "late", due))
    return lines.add("claims", claim, item, "money", f"what is claimed of {claim}", total(parts))


def add_paid(lines: Lines, claim: Claim, parts: list[Node], still_open: Node) -> None:
    """What the places and supports paid of a claim, and what is open after the last of them."""
    lines.add("claims", claim.name, "paid", "money", f"what is paid of {claim.name}", total(parts))
    says = f"what stays unpaid of {claim.name}"
    lines.add("claims", claim.name, "unpaid", "money", says, still_open, opening=ZERO)
