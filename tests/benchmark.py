"""How fast the engine is, as ratios measured in one run. Not a test: `python tests/benchmark.py [--quick]`.

Every pair is timed in turns and the best of each counts. What runs on one thread is timed by the processor's time,
which other programs lengthen least; what runs on two threads, or in another process, by the clock on the wall, which
means little while the machine is busy with other things: the first line says how busy it is. Seconds mean nothing on
another machine; the ratios should.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import reference
from stuckstep.deal import base, read
from stuckstep.engines import arrays
from stuckstep.results import solve
from stuckstep.results.returns import irr
from stuckstep.rules import all_claims
from stuckstep.rules.lines import name_of
from stuckstep.studies import batch as batches
from stuckstep.studies.axes import axis
from stuckstep.studies.counting import Request, count, make_ready
from stuckstep.studies.distributions import Uncertainty
from stuckstep.studies.sampling import design, shares, values

SUPERPOD = Path(__file__).parent / "golden" / "superpod"


def best(*functions: Callable[[], Any], rounds: int = 3, wall: bool = False) -> list[float]:
    """The best time of each function, run in turns."""
    clock = time.perf_counter if wall else time.process_time
    times = [float("inf")] * len(functions)
    for _ in range(rounds):
        for place, function in enumerate(functions):
            start = clock()
            function()
            times[place] = min(times[place], clock() - start)
    return times


def say(what: str, value: str, wanted: str = "") -> None:
    print(f"{what:<90} {value:>16}   {wanted}", flush=True)


def uncertainties(deal: Any) -> tuple[Uncertainty, ...]:
    """Four steps and a price, two of the steps with a common cause."""
    return (
        Uncertainty("power", axis(deal, "steps.power.delay", ()), "lognormal", low=10, high=180, cap=900, chance=0.6,
                    group="site", correlation=0.5),
        Uncertainty("hall", axis(deal, "steps.hall.delay", ()), "pert", low=0, mode=20, high=200, group="site",
                    correlation=0.5),
        Uncertainty("chips", axis(deal, "steps.chips.delay", ()), "triangular", low=0, mode=0, high=120),
        Uncertainty("onboarding", axis(deal, "steps.onboarding.delay", ()), "uniform", low=0, high=60),
    )  # fmt: skip


def kept_lines(found: batches.Model) -> list[str]:
    """What every party is paid and is owed, and when billing begins."""
    parties = found.sheets.keys("parties")
    lines = [name_of("parties", party, item) for party in parties for item in ("paid", "unpaid")]
    return [*lines, "phases.su1.billing"]


def runner(
    found: batches.Model, engine: str, drawn: dict[Any, Any], runs: int, threads: int, width: int | None = None
) -> Callable[[], Any]:
    """What works so many runs and sums every kept line up: its total and its largest value."""
    ready = batches.batch(found, kept_lines(found), engine=engine, width=width)

    def reduce(kept: Any, _: Any, __: slice) -> Any:
        return [(rows.sum(), rows.max()) for rows in kept.values()]

    def work() -> Any:
        parts = batches.chunks(runs, ready.width)
        columns = lambda part: {cell: column[part] for cell, column in drawn.items()}  # noqa: E731
        return list(batches.stream(ready, parts, columns, reduce, threads=threads))

    return work


def fused_multiply_adds() -> float:
    """Operations per second of a fused multiply-add loop over numbers that stay in the processor's registers."""
    from numba import njit

    @njit(fastmath={"contract"})
    def loop(values: Any, rounds: int) -> None:
        for _ in range(rounds):
            for lane in range(values.size):
                values[lane] = values[lane] * 0.999 + 0.001

    numbers = np.ones(32)
    loop(numbers, 10)
    rounds = 2_000_000
    return 2 * numbers.size * rounds / best(lambda: loop(numbers, rounds), rounds=5)[0]


def against_the_reference(found: batches.Model, drawn: dict[Any, Any], runs: int) -> None:
    tables = reference.read_tables(SUPERPOD)
    tables["scenarios"] = []
    one, many = best(
        lambda: [reference.run(tables) for _ in range(5)], runner(found, "arrays", drawn, runs, 1), rounds=2
    )
    say(f"numpy against the plain reference, per run at {runs:,}", f"{one / 5 / (many / runs):.0f} x", ">= 200 x")


