"""All the lines of a deal, in the order in which they are worked out."""

from stuckstep.deal import Sheets

from .accounts import add_accounts
from .checks import add_checks
from .claims import add_claimed, add_due, add_unpaid_before, all_claims
from .constants import add_constants
from .contracts import add_contracts
from .facilities import add_balances, add_cover, add_debt_before_draw, add_facilities
from .lines import Lines
from .parties import add_parties
from .schedule import add_schedule


def build(sheets: Sheets, plan: Sheets) -> Lines:
    """The lines of the scenarios in `sheets`, which share one structure; `plan` is the base sheets."""
    lines = Lines()
    claims = all_claims(sheets)
    add_constants(lines)
    add_schedule(lines, sheets, plan)
    add_contracts(lines, sheets)
    add_due(lines, sheets)
    add_facilities(lines, sheets)
    add_unpaid_before(lines, claims)
    add_claimed(lines, sheets, claims)
    add_debt_before_draw(lines, sheets)
    add_accounts(lines, sheets, claims)
    add_balances(lines, sheets)
    add_cover(lines, sheets, claims)
    add_parties(lines, sheets, claims)
    add_checks(lines, sheets, claims)
    return lines.close()
