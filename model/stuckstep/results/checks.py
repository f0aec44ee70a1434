"""The checks as results: the laws that are broken anywhere, the alerts at the horizon and what raises them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stuckstep.rules import all_claims
from stuckstep.rules.checks import ALERTS, LAWS

from .grid import Variable
from .payments import HALF_CENT
from .solve import Solution

# The lines whose last value says which rows raise an alert.
_RAISED_BY = {
    "claims past horizon": ("claimed past horizon", "billed past horizon"),
    "never drawn": ("facility never drawn", "support never drawn"),
}


def check_variables(solution: Solution) -> Iterator[tuple[str, Variable]]:
    """law_broken (law, scenario), alert_raised and alert_on (alert, scenario), is_sound (scenario)."""
    errors = np.stack([solution.line(f"checks.{law}.broken").max(axis=0) for law in LAWS])
    broken: NDArray[np.bool_] = errors > 0
    alerts = np.stack([solution.line(f"checks.{alert}.alert")[-1] for alert in ALERTS])
    raised_by = np.array(
        [[_raised_by(solution, alert, name) for name in solution.scenarios] for alert in ALERTS], object
    )
    said = {"cell_methods": "quarter: maximum", "units": "1"}
    yield "law_broken", (("law", "scenario"), broken, said | {"long_name": "whether a law of the model is broken",
                     "formula": "the law's error > half a cent + dust"})  # fmt: skip
    yield "alert_raised", (("alert", "scenario"), alerts, said | {"long_name": "how often an alert is raised",
                    "formula": "at the last period's end"})  # fmt: skip
    yield "alert_on", (("alert", "scenario"), raised_by, said | {"long_name": "the rows that raise an alert",
                       "formula": "names with ; between them, at the last period's end"})  # fmt: skip
    yield "is_sound", (("scenario",), np.asarray(~broken.any(axis=0)), said | {"long_name": "no law is broken",
                       "formula": "none of law_broken"})  # fmt: skip


def _raised_by(solution: Solution, alert: str, scenario: str) -> str:
    """The names of the claims, contracts, facilities and supports that raise an alert, with ; between them."""
    part, place = solution.where(scenario)
    if alert in _RAISED_BY:
        lines = [line for line in part.lines.values() if line.table == "checks" and line.item in _RAISED_BY[alert]]
        return ";".join(dict.fromkeys(line.row for line in lines if part.at_end(line.name, place) > 0))
    unpaid = [claim.name for claim in all_claims(part.sheets) if claim.kind != "residual"]
    return ";".join(name for name in unpaid if part.at_end(f"claims.{name}.unpaid", place) >= HALF_CENT)