def lanes_against_arrays(found: batches.Model, drawn: dict[Any, Any], runs: int) -> None:
    work = {
        (engine, threads): runner(found, engine, drawn, runs, threads)
        for engine, threads in [("arrays", 1), ("lanes", 1), ("lanes", 2)]
    }
    small = runner(found, "arrays", drawn, runs, 1, 2000)
    work["lanes", 1]()  # compiled or loaded
    arrays, lanes, chunks = best(work["arrays", 1], work["lanes", 1], small)
    one, two, parts = best(work["arrays", 1], work["lanes", 2], small, wall=True)
    say("lanes against numpy in chunks of 2,000, one thread, with summaries", f"{chunks / lanes:.2f} x", ">= 2.5 x")
    say("lanes against numpy in its own chunks of 4,096, the same", f"{arrays / lanes:.2f} x")
    say("lanes on two threads against numpy on one, in chunks of 2,000", f"{parts / two:.2f} x", ">= 4 x")
    say("lanes on two threads against numpy on one, in chunks of 4,096", f"{one / two:.2f} x")
    ready = batches.batch(found, kept_lines(found), engine="lanes")
    say("numpy, runs per second", f"{runs / arrays:,.0f}")
    say("lanes, runs per second on one thread and on two", f"{runs / lanes:,.0f} / {runs / two:,.0f}")
    say("operations worked for each run", f"{ready.steps:,}")
    bound = fused_multiply_adds()
    say("share of the bound (fused multiply-adds) the lanes reach", f"{ready.steps * runs / lanes / bound:.1%}")


def single_runs(found: batches.Model, drawn: dict[Any, Any]) -> None:
    one = {cell: column[:1] for cell, column in drawn.items()}
    workers = []
    for engine in ("arrays", "lanes"):
        ready = batches.batch(found, ["parties.neocloud.net", batches.LAWS], engine=engine)
        work = batches.worker(ready, 1)
        work(one, 1)
        workers.append(lambda work=work: [work(one, 1) for _ in range(20)])
    arrays, lanes = best(*workers)
    say("lanes against numpy on a single run", f"{arrays / lanes:.0f} x", ">= 25 x")


def same_bits(found: batches.Model, drawn: dict[Any, Any], runs: int) -> None:
    lines = [line for line in found.lines if found.lines[line].kind != "static"]
    results = []
    for engine in ("arrays", "lanes"):
        ready = batches.batch(found, lines, engine=engine, width=runs)
        work = batches.worker(ready, runs)
        results.append(work({cell: column[:runs] for cell, column in drawn.items()}, runs))
    differ = [line for line in lines if not np.array_equal(results[0][line], results[1][line])]
    say(f"lines of {len(lines)} that differ in any bit between numpy and lanes", str(len(differ)), "0")


def rates_of_return() -> None:
    import numpy_financial

    random = np.random.default_rng(1)
    for flows_each, days in ((25, 365.0 * np.arange(25)), (41, 91.25 * np.arange(41))):
        spent, received = random.uniform(50, 150, (1, 20000)), random.uniform(0, 20, (flows_each - 1, 20000))
        flows = np.concatenate([-spent, received])
        assert np.array_equal(irr(flows, days, compiled=True)[0], irr(flows, days, compiled=False)[0])
        loop, compiled, plain = best(
            lambda flows=flows: [numpy_financial.irr(row) for row in flows.T[:20]],
            lambda flows=flows, days=days: irr(flows, days, compiled=True),
            lambda flows=flows, days=days: irr(flows, days, compiled=False),
            rounds=7,
        )
        what = f"vectorised IRR of {flows_each} flows against numpy-financial's loop"
        say(f"{what}, where numba is there", f"{loop / 20 / (compiled / 20000):,.0f} x", ">= 1,000 x")
        say(f"{what}, numpy alone, the same bits", f"{loop / 20 / (plain / 20000):,.0f} x")


