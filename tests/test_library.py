"""The library of deals: each runs, does what its cover says, and says where its numbers come from."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import xarray as xr

import reference
from compare import differences
from stuckstep.deal import Deal, read
from stuckstep.deal.facts import facts
from stuckstep.deal.sources import RESTS_ON, citations, rests_on, shares, unsourced
from stuckstep.results import Solution, label, solve
from test_assumptions import ARITHMETIC, says

pytestmark = pytest.mark.thorough

LIBRARY = Path(__file__).parents[1] / "assumptions"
DECKS = sorted(path.name for path in LIBRARY.iterdir() if path.is_dir())
OTHERS = [deck for deck in DECKS if deck not in ("superpod", "coreweave")]  # those two have tests of their own
CENT = 0.01
# As in the tests of the two core decks: one fact gives these only after the arithmetic their note spells out.
WORKED_OUT = ARITHMETIC | {
    ("take_or_pay", "LAND-13"),  # a rule, not a number
    ("share", "BOM-07"),  # the middle of a range
    ("delay", "STUCK-12"),  # a year, less the days planned
    ("delay", "POW-01"),  # years in days, less the days planned
    ("instalments", "GPU-01"),  # quarter ends to maturity
    ("instalments", "GPU-05"),
}


class Run(NamedTuple):
    deal: Deal
    solution: Solution
    results: xr.Dataset

    def of(self, scenario: str = "base") -> xr.Dataset:
        return self.results.sel(scenario=scenario)


@cache
def run(deck: str) -> Run:
    deal = read(LIBRARY / deck)
    solution = solve(deal)
    return Run(deal, solution, label(solution))


def cover(deck: str) -> str:
    return next(str(row.extras["note"]) for row in run(deck).deal.tables["deal"] if row.cells["item"] == "title")


def worst(results: xr.Dataset) -> float:
    return float(results.claim_unpaid.sum("claim").max())


def short(results: xr.Dataset) -> set[str]:
    """The parties that are left unpaid at some quarter's end."""
    return {str(party) for party in results.party.values if float(results.unpaid.sel(party=party).max()) > CENT}


def paid(results: xr.Dataset, *parties: str) -> np.ndarray:
    return results.paid.sel(party=list(parties)).values


def mw(results: xr.Dataset, status: str, quarter: str) -> float:
    return float(results.mw.sel(status=status).values[results.label.values == quarter][0])


# Every deal -----------------------------------------------------------------------------------------------------------


def test_the_library_holds_every_system_of_the_documents():
    named = "superpod superpod_128 coreweave nebius lambda crusoe fluidstack colossus colossus_2 stargate_uae jupiter"
    assert set(f"{named} moonshot gw_gb300 btm_power".split()) <= set(DECKS)


@pytest.mark.parametrize("deck", OTHERS)
def test_no_law_is_broken_and_the_reference_agrees_in_every_scenario(deck):
    one = run(deck)
    assert one.results.is_sound.all()
    assert differences(one.solution, reference.run(reference.read_tables(LIBRARY / deck))) == []


@pytest.mark.parametrize("deck", OTHERS)
def test_base_does_what_its_cover_says(deck):
    says_so = cover(deck)
    assert says_so.startswith("In base")
    assert "everyone is paid in full, when due, and nothing is unpaid in any quarter" in says_so
    base = run(deck).of()
    assert worst(base) < CENT
    assert float(base.alert_raised.sel(alert="unpaid at horizon")) == 0
    runs_on = float(base.alert_raised.sel(alert="claims past horizon")) > 0
    assert runs_on == ("up to the horizon" in says_so)


@pytest.mark.parametrize("deck", OTHERS)
def test_whoever_is_owed_is_paid_in_base(deck):
    base = run(deck).of()
    due, got = base.due.sum("quarter"), base.paid.sum("quarter")
    np.testing.assert_allclose(got, due, atol=CENT)
    assert int((got > CENT).sum()) >= 4


