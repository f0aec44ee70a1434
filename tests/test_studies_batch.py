"""Many runs are the same runs: on deals of every shape, on the large deal, and in memory that does not grow."""

import datetime
import pickle
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from deal_files import SUPERPOD
from strategies import COLUMNS, deals, full_row, write_tables
from stuckstep.deal import Cell, DealError, Place, from_serial, read, scenario_names
from stuckstep.deal.changes import changes_of, typed, with_scenarios
from stuckstep.results import solve
from stuckstep.studies import batch as batches
from stuckstep.studies.axes import axis
from stuckstep.studies.sensitivity import one_way, tornado, two_way

pytestmark = pytest.mark.thorough

COREWEAVE = Path(__file__).parents[1] / "assumptions" / "coreweave"
# Cells of any deal, and values they may take.
CHANGES = {
    ("steps", "delay"): st.integers(0, 500),
    ("steps", "days"): st.integers(0, 300),
    ("phases", "mw"): st.integers(1, 50),
    ("contracts", "price"): st.floats(1, 1e6),
    ("contracts", "term_days"): st.integers(1, 2000),
    ("contracts", "escalator"): st.floats(0, 0.1),
    ("contracts", "net_days"): st.integers(0, 120),
    ("accounts", "opening_cash"): st.floats(0, 1e7),
    ("facilities", "advance_rate"): st.floats(0, 1),
    ("facilities", "commitment"): st.floats(1e7, 1e8),
    ("claims", "late_rate"): st.floats(0, 0.2),
    ("deal", "base_rate"): st.floats(0, 0.1),
}


# Lines that tell how long a list of yearly prices is, or where in it a day beyond the term falls.
OF_THE_LISTS = ("last year", " age", " turn", " days")


def plain(value):
    """A number as it survives a file, so that a scenario's row and a column hold the same."""
    return float(f"{value:.15g}")


def cells_of(deal, data):
    """Some cells of a deal, a step sometimes narrowed to a phase, each with three values."""
    found = {}
    for (table, column), values in CHANGES.items():
        rows = [row.cells[next(iter(row.cells))] for row in deal.tables[table]]
        if table == "deal":
            rows, column = [column], "value"
        if not rows or not data.draw(st.booleans(), label=f"{table}.{column}"):
            continue
        row = data.draw(st.sampled_from(rows))
        if table == "steps" and data.draw(st.booleans()):
            row = f"{row}@{data.draw(st.sampled_from([one.cells['phase'] for one in deal.tables['phases']]))}"
        found[Cell(table, row, column)] = [plain(data.draw(values)) for _ in range(3)]
    return found


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(tables=deals(), data=st.data())
def test_a_batch_is_its_runs_one_by_one(tables, data, tmp_path_factory):
    """Every line that both know, bit for bit, from any scenario, in both engines."""
    folder = tmp_path_factory.mktemp("deal")
    write_tables(tables, folder)
    deal = read(folder)
    start = data.draw(st.sampled_from(scenario_names(deal)))
    cells = cells_of(deal, data)
    assume(cells)
    try:
        found = batches.model(deal, {cell: (min(values), max(values)) for cell, values in cells.items()}, start)
    except DealError:  # such values do not fit together in this deal
        assume(False)
    engine = data.draw(st.sampled_from(["arrays", batches.fastest()]))
    ready = batches.batch(found, list(found.lines), engine=engine)
    columns = {cell: np.array(values) for cell, values in cells.items()}
    kept = batches.worker(ready, 3)(batches.fit(found, columns), 3)
    held = changes_of(deal, start)
    for run in range(3):
        changes = {**held, **{cell: typed(cell, values[run]) for cell, values in cells.items()}}
        solution = solve(with_scenarios(deal, {"one": changes}), ["one"])
        for name, line in solution.parts[0].values.items():
            if name in kept and not name.partition("@")[0].endswith(OF_THE_LISTS):
                np.testing.assert_array_equal(kept[name][..., run], line[..., 0], err_msg=name)


