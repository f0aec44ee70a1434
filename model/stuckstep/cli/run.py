"""`stuckstep run`: works a deal out, prints who is paid when, and writes the results."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .finding import OUT_PATH, read_deal
from .studies import sheets_of

if TYPE_CHECKING:
    import xarray as xr

    from stuckstep.api import Deal
    from stuckstep.results import Solution


class Wanted(NamedTuple):
    """What is asked of a run besides the deal."""

    scenarios: tuple[str, ...]
    monthly: bool
    no_workbook: bool
    no_report: bool
    studies: bool


class Ran(NamedTuple):
    """A deal that was run: what it says, where it was written, and what is to be known of its sheets."""

    document: dict[str, Any]
    folder: Path
    written: list[Path]
    notes: list[str]


@click.command()
@click.argument("deals", nargs=-1, required=True, metavar="DEAL...")
@click.option("--out", type=OUT_PATH, help="Folder to write to.  [default: outputs/<deal>]")
@click.option("--scenario", "scenarios", multiple=True, metavar="S", help="Only this scenario; may be repeated.")
@click.option("--monthly", is_flag=True, help="Results by month, for a deal whose grid is month.")
@click.option("--brief", is_flag=True, help="Print the table of all scenarios, not each scenario by itself.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--no-workbook", is_flag=True, help="Leave out the Excel workbook.")
@click.option("--no-report", is_flag=True, help="Leave out the HTML report.")
@click.option("--studies", is_flag=True, help="Run the table studies too, for a sheet of the workbook.")
def run(
    deals: tuple[str, ...],
    out: Path | None,
    scenarios: tuple[str, ...],
    monthly: bool,
    brief: bool,
    as_json: bool,
    no_workbook: bool,
    no_report: bool,
    studies: bool,
) -> None:
    """Work a deal out: print and write who is paid, when and how much.

    Writes results.nc, payments.csv, run.json, <deal>.xlsx and report.html, all or none. The exit code is 1 when a law
    of the model is broken in any scenario. Several deals (assumptions/*) are all read before any is run; each is
    written to a folder of its name, and --json gives a list.
    """
    wanted = Wanted(scenarios, monthly, no_workbook, no_report, studies)
    read = _read_all(deals)
    if studies:
        _refuse_studies(read, no_workbook)
    if not no_workbook:
        _refuse_large(read)
    with _progress(len(read) * (3 - no_workbook - no_report)) as advance:
        ran = [_run_one(deal, _folder(deal, out, len(read)), wanted, as_json, advance) for deal in read]
    if as_json:
        _print_json(ran)
    else:
        for one in ran:
            _print(one, brief)
    if not all(scenario["is_sound"] for one in ran for scenario in one.document["scenarios"]):
        raise click.exceptions.Exit(1)


def _folder(deal: Deal, out: Path | None, count: int) -> Path:
    """Where a deal is written: into a folder of its name, or into the one that is asked for where it is alone."""
    if out is None:
        return Path("outputs") / deal.name
    return out / deal.name if count > 1 else out


def _read_all(named: tuple[str, ...]) -> list[Deal]:
    """The deals, read. DealError with every fault of all of them, and where two have one name."""
    from stuckstep.deal import DealError, Fault

    faults, read = [], []
    for name in named:
        try:
            read.append(read_deal(name))
        except DealError as error:
            several = len(named) > 1
            faults += [fault._replace(file=f"{name}: {fault.file}") if several else fault for fault in error.faults]
    names = [deal.name for deal in read]
    for double in sorted({name for name in names if names.count(name) > 1}):
        faults.append(Fault(double, None, None, "two deals have this name", "deals of different names are allowed"))
    if faults:
        raise DealError(faults)
    return read


def _refuse_large(deals: list[Deal]) -> None:
    """DealError where the workbook of a deal would be too large, with the way around it."""
    from stuckstep.deal import DealError
    from stuckstep.reports.workbook import refuse_large

    faults = []
    for deal in deals:
        try:
            refuse_large(deal)
        except DealError as error:
            faults += [one._replace(allowed=f"{one.allowed} (or --no-workbook)") for one in error.faults]
    if faults:
        raise DealError(faults)


def _refuse_studies(deals: list[Deal], no_workbook: bool) -> None:
    """DealError where there is no workbook to put the studies in, and for every deal that has none."""
    from stuckstep.deal import DealError, Fault

    faults = []
    if no_workbook:
        wrong = "the studies stand in the workbook, which --no-workbook leaves out"
        faults.append(Fault("--studies", None, None, wrong, "one of the two is allowed"))
    for deal in deals:
        if not deal.tables["studies"]:
            file = f"{deal.name}: {deal.files.get('studies', 'studies')}"
            faults.append(Fault(file, None, None, "the deal has no studies", "one row or more is required"))
    if faults:
        raise DealError(faults)


def _run_one(deal: Deal, folder: Path, wanted: Wanted, as_json: bool, advance: Callable[[str], None]) -> Ran:
    """Works one deal out and writes it."""
    from stuckstep.reports.runs import Timings, write_run
    from stuckstep.reports.summary import summarise

    timings = Timings()
    advance(f"{deal.name}: running")
    with timings.of("run"):
        solution, dataset = _solve(deal, wanted)
    chosen = list(dict.fromkeys(wanted.scenarios)) or None
    document = summarise(deal, dataset, chosen)
    kept = dataset if chosen is None else dataset.sel(scenario=chosen)
    more: dict[str, Callable[[Path], Any]] = {}
    if not wanted.no_workbook:
        write = _workbook(deal, solution, dataset, chosen, wanted)
        more[f"{deal.name}.xlsx"] = _after(advance, f"{deal.name}: workbook", write)
    if not wanted.no_report:
        write = _report(deal, solution, dataset, chosen, wanted.monthly)
        more["report.html"] = _after(advance, f"{deal.name}: report", write)
    written = write_run(deal, kept, folder, timings, more)
    return Ran(document, folder, written, [] if as_json else _notes(deal))


def _after(advance: Callable[[str], None], stage: str, write: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """A writer that says first what it is about to do."""

    def writer(path: Path) -> Any:
        advance(stage)
        return write(path)

    return writer


def _solve(deal: Deal, wanted: Wanted) -> tuple[Solution, xr.Dataset]:
    """The lines worked out and labelled, with base among the scenarios whatever was asked for.

    Every line is kept for the workbook; without one only those that the results show.
    """
    from stuckstep.results import is_shown, label, solve
    from stuckstep.results.validity import check_due_dates, check_monthly

    if wanted.monthly:
        check_monthly(deal)
    scenarios = ("base", *wanted.scenarios) if wanted.scenarios else None
    solution = solve(deal, scenarios, is_shown if wanted.no_workbook else None)
    check_due_dates(solution)
    return solution, label(solution, monthly=wanted.monthly)


def _workbook(
    deal: Deal, solution: Solution, dataset: xr.Dataset, chosen: list[str] | None, wanted: Wanted
) -> Callable[[Path], Any]:
    """What writes the workbook, which holds every scenario, whatever was asked for."""
    from stuckstep.reports.workbook import export

    studies = sheets_of(deal) if wanted.studies else ()
    if chosen is None and not wanted.monthly:
        return lambda path: export(deal, path, solution=solution, dataset=dataset, studies=studies)
    return lambda path: export(deal, path, studies=studies)


def _report(
    deal: Deal, solution: Solution, dataset: xr.Dataset, chosen: list[str] | None, monthly: bool
) -> Callable[[Path], Any]:
    """What writes the report, which is by quarter and opens on the first scenario asked for."""
    from stuckstep.reports.html import write_report
    from stuckstep.results import label

    by_quarter = label(solution) if monthly else dataset
    return lambda path: write_report(deal, by_quarter, path, chosen[0] if chosen else "base")


def _notes(deal: Deal) -> list[str]:
    """How much looks odd in the deal that it does not accept, and how much was read otherwise than it looks."""
    from stuckstep.results.plausibility import warnings

    warned, read = sum(one.accepted is None for one in warnings(deal)), len(deal.log)
    notes = []
    if warned:
        notes.append(f"{warned} warning{'s' * (warned != 1)}: `stuckstep check` says what looks odd in the deal.")
    if read:
        notes.append(f"{read} reading{'s' * (read != 1)} of what looks otherwise: `stuckstep check` lists them.")
    return notes


def _print_json(ran: list[Ran]) -> None:
    import json

    from stuckstep.reports.summary import json_ready

    documents = [
        {
            **json_ready(one.document),
            "written": {"folder": str(one.folder), "files": [path.name for path in one.written]},
        }
        for one in ran
    ]
    said = documents if len(documents) > 1 else documents[0]
    click.echo(json.dumps(said, indent=2, ensure_ascii=False, allow_nan=False))


def _print(ran: Ran, brief: bool) -> None:
    from stuckstep.reports.console import Sentence, show
    from stuckstep.reports.statement import statement

    wrote = f"Written to {ran.folder}: {', '.join(path.name for path in ran.written)}."
    workbook = ran.folder / f"{ran.document['deal']}.xlsx"
    if workbook not in ran.written and workbook.exists():
        wrote += f" {workbook.name} there is left as it was."
    said = [Sentence(note, "yellow") for note in ran.notes]
    show([*statement(ran.document, brief=brief), Sentence(""), *said, Sentence(wrote)], sys.stdout)


@contextlib.contextmanager
def _progress(stages: int) -> Iterator[Callable[[str], None]]:
    """A bar on the error stream while it lasts, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=stages)

        def advance(stage: str) -> None:
            progress.update(task, description=stage, advance=1)
            progress.refresh()

        yield advance
