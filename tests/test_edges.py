"""Numbers at the edges, on a deal so small that every amount can be worked out by hand, or refused."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import reference
from compare import differences
from strategies import Row, Tables, full_row, write_tables
from stuckstep.deal import DealError, read
from stuckstep.results import label, solve
from stuckstep.results.validity import check_due_dates

pytestmark = pytest.mark.thorough

# Ordered at the start, 90 days of building, then a bill of 1,000 a day for a year; one invoice; a loan of 360,000.
DEAL: Tables = {
    "deal": [
        full_row("deal", item=item, value=value)
        for item, value in {
            "title": "Edges",
            "currency": "USD",
            "start": "2027-01-01",
            "quarters": "8",
            "base_rate": "0.04",
        }.items()
    ],
    "parties": [full_row("parties", party=name, role=name) for name in ("supplier", "lender", "neocloud", "customer")],
    "phases": [full_row("phases", phase="one", order_date="2027-01-01", racks="1", mw="1", contract="sale")],
    "steps": [full_row("steps", step="build", party="supplier", days="90", status="billing")],
    "contracts": [
        full_row(
            "contracts",
            contract="sale",
            customer="customer",
            account="bank",
            basis="usd_per_year",
            price="365000",
            term_days="365",
            refund_from="bank:5",
        )
    ],
    "accounts": [full_row("accounts", account="bank", party="neocloud", opening_cash="1000000")],
    "claims": [
        full_row(
            "claims",
            claim="invoice",
            paid_from="bank:10",
            payee="supplier",
            kind="once",
            basis="usd",
            rate="1000",
            phase="deal",
            trigger="2027-02-01",
        ),
        full_row(
            "claims",
            claim="rent",
            paid_from="bank:20",
            payee="supplier",
            kind="recurring",
            basis="usd_per_year",
            rate="365",
            trigger="2028-01-01",
        ),
    ],
    "facilities": [
        full_row(
            "facilities",
            facility="loan",
            lender="lender",
            account="bank",
            commitment="360000",
            opening_balance="360000",
            advance_rate="0",
            eligible="invoice",
            margin="0.03",
            first_repayment="2028-12-31",
            instalments="1",
            fee_from="bank:30",
            interest_from="bank:40",
            principal_from="bank:50",
        )
    ],
    "supports": [full_row("supports", support="equity", party="neocloud", account="bank")],
    "scenarios": [],
}

QUARTERS = ("2027Q1", "2027Q2", "2027Q3", "2027Q4", "2028Q1", "2028Q2", "2028Q3", "2028Q4")
Change = tuple[str, str, str, str]


def changed(*changes: Change) -> Tables:
    tables = {table: [dict(row) for row in rows] for table, rows in DEAL.items()}
    for table, name, column, value in changes:
        found: list[Row] = [row for row in tables[table] if next(iter(row.values())) == name]
        if found:
            found[0][column] = value
        else:
            tables[table].append(full_row(table, **{next(iter(tables[table][0])): name, column: value}))
    return tables


def _daily(claim: str, paid_from: str) -> list[Change]:
    """A claim of 1,000 a day from the start on."""
    cells = {"paid_from": paid_from, "payee": "supplier", "kind": "recurring", "basis": "usd_per_year"}
    return [
        ("claims", claim, name, cell) for name, cell in {**cells, "rate": "365000", "trigger": "2027-01-01"}.items()
    ]


# What is changed, and for lines what they come to by quarter: (quarter, amount), every other quarter being zero.
EDGES: dict[str, tuple[list[Change], dict[str, dict[str, float]]]] = {
    "as it is": (
        [],
        {
            "contracts.sale.billed@one": {"2027Q2": 91e3, "2027Q3": 92e3, "2027Q4": 92e3, "2028Q1": 90e3},
            "claims.invoice.paid": {"2027Q1": 1000},
            "claims.loan.principal.due": {"2028Q4": 360e3},
        },
    ),
    "zero MW": (
        [("phases", "one", "mw", "0"), ("contracts", "sale", "basis", "usd_per_mw_year")],
        {"contracts.sale.billed@one": {}, "mw.billing.mw": {}},
    ),
    "zero racks": (
        [
            ("phases", "one", "racks", "0"),
            ("claims", "invoice", "basis", "usd_per_rack"),
            ("claims", "invoice", "phase", ""),
        ],
        {"claims.invoice.due": {}},
    ),
    "1e15 of an invoice": (
        [("claims", "invoice", "rate", "1e15")],
        {"claims.invoice.paid": {"2027Q1": 1e15}, "claims.invoice.unpaid": {}},
    ),
    "1e15 a year": (
        [("contracts", "sale", "price", "1e15")],
        {
            "contracts.sale.billed@one": {
                q: d * 1e15 / 365 for q, d in (("2027Q2", 91), ("2027Q3", 92), ("2027Q4", 92), ("2028Q1", 90))
            }
        },
    ),
    "a cent": ([("claims", "invoice", "rate", "0.01")], {"claims.invoice.paid": {"2027Q1": 0.01}}),
    "a contract of one day": (
        [("contracts", "sale", "term_days", "1")],
        {"contracts.sale.billed@one": {"2027Q2": 1000}, "contracts.sale.collected@one": {"2027Q2": 1000}},
    ),
    "a contract of one day, paid for in advance": (
        [("contracts", "sale", "term_days", "1"), ("contracts", "sale", "prepay_share", "1")],
        {
            "contracts.sale.prepaid@one": {"2027Q1": 1000},
            "contracts.sale.collected@one": {},
            "claims.sale.refund.due": {},
        },
    ),
    # 3,652 days after 2027-04-01, with the leap days of 2028, 2032 and 2036: 2037-03-31
    "ten years of delay": (
        [("steps", "build", "delay", "3652"), ("deal", "quarters", "value", "42")],
        {"contracts.sale.billed@one": {"2037Q1": 1000, "2037Q2": 91e3}},
    ),
    # max(-0.02, -0.05) + 0.03 = 0.01 of 360,000 for 90, 91, 92 days of 360; the other years alike
    "a negative base rate": (
        [("deal", "base_rate", "value", "-0.02"), ("facilities", "loan", "floor", "-0.05")],
        {
            "claims.loan.interest.due": {
                **{"2027Q1": 900, "2027Q2": 910, "2027Q3": 920, "2027Q4": 920},
                **{"2028Q1": 910, "2028Q2": 910, "2028Q3": 920, "2028Q4": 920},
            }
        },
    ),
    "a negative base rate under a floor of zero": (
        [("deal", "base_rate", "value", "-0.05")],
        {
            "claims.loan.interest.due": {
                **{"2027Q1": 2700, "2027Q2": 2730, "2027Q3": 2760, "2027Q4": 2760},
                **{"2028Q1": 2730, "2028Q2": 2730, "2028Q3": 2760, "2028Q4": 2760},
            }
        },
    ),
    "a rate of nothing": (
        [
            ("deal", "base_rate", "value", "-0.05"),
            ("facilities", "loan", "floor", "-0.05"),
            ("facilities", "loan", "margin", "0.05"),
        ],
        {"claims.loan.interest.due": {}},
    ),
    "a leap year accrues 366 days": (
        [],
        {"claims.rent.due": {"2028Q1": 91, "2028Q2": 91, "2028Q3": 92, "2028Q4": 92}},
    ),
    # begins on 2028-02-29; the 365th day is 2029-02-27, and the second year's price begins on 2029-02-28
    "a contract that begins on a leap day": (
        [
            ("phases", "one", "order_date", "2028-02-29"),
            ("steps", "build", "days", "0"),
            ("contracts", "sale", "term_days", "366"),
            ("contracts", "sale", "escalator", "0.1"),
            ("deal", "quarters", "value", "10"),
        ],
        {
            "contracts.sale.billed@one": {
                "2028Q1": 32e3,
                "2028Q2": 91e3,
                "2028Q3": 92e3,
                "2028Q4": 92e3,
                "2029Q1": 58 * 1000 + 1100,
            }
        },
    ),
    # 2027-08-31 and every six months: 2028-02-29, 2028-08-31
    "instalments at month ends": (
        [
            ("facilities", "loan", "first_repayment", "2027-08-31"),
            ("facilities", "loan", "instalments", "3"),
            ("facilities", "loan", "repay_every_months", "6"),
        ],
        {"claims.loan.principal.due": {"2027Q3": 120e3, "2028Q1": 120e3, "2028Q3": 120e3}},
    ),
    "one instalment": (
        [("facilities", "loan", "first_repayment", "2027-06-30")],
        {"claims.loan.principal.due": {"2027Q2": 360e3}, "facilities.loan.balance": {"2027Q1": 360e3}},
    ),
    "a commitment of nothing": (
        [
            ("facilities", "loan", "commitment", "0"),
            ("facilities", "loan", "opening_balance", "0"),
            ("facilities", "loan", "advance_rate", "1"),
            ("accounts", "bank", "opening_cash", "0"),
            ("facilities", "loan", "commitment_fee", "0.01"),
            ("facilities", "loan", "upfront_fee", "0.05"),
        ],
        {
            "facilities.loan.draw": {},
            "facilities.loan.dscr": {},
            "claims.loan.fee.due": {},
            "supports.equity.paid": {"2027Q1": 1000},
        },
    ),
    # 900 for 1,500 at one rank: six tenths of each, and nothing for what ranks behind or comes later
    "a support that does not last": (
        [
            ("accounts", "bank", "opening_cash", "0"),
            ("supports", "equity", "commitment", "900"),
            ("claims", "peer", "paid_from", "bank:10"),
            ("claims", "peer", "payee", "supplier"),
            ("claims", "peer", "kind", "once"),
            ("claims", "peer", "basis", "usd"),
            ("claims", "peer", "rate", "500"),
            ("claims", "peer", "phase", "deal"),
            ("claims", "peer", "trigger", "2027-03-31"),
        ],
        {
            "supports.equity.paid": {"2027Q1": 900},
            "claims.invoice.paid": {"2027Q1": 600, "2027Q2": 400},
            "claims.peer.paid": {"2027Q1": 300, "2027Q2": 200},
        },
    ),
    "due before the window opens": (  # in the middle of the second quarter
        [("facilities", "loan", "available_from", "2027-05-15")],
        {"facilities.loan.eligible": dict.fromkeys(QUARTERS[1:], 1000)},
    ),
    "one quarter": (
        [("deal", "quarters", "value", "1")],
        {
            "claims.invoice.paid": {"2027Q1": 1000},
            "contracts.sale.billed@one": {},
            "accounts.bank.closing": {"2027Q1": 1e6 - 1000 - 360e3 * 0.07 * 90 / 360},
        },
    ),
    "one quarter by month": (
        [("deal", "quarters", "value", "1"), ("deal", "grid", "value", "month")],
        {"claims.invoice.paid": {"2027-02": 1000}},
    ),
    # ordered on 2024-01-01 and billing since 2024-03-31; a tenth was prepaid then and is credited on every bill
    "ordered years before the start": (
        [
            ("phases", "one", "order_date", "2024-01-01"),
            ("contracts", "sale", "term_days", "1096"),
            ("contracts", "sale", "prepay_share", "0.1"),
        ],
        {
            "contracts.sale.billed@one": {"2027Q1": 90e3},
            "contracts.sale.collected@one": {"2027Q1": 81e3},
            "contracts.sale.prepaid@one": {},
            "claims.sale.refund.due": {},
        },
    ),
    # ordered on 2027-04-01, installed on 2027-07-01, billing to 2027-09-30
    "reached on the first day of a quarter": (
        [
            ("phases", "one", "order_date", "2027-04-01"),
            ("steps", "build", "days", "91"),
            ("steps", "build", "status", "installed"),
            ("contracts", "sale", "term_days", "92"),
        ],
        {
            "mw.contracted.mw": dict.fromkeys(QUARTERS[1:], 1),
            "mw.installed.mw": dict.fromkeys(QUARTERS[2:], 1),
            "mw.billing.mw": {"2027Q3": 1},
        },
    ),
    "reached when the last of two steps ends": (  # after 183 days, on 2027-07-03
        [
            ("steps", "build", "status", "active"),
            ("steps", "wire", "party", "supplier"),
            ("steps", "wire", "days", "183"),
            ("steps", "wire", "status", "active"),
        ],
        {"mw.active.mw": dict.fromkeys(QUARTERS[2:], 1)},
    ),
    # of the loan's account only invoice and rent rank ahead of its principal, its own fee and interest apart
    "what ranks ahead of the principal": (
        [
            ("accounts", "side", "party", "neocloud"),
            *_daily("peer", "bank:50"),
            *_daily("junior", "bank:60"),
            *_daily("elsewhere", "side:1"),
            ("claims", "sweep", "paid_from", "bank:1"),
            ("claims", "sweep", "payee", "neocloud"),
            ("claims", "sweep", "kind", "residual"),
            ("claims", "sweep", "trigger", "2027-01-01"),
        ],
        {
            "facilities.loan.cfads": {
                **{"2027Q1": -1000, "2027Q2": 91e3, "2027Q3": 92e3, "2027Q4": 92e3},
                **{"2028Q1": 90e3 - 91, "2028Q2": -91, "2028Q3": -92, "2028Q4": -92},
            }
        },
    ),
    "steps of no days": (
        [("steps", "build", "days", "0"), ("contracts", "sale", "term_days", "90")],
        {"contracts.sale.billed@one": {"2027Q1": 90e3}},
    ),
    "due on the last day": (
        [("claims", "invoice", "trigger", "2028-12-31")],
        {"claims.invoice.due": {"2028Q4": 1000}},
    ),
    "due on the day after the last": ([("claims", "invoice", "trigger", "2029-01-01")], {"claims.invoice.due": {}}),
    "due on the first day": (
        [("claims", "invoice", "trigger", "2027-01-01")],
        {"claims.invoice.due": {"2027Q1": 1000}},
    ),
    # billed for 30 days of 2024 and prepaid a tenth of it: nothing is left to refund
    "over before the start": (
        [
            ("phases", "one", "order_date", "2024-01-01"),
            ("contracts", "sale", "term_days", "30"),
            ("contracts", "sale", "prepay_share", "0.1"),
        ],
        {"contracts.sale.billed@one": {}, "claims.sale.refund.due": {}},
    ),
    "a share of nothing": ([("claims", "invoice", "share", "0")], {"claims.invoice.due": {}}),
    "no days of accrual": ([("claims", "rent", "term_days", "0")], {"claims.rent.due": {}}),
    # a year of 2027 is the third one's price, of the 366 days of 2028 the last is the fifth one's
    "paid 730 days in advance": (
        [
            ("claims", "rent", "trigger", "2027-01-01"),
            ("claims", "rent", "net_days", "-730"),
            ("claims", "rent", "escalator", "0.1"),
        ],
        {
            "claims.rent.due": {
                **{"2027Q1": 90 * 1.21, "2027Q2": 91 * 1.21, "2027Q3": 92 * 1.21, "2027Q4": 92 * 1.21},
                **{"2028Q1": 91 * 1.331, "2028Q2": 91 * 1.331, "2028Q3": 92 * 1.331, "2028Q4": 91 * 1.331 + 1.4641},
            }
        },
    ),
    # planned for 30 days from 2027-04-01, ready 100 days later: nothing is billed, all that was prepaid goes back
    "begun after its fixed end": (
        [
            ("steps", "build", "delay", "100"),
            ("contracts", "sale", "end_rule", "fixed"),
            ("contracts", "sale", "term_days", "30"),
            ("contracts", "sale", "prepay_share", "0.1"),
        ],
        {
            "contracts.sale.billed@one": {},
            "contracts.sale.prepaid@one": {"2027Q1": 3000},
            "claims.sale.refund.due": {"2027Q2": 3000},
        },
    ),
    "paid 730 days in arrears": (  # the first day's rent on 2028-12-31
        [("claims", "rent", "trigger", "2027-01-01"), ("claims", "rent", "net_days", "730")],
        {"claims.rent.due": {"2028Q4": 1}},
    ),
}


def by_quarter(labels: Iterable[str], found: dict[str, float]) -> np.ndarray:
    names = list(labels)
    assert set(found) <= set(names)
    return np.array([found.get(name, 0.0) for name in names])


@pytest.mark.parametrize("edge", EDGES)
def test_an_edge_comes_to_what_the_hand_works_out(edge: str, tmp_path: Path) -> None:
    changes, expected = EDGES[edge]
    tables = changed(*changes)
    solution = solve(read(write_tables(tables, tmp_path)))
    check_due_dates(solution)
    for name, found in expected.items():
        wanted = by_quarter(solution.periods.labels, found)
        np.testing.assert_allclose(solution.line(name)[:, 0], wanted, rtol=1e-12, atol=1e-6, err_msg=name)
    assert solution.line("checks.master.broken").max() == 0
    scale = max(1.0, *(float(row["rate"] or 0) for row in tables["claims"]), float(tables["contracts"][0]["price"]))
    if scale < 1e12:  # the plain program is held against it to half a cent
        assert differences(solution, reference.run(tables)) == []
    results = label(solution)
    assert np.isfinite(results["paid"]).all()
    assert np.isfinite(results["npv"]).all()


def test_a_rank_short_by_less_than_a_millionth_is_paid_in_full(tmp_path: Path) -> None:
    tables = changed(
        ("claims", "invoice", "rate", "1000000.0000005"),
        *(("facilities", "loan", column, "0") for column in ("commitment", "opening_balance")),
    )
    solution = solve(read(write_tables(tables, tmp_path)))
    assert solution.line("accounts.bank.cash")[0, 0] == 1_000_000 < solution.line("accounts.bank.10 wanted")[0, 0]
    assert solution.line("accounts.bank.10 share")[0, 0] == 1


def test_the_plan_keeps_the_days_of_base(tmp_path: Path) -> None:
    longer = {"scenario": "longer", "table": "steps", "row": "build", "column": "days", "value": "120"}
    solution = solve(read(write_tables({**DEAL, "scenarios": [full_row("scenarios", **longer)]}, tmp_path)))
    place = solution.scenarios.index("longer")
    late = {name: solution.line(f"phases.one.{name}")[0, place] for name in ("planned billing", "billing", "days late")}
    assert late["days late"] == 30
    assert late["billing"] - late["planned billing"] == 30


def test_a_century(tmp_path: Path) -> None:
    """400 quarters, of which 24 years are leap years (2100 is none): 36,434 days of bills in 399 of them."""
    tables = changed(("deal", "quarters", "value", "400"), ("contracts", "sale", "term_days", "36500"))
    solution = solve(read(write_tables(tables, tmp_path)))
    billed = solution.line("contracts.sale.billed@one")[:, 0]
    assert billed.sum() == 36_434_000
    assert billed[-1] == 92_000
    assert solution.periods.labels[-1] == "2126Q4"
    assert solution.line("checks.master.broken").max() == 0
    assert differences(solution, reference.run(tables)) == []


def test_a_fixed_end_leaves_a_long_term_where_billing_begins_before_the_plan(tmp_path: Path) -> None:
    """Planned from 2029-04-01 for a year; from 2027-04-01 on it is 1,096 days, the last at the fourth year's price."""
    tables = changed(
        ("steps", "build", "not_before", "2029-01-01"),
        ("contracts", "sale", "end_rule", "fixed"),
        ("contracts", "sale", "escalator", "0.1"),
        ("deal", "quarters", "value", "14"),
    )
    early = {"scenario": "early", "table": "steps", "row": "build", "column": "not_before", "value": "2027-01-01"}
    solution = solve(read(write_tables({**tables, "scenarios": [full_row("scenarios", **early)]}, tmp_path)))
    billed = solution.line("contracts.sale.billed@one")[:, solution.scenarios.index("early")]
    np.testing.assert_allclose(billed[-2:], [89 * 1210 + 1331, 0], rtol=1e-12)
    assert solution.line("checks.master.broken").max() == 0


