"""`stuckstep facts` and `stuckstep compare`: what the sources say, and deals side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .finding import OutPath, read_deal

if TYPE_CHECKING:
    from stuckstep.reports.compare import Side


@click.command(short_help="Work out every figure of the source documents again.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "every_source", is_flag=True, help="List every source, not only the largest.")
def facts(ids: tuple[str, ...], every_source: bool) -> None:
    """Work out every figure and check of the two source documents again, beside the value they print.

    Counts the facts by source and kind. The exit code is 1 when a figure or a fact has no source. With the ids that
    stand in the column `source` of a deal (BOM-01): what those facts say, and where.
    """
    from stuckstep.deal.facts import facts as known
    from stuckstep.deal.facts import printed_figures
    from stuckstep.reports.console import show
    from stuckstep.reports.facts import facts_page, faults, said_by

    if ids:
        show(said_by(known(), ids), sys.stdout)
        return
    show(facts_page(known(), printed_figures(), every_source=every_source), sys.stdout)
    if missing := faults(known(), printed_figures()):
        for line in missing:
            click.echo(line, err=True)
        raise click.exceptions.Exit(1)


@click.command(short_help="Set deals side by side: who is paid when, per MW and in total.")
@click.argument("deals", nargs=-1, required=True, metavar="DEAL[:SCENARIO]...")
@click.option("--csv", "table", type=OutPath(path_type=Path, dir_okay=False), help="Write the parties to a CSV file.")
def compare(deals: tuple[str, ...], table: Path | None) -> None:
    """Set two deals or more side by side: who is paid when, per MW and in total.

    A deal is taken in its base case, or in the scenario named after a colon: gw_gb300:inference_api.
    """
    if len(deals) < 2:
        raise click.UsageError("compare needs two deals or more.")
    from stuckstep.reports.compare import compare as side_by_side
    from stuckstep.reports.compare import comparison_page
    from stuckstep.reports.console import show

    sides = [_side(named) for named in deals]
    try:
        blocks = list(comparison_page(sides))
    except ValueError as error:
        raise click.UsageError(f"{error}.") from None
    show(blocks, sys.stdout)
    if table is not None:
        side_by_side(sides).to_csv(table, index=False)
        click.echo(f"Written to {table}.")


def _side(named: str) -> Side:
    """`DEAL` or `DEAL:SCENARIO`, read and run. A path with a colon in it is taken as it stands."""
    from stuckstep.reports.compare import side

    name, colon, scenario = named.rpartition(":")
    if not colon or Path(named).exists() or "/" in scenario or "\\" in scenario:
        name, scenario = named, "base"
    deal = read_deal(name)
    return side(deal.name, deal.run(["base", scenario]), scenario)
