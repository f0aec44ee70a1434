"""Legal but odd: each warning raised by a small change of a sound deal, accepted with a reason, changing nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner

import deal_files as files
import stuckstep as ss
from stuckstep.cli import main
from stuckstep.deal import DealError, schema
from stuckstep.deal.facts import facts, says
from stuckstep.deal.warning_codes import _rows, codes, typical_prices
from stuckstep.results.plausibility import CHECKS, accepted_in_vain, warnings

pytestmark = pytest.mark.thorough

ASSUMPTIONS = Path(__file__).parents[1] / "assumptions"
Change = tuple[str, str, str, str]


def deal_with(folder: Path, changes: Iterable[Change]) -> ss.Deal:
    files.copy(folder)
    for change in changes:
        files.put(folder, *change)
    return ss.read(folder)


# The code, the changes that raise it, and what it is accepted by, where it stands and what it says.
RAISED: list[tuple[str, list[Change], str, str]] = [
    ("unusual", [("facilities", "ddtl", "margin", "0.21")], "ddtl.margin", "facilities.csv, row 2"),
    ("unusual", [("deal", "base_rate", "value", "0.16")], "base_rate", "base_rate 0.16 is above the usual 0.15"),
    ("unusual", [("steps", "power", "delay", "3650")], "power.delay", "delay 3650 is above the usual 1825"),
    (
        "odd_price",
        [("claims", "rent", "rate", "15000")],
        "rent",
        "rate 15000 usd_per_kw_month is far from the 115 to 160",
    ),
    ("odd_price", [("claims", "hbm", "rate", "0.2960")], "hbm", "rate 0.296 usd_per_gpu is far from the 2960 to 23551"),
    ("odd_price", [("contracts", "anchor", "price", "12")], "anchor", "contracts.csv, row 2"),
    ("odd_density", [("phases", "su1", "mw", "1200")], "su1", "1200 MW for 8 racks"),
    ("odd_density", [("phases", "su1", "mw", "0.0012")], "su1", "0.0012 MW for 8 racks"),
    ("nothing_counted", [("phases", "su1", "mw", "0")], "anchor", "usd_per_mw_year comes to nothing in su1"),
    ("nothing_counted", [("phases", "su1", "gpus_per_rack", "0")], "hbm", "usd_per_gpu comes to nothing in su1"),
    (
        "no_change",
        [("scenarios", "power_late", "value", "0")],
        "power_late",
        "scenarios.csv, row 2: no_change power_late: every cell it changes holds what it holds in base",
    ),
    ("unused", [("parties", "auditor", "role", "audits")], "auditor", "parties.csv, row 11: unused auditor: nothing"),
    (
        "shares_above",
        [("claims", "chips_delivery", "share", "0.95")],
        "chips_delivery",
        "with chips_deposit it pays chipmaker 105% of one cost in su1",
    ),
    ("no_contract", [("phases", "su1", "contract", "")], "su1", "the phase has no contract"),
    ("never_bills", [("steps", "onboarding", "days", "9999")], "su1", "billing is planned for 20"),
    (
        "prepay_late",
        [("contracts", "anchor", "prepay_share", "0.1"), ("contracts", "anchor", "prepay_trigger", "2029-01-01")],
        "anchor",
        "the prepayment for su1 is planned for 2029-01-01, after billing on 20",
    ),
    (
        "refund_missing",
        [
            ("contracts", "anchor", "prepay_share", "0.1"),
            ("contracts", "anchor", "longstop_days", "90"),
            ("contracts", "anchor", "refund_from", ""),
        ],
        "anchor",
        "a phase may be cancelled, and refund_from is blank",
    ),
    (
        "refund_missing",
        [
            ("contracts", "anchor", "prepay_share", "0.1"),
            ("contracts", "anchor", "end_rule", "fixed"),
            ("contracts", "anchor", "refund_from", ""),
        ],
        "anchor",
        "a late phase bills less than was prepaid",
    ),
    ("unused", [("accounts", "spare", "party", "neocloud")], "spare", "accounts.csv, row 5"),
    ("unused", [("phases", "su1", "contract", "")], "anchor", "no phase names the contract"),
    (
        "never_funded",
        [("accounts", "spare", "party", "landlord"), ("claims", "rent", "paid_from", "spare:10")],
        "rent",
        "nothing ever reaches spare to pay rent, and no support covers it",
    ),
    (
        "never_funded",
        [("accounts", "spare", "party", "neocloud"), ("facilities", "ddtl", "principal_from", "spare:1")],
        "ddtl.principal",
        "facilities.csv, row 2",
    ),
    (
        "residual_never",
        [("claims", "distribution", "trigger", "2099-01-01")],
        "distribution",
        "its trigger is planned after",
    ),
    (
        "residual_never",
        [("accounts", "spare", "party", "landlord"), ("claims", "rent", "paid_from", "spare:10")],
        "distribution",
        "it waits for rent, which can never be paid",
    ),
    (
        "residual_never",
        [("accounts", "spare", "party", "landlord"), ("claims", "distribution", "paid_from", "spare:10")],
        "distribution",
        "nothing ever reaches spare",
    ),
    (
        "before_start",
        [("claims", "rent", "trigger", "order"), ("claims", "rent", "net_days", "-30")],
        "rent",
        "it begins on 2027-01-15 and falls due from 2026-12-16, before the start on 2027-01-01",
    ),
    (
        "before_start",
        [("contracts", "anchor", "prepay_trigger", "2026-12-01")],
        "anchor",
        "the prepayment for su1 is planned for 2026-12-01, before the start on 2027-01-01",
    ),
    ("past_horizon", [("deal", "quarters", "value", "12")], "anchor", "and the model ends on 2029-12-31"),
    ("past_horizon", [("claims", "hbm", "net_days", "3650")], "hbm", "it runs to 203"),
    ("past_horizon", [("facilities", "ddtl", "instalments", "100")], "ddtl", "it runs to 205"),
    (
        "overfunded",
        [
            ("facilities", "ddtl", "advance_rate", "1"),
            ("facilities", "ddtl", "commitment", "1e9"),
            ("contracts", "anchor", "prepay_share", "0.5"),
            ("contracts", "anchor", "prepay_account", "construction"),
        ],
        "construction",
        "loans of ",
    ),
    (
        "window_closed",
        [("facilities", "ddtl", "available_until", "2027-09-30")],
        "ddtl",
        "the window closes on 2027-09-30, before",
    ),
    (
        "window_closed",
        [
            ("facilities", "ddtl", "available_from", "2027-04-02"),
            ("facilities", "ddtl", "available_until", "2027-06-30"),
        ],
        "ddtl",
        "the window is open on no first day of a period",
    ),
    (
        "commitment_idle",
        [("facilities", "ddtl", "advance_rate", "0.1")],
        "ddtl",
        "25600000 may be drawn, and the eligible",
    ),
    (
        "repays_early",
        [("facilities", "ddtl", "first_repayment", "2027-06-30")],
        "ddtl",
        "the first instalment is planned for 2027-06-30",
    ),
    ("tenor_long", [("facilities", "ddtl", "instalments", "60")], "ddtl", "the last instalment is planned for 2043-03"),
    (
        "support_idle",
        [
            ("supports", "sponsor_equity", "available_until", "2027-01-02"),
            ("supports", "sponsor_equity", "covers", "racks_delivery"),
        ],
        "sponsor_equity",
        "it closes on 2027-01-02, and what it covers first falls due on 2027-",
    ),
    (
        "support_idle",
        [("supports", "sponsor_equity", "available_until", "2027-01-01")],
        "sponsor_equity",
        "the window is open on no",
    ),
    ("support_idle", [("supports", "sponsor_equity", "commitment", "0")], "sponsor_equity", "it covers no claim"),
]


@pytest.mark.parametrize(("code", "changes", "name", "says"), RAISED)
def test_each_warning(tmp_path: Path, code: str, changes: list[Change], name: str, says: str) -> None:
    deal = deal_with(tmp_path / "deal", changes)
    [found] = [one for one in warnings(deal) if (one.code, one.name) == (code, name)]
    assert says in str(found)
    assert found.accepted is None
    files.write_table(tmp_path / "deal", "accepted", [{"code": code, "row": name, "reason": "a test of the warning"}])
    accepting = ss.read(tmp_path / "deal")
    [found] = [one for one in warnings(accepting) if (one.code, one.name) == (code, name)]
    assert found.accepted == "a test of the warning"
    assert accepting.tables["claims"] == deal.tables["claims"]


def test_every_code_is_tested_and_can_be_accepted() -> None:
    assert {code for code, *_ in RAISED} == set(codes()) == set(CHECKS)
    [column] = [column for column in schema() if (column.table, column.column) == ("accepted", "code")]
    assert column.allowed == tuple(codes())
    assert all(code.when and code.means and code.do for code in codes().values())


def test_a_sound_deal_raises_nothing() -> None:
    assert warnings(ss.read(files.SUPERPOD)) == []


@pytest.mark.parametrize("deck", sorted(path.name for path in ASSUMPTIONS.iterdir()))
def test_every_warning_of_a_shipped_deck_is_accepted_with_a_reason(deck: str) -> None:
    deal = ss.read(ASSUMPTIONS / deck)
    raised = warnings(deal)
    assert [str(one) for one in raised if one.accepted is None] == []
    assert accepted_in_vain(deal, raised) == []


def test_what_a_scenario_changes_is_looked_at(tmp_path: Path) -> None:
    folder = files.copy(tmp_path / "deal")
    files.scenario(folder, "dear", "claims", "rent", "rate", "15000")
    files.scenario(folder, "late", "steps", "power@su1", "delay", "3650")
    assert [str(one) for one in warnings(ss.read(folder))] == [
        "steps.csv, row 6: unusual power.delay: delay 3650 is above the usual 1825 in scenario late",
        "claims.csv, row 7: odd_price rent: rate 15000 usd_per_kw_month is far from the 115 to 160 of the facts in "
        "scenario dear",
    ]


def test_delays_of_the_base_sheets_do_not_move_the_plan(tmp_path: Path) -> None:
    """The dates that are judged are those of the signing: a stuck step is what the model is for."""
    deal = deal_with(tmp_path / "deal", [("steps", "power", "delay", "700")])
    assert warnings(deal) == []


def test_support_reaches_what_cash_does_not(tmp_path: Path) -> None:
    """A claim that a support covers can be paid, and what it pays into an account can be paid on."""
    changes = [
        ("accounts", "first", "party", "landlord"),
        ("accounts", "second", "party", "landlord"),
        ("claims", "rent", "paid_from", "second:10"),
        ("claims", "filling", "paid_from", "first:10"),
        ("claims", "filling", "payee", "second"),
        ("claims", "filling", "kind", "once"),
        ("claims", "filling", "basis", "usd"),
        ("claims", "filling", "rate", "1000"),
        ("claims", "filling", "trigger", "order"),
    ]
    deal = deal_with(tmp_path / "deal", changes)
    assert {one.name for one in warnings(deal) if one.code == "never_funded"} == {"rent", "filling"}
    files.put(tmp_path / "deal", "supports", "parent", "party", "landlord")
    files.put(tmp_path / "deal", "supports", "parent", "account", "first")
    assert not [one for one in warnings(ss.read(tmp_path / "deal")) if one.code == "never_funded"]
    files.put(tmp_path / "deal", "supports", "parent", "covers", "filling")
    assert not [one for one in warnings(ss.read(tmp_path / "deal")) if one.code == "never_funded"]
    files.put(tmp_path / "deal", "supports", "parent", "commitment", "0")
    assert [one for one in warnings(ss.read(tmp_path / "deal")) if one.code == "never_funded"]


def test_typical_prices_are_said_by_the_facts() -> None:
    for row in _rows("typical.csv"):
        assert says(facts()[row["fact"]], float(row["printed"])), row
    assert all(low <= high for low, high in typical_prices().values())


def test_codes_that_are_not_known(tmp_path: Path) -> None:
    files.copy(tmp_path / "deal")
    files.write_table(tmp_path / "deal", "accepted", [{"code": "unusal", "row": "ddtl.margin", "reason": ""}])
    with pytest.raises(DealError) as caught:
        ss.read(tmp_path / "deal")
    lines = [str(fault).split(";")[0] for fault in caught.value.faults]
    assert lines == [
        "accepted.csv, row 2, column code: 'unusal' is no choice (nearest: unusual)",
        "accepted.csv, row 2, column reason: the cell is blank",
    ]


def test_check_lists_them_and_run_counts_them(tmp_path: Path) -> None:
    deal_with(tmp_path / "deal", [("facilities", "ddtl", "margin", "0.21"), ("claims", "rent", "rate", "15000")])
    said = CliRunner().invoke(main, ["check", str(tmp_path / "deal")]).stdout
    assert "2 warnings:\n  facilities.csv, row 2: unusual ddtl.margin: margin 0.21 is above the usual 0.2\n" in said
    ran = CliRunner().invoke(
        main, ["run", str(tmp_path / "deal"), "--out", str(tmp_path / "out"), "--no-workbook", "--no-report"]
    )
    assert "2 warnings: `stuckstep check` says what looks odd in the deal." in ran.stdout
    rows = [
        {"code": "unusual", "row": "ddtl.margin", "reason": "a bridge"},
        {"code": "tenor_long", "row": "ddtl", "reason": "none"},
    ]
    files.write_table(tmp_path / "deal", "accepted", rows)
    said = CliRunner().invoke(main, ["check", str(tmp_path / "deal")]).stdout
    assert "1 warning:\n" in said
    assert "1 warning accepted:\n  facilities.csv, row 2: unusual ddtl.margin: margin 0.21 is" in said
    assert "(a bridge)\n" in said
    assert "Accepted, but not raised: tenor_long ddtl." in said
