"""Random deals that are valid by the rules, as raw tables of text, for tests that compare two readers of the rules.

Every deal obeys what the sheets demand: places in the order of the accounts, a facility's fee and interest not before
its own account, payees among accounts later than every place, and no once claim due before the start (its trigger lies
at or after the start, its net_days are not negative); a refund may be. Phases already live before the start are there
for contracts and recurring claims.
"""

from __future__ import annotations

import csv
from datetime import date, timedelta
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

Row = dict[str, str]
Tables = dict[str, list[Row]]

COLUMNS = {
    "deal": ["item", "value"],
    "parties": ["party", "role"],
    "phases": ["phase", "order_date", "racks", "gpus_per_rack", "mw", "contract"],
    "steps": ["step", "party", "after", "days", "delay", "not_before", "status"],
    "contracts": [
        *["contract", "customer", "account", "prepay_account", "basis", "price", "escalator", "term_days", "net_days"],
        *["take_or_pay", "utilisation", "prepay_share", "prepay_trigger", "end_rule", "longstop_days", "refund_from"],
    ],
    "accounts": ["account", "party", "opening_cash", "minimum_cash"],
    "claims": [
        *["claim", "paid_from", "payee", "kind", "basis", "rate", "share", "phase", "trigger", "net_days", "term_days"],
        *["escalator", "late_rate", "lockup"],
    ],
    "facilities": [
        *["facility", "lender", "account", "commitment", "opening_balance", "advance_rate", "eligible", "condition"],
        *["available_from", "available_until", "margin", "floor", "commitment_fee", "upfront_fee", "first_repayment"],
        *["instalments", "repay_every_months", "fee_from", "interest_from", "principal_from", "default_margin"],
    ],
    "supports": ["support", "party", "account", "commitment", "available_from", "available_until", "covers"],
    "scenarios": ["scenario", "table", "row", "column", "value"],
}
PARTIES = ["chipmaker", "landlord", "lender", "sponsor", "buyer"]
RANKS = ["10", "20", "30", "40"]
DAILY = {  # a rate that gives a phase some hundred thousand to some million a quarter
    "usd_per_kw_month": ["120", "900"],
    "usd_per_mw_year": ["1500000", "9000000"],
    "usd_per_gpu_hour": ["0.7", "2.35"],
    "usd_per_mwh": ["76.5", "800"],
    "usd_per_year": ["365000", "4000000"],
}
FACILITIES = [(500_000, 0), (8_000_000, 0), (30_000_000, 0), (6_000_000, 2_500_000)]  # commitment, opening balance
ONCE = {
    "usd": ["250000", "3000000"],
    "usd_per_rack": ["90000", "700000"],
    "usd_per_gpu": ["2960", "9000"],
    "usd_per_mw": ["400000", "2500000"],
}


