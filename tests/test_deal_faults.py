"""A malformed deal: every fault at once, each with its place, what is wrong and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

import deal_files as files
from stuckstep.deal import DealError, check, read

NAMES = "chipmaker, memory, rack_builder, landlord, utility, staff, lender, neocloud, customer"
STEPS = "memory, chips, racks, hall, power, fabric, commissioning, platform, onboarding"
PLACES = "a list account:rank;account:rank in the order of the table accounts"

# (table, row, column, value written) and the line that must come of it, in the order of the report.
MALFORMED = [
    (
        ("deal", "start", "value", "2027-02-01"),
        "deal.csv, row 4, column value: 2027-02-01 is not the first day of a quarter; "
        "the first day of January, April, July or October is allowed",
    ),
    (
        ("deal", "quarters", "value", "401"),
        "deal.csv, row 5, column value: 401 is above 400; a whole number from 1 to 400 is required",
    ),
    (
        ("deal", "base_rate", "value", "5"),
        "deal.csv, row 7, column value: 5 is above 1 (5% is written 0.05); a number from -0.05 to 1 is allowed",
    ),
    (
        ("deal", "basis_rate", "value", "0.04"),
        "deal.csv, row 8, column item: there is no item 'basis_rate' (nearest: base_rate); the items title, currency, "
        "start, quarters, grid, base_rate, discount_rate, billing_unit are allowed",
    ),
    (
        ("parties", "landlord", "role", ""),
        "parties.csv, row 5, column role: the cell is blank; text is required",
    ),
    (
        ("phases", "su1", "order_date", "1927-01-15"),
        "phases.csv, row 2, column order_date: 1927-01-15 is below 2000-01-01; "
        "a date from 2000-01-01 to 2150-01-01, written as 2027-03-31, is required",
    ),
    (
        ("phases", "su2", "order_date", "31/12/2027"),
        "phases.csv, row 3, column order_date: '31/12/2027' is not a date (day and month cannot be told apart); "
        "a date from 2000-01-01 to 2150-01-01, written as 2027-03-31, is required",
    ),
    (
        None,  # su2 has nothing but its date
        "phases.csv, row 3, column racks: phase su2 is empty: it has no racks and no mw; "
        "racks or mw above 0 are allowed",
    ),
    (
        ("steps", "memory", "after", "racks"),
        "steps.csv, row 2, column after: memory waits for itself: memory after racks after chips after memory; "
        "steps that do not wait for one another are allowed",
    ),
    (
        ("steps", "racks", "days", "thirty"),
        "steps.csv, row 4, column days: 'thirty' is not a number; a whole number of days from 0 to 36500 is allowed",
    ),
    (
        ("steps", "hall", "party", "landlrd"),
        f"steps.csv, row 5, column party: 'landlrd' is not in parties (nearest: landlord); {NAMES} are allowed",
    ),
    (
        ("steps", "power", "delay", "1.5"),
        "steps.csv, row 6, column delay: 1.5 is not a whole number; a whole number of days from 0 to 36500 is allowed",
    ),
    (
        ("steps", "fabric", "status", "instaled"),
        "steps.csv, row 7, column status: 'instaled' is no choice (nearest: installed); "
        "one of connected, installed, active, billing is allowed",
    ),
    (
        ("contracts", "anchor", "refund_from", "operating"),
        f"contracts.csv, row 2, column refund_from: 'operating' is not account:rank; {PLACES} is allowed",
    ),
    (
        ("accounts", "chip_books", "minimum_cash", "-1"),
        "accounts.csv, row 4, column minimum_cash: -1 is below 0; a number from 0 to 1e15 is allowed",
    ),
    (
        ("accounts", "landlord", "party", "landlord"),
        "accounts.csv, row 5, column account: 'landlord' is the name of a party; a name that no party has is allowed",
    ),
    (
        ("claims", "chips_deposit", "paid_from", "operating:60;construction:10"),
        "claims.csv, row 2, column paid_from: construction stands after operating but is settled before it; "
        f"{PLACES} is required",
    ),
    (
        ("claims", "chips_delivery", "paid_from", "construction:10;construction:20"),
        f"claims.csv, row 3, column paid_from: account construction stands there twice; {PLACES} is required",
    ),
    (
        ("claims", "hbm", "trigger", "memry"),
        "claims.csv, row 4, column trigger: 'memry' is not order, billing, a step or a date (nearest: memory); "
        "order, billing, a step or a date as 2027-03-31 is required",
    ),
    (
        ("claims", "racks_delivery", "late_rate", "0,08"),
        "claims.csv, row 5, column late_rate: '0,08' has a decimal comma (write 0.08); a number from 0 to 1 is allowed",
    ),
    (
        ("claims", "fabric_install", "basis", "usd_per_mwh"),
        "claims.csv, row 6, column basis: usd_per_mwh is no basis of a once claim; "
        "usd, usd_per_rack, usd_per_gpu, usd_per_mw are allowed",
    ),
    (
        ("claims", "rent", "phase", "deal"),
        "claims.csv, row 7, column basis: usd_per_kw_month is no basis of a recurring claim of the whole deal; "
        "usd_per_year is allowed",
    ),
    (
        ("claims", "power", "rate", ""),
        "claims.csv, row 8, column rate: the cell is blank and the claim is recurring; "
        "a number from 0 to 1e15 is required",
    ),
    (
        ("claims", "release", "share", "0.5"),
        "claims.csv, row 10, column share: 0.5 has no use: a residual claim has no share; blank or 1 is allowed",
    ),
    (
        ("claims", "distribution", "lockup", "rent;release"),
        "claims.csv, row 11, column lockup: release is a residual, always paid in full; "
        "once and recurring claims are allowed",
    ),
    (
        ("facilities", "ddtl", "opening_balance", "26000000"),
        "facilities.csv, row 2, column opening_balance: 26000000 is above the commitment 25600000; "
        "an amount within the commitment is allowed",
    ),
    (
        ("facilities", "ddtl", "eligible", "chips_deposit;rent"),
        "facilities.csv, row 2, column eligible: rent is a recurring claim; once claims are allowed",
    ),
    (
        ("supports", "chip_balance_sheet", "commitment", "-1000"),
        "supports.csv, row 2, column commitment: -1000 is below 0; a number from 0 to 1e15 is allowed",
    ),
    (
        ("supports", "sponsor_equity", "covers", "hbm;release"),
        "supports.csv, row 3, column covers: hbm is not placed in construction; "
        "claims placed in construction are allowed",
    ),
    (
        None,
        "supports.csv, row 3, column covers: release is a residual; once and recurring claims are allowed",
    ),
]
# Rows added to the table scenarios, from row 8 on, with their lines.
CHANGES = [
    (
        ("power_late", "steps", "power", "delay", "180"),
        "scenarios.csv, row 8, column row: power_late changes steps.power.delay in row 2 already; "
        "each cell once in a scenario is allowed",
    ),
    (
        ("base", "steps", "power", "delay", "1"),
        "scenarios.csv, row 9, column scenario: base is the name of the sheets themselves; another name is allowed",
    ),
    (
        ("x", "step", "power", "delay", "1"),
        "scenarios.csv, row 10, column table: 'step' is no choice (nearest: steps); one of deal, parties, phases, "
        "steps, contracts, accounts, claims, facilities, supports is required",
    ),
    (
        ("x", "steps", "powr", "delay", "1"),
        f"scenarios.csv, row 11, column row: 'powr' is not in steps (nearest: power); {STEPS} are allowed",
    ),
    (
        ("x", "steps", "power@su9", "delay", "1"),
        "scenarios.csv, row 12, column row: 'su9' is not in phases (nearest: su2); su1, su2 are allowed",
    ),
    (
        ("x", "steps", "power", "dela", "1"),
        "scenarios.csv, row 13, column column: 'dela' is not in steps (nearest: delay); "
        "party, after, days, delay, not_before, status are allowed",
    ),
    (
        ("x", "steps", "power", "delay", "soon"),
        "scenarios.csv, row 14, column value: 'soon' is not a number; "
        "a whole number of days from 0 to 36500 is allowed",
    ),
    (
        ("x", "steps", "power", "party", ""),
        "scenarios.csv, row 15, column value: the cell is blank; a name from parties is required",
    ),
    (
        ("x", "deal", "start", "value", "2028-01-01"),
        "scenarios.csv, row 16, column row: 'start' of deal is the same in every scenario; "
        "base_rate, discount_rate, billing_unit are allowed",
    ),
    (
        ("x", "claims", "rent@su1", "rate", "1"),
        "scenarios.csv, row 17, column row: 'rent@su1' narrows a row of claims; "
        "narrowing a step to a phase (step@phase) is allowed",
    ),
    (
        ("x", "steps", "onboarding", "party", "nobody"),
        f"scenarios.csv, row 18, column value: 'nobody' is not in parties; {NAMES} are allowed",
    ),
    (
        ("y", "facilities", "ddtl", "commitment", "1"),
        "scenarios.csv, row 19, column value: with this, at facilities.ddtl.opening_balance: "
        "26000000 is above the commitment 1; an amount within the commitment is allowed",
    ),
]


def faults(folder: Path) -> list[str]:
    """The lines of what is wrong with a deal."""
    with pytest.raises(DealError) as caught:
        read(folder)
    assert str(caught.value).split("\n") == [str(fault) for fault in caught.value.faults]
    return [str(fault) for fault in caught.value.faults]


def test_every_fault_at_once(tmp_path: Path) -> None:
    folder = files.copy(tmp_path / "bad")
    for change, _ in MALFORMED:
        if change:
            files.put(folder, *change)
    for change, _ in CHANGES:
        files.scenario(folder, *change)
    (folder / "stepz.csv").write_text("step\n")
    first = (
        "stepz.csv: there is no table 'stepz' (nearest: steps); the files (with .csv) deal, parties, phases, steps, "
        "contracts, accounts, claims, facilities, supports, scenarios, accepted, studies, uncertainties are allowed"
    )
    assert faults(folder) == [first, *(line for _, line in MALFORMED), *(line for _, line in CHANGES)]


@pytest.mark.parametrize(
    ("table", "row", "column", "value", "line"),
    [
        (
            "claims",
            "rent",
            "payee",
            "operating",
            "payee: account operating is paid from operating, which is not settled",
        ),
        (
            "claims",
            "release",
            "payee",
            "construction",
            "payee: account construction is paid from construction, which is",
        ),
        ("claims", "rent", "lockup", "hbm", "lockup: only a residual has a lockup; a blank cell is allowed"),
        ("claims", "distribution", "lockup", "none;rent", "lockup: the word none stands beside names"),
        ("claims", "distribution", "lockup", "ddtl.fees", "lockup: 'ddtl.fees' is not in claims or FACILITY.fee or"),
        ("claims", "release", "phase", "su1", "phase: a residual belongs to no phase; blank or deal is allowed"),
        ("claims", "release", "basis", "usd", "basis: usd has no use: a residual claim has no basis; a blank cell is"),
        ("claims", "release", "rate", "0", "rate: 0 has no use: a residual claim has no rate"),
        ("claims", "release", "net_days", "1", "net_days: 1 has no use: a residual claim has no net_days"),
        ("claims", "release", "late_rate", "0.1", "late_rate: 0.1 has no use"),
        ("claims", "release", "escalator", "0.1", "escalator: 0.1 has no use"),
        ("claims", "release", "term_days", "10", "term_days: 10 has no use: a residual claim has no term_days"),
        ("claims", "hbm", "term_days", "10", "term_days: 10 has no use: a once claim has no term_days"),
        ("claims", "hbm", "phase", "deal", "basis: usd_per_gpu is no basis of a once claim of the whole deal; usd is"),
        ("claims", "hbm", "phase", "su1;su7", "phase: 'su7' is not in phases (nearest: su1); su1, deal are allowed"),
        ("claims", "hbm", "phase", "su1;su1", "phase: 'su1' stands in the list twice"),
        ("claims", "hbm", "phase", "su1;", "phase: 'su1;' has an empty name between ;"),
        ("claims", "hbm", "phase", "deal;su1", "phase: the word deal stands beside names"),
        ("claims", "hbm", "basis", "", "basis: the cell is blank and the claim is once; one of usd, usd_per_rack"),
        ("claims", "hbm", "rate", "1,000", "rate: '1,000' may be 1000 or 1.000; a number from 0 to 1e15 is allowed"),
        ("claims", "hbm", "rate", "1_000", "rate: '1_000' is not a number"),
        ("claims", "hbm", "rate", "nan", "rate: 'nan' is not a number"),
        ("claims", "hbm", "rate", "1e999", "rate: '1e999' is no finite number"),
        ("claims", "hbm", "trigger", "2027-02-30", "trigger: '2027-02-30' is not a day of the calendar"),
        ("claims", "hbm", "trigger", "1999-12-31", "trigger: 1999-12-31 is below 2000-01-01"),
        (
            "claims",
            "hbm",
            "paid_from",
            "chip_book:10",
            "paid_from: 'chip_book' is not in accounts (nearest: chip_books)",
        ),
        ("claims", "hbm", "paid_from", "chip_books:-1", "paid_from: 'chip_books:-1' is not account:rank"),
        ("claims", "hbm", "payee", "NA", "payee: 'NA' is not in parties or accounts; chipmaker, memory"),
        ("facilities", "ddtl", "fee_from", "construction:20;operating", "fee_from: 'operating' is not account:rank"),
        ("facilities", "ddtl", "account", "operating", "fee_from: construction is settled before the facility's own"),
        ("facilities", "ddtl", "eligible", "", "eligible: the cell is blank; a list with ; of names from claims is"),
        ("facilities", "ddtl", "eligible", "anchor.refund", "eligible: 'anchor.refund' is not in claims"),
        ("facilities", "ddtl", "condition", "order", "condition: 'order' is not in steps"),
        (
            "facilities",
            "ddtl",
            "instalments",
            "0",
            "instalments: 0 is below 1; a whole number from 1 to 1200 is required",
        ),
        (
            "supports",
            "sponsor_equity",
            "covers",
            "anchor.refund",
            "covers: anchor.refund is not placed in construction",
        ),
        (
            "supports",
            "sponsor_equity",
            "covers",
            "ddtl.principal",
            "covers: ddtl.principal is not placed in constructi",
        ),
        ("phases", "su1", "contract", "anchr", "contract: 'anchr' is not in contracts (nearest: anchor); anchor is"),
        ("steps", "power", "after", "power", "after: power waits for itself: power after power"),
        (
            "steps",
            "order",
            "party",
            "memory",
            "step: 'order' has a meaning of its own; a name without ; : @ is allowed",
        ),
        ("steps", "2027-01-01", "party", "memory", "step: '2027-01-01' is a date; a name without"),
        ("steps", "a@b", "party", "memory", "step: 'a@b' holds @; a name without ; : @ is allowed"),
        ("steps", "Power", "party", "memory", "step: 'Power' stands in row 6 already; each name once is allowed"),
        ("claims", "ddtl.fee", "payee", "lender", "claim: 'ddtl.fee' is the name of a claim that ddtl of facilities"),
        ("accounts", "operating", "source", "a\x07b", "source: the text holds the control character U+0007"),
    ],
)
def test_one_fault(tmp_path: Path, table: str, row: str, column: str, value: str, line: str) -> None:
    folder = files.copy(tmp_path / "bad")
    files.put(folder, table, row, column, value)
    found = [fault for fault in faults(folder) if f", column {line}" in fault]
    assert len(found) == 1


def test_refund_without_places_cannot_be_named(tmp_path: Path) -> None:
    folder = files.copy(tmp_path / "bad")
    files.put(folder, "contracts", "anchor", "refund_from", "")
    files.put(folder, "claims", "distribution", "lockup", "anchor.refund")
    assert faults(folder)[0].startswith("claims.csv, row 11, column lockup: 'anchor.refund' is not in claims or")


def test_made_claims_may_be_named(tmp_path: Path) -> None:
    folder = files.copy(tmp_path / "good")
    files.put(folder, "claims", "distribution", "lockup", "anchor.refund;ddtl.fee;rent")
    files.put(folder, "claims", "release", "lockup", "none")
    files.put(folder, "supports", "sponsor_equity", "covers", "ddtl.fee;ddtl.interest;chips_deposit")
    check(read(folder))


@pytest.mark.parametrize(
    ("table", "row", "column", "value", "line"),
    [
        ("steps", "memory", "after", "racks", "memory waits for itself: memory after racks after chips after memory"),
        ("steps", "memory@su1", "after", "chips", "memory waits for itself: memory after chips after memory"),
        ("steps", "chips@su1", "after", "memori", "'memori' is not in steps (nearest: memory)"),
        ("steps", "racks", "after", "racks", "racks waits for itself"),
        ("phases", "su1", "racks", "0", None),
        (
            "claims",
            "hbm",
            "kind",
            "recurring",
            "with this, at claims.hbm.basis: usd_per_gpu is no basis of a recurring",
        ),
        ("claims", "release", "share", "0.9", "0.9 has no use: a residual claim has no share"),
        ("claims", "rent", "term_days", "", None),
        ("facilities", "ddtl", "eligible", "", "the cell is blank; a list with ; of names"),
        ("facilities", "ddtl", "margin", "4", "4 is above 1 (4% is written 0.04); a number from 0 to 1 is required"),
        ("deal", "base_rate", "value", "", None),
        ("deal", "billing_unit", "", "deal", None),
        ("deal", "billing_unit", "source", "deal", "'source' is not a column"),
        ("deal", "billing", "value", "deal", "'billing' is not in deal (nearest: billing_unit)"),
        ("claims", "rent", "claim", "hire", "'claim' of claims is the same in every scenario"),
        ("claims", "rent", "source", "hire", "'source' is not in claims"),
    ],
)
def test_scenarios_are_checked(tmp_path: Path, table: str, row: str, column: str, value: str, line: str | None) -> None:
    folder = files.copy(tmp_path / "bad")
    files.scenario(folder, "changed", table, row, column, value)
    if line is None:
        check(read(folder))
        return
    found = faults(folder)
    assert len(found) == 1
    assert found[0].startswith("scenarios.csv, row 8, column ")
    assert line in found[0]


def test_the_change_at_fault_is_named(tmp_path: Path) -> None:
    """Of a scenario's rows the one that bears on the broken cell."""
    folder = files.copy(tmp_path / "bad")
    files.scenario(folder, "changed", "steps", "power", "delay", "3")
    files.scenario(folder, "changed", "facilities", "ddtl", "account", "operating")
    files.scenario(folder, "changed", "claims", "rent", "rate", "3")
    assert [line.split(":")[0] for line in faults(folder)] == ["scenarios.csv, row 9, column value"] * 2


