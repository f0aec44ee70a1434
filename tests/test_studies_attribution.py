"""Attribution: shares that add up, nothing for what is idle, alike for what is alike; indices of a known sum."""

import numpy as np
import pytest

from deal_files import copy, put, read_table, scenario, write_table
from stuckstep.deal import Cell, DealError, read
from stuckstep.deal.changes import with_scenarios
from stuckstep.results import run
from stuckstep.studies.attribution import attribute, causes_of, cost_of_delay, loss_by_cause
from stuckstep.studies.axes import axis
from stuckstep.studies.distributions import Uncertainty
from stuckstep.studies.indices import sobol_indices

pytestmark = pytest.mark.thorough

LATE = Cell("steps", "onboarding", "delay")
TWIN = Cell("steps", "twin", "delay")
EARLY = Cell("steps", "early", "delay")
PRICE = Cell("contracts", "anchor", "price")


@pytest.fixture(scope="module")
def deal(tmp_path_factory):
    """The worked deal with a twin of its last step, and a step that ends long before it is needed."""
    folder = copy(tmp_path_factory.mktemp("deal") / "superpod")
    rows = read_table(folder, "steps")
    last = next(row for row in rows if row["step"] == "onboarding")
    rows += [{**last, "step": "twin", "status": ""}, {**last, "step": "early", "after": "", "days": "1", "status": ""}]
    write_table(folder, "steps", rows)
    scenario(folder, "trouble", "steps", "onboarding", "delay", "50")
    scenario(folder, "trouble", "steps", "twin", "delay", "50")
    scenario(folder, "trouble", "steps", "early", "delay", "5")
    scenario(folder, "trouble", "contracts", "anchor", "price", "11000000")
    put(folder, "deal", "discount_rate", "value", "0.1")
    return read(folder)


def test_shares_add_up_and_the_idle_step_gets_nothing(deal):
    result = loss_by_cause(deal, "trouble")
    both = run(deal, ["base", "trouble"])
    for party in both.party.values:
        lost = both.npv.sel(party=party).values
        of = result.sel(measure=f"npv:{party}")
        assert of.change.item() == lost[1] - lost[0]
        np.testing.assert_allclose(float(of.share.sum()), of.change.item(), rtol=1e-9, atol=1e-9 * abs(lost[0]))
        assert of.share.sel(cause="steps.early").item() == 0
        twins = of.share.sel(cause=["steps.onboarding", "steps.twin"]).values
        np.testing.assert_allclose(twins[0], twins[1], rtol=1e-9, atol=1e-6)
    assert abs(result.share.sel(measure="npv:neocloud", cause="contracts.anchor").item()) > 0
    assert result.attrs["exact"] == 1
    assert result.attrs["runs"] == 16


def test_two_equally_late_steps_share_the_days_equally(deal):
    result = attribute(deal, {"a": {LATE: 50.0}, "b": {TWIN: 50.0}, "c": {EARLY: 5.0}}, ["days_late"])
    assert result.change.item() == 50
    assert result.share.values[0].tolist() == pytest.approx([25, 25, 0])
    longer = attribute(deal, {"a": {LATE: 50.0}, "b": {TWIN: 80.0}}, ["days_late"])
    assert longer.share.values[0].tolist() == pytest.approx([25, 55])  # 50 days are both's, 30 are the second's alone


def test_sampled_shares_add_up_and_come_near_the_exact_ones(deal):
    causes = causes_of(deal, "trouble")
    exact = attribute(deal, causes, ["npv:neocloud", "days_late"])
    sampled = attribute(deal, causes, ["npv:neocloud", "days_late"], exact=3, orders=200, seed=2)
    assert sampled.attrs["exact"] == 0
    np.testing.assert_allclose(sampled.share.sum("cause"), sampled.change, rtol=1e-9)
    np.testing.assert_array_equal(sampled.change, exact.change)
    off = np.abs(sampled.share - exact.share).values
    assert (off <= 5 * sampled.share_error.values + 1e-9 * np.abs(exact.share.values) + 1e-6).all()
    assert sampled.share.sel(cause="steps.early").values.tolist() == [0, 0]


def test_cells_are_grouped_as_named(deal):
    grouped = causes_of(deal, "trouble", {"late": ["steps.onboarding.delay", "steps.twin.delay"]})
    assert list(grouped) == ["late", "steps.early.delay", "contracts.anchor.price"]
    result = attribute(deal, grouped, ["days_late"])
    assert result.share.values[0].tolist() == pytest.approx([50, 0, 0])


def test_what_cannot_be_shared_out_is_told(deal, tmp_path):
    with pytest.raises(DealError, match="no scenario 'nowhere'"):
        causes_of(deal, "nowhere")
    with pytest.raises(DealError, match="two causes change the cell"):
        attribute(deal, {"a": {LATE: 1.0}, "b": {LATE: 2.0}}, ["days_late"])
    folder = copy(tmp_path / "other")
    scenario(folder, "fixed", "contracts", "anchor", "end_rule", "fixed")
    with pytest.raises(DealError, match="changes its structure"):
        causes_of(read(folder), "fixed")


def test_one_more_quarter_costs_what_a_run_of_it_shows(deal):
    result = cost_of_delay(deal)
    changed = with_scenarios(deal, {"more": {LATE: 91.0}})
    both = run(changed, ["base", "more"])
    for what, values in [("npv", both.npv), ("unpaid", both.unpaid.max("quarter"))]:
        expected = values.sel(scenario="more") - values.sel(scenario="base")
        np.testing.assert_array_equal(result[what].sel(step="onboarding"), expected)
    assert result.days_late.sel(step="onboarding").item() == 91
    assert result.days_late.sel(step="early").item() == 0
    assert (result.npv.sel(step="early") == 0).all()
    from_trouble = cost_of_delay(deal, start="trouble", days=10)
    assert from_trouble.days_late.sel(step="twin").item() == 10


def test_indices_of_a_sum_are_its_parts_of_the_variance(deal):
    """What falls due to a party is a sum of rates times quantities: variances 9 : 1 when the widths are 3 : 1."""
    pytest.importorskip("SALib", reason="SALib is an extra")
    once = [row.cells for row in deal.tables["claims"] if row.cells["kind"] == "once"]
    first, second = next((a, b) for a in once for b in once if a["payee"] == b["payee"] and a is not b)
    solution = run(deal, ["base"])
    dues = [solution.claim_due.sel(claim=one["claim"]).sum().item() for one in (first, second)]
    widths = (0.3, 0.1 * dues[0] / dues[1])
    if widths[1] > 0.9:
        widths = (0.3 / widths[1] * 0.9, 0.9)
    parts = [
        Uncertainty(one["claim"], axis(deal, f"claims.{one['claim']}.rate", "1", by="factor"), "uniform",
                    low=1 - width, high=1 + width)
        for one, width in zip((first, second), widths, strict=True)
    ]  # fmt: skip
    idle = Uncertainty("idle", axis(deal, "steps.early.delay", "0"), "uniform", low=0, high=5)
    result = sobol_indices(deal, [*parts, idle], [f"due:{first['payee']}", "days_late"], points=1024)
    of = result.sel(measure=f"due:{first['payee']}")
    np.testing.assert_allclose(of["first"], [0.9, 0.1, 0], atol=0.03)
    np.testing.assert_allclose(of["total"], [0.9, 0.1, 0], atol=0.03)
    assert np.isnan(result.sel(measure="days_late")["first"]).all()  # it is the same in every run