def test_a_scenario_may_bring_the_rate_down_to_nothing(tmp_path: Path) -> None:
    tables = changed(("facilities", "loan", "floor", "-0.05"), ("facilities", "loan", "margin", "0.05"))
    free = {"scenario": "free", "table": "deal", "row": "base_rate", "value": "-0.05"}
    solution = solve(read(write_tables({**tables, "scenarios": [full_row("scenarios", **free)]}, tmp_path)))
    interest = solution.line("claims.loan.interest.due")
    assert interest[0].tolist() == pytest.approx([0.09 * 360e3 * 90 / 360, 0])


REFUSED: dict[str, tuple[list[Change], str]] = {
    "a rate below zero": (
        [("deal", "base_rate", "value", "-0.05"), ("facilities", "loan", "floor", "-0.05")],
        "facilities.csv, row 2, column margin: max(base_rate, floor) + margin is -0.02, below 0; "
        "a rate of 0 or more is allowed",
    ),
    "more than 1e15": (
        [("claims", "invoice", "rate", "1100000000000000")],
        "claims.csv, row 2, column rate: 1.1e+15 is above 1e15",
    ),
    "no phase at all": ([("phases", "one", "racks", "0"), ("phases", "one", "mw", "0")], "phase one is empty"),
    "no quarter": ([("deal", "quarters", "value", "0")], "0 is below 1"),
    "due the day before the start": (
        [("claims", "invoice", "trigger", "2026-12-31")],
        "claims.csv, row 2, column trigger: invoice falls due on 2026-12-31, before the start",
    ),
    # prepaid on 2025-01-01, planned for 2025-04-01 and cancelled 30 days later
    "cancelled before the start": (
        [
            ("phases", "one", "order_date", "2025-01-01"),
            ("steps", "build", "delay", "100"),
            ("contracts", "sale", "prepay_share", "0.1"),
            ("contracts", "sale", "longstop_days", "30"),
        ],
        "contracts.csv, row 2: sale.refund falls due on 2025-05-01, before the start; "
        "a due date (the day a phase is cancelled or its term ends) on or after 2027-01-01 is allowed",
    ),
    # planned from 2025-04-01 for a year: 65 of its days are left, of which half is more than is billed
    "a late term that ended before the start": (
        [
            ("phases", "one", "order_date", "2025-01-01"),
            ("steps", "build", "delay", "300"),
            ("contracts", "sale", "prepay_share", "0.5"),
            ("contracts", "sale", "end_rule", "fixed"),
        ],
        "contracts.csv, row 2: sale.refund falls due on 2026-04-01, before the start",
    ),
    "beyond the calendar": (
        [("steps", f"s{n}", "after", f"s{n - 1}" if n else "build") for n in range(50)]
        + [("steps", f"s{n}", column, "36500") for n in range(50) for column in ("days", "delay")]
        + [("steps", f"s{n}", "party", "supplier") for n in range(50)],
        "steps.csv, row 40, column step: s37 in one ends after 9500-01-01",
    ),
}


