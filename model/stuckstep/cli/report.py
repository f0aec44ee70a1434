"""`stuckstep report` and `stuckstep app`: the results as one page to send, and as a page to play with."""

from __future__ import annotations

from pathlib import Path

import click

from .finding import OUT_PATH, read_deal


@click.command(short_help="Write the report alone: one HTML file to send.")
@click.argument("deal")
@click.option("--out", type=OUT_PATH, help="Folder to write to.  [default: outputs/<deal>]")
@click.option("--scenario", default="base", show_default=True, metavar="S", help="Scenario the report opens on.")
def report(deal: str, out: Path | None, scenario: str) -> None:
    """Write report.html: one file without any address, to look at, print or send."""
    from stuckstep.deal import DealError, Fault
    from stuckstep.deal import variants as find
    from stuckstep.reports.html import write_report

    read = read_deal(deal)
    find(read, [scenario])  # an unknown scenario is told before the run
    path = (out if out is not None else Path("outputs") / read.name) / "report.html"
    dataset = read.run()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_report(read, dataset, path, scenario)
    except OSError as error:
        wrong, allowed = f"cannot be written ({error.strerror})", "a folder that can be written is allowed (--out)"
        raise DealError([Fault(str(path), None, None, wrong, allowed)]) from None
    click.echo(f"Written: {path}")


@click.command(short_help="Open the what-if page on this machine.")
@click.argument("deal")
@click.option("--port", default=0, show_default="a free one", help="Port of the page.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def app(deal: str, port: int, no_browser: bool) -> None:
    """Serve the what-if page on 127.0.0.1 until it is stopped: drag a delay, a price, a rent, and see who waits."""
    from stuckstep.app import AppNotInstalled, serve

    read = read_deal(deal)
    try:
        serve(read, port=port, open_browser=not no_browser, announce=click.echo)
    except AppNotInstalled as missing:
        click.echo(str(missing), err=True)
        raise click.exceptions.Exit(2) from None
    except OSError as error:
        click.echo(f"port {port}: cannot be used ({error.strerror}); another port is allowed, or 0", err=True)
        raise click.exceptions.Exit(2) from None
