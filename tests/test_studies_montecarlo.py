"""Monte Carlo: known distributions come back, any draw can be run again, and no chunk or thread changes a bit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deal_files import copy
from stuckstep.deal import DealError, read
from stuckstep.results import run
from stuckstep.studies.axes import axis
from stuckstep.studies.distributions import Uncertainty
from stuckstep.studies.montecarlo import monte_carlo, one_draw
from stuckstep.studies.sampling import Design, design, points, shares
from stuckstep.studies.summaries import Histogram, Sketch, Sum, spread

pytestmark = pytest.mark.thorough

pytest.importorskip("scipy", reason="scipy is an extra")
LATE, PRICE = "steps.onboarding.delay", "contracts.anchor.price"
METHODS = ("sobol", "lhs", "plain")


@pytest.fixture(scope="module")
def deal(tmp_path_factory):
    return read(copy(tmp_path_factory.mktemp("deal") / "superpod"))


@pytest.fixture(scope="module")
def uncertain(deal):
    """Delays that belong together, a price, and a step that is mostly on time."""
    return [
        Uncertainty("power", axis(deal, "steps.power.delay", "0"), "lognormal", low=10, high=180, cap=900, chance=0.6,
                    group="site", correlation=0.5),
        Uncertainty("hall", axis(deal, "steps.hall.delay", "0"), "pert", low=0, mode=20, high=200, group="site",
                    correlation=0.5),
        Uncertainty("price", axis(deal, PRICE, "1", by="factor"), "uniform", low=0.9, high=1.1),
        Uncertainty("onboarding", axis(deal, LATE, "0"), "discrete", values=(0, 30, 400), weights=(0.7, 0.2, 0.1)),
    ]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_a_linear_loss_has_its_known_mean_and_quantiles(deal, method):
    """Billing is proportional to the price, so its distribution is the price's, scaled."""
    phase = deal.tables["phases"][0].cells["phase"]
    price = Uncertainty("price", axis(deal, PRICE, "1", by="factor"), "triangular", low=0.8, mode=0.9, high=1.3)
    billed = f"sum:contracts.anchor.billed@{phase}"
    result = monte_carlo(deal, [price], design(16384, method=method), measures=[billed], with_series=False)
    base = run(deal, ["base"]).billed.sum().item()
    mean, error = result["mean"].item(), result.mean_error.item()
    expected = base * (0.8 + 0.9 + 1.3) / 3
    assert abs(mean - expected) < 5 * error + 1e-6 * base
    assert error < {"sobol": 1e-5, "lhs": 1e-4, "plain": 2e-3}[method] * base
    levels = result.quantiles.sel(measure=billed)
    for share in levels["quantile"].values:
        exact = base * float(price.draw(np.array([share]))[0])
        bar = result.quantile_error.sel(measure=billed, quantile=share).item()
        assert abs(levels.sel(quantile=share).item() - exact) < 5 * bar + 3 * result.sketch_error.item() * exact


def test_the_delay_of_the_last_step_is_the_days_late(deal):
    """A step without float: days late is the delay, and the stuck step is that one whenever it is late."""
    late = Uncertainty("late", axis(deal, LATE, "0"), "uniform", low=0, high=200, chance=0.75)
    result = monte_carlo(deal, [late], design(8192), measures=["days_late"], with_series=False)
    assert abs(result["mean"].item() - 75) < 0.1
    assert result.quantiles.sel(quantile=0.25).item() == 0
    assert abs(result.quantiles.sel(quantile=0.75).item() - 133) <= 1
    assert result.highest.item() == 200
    stuck = result.stuck.isel(phase=0)
    assert abs(stuck.sel(step="onboarding").item() - 0.75) < 0.005  # half a day rounds to no delay
    assert abs(float(stuck.sum()) - 1) < 1e-12
    worst = result.shortfall.item()
    assert abs(worst - (200 - 0.05 / 0.75 * 200 / 2)) < 1


def test_no_thread_or_chunk_changes_a_bit(deal, uncertain):
    plan = design(1000, replicates=4)
    results = [
        monte_carlo(deal, uncertain, plan, threads=threads, width=width)
        for threads, width in [(1, 4096), (2, 100), (1, 33)]
    ]
    assert results[0].identical(results[1])
    assert results[0].identical(results[2])
    other = monte_carlo(deal, uncertain, design(1000, replicates=4, seed=1))
    assert not other["mean"].equals(results[0]["mean"])
    assert results[0].attrs["laws_broken"] == 0


