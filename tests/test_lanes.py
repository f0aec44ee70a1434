"""The numba lanes against numpy, bit for bit, on every line of deals of every shape; what they fall back to."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deal_files import SUPERPOD
from strategies import deals, write_tables
from stuckstep.deal import DealError, base, periods, read, serial, variants
from stuckstep.engines import arrays
from stuckstep.engines.arrays.fusion import fuse
from stuckstep.engines.arrays.registers import lay_out
from stuckstep.results import returns
from stuckstep.results.returns import irr
from stuckstep.rules import build
from stuckstep.studies import batch as batches
from stuckstep.studies.axes import axis, model_of

pytestmark = pytest.mark.thorough

lanes = pytest.importorskip("stuckstep.engines.arrays.lanes", reason="numba is an extra")
discounting = pytest.importorskip("stuckstep.results.discounting", reason="numba is an extra")
LIBRARY = Path(__file__).parents[1] / "assumptions"
EVERY_SHAPE = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))


def job_of(sheets, plan, keep=None, every=False):
    """A job in which what differs between the scenarios varies, or every input whatever it holds."""
    lines = build(sheets, plan)
    program = arrays.translate(lines, keep)
    columns = {cell: sheets.value(cell) for cell in program.inputs}
    changed = [cell for cell, values in columns.items() if every or (values != values[0]).any()]
    grid = periods(sheets.deal)
    clock = arrays.Clock(grid.first_day, grid.next_first_day)
    job = arrays.prepare(
        program, changed, lambda cell: float(columns[cell][0]), lambda cell: float(plan.value(cell)[0]), clock
    )
    return job, {cell: columns[cell] for cell in changed}


def assert_same(found, expected):
    assert set(found) == set(expected)
    for line in expected:
        np.testing.assert_array_equal(found[line], expected[line], err_msg=line)


@EVERY_SHAPE
@given(tables=deals(), every=st.booleans())
def test_lanes_are_the_arrays_bit_for_bit(tables, every, tmp_path_factory):
    folder = tmp_path_factory.mktemp("deal")
    write_tables(tables, folder)
    deal = read(folder)
    for sheets in variants(deal):
        job, columns = job_of(sheets, base(deal), every=every)
        size = len(sheets.scenarios)
        expected = arrays.worker(job, size)(columns, size)
        assert_same(lanes.worker(job, size)(columns, size), expected)


@pytest.mark.parametrize("deck", [path.name for path in sorted(LIBRARY.iterdir()) if (path / "deal.csv").exists()])
def test_lanes_are_the_arrays_on_every_shipped_deck(deck):
    deal = read(LIBRARY / deck)
    for sheets in variants(deal):
        job, columns = job_of(sheets, base(deal), every=True)
        size = len(sheets.scenarios)
        assert_same(lanes.worker(job, size)(columns, size), arrays.worker(job, size)(columns, size))


@EVERY_SHAPE
@given(tables=deals(), every=st.booleans())
def test_what_varies_is_worked_as_what_does_not(tables, every, tmp_path_factory):
    """One scenario worked in plain numbers gives the bits it gives when every input is taken to vary."""
    folder = tmp_path_factory.mktemp("deal")
    write_tables(tables, folder)
    deal = read(folder)
    sheets = base(deal)
    still, _ = job_of(sheets, sheets)
    moved, columns = job_of(sheets, sheets, every=True)
    work = lanes.worker(moved, 1) if every else arrays.worker(moved, 1)
    assert_same(work(columns, 1), arrays.worker(still, 1)({}, 1))


@pytest.mark.parametrize("width", [1, 2, 511, 512, 513, 2000])
def test_any_width_gives_the_same(width):
    deal = read(SUPERPOD)
    late = axis(deal, "steps.power.delay", "0..600/700")
    found = model_of(deal, [late])
    keep = ["parties.neocloud.net", "phases.su1.billing", "checks.master.broken", "accounts.operating.opening"]
    results = []
    for engine, size in [("arrays", 700), ("lanes", width)]:
        ready = batches.batch(found, keep, engine=engine, width=size)
        parts = batches.stream(
            ready,
            batches.chunks(700, size),
            lambda part: {cell: values[part] for cell, values in late.moved.items()},
            lambda lines, _, __: {line: np.array(values) for line, values in lines.items()},
            threads=2,
        )
        chunks = list(parts)
        results.append({line: np.concatenate([one[line] for one in chunks], axis=-1) for line in keep})
    assert_same(results[1], results[0])


def test_a_month_is_the_calendars():
    from stuckstep.engines.arrays.interpreter import month_of
    from stuckstep.engines.arrays.steady import month

    days = np.concatenate(
        [np.arange(36526.0, 36526 + 4 * 366), np.arange(serial_of(2099), serial_of(2101)), [2_900_000.0]]
    )
    np.testing.assert_array_equal([month_of(day) for day in days], month(days))


def serial_of(year):
    import datetime

    return serial(datetime.date(year, 1, 1))


def test_fusion_leaves_fewer_steps_and_drops_none():
    deal = read(SUPERPOD)
    job, _ = job_of(base(deal), base(deal), every=True)
    fused = lay_out(fuse(job.program, job.varies), job.varies, masks=())
    assert len(fused.each) < 0.75 * len(job.layout.each)
    for step in (*fused.once, *fused.each):
        assert step.operator == "copy" or step.result not in step.operands


def test_a_deal_too_far_for_the_engine_is_told():
    deal = read(SUPERPOD)
    found = model_of(deal, [axis(deal, "steps.power.delay", "0;1")])
    with pytest.raises(DealError, match="auto, arrays, lanes are allowed"):
        batches.batch(found, [batches.LAWS], engine="gpu")


def run_alone(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_numba_the_arrays_do_the_work():
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'numba' else find(name, *more)\n"
        "from stuckstep.deal import DealError, read\n"
        "from stuckstep.studies import batch\n"
        "batch.find_spec = u.find_spec\n"
        "assert batch.fastest() == 'arrays'\n"
        f"found = batch.model(read({str(SUPERPOD)!r}), {{}})\n"
        "ready = batch.batch(found, [batch.LAWS])\n"
        "assert ready.engine == 'arrays'\n"
        "try: batch.worker(batch.batch(found, [batch.LAWS], engine='lanes'), 1)\n"
        "except DealError as error: print(error)\n"
    )
    assert "numba: the package is not installed; pip install '.[fast]'" in run_alone(code)


def test_nothing_heavy_is_imported_before_it_is_needed():
    code = (
        "import sys; sys.modules['dask'] = None\n"  # xarray would import it, and it scipy
        "from stuckstep.deal import read\n"
        "from stuckstep.studies import axes, batch, breakeven, measures, montecarlo, sensitivity\n"
        f"deal = read({str(SUPERPOD)!r})\n"
        "sensitivity.one_way(deal, axes.axis(deal, 'steps.power.delay', '0;1'), ['days_late'], engine='arrays')\n"
        "heavy = ('numba', 'scipy', 'SALib', 'distributed', 'zarr', 'matplotlib')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    assert run_alone(code).strip() == "[]"


def test_a_read_only_package_still_compiles(tmp_path):
    """Where no cache can be written the interpreter is compiled anew, and nothing fails at import."""
    code = (
        "import numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from stuckstep.engines.arrays import interpreter\n"
        "print(interpreter.month_of(45292.0))\n"
    )
    assert run_alone(code).strip() == str(float(2024 * 12 + 1))


@pytest.mark.parametrize("dates", [91.25 * np.arange(41.0), 365.0 * np.arange(25.0), np.cumsum([31.0, 28, 31] * 4)])
@pytest.mark.parametrize("size", [1, 255, 256, 3000])
def test_rates_of_return_are_the_same_with_numba(dates, size):
    random = np.random.default_rng(size)
    flows = random.normal(size=(len(dates), size)) * 10.0 ** random.integers(-3, 9, size=size)
    flows[:2, ::2], flows[2:, ::2] = -np.abs(flows[:2, ::2]), np.abs(flows[2:, ::2])  # one change of sign
    flows[:, ::7] *= np.where(random.random(flows[:, ::7].shape) < 0.3, 1e-14, 1.0)  # dust
    flows[3, ::11], flows[4, 5::11], flows[:, ::13] = np.nan, np.inf, 0.0
    plain, quick = (irr(flows, dates, compiled=compiled) for compiled in (False, True))
    np.testing.assert_array_equal(plain[0], quick[0])
    np.testing.assert_array_equal(plain[1], quick[1])


@pytest.mark.parametrize("tampered", ["SERIES", "CLOSE", "ROUNDING"])
def test_what_numba_compiled_takes_its_numbers_from_the_same_place(monkeypatch, tampered):
    flows, days = np.array([[-100.0] * 9, *[[20.0 + rate] * 9 for rate in range(9)]]), 365.0 * np.arange(10)
    changed = {"SERIES": returns.SERIES[9:], "CLOSE": (1.0, 1.0), "ROUNDING": 0.01}[tampered]
    before = returns._only_root(flows, days)
    for module in (returns, discounting):
        monkeypatch.setattr(module, tampered, changed)
    assert not np.array_equal(returns._only_root(flows, days), before)
    np.testing.assert_array_equal(discounting.only_root(flows, days), returns._only_root(flows, days))
