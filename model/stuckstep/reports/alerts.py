"""Why an alert is raised, where the dates of a scenario tell."""

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import Sheets

Dates = NDArray[np.datetime64]


def why_never_drawn(sheets: Sheets, facility: str, closes: np.datetime64, finish: Dates, steps: list[str]) -> str:
    """What kept a facility shut: its window closes before its condition is met in any phase; else blank.

    finish: (phase, step), when each step ends in the scenario that `sheets` holds alone. Blank for a support too.
    """
    if facility not in sheets.keys("facilities"):
        return ""
    condition = sheets.cell("facilities", facility, "condition")
    if condition is None or np.isnat(closes):
        return ""
    ends = finish[:, steps.index(str(condition))]
    met = ends[~np.isnat(ends)]
    if met.size and met.min() < closes:
        return ""
    when = f"only on {_day(met.min())}" if met.size else "never"
    return f"the draw window of {facility} closes on {_day(closes)}, and {condition} is done {when}"


def _day(date: np.datetime64) -> str:
    return str(date.astype("datetime64[D]"))
