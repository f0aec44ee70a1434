"""What a workbook shows: one structure of a deal, its lines and their values, and where everything stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr
from numpy.typing import NDArray

from stuckstep.deal import Deal, Periods, Sheets
from stuckstep.engines import excel
from stuckstep.results.solve import Array, Part, Solution
from stuckstep.rules.checks import ALERTS, LAWS
from stuckstep.rules.lines import Line, Lines

from .values import WorkbookError

CHECK_ROWS = len(LAWS) + len(ALERTS) + 9  # of the summary above the lines of the checks sheet
SELECTOR = "cover!$C$5"
_AMBIGUOUS = "~*?"


@dataclass(frozen=True)
class Model:
    """The part of a solution with the scenarios of one structure; `selected` is the one that the file is saved with."""

    solution: Solution
    dataset: xr.Dataset
    part: Part
    plan: Sheets
    selected: str
    layout: excel.Layout
    live: excel.Live

    @property
    def deal(self) -> Deal:
        return self.solution.deal

    @property
    def sheets(self) -> Sheets:
        return self.part.sheets

    @property
    def lines(self) -> Lines:
        return self.part.lines

    @property
    def periods(self) -> Periods:
        return self.solution.periods

    @property
    def scenarios(self) -> tuple[str, ...]:
        return self.part.sheets.scenarios

    @property
    def position(self) -> int:
        return self.scenarios.index(self.selected)

    @property
    def is_monthly(self) -> bool:
        return len(self.periods.labels) != len(self.periods.quarter_labels)

    @property
    def currency(self) -> str:
        return str(self.sheets.cell("deal", "currency", "value"))

    def item(self, name: str) -> str:
        """An item of the deal, as text."""
        return str(self.sheets.cell("deal", name, "value"))

    def unit(self, line: Line) -> str:
        return self.currency if line.unit == "money" else line.unit

    def by_scenario(self, variable: str, label: str) -> NDArray[Any]:
        """A variable (label, scenario) of the Dataset: one label's values, base first."""
        found = self.dataset[variable]
        position = self.dataset.indexes[str(found.dims[0])].get_loc(label)
        return found.values[position, self.columns]

    @property
    def shown(self) -> tuple[str, ...]:
        """The scenarios of the results: base first, whether or not it can be chosen in this file."""
        return ("base", *(name for name in self.scenarios if name != "base"))

    @property
    def columns(self) -> list[int]:
        """Where the scenarios shown stand among all."""
        return [self.solution.scenarios.index(name) for name in self.shown]

    def values(self, name: str) -> Array:
        """A line's values: (scenario,) when it is static, else (period, scenario)."""
        return self.part.values[name]

    def period_columns(self) -> range:
        return range(excel.FIRST_PERIOD, self.layout.last_column + 1)


def model_of(solution: Solution, dataset: xr.Dataset, selected: str) -> Model:
    """The model of the scenarios that share the selected one's structure."""
    part, _ = solution.where(selected)
    _refuse_alike(part.sheets.scenarios)
    layout = excel.lay_out(part.lines, len(solution.periods.labels), {"checks": CHECK_ROWS})
    live = excel.place(excel.read_inputs(part.lines))
    return Model(solution, dataset, part, solution.plan, selected, layout, live)


def _refuse_alike(scenarios: Sequence[str]) -> None:
    """A spreadsheet's MATCH ignores case and reads ~ * ? as wildcards, so such names could choose another scenario."""
    seen: dict[str, str] = {}
    for name in scenarios:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise WorkbookError(f"a spreadsheet cannot tell the scenarios {other} and {name} apart: rename one")
        if any(mark in name for mark in _AMBIGUOUS):
            raise WorkbookError(f"a spreadsheet cannot select the scenario {name}: rename it without ~ * ?")
