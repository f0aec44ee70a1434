"""Legal but odd: checks of a deal's numbers and of the ways its cash can take. Each yields what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stuckstep.deal import Cell, schema
from stuckstep.deal.cells import number_text
from stuckstep.deal.scenarios import BASE, Sheets
from stuckstep.deal.warning_codes import codes, typical_prices
from stuckstep.rules.claims import Claim

from .plan import Plan

_COUNTED = {
    "usd_per_rack": ("racks",),
    "usd_per_gpu": ("racks", "gpus_per_rack"),
    "usd_per_gpu_hour": ("racks", "gpus_per_rack"),
    "usd_per_mw": ("mw",),
    "usd_per_mw_year": ("mw",),
    "usd_per_kw_month": ("mw",),
    "usd_per_mwh": ("mw",),
}


class Found(NamedTuple):
    """Something odd: its code, the table and row it stands at, the name it is accepted by, and what is odd."""

    code: str
    table: str
    row: str
    name: str
    said: str


def found(code: str, table: str, row: str, said: str, column: str = "") -> Found:
    """What is found at a row, or at one column of it (accepted as row.column)."""
    return Found(code, table, row, f"{row}.{column}" if column else row, said)


def unusual(plan: Plan) -> Iterator[Found]:
    """Numbers above what is usual in their column, in base and in what scenarios change."""
    usual = {(column.table, column.column): column.usual for column in schema() if column.usual is not None}
    for cell, scenario, value in _numbers(plan):
        key = ("deal", cell.row) if cell.table == "deal" else (cell.table, cell.column)
        most = usual.get(key)
        if most is not None and value > most:
            said = f"{key[1]} {number_text(value)} is above the usual {number_text(most)}{_in(scenario)}"
            row = cell.row.partition("@")[0]
            yield found("unusual", cell.table, row, said, "" if cell.table == "deal" else cell.column)


def odd_price(plan: Plan) -> Iterator[Found]:
    """Prices and rates far from what the facts know for their basis."""
    beyond = codes()["odd_price"].most
    for cell, scenario, value in _numbers(plan):
        if (cell.table, cell.column) not in (("contracts", "price"), ("claims", "rate")):
            continue
        basis = str(Sheets((scenario,), plan.sheets.index).cell(cell.table, cell.row, "basis"))
        low, high = typical_prices().get((cell.table, basis), (0.0, float("inf")))
        if value > beyond * high or (0 < value < low / beyond):
            span = number_text(low) if low == high else f"{number_text(low)} to {number_text(high)}"
            said = f"{cell.column} {number_text(value)} {basis} is far from the {span} of the facts{_in(scenario)}"
            yield found("odd_price", cell.table, cell.row, said)


def _numbers(plan: Plan) -> Iterator[tuple[Cell, str, float]]:
    """Every number that is given, with its cell: those of the sheets (base), then those that scenarios change."""
    for table, rows in plan.deal.tables.items():
        if table in ("scenarios", "accepted", "studies", "uncertainties"):
            continue
        for row in rows:
            key = str(next(iter(row.cells.values())))
            for column, value in row.cells.items():
                if isinstance(value, float):
                    yield Cell(table, key, column), BASE, value
    for scenario, changes in plan.sheets.index.changes.items():
        for cell, row in changes.items():
            value = row.cells["value"]
            if isinstance(value, float):
                yield cell, scenario, value


def _in(scenario: str) -> str:
    return "" if scenario == BASE else f" in scenario {scenario}"


def odd_density(plan: Plan) -> Iterator[Found]:
    """Phases with too little or too much power for their racks."""
    code = codes()["odd_density"]
    for phase in plan.sheets.keys("phases"):
        racks, mw = plan.number("phases", phase, "racks"), plan.number("phases", phase, "mw")
        if racks and mw and not code.least <= mw / racks <= code.most:
            yield found("odd_density", "phases", phase, f"{number_text(mw)} MW for {number_text(racks)} racks")


def nothing_counted(plan: Plan) -> Iterator[Found]:
    """Claims and contracts by a quantity that a phase has none of."""
    for table in ("contracts", "claims"):
        for row in plan.sheets.keys(table):
            basis = plan.text(table, row, "basis") or ""
            counted = _COUNTED.get(basis, ())
            phases = [p for p in plan.phases_of(table, row) if p != "deal"]
            none = [p for p in phases if any(plan.number("phases", p, column) == 0 for column in counted)]
            if none:
                yield found("nothing_counted", table, row, f"{basis} comes to nothing in {', '.join(none)}")


def no_contract(plan: Plan) -> Iterator[Found]:
    """Phases that never bill."""
    for phase in plan.sheets.keys("phases"):
        if plan.text("phases", phase, "contract") is None:
            yield found("no_contract", "phases", phase, "the phase has no contract and never bills")


def refund_missing(plan: Plan) -> Iterator[Found]:
    """Prepayments that may be owed back, and from nowhere."""
    for contract in plan.sheets.keys("contracts"):
        ends_early = plan.text("contracts", contract, "end_rule") == "fixed"
        may_be_owed = ends_early or plan.text("contracts", contract, "longstop_days") is not None
        is_prepaid = plan.number("contracts", contract, "prepay_share") > 0
        if is_prepaid and may_be_owed and plan.text("contracts", contract, "refund_from") is None:
            why = "a late phase bills less than was prepaid" if ends_early else "a phase may be cancelled"
            yield found("refund_missing", "contracts", contract, f"{why}, and refund_from is blank")


def unused(plan: Plan) -> Iterator[Found]:
    """Contracts, accounts and parties without effect."""
    for contract in plan.sheets.keys("contracts"):
        if not plan.phases_of("contracts", contract):
            yield found("unused", "contracts", contract, "no phase names the contract")
    used = {place.account for claim in plan.claims for place in claim.places} | {claim.payee for claim in plan.claims}
    for table, columns in {"contracts": ("account", "prepay_account"), "facilities": ("account",)}.items():
        used |= {str(plan.text(table, row, column)) for row in plan.sheets.keys(table) for column in columns}
    for account in plan.sheets.keys("accounts"):
        if account not in used:
            yield found("unused", "accounts", account, "nothing is paid into the account or out of it")
    for party in _unnamed(plan):
        yield found("unused", "parties", party, "nothing names the party")


def _unnamed(plan: Plan) -> Iterator[str]:
    """Parties that no cell names, in base or in any scenario."""
    columns = [column for column in schema() if "parties" in column.sources]
    named = {plan.text(one.table, row, one.column) for one in columns for row in plan.sheets.keys(one.table)}
    for changes in plan.sheets.index.changes.values():
        named |= {str(row.cells["value"]) for row in changes.values()}
    return (party for party in plan.sheets.keys("parties") if party not in named)


def no_change(plan: Plan) -> Iterator[Found]:
    """Scenarios that are base under another name."""
    sheets = plan.sheets
    for scenario, changes in sheets.index.changes.items():
        if all(sheets.input(cell, scenario) == sheets.input(cell, BASE) for cell in changes):
            yield found("no_change", "scenarios", scenario, "every cell it changes holds what it holds in base")


def shares_above(plan: Plan) -> Iterator[Found]:
    """Parts of one cost that come to more than the whole: claims alike but for their share and where they are paid."""
    parts: dict[tuple[object, ...], dict[str, float]] = {}
    for claim in plan.sheets.keys("claims"):
        if plan.text("claims", claim, "kind") != "residual":
            alike = [plan.text("claims", claim, column) for column in ("payee", "kind", "basis")]
            rate, share = (plan.number("claims", claim, column) for column in ("rate", "share"))
            for phase in plan.phases_of("claims", claim):
                parts.setdefault((*alike, rate, phase), {})[claim] = share
    most = codes()["shares_above"].most
    for (payee, *_, where), shares in parts.items():
        *others, last = shares
        if min(shares.values()) < 1 and sum(shares.values()) > most + 1e-9:
            percent = number_text(100 * sum(shares.values()))
            said = f"with {', '.join(others)} it pays {payee} {percent}% of one cost in {where}"
            yield found("shares_above", "claims", last, said)


def never_funded(plan: Plan) -> Iterator[Found]:
    """Claims that no cash and no support can reach."""
    for claim in _beyond_reach(plan):
        if claim.kind != "residual" and claim.places:
            table = "claims" if claim.name in plan.sheets.keys("claims") else _maker(plan, claim.name)
            row = claim.name if table == "claims" else claim.name.rpartition(".")[0]
            where = ", ".join(place.account for place in claim.places)
            said = f"nothing ever reaches {where} to pay {claim.name}, and no support covers it"
            column = "" if table == "claims" else claim.name.rpartition(".")[2]
            yield found("never_funded", table, row, said, column)


def _maker(plan: Plan, claim: str) -> str:
    return "facilities" if claim.rpartition(".")[0] in plan.sheets.keys("facilities") else "contracts"


def residual_never(plan: Plan) -> Iterator[Found]:
    """Residuals that can never pay."""
    unreached = _beyond_reach(plan)
    unpaid = [claim.name for claim in unreached if claim.kind != "residual" and claim.places]
    for claim in plan.claims:
        if claim.kind != "residual":
            continue
        lockup = plan.sheets.cell("claims", claim.name, "lockup")
        to_party = claim.payee in plan.sheets.keys("parties")
        locked = list(lockup) if isinstance(lockup, tuple) else unpaid if to_party else []
        waits = [str(name) for name in locked if name in unpaid]
        if plan.at("claims", claim.name, "starts") >= plan.periods.first_day[-1] + 1:
            said = "its trigger is planned after the first day of the last period"
        elif claim in unreached:
            said = f"nothing ever reaches {', '.join(place.account for place in claim.places)}"
        elif waits:
            said = f"it waits for {', '.join(waits)}, which can never be paid"
        else:
            continue
        yield found("residual_never", "claims", claim.name, said)


def _beyond_reach(plan: Plan) -> list[Claim]:
    """The claims that no cash and no support ever reaches: accounts are filled step by step until none is added."""
    accounts = set(plan.sheets.keys("accounts"))
    supported = {name for names in plan.covered.values() for name in names}
    reached = _filled_from_outside(plan)
    while True:
        left = [
            claim
            for claim in plan.claims
            if claim.name not in supported and not any(place.account in reached for place in claim.places)
        ]
        more = {claim.payee for claim in plan.claims if claim not in left} & accounts - reached
        if not more:
            return left
        reached |= more


def _filled_from_outside(plan: Plan) -> set[str]:
    """Accounts that hold cash, or into which customers or lenders pay."""
    sheets = plan.sheets
    filled = {account for account in sheets.keys("accounts") if plan.number("accounts", account, "opening_cash") > 0}
    filled |= {
        str(plan.text("facilities", facility, "account"))
        for facility in sheets.keys("facilities")
        if plan.number("facilities", facility, "commitment") > 0
    }
    for contract in sheets.keys("contracts"):
        if plan.phases_of("contracts", contract) and plan.number("contracts", contract, "price") > 0:
            filled.add(str(plan.text("contracts", contract, "account")))
            if plan.number("contracts", contract, "prepay_share") > 0:
                filled.add(str(plan.text("contracts", contract, "prepay_account")))
    return filled
