"""`stuckstep sensitivity`, `breakeven`, `montecarlo`: many runs of one deal. What they need is imported as they run."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .finding import OUT_PATH, read_deal

if TYPE_CHECKING:
    import xarray as xr

    from stuckstep.api import Deal
    from stuckstep.deal import DealError, Fault
    from stuckstep.reports.sheets import Sheet
    from stuckstep.studies.axes import Axis
    from stuckstep.studies.sampling import Design

Command = TypeVar("Command", bound=Callable[..., Any])
HOLDS = click.Choice(["at_least", "at_most", "absent", "present"])
BY = click.Choice(["value", "add", "factor"])


def _finite(_: click.Context, option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise _refused(f"--{option.name}", f"{value} is no number", "a number")
    return value


def _listed(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Several measures may stand in one flag, as in a cell of the sheets."""
    return tuple(name.strip() for value in values for name in value.split(";") if name.strip())


def _common(command: Command) -> Command:
    """The options all studies share."""
    options = [
        click.option(
            "--scenario", default="base", show_default=True, metavar="S", help="Where everything else is from."
        ),
        click.option("--out", type=OUT_PATH, help="Folder to write to.  [default: outputs/<deal>]"),
        click.option("--engine", type=click.Choice(["auto", "arrays", "lanes"]), default="auto", show_default=True),
        click.option("--threads", type=click.IntRange(1, 64), default=1, show_default=True),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _axes(command: Command) -> Command:
    """The options that say which cells are moved, instead of the deal's table."""
    options = [
        click.option("--study", "names", multiple=True, metavar="NAME", help="Only this study of the deal's table."),
        click.option(
            "--cell", "cells", multiple=True, metavar="C", help="A cell such as steps.power.delay; repeatable."
        ),
        click.option("--values", multiple=True, metavar="V", help="0;91;182 or 0..364/5, one for each --cell."),
        click.option(
            "--by",
            multiple=True,
            type=BY,
            help="value: the cell's own; add: added to it; factor: times it. One for each --cell.  [default: value]",
        ),
        click.option(
            "--threshold", type=float, callback=_finite, metavar="X", help="What the first measure is held against."
        ),
        click.option("--holds", type=HOLDS, default="at_least", show_default=True, help="How it must stand to that."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command(short_help="Tables of runs in which cells are moved.")
@click.argument("deal")
@_axes
@click.option(
    "--measure", "measures", multiple=True, callback=_listed, metavar="M", help="Measures such as npv:PARTY, with ;."
)
@click.option("--tornado", is_flag=True, help="Each cell alone at its lowest and highest value.")
@click.option("--delay-cost", is_flag=True, help="What one more quarter of delay costs, by step and party.")
@click.option("--causes", metavar="S", help="What each change of this scenario did to each party.")
@_common
def sensitivity(
    deal: str,
    names: tuple[str, ...],
    cells: tuple[str, ...],
    values: tuple[str, ...],
    by: tuple[str, ...],
    threshold: float | None,
    holds: str,
    measures: tuple[str, ...],
    tornado: bool,
    delay_cost: bool,
    causes: str | None,
    scenario: str,
    out: Path | None,
    engine: str,
    threads: int,
) -> None:
    """Run DEAL with cells moved, and print and write the tables: those of its table `studies`, or what the flags say.

    With one --cell a list, with two a grid, with --tornado every cell alone. Each value is a run of the model.
    """
    from stuckstep.studies.attribution import cost_of_delay, loss_by_cause

    read = read_deal(deal)
    options: dict[str, Any] = {"threads": threads, "engine": _small(engine)}
    found: dict[str, xr.Dataset] = {}
    if delay_cost:
        found["delay_cost"] = cost_of_delay(read, start=scenario, **options)
    if causes is not None:
        found[f"causes_{causes}"] = loss_by_cause(read, causes, start=scenario, **options)
    if cells:
        kind = "tornado" if tornado else {1: "oneway", 2: "twoway"}.get(len(cells), "tornado")
        found["sensitivity"] = _flagged(read, kind, cells, values, by, measures, threshold, holds, scenario, options)
    else:
        _without_cells(values, by, measures, threshold)
    if not found:
        kinds = ("tornado",) if tornado else ("oneway", "twoway", "tornado")
        found = _of_table(read, names, kinds, scenario, options)
    _finish(read, found, out)


@click.command(short_help="The value of a cell up to which a test holds.")
@click.argument("deal")
@_axes
@click.option("--measure", metavar="M", help="The measure that is tested, such as npv:PARTY.")
@click.option("--over", metavar="C", help="Look for it again at each value of this cell.")
@click.option("--over-values", metavar="V", help="The values of --over: 0;91;182 or 0..364/5.")
@_common
def breakeven(
    deal: str,
    names: tuple[str, ...],
    cells: tuple[str, ...],
    values: tuple[str, ...],
    by: tuple[str, ...],
    threshold: float | None,
    holds: str,
    measure: str | None,
    over: str | None,
    over_values: str | None,
    scenario: str,
    out: Path | None,
    engine: str,
    threads: int,
) -> None:
    """Find where a test of DEAL changes between the lowest and the highest of the --values of each --cell.

    Without --cell the break-evens of the deal's table `studies`. The answer is exact to the day, or as near as numbers
    come; it says when there is none or more than one, and where the measure jumps over the threshold.
    """
    from stuckstep.deal.records import together
    from stuckstep.studies.axes import axis
    from stuckstep.studies.breakeven import Test, break_even

    read = read_deal(deal)
    options: dict[str, Any] = {"threads": threads, "engine": _small(engine)}
    if not cells:
        _without_cells(values, by, [measure] if measure else [], threshold, over)
        _finish(read, _of_table(read, names, ("breakeven",), scenario, options), out)
        return
    checks: list[Callable[[], Any]] = [
        partial(_tested, measure, threshold, holds),
        partial(_axes_of, read, cells, values, by, scenario),
        partial(axis, read, over, over_values or "", start=scenario) if over else lambda: None,
        partial(_measures_of, read, [measure] if measure else [], scenario),
    ]
    _, axes, other, _ = together(checks)
    test = Test(str(measure), holds, threshold or 0.0)
    _finish(read, {"breakeven": break_even(read, axes, test, other, scenario, **options)}, out)


@click.command(short_help="The deal at drawn values of what is uncertain.")
@click.argument("deal")
@click.option("--draws", type=click.IntRange(1, 10**9), default=16384, show_default=True)
@click.option("--method", type=click.Choice(["sobol", "lhs", "plain"]), default="sobol", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--replicates", type=click.IntRange(1, 1000), default=16, show_default=True, help="For the error bars.")
@click.option(
    "--measure", "measures", multiple=True, callback=_listed, metavar="M", help="As npv:PARTY, with ;.  [default: many]"
)
@click.option("--unpaid-over", type=float, default=0.0, metavar="X", help="Count draws that leave more than X unpaid.")
@click.option("--later-by", type=float, default=0.0, metavar="N", help="Count draws that pay half N periods later.")
@click.option("--unchecked", is_flag=True, help="Do not check the laws of the model in every draw (faster).")
@click.option("--indices", is_flag=True, help="Sobol indices of the measures instead (--draws base points).")
@click.option(
    "--draw", "number", type=click.IntRange(0), metavar="N", help="Only this draw, as a run with all its series."
)
@click.option("--scheduler", metavar="ADDRESS", help="Run on the dask cluster at this address.")
@click.option("--store", type=OUT_PATH, metavar="FOLDER", help="Keep every draw in a zarr folder.")
@click.option("--keep", multiple=True, metavar="LINE", help="A line to keep there by period as well; repeatable.")
@_common
def montecarlo(
    deal: str,
    draws: int,
    method: str,
    seed: int,
    replicates: int,
    measures: tuple[str, ...],
    unpaid_over: float,
    later_by: float,
    unchecked: bool,
    indices: bool,
    number: int | None,
    scheduler: str | None,
    store: Path | None,
    keep: tuple[str, ...],
    scenario: str,
    out: Path | None,
    engine: str,
    threads: int,
) -> None:
    """Run DEAL at drawn values of what its table `uncertainties` says, and print and write what comes of it.

    The same seed gives the same result to the last bit, on any number of threads or machines.
    """
    from stuckstep.studies.montecarlo import monte_carlo
    from stuckstep.studies.sampling import design
    from stuckstep.studies.tables import uncertainties_of

    read = read_deal(deal)
    uncertain = uncertainties_of(read, scenario)
    plan = design(draws, method=method, seed=seed, replicates=replicates)
    if number is not None:
        _one_draw(read, uncertain, plan, number, scenario, out)
        return
    if indices:
        from stuckstep.studies.indices import sobol_indices

        names = list(measures) or ["funding_gap", "days_late"]
        options: dict[str, Any] = {"start": scenario, "threads": threads, "engine": _small(engine)}
        _finish(read, {"indices": sobol_indices(read, uncertain, names, points=draws, seed=seed, **options)}, out)
        return
    with _progress(plan.draws) as told:
        result = monte_carlo(
            read, uncertain, plan, measures=measures or None, start=scenario, unpaid_over=unpaid_over,
            later_by=later_by, laws=not unchecked, engine=engine, threads=threads, scheduler=scheduler, store=store,
            keep=keep, progress=told,
        )  # fmt: skip
    _finish(read, {"montecarlo": result}, out)


def _small(engine: str) -> str:
    """A study of a few thousand runs is done before numba is imported."""
    return "arrays" if engine == "auto" else engine


def _fault(option: str, wrong: str, required: str) -> Fault:
    """A fault in the flags, told as one in a table is."""
    from stuckstep.deal import Fault

    return Fault(option, None, None, wrong, f"{required} is required")


def _refused(option: str, wrong: str, required: str) -> DealError:
    from stuckstep.deal import DealError

    return DealError([_fault(option, wrong, required)])


def _without_cells(
    values: Sequence[str],
    by: Sequence[str],
    measures: Sequence[str],
    threshold: float | None,
    over: str | None = None,
) -> None:
    """Refuses what is said of a --cell where there is none: it would be passed over in silence."""
    from stuckstep.deal import DealError

    given = {
        "--values": bool(values),
        "--by": bool(by),
        "--measure": bool(measures),
        "--threshold": threshold is not None,
        "--over": over is not None,
    }
    wrong = "it says how a cell is moved, and none is named"
    faults = [_fault(option, wrong, "--cell") for option, is_given in given.items() if is_given]
    if faults:
        raise DealError(faults)


def _measured(measures: Sequence[str]) -> None:
    if not measures:
        raise _refused("--cell", "nothing is measured", "--measure, such as npv:PARTY,")


def _tested(measure: str | None, threshold: float | None, holds: str) -> None:
    if measure is None or (threshold is None and holds in ("at_least", "at_most")):
        raise _refused("--cell", "there is nothing to test", "--measure and --threshold, or --holds absent or present,")


def _measures_of(deal: Deal, measures: Sequence[str], scenario: str) -> None:
    """DealError with every measure that there is not."""
    from stuckstep.studies.batch import model
    from stuckstep.studies.measures import measures_of

    measures_of(model(deal, {}, scenario), measures)


def _axes_of(deal: Deal, cells: Sequence[str], values: Sequence[str], by: Sequence[str], scenario: str) -> list[Axis]:
    """The axes of the flags; DealError with every fault."""
    from stuckstep.deal.records import together
    from stuckstep.studies.axes import axis, cells_of

    def counted(option: str, given: Sequence[str], required: str) -> None:
        if len(given) != len(cells):
            raise _refused(option, f"there are {len(given)} for {len(cells)} --cell", required)

    by = by or ["value"] * len(cells)
    checks: list[Callable[[], Any]] = [
        partial(counted, "--values", values, "one for each --cell"),
        partial(counted, "--by", by, "one for each --cell, or none at all,"),
        *(partial(cells_of, deal, cell) for cell in cells),
    ]
    if len(cells) == len(values) == len(by):  # then what is wrong with the values can be told too
        checks = [partial(axis, deal, *row, start=scenario) for row in zip(cells, values, by, strict=True)]
    return together(checks)


def _flagged(
    deal: Deal,
    kind: str,
    cells: Sequence[str],
    values: Sequence[str],
    by: Sequence[str],
    measures: Sequence[str],
    threshold: float | None,
    holds: str,
    scenario: str,
    options: dict[str, Any],
) -> xr.Dataset:
    """The study the flags describe, as if it stood in the deal's table."""
    from stuckstep.deal.records import together
    from stuckstep.studies.tables import Study

    checks: list[Callable[[], Any]] = [
        partial(_measured, measures),
        partial(_axes_of, deal, cells, values, by, scenario),
        partial(_measures_of, deal, measures, scenario),
    ]
    _, axes, _ = together(checks)
    return Study("", kind, tuple(axes), tuple(measures), threshold, holds, scenario).run(deal, **options)


def _of_table(
    deal: Deal, names: Sequence[str], kinds: Sequence[str], scenario: str, options: dict[str, Any]
) -> dict[str, xr.Dataset]:
    """The studies of these kinds in the deal's table, or those named; each is taken from the scenario of its row."""
    from stuckstep.studies.tables import studies_of

    if scenario != "base":
        raise _refused("--scenario", "a study of the deal's table names its own in the column scenario", "--cell")
    chosen = [one for one in studies_of(deal, names or None) if names or one.kind in kinds]
    if not chosen:
        wrong = f"the deal's table studies has no {' or '.join(kinds)}"
        raise _refused(deal.files.get("studies", f"{deal.name}: studies"), wrong, "one there, or --cell,")
    return {one.name: one.run(deal, **options) for one in chosen}


def sheets_of(deal: Deal) -> list[Sheet]:
    """The deal's own studies as tables for its workbook; DealError where it has none."""
    from stuckstep.deal import DealError, Fault
    from stuckstep.studies.sheets import sheets
    from stuckstep.studies.tables import studies_of

    found = studies_of(deal)
    if not found:
        file = deal.files.get("studies", f"{deal.name}: studies")
        raise DealError([Fault(file, None, None, "the deal has no studies", "one row or more is required")])
    return [sheet for one in found for sheet in sheets(one.run(deal))]


def _one_draw(deal: Deal, uncertain: Sequence[Any], plan: Design, number: int, scenario: str, out: Path | None) -> None:
    """One draw run again with every line kept, written like any run."""
    from stuckstep.reports.runs import Timings, write_run
    from stuckstep.results import run
    from stuckstep.studies.montecarlo import one_draw

    dataset = run(one_draw(deal, uncertain, plan, number, scenario), ["base", f"draw {number}"])
    folder = (out or Path("outputs") / deal.name) / f"draw_{number}"
    written = write_run(deal, dataset, folder, Timings())
    click.echo(f"Written to {folder}: {', '.join(path.name for path in written)}.")


def _finish(deal: Deal, found: dict[str, xr.Dataset], out: Path | None) -> None:
    """Prints the studies, writes each as a .nc file, and ends with code 1 where a law of the model is broken."""
    from stuckstep.deal import periods
    from stuckstep.reports.console import Sentence, show
    from stuckstep.studies.files import write_studies
    from stuckstep.studies.printing import blocks

    folder = out if out is not None else Path("outputs") / deal.name
    written = write_studies(found, folder)
    labels = periods(deal).labels
    for study in found.values():
        show(blocks(study, labels), sys.stdout)
    show([Sentence(""), Sentence(f"Written to {folder}: {', '.join(path.name for path in written)}.")], sys.stdout)
    if any(study.attrs.get("laws_broken", 0) not in (0, "not checked") for study in found.values()):
        raise click.exceptions.Exit(1)


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on the error stream while it lasts, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("drawing"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


COMMANDS = (sensitivity, breakeven, montecarlo)