@pytest.mark.parametrize("method", METHODS)
def test_every_draw_is_run_again_from_its_number(deal, uncertain, method):
    """The summaries of 12 draws are those of 12 single runs, each worked from the seed and its number."""
    plan = design(12, method=method, replicates=3, seed=5)
    result = monte_carlo(deal, uncertain, plan, measures=["npv:neocloud", "days_late"], unpaid_over=1e6, tail=0.25)
    alone = [run(one_draw(deal, uncertain, plan, number), [f"draw {number}"]) for number in range(12)]
    worth = [one.npv.sel(party="neocloud").item() for one in alone]
    assert math.isclose(result["mean"].values[0], math.fsum(worth) / 12, rel_tol=1e-12)
    assert result.lowest.values[0] == min(worth)
    assert result.highest.values[0] == max(worth)
    assert math.isclose(result.shortfall.values[0], sum(sorted(worth)[:3]) / 3, rel_tol=2**-12)
    late = [one.days_late.max(skipna=False).item() for one in alone]
    assert result.absent.values[1] == np.isnan(late).mean()
    unpaid = [one.unpaid.sel(party="landlord").max().item() > 1e6 for one in alone]
    assert result.probability.sel(event="unpaid:landlord").item() == np.mean(unpaid)
    stuck = [one.stuck_step.values[0, 0] for one in alone]
    for step in result.step.values:
        assert result.stuck.sel(step=step).values[0] == np.mean([one == step for one in stuck])
    paid = np.sort([one.paid.sel(party="chipmaker").values[:, 0] for one in alone], axis=0)
    median = result.paid_quantiles.sel(party="chipmaker", quantile=0.5).values
    np.testing.assert_allclose(median, paid[5], rtol=2**-8, atol=0.01)


def test_events_are_what_single_runs_show(deal, uncertain):
    plan = design(16, replicates=4, seed=3)
    result = monte_carlo(deal, uncertain, plan, measures=["days_late"], with_series=False)
    facility = deal.tables["facilities"][0].cells["facility"]
    alone = [run(one_draw(deal, uncertain, plan, number), ["base", f"draw {number}"]) for number in range(16)]
    debts = [f"{facility}.{kind}" for kind in ("fee", "interest", "principal")]
    missed = [(one.claim_unpaid.sel(claim=debts).sum("claim").isel(scenario=1) >= 0.005).any().item() for one in alone]
    assert result.probability.sel(event=f"missed:{facility}").item() == np.mean(missed)
    for party in ("chipmaker", "neocloud", "lender"):
        late = [not one.quarters_late.sel(party=party).values[1] <= 0 for one in alone]
        assert result.probability.sel(event=f"late:{party}").item() == np.mean(late)


def test_no_other_draw_is_needed_for_one():
    """Slices of the points are the same wherever they begin, in every method."""
    for method in METHODS:
        plan = Design(method, 7, 2, 500)
        whole = points(plan, 5, slice(500, 1000))
        parts = [points(plan, 5, slice(start, start + 50)) for start in range(500, 1000, 50)]
        np.testing.assert_array_equal(whole, np.concatenate(parts, axis=1))
        assert not np.array_equal(whole, points(plan, 5, slice(0, 500)))
        assert abs(whole.mean() - 0.5) < 0.03


@pytest.mark.parametrize("method", METHODS)
def test_groups_are_correlated_and_others_are_not(deal, method):
    from scipy.special import ndtri

    def one(name, group, correlation):
        return Uncertainty(name, axis(deal, LATE, "0"), "uniform", low=0, high=1, group=group, correlation=correlation)

    three = [
        one("a", "site", 0.64),
        one("b", "site", 0.36),
        one("c", "site", -0.25),
        one("d", "", 0),
        one("e", "x", 0.9),
    ]
    scores = ndtri(shares(design(16384, method=method, replicates=1), three, slice(0, 16384)))
    expected = np.eye(5)
    expected[0, 1] = expected[1, 0] = 0.48
    expected[0, 2] = expected[2, 0] = -0.4
    expected[1, 2] = expected[2, 1] = -0.3
    np.testing.assert_allclose(np.corrcoef(scores), expected, atol=0.03)
    np.testing.assert_allclose(scores.std(axis=1), 1, atol=0.02)


def test_distributions_have_their_quantiles_and_means(deal):
    late = axis(deal, LATE, "0")
    share = (np.arange(200000) + 0.5) / 200000
    lognormal = Uncertainty("l", late, "lognormal", low=30, high=200, low_at=0.2, high_at=0.95)
    np.testing.assert_allclose(lognormal.draw(np.array([0.2, 0.95])), [30, 200])
    normal = Uncertainty("n", late, "normal", low=-10, high=10, low_at=0.05, high_at=0.95)
    np.testing.assert_allclose(normal.draw(np.array([0.05, 0.5, 0.95])), [-10, 0, 10], atol=1e-12)
    pert = Uncertainty("p", late, "pert", low=10, mode=20, high=90)
    assert abs(pert.draw(share).mean() - (10 + 4 * 20 + 90) / 6) < 1e-3
    triangular = Uncertainty("t", late, "triangular", low=0, mode=20, high=100)
    assert abs(triangular.draw(share).mean() - 40) < 1e-3
    np.testing.assert_allclose(triangular.draw(np.array([0.2])), [20])  # the area left of the mode is 20/100
    discrete = Uncertainty("d", late, "discrete", values=(5, 50), weights=(3, 1))
    np.testing.assert_allclose((discrete.draw(share) == 5).mean(), 0.75)
    mixture = Uncertainty("m", late, "uniform", low=100, high=200, chance=0.3)
    drawn = mixture.draw(share)
    np.testing.assert_allclose((drawn == 0).mean(), 0.7)
    assert abs(drawn[drawn > 0].mean() - 150) < 0.01
    capped = Uncertainty("c", late, "lognormal", low=30, high=200, cap=120, floor=20).draw(share)
    assert capped.min() == 20
    assert capped.max() == 120
    assert not Uncertainty("z", late, "uniform", low=1, high=2, chance=0).draw(share).any()