def test_the_large_deal_in_seconds_and_bit_for_bit():
    """A tornado of 30 cells and a grid of 41 x 41 on the deal with 14 phases; some of their runs are worked alone."""
    deal = read(COREWEAVE)
    phases = [row.cells["phase"] for row in deal.tables["phases"]][-8:]
    steps = [row.cells["step"] for row in deal.tables["steps"]]
    late = [axis(deal, f"steps.{step}@{phase}.delay", "0;91") for step in steps[-3:] for phase in phases]
    prices = [row.cells["contract"] for row in deal.tables["contracts"]][:6]
    axes = [*late, *(axis(deal, f"contracts.{one}.price", "0.9;1.1", by="factor") for one in prices)]
    assert len(axes) == 30
    bars = tornado(deal, axes, ["funding_gap", "npv:neocloud"])
    power = axis(deal, ";".join(f"steps.power@{phase}.delay" for phase in phases), "0..400/41")
    grid = two_way(deal, power, axes[-1].__class__(axes[-1].cells, np.linspace(0.8, 1.2, 41), "factor", axes[-1].bases),
                   ["funding_gap"])  # fmt: skip
    assert grid.result.shape == (1, 41, 41)
    chosen = {
        "late": {axes[5].cells[0]: 91.0},
        "dear": {axes[-1].cells[0]: float(axes[-1].values[1])},
        "both": {**dict.fromkeys(power.cells, 200.0), axes[-1].cells[0]: float(grid.value_2.values[33])},
    }
    solution = solve(with_scenarios(deal, chosen), list(chosen), ["checks.deal.unpaid"])
    alone = solution.line("checks.deal.unpaid").max(axis=0).tolist()
    assert alone == [
        bars.result.values[0, 5, 1],
        bars.result.values[0, -1, 1],
        grid.result.values[0, 20, 33],
    ]
    assert bars.attrs["laws_broken"] == grid.attrs["laws_broken"] == 0


def test_memory_does_not_grow_with_the_draws():
    pytest.importorskip("scipy", reason="scipy is an extra")
    from stuckstep.studies.counting import Request, count, make_ready
    from stuckstep.studies.distributions import Uncertainty
    from stuckstep.studies.sampling import design

    deal = read(SUPERPOD)
    late = Uncertainty("late", axis(deal, "steps.power.delay", ()), "uniform", low=0, high=300)
    peaks = []
    for draws in (4096, 4096, 20480):
        ready = make_ready(Request(deal, (late,), design(draws, replicates=4)), engine="arrays", width=512)
        tracemalloc.start()
        count(ready)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.25 * peaks[1]


def test_extremes_that_leave_a_claim_due_before_the_start_are_told():
    deal = read(SUPERPOD)
    claim = next(row.cells["claim"] for row in deal.tables["claims"] if row.cells["trigger"] == "order")
    cell = Cell("claims", claim, "net_days")
    with pytest.raises(DealError, match=r"falls due on .* before the start"):
        batches.model(deal, {cell: (-3000.0, 0.0)})
    order = deal.tables["phases"][0].cells["order_date"]
    assert from_serial(batches.held(deal, Cell("phases", "su1", "order_date"))) == order


@pytest.fixture
def begun(tmp_path):
    """A cluster ordered before the start: its customer prepays when it is built, and cancels it a month late."""
    rows = {
        "deal": [{"item": "title", "value": "begun"}, {"item": "currency", "value": "USD"},
                 {"item": "start", "value": "2027-01-01"}, {"item": "quarters", "value": "12"}],
        "parties": [{"party": "owner", "role": "o"}, {"party": "buyer", "role": "b"}],
        "phases": [{"phase": "ph", "order_date": "2026-06-01", "mw": "1", "contract": "anchor"}],
        "steps": [{"step": "build", "party": "owner", "days": "30"},
                  {"step": "test", "party": "owner", "after": "build", "days": "60"}],
        "contracts": [{"contract": "anchor", "customer": "buyer", "account": "cash", "basis": "usd_per_mw_year",
                       "price": "12000000", "term_days": "720", "prepay_share": "0.1", "prepay_trigger": "build",
                       "longstop_days": "30", "refund_from": "cash:20"}],
        "accounts": [{"account": "cash", "party": "owner"}],
        "claims": [{"claim": "dividend", "paid_from": "cash:90", "payee": "owner", "kind": "residual",
                    "trigger": "2027-01-01"}],
    }  # fmt: skip
    tables = {table: [full_row(table, **row) for row in rows.get(table, [])] for table in COLUMNS}
    return read(write_tables(tables, tmp_path / "begun"))


