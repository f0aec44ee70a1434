"""Parties: sums of claims by payee, and what each party puts in. A sum, never a second calculation."""

from collections.abc import Iterable

from stuckstep.deal import Sheets

from .claims import Claim
from .contracts import billed_phases
from .expression import Node, total
from .lines import Lines


def add_parties(lines: Lines, sheets: Sheets, claims: tuple[Claim, ...]) -> None:
    """due, paid and unpaid by payee, what the party puts in, and the net of the two."""
    for party in sheets.keys("parties"):
        owed = [claim for claim in claims if claim.payee == party]

        def say(item: str, says: str, parts: Iterable[Node], party: str = party) -> Node:
            return lines.add("parties", party, item, "money", f"{says} {party}", total(parts))

        say("due", "what falls due to", (lines.at("claims", claim.name, "due") for claim in owed))
        paid = say("paid", "what is paid to", (lines.at("claims", claim.name, "paid") for claim in owed))
        unpaid = (lines.at("claims", claim.name, "unpaid") for claim in owed if claim.kind != "residual")
        say("unpaid", "what is still unpaid to", unpaid)
        puts_in = say("puts in", "draws, supports, collections and prepayments from", put_in(lines, sheets, party))
        says = f"what is paid to {party} less what it puts in"
        lines.add("parties", party, "net", "money", says, paid - puts_in)


def put_in(lines: Lines, sheets: Sheets, party: str) -> list[Node]:
    """What a party puts in: draws, what its supports pay, and what it pays and prepays as a customer."""
    facilities = [f for f in sheets.keys("facilities") if sheets.cell("facilities", f, "lender") == party]
    supports = [s for s in sheets.keys("supports") if sheets.cell("supports", s, "party") == party]
    contracts = [c for c in sheets.keys("contracts") if sheets.cell("contracts", c, "customer") == party]
    return [
        *(lines.at("facilities", facility, "draw") for facility in facilities),
        *(lines.at("supports", support, "paid") for support in supports),
        *(
            lines.at("contracts", contract, item, phase)
            for contract in contracts
            for phase in billed_phases(sheets, contract)
            for item in ("collected", "prepaid")
        ),
    ]