def write_tables(tables: Tables, folder: str | Path) -> Path:
    """The tables as CSV files of a deal folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS[name], restval="")
            writer.writeheader()
            writer.writerows(rows)
    return folder


def full_row(table: str, /, **cells: str) -> Row:
    return {**dict.fromkeys(COLUMNS[table], ""), **cells}


@cache
def whole(least: int, most: int) -> st.SearchStrategy[int]:
    """Whole numbers, one strategy per range: making a strategy costs more than drawing from it."""
    return st.integers(least, most)


def one_of(draw, *options):
    """One of the options; a failing deal shrinks towards the first."""
    return options[draw(whole(0, len(options) - 1))]


def maybe(draw) -> bool:
    return draw(whole(0, 1)) == 1


def subset(draw, options: list[str], least: int = 0, most: int = 3) -> list[str]:
    """Some of the options, in their order: each by one bit of a number, the first ones where that gives too few."""
    bits = draw(whole(0, 2 ** len(options) - 1))
    chosen = [option for bit, option in enumerate(options) if bits >> bit & 1]
    return chosen[:most] if len(chosen) >= least else options[:least]


class Maker:
    """The names of one deal as they come to be, and what may be drawn from them."""

    def __init__(self, draw) -> None:
        self.draw = draw
        self.start = date.fromisoformat(one_of(draw, "2027-01-01", "2027-07-01", "2023-10-01", "2028-01-01"))
        self.quarters = draw(whole(6, 16))
        self.accounts = [f"acc{n}" for n in range(draw(whole(2, 4)))]
        self.steps = [f"step{n}" for n in range(draw(whole(2, 5)))]
        phases = [f"ph{n}" for n in range(draw(whole(1, 3)))]
        self.live = [phase for phase in phases if draw(whole(0, 4)) == 4]
        self.new = [phase for phase in phases if phase not in self.live]
        self.phases = phases
        self.once: list[str] = []
        self.payable: list[str] = []  # what a lockup may name: facilities' claims and refunds too

    def day(self, least: int, most: int) -> str:
        """A date so many days after the start."""
        return str(self.start + timedelta(days=self.draw(whole(least, most))))

    def trigger(self) -> str:
        return one_of(self.draw, "order", "billing", *self.steps, self.day(0, 500))

    def once_trigger(self, phase: str) -> str:
        """A trigger that cannot lie before the start, for a claim of these phases."""
        if self.live and phase in ("", "deal"):
            return self.day(0, 500)
        return self.trigger()

    def once_phase(self) -> str:
        some = ";".join(subset(self.draw, self.new, 1)) if self.new else "deal"
        return one_of(self.draw, "", some, "deal")

    def places(self, first: int = 0, last: int | None = None) -> str:
        accounts = subset(self.draw, self.accounts[first:last], 1)
        return ";".join(f"{account}:{one_of(self.draw, *RANKS)}" for account in accounts)

    def later_account(self, places: str) -> str | None:
        """An account after all these places, if there is one."""
        last = self.accounts.index(places.split(";")[-1].split(":")[0])
        later = self.accounts[last + 1 :]
        return one_of(self.draw, *later) if later else None

    def payee(self, places: str) -> str:
        account = self.later_account(places)
        return account if account and self.draw(whole(0, 3)) == 0 else one_of(self.draw, *PARTIES)


# The sheets -----------------------------------------------------------------------------------------------------------


def deal_rows(make: Maker) -> list[Row]:
    items = {
        "title": "A random deal",
        "currency": "USD",
        "start": str(make.start),
        "quarters": str(make.quarters),
        "grid": one_of(make.draw, "", "quarter", "month"),
        "base_rate": one_of(make.draw, "", "0.04", "0.055"),
        "discount_rate": one_of(make.draw, "", "0.1"),
        "billing_unit": one_of(make.draw, "", "phase", "deal"),
    }
    return [full_row("deal", item=item, value=value) for item, value in items.items()]


def phase_rows(make: Maker, contracts: list[str]) -> list[Row]:
    draw, rows = make.draw, []
    for phase in make.phases:
        racks, gpus, mw = one_of(draw, ("10", "72", "1.2"), ("4", "8", "0.6"), ("", "", "3"), ("6", "", ""))
        rows.append(
            full_row(
                "phases",
                phase=phase,
                order_date=make.day(0, 200) if phase in make.new else make.day(-900, -300),
                racks=racks,
                gpus_per_rack=gpus,
                mw=mw,
                contract=one_of(draw, *contracts, "") if maybe(draw) else contracts[0],
            )
        )
    return rows


def step_rows(make: Maker) -> list[Row]:
    draw, rows = make.draw, []
    statuses = ["connected", "installed", "active", "billing", ""]
    turn = draw(whole(0, 4))
    statuses = statuses[turn:] + statuses[:turn]
    for number, step in enumerate(make.steps):
        rows.append(
            full_row(
                "steps",
                step=step,
                party=one_of(draw, *PARTIES),
                after=";".join(subset(draw, make.steps[:number])),
                days=str(draw(whole(0, 120))),
                delay=one_of(draw, "", "", "0", "45"),
                not_before=make.day(0, 200) if draw(whole(0, 5)) == 5 else "",
                status=statuses[number],
            )
        )
    return rows if draw(whole(0, 4)) else rows[::-1]  # a step may stand above those it comes after


def contract_rows(make: Maker, contracts: list[str]) -> list[Row]:
    draw, rows = make.draw, []
    for contract in contracts:
        basis = one_of(draw, *DAILY)
        rows.append(
            full_row(
                "contracts",
                contract=contract,
                customer=one_of(draw, "buyer", "sponsor"),
                account=one_of(draw, *make.accounts),
                prepay_account=one_of(draw, "", *make.accounts),
                basis=basis,
                price=one_of(draw, *DAILY[basis]),
                escalator=one_of(draw, "", "0.03", "0.1"),
                term_days=str(draw(whole(150, 1500))),
                net_days=one_of(draw, "", "30", "75"),
                take_or_pay=one_of(draw, "", "0.8", "1"),
                utilisation=one_of(draw, "", "0.5", "0.9"),
                prepay_share=one_of(draw, "", "0.05", "0.3", "0.9"),
                prepay_trigger=one_of(draw, "", make.trigger()),
                end_rule=one_of(draw, "", "shift", "fixed"),
                longstop_days=one_of(draw, "", "", "40", "90", "150", "0"),
                refund_from=one_of(draw, make.places(), make.places(), ""),
            )
        )
        if rows[-1]["refund_from"]:
            make.payable.append(f"{contract}.refund")
    return rows


def account_rows(make: Maker) -> list[Row]:
    return [
        full_row(
            "accounts",
            account=account,
            party=one_of(make.draw, *PARTIES),
            opening_cash=one_of(make.draw, "", "400000", "5000000"),
            minimum_cash=one_of(make.draw, "", "100000"),
        )
        for account in make.accounts
    ]


def once_row(make: Maker, name: str) -> Row:
    draw, paid_from, phase = make.draw, make.places(), make.once_phase()
    basis = "usd" if phase == "deal" else one_of(draw, *ONCE)
    make.once.append(name)
    return full_row(
        "claims",
        claim=name,
        paid_from=paid_from,
        payee=make.payee(paid_from),
        kind="once",
        basis=basis,
        rate=one_of(draw, *ONCE[basis]),
        share=one_of(draw, "", "0.4"),
        phase=phase,
        trigger=make.once_trigger(phase),
        net_days=one_of(draw, "", "30", "61"),
        late_rate=one_of(draw, "", "0.08"),
    )


def recurring_row(make: Maker, name: str) -> Row:
    draw, paid_from = make.draw, make.places()
    phase = one_of(draw, "", ";".join(subset(draw, make.phases, 1)), "deal")
    basis = "usd_per_year" if phase == "deal" else one_of(draw, *DAILY)
    return full_row(
        "claims",
        claim=name,
        paid_from=paid_from,
        payee=make.payee(paid_from),
        kind="recurring",
        basis=basis,
        rate=DAILY[basis][0],
        share=one_of(draw, "", "0.3"),
        phase=phase,
        trigger=make.trigger(),
        net_days=one_of(draw, "", "30", "-45"),
        term_days=one_of(draw, "", "200", "900"),
        escalator=one_of(draw, "", "0.03", "0.1"),
        late_rate=one_of(draw, "", "0.1"),
    )


def residual_row(make: Maker, name: str) -> Row:
    draw = make.draw
    place = f"{one_of(draw, *make.accounts)}:{one_of(draw, '80', '90')}"
    return full_row(
        "claims",
        claim=name,
        paid_from=place,
        payee=(maybe(draw) and make.later_account(place)) or one_of(draw, *PARTIES),
        kind="residual",
        trigger=make.trigger(),
        lockup=";".join(subset(draw, make.payable)) if maybe(draw) else "",
    )


def facility_row(make: Maker, name: str) -> Row:
    draw, own = make.draw, make.draw(whole(0, len(make.accounts) - 1))
    commitment, opening = FACILITIES[draw(whole(0, 3))]
    opens = draw(whole(0, 300))
    make.payable += [f"{name}.fee", f"{name}.interest", f"{name}.principal"]
    return full_row(
        "facilities",
        facility=name,
        lender=one_of(draw, "lender", "sponsor"),
        account=make.accounts[own],
        commitment=str(commitment),
        opening_balance=str(opening or ""),
        advance_rate=one_of(draw, "0.6", "0.85", "1"),
        eligible=";".join(subset(draw, make.once, 1)),
        condition=one_of(draw, "", "", *make.steps),
        available_from=one_of(draw, "", make.day(opens, opens), "order", make.steps[0]),
        available_until=one_of(draw, "", make.day(opens + 1, opens + 700), "billing"),
        margin=one_of(draw, "0.03", "0.0625"),
        floor=one_of(draw, "", "0.05"),
        commitment_fee=one_of(draw, "", "0.005"),
        upfront_fee=one_of(draw, "", "0.015"),
        first_repayment=one_of(draw, make.day(200, 900), make.day(-400, 200), "billing", "2029-01-31"),
        instalments=str(draw(whole(1, 12))),
        repay_every_months=one_of(draw, "", "1", "3", "6"),
        fee_from=make.places(own),
        interest_from=make.places(own),
        principal_from=make.places(),
        default_margin=one_of(draw, "", "0.02"),
    )


def placed_here(tables: Tables, account: str) -> list[str]:
    """The claims, residuals apart, that list a place in an account."""
    here = [r["claim"] for r in tables["claims"] if r["kind"] != "residual" and f"{account}:" in r["paid_from"]]
    here += [f"{r['contract']}.refund" for r in tables["contracts"] if f"{account}:" in r["refund_from"]]
    for row in tables["facilities"]:
        for part in ("fee", "interest", "principal"):
            if f"{account}:" in row[f"{part}_from"]:
                here.append(f"{row['facility']}.{part}")
    return here


def support_row(make: Maker, tables: Tables, name: str) -> Row:
    draw, account = make.draw, one_of(make.draw, *make.accounts)
    covers = subset(draw, placed_here(tables, account)) if maybe(draw) else []
    return full_row(
        "supports",
        support=name,
        party=one_of(draw, "sponsor", "chipmaker"),
        account=account,
        commitment=one_of(draw, "", "300000", "4000000"),
        available_from=one_of(draw, "", make.day(0, 300), make.steps[0]),
        available_until=one_of(draw, "", make.day(301, 900), "billing"),
        covers=";".join(covers),
    )


# The scenarios --------------------------------------------------------------------------------------------------------

Change = tuple[str, str, str, str]  # table, row, column, value


def delay_changes(make: Maker) -> list[Change]:
    """A delay in every phase, in one, or in every phase with one that is different."""
    draw, step = make.draw, one_of(make.draw, *make.steps)
    plain = ("steps", step, "delay", str(draw(whole(0, 200))))
    narrow = ("steps", f"{step}@{one_of(draw, *make.phases)}", "delay", str(draw(whole(0, 200))))
    return one_of(draw, [plain], [narrow], [narrow, plain], [plain, narrow])


def number_change(make: Maker, tables: Tables) -> Change:
    """Another number or date."""
    draw = make.draw
    contract, name = tables["contracts"][0], tables["contracts"][0]["contract"]
    claim = one_of(draw, *(row for row in tables["claims"] if row["kind"] != "residual"))["claim"]
    changes = [
        ("deal", "base_rate", "value", "0.07"),
        ("steps", f"{make.steps[0]}@{make.phases[-1]}", "days", "90"),
        ("steps", f"{make.steps[-1]}@{make.phases[0]}", "not_before", make.day(100, 300)),
        ("phases", make.phases[0], "mw", "2.5"),
        ("contracts", name, "price", DAILY[contract["basis"]][-1]),
        ("contracts", name, "prepay_share", "0.2"),
        ("contracts", name, "net_days", "45"),
        ("contracts", name, "term_days", "400"),
        ("contracts", name, "longstop_days", "20"),
        ("accounts", make.accounts[0], "opening_cash", "900000"),
        ("accounts", make.accounts[-1], "minimum_cash", "50000"),
        ("claims", claim, "rate", "123456"),
        ("claims", claim, "late_rate", "0.12"),
    ]
    later = make.day(100, 300)
    changes += [("phases", phase, "order_date", later) for phase in make.new]
    for row in tables["facilities"]:
        changes += [
            ("facilities", row["facility"], "commitment", "7000000"),
            ("facilities", row["facility"], "advance_rate", "0.5"),
            ("facilities", row["facility"], "margin", "0.09"),
        ]
        if row["first_repayment"] != "billing":
            changes.append(("facilities", row["facility"], "first_repayment", later))
    changes += [("supports", row["support"], "commitment", "1000000") for row in tables["supports"]]
    return one_of(draw, *changes)


def contract_structure(make: Maker, tables: Tables) -> Change:
    draw, contract = make.draw, one_of(make.draw, *tables["contracts"])["contract"]
    return one_of(
        draw,
        ("contracts", contract, "account", one_of(draw, *make.accounts)),
        ("contracts", contract, "prepay_account", one_of(draw, *make.accounts)),
        ("contracts", contract, "end_rule", one_of(draw, "shift", "fixed")),
        ("contracts", contract, "prepay_trigger", make.trigger()),
    )


def claim_structure(make: Maker, tables: Tables) -> Change:
    """Another trigger, basis or chain of places; a claim that a support names keeps its places."""
    draw, row = make.draw, one_of(make.draw, *tables["claims"])
    claim, column = row["claim"], one_of(make.draw, "trigger", "basis", "paid_from")
    if column == "basis" and row["kind"] == "recurring" and row["phase"] != "deal":
        return "claims", claim, column, one_of(draw, *DAILY)
    covered = any(claim in support["covers"].split(";") for support in tables["supports"])
    if column == "paid_from" and row["kind"] != "residual" and not covered:
        last = make.accounts.index(row["payee"]) if row["payee"] in make.accounts else None
        return "claims", claim, column, make.places(0, last)
    trigger = make.once_trigger(row["phase"]) if row["kind"] == "once" else make.trigger()
    return "claims", claim, "trigger", trigger


def facility_structure(make: Maker, tables: Tables) -> Change:
    draw, row = make.draw, one_of(make.draw, *tables["facilities"])
    own = f"{row['fee_from']};{row['interest_from']}".split(";")
    first = min(make.accounts.index(place.split(":")[0]) for place in own)
    return one_of(
        draw,
        ("facilities", row["facility"], "account", one_of(draw, *make.accounts[: first + 1])),
        ("facilities", row["facility"], "condition", one_of(draw, "", *make.steps)),
        ("facilities", row["facility"], "eligible", ";".join(subset(draw, make.once, 1))),
    )


def structural_change(make: Maker, tables: Tables) -> Change:
    """Another shape of the deal: who comes after whom, what is placed where, what triggers what."""
    draw = make.draw
    part = one_of(draw, "unit", "after", "contracts", "claims", "claims", "facilities")
    if part == "after":
        return "steps", make.steps[-1], "after", ";".join(subset(draw, make.steps[:-1]))
    if part == "contracts":
        return contract_structure(make, tables)
    if part == "claims":
        return claim_structure(make, tables)
    if part == "facilities" and tables["facilities"]:
        return facility_structure(make, tables)
    return "deal", "billing_unit", "value", one_of(draw, "phase", "deal")


def scenario_rows(make: Maker, tables: Tables) -> list[Row]:
    draw, rows = make.draw, []
    for number in range(draw(whole(1, 4))):
        changes = delay_changes(make)
        if maybe(draw):
            changes = [*changes, number_change(make, tables)]
        if maybe(draw):
            changes = [*changes, structural_change(make, tables)]
        cells = {(table, row, column): value for table, row, column, value in changes}
        rows += [
            full_row("scenarios", scenario=f"case{number}", table=table, row=row, column=column, value=value)
            for (table, row, column), value in cells.items()
        ]
    return rows


@st.composite
def deals(draw) -> Tables:
    """A whole deal: 1-3 phases, 2-4 accounts, 1-3 contracts, 0-3 facilities and supports, 2-5 scenarios with base."""
    make = Maker(draw)
    contracts = [f"con{n}" for n in range(draw(whole(1, 3)))]
    tables = {
        "deal": deal_rows(make),
        "parties": [full_row("parties", party=party, role=party) for party in PARTIES],
        "phases": phase_rows(make, contracts),
        "steps": step_rows(make),
        "contracts": contract_rows(make, contracts),
        "accounts": account_rows(make),
        "claims": [once_row(make, f"once{n}") for n in range(draw(whole(1, 4)))],
    }
    tables["claims"] += [recurring_row(make, f"run{n}") for n in range(draw(whole(0, 3)))]
    make.payable += [row["claim"] for row in tables["claims"]]
    tables["facilities"] = [facility_row(make, f"fac{n}") for n in range(draw(whole(0, 3)))]
    tables["claims"] += [residual_row(make, f"rest{n}") for n in range(draw(whole(0, 3)))]
    tables["supports"] = [support_row(make, tables, f"sup{n}") for n in range(draw(whole(0, 3)))]
    tables["scenarios"] = scenario_rows(make, tables)
    return tables
