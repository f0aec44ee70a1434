"""Dates as spreadsheet serials (1900 system) and the periods of a deal."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal.records import Deal

_DAY_ZERO = datetime.date(1899, 12, 30)


def serial(date: datetime.date) -> float:
    """Spreadsheet serial of a date (days, right from 1900-03-01 on)."""
    return float(date.toordinal() - _DAY_ZERO.toordinal())


def from_serial(days: float) -> datetime.date:
    """Date of a spreadsheet serial; what is left of a day is dropped."""
    return datetime.date.fromordinal(_DAY_ZERO.toordinal() + int(days))


@dataclass(frozen=True, eq=False)
class Periods:
    """The periods of a deal, quarters or months.

    first_day and next_first_day are serials (period,): a period runs from its first day to the day before the next
    one's. labels are 2027Q3 or 2027-07; quarter_labels name the quarters; quarter_index (period,) says which quarter
    each period lies in.
    """

    first_day: NDArray[np.float64]
    next_first_day: NDArray[np.float64]
    labels: tuple[str, ...]
    quarter_labels: tuple[str, ...]
    quarter_index: NDArray[np.intp]


def periods(deal: Deal) -> Periods:
    """The periods of the deal from its start, by its grid."""
    items = {row.cells["item"]: row.cells["value"] for row in deal.tables["deal"]}
    start, quarters = items["start"], items["quarters"]
    assert isinstance(start, datetime.date)
    assert isinstance(quarters, float)
    count = int(quarters)
    length = 1 if items.get("grid") == "month" else 3
    starts = [_months_after(start, length * index) for index in range(3 * count // length + 1)]
    edges = np.array([serial(day) for day in starts])
    quarter_starts = [_months_after(start, 3 * index) for index in range(count)]
    quarter_labels = tuple(f"{day.year}Q{(day.month + 2) // 3}" for day in quarter_starts)
    labels = quarter_labels if length == 3 else tuple(f"{day.year}-{day.month:02}" for day in starts[:-1])
    index = np.arange(len(labels)) * length // 3
    return Periods(edges[:-1], edges[1:], labels, quarter_labels, index)


def _months_after(first: datetime.date, months: int) -> datetime.date:
    """First day of the month so many months after the month that starts on `first`."""
    month = first.year * 12 + first.month - 1 + months
    return datetime.date(month // 12, month % 12 + 1, 1)
