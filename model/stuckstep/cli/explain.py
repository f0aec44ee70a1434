"""`stuckstep explain`: one line in words, with the values of its parts and where they come from."""

from __future__ import annotations

import sys

import click

from .finding import read_deal


@click.command(short_help="Explain a line: its formula, values and sources.")
@click.argument("deal")
@click.argument("line")
@click.argument("quarter", required=False)
@click.option("--scenario", default="base", show_default=True, metavar="S", help="Scenario whose values are shown.")
@click.option("--depth", type=click.IntRange(0, 1000), default=1, show_default=True, help="Levels of parts to open.")
@click.option("--inputs", is_flag=True, help="Open every part of the period, down to the sheets' cells.")
def explain(deal: str, line: str, quarter: str | None, scenario: str, depth: int, inputs: bool) -> None:
    """Explain LINE in QUARTER: its formula in words, and each part with its value and where it comes from.

    LINE is a claim (ddtl.interest, rent: what falls due on it), a row and an item (ddtl.draw, operating.closing,
    power.finish, power.finish@su1), or a line's full name. QUARTER is 2027Q4, or 2027-10 in a deal by month; a line
    that is the same in every period, such as a date, needs none.
    """
    from stuckstep.reports.console import show
    from stuckstep.reports.explanation import explain as work_out
    from stuckstep.reports.explanation import narrative

    explanation = work_out(read_deal(deal), line, quarter, scenario, None if inputs else depth)
    show(narrative(explanation), sys.stdout)