def test_a_refund_due_before_the_start_between_the_extremes_is_told(begun):
    """Built on time it is not cancelled; half a year late nothing was prepaid; in between it is owed back in 2026."""
    with pytest.raises(
        DealError, match=r"the run with steps\.build\.delay = 50: anchor\.refund falls due on 2026-09-29"
    ):
        one_way(begun, axis(begun, "steps.build.delay", "0;50;200"), ["npv:owner"])
    assert one_way(begun, axis(begun, "steps.build.delay", "0;30;200"), ["npv:owner"]).sizes["value"] == 3
    grid = axis(begun, "steps.test.delay", "0;50"), axis(begun, "contracts.anchor.longstop_days", "10;60")
    with pytest.raises(
        DealError, match=r"delay = 50, contracts\.anchor\.longstop_days = 10: anchor\.refund falls due on"
    ):
        two_way(begun, *grid, ["npv:owner"])


def test_a_refund_before_the_start_that_no_run_owes_is_no_fault(begun):
    """Each cell alone, neither of which brings a refund: both highest together would."""
    begun = read_with(begun, Cell("contracts", "anchor", "prepay_share"), 0.0)
    axes = [axis(begun, "steps.test.delay", "0;50"), axis(begun, "contracts.anchor.prepay_share", "0;0.1")]
    assert tornado(begun, axes, ["npv:owner"]).sizes["cell"] == 2


def test_a_claim_on_billing_that_a_cancelled_phase_moves_before_the_start_is_told(begun):
    """One phase bills already. The bonus is due when both do, or, once the other is cancelled, when the first did."""
    late = {"phase": "new", "order_date": datetime.date(2027, 1, 1)}
    bonus = {"claim": "bonus", "kind": "once", "basis": "usd", "rate": 5e5, "trigger": "billing", "phase": ("deal",),
             "paid_from": (Place("cash", 10.0),)}  # fmt: skip
    for table, cells in (("phases", late), ("claims", bonus)):
        first = begun.tables[table][0]
        more = replace(first, number=first.number + 1, cells={**first.cells, **cells})
        begun = replace(begun, tables={**begun.tables, table: (first, more)})
    begun = read_with(begun, Cell("contracts", "anchor", "prepay_share"), 0.0)
    grid = axis(begun, "steps.test@new.delay", "0;50"), axis(begun, "contracts.anchor.longstop_days", "10;60")
    with pytest.raises(DealError, match=r"delay = 50, .*longstop_days = 10: bonus falls due on 2026-08-30"):
        two_way(begun, *grid, ["npv:owner"])


def read_with(deal, cell, value):
    """The deal with another number in its base sheets."""
    rows = tuple(
        replace(row, cells={**row.cells, cell.column: value}) if row.cells[cell.table[:-1]] == cell.row else row
        for row in deal.tables[cell.table]
    )
    return replace(deal, tables={**deal.tables, cell.table: rows})


def test_faults_cross_to_another_process_whole(begun):
    with pytest.raises(DealError) as raised:
        axis(begun, "steps.build.dela", "0;50")
    sent = pickle.loads(pickle.dumps(raised.value))
    assert sent.faults == raised.value.faults
    assert str(sent) == str(raised.value)


def test_values_beyond_the_extremes_are_told():
    found = batches.model(read(SUPERPOD), {Cell("steps", "power", "delay"): (0.0, 10.0)})
    with pytest.raises(DealError, match="the lines are made for 0 to 10"):
        batches.fit(found, {Cell("steps", "power", "delay"): np.array([11.0])})


def test_every_study_is_called_from_the_room():
    from stuckstep import studies

    assert all(callable(getattr(studies, name)) for name in dir(studies))
    with pytest.raises(AttributeError, match="has no guess"):
        studies.guess  # noqa: B018
