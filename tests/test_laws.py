"""Laws that hold for any deal, on random deals of every shape and both grids."""

import copy

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, seed, settings
from hypothesis import strategies as st

from strategies import deals, write_tables
from stuckstep.deal import DealError, read, schema
from stuckstep.results import run, solve
from stuckstep.rules.checks import LAWS

pytestmark = pytest.mark.thorough
EVERY_SHAPE = settings(deadline=None, suppress_health_check=list(HealthCheck))
MONEY = {(column.table, column.column) for column in schema() if column.unit.startswith("currency")}


def read_tables(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("deal")
    write_tables(tables, folder)
    return read(folder)


def run_of(deal, *scenarios):
    """The results; a deal that no run takes, since a refund falls due before the start, is left out."""
    try:
        return run(deal, *scenarios)
    except DealError as error:
        if "before the start" not in str(error):
            raise
        reject()


@pytest.mark.parametrize("fifty", range(1, 6))  # five times fifty deals, so that processors can share them
def test_every_law_holds(fifty, tmp_path_factory):
    """Each law's error stays within its tolerance, and what enters the deal leaves it or is still there."""

    @seed(fifty)
    @settings(EVERY_SHAPE, max_examples=50, database=None)
    @given(tables=deals())
    def holds(tables):
        _laws_hold(tables, tmp_path_factory)

    holds()


def _laws_hold(tables, tmp_path_factory):
    solution = solve(read_tables(tables, tmp_path_factory))
    for law in LAWS:
        assert solution.line(f"checks.{law}.broken").max() == 0, law
    parties = solution.parts[0].sheets.keys("parties")
    accounts = solution.parts[0].sheets.keys("accounts")
    puts_in = sum(solution.line(f"parties.{party}.puts in").sum(axis=0) for party in parties)
    paid = sum(solution.line(f"parties.{party}.paid").sum(axis=0) for party in parties)
    opening = sum(solution.line(f"accounts.{account}.opening")[0] for account in accounts)
    closing = sum(solution.line(f"accounts.{account}.closing")[-1] for account in accounts)
    np.testing.assert_allclose(opening + puts_in, paid + closing, rtol=1e-9, atol=0.01)


@settings(EVERY_SHAPE, max_examples=40)
@given(tables=deals(), data=st.data())
def test_more_delay_never_bills_more_by_any_date(tables, data, tmp_path_factory):
    """Of contracts without an escalator (with one, a later start also moves the days at each price) or a long-stop date
    (what waits for a phase that is cancelled no longer waits), ordered after the model starts (what is billed before it
    is not on the grid, so a delay can only bring more of it there)."""
    tables = copy.deepcopy(tables)
    tables["scenarios"] = []
    for contract in tables["contracts"]:
        contract["escalator"], contract["longstop_days"] = "0", ""
    (start,) = (row["value"] for row in tables["deal"] if row["item"] == "start")
    for phase in tables["phases"]:
        phase["order_date"] = max(phase["order_date"], start)
    step = data.draw(st.sampled_from([row["step"] for row in tables["steps"]]))
    days = data.draw(st.lists(st.integers(0, 700), min_size=2, max_size=4, unique=True).map(sorted))
    tables["scenarios"] = [
        {"scenario": f"late_{late}", "table": "steps", "row": step, "column": "delay", "value": str(late)}
        for late in days
    ]
    results = run_of(read_tables(tables, tmp_path_factory), [f"late_{late}" for late in days])
    billed = results.billed.sum("phase").cumsum("quarter")
    assert (np.diff(billed.values, axis=-1) <= 1e-6 * (1 + billed.values[..., 1:])).all()


@settings(EVERY_SHAPE, max_examples=25)
@given(tables=deals(), power=st.sampled_from([-3, 1, 10]))
def test_results_scale_with_money(tables, power, tmp_path_factory):
    """All money times k gives all results times k, and moves no date."""
    k = 2.0**power
    scaled = copy.deepcopy(tables)
    for table, rows in scaled.items():
        for row in rows:
            for column in row:
                if (table, column) in MONEY and row[column]:
                    row[column] = repr(float(row[column]) * k)
            if table == "scenarios" and (row["table"], row["column"]) in MONEY and row["value"]:
                row["value"] = repr(float(row["value"]) * k)
    first = run_of(read_tables(tables, tmp_path_factory))
    second = run_of(read_tables(scaled, tmp_path_factory))
    for name in ("due", "paid", "unpaid", "cash_closing", "draw", "billed"):
        np.testing.assert_allclose(second[name], first[name] * k, rtol=1e-9, atol=0.02 * max(1, k))
    assert first.billing_start.equals(second.billing_start)


@settings(EVERY_SHAPE, max_examples=25)
@given(tables=deals())
def test_a_scenario_alone_is_the_scenario_in_a_batch(tables, tmp_path_factory):
    """Bit for bit, for every line; a list of yearly prices is as long as the longest scenario of the batch needs."""
    deal = read_tables(tables, tmp_path_factory)
    together = solve(deal)
    for position, scenario in enumerate(together.scenarios):
        alone = solve(deal, [scenario])
        for name, line in alone.parts[0].lines.items():
            if line.item == "last year":
                continue
            assert np.array_equal(alone.line(name)[:, 0], together.line(name)[:, position]), name


@settings(EVERY_SHAPE, max_examples=25)
@given(tables=deals(), late=st.integers(1, 400))
def test_adding_a_scenario_changes_no_other(tables, late, tmp_path_factory):
    """Also where the new one narrows a step to one phase, and changes the structure."""
    more = copy.deepcopy(tables)
    step, phase = tables["steps"][0]["step"], tables["phases"][-1]["phase"]
    more["scenarios"] = [
        *tables["scenarios"],
        {"scenario": "added", "table": "steps", "row": f"{step}@{phase}", "column": "delay", "value": str(late)},
        {"scenario": "added", "table": "deal", "row": "billing_unit", "column": "value", "value": "deal"},
    ]
    before, after = (solve(read_tables(one, tmp_path_factory)) for one in (tables, more))
    assert after.scenarios == (*before.scenarios, "added")
    for part in before.parts:
        for name in part.lines:
            assert np.array_equal(before.line(name), after.line(name)[:, :-1]), name