@pytest.mark.parametrize("deck", DECKS)
def test_the_cover_says_what_is_assumed_and_what_it_teaches(deck):
    words = cover(deck)
    assert "What it teaches" in words
    assert re.search("assum", words, re.IGNORECASE)


@pytest.mark.parametrize("deck", OTHERS)
def test_every_stuck_step_has_a_scenario(deck):
    results = run(deck).results
    late = results.days_late.fillna(1) > 0  # a cancelled phase has no days_late
    stuck = {str(step) for step in results.stuck_step.where(late, "").values.ravel()} - {""}
    assert stuck == {str(step) for step in results.step.values}


@pytest.mark.parametrize("deck", OTHERS)
def test_every_scenario_moves_money(deck):
    results = run(deck).results
    base = results.claim_paid.sel(scenario="base").fillna(0)
    for scenario in results.scenario.values[1:]:
        assert float(abs(results.claim_paid.sel(scenario=scenario).fillna(0) - base).max()) > 1000, scenario


# Sources --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deck", DECKS)
def test_every_number_resolves_to_facts_or_is_an_assumption_with_a_reason(deck):
    deal = run(deck).deal if deck in OTHERS else read(LIBRARY / deck)
    assert [str(fault) for fault in unsourced(deal, facts())] == []
    assert {rests_on(one, facts()) for one in citations(deal)} <= set(RESTS_ON) - {"other text", "no source"}


@pytest.mark.parametrize("deck", OTHERS)
def test_a_number_with_one_fact_is_said_by_it(deck):
    compared = 0
    for one in citations(run(deck).deal):
        if len(one.says) != 1 or one.says == ("assumption",) or not isinstance(one.value, float) or one.value == 0:
            continue
        row = next(row for row in run(deck).deal.tables[one.table] if row.number == one.row)
        column = row.cells["column"] if one.table == "scenarios" else one.column
        if (column, one.says[0]) not in WORKED_OUT:
            fact = facts()[one.says[0]]._asdict()
            assert says(fact, one.value), (deck, one)
            compared += 1
    assert compared >= 4


@pytest.mark.parametrize("deck", OTHERS)
def test_every_fact_named_in_a_note_exists(deck):
    families = {name.split("-")[0] for name in facts()}
    for table, rows in run(deck).deal.tables.items():
        for row in rows:
            for name in re.findall(
                r"\b[A-Z]+[0-9]*-[A-Z0-9][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*\b", str(row.extras.get("note", ""))
            ):
                assert name in facts() or name.split("-")[0] not in families, (table, row.number, name)


def test_shares_count_every_number_once():
    deal = run("moonshot").deal
    counted = shares(deal, facts())
    assert sum(sum(kinds.values()) for kinds in counted.values()) == len(list(citations(deal)))
    phases = counted["phases"]
    assert (phases["press"], phases["worked out"], phases["assumption"]) == (1, 1, 2)


# Headlines ------------------------------------------------------------------------------------------------------------


def fact(name: str) -> float:
    return facts()[name].number


def phases(deck: str, *, column: str) -> dict[str, float]:
    return {str(row.cells["phase"]): float(row.cells[column] or 0) for row in run(deck).deal.tables["phases"]}  # type: ignore[arg-type]


def gpus(deck: str) -> float:
    each = phases(deck, column="gpus_per_rack")
    return sum(racks * each[phase] for phase, racks in phases(deck, column="racks").items())


def test_superpod_128_is_sixteen_units():
    assert sum(phases("superpod_128", column="racks").values()) == fact("SEED1-04")
    assert gpus("superpod_128") == fact("SEED1-05")
    assert sum(phases("superpod_128", column="mw").values()) == pytest.approx(16 * fact("SEED1-03"))


@pytest.mark.parametrize("units", [2, 4, 8, 12])
def test_superpod_128_scales_with_its_units(units):
    whole, part = run("superpod_128").of(), run("superpod_128").of(f"units_{units}")
    np.testing.assert_allclose(part.paid, whole.paid * units / 16, rtol=1e-9, atol=CENT)
    np.testing.assert_array_equal(part.first_paid.values, whole.first_paid.values)


