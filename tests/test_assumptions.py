"""The shipped decks: every number says where it comes from, and the base case pays everyone."""

from __future__ import annotations

import csv
import math
import re
from datetime import date
from importlib.resources import files
from pathlib import Path

import pytest

import reference

ROOT = Path(__file__).parents[1]
DECKS = ("superpod", "coreweave")
STEPS = ("memory", "chips", "racks", "hall", "power", "fabric", "commissioning", "platform", "onboarding")
EXTRAS = ("unit", "source", "note")
NUMBER_OR_DATE = re.compile(r"-?\d+(\.\d+)?|\d{4}-\d{2}-\d{2}")
CENT = 0.01


@pytest.fixture(scope="module")
def facts():
    with files("stuckstep.deal").joinpath("facts.csv").open(newline="", encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def decks():
    return {deck: reference.read_tables(ROOT / "assumptions" / deck) for deck in DECKS}


@pytest.fixture(scope="module")
def results(decks):
    return {deck: reference.run(tables) for deck, tables in decks.items()}


def rows_of(tables):
    """Every row with where it stands: (place, key column, row)."""
    for table, rows in tables.items():
        for number, row in enumerate(rows, start=2):
            yield f"{table}.csv, row {number}", next(iter(row)), row


def sources_in(row):
    """`column=ID+ID; column=assumption` as {column: [ID, ...]}."""
    parts = [part.split("=") for part in row["source"].split("; ") if part]
    assert all(len(part) == 2 for part in parts), row["source"]
    named = {column: ids.split("+") for column, ids in parts}
    assert len(named) == len(parts), row["source"]
    return named


def value(tables, table, key, column):
    first = next(iter(tables[table][0]))
    return float(next(row for row in tables[table] if row[first] == key)[column])


# Sources --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deck", DECKS)
def test_every_number_and_date_has_a_source(deck, decks):
    for place, key, row in rows_of(decks[deck]):
        numbers = {
            column for column, cell in row.items() if column not in (key, *EXTRAS) and NUMBER_OR_DATE.fullmatch(cell)
        }
        assert numbers <= set(sources_in(row)), place


@pytest.mark.parametrize("deck", DECKS)
def test_every_source_names_a_filled_cell_and_a_fact(deck, decks, facts):
    for place, _, row in rows_of(decks[deck]):
        for column, ids in sources_in(row).items():
            assert row.get(column), (place, column)
            assert ids == ["assumption"] or set(ids) <= set(facts), (place, column, ids)


@pytest.mark.parametrize("deck", DECKS)
def test_assumptions_and_derived_numbers_are_explained(deck, decks):
    for place, _, row in rows_of(decks[deck]):
        for column, ids in sources_in(row).items():
            unexplained = (ids == ["assumption"] or len(ids) > 1) and not row["note"]
            assert not unexplained, (place, column)


@pytest.mark.parametrize("deck", DECKS)
def test_every_fact_named_in_a_note_exists(deck, decks, facts):
    prefixes = {name.split("-")[0] for name in facts}
    for place, _, row in rows_of(decks[deck]):
        for name in re.findall(r"\b[A-Z]+[0-9]*-[A-Z0-9][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*\b", row["note"]):
            if name.split("-")[0] in prefixes:
                assert name in facts, (place, name)


# Cells that one fact gives only after the arithmetic their note spells out.
ARITHMETIC = {
    ("days", "SCHED-02"),  # weeks in days, less the days of the step before
    ("days", "SCHED-07"),  # the middle of a range in days, less the steps before
    ("days", "CWQ-X17"),  # the mean of four quarters in days
    ("share", "BOM-05"),  # sums of the parts of a rack
    ("share", "BOM-06"),
    ("share", "SUPP-10"),  # upfront cash to all, rounded, and the rest
    ("rate", "REV-10"),  # price x PUE x load
    ("rate", "BOM-08"),  # a sum
    ("rate", "LAND-20"),  # half a year in a year, and a mean of four years
    ("margin", "CWQ-X18-2026Q2"),  # less the base rate
    ("commitment", "CWDEBT-01"),  # less letters of credit
    ("late_rate", "SUPP-14"),  # the middle of a range
    ("instalments", "DDTL5-06"),  # quarter ends to maturity
    ("instalments", "DDTL55-01"),
    ("term_days", "LAND-20"),  # days of half a year
    ("mw", "CWQ-X14"),  # the year's increase, less the quarters before
    ("take_or_pay", "DDTL4-16"),  # a rule, not a number
}
UNITS = (1, 4, 7, 365, 365 / 12)  # quarters, days of weeks, of years, of months


def numbers_in(fact):
    text = " ".join(fact[part] for part in ("value", "unit", "quantity", "note")).replace(",", "")
    return [float(word) for word in re.findall(r"\d+(?:\.\d+)?", text)]


def says(fact, cell):
    """Whether a fact holds this number, up to its unit (or a price under par) and one per cent of rounding."""
    said = numbers_in(fact) + [100 - number for number in numbers_in(fact)]
    return any(
        math.isclose(cell, number * unit * 10.0**power, rel_tol=0.01)
        for number in said
        for unit in UNITS
        for power in (-2, 0, 3, 6, 9)
    )


@pytest.mark.parametrize("deck", DECKS)
def test_a_number_with_one_fact_is_said_by_it(deck, decks, facts):
    compared = 0
    for place, _, row in rows_of(decks[deck]):
        for column, ids in sources_in(row).items():
            cell = row[column]
            if len(ids) > 1 or ids == ["assumption"] or not re.fullmatch(r"-?\d+(\.\d+)?", cell):
                continue
            known = (row.get("column") or column, ids[0]) in ARITHMETIC
            assert float(cell) == 0 or known or says(facts[ids[0]], float(cell)), (place, column, cell, ids[0])
            compared += not known
    assert compared > 20


# Headlines ------------------------------------------------------------------------------------------------------------


def amounts(tables, table, column, keys=None):
    first = next(iter(tables[table][0]))
    return sum(float(row[column]) for row in tables[table] if row[column] and (keys is None or row[first] in keys))


def due(result, claims):
    return sum(record["due"] for name, records in result.claims.items() if name in claims for record in records)


def test_superpod_is_one_scalable_unit(decks, results):
    tables, base = decks["superpod"], results["superpod"]["base"]
    (phase,) = tables["phases"]
    assert int(phase["racks"]) * int(phase["gpus_per_rack"]) == 576
    assert float(phase["mw"]) == 1.2
    capex = due(base, ("chips", "racks", "storage", "fabric"))
    assert capex == pytest.approx(32_000_000)
    assert value(tables, "facilities", "ddtl", "commitment") == pytest.approx(0.8 * capex)
    assert sum(base.facilities["ddtl"]["draw"]) == pytest.approx(0.8 * capex)
    assert sum(map(sum, base.billed.values())) == pytest.approx(5 * 14_400_000)
    rent = base.claims["rent"]
    assert sum(record["due"] for record in rent[5:9]) == pytest.approx(2_160_000, rel=0.04)  # a year, and its growth


def test_coreweave_power_follows_the_published_path(decks, results):
    phases, base = decks["coreweave"]["phases"], results["coreweave"]["base"]
    start = date(2026, 7, 1)
    mw = {row["phase"]: float(row["mw"]) for row in phases}
    live = [name for name in mw if base.finish[name, "platform"] < start]
    assert sum(mw[name] for name in live) == 1500
    active = dict(zip(base.periods, base.mw["active"], strict=True))
    assert (active["2026Q4"], active["2027Q4"], active["2028Q3"]) == (1850, 3100, 4200)
    ordered = {row["phase"]: date.fromisoformat(row["order_date"]) for row in phases}
    assert sum(mw[name] for name in mw if ordered[name] <= date(2026, 6, 30)) == 3700
    assert sum(mw[name] for name in mw if ordered[name] <= date(2026, 8, 11)) == 4200


def test_coreweave_opens_on_the_published_balance_sheet(decks):
    tables = decks["coreweave"]
    assert amounts(tables, "facilities", "opening_balance") == pytest.approx(35.551e9)
    assert amounts(tables, "accounts", "opening_cash") == pytest.approx(5.524e9 + 1.380e9)
    undrawn = amounts(tables, "facilities", "commitment", ("ddtl4", "ddtl5", "revolver"))
    assert undrawn == pytest.approx(10.014e9)


def test_coreweave_bills_what_was_guided(results):
    base = results["coreweave"]["base"]
    third, fourth = (sum(billed[quarter] for billed in base.billed.values()) for quarter in (0, 1))
    assert 3.45e9 <= third <= 3.60e9
    assert 12.4e9 <= 2.078e9 + 2.575e9 + third + fourth <= 13.2e9


def test_coreweave_has_been_prepaid_what_it_reported(results):
    base = results["coreweave"]["base"]
    old = [phase for phase in base.billed if phase.startswith("fleet")] + ["2026Q2", "2026Q3"]
    still_to_credit = sum(sum(base.billed[phase]) for phase in old) * 0.128
    assert still_to_credit == pytest.approx(9.692e9, rel=0.01)


@pytest.mark.parametrize("phase", ["2026Q3", "2027Q3", "2028Q3"])
def test_coreweave_hardware_adds_up_to_its_cost_per_mw(decks, phase):
    claims = [row for row in decks["coreweave"]["claims"] if row["basis"] == "usd_per_mw"]
    shares = sum(float(row["share"]) for row in claims if phase in row["phase"].split(";"))
    paid_before = 0.35 if phase == "2026Q3" else 0.0
    assert shares + paid_before == pytest.approx(1)


# Scenarios ------------------------------------------------------------------------------------------------------------


def unpaid(result):
    return [
        sum(records[period]["unpaid"] for records in result.claims.values()) for period in range(len(result.periods))
    ]


def supported(result):
    return sum(map(sum, result.support_paid.values()))


@pytest.mark.parametrize("deck", DECKS)
def test_base_pays_everyone_in_every_quarter(deck, results):
    base = results[deck]["base"]
    assert max(unpaid(base)) < CENT
    assert all(
        sum(record["paid"] for record in base.parties[party]) > 0 for party in base.parties if "customer" not in party
    )


@pytest.mark.parametrize("deck", DECKS)
@pytest.mark.parametrize("step", STEPS)
def test_a_quarter_late_in_each_step_delays_billing_and_hurts(deck, step, results):
    base, late = results[deck]["base"], results[deck][f"{step}_late_1q"]
    moved = {phase: days for phase, days in late.days_late.items() if days}
    assert set(moved.values()) == {91}
    assert {late.stuck_step[phase] for phase in moved} == {step}
    assert max(unpaid(late)) > 1000 or supported(late) > supported(base) + 1000


@pytest.mark.parametrize("deck", DECKS)
@pytest.mark.parametrize("step", ["chips", "power", "onboarding"])
def test_longer_delays_leave_more_unpaid(deck, step, results):
    worst = [max(unpaid(results[deck][f"{step}_late_{quarters}q"])) for quarters in (1, 2, 4)]
    assert worst[0] < worst[1] < worst[2]


@pytest.mark.parametrize("deck", DECKS)
def test_two_equally_late_paths_have_no_single_cure(deck, results):
    late = results[deck]["racks_and_power_late_1q"]
    moved = [phase for phase, days in late.days_late.items() if days]
    assert moved
    assert {late.relief[phase, step] for phase in moved for step in STEPS} == {0}


def test_no_scenario_moves_capacity_that_is_live(results):
    coreweave = results["coreweave"]
    live = [phase for phase, day in coreweave["base"].billing.items() if day and day <= date(2026, 10, 1)]
    assert len(live) == 6
    for late in coreweave.values():
        assert all(late.days_late[phase] == 0 for phase in live)
