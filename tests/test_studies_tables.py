"""Sensitivity tables and break-even: equal to single runs bit for bit, and right where a hand can check."""

from pathlib import Path

import numpy as np
import pytest

from deal_files import copy, put, scenario
from stuckstep.deal import Cell, DealError, check, read
from stuckstep.deal.changes import cell_of, fitted, with_scenarios
from stuckstep.results import run, solve
from stuckstep.studies.axes import axis
from stuckstep.studies.breakeven import Test, break_even
from stuckstep.studies.sensitivity import one_way, tornado, two_way
from stuckstep.studies.tables import studies_of

pytestmark = pytest.mark.thorough

LIBRARY = Path(__file__).parents[1] / "assumptions"
POWER, PRICE = "steps.power.delay", "contracts.anchor.price"


@pytest.fixture(scope="module")
def deal(tmp_path_factory):
    return read(copy(tmp_path_factory.mktemp("deal") / "superpod"))


def single_runs(deal, changes):
    """Each set of changes as a scenario of its own, run alone: the Dataset of all."""
    results = {}
    for name, cells in changes.items():
        changed = with_scenarios(deal, {name: cells})
        check(changed)
        results[name] = run(changed, [name])
    return results


def test_cells_are_named_as_in_scenarios(deal):
    assert cell_of(deal, POWER) == Cell("steps", "power", "delay")
    assert (
        cell_of(deal, "deal.base_rate") == cell_of(deal, "deal.base_rate.value") == Cell("deal", "base_rate", "value")
    )
    phase = deal.tables["phases"][0].cells["phase"]
    assert cell_of(deal, f"steps.power@{phase}.delay") == Cell("steps", f"power@{phase}", "delay")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("step.power.delay", "no table 'step' (nearest: steps)"),
        ("steps.pover.delay", "'pover' is not in steps (nearest: power)"),
        ("steps.power.delays", "'delays' is not in steps (nearest: delay)"),
        ("steps.power@nowhere.delay", "'nowhere' is not in phases"),
        ("claims.rent@su1.rate", "only a step is narrowed"),
        ("steps.power.after", "no number and no date"),
        ("steps.power.step", "'step' is not in steps"),
        ("deal.quarters", "the same in every scenario"),
        ("power", "no table 'power'"),
    ],
)
def test_a_wrong_cell_is_told(deal, name, wrong):
    with pytest.raises(DealError) as error:
        cell_of(deal, name)
    assert wrong in str(error.value)


def test_values_are_whole_days_within_their_bounds():
    delay = Cell("steps", "power", "delay")
    assert fitted(delay, [0.4, 90.6]).tolist() == [0, 91]
    for values in ([-1], [36501], [np.nan], [np.inf]):
        with pytest.raises(DealError, match="from 0 to 36500"):
            fitted(delay, values)
    with pytest.raises(DealError, match="5 is not what the cell can hold"):
        fitted(Cell("facilities", "ddtl", "advance_rate"), [0.5, 5])
    for day, said in [(36525, "1999-12-31"), (1, "1899-12-31"), (2_899_999, "9839-"), (0, "0"), (2_900_000, "2900000")]:
        with pytest.raises(DealError, match=f"order_date: {said}.* is not what the cell can hold"):
            fitted(Cell("phases", "su1", "order_date"), [day])
    with pytest.raises(DealError, match="whole"):
        fitted(Cell("facilities", "ddtl", "instalments"), [2.5])


def test_values_that_do_not_fit_together_are_told(deal):
    facility = deal.tables["facilities"][0].cells["facility"]
    with pytest.raises(DealError, match="is above the commitment"):
        one_way(deal, axis(deal, f"facilities.{facility}.opening_balance", "0;1e14"), ["days_late"])


@pytest.mark.parametrize(("text", "wrong"), [("", "no values"), ("a", "'a' is no number"), ("0..x/3", "'x'")])
def test_wrong_values_are_told(deal, text, wrong):
    with pytest.raises(DealError, match=wrong):
        axis(deal, POWER, text)


def test_values_may_be_steps_and_factors_of_what_the_cell_holds(deal):
    price = solve(deal).parts[0].sheets.value(cell_of(deal, PRICE))[0]
    assert axis(deal, PRICE, "0.9;1.1", by="factor").values.tolist() == [price * 0.9, price * 1.1]
    assert axis(deal, PRICE, "-5;5", by="add").values.tolist() == [price - 5, price + 5]
    assert axis(deal, POWER, "0..60/4").values.tolist() == [0, 20, 40, 60]


def test_a_wrong_measure_is_told(deal):
    one = axis(deal, POWER, "0;1")
    for name, wrong in [("npw:neocloud", "nearest: npv"), ("npv", "npv of which"), ("npv:nobody", "is not in parties")]:
        with pytest.raises(DealError, match=wrong):
            one_way(deal, one, [name])


