"""How many yearly prices a stream can meet: the length of a list, which belongs to the structure of a deal."""

from __future__ import annotations

import math
from datetime import date

from stuckstep.deal.dates import periods, serial
from stuckstep.deal.records import Cell
from stuckstep.deal.scenarios import BASE, Sheets, base

_DAYS = 365


def listed_years(sheets: Sheets, table: str, row: str) -> int:
    """Yearly prices a contract (over its term) or a recurring claim (up to the horizon) can meet in any scenario."""
    if table == "contracts":
        return _years(_longest_term(sheets, table, row) + _early(sheets, row))
    to_horizon = _years(_days_to_horizon(sheets, row))
    is_endless = sheets.cell(table, row, "term_days") is None
    return to_horizon if is_endless else min(to_horizon, _years(_longest_term(sheets, table, row)))


def _years(days: float) -> int:
    """Anniversaries within so many days, and the first year."""
    return math.ceil(max(days, 0.0) / _DAYS) + 1


def _longest_term(sheets: Sheets, table: str, row: str) -> float:
    return float(sheets.value(Cell(table, row, "term_days")).max())


def _early(sheets: Sheets, contract: str) -> float:
    """Days by which billing can begin before the plan: with a fixed end they lengthen the term."""
    if sheets.cell("contracts", contract, "end_rule") != "fixed":
        return 0.0
    plan = base(sheets.deal)
    starts = [Cell("phases", phase, "order_date") for phase in plan.keys("phases")]
    starts += [Cell("steps", step, "not_before") for step in plan.keys("steps")]
    dates = [serial(held) for cell in starts if isinstance(held := plan.input(cell, BASE), date)]
    days = sum(float(plan.value(Cell("steps", step, "days"))[0]) for step in plan.keys("steps"))
    return max(dates) + days - _earliest(sheets)


def _days_to_horizon(sheets: Sheets, claim: str) -> float:
    """From the earliest day anything can begin to the end of the last period, seen from the days paid in advance."""
    net = float(sheets.value(Cell("claims", claim, "net_days")).min())
    return float(periods(sheets.deal).next_first_day[-1]) - _earliest(sheets) + max(0.0, -net)


def _earliest(sheets: Sheets) -> float:
    """The earliest order or trigger date of any scenario: no step ends and nothing is billed before it."""
    cells = [Cell("phases", phase, "order_date") for phase in sheets.keys("phases")]
    cells += [
        Cell("claims", claim, "trigger")
        for claim in sheets.keys("claims")
        if isinstance(sheets.cell("claims", claim, "trigger"), date)
    ]
    return min(float(sheets.value(cell).min()) for cell in cells)
