"""`stuckstep export`: the live workbook alone, with any scenario chosen in it."""

from __future__ import annotations

from pathlib import Path

import click

from .finding import OUT_PATH, read_deal
from .studies import sheets_of


@click.command(short_help="Write the live Excel workbook alone.")
@click.argument("deal")
@click.option("--out", type=OUT_PATH, help="File to write.  [default: outputs/<deal>/<deal>.xlsx]")
@click.option("--scenario", default="base", show_default=True, metavar="S", help="Scenario that is chosen in it.")
@click.option("--studies", is_flag=True, help="Run the deal's table studies too, for a sheet of their own.")
def export(deal: str, out: Path | None, scenario: str, studies: bool) -> None:
    """Write the live Excel workbook: every line as a formula, with the chosen scenario's inputs.

    A workbook holds the scenarios that share the chosen one's structure; a scenario that changes structure has one of
    its own.
    """
    from stuckstep.deal import DealError, Fault
    from stuckstep.reports.workbook import export as write
    from stuckstep.reports.workbook import refuse_large
    from stuckstep.results import solve
    from stuckstep.results.validity import check_due_dates

    read = read_deal(deal)
    refuse_large(read)
    path = out if out is not None else Path("outputs") / read.name / f"{read.name}.xlsx"

    def refused(wrong: str, allowed: str) -> DealError:
        return DealError([Fault(str(path), None, None, wrong, f"{allowed} is allowed (--out)")])

    if path.suffix.lower() != ".xlsx":
        raise refused("a live workbook is an .xlsx file", "a name that ends in .xlsx")
    if path.resolve() == read.path.resolve():
        raise refused("this is the deal itself, which is never written over", "another file")
    solution = solve(read)
    check_due_dates(solution)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused(f"cannot be written ({error.strerror})", "a file that can be written") from None
    report = write(read, path, scenario, solution=solution, studies=sheets_of(read) if studies else ())
    click.echo(
        f"Written: {path} ({report.formulas:,} formulas; {report.compared:,} values recalculated by a spreadsheet "
        f"engine, the largest difference {report.worst:.2g}). Scenarios in it: {', '.join(report.scenarios)}."
    )
