"""Scenarios: what differs, narrowed to a phase, grouped by structure, and where each value stands."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest

import deal_files as files
from stuckstep.deal import (
    Cell,
    DealError,
    Place,
    base,
    from_serial,
    periods,
    read,
    scenario_names,
    schema,
    serial,
    variants,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The superpod with a second phase and no scenarios but those a test adds."""
    folder = files.copy(tmp_path / "deal")
    for column, value in {"order_date": "2027-04-01", "racks": "8", "gpus_per_rack": "72", "mw": "1.2"}.items():
        files.put(folder, "phases", "su2", column, value)
    (folder / "scenarios.csv").write_text("scenario,table,row,column,value,source\n")
    return folder


def test_numbers_vary_inside_one_structure() -> None:
    deal = read(files.SUPERPOD)
    names = ("base", "power_late", "spine_missing", "onboarding_late", "everything")
    assert scenario_names(deal) == names
    (sheets,) = variants(deal)
    assert sheets.scenarios == names
    delay = sheets.find("steps", "power", "delay")
    assert str(delay) == "steps.power.delay"
    assert sheets.value(delay).tolist() == [0, 180, 0, 0, 180]
    assert sheets.value(Cell("deal", "start", "value")).tolist() == [serial(datetime.date(2027, 1, 1))] * 5
    assert base(deal).value(delay).tolist() == [0]


def test_defaults() -> None:
    sheets = base(read(files.SUPERPOD))
    assert sheets.cell("deal", "billing_unit", "value") == "phase"
    assert sheets.cell("deal", "discount_rate", "value") == 0.0
    assert sheets.cell("contracts", "anchor", "utilisation") == 1.0
    assert sheets.cell("contracts", "anchor", "prepay_trigger") == "order"
    assert sheets.cell("claims", "rent", "phase") is None
    assert sheets.cell("supports", "sponsor_equity", "available_from") is None
    assert sheets.cell("contracts", "anchor", "refund_from") == (Place("operating", 15),)
    assert sheets.value(Cell("contracts", "anchor", "utilisation")).tolist() == [1.0]
    with pytest.raises(ValueError, match=r"supports\.chip_balance_sheet\.commitment holds None"):
        sheets.value(Cell("supports", "chip_balance_sheet", "commitment"))


def test_a_default_that_is_another_column(folder: Path) -> None:
    """The blank end of a draw window is the first repayment; a scenario that fills it in is another structure."""
    files.put(folder, "facilities", "ddtl", "available_until", "")
    files.put(folder, "contracts", "anchor", "prepay_account", "")
    files.scenario(folder, "earlier", "facilities", "ddtl", "available_until", "2028-01-01")
    files.scenario(folder, "later", "facilities", "ddtl", "first_repayment", "2028-09-30")
    own, other = variants(read(folder))
    assert own.scenarios == ("base", "later")
    assert own.find("facilities", "ddtl", "available_until") == Cell("facilities", "ddtl", "first_repayment")
    ends = own.value(own.find("facilities", "ddtl", "available_until"))
    assert [from_serial(end) for end in ends] == [datetime.date(2028, 6, 30), datetime.date(2028, 9, 30)]
    assert own.cell("contracts", "anchor", "prepay_account") == "operating"
    assert other.scenarios == ("earlier",)
    assert from_serial(other.value(other.find("facilities", "ddtl", "available_until"))[0]).year == 2028


def test_narrowing_wins_over_the_plain_row(folder: Path) -> None:
    """In a scenario that does not narrow, the narrowed cell holds what the plain row holds there."""
    files.put(folder, "steps", "power", "delay", "5")
    files.scenario(folder, "narrow", "steps", "power@su2", "delay", "90")
    files.scenario(folder, "plain", "steps", "power", "delay", "30")
    files.scenario(folder, "both", "steps", "power@su2", "delay", "60")
    files.scenario(folder, "both", "steps", "power", "delay", "30")
    (sheets,) = variants(read(folder))
    narrowed = sheets.find("steps", "power", "delay", "su2")
    assert str(narrowed) == "steps.power@su2.delay"
    assert sheets.find("steps", "power", "delay", "su1") == Cell("steps", "power", "delay")
    assert sheets.find("steps", "power", "days", "su2") == Cell("steps", "power", "days")
    assert sheets.value(narrowed).tolist() == [5, 90, 30, 60]
    assert sheets.value(sheets.find("steps", "power", "delay", "su1")).tolist() == [5, 5, 30, 30]
    assert base(sheets.deal).find("steps", "power", "delay", "su2") == narrowed


