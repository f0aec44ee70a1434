"""Deals side by side."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from stuckstep.api import read
from stuckstep.cli.library import compare as compare_command
from stuckstep.reports.compare import compare, comparison_page, overview, parties_of, side
from stuckstep.reports.console import Sentence, Table

LIBRARY = Path(__file__).parents[1] / "assumptions"


@cache
def results(deck):
    return read(LIBRARY / deck).run(["base", *({"gw_gb300": ["inference_api", "power_late_2q"]}.get(deck, []))])


def gw(scenario="base"):
    return side("gw_gb300", results("gw_gb300"), scenario)


def row(table, party, scenario="base"):
    return table[(table["party"] == party) & (table["scenario"] == scenario)].iloc[0]


def test_amounts_are_those_of_the_results_in_total_and_per_mw():
    table = compare([gw(), side("moonshot", results("moonshot"))])
    for deck, mw in (("gw_gb300", 1000), ("moonshot", 20)):
        base = results(deck).sel(scenario="base")
        mine = table[table["deal"] == deck].set_index("party")
        np.testing.assert_allclose(mine["paid"], base.paid.sum("quarter"))
        np.testing.assert_allclose(mine["due_per_mw"], base.due.sum("quarter") / mw)
        np.testing.assert_allclose(mine["unpaid"], base.unpaid.max("quarter"))


def test_dates_are_counted_from_each_deals_first_quarter():
    table = compare([gw()])
    chipmaker = row(table, "chipmaker")
    assert (chipmaker["first_paid"], chipmaker["first_after"]) == ("2027Q4", 3)
    customer = row(table, "customer")
    assert customer["first_paid"] == ""
    assert np.isnan(customer["first_after"])


def test_a_scenario_is_set_against_base_of_the_same_deal():
    table = compare([gw(), gw("inference_api"), gw("power_late_2q")])
    assert list(table["scenario"].unique()) == ["base", "inference_api", "power_late_2q"]
    suppliers = ["chipmaker", "memory", "rack_builder", "landlord"]
    at_base = [row(table, party)["paid_per_mw"] for party in suppliers]
    at_top = [row(table, party, "inference_api")["paid_per_mw"] for party in suppliers]
    np.testing.assert_allclose(at_base, at_top, rtol=1e-9)
    assert row(table, "chipmaker", "power_late_2q")["half_after"] > row(table, "chipmaker")["half_after"]


def test_overview_says_what_bills_and_when():
    table = overview([gw(), gw("power_late_2q")])
    assert table["mw"].tolist() == [1000, 1000]  # per MW of base, also where a scenario bills later
    assert table["days_late"].tolist() == [0, 182]
    assert table["stuck"].tolist() == ["", "power"]
    assert table["billed_per_mw_year"].to_numpy() == pytest.approx(12e6, rel=0.01)
    assert (table["billing"] - table["planned"]).dt.days.tolist() == [0, 182]


def test_a_cancelled_phase_hides_no_other_and_none_left_is_never():
    crusoe = read(LIBRARY / "crusoe").run(["base", "grid_wait_4_years"])
    late = overview([side("crusoe", crusoe, "grid_wait_4_years")]).iloc[0]
    assert late["cancelled"] == 2
    assert pd.isna(late["billing"])
    assert np.isnan(late["billed_per_mw_year"])
    nebius = read(LIBRARY / "nebius").run(["base", "vineland_power_late_4q"])
    part = overview([side("nebius", nebius, "vineland_power_late_4q")]).iloc[0]
    assert (part["cancelled"], f"{part['billing']:%Y-%m-%d}") == (1, "2025-10-27")


def test_a_deal_that_never_bills_has_no_amounts_per_mw():
    empty = results("moonshot").copy(deep=True)
    empty["mw"] = empty["mw"] * 0
    table = compare([side("moonshot", empty)])
    assert table["paid_per_mw"].isna().all()


def test_parties_keep_the_order_of_the_chain():
    order = parties_of([gw(), side("fluidstack", results("fluidstack"))])
    assert len(order) == len(set(order))
    assert order.index("rack_builder") < order.index("contractor") < order.index("landlord")
    assert order.index("noteholders") < order.index("lender") < order.index("google") < order.index("neocloud")


def test_several_currencies_are_refused():
    euros = results("moonshot").assign_attrs(currency="EUR")
    with pytest.raises(ValueError, match="EUR and USD"):
        compare([gw(), side("moonshot", euros)])


def test_the_page_has_one_column_for_each_side():
    sides = [gw(), side("moonshot", results("moonshot")), gw("power_late_2q")]
    blocks = list(comparison_page(sides))
    tables = [block for block in blocks if isinstance(block, Table)]
    assert [len(table.headings) for table in tables] == [4] * len(tables)
    assert [table.title.split(",")[0] for table in tables[1:]] == [
        "First paid (periods after the first)",
        "Half paid (periods after the first)",
        "Last paid (periods after the first)",
        "Paid",
        "Paid",
        "IRR of who puts money in",
        "Unpaid at worst",
        "Unpaid at worst",
    ]
    returns = next(table for table in tables if table.title.startswith("IRR"))
    assert results("moonshot")["irr"].sel(party="chipmaker", scenario="base") > 1e6  # the results keep the number
    assert next(row for row in returns.rows if row[0] == "chipmaker")[2] == "n/m"
    assert Sentence("n/m: not meaningful, a rate above 1,000% a year.") in blocks
    calm = list(comparison_page(sides[:2]))
    assert any(isinstance(block, Sentence) and block.text.startswith("Nobody is left unpaid") for block in calm)


def test_the_command_takes_deals_and_scenarios_and_writes_the_parties(tmp_path):
    target = tmp_path / "parties.csv"
    named = [str(LIBRARY / "moonshot"), f"{LIBRARY / 'moonshot'}:power_late_2q"]
    result = CliRunner().invoke(compare_command, [*named, "--csv", str(target)])
    assert result.exit_code == 0, result.output
    assert "moonshot:power_late_2q" in result.output
    written = pd.read_csv(target)
    assert len(written) == 2 * len(written["party"].unique())
    assert set(written["scenario"]) == {"base", "power_late_2q"}


def test_the_command_wants_two_deals():
    result = CliRunner().invoke(compare_command, [str(LIBRARY / "moonshot")])
    assert result.exit_code == 2
    assert "two deals or more" in result.output
