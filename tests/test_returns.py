"""npv and irr against independent numbers, public faults of other programs, and their own properties."""

import json
from datetime import date
from pathlib import Path

import numpy as np
import numpy_financial
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deal_files
from stuckstep.deal import read
from stuckstep.results import label, returns, solve
from stuckstep.results.returns import NO_FLOWS, NO_ROOT, NOT_FINITE, ONE_SIGN, OUT_OF_RANGE, irr, npv, reason_text

CASES = json.loads((Path(__file__).parent / "golden" / "irr_xirr.json").read_text(encoding="utf-8"))["cases"]
EPOCH = date(1899, 12, 30)


def serials(*days):
    return np.array([(date.fromisoformat(day) - EPOCH).days for day in days], dtype=float)


def yearly(flows):
    return 365.0 * np.arange(len(flows))


def dates_of(case):
    return serials(*case["dates"]) if case["kind"] == "xirr_act365f" else yearly(case["cashflows"])


def nearest_to_guess(roots):
    return min(roots, key=lambda rate: abs(np.log1p(rate) - np.log(1.1)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9, 0.7])
def test_agrees_with_the_real_roots(case, unit):
    roots = [float(root) for root in case["real_roots_gt_minus1"]]
    rate, reason = irr(np.array(case["cashflows"]) * unit, dates_of(case))
    if roots:
        assert reason == len(roots)
        assert rate == pytest.approx(nearest_to_guess(roots), rel=1e-12, abs=1e-15)
    else:
        assert np.isnan(rate)
        assert reason in (NO_FLOWS, ONE_SIGN, NO_ROOT)


def test_the_cases_cover_none_one_and_several_roots_of_both_kinds():
    assert {len(case["real_roots_gt_minus1"]) for case in CASES} == {0, 1, 2}
    assert {case["kind"] for case in CASES} == {"irr", "xirr_act365f"}


# day of the account and cash flow, Anexen/pyxirr#68
TRADES = np.array([
    (0, 73981359.41), (3, -8712535.775), (7, -10181571.573), (8, -3116294.024), (9, -17773207.2215), (10, 211461.22),
    (16, -3698621.9284), (20, -9805107.728), (21, 140310.59), (27, -12141.8472), (41, -557704.0), (45, 545359.6631),
    (48, -1115.5838), (52, 14309.6), (57, 12977.4745), (66, 13088.0), (69, -25457056.128), (71, -37752602.304),
    (78, 37099.52), (84, 47908320.0),
])  # fmt: skip

# What others answered wrongly, or differently from version to version; the threads are named.
FAULTS = {
    "numpy/numpy#14977": ([-50, -100, 600, 300, -100], None, 1.85441783, 2),
    "Anexen/pyxirr#20": ([87.17] * 12 + [-86.43], None, -0.5020732642263963, 1),
    "Anexen/pyxirr#24": ([-172545.848122807] + [787.735232517999] * 480, None, 0.0038401048125, 1),
    "Anexen/pyxirr#14": ([-134.09, 40.86], serials("2021-06-09", "2021-08-11"), (40.86 / 134.09) ** (365 / 63) - 1, 1),
    "Anexen/pyxirr#23": (
        [-18480.0, 13120.0],
        serials("2020-03-05", "2020-03-16"),
        (13120 / 18480) ** (365 / 11) - 1,
        1,
    ),
    "Anexen/pyxirr#65": (
        [187.5, -30, 187.5, 187.5, 187.5, -188, -188, -188, -188, -188],
        serials(*["2020-05-27"] * 3, *["2020-05-28"] * 7),
        (565 / 345) ** 365 - 1,
        OUT_OF_RANGE,
    ),
    "Anexen/pyxirr#68": (TRADES[:, 1], TRADES[:, 0] + serials("2025-04-01"), -0.9310500637742263, 2),
}


@pytest.mark.parametrize("name", FAULTS)
def test_public_faults(name):
    flows, dates, expected, expected_reason = FAULTS[name]
    rate, reason = irr(flows, yearly(flows) if dates is None else dates)
    assert reason == expected_reason
    if expected_reason > 0:
        assert rate == pytest.approx(expected, abs=1e-8)
    else:
        assert np.isnan(rate)