def test_narrowed_structure(folder: Path) -> None:
    """What a step waits for and when it may start can differ in one phase."""
    files.scenario(folder, "waits", "steps", "power@su2", "after", "hall;chips")
    files.scenario(folder, "not_yet", "steps", "power@su2", "not_before", "2028-01-01")
    files.scenario(folder, "plainly", "steps", "power", "after", "memory")
    plain, waits, not_yet, plainly = variants(read(folder))
    assert [group.scenarios for group in (plain, waits, not_yet, plainly)] == [
        ("base",),
        ("waits",),
        ("not_yet",),
        ("plainly",),
    ]
    assert plain.cell("steps", "power", "after", "su2") == ("hall",)
    assert waits.cell("steps", "power", "after", "su2") == ("hall", "chips")
    assert waits.cell("steps", "power", "after", "su1") == ("hall",)
    assert not_yet.cell("steps", "power", "not_before", "su1") is None
    assert not_yet.cell("steps", "power", "not_before", "su2") == datetime.date(2028, 1, 1)
    assert plainly.cell("steps", "power", "after", "su2") == ("memory",)


@pytest.mark.parametrize(
    ("changes", "groups"),
    [
        ([("claims", "rent", "rate", "160")], 1),
        ([("claims", "rent", "trigger", "hall")], 2),
        ([("claims", "rent", "trigger", "2027-06-01")], 2),
        ([("claims", "rent", "trigger", "power")], 1),  # as in base
        ([("facilities", "ddtl", "first_repayment", "2028-09-30")], 1),
        ([("facilities", "ddtl", "first_repayment", "billing")], 2),
        ([("claims", "rent", "term_days", "")], 2),
        ([("claims", "rent", "term_days", "1000")], 1),
        ([("claims", "power", "escalator", "")], 1),
        ([("contracts", "anchor", "end_rule", "fixed")], 2),
        ([("contracts", "anchor", "end_rule", "")], 1),
        ([("contracts", "anchor", "longstop_days", "")], 2),
        ([("supports", "sponsor_equity", "commitment", "")], 2),
        ([("supports", "sponsor_equity", "covers", "chips_deposit")], 2),
        ([("deal", "billing_unit", "value", "deal")], 2),
        ([("deal", "base_rate", "value", "0.05")], 1),
        ([("phases", "su2", "order_date", "2027-05-01")], 1),
        ([("phases", "su2", "contract", "anchor")], 2),
        ([("claims", "opex", "payee", "neocloud")], 2),
    ],
)
def test_what_is_structure(folder: Path, changes: list[tuple[str, str, str, str]], groups: int) -> None:
    for change in changes:
        files.scenario(folder, "changed", *change)
    assert len(variants(read(folder))) == groups


def test_a_phase_that_keeps_what_the_others_change_is_a_structure_of_its_own(folder: Path) -> None:
    files.scenario(folder, "everywhere", "steps", "fabric", "after", "racks")
    files.scenario(folder, "elsewhere", "steps", "fabric", "after", "racks")
    files.scenario(folder, "elsewhere", "steps", "fabric@su1", "after", "racks;hall")
    groups = {name: group for group in variants(read(folder)) for name in group.scenarios}
    assert groups["everywhere"].cell("steps", "fabric", "after", "su1") == ("racks",)
    assert groups["elsewhere"].cell("steps", "fabric", "after", "su1") == ("racks", "hall")


def test_scenarios_with_equal_structure_share_sheets(folder: Path) -> None:
    files.scenario(folder, "a", "contracts", "anchor", "end_rule", "fixed")
    files.scenario(folder, "b", "steps", "power", "delay", "10")
    files.scenario(folder, "c", "steps", "power", "delay", "20")
    files.scenario(folder, "c", "contracts", "anchor", "end_rule", "fixed")
    deal = read(folder)
    assert [group.scenarios for group in variants(deal)] == [("base", "b"), ("a", "c")]
    assert [group.scenarios for group in variants(deal, ["c", "b", "c"])] == [("c",), ("b",)]
    assert variants(deal)[1].value(Cell("steps", "power", "delay")).tolist() == [0, 20]
    with pytest.raises(DealError) as caught:
        variants(deal, ["d", "base"])
    assert (
        str(caught.value) == "scenarios.csv, column scenario: there is no scenario 'd'; one of base, a, b, c is allowed"
    )


def test_another_scenario_changes_no_other(folder: Path) -> None:
    files.scenario(folder, "a", "steps", "power", "delay", "10")
    before = variants(read(folder))[0]
    files.scenario(folder, "b", "steps", "power@su1", "delay", "20")
    after = variants(read(folder))[0]
    for name, place in (("base", 0), ("a", 1)):
        for phase in ("su1", "su2"):
            cells = [sheets.find("steps", "power", "delay", phase) for sheets in (before, after)]
            assert before.value(cells[0])[place] == after.value(cells[1])[place], name


