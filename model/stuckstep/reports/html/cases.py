"""What the figures read: a Dataset as plain arrays, one scenario at a time, with base beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stuckstep.deal import Deal, Sheets, base

from ..amounts import HALF_CENT, Scale, scale_of

Array = NDArray[Any]
DIMENSIONS = ("party", "claim", "account", "facility", "support", "phase", "step", "status", "law", "alert")
_MONEY = ("due", "paid", "unpaid", "puts_in", "cash_closing", "draw", "balance_closing", "support_paid")


@dataclass(frozen=True, eq=False)
class Run:
    """The results of a deal by quarter: `values[name]` is a variable with the scenario as its last axis."""

    deal: Deal
    sheets: Mapping[str, Sheets]
    names: Mapping[str, tuple[str, ...]]
    values: Mapping[str, Array]
    scenarios: tuple[str, ...]
    labels: tuple[str, ...]
    ends: Array
    attributes: Mapping[str, str]
    scale: Scale

    @property
    def currency(self) -> str:
        return self.attributes["currency"]

    @property
    def unit(self) -> str:
        """What the money of figures and tables is shown in, such as `USD m`."""
        return f"{self.currency} {self.scale.suffix}".strip()


@dataclass(frozen=True, eq=False)
class Case:
    """One scenario of a run."""

    run: Run
    scenario: str

    def of(self, name: str) -> Array:
        """A variable's values in this scenario."""
        return np.asarray(self.run.values[name][..., self.run.scenarios.index(self.scenario)])

    def base(self, name: str) -> Array:
        """The same variable in base."""
        return np.asarray(self.run.values[name][..., self.run.scenarios.index("base")])

    @property
    def sheets(self) -> Sheets:
        """The sheets as this scenario has them, alone."""
        return self.run.sheets[self.scenario]

    def number(self, table: str, row: str, column: str) -> float:
        """The number in a cell of the sheets; NaN where it is blank and stays so."""
        value = self.sheets.cell(table, row, column)
        return value if isinstance(value, float) else float("nan")


def run_of(deal: Deal, dataset: xr.Dataset) -> Run:
    """The run behind a Dataset of `stuckstep.results.run` by quarter that holds base. ValueError for a monthly one."""
    if "quarter" not in dataset.dims:
        raise ValueError("figures are drawn by quarter: give the results by quarter, not the monthly ones")
    known = dataset.variables
    values = {str(name): _scenario_last(known[name]) for name in dataset.data_vars}
    scenarios = tuple(str(name) for name in known["scenario"].values)
    amounts = np.concatenate([np.abs(values[name]).ravel() for name in _MONEY])
    return Run(
        deal=deal,
        sheets=sheets_by_scenario(deal, scenarios),
        names={name: tuple(str(label) for label in known[name].values) for name in DIMENSIONS},
        values=values,
        scenarios=scenarios,
        labels=tuple(str(label) for label in known["label"].values),
        ends=known["quarter"].values,
        attributes={str(key): str(value) for key, value in dataset.attrs.items()},
        scale=scale_of([float(amounts.max(initial=0.0))]),
    )


def sheets_by_scenario(deal: Deal, scenarios: Sequence[str]) -> dict[str, Sheets]:
    """One view of the sheets for each scenario, all over one index."""
    index = base(deal).index
    return {name: Sheets((name,), index) for name in scenarios}


def _scenario_last(variable: xr.Variable) -> Array:
    return np.moveaxis(np.asarray(variable.values), variable.dims.index("scenario"), -1)


def is_something(amounts: Array) -> Array:
    """Where an amount is more than rounding: half a cent, as in the rules."""
    return np.asarray(np.abs(amounts) >= HALF_CENT)


def phase_order(case: Case) -> list[int]:
    """The phases by how much they matter: the cancelled, then the latest, then the largest."""
    late = np.nan_to_num(case.of("days_late"), nan=1e6).tolist()
    mw = [case.number("phases", phase, "mw") for phase in case.run.names["phase"]]
    return sorted(range(len(late)), key=lambda place: (-late[place], -mw[place], place))


@lru_cache(maxsize=8)  # every figure asks
def latest(case: Case) -> int:
    """The phase that matters most."""
    return phase_order(case)[0]