@pytest.mark.parametrize(
    ("flows", "reason", "words"),
    [
        ([0.0, 0.0], NO_FLOWS, "none: no flows"),
        ([], NO_FLOWS, "none: no flows"),
        ([5.0, 0.0, 3.0], ONE_SIGN, "none: all flows are of one sign"),
        ([0.0, -1.0], ONE_SIGN, "none: all flows are of one sign"),
        ([10.0, -20.0, 15.0], NO_ROOT, "none: no rate brings the npv to zero"),
        ([-1.0, 2e9], OUT_OF_RANGE, "none: the rate is not above -100% or exceeds 1e9, which means nothing"),
        ([-1.0, np.nan, 2.0], NOT_FINITE, "none: a flow is not a number"),
        ([-1.0, np.inf], NOT_FINITE, "none: a flow is not a number"),
        ([-100.0, 108.0], 1, "ok"),
        ([-1000.0, 2500.0, -1560.0], 2, "more than one: 2 rates bring the npv to zero; this is the one nearest to 10%"),
    ],
)
def test_reasons(flows, reason, words):
    rate, found = irr(flows, yearly(flows))
    assert (found, reason_text(found)) == (reason, words)
    assert np.isnan(rate) == (reason < 1)


def test_reason_texts_keep_the_shape():
    texts = reason_text(np.array([[1, 0], [-1, 3]]))
    assert texts.shape == (2, 2)
    assert texts[0, 0] == "ok"
    assert texts[1, 1].startswith("more than one: 3")


def flows_with_roots(rates):
    flows = np.array([1.0])
    for rate in rates:
        flows = np.convolve(flows, [-1.0, 1.0 + rate])  # zero where 1 / (1 + own rate) = 1 / (1 + rate)
    return flows


@pytest.mark.parametrize(
    "rates",
    [
        (0.05, 0.051),
        (-0.5, 0.1, 0.8),
        (-0.3, -0.1, 0.12, 0.5),
        (0.02, 0.06, 0.11, 0.19, 0.4, 1.5),
        (0.08, 0.0801, 0.3, 12.0),
    ],
)
def test_finds_every_rate_that_was_built_in(rates):
    rate, reason = irr(flows_with_roots(rates), yearly([0] * (len(rates) + 1)))
    assert reason == len(rates)
    assert rate == pytest.approx(nearest_to_guess(rates), rel=1e-9)


@pytest.mark.parametrize("times", [2, 3])
def test_a_rate_that_is_only_touched_is_one_rate(times):
    rate, reason = irr(flows_with_roots([0.1] * times), yearly([0] * (times + 1)))
    assert reason == 1
    assert rate == pytest.approx(0.1, abs=1e-5)


def test_dust_is_no_change_of_sign():
    flows = np.array([-1e9, 0.0, 1.2e9, -1e-7])
    assert irr(flows, yearly(flows))[1] == 1
    flows[-1] = -1.0
    assert irr(flows, yearly(flows))[1] == 2


def test_order_of_dates_and_split_days_do_not_matter():
    days = serials("2026-03-31", "2026-06-30", "2026-09-30", "2027-03-31")
    flows = np.array([-100.0, -20.0, 60.0, 75.0])
    shuffled, same_day = np.array([2, 0, 3, 1]), np.array([0, 1, 1, 2, 3])
    expected = irr(flows, days)
    assert irr(flows[shuffled], days[shuffled]) == expected
    assert irr([-100.0, -32.0, 12.0, 60.0, 75.0], days[same_day]) == expected


def test_axis_and_shape():
    rng = np.random.default_rng(5)
    flows = rng.normal(size=(3, 6, 4))
    rate, reason = irr(flows, yearly(range(6)), axis=1)
    assert rate.shape == reason.shape == (3, 4)
    again, why = irr(np.moveaxis(flows, 1, 0), yearly(range(6)))
    np.testing.assert_array_equal(rate, again)
    np.testing.assert_array_equal(reason, why)
    assert npv(flows, yearly(range(6)), [0.1, 0.2, 0.3, 0.4], 0.0, axis=1).shape == (3, 4)