def test_one_way_is_single_runs_bit_for_bit(deal):
    party = "neocloud"
    facility = deal.tables["facilities"][0].cells["facility"]
    measures = ["days_late", f"npv:{party}", f"irr:{party}", f"unpaid:{party}", f"paid:{party}", f"dscr:{facility}"]
    table = one_way(deal, axis(deal, POWER, "0;45;200;700"), measures)
    delay = cell_of(deal, POWER)
    alone = single_runs(deal, {f"late_{int(days)}": {delay: float(days)} for days in table.value.values})
    for place, one in enumerate(alone.values()):
        expected = [
            one.days_late.max("phase", skipna=False).item(),
            one.npv.sel(party=party).item(),
            one.irr.sel(party=party).item(),
            one.unpaid.sel(party=party).max().item(),
            sum(one.paid.sel(party=party).values.ravel().tolist()),
            one.dscr.where(one.principal_due >= 0.005).sel(facility=facility).min().item(),
        ]
        np.testing.assert_array_equal(table.result.values[:, place], expected)
    np.testing.assert_array_equal(table.base.values, table.result.values[:, 0])  # the base delay is zero
    assert table.attrs["laws_broken"] == 0


def test_the_grid_is_single_runs_bit_for_bit(deal):
    """41 x 41 cells; every seventh row and column is run alone, on every line it needs."""
    rows, columns = axis(deal, POWER, "0..400/41"), axis(deal, PRICE, "0.8..1.2/41", by="factor")
    party = "neocloud"
    table = two_way(deal, rows, columns, [f"npv:{party}", "funding_gap"])
    assert table.result.shape == (2, 41, 41)
    chosen = [(row, column) for row in range(0, 41, 7) for column in range(0, 41, 7)]
    cells = (cell_of(deal, POWER), cell_of(deal, PRICE))
    names = {
        f"at_{row}_{column}": {cells[0]: float(rows.values[row]), cells[1]: float(columns.values[column])}
        for row, column in chosen
    }
    together = run(with_scenarios(deal, names), list(names))
    unpaid = solve(with_scenarios(deal, names), list(names), ["checks.deal.unpaid"]).line("checks.deal.unpaid")
    for place, (row, column) in enumerate(chosen):
        assert table.result.values[0, row, column] == together.npv.sel(party=party).values[place]
        assert table.result.values[1, row, column] == unpaid[:, place].max()


def test_tornado_puts_the_largest_swing_first(deal):
    axes = [
        axis(deal, "steps.onboarding.delay", "0;10"),
        axis(deal, PRICE, "0.5;1.5", by="factor"),
        axis(deal, "steps.onboarding.days", "5;5", by="add"),
    ]
    party = "neocloud"
    table = tornado(deal, axes, [f"npv:{party}", "days_late"])
    assert table.place.sel(measure=f"npv:{party}").values.tolist().index(0) == 1
    assert table.place.sel(measure="days_late").values.tolist()[0] == 0
    assert table.swing.sel(measure="days_late").values.tolist() == [10, 0, 5]
    again = one_way(deal, axes[1], [f"npv:{party}"])
    np.testing.assert_array_equal(table.result.values[0, 1], again.result.values[0])


def test_a_narrowed_cell_moves_its_phase_only(tmp_path):
    folder = copy(tmp_path / "deal")
    for column, value in [("order_date", "2027-01-01"), ("racks", "1"), ("gpus_per_rack", "72"), ("mw", "1")]:
        put(folder, "phases", "second", column, value)
    deal = read(folder)
    first = deal.tables["phases"][0].cells["phase"]
    table = one_way(deal, axis(deal, "steps.power@second.delay", "0;700"), [f"days_late:{first}", "days_late:second"])
    assert table.result.values[0].tolist() == [0, 0]
    assert table.result.values[1, 1] > 0


def test_a_study_starts_from_a_scenario(tmp_path):
    """The scenario's own change of a phase wins over a plain change of the study, as in the sheets."""
    folder = copy(tmp_path / "deal")
    phase = read(folder).tables["phases"][0].cells["phase"]
    scenario(folder, "held", "steps", f"power@{phase}", "delay", "100")
    deal = read(folder)
    moved = one_way(deal, axis(deal, POWER, "0;300", start="held"), [f"days_late:{phase}"], start="held")
    assert moved.result.values[0, 0] == moved.result.values[0, 1] == moved.base.values[0] > 0


def test_break_even_is_found_to_the_day(deal):
    """Days late may not exceed 30: the answer is 30 and the float of the step; runs beside it confirm it."""
    steps = [row.cells["step"] for row in deal.tables["steps"]]
    test = Test("days_late", "at_most", 30)
    table = break_even(deal, [axis(deal, f"steps.{step}.delay", "0..700") for step in steps], test)
    finish = run(deal, ["base"])
    for step in steps:
        spare = finish.float.sel(step=step).min().item()
        found = table.sel(cell=f"steps.{step}.delay")
        assert found.found.item() == "one"
        assert found.holds_at.values[0, 0] == 30 + spare
        assert found.fails_at.values[0, 0] == 31 + spare
        assert not found.jump.values[0, 0]
        delay = cell_of(deal, f"steps.{step}.delay")
        for days, holds in [(30 + spare, True), (31 + spare, False)]:
            alone = run(with_scenarios(deal, {"one": {delay: float(days)}}), ["one"])
            assert (alone.days_late.max().item() <= 30) is holds


