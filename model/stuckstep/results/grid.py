"""The periods the results are shown by, and dates as numpy knows them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .solve import Array, Solution

NEVER = 2_900_000.0
FLOW, STOCK = "sum", "point"
_EPOCH = 25569.0  # the serial of 1970-01-01
Variable = tuple[tuple[str, ...], NDArray[Any], dict[str, str]]  # dimensions, values, attributes


class Grid:
    """The periods the results are shown by: the run's own, or its months rolled up to quarters."""

    def __init__(self, solution: Solution, monthly: bool) -> None:
        periods = solution.periods
        own = monthly or len(periods.labels) == len(periods.quarter_labels)
        self.labels = periods.labels if own else periods.quarter_labels
        index = np.arange(len(periods.labels)) if own else periods.quarter_index
        self.starts = np.flatnonzero(np.diff(index, prepend=-1))
        self.last = np.append(self.starts[1:], len(index)) - 1
        self.end = dates(periods.next_first_day[self.last] - 1)

    def roll_up(self, values: Array, method: str) -> Array:
        """(..., period, scenario) by the periods shown: the sum of a flow, the last of a stock."""
        if method == STOCK:
            return values[..., self.last, :]
        rolled = values[..., self.starts, :]
        for step in range(1, int((self.last - self.starts).max()) + 1):
            rolled = rolled + values[..., self.starts + step, :]
        return rolled


def dates(serials: Array) -> NDArray[np.datetime64]:
    """Spreadsheet serials as dates; the date that stands for never, and what is not a number, as NaT."""
    known = np.isfinite(serials) & (serials < NEVER)
    days = np.where(known, serials - _EPOCH, 0).astype("datetime64[D]").astype("datetime64[s]")
    return np.where(known, days, np.datetime64("NaT", "s"))
