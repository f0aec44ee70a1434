"""`stuckstep explain`: one line in words, with the values of its parts and where they come from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .finding import read_deal

if TYPE_CHECKING:
    from stuckstep.api import Deal
    from stuckstep.reports.console import Block


@click.command(short_help="Explain a line: its formula, values and sources.")
@click.argument("deal")
@click.argument("line", required=False)
@click.argument("quarter", required=False)
@click.option("--scenario", default="base", show_default=True, metavar="S", help="Scenario whose values are shown.")
@click.option("--depth", type=click.IntRange(0, 1000), default=1, show_default=True, help="Levels of parts to open.")
@click.option("--inputs", is_flag=True, help="Open every part of the period, down to the sheets' cells.")
def explain(deal: str, line: str | None, quarter: str | None, scenario: str, depth: int, inputs: bool) -> None:
    """Explain LINE in QUARTER: its formula in words, and each part with its value and where it comes from.

    LINE is a claim (ddtl.interest, rent: what falls due on it), a row and an item (ddtl.draw, operating.closing,
    power.finish, power.finish@su1), a variable of the results (ddtl.balance_closing, neocloud.irr, su1.stuck_step) or a
    line's full name. QUARTER is 2027Q4, or 2027-10 in a deal by month; what is the same in every period, such as a
    date, needs none. Without LINE: a list of what there is.
    """
    from stuckstep.reports.console import show

    show(_blocks(read_deal(deal), line, quarter, scenario, None if inputs else depth), sys.stdout)


def _blocks(deal: Deal, line: str | None, quarter: str | None, scenario: str, depth: int | None) -> Iterator[Block]:
    from stuckstep.reports.explanation import explain as work_out
    from stuckstep.reports.explanation import narrative
    from stuckstep.reports.lookup import contents
    from stuckstep.reports.outcomes import OUTCOMES, explain_outcome, find_outcome
    from stuckstep.results import solve

    if line is None:
        return contents(solve(deal, [scenario]).where(scenario)[0], OUTCOMES)
    outcome = find_outcome(deal, line)
    if outcome is not None:
        return explain_outcome(deal, outcome, scenario)
    return narrative(work_out(deal, line, quarter, scenario, depth))