def test_the_shipped_break_even_is_what_runs_one_day_apart_show():
    """The delay of each step at which the lender of superpod first misses a payment: a jump, for some steps more."""
    deal = read(LIBRARY / "superpod")
    (study,) = studies_of(deal, ["loan_missed"])
    table = study.run(deal)
    assert table.sizes["cell"] == len(deal.tables["steps"])
    chosen = {}
    for cell in table.cell.values:
        answers = table.sel(cell=cell).isel(over=0)
        for holds, fails in zip(answers.holds_at.values, answers.fails_at.values, strict=True):
            if not np.isnan(holds):
                assert abs(holds - fails) == 1
                delay = cell_of(deal, cell)
                chosen |= {(cell, holds, True): {delay: holds}, (cell, fails, False): {delay: fails}}
    assert len(chosen) >= 2 * table.sizes["cell"]
    names = {f"run {number}": changes for number, changes in enumerate(chosen.values())}
    alone = run(with_scenarios(deal, names), list(names))
    unpaid = alone.claim_unpaid.sel(claim=["ddtl.fee", "ddtl.interest", "ddtl.principal"]).sum("claim")
    missed = (unpaid >= 0.005).any("quarter")
    assert [not one for one in missed.values.tolist()] == [holds for *_, holds in chosen]


def test_break_even_of_a_price_brings_the_worth_to_the_threshold(deal):
    pytest.importorskip("scipy", reason="scipy is an extra")
    party = "neocloud"
    test = Test(f"npv:{party}", "at_least", 0)
    over = axis(deal, POWER, "0;60;120")
    table = break_even(deal, [axis(deal, PRICE, "0.1..3", by="factor")], test, over=over)
    assert table.found.values.tolist() == [["one"] * 3]
    for place, days in enumerate((0.0, 60.0, 120.0)):
        holds, fails = table.holds_at.values[0, place, 0], table.fails_at.values[0, place, 0]
        assert abs(holds - fails) <= 1e-9 * holds
        delay, price = cell_of(deal, POWER), cell_of(deal, PRICE)
        worth = []
        for value in (holds, fails):
            changed = with_scenarios(deal, {"one": {delay: days, price: float(value)}})
            worth.append(run(changed, ["one"]).npv.sel(party=party).item())
        assert worth[0] >= 0 > worth[1]
        assert worth[0] - worth[1] < 1
    assert table.attrs["runs"] > 65 * 3


def test_break_even_tells_none_more_than_one_and_jumps(tmp_path):
    """One phase, cancelled 100 days after its plan: a jump. A window of days in which the test holds: two answers."""
    folder = copy(tmp_path / "deal")
    put(folder, "contracts", "anchor", "longstop_days", "100")
    deal = read(folder)
    path = axis(deal, "steps.onboarding.delay", "0..400")
    late = break_even(deal, [path], Test("days_late", "at_most", 1000))
    assert late.found.item() == "one"
    spare = run(deal, ["base"]).float.sel(step="onboarding").min().item()
    assert late.holds_at.values.ravel()[0] == 100 + spare
    assert late.jump.values.ravel()[0]
    assert break_even(deal, [path], Test("days_late", "at_least", 0)).found.item() == "one"
    assert (
        break_even(deal, [axis(deal, path.name, "0..90")], Test("days_late", "at_most", 99)).found.item()
        == "always holds"
    )
    assert (
        break_even(deal, [axis(deal, path.name, "0..90")], Test("days_late", "at_most", -1)).found.item()
        == "never holds"
    )


def test_break_even_shows_every_change(deal):
    """A claim falls due in the last period for as many days as the period has: the test holds between two changes."""
    claim = next(row.cells["claim"] for row in deal.tables["claims"] if row.cells["trigger"] == "order")
    test = Test(f"end:claims.{claim}.due", "at_least", 0.01)
    table = break_even(deal, [axis(deal, f"claims.{claim}.net_days", "0..3650")], test)
    assert table.found.item() == "more than one"
    solution = solve(deal, ["base"])
    phase = deal.tables["phases"][0].cells["phase"]
    order = solution.static(f"phases.{phase}.order")[0]
    first, after = solution.periods.first_day[-1] - order, solution.periods.next_first_day[-1] - order
    assert table.holds_at.values.ravel().tolist() == [first, after - 1]
    assert table.fails_at.values.ravel().tolist() == [first - 1, after]
    assert table.jump.values.all()