def test_units(folder: Path) -> None:
    sheets = base(read(folder))
    assert sheets.unit(Cell("claims", "rent", "rate")) == "USD/kW/month"
    assert sheets.unit(Cell("claims", "hbm", "rate")) == "USD/GPU"
    assert sheets.unit(Cell("claims", "release", "rate")) == "USD"
    assert sheets.unit(Cell("contracts", "anchor", "price")) == "USD/MW/year"
    assert sheets.unit(Cell("accounts", "operating", "opening_cash")) == "USD"
    assert sheets.unit(Cell("steps", "power", "delay")) == "days"
    assert sheets.unit(Cell("deal", "base_rate", "value")) == "1/year"


def test_where_a_value_stands(folder: Path) -> None:
    files.put(folder, "steps", "power", "source", "the utility's letter")
    text = (folder / "scenarios.csv").read_text()
    (folder / "scenarios.csv").write_text(text + "late,steps,power,delay,90,a guess\n")
    sheets = base(read(folder))
    delay = Cell("steps", "power", "delay")
    assert sheets.source(delay, "base") == ("steps.csv, row 6, column delay", "the utility's letter")
    assert sheets.source(delay, "late") == ("scenarios.csv, row 2, column value", "a guess")
    assert sheets.source(Cell("contracts", "anchor", "utilisation"), "base")[1] == "default"
    assert sheets.source(Cell("deal", "base_rate", "value"), "base") == ("deal.csv, row 7, column value", "GPU-14")
    assert sheets.source(Cell("deal", "discount_rate", "value"), "base") == (
        "deal.csv, discount_rate not given",
        "default",
    )


def test_keys(folder: Path) -> None:
    sheets = base(read(folder))
    assert sheets.keys("phases") == ("su1", "su2")
    assert sheets.keys("deal") == tuple(column.column for column in schema() if column.table == "deal")
    with pytest.raises(KeyError, match="no row su3 in phases"):
        sheets.cell("phases", "su3", "mw")


def test_periods(folder: Path) -> None:
    quarters = periods(read(folder))
    assert len(quarters.labels) == 28
    assert quarters.labels[:5] == ("2027Q1", "2027Q2", "2027Q3", "2027Q4", "2028Q1")
    assert quarters.quarter_labels == quarters.labels
    assert (quarters.next_first_day - quarters.first_day)[:5].tolist() == [90, 91, 92, 92, 91]
    assert np.array_equal(quarters.first_day[1:], quarters.next_first_day[:-1])
    files.put(folder, "deal", "grid", "value", "month")
    months = periods(read(folder))
    assert months.labels[:4] == ("2027-01", "2027-02", "2027-03", "2027-04")
    assert months.quarter_index.tolist() == [month // 3 for month in range(84)]
    assert months.quarter_labels == quarters.labels
    assert months.next_first_day[-1] == quarters.next_first_day[-1]


def test_serials() -> None:
    assert serial(datetime.date(1900, 3, 1)) == 61
    assert serial(datetime.date(2027, 1, 1)) == 46388
    assert from_serial(46388) == datetime.date(2027, 1, 1)
    assert from_serial(2_900_000).year == 9839


def test_scenarios_in_other_letters_are_one_and_a_cell_is_changed_once(folder: Path) -> None:
    """Rows of other cells are read as one scenario, and said so; two values for one cell are a fault."""
    files.scenario(folder, "power_late", "steps", "power", "delay", "90")
    files.scenario(folder, "Power_late", "steps", "fabric", "delay", "60")
    deal = read(folder)
    assert scenario_names(deal) == ("base", "power_late")
    assert [str(one) for one in deal.log] == [
        "scenarios.csv, row 3, column scenario: 'Power_late' was read as 'power_late'"
    ]
    files.scenario(folder, "POWER_LATE", "steps", "Power", "delay", "120")
    with pytest.raises(DealError) as caught:
        read(folder)
    assert [str(fault) for fault in caught.value.faults] == [
        "scenarios.csv, row 4, column row: power_late changes steps.power.delay in row 2 already; "
        "each cell once in a scenario is allowed"
    ]


def test_the_rows_of_a_study_in_other_letters_are_one_study(folder: Path) -> None:
    rows = "two,twoway,steps.power.delay,0;90,npv:neocloud\nTwo,twoway,steps.fabric.delay,0;90,\n"
    (folder / "studies.csv").write_text(f"study,kind,cell,values,measure\n{rows}")
    deal = read(folder)
    assert [row.cells["study"] for row in deal.tables["studies"]] == ["two", "two"]
    assert [str(one) for one in deal.log] == ["studies.csv, row 3, column study: 'Two' was read as 'two'"]
