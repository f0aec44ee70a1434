"""`stuckstep run`: works a deal out, prints who is paid when, and writes the results."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .finding import read_deal

if TYPE_CHECKING:
    import xarray as xr

    from stuckstep.api import Deal
    from stuckstep.results import Solution


@click.command()
@click.argument("deal")
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write to.  [default: outputs/<deal>]")
@click.option("--scenario", "scenarios", multiple=True, metavar="S", help="Only this scenario; may be repeated.")
@click.option("--monthly", is_flag=True, help="Results by month, for a deal whose grid is month.")
@click.option("--brief", is_flag=True, help="Print the table of all scenarios, not each scenario by itself.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--no-workbook", is_flag=True, help="Leave out the Excel workbook.")
@click.option("--no-report", is_flag=True, help="Leave out the HTML report.")
def run(
    deal: str,
    out: Path | None,
    scenarios: tuple[str, ...],
    monthly: bool,
    brief: bool,
    as_json: bool,
    no_workbook: bool,
    no_report: bool,
) -> None:
    """Work a deal out: print and write who is paid, when and how much.

    Writes results.nc, payments.csv, run.json, <deal>.xlsx and report.html, all or none. The exit code is 1 when a law
    of the model is broken in any scenario.
    """
    from stuckstep.reports.runs import Timings, write_run
    from stuckstep.reports.summary import summarise

    timings = Timings()
    with _progress(4 - no_workbook) as advance:
        advance("reading")
        with timings.of("read"):
            read = read_deal(deal)
        advance("running")
        with timings.of("run"):
            solution, dataset = _solve(read, scenarios, monthly)
        chosen = list(dict.fromkeys(scenarios)) or None
        document = summarise(read, dataset, chosen)
        kept = dataset if chosen is None else dataset.sel(scenario=chosen)
        advance("writing")
        folder = out if out is not None else Path("outputs") / read.name
        more = {} if no_workbook else {f"{read.name}.xlsx": _workbook(read, solution, dataset, chosen, monthly)}
        if not no_report:
            more["report.html"] = _report(read, solution, dataset, chosen, monthly)
        written = write_run(read, kept, folder, timings, more)
    if as_json:
        _print_json(document, folder, written)
    else:
        _print(document, folder, written, _warned(read), brief)
    if not all(scenario["is_sound"] for scenario in document["scenarios"]):
        raise click.exceptions.Exit(1)


def _solve(deal: Deal, scenarios: tuple[str, ...], monthly: bool) -> tuple[Solution, xr.Dataset]:
    """The lines worked out and labelled, with base among the scenarios whatever was asked for."""
    from stuckstep.deal import DealError, Fault, base
    from stuckstep.results import label, solve
    from stuckstep.results.validity import check_due_dates

    if monthly and base(deal).cell("deal", "grid", "value") != "month":
        row = next((row.number for row in deal.tables["deal"] if row.cells["item"] == "grid"), None)
        wrong, allowed = "--monthly needs a deal that runs by month", "the grid month is required for it"
        raise DealError([Fault(deal.files["deal"], row, "value", wrong, allowed)])
    solution = solve(deal, ("base", *scenarios) if scenarios else None)
    check_due_dates(solution)
    return solution, label(solution, monthly=monthly)


def _workbook(
    deal: Deal, solution: Solution, dataset: xr.Dataset, chosen: list[str] | None, monthly: bool
) -> Callable[[Path], Any]:
    """What writes the workbook, which holds every scenario, whatever was asked for."""
    from stuckstep.reports.workbook import export

    if chosen is None and not monthly:
        return lambda path: export(deal, path, solution=solution, dataset=dataset)
    return lambda path: export(deal, path)


def _report(
    deal: Deal, solution: Solution, dataset: xr.Dataset, chosen: list[str] | None, monthly: bool
) -> Callable[[Path], Any]:
    """What writes the report, which is by quarter and opens on the first scenario asked for."""
    from stuckstep.reports.html import write_report
    from stuckstep.results import label

    by_quarter = label(solution) if monthly else dataset
    return lambda path: write_report(deal, by_quarter, path, chosen[0] if chosen else "base")


def _warned(deal: Deal) -> int:
    """How many things look odd in the deal that it does not accept."""
    from stuckstep.results.plausibility import warnings

    return sum(one.accepted is None for one in warnings(deal))


def _print_json(document: dict[str, Any], folder: Path, written: list[Path]) -> None:
    import json

    from stuckstep.reports.summary import json_ready

    files = {"folder": str(folder), "files": [path.name for path in written]}
    click.echo(json.dumps({**json_ready(document), "written": files}, indent=2, ensure_ascii=False, allow_nan=False))


def _print(document: dict[str, Any], folder: Path, written: list[Path], warned: int, brief: bool) -> None:
    from stuckstep.reports.console import Sentence, show
    from stuckstep.reports.statement import statement

    wrote = f"Written to {folder}: {', '.join(path.name for path in written)}."
    workbook = folder / f"{document['deal']}.xlsx"
    if workbook not in written and workbook.exists():
        wrote += f" {workbook.name} there is left as it was."
    odd = f"{warned} warning{'s' * (warned != 1)}: `stuckstep check` says what looks odd in the deal."
    said = [Sentence(odd, "yellow")] if warned else []
    show([*statement(document, brief=brief), Sentence(""), *said, Sentence(wrote)], sys.stdout)


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