@pytest.mark.parametrize(
    ("parts", "wrong"),
    [
        ({"distribution": "gamma"}, "'gamma' is no distribution"),
        ({"distribution": "uniform", "low": 3}, "high is not given"),
        ({"distribution": "uniform", "low": 3, "high": 1}, "not below high"),
        ({"distribution": "pert", "low": 0, "mode": 9, "high": 5}, "outside low and high"),
        ({"distribution": "lognormal", "low": 0, "high": 5}, "not above 0"),
        ({"distribution": "normal", "low": 0, "high": 5, "low_at": 0.9}, "no two shares"),
        ({"distribution": "discrete", "values": (1.0,)}, "not equally many"),
        ({"distribution": "uniform", "low": 0, "high": 1, "chance": 2}, "a chance from 0 to 1"),
        ({"distribution": "uniform", "low": 0, "high": 1, "correlation": -2}, "a correlation from -1 to 1"),
    ],
)
def test_what_is_no_distribution_is_told(deal, parts, wrong):
    with pytest.raises(DealError, match=wrong):
        Uncertainty("x", axis(deal, LATE, "0"), **parts)


def test_draws_beyond_what_a_cell_can_hold_are_told(deal):
    wild = Uncertainty("x", axis(deal, LATE, "0"), "lognormal", low=1, high=20000)
    with pytest.raises(DealError, match="from 0 to 36500"):
        monte_carlo(deal, [wild], design(8))
    twice = [Uncertainty(name, axis(deal, LATE, "0"), "uniform", low=0, high=1) for name in "ab"]
    with pytest.raises(DealError, match="another one draws"):
        monte_carlo(deal, twice, design(8))
    with pytest.raises(DealError, match="no draw 8"):
        one_draw(deal, twice[:1], design(8, replicates=1), 8)


amounts = st.one_of(
    st.floats(-1e15, 1e15, allow_nan=False),
    st.just(float("nan")),
    st.floats(-1e-3, 1e-3),
    st.integers(-5, 5).map(float),
)


@settings(deadline=None)
@given(values=st.lists(amounts, min_size=1, max_size=60), cut=st.integers(0, 60))
def test_summaries_are_the_same_in_any_order(values, cut):
    numbers = np.array(values)
    whole, first, second = (Sum(), Sketch(12)), (Sum(), Sketch(12)), (Sum(), Sketch(12))
    for made, part in [(whole, numbers), (first, numbers[:cut]), (second, numbers[cut:])]:
        for one in made:
            one.add(part)
    for one, other in zip(second, first, strict=True):
        one.merge(other)
    assert whole[0] == second[0]
    known = numbers[~np.isnan(numbers)]
    assert whole[0].absent == np.isnan(numbers).sum()
    if known.size:
        exact = math.fsum(known) / known.size
        assert abs(whole[0].mean - exact) <= 2**-30 + 1e-15 * abs(exact)
    levels = (0.0, 0.1, 0.5, 0.9, 1.0)
    np.testing.assert_array_equal(whole[1].quantiles(levels), second[1].quantiles(levels))
    if known.size:
        place = np.maximum(np.ceil(np.array(levels) * known.size).astype(int) - 1, 0)
        np.testing.assert_allclose(whole[1].quantiles(levels), np.sort(known)[place], rtol=2**-13, atol=2**-20)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e14), min_size=2, max_size=40))
def test_histograms_keep_quantiles_to_their_buckets(values):
    numbers = np.array(values)
    whole, parts = Histogram((1,)), [Histogram((1,)), Histogram((1,))]
    whole.add(0, numbers[None])
    for one, part in zip(parts, (numbers[:1], numbers[1:]), strict=True):
        one.add(0, part[None])
    parts[0].merge(parts[1])
    levels = (0.1, 0.5, 1.0)
    np.testing.assert_array_equal(whole.quantiles(levels), parts[0].quantiles(levels))
    place = np.maximum(np.ceil(np.array(levels) * numbers.size).astype(int) - 1, 0)
    np.testing.assert_allclose(whole.quantiles(levels)[0], np.sort(numbers)[place], rtol=2**-9, atol=0.01)


def test_the_tail_is_the_mean_of_the_worst():
    numbers = np.arange(1.0, 101.0)
    sketch = Sketch(None)
    sketch.add(numbers)
    assert sketch.tail(0.05, high=True) == 98
    assert sketch.tail(0.1, high=False) == 5.5
    assert sketch.tail(0.015, high=False) == pytest.approx((1 + 0.5 * 2) / 1.5)
    assert math.isnan(Sketch(None).tail(0.5, high=True))
    assert spread([1.0, 3.0]) == 1
    assert math.isnan(spread([1.0]))