def test_superpod_128_is_sixteen_times_superpod():
    one = label(solve(read(LIBRARY / "superpod"), ["base"])).sel(scenario="base")
    np.testing.assert_allclose(run("superpod_128").of().paid, 16 * one.paid, rtol=1e-9, atol=CENT)


def test_one_late_unit_stops_all_of_a_pod_sold_as_one_computer():
    by_unit, whole = (run("superpod_128").of(f"{name}_fabric_late_2q") for name in ("unit_1", "whole_pod"))
    assert by_unit.days_late.sel(phase="other_units") == 0
    assert whole.billing_start.sel(phase="other_units") == by_unit.billing_start.sel(phase="unit_1")
    assert worst(by_unit) < CENT < 1e6 < worst(whole)


def test_gw_gb300_stands_on_the_five_rungs():
    results = run("gw_gb300").results
    rungs = {
        "base": "26",
        "b300_on_demand": "27",
        "spacex_anthropic": "28",
        "spacex_google": "29",
        "inference_api": "30",
    }
    for scenario, number in rungs.items():
        billed = float(results.billed.sel(scenario=scenario).sum())
        assert billed == pytest.approx(5 * fact(f"SEED2-{number}") * 1e9), scenario


def test_a_higher_rung_pays_nobody_else_more_or_sooner():
    base, top = run("gw_gb300").of(), run("gw_gb300").of("inference_api")
    others = [str(party) for party in base.party.values if party not in ("neocloud", "lender", "customer")]
    np.testing.assert_allclose(paid(base, *others), paid(top, *others), atol=1)
    assert float(top.paid.sel(party="neocloud").sum()) > 10 * float(base.paid.sel(party="neocloud").sum())
    late, late_top = (run("gw_gb300").of(name) for name in ("power_late_2q", "inference_api_power_late_2q"))
    assert short(late) >= {"chipmaker", "rack_builder", "lender"}
    assert worst(late_top) == pytest.approx(worst(late), rel=0.03)


def test_nebius_connects_a_fifth_of_what_is_contracted():
    base, low = run("nebius").of(), run("nebius").of("connected_low")
    assert mw(base, "contracted", "2026Q4") == pytest.approx(fact("SEED1-25") * 1000)
    assert mw(base, "connected", "2026Q4") == pytest.approx(fact("SEED1-27") * 1000)
    assert mw(low, "connected", "2026Q4") == pytest.approx(fact("SEED1-26") * 1000)
    assert mw(base, "active", "2026Q1") == fact("NBQ-X03")
    assert mw(base, "billing", "2026Q4") == fact("NBQ-X03")  # connected is not billed


def test_nebius_is_prepaid_as_its_contract_and_its_first_quarter_say():
    base = run("nebius").of()
    prepaid = base.prepaid.sum("quarter").sel(phase=["vineland_1", "vineland_2"])
    assert float(prepaid.sum()) == pytest.approx(fact("CUST-07") * 1e9, rel=0.001)
    assert float(base.billed.sel(phase=["vineland_1", "vineland_2"]).sum()) == pytest.approx(
        fact("CUST-06") * 1e9, rel=0.001
    )
    assert float(base.prepaid.sum("phase")[0]) == pytest.approx(3.198e9, rel=0.05)  # CUST-10
    cancelled = run("nebius").of("vineland_power_late_4q")
    assert float(cancelled.claim_due.sel(claim="microsoft.refund").sum()) == pytest.approx(float(prepaid[1]))


def test_nebius_goes_through_its_own_steps_after_connection():
    base = run("nebius").of()
    order = ["power", "commission", "network", "clusters", "platform", "onboarding"]  # SEED1-29
    days = [base.finish.sel(phase="halls_high", step=step).values for step in order]
    assert days == sorted(days)
    assert len(set(days)) == len(order)


