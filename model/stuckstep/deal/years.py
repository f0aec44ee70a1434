"""How many yearly prices a stream can meet: the length of a list, which belongs to the structure of a deal."""

from __future__ import annotations

import math
from datetime import date

from stuckstep.deal.dates import periods
from stuckstep.deal.records import Cell
from stuckstep.deal.scenarios import Sheets

_DAYS = 365


def listed_years(sheets: Sheets, table: str, row: str) -> int:
    """Yearly prices a contract (over its term) or a recurring claim (up to the horizon) can meet in any scenario."""
    cell = Cell(table, row, "term_days")
    terms = [sheets.input(cell, scenario) for scenario in sheets.scenarios]
    by_term = [math.ceil(term / _DAYS) + 1 for term in terms if isinstance(term, float)]
    if table == "contracts" or (by_term and max(by_term) <= _years_to_horizon(sheets, row)):
        return max(by_term)
    return _years_to_horizon(sheets, row)


def _years_to_horizon(sheets: Sheets, claim: str) -> int:
    """From the earliest day anything can begin to the end of the last period, seen from the days paid in advance."""
    net = sheets.value(Cell("claims", claim, "net_days")).min()
    days = periods(sheets.deal).next_first_day[-1] - _earliest(sheets) + max(0.0, -net)
    return math.ceil(float(days) / _DAYS) + 1


def _earliest(sheets: Sheets) -> float:
    """The earliest order or trigger date of any scenario: no step ends and nothing is billed before it."""
    cells = [Cell("phases", phase, "order_date") for phase in sheets.keys("phases")]
    cells += [
        Cell("claims", claim, "trigger")
        for claim in sheets.keys("claims")
        if isinstance(sheets.cell("claims", claim, "trigger"), date)
    ]
    return min(float(sheets.value(cell).min()) for cell in cells)
