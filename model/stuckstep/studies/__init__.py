"""Many runs of one deal: sensitivity tables, break-even, Monte Carlo, attribution. Nothing is estimated.

from stuckstep import studies
late = studies.axis(deal, "steps.power.delay", "0;91;182")
studies.one_way(deal, late, ["npv:neocloud"])
"""

from importlib import import_module
from typing import Any

WHERE = {  # the functions that are called from outside, and the module each stands in
    "axis": "axes",
    "one_way": "sensitivity",
    "two_way": "sensitivity",
    "tornado": "sensitivity",
    "Test": "breakeven",
    "break_even": "breakeven",
    "monte_carlo": "montecarlo",
    "one_draw": "montecarlo",
    "design": "sampling",
    "attribute": "attribution",
    "causes_of": "attribution",
    "loss_by_cause": "attribution",
    "cost_of_delay": "attribution",
    "sobol_indices": "indices",
    "studies_of": "tables",
    "uncertainties_of": "tables",
}


def __getattr__(name: str) -> Any:
    """Loads a function on first use: some of them want a package that is an extra."""
    if name not in WHERE:
        raise AttributeError(f"stuckstep.studies has no {name}")
    return getattr(import_module(f".{WHERE[name]}", __name__), name)


def __dir__() -> list[str]:
    return list(WHERE)