def test_lambda_is_covered_as_rated_and_draws_nothing_more():
    base = run("lambda").of()
    cover_ratio = base.dscr.sel(facility="term_loan_b").values
    full = cover_ratio[3:17]  # from the first quarter of full collections to the last instalment
    assert float(full.mean()) == pytest.approx(fact("GPU-02"), abs=0.03)
    assert float(base.draw.sum()) == 0
    assert float(base.principal_due.sum()) == pytest.approx(fact("GPU-01") * 1e9)
    assert str(base.last_paid.sel(party="lender").values)[:10] == "2030-12-31"


def test_lambda_leaves_the_lender_and_not_the_chipmaker_short():
    late = run("lambda").of("power_late_2q")
    assert "lender" in short(late)
    assert not short(late) & {"chipmaker", "memory", "packaging", "rack_builder"}
    assert worst(run("lambda").of("power_late_1q")) < CENT


def test_crusoe_waits_for_its_turbines_and_its_suppliers_for_a_draw():
    base, late = run("crusoe").of(), run("crusoe").of("turbines_late_1q")
    assert sum(phases("crusoe", column="mw").values()) == pytest.approx(2 * 99.6)  # SU-09
    assert base.first_paid.sel(party="turbine_maker") < base.first_paid.sel(party="chipmaker")
    assert {"chipmaker", "rack_builder"} <= short(late)


def test_fluidstack_has_its_noteholders_behind_the_backstop():
    base, late, bare = (
        run("fluidstack").of(name) for name in ("base", "onboarding_late_2q", "onboarding_late_2q_no_backstop")
    )
    assert float(base.support_paid.sel(support="lease_backstop").sum()) == 0
    assert float(late.support_paid.sel(support="lease_backstop").sum()) > 1e6
    assert "noteholders" not in short(late)
    assert "noteholders" in short(bare)
    assert float(base.draw.sel(facility="notes").sum()) == pytest.approx(fact("GPU-07") * 1e9, rel=0.01)


def test_colossus_stands_in_122_days():
    base = run("colossus").of()
    days = base.billing_start.max().values - np.datetime64("2024-05-01")
    assert days / np.timedelta64(1, "D") == fact("SEED2-36")
    assert base.sizes["phase"] == fact("SEED2-06") / fact("SEED2-05")
    assert gpus("colossus") == pytest.approx(fact("SEED2-06"), rel=0.001)
    assert set(phases("colossus", column="gpus_per_rack").values()) == {fact("SEED2-01")}


def test_one_late_hall_of_colossus_stops_the_job_on_all_four():
    one, all_four = (run("colossus").of(f"{name}_fabric_late_1q") for name in ("hall_4", "one_machine"))
    assert int((one.days_late > 0).sum()) == 1
    assert (all_four.billing_start == one.billing_start.max()).all()


def test_colossus_2_costs_what_the_lessor_paid():
    base = run("colossus_2").of()
    hardware = base.claim_due.sel(claim=["chips", "racks", "storage", "fabric"]).sum()
    assert float(hardware) == pytest.approx(fact("GPU-08") * 1e9)
    assert float(base.draw.sum()) == pytest.approx(3.5e9)  # the debt in the note of GPU-08
    assert "lender" in short(run("colossus_2").of("customer_out_after_1y"))
    assert not short(run("colossus_2").of("power_late_2q"))  # the user carries it


def test_stargate_uae_marks_every_figure_of_the_site_as_assumed():
    said = {one.column: one.says for one in citations(run("stargate_uae").deal) if one.table == "phases"}
    assert {said[column] for column in ("order_date", "racks", "mw")} == {("assumption",)}
    dropped = run("stargate_uae").of("second_dropped")
    assert dropped.cancelled.values.tolist() == [False, True]