def test_no_lanes():
    rate, reason = irr(np.zeros((5, 0)), yearly(range(5)))
    assert rate.shape == reason.shape == (0,)


@pytest.mark.parametrize("dates", [[0.0, 365.0, 730.0], [[0.0, 365.0]], 0.0])
def test_one_date_per_period(dates):
    with pytest.raises(ValueError, match="one per period"):
        irr([-1.0, 2.0], dates)


def mixed_lanes(rng, periods, lanes):
    """Lanes of every sort side by side: investments, random signs, zeros, one sign, steep, with gaps."""
    flows = rng.normal(size=(periods, lanes)) * 10.0 ** rng.integers(-3, 9, size=lanes)
    sort = np.arange(lanes) % 6
    invest = (sort == 0) | (sort == 5)
    flows[:2, invest] = -10 * np.abs(flows[:2, invest])
    flows[2:, invest] = np.abs(flows[2:, invest])
    flows[:, sort == 1] = 0.0
    flows[:, sort == 2] = np.abs(flows[:, sort == 2])
    flows[1:, sort == 3] *= 1e-5
    flows[:3, sort == 5] = 0.0
    flows[4, sort == 5] = -flows[4, sort == 5]
    return flows


QUARTERS = serials("2026-03-31", "2026-06-30", "2026-09-30", "2026-12-31", "2027-03-31", "2027-06-30", "2027-09-30",
                   "2027-12-31", "2028-03-31", "2028-06-30", "2028-09-30", "2028-12-31")  # fmt: skip


@pytest.mark.parametrize("dates", [QUARTERS, yearly(range(12))], ids=["quarters", "years"])
@pytest.mark.parametrize("chunk", [1, 7, 8192])
def test_a_lane_does_not_depend_on_its_company(monkeypatch, dates, chunk):
    flows = mixed_lanes(np.random.default_rng(11), len(dates), 90)
    alone = [irr(flows[:, lane], dates) for lane in range(90)]
    monkeypatch.setattr(returns, "CHUNK", chunk)
    rate, reason = irr(flows, dates)
    np.testing.assert_array_equal(rate, np.array([one[0] for one in alone]))
    np.testing.assert_array_equal(reason, np.array([one[1] for one in alone]))
    assert len(set(reason.tolist())) > 3
    worth = npv(flows, dates, 0.08, dates[0])
    np.testing.assert_array_equal(worth, [npv(flows[:, lane], dates, 0.08, dates[0]) for lane in range(90)])


some_flows = st.lists(st.integers(-1000, 1000), min_size=2, max_size=12).map(lambda flows: np.array(flows, dtype=float))
some_days = st.lists(st.integers(1, 400), min_size=11, max_size=11).map(lambda steps: np.cumsum([45000.0, *steps]))
quick = settings(max_examples=60, deadline=None)


@quick
@given(some_flows, some_days)
def test_the_rate_brings_the_npv_to_zero(flows, days):
    days = days[: len(flows)]
    rate, reason = irr(flows, days)
    signs = np.sign(flows[flows != 0])
    changes = np.count_nonzero(np.diff(signs))
    assert reason <= changes
    assert (reason < 1) == np.isnan(rate)
    if changes == 0:
        assert reason in (NO_FLOWS, ONE_SIGN)
    if reason > 0:
        at = days[0] if rate >= 0 else days[-1]  # from there no flow is blown up
        last_digit = 2.3e-16 / (1 + rate) * (days[-1] - days[0]) / 365  # near -100% the rate itself has few digits
        assert abs(npv(flows, days, rate, at)) <= (1e-10 + last_digit) * npv(np.abs(flows), days, rate, at)