def on_a_cluster(request: Request) -> None:
    from distributed import Client, LocalCluster

    from stuckstep.studies.cluster import count_on

    ready = make_ready(request, engine="lanes")
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        count_on(client, request, ready, engine="lanes")  # the worker has imported what it needs
        here, wall = time.process_time, time.perf_counter
        plain, away, shares_of = [], [], []
        for _ in range(3):
            start = here(), wall()
            count(ready)
            plain.append((here() - start[0], wall() - start[1]))
            start, before = (here(), wall()), sum(client.run(time.process_time).values())
            count_on(client, request, ready, engine="lanes")
            worker = sum(client.run(time.process_time).values()) - before
            away.append((here() - start[0] + worker, wall() - start[1]))
            shares_of.append(worker / away[-1][0])
    what = f"dask with one worker over the plain run, slices of 65,536 of {request.plan.draws:,}"
    for clock, name in enumerate(("processor time", "wall")):
        over = min(one[clock] for one in away) / min(one[clock] for one in plain) - 1
        say(f"{what}, {name}", f"{over:+.0%}", "<= +25%")
    say("share of that processor time which the worker spends", f"{max(shares_of):.0%}")


def a_million(deal: Any, draws: int) -> None:
    whole_process()
    a_thousand_scenarios()
    request = Request(deal, uncertainties(deal), design(draws))
    ready = make_ready(request)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.perf_counter()
    count(ready, threads=2)
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(f"{draws:,} draws with all summaries on two threads, seconds", f"{took:.0f} s")
    say("peak of memory of this process (before them)", f"{peak:.0f} ({before:.0f}) MB", "< 1,000 MB")


def whole_process() -> None:
    """The command from a cold start, by the clock on the wall."""
    command = [sys.executable, "-c", "from stuckstep.cli import main; main()"]
    with tempfile.TemporaryDirectory() as folder:
        run = ["run", str(SUPERPOD), "--out", folder]
        calls = {
            "stuckstep --help, whole process": (["--help"], "< 0.3 s"),
            "run, results alone, whole process": ([*run, "--no-workbook", "--no-report"], "< 2 s"),
            "run with workbook and report, whole process": (run, ""),
        }
        for what, (arguments, wanted) in calls.items():
            call = [*command, *arguments]
            (seconds,) = best(lambda call=call: subprocess.run(call, capture_output=True, check=True), wall=True)
            say(what, f"{seconds:.2f} s", wanted)


def a_thousand_scenarios() -> None:
    """One batch that keeps every due, paid and unpaid, cash, draw and balance, against the plain reference."""
    tables, deal = reference.read_tables(SUPERPOD), read(SUPERPOD)
    found = solve(deal)
    kept = [
        *(
            name_of("claims", claim.name, item)
            for claim in all_claims(found.plan)
            for item in ("due", "paid", "unpaid")
        ),
        *(name_of("accounts", account, "closing") for account in found.plan.keys("accounts")),
        *(
            name_of("facilities", facility, item)
            for facility in found.plan.keys("facilities")
            for item in ("draw", "balance")
        ),
    ]
    part = found.parts[0]
    program = arrays.translate(part.lines, [name for name in kept if name in part.lines])
    clock = arrays.Clock(found.periods.first_day, found.periods.next_first_day)

    def batch() -> None:
        arrays.evaluate(
            program,
            lambda cell: np.resize(part.sheets.value(cell), 1000),
            lambda cell: float(found.plan.value(cell)[0]),
            clock,
            1000,
        )

    one, many = best(lambda: reference.run(tables), batch)
    say("a batch of 1,000 against the plain reference, per scenario", f"{one / 5 / (many / 1000):.0f} x", ">= 100 x")


def main() -> None:
    """Measures and prints, in the order of the list above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    parser.add_argument("--deal", type=Path, default=SUPERPOD)
    quick = parser.parse_args().quick
    path = parser.parse_args().deal
    deal, runs = read(path), 10_000 if quick else 100_000
    drawn_of = uncertainties(deal)
    say(
        "programs that want the processor, of the processors there are", f"{os.getloadavg()[0]:.1f} of {os.cpu_count()}"
    )
    request = Request(deal, drawn_of, design(65_536 if quick else 262_144, replicates=4))
    a_million(deal, 100_000 if quick else 1_000_000)
    ready = make_ready(request, engine="arrays")
    found = ready.model
    plan = design(runs, replicates=1)
    drawn = values(drawn_of, shares(plan, drawn_of, slice(0, runs)))
    say("deal", f"{deal.name}, {len(base(deal).keys('claims'))} claims")
    if path == SUPERPOD:
        against_the_reference(found, drawn, runs)
    lanes_against_arrays(found, drawn, runs)
    single_runs(found, drawn)
    same_bits(found, drawn, min(runs, 1024))
    rates_of_return()
    on_a_cluster(request)


if __name__ == "__main__":
    main()
