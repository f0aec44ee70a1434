"""Runs the lines of a deal for its scenarios, whatever their structures, and gives any line's values by scenario."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import Deal, Periods, Sheets, base, periods, scenario_names, variants
from stuckstep.engines import arrays
from stuckstep.rules import Line, Lines, build

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """The scenarios of one structure: their sheets, lines and values (scenario last)."""

    sheets: Sheets
    lines: Lines
    values: dict[str, Array]

    def at_end(self, name: str, place: int) -> float:
        """A line's value in the last period, in the scenario of that place."""
        values = self.values[name]
        return float(values[place] if values.ndim == 1 else values[-1, place])


@dataclass(frozen=True)
class Solution:
    """A deal's lines worked out: `part` by structure, put together in the order of `scenarios`."""

    deal: Deal
    periods: Periods
    scenarios: tuple[str, ...]
    parts: tuple[Part, ...]

    @cached_property
    def plan(self) -> Sheets:
        """The base sheets."""
        return base(self.deal)

    def line(self, name: str) -> Array:
        """A line's values, (period, scenario): zero where a scenario's structure has no such line."""
        out = np.zeros((len(self.periods.labels), len(self.scenarios)))
        for part, columns in self._columns:
            if name in part.values:
                out[:, columns] = part.values[name]
        return out

    def static(self, name: str) -> Array:
        """A static line's values, (scenario,)."""
        out = np.zeros(len(self.scenarios))
        for part, columns in self._columns:
            if name in part.values:
                out[columns] = part.values[name]
        return out

    def where(self, scenario: str) -> tuple[Part, int]:
        """The part that holds a scenario and its place in it."""
        for part in self.parts:
            if scenario in part.sheets.scenarios:
                return part, part.sheets.scenarios.index(scenario)
        raise KeyError(scenario)

    @cached_property
    def _columns(self) -> list[tuple[Part, list[int]]]:
        """Each part with the places of its scenarios."""
        position = {name: number for number, name in enumerate(self.scenarios)}
        return [(part, [position[name] for name in part.sheets.scenarios]) for part in self.parts]


def solve(
    deal: Deal,
    scenarios: Sequence[str] | None = None,
    keep: Iterable[str] | Callable[[Line], bool] | None = None,
) -> Solution:
    """Works the lines out for the scenarios named (all by default), keeping the lines named or chosen (all by default).

    DealError for a scenario the deal does not have.
    """
    plan = base(deal)
    grid = periods(deal)
    groups = variants(deal, scenarios)
    parts = tuple(_solve_part(sheets, plan, grid, keep) for sheets in groups)
    chosen = scenario_names(deal) if scenarios is None else tuple(dict.fromkeys(scenarios))
    return Solution(deal, grid, chosen, parts)


def _solve_part(
    sheets: Sheets, plan: Sheets, grid: Periods, keep: Iterable[str] | Callable[[Line], bool] | None
) -> Part:
    lines = build(sheets, plan)
    if callable(keep):
        wanted: list[str] | None = [name for name, line in lines.items() if keep(line)]
    else:
        wanted = None if keep is None else [name for name in keep if name in lines]
    program = arrays.translate(lines, wanted)
    clock = arrays.Clock(grid.first_day, grid.next_first_day)
    count = len(sheets.scenarios)
    values = arrays.evaluate(program, sheets.value, lambda cell: float(plan.value(cell)[0]), clock, count)
    return Part(sheets, lines, values)