@quick
@given(some_flows, st.integers(1, 10**9), st.integers(-3, 3))
def test_the_unit_of_money_does_not_matter(flows, factor, shift):
    unit = factor * 10.0**shift
    rate, reason = irr(flows, yearly(flows))
    other, why = irr(flows * unit, yearly(flows))
    if reason <= 1 and why <= 1:  # several rates may touch, and then rounding decides how many
        assert reason == why
        assert other == pytest.approx(rate, rel=1e-9, abs=1e-7, nan_ok=True)
    exact, same = irr(flows * 2.0**20, yearly(flows))
    assert same == reason
    np.testing.assert_array_equal(exact, rate)


@quick
@given(some_flows, some_days)
def test_paying_instead_of_receiving_earns_the_same(flows, days):
    days = days[: len(flows)]
    rate, reason = irr(flows, days)
    other, why = irr(-flows, days)
    assert reason == why
    assert other == pytest.approx(rate, rel=1e-9, abs=1e-7, nan_ok=True)


@quick
@given(some_flows, some_days, st.integers(-20000, 20000))
def test_the_calendar_may_be_shifted(flows, days, shift):
    days = days[: len(flows)]
    np.testing.assert_array_equal(irr(flows, days)[0], irr(flows, days + shift)[0])


@quick
@given(some_flows, some_flows, some_days)
def test_another_lane_changes_nothing(flows, company, days):
    periods = min(len(flows), len(company))
    flows, company, days = flows[:periods], company[:periods], days[:periods]
    alone = irr(flows, days)
    together = irr(np.stack([company, flows, -company], axis=1), days)
    np.testing.assert_array_equal(alone[0], together[0][1])
    assert alone[1] == together[1][1]


@quick
@given(some_flows, st.floats(-0.5, 2.0))
def test_npv_discounts_from_the_date_on(flows, rate):
    gross = max(1.0, float(numpy_financial.npv(rate, np.abs(flows))))
    # numpy-financial and this module do not discount the first flow; a spreadsheet's NPV() does
    assert npv(flows, yearly(flows), rate, 0.0) == pytest.approx(numpy_financial.npv(rate, flows), abs=1e-12 * gross)
    spreadsheet = sum(flow / (1 + rate) ** (period + 1) for period, flow in enumerate(flows))
    assert npv(flows, yearly(flows), rate, -365.0) == pytest.approx(spreadsheet, abs=1e-11 * gross)


def test_npv_by_hand():
    days = serials("2024-01-01", "2025-01-01")
    assert npv([0.0, 108.0], days, 0.08, days[0]) == pytest.approx(108 / 1.08 ** (366 / 365), rel=1e-15)
    assert npv([[100.0, 1.0], [50.0, 2.0]], yearly([0, 0]), 0.0, 0.0).tolist() == [150.0, 3.0]
    by_scenario = npv([[0.0, 0.0, 0.0], [110.0, 120.0, 130.0]], yearly([0, 0]), [0.1, 0.2, -1.0], 0.0)
    np.testing.assert_allclose(by_scenario, [100.0, 100.0, np.nan], rtol=1e-15)


def test_periodic_rate_agrees_with_numpy_financial_where_there_is_one():
    rng = np.random.default_rng(3)
    flows = np.abs(rng.normal(size=(28, 40)))
    flows[:3] *= -6
    rate, reason = irr(flows, yearly(range(28)))
    assert (reason == 1).all()
    np.testing.assert_allclose(rate, [numpy_financial.irr(lane) for lane in flows.T], rtol=1e-9)


def test_what_cancels_out_within_each_period_is_no_flow_and_gives_no_rate():
    """A lender that draws and is repaid in the same quarter nets to rounding dust, of both signs."""
    solution = solve(read(deal_files.SUPERPOD), ["base"])
    values = solution.parts[0].values
    values["parties.lender.net"] = np.where(np.arange(28) % 2, 1e-9, -1e-9)[:, None]
    values["parties.lender.paid"] = values["parties.lender.puts in"] = np.full((28, 1), 25.6e6)
    results = label(solution).sel(party="lender", scenario="base")
    assert np.isnan(results["irr"].item())
    assert results["irr_reason"].item() == "none: no flows"