@pytest.mark.parametrize("edge", REFUSED)
def test_an_edge_is_refused_in_words(edge: str, tmp_path: Path) -> None:
    changes, line = REFUSED[edge]
    with pytest.raises(DealError) as caught:
        check_due_dates(solve(read(write_tables(changed(*changes), tmp_path))))
    assert line in str(caught.value.faults[0])


# The last day is 2028-12-31. What is changed, and which rows then raise an alert.
ALERTS: dict[str, tuple[list[Change], dict[str, str]]] = {
    "as it is": ([], {"claims past horizon": "rent", "never drawn": "equity"}),
    "accrued to the last day": ([("claims", "rent", "term_days", "366")], {"never drawn": "equity"}),
    "a day longer": (
        [("claims", "rent", "term_days", "367")],
        {"claims past horizon": "rent", "never drawn": "equity"},
    ),
    "due a day later": (
        [("claims", "rent", "term_days", "366"), ("claims", "rent", "net_days", "1")],
        {"claims past horizon": "rent", "never drawn": "equity"},
    ),
    "begun after the last day": (
        [("claims", "rent", "trigger", "2029-01-01")],
        {"claims past horizon": "rent", "never drawn": "equity"},
    ),
    "due on the last day": (
        [("claims", "rent", "term_days", "366"), ("claims", "invoice", "trigger", "2028-12-31")],
        {"never drawn": "equity"},
    ),
    "due on the day after the last": (
        [("claims", "rent", "term_days", "366"), ("claims", "invoice", "trigger", "2029-01-01")],
        {"claims past horizon": "invoice", "never drawn": "equity"},
    ),
    # 2027-04-01 + 641 days is 2029-01-01
    "billed to the last day": (
        [("claims", "rent", "term_days", "366"), ("contracts", "sale", "term_days", "641")],
        {"never drawn": "equity"},
    ),
    "collected a day later": (
        [
            ("claims", "rent", "term_days", "366"),
            ("contracts", "sale", "term_days", "641"),
            ("contracts", "sale", "net_days", "1"),
        ],
        {"claims past horizon": "sale", "never drawn": "equity"},
    ),
    # the long-stop passed: nothing bills and what waits for billing never begins
    "cancelled": (
        [
            ("steps", "build", "delay", "2"),
            ("contracts", "sale", "longstop_days", "1"),
            ("contracts", "sale", "term_days", "36500"),
            ("claims", "rent", "trigger", "billing"),
        ],
        {"never drawn": "equity"},
    ),
    "lent beyond the last day": (
        [("claims", "rent", "term_days", "366"), ("facilities", "loan", "first_repayment", "2029-01-01")],
        {"claims past horizon": "loan.principal", "never drawn": "equity"},
    ),
    "a loan that is never drawn": (
        [("claims", "rent", "term_days", "366"), ("facilities", "loan", "opening_balance", "0")],
        {"never drawn": "loan;equity"},
    ),
    "a support that is drawn": (
        [("claims", "rent", "term_days", "366"), ("accounts", "bank", "opening_cash", "0")],
        {},
    ),
    "nothing to pay from": (
        [
            ("claims", "rent", "term_days", "366"),
            ("accounts", "bank", "opening_cash", "0"),
            ("contracts", "sale", "price", "0"),
            ("supports", "equity", "available_until", "2027-01-01"),
        ],
        {"unpaid at horizon": "invoice;rent;loan.interest;loan.principal", "never drawn": "equity"},
    ),
}


@pytest.mark.parametrize("edge", ALERTS)
def test_an_alert_names_what_raises_it(edge: str, tmp_path: Path) -> None:
    changes, expected = ALERTS[edge]
    results = label(solve(read(write_tables(changed(*changes), tmp_path)))).isel(scenario=0)
    raised_by = dict(zip(results["alert"].values, results["alert_on"].values, strict=True))
    assert {alert: rows for alert, rows in raised_by.items() if rows} == expected
    raised = dict(zip(results["alert"].values, results["alert_raised"].values, strict=True))
    counted = {alert: 1 if alert == "unpaid at horizon" else rows.count(";") + 1 for alert, rows in expected.items()}
    assert {alert: count for alert, count in raised.items() if count} == counted