def test_a_base_fault_is_said_once(tmp_path: Path) -> None:
    """A scenario that does not touch a fault of the sheets does not repeat it."""
    folder = files.copy(tmp_path / "bad")
    files.put(folder, "claims", "rent", "payee", "landlrd")
    assert len(faults(folder)) == 1


def test_tables_and_columns(tmp_path: Path) -> None:
    folder = files.copy(tmp_path / "bad")
    (folder / "steps.csv").unlink()
    (folder / "supports.csv").write_text("support,party,party,acount,commitment\ns,lender,lender,operating,1\n")
    (folder / "accounts.csv").write_bytes(b"PK\x03\x04")
    (folder / "phases.csv").write_bytes(b"phase,order_date\nsu\x81,2027-01-01\n")
    (folder / "claims.csv").write_text('claim,paid_from\n"rent,x\n')
    (folder / "parties.csv").write_text("party,role\n")
    (folder / "scenarios.csv").write_text("")
    (folder / "contracts.csv").write_text((folder / "contracts.csv").read_text().strip() + ",7\n")
    found = faults(folder)
    assert found == [
        f"{folder}: the table steps is missing; the tables deal, parties, phases, steps, accounts, claims are required",
        "parties.csv: the table has no rows; one row or more is required",
        "phases.csv: byte 20 is not UTF-8 text; UTF-8 text is allowed",
        "contracts.csv, row 2: cell 16 of the row stands under no heading; cells under a heading are allowed",
        "accounts.csv: this is a workbook or archive, not CSV; text is allowed",
        'claims.csv: this is not CSV (unexpected end of data); CSV with commas and " quotes is allowed',
        "supports.csv, row 1: there is no column 'acount' (nearest: account); the columns support, party, account, "
        "commitment, available_from, available_until, covers, unit, source, note are allowed",
        "supports.csv, row 1: the column account is missing; the column is required",
        "supports.csv, row 1, column party: the column stands there twice; each column once is allowed",
        "scenarios.csv: no row holds headings; the names of the columns are required",
    ]


def test_missing_items(tmp_path: Path) -> None:
    folder = files.copy(tmp_path / "bad")
    (folder / "deal.csv").write_text("item,value\ntitle,A\nquarters,4\ntitle,B\n")
    assert faults(folder) == [
        "deal.csv: the item currency is missing; text is required",
        "deal.csv: the item start is missing; a date from 2000-01-01 to 2150-01-01, written as 2027-03-31, is required",
        "deal.csv, row 4, column item: 'title' stands in row 2 already; each name once is allowed",
    ]


def test_no_deal(tmp_path: Path) -> None:
    allowed = "a folder of .csv files or one .xlsx workbook is allowed"
    assert faults(tmp_path / "none") == [f"{tmp_path / 'none'}: there is no such folder or workbook; {allowed}"]
    (tmp_path / "empty" / "expected").mkdir(parents=True)
    assert faults(tmp_path / "empty") == [f"{tmp_path / 'empty'}: the folder holds no .csv files; {allowed}"]
    (tmp_path / "deal.pdf").write_text("x")
    assert faults(tmp_path / "deal.pdf") == [
        f"{tmp_path / 'deal.pdf'}: this is neither a folder nor an .xlsx workbook; {allowed}"
    ]
