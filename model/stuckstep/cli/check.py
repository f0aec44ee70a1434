"""`stuckstep check`: reads a deal, finds every fault, and says what was read."""

from __future__ import annotations

import sys

import click

from .finding import read_deal


@click.command(short_help="Find every fault in a deal, without running it.")
@click.argument("deal")
@click.option("--sources", is_flag=True, help="Count the numbers by what their source column says.")
@click.option("--log", "whole_log", is_flag=True, help="List everything that was read otherwise than it looks.")
def check(deal: str, sources: bool, whole_log: bool) -> None:
    """Read a deal and find every fault in it, without running the waterfall.

    Says what was read otherwise than it looks: 12.5% as 0.125, a formula as its stored value, a hidden row.
    """
    from stuckstep.reports.console import show
    from stuckstep.reports.contents import contents
    from stuckstep.results.validity import check_schedule

    read = read_deal(deal)
    check_schedule(read)
    show(contents(read, sources=sources, whole_log=whole_log), sys.stdout)