def test_jupiter_makes_landlord_and_lender_wait():
    base, late = run("jupiter").of(), run("jupiter").of("as_reported")
    assert sum(phases("jupiter", column="mw").values()) == fact("SEED2-19") * 1000
    assert short(late) == {"lender"}
    assert late.half_paid.sel(party="landlord") > base.half_paid.sel(party="landlord")
    assert worst(run("jupiter").of("as_reported_rent_deferral")) > worst(late)
    assert worst(run("jupiter").of("as_reported_fixed_rent")) < CENT
    first = (
        base.claim_due.sel(claim="building_first").sum()
        / base.claim_due.sel(claim=["building_first", "building_rest"]).sum()
    )
    assert float(first) == pytest.approx(0.26)  # STUCK-10


def test_moonshot_leaves_nobody_short_but_the_cloud_later():
    results = run("moonshot").results
    assert gpus("moonshot") == fact("SEED2-15")
    assert worst(results) < CENT
    late = results.npv.sel(party="neocloud")
    assert float(late.sel(scenario="power_late_2q")) < float(late.sel(scenario="base"))


def test_btm_power_holds_the_orders_of_the_chart():
    megawatts = phases("btm_power", column="mw")
    for quarter in ("1Q25", "2Q25", "3Q25", "4Q25", "1Q26", "2Q26", "3Q26"):
        ordered = fact("SEED2-21" if quarter == "3Q26" else f"SEED2-20-{quarter}") * 1000
        linked, unallocated = megawatts[f"{quarter}_linked"], megawatts[f"{quarter}_unallocated"]
        assert linked + unallocated == pytest.approx(ordered)
        assert unallocated / ordered == pytest.approx(fact("SEED2-24") / 100, abs=0.001)
    assert sum(megawatts.values()) == pytest.approx(74_100)  # and not the 74.2 GW that are printed


def test_btm_orders_without_a_site_are_paid_for_and_never_bill():
    base = run("btm_power").of()
    bills = {str(phase) for phase in base.phase.values if float(base.billed.sel(phase=phase).sum()) > 0}
    assert bills == {str(phase) for phase in base.phase.values if phase.endswith("_linked")}
    assert short(run("btm_power").of("unallocated_not_built")) == {"turbine_maker"}


def test_btm_orders_are_not_deliveries():
    """At the lead assumed, more of the linked orders would have power by the end of 2026 than the outlook has."""
    base, megawatts = run("btm_power").of(), phases("btm_power", column="mw")
    on = base.finish.sel(step="power") <= np.datetime64("2026-12-31")
    linked = sum(mw for phase, mw in megawatts.items() if phase.endswith("_linked") and bool(on.sel(phase=phase)))
    assert linked == pytest.approx(4_690)
    assert linked > fact("SEED2-25") * 1000


@pytest.mark.parametrize(
    ("deck", "scenario", "waits"),
    [
        ("superpod", "power_late", {"chipmaker", "rack_builder"}),
        ("superpod", "onboarding_late_2q", {"lender"}),
        ("coreweave", "power_late_2q", {"chipmaker", "rack_builder"}),
        ("coreweave", "power_late_4q", {"chipmaker", "rack_builder"}),
        ("coreweave", "power_2027Q1_late_2q", set()),
    ],
)
def test_who_waits_in_the_core_decks_is_as_their_covers_teach(deck, scenario, waits):
    most = run(deck).of(scenario).unpaid.max("quarter")
    most = most.where(most >= 0.01 * most.sum(), 0.0)  # a few thousand beside millions are no lesson
    assert {str(name) for name in most.party.values[(most >= CENT).values]} == waits
    assert scenario in cover(deck)


def test_at_onboarding_the_loans_are_drawn_and_the_lenders_of_coreweave_wait():
    late = run("coreweave").of("onboarding_late_3q")
    most = late.unpaid.max("quarter")
    assert (most.sel(party=["lender", "existing_lenders"]) > CENT).all()
    drawn = late.draw.sum()
    assert drawn > 2 * run("coreweave").of("power_late_4q").draw.sum()
