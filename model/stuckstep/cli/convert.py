"""`stuckstep new` and `stuckstep convert`: deals written as sheets."""

from __future__ import annotations

from pathlib import Path

import click

from .finding import HOME, OUT_PATH, read_deal


@click.command()
@click.argument("name")
def new(name: str) -> None:
    """Write a small commented deal to start from.

    A plain NAME is written under ./assumptions where there is such a folder, else here; a name that ends in .xlsx
    becomes a workbook.
    """
    from stuckstep.deal import new as write_new

    path = Path(name)
    if len(path.parts) == 1 and HOME.is_dir():
        path = HOME / path
    write_new(path)
    click.echo(f"Written: {path}. Try: stuckstep run {_quoted(path)}")


@click.command(short_help="Write a deal as a workbook, or as a folder of CSV files.")
@click.argument("deal")
@click.argument("out", type=OUT_PATH)
def convert(deal: str, out: Path) -> None:
    """Write DEAL to OUT: a workbook where OUT ends in .xlsx, else a folder of CSV files. Nothing is lost."""
    from stuckstep.deal import write

    write(read_deal(deal), out)
    click.echo(f"Written: {out}.")


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
