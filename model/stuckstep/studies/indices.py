"""Sobol indices: how much of the spread of a measure each uncertainty makes, alone and together with the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from stuckstep.deal import Deal

from .counting import drawn_model
from .distributions import EDGE, Uncertainty
from .extras import extra
from .measures import measures_of
from .runs import measured, prepared
from .sampling import correlated, values
from .sensitivity import attributes_of


def sobol_indices(
    deal: Deal,
    uncertainties: Sequence[Uncertainty],
    measures: Sequence[str],
    *,
    points: int = 1024,
    seed: int = 0,
    start: str = "base",
    threads: int = 1,
    **options: Any,
) -> xr.Dataset:
    """`first` and `total` (measure, input) with `..._error`, the half width of their 95% intervals, from SALib.

    The inputs are what is drawn independently: each uncertainty, and for each group the factor its members share
    (named `group: NAME`). There are `points` x (inputs + 2) runs, a power of two being best. A measure that is nothing
    (NaN) in any run, or the same in all, has no indices.
    """
    sampling, analysis = extra("SALib.sample.sobol"), extra("SALib.analyze.sobol")
    groups = list(dict.fromkeys(one.group for one in uncertainties if one.group))
    names = [*(f"group: {group}" for group in groups), *(one.name for one in uncertainties)]
    problem = {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
    drawn = sampling.sample(problem, points, calc_second_order=False, seed=seed)
    share = correlated(np.clip(drawn.T, EDGE, 1.0 - EDGE), uncertainties)
    found = drawn_model(deal, uncertainties, start)
    wanted = measures_of(found, measures)
    columns = values(uncertainties, share)
    runs = measured(prepared(found, wanted, **options), columns, len(drawn), wanted, threads=threads)
    table = np.full((4, len(wanted), len(names)), np.nan)
    for place, row in enumerate(runs.values):
        if np.isfinite(row).all() and np.ptp(row) > 0:
            result = analysis.analyze(problem, row, calc_second_order=False, seed=seed)
            table[:, place] = [result[name] for name in ("S1", "S1_conf", "ST", "ST_conf")]
    both = ("measure", "input")
    says = ("share of the variance that the input makes alone", "half of the 95% interval of first",
            "share of the variance that would go with the input", "half of the 95% interval of total")  # fmt: skip
    variables = {
        name: (both, table[place], {"long_name": says[place], "units": "1"})
        for place, name in enumerate(("first", "first_error", "total", "total_error"))
    }
    coordinates = {
        "measure": np.array([one.name for one in wanted], dtype=object),
        "input": np.array(names, dtype=object),
    }
    about = {"kind": "indices", "seed": seed, "points": points, "runs": len(drawn), "start": start,
             "laws_broken": runs.broken}  # fmt: skip
    return xr.Dataset(variables, coordinates, {**attributes_of(deal), **about})
