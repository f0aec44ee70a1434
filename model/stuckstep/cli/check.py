"""`stuckstep check`: reads a deal, finds every fault, and says what was read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

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
    from stuckstep.deal.records import Deal, together
    from stuckstep.reports.console import show
    from stuckstep.reports.contents import contents
    from stuckstep.results.validity import check_schedule
    from stuckstep.studies.tables import studies_of, uncertainties_of

    read = read_deal(deal)
    judges: list[Callable[[Deal], object]] = [check_schedule, studies_of]
    judges += [uncertainties_of] if read.tables["uncertainties"] else []
    together(partial(judge, read) for judge in judges)
    show(contents(read, sources=sources, whole_log=whole_log), sys.stdout)
