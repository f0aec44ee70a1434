"""The deal under the sliders: a scenario is compiled once, and the engine that `run` uses works every change out."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from stuckstep.deal import Cell, Deal, Row, Sheets, Value, base, periods
from stuckstep.engines import arrays
from stuckstep.reports.html.beside import Beside, Slip, beside_one, heaviest, slipped, varied
from stuckstep.reports.html.cases import Case, run_of
from stuckstep.results import Part, Solution, label
from stuckstep.results.schedule import schedule_variables
from stuckstep.results.validity import check_due_dates
from stuckstep.rules import Lines, build

WHAT_IF = "what if"
_ANCHOR, _SLIPPED = "\nanchor", "\nslipped"
Changes = Mapping[Cell, Value]


class Ready(NamedTuple):
    """A scenario made ready: its lines, the program of its schedule, what works changes out, and base worked out."""

    lines: Lines
    schedule: arrays.Program
    work: arrays.Worker
    base: Part


class Answer(NamedTuple):
    """What a state of the page gives: the scenario as it stands with its changes, and what stands beside it."""

    case: Case
    beside: Beside


@dataclass(eq=False)
class Live:
    """A deal ready to answer, for the cells that may change. One answer is worked out at a time."""

    deal: Deal
    cells: Sequence[Cell]
    lock: threading.Lock = field(default_factory=threading.Lock)
    ready: dict[str, Ready] = field(default_factory=dict)

    def answer(self, scenario: str, changes: Changes) -> Answer:
        """The scenario with some of the cells changed, as `run` works it out; DealError for what it refuses."""
        with self.lock:
            if scenario not in self.ready:
                self.ready[scenario] = self._make_ready(scenario)
            ready = self.ready[scenario]
            deal = self._lean(scenario, {WHAT_IF: (scenario, changes)})
            lanes = [Sheets((WHAT_IF,), base(deal).index)]
            slip = self._stuck(deal, ready, lanes[0])
            if slip is not None:
                later = varied(deal, {_SLIPPED: (WHAT_IF, slipped(lanes[0], slip))})
                lanes.append(Sheets((_SLIPPED,), base(later).index))
            parts = self._work(ready, lanes)
            check_due_dates(Solution(deal, periods(deal), (WHAT_IF,), (parts[0],)))
            return self._told(deal, ready, parts, slip)

    def _work(self, ready: Ready, lanes: Sequence[Sheets]) -> list[Part]:
        """The lines of each lane's sheets, all worked out in one go."""
        columns = {cell: np.array([sheets.value(cell)[0] for sheets in lanes]) for cell in self.cells}
        found = {name: values.copy() for name, values in ready.work(columns, len(lanes)).items()}
        return [
            Part(sheets, ready.lines, {name: values[..., lane : lane + 1] for name, values in found.items()})
            for lane, sheets in enumerate(lanes)
        ]

    def _told(self, deal: Deal, ready: Ready, parts: Sequence[Part], slip: Slip | None) -> Answer:
        grid = periods(deal)
        run = run_of(deal, label(Solution(deal, grid, ("base", WHAT_IF), (ready.base, parts[0]))))
        names = ("base", WHAT_IF, _SLIPPED)[: len(parts) + 1]
        solution = Solution(deal, grid, names, (ready.base, *parts))
        slips = {} if slip is None else {_SLIPPED: slip}
        return Answer(Case(run, WHAT_IF), beside_one(run, solution, WHAT_IF, slips))

    def _stuck(self, deal: Deal, ready: Ready, sheets: Sheets) -> Slip | None:
        """The stuck step: the schedule reads no cash, so it is known before anything else is worked out."""
        grid, plan = periods(deal), base(deal)
        clock = arrays.Clock(grid.first_day, grid.next_first_day)
        values = arrays.evaluate(ready.schedule, sheets.value, lambda cell: float(plan.value(cell)[0]), clock, 1)
        solution = Solution(deal, grid, (WHAT_IF,), (Part(sheets, ready.lines, values),))
        found = {name: values for name, (_, values, _) in schedule_variables(solution)}
        phases = sheets.keys("phases")
        mw = [float(sheets.value(sheets.find("phases", phase, "mw"))[0]) for phase in phases]
        return heaviest(phases, mw, found["stuck_step"][:, 0], found["days_late"][:, 0])

    def _make_ready(self, scenario: str) -> Ready:
        deal = self._lean(scenario, {WHAT_IF: (scenario, {})})
        grid, plan = periods(deal), base(deal)
        clock = arrays.Clock(grid.first_day, grid.next_first_day)
        sheets = Sheets((WHAT_IF,), plan.index)
        lines = build(sheets, plan)
        program = arrays.translate(lines)
        job = arrays.prepare(
            program,
            self.cells,
            lambda cell: float(sheets.value(cell)[0]),
            lambda cell: float(plan.value(cell)[0]),
            clock,
        )
        static = [name for name, line in lines.items() if line.kind == "static" and line.table in ("steps", "phases")]
        return Ready(lines, arrays.translate(lines, static), arrays.worker(job, 2), self._base(deal))

    def _base(self, deal: Deal) -> Part:
        """Base worked out, for what is shown against it."""
        for ready in self.ready.values():
            return ready.base
        grid, plan = periods(deal), base(deal)
        lines = build(plan, plan)
        clock = arrays.Clock(grid.first_day, grid.next_first_day)
        values = arrays.evaluate(arrays.translate(lines), plan.value, lambda cell: float(plan.value(cell)[0]), clock, 1)
        return Part(plan, lines, values)

    def _lean(self, scenario: str, named: Mapping[str, tuple[str, Changes]]) -> Deal:
        """The deal with one of its scenarios and what is asked.

        The anchors are rows that no run reads: they keep a step's delay in every phase a cell of its own.
        """
        kept = tuple(row for row in self.deal.tables["scenarios"] if row.cells["scenario"] == scenario)
        anchors = tuple(_anchor(cell) for cell in self.cells if "@" in cell.row)
        return varied(replace(self.deal, tables={**self.deal.tables, "scenarios": (*kept, *anchors)}), named)


def _anchor(cell: Cell) -> Row:
    named: dict[str, Value] = {
        "scenario": _ANCHOR,
        "table": cell.table,
        "row": cell.row,
        "column": cell.column,
        "value": 0.0,
    }
    return Row(0, named, {})


def narrowed_steps(deal: Deal) -> set[str]:
    """The steps that some scenario narrows to a phase."""
    return {cell.row.split("@")[0] for cell in base(deal).index.narrowed if cell.table == "steps"}
