"""The studies a deal's own tables ask for: rows of `studies` and `uncertainties` as axes, tests and distributions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import xarray as xr

from stuckstep.deal import Deal, DealError, Fault, Row, default_of
from stuckstep.deal.cells import to_text
from stuckstep.deal.records import Cell, Value, together

from .axes import Axis, axis, numbers, unit_of
from .batch import model
from .breakeven import Test, break_even
from .distributions import Uncertainty
from .measures import measures_of
from .sensitivity import one_way, tornado, two_way

AXES = {"oneway": (1, 1), "twoway": (2, 2), "tornado": (1, None), "breakeven": (1, None)}


@dataclass(frozen=True)
class Study:
    """One study of the deal's table: its kind, what is moved, what it is judged by."""

    name: str
    kind: str
    axes: tuple[Axis, ...]
    measures: tuple[str, ...]
    threshold: float | None
    holds: str
    scenario: str

    @property
    def test(self) -> Test | None:
        """The test of the first measure against the threshold; None where there is nothing to hold it against."""
        if self.holds in ("at_least", "at_most") and self.threshold is None:
            return None
        return Test(self.measures[0], self.holds, self.threshold or 0.0)

    def run(self, deal: Deal, **options: Any) -> xr.Dataset:
        """The Dataset of the study, which carries its name, and the test where there is one."""
        measures, start = list(self.measures), self.scenario
        if self.kind == "oneway":
            result = one_way(deal, self.axes[0], measures, start, **options)
        elif self.kind == "twoway":
            result = two_way(deal, self.axes[0], self.axes[1], measures, start, **options)
        elif self.kind == "tornado":
            result = tornado(deal, self.axes, measures, start, **options)
        else:
            assert self.test is not None
            result = break_even(deal, self.axes, self.test, start=start, **options)
        result.attrs["study"] = self.name
        if self.test is not None and self.kind != "breakeven":
            result.attrs |= {"holds": self.holds, "threshold": self.threshold or 0.0, "tested": self.measures[0]}
        return result


def studies_of(deal: Deal, only: Sequence[str] | None = None) -> list[Study]:
    """The studies of a deal's table (or some of them by name), in its order; DealError with every fault."""
    named: dict[str, list[Row]] = {}
    for row in deal.tables["studies"]:
        named.setdefault(to_text(row.cells["study"]), []).append(row)
    file = deal.files.get("studies", "studies")
    if unknown := [name for name in only or () if name not in named]:
        allowed = f"{', '.join(named)} are allowed" if named else "the deal has no table studies"
        raise DealError([Fault(file, None, "study", f"there is no study '{unknown[0]}'", allowed)])
    faults: list[Fault] = []
    found = []
    for name, rows in named.items():
        if only is not None and name not in only:
            continue
        try:
            found.append(_study(deal, name, rows, file))
        except DealError as error:
            faults += error.faults
    faults += _wrong_measures(deal, found, file, {name: rows[0].number for name, rows in named.items()})
    if faults:
        raise DealError(faults)
    return found


def _wrong_measures(deal: Deal, studies: Sequence[Study], file: str, rows: Mapping[str, int]) -> list[Fault]:
    """The measures of some studies that there are not, told at each study's first row."""
    still = {start: model(deal, {}, start) for start in dict.fromkeys(study.scenario for study in studies)}
    faults: list[Fault] = []
    for study in studies:
        try:
            measures_of(still[study.scenario], study.measures)
        except DealError as error:
            faults += [Fault(file, rows[study.name], "measure", one.wrong, one.allowed) for one in error.faults]
    return faults


def _study(deal: Deal, name: str, rows: Sequence[Row], file: str) -> Study:
    first = rows[0].cells
    kind, start = to_text(first["kind"]), to_text(first["scenario"]) or "base"
    fewest, most = AXES[kind]
    if not fewest <= len(rows) <= (most or len(rows)):
        wrong = f"the study {name} has {len(rows)} rows"
        raise DealError([Fault(file, rows[0].number, "study", wrong, f"{most} for a {kind} are allowed")])
    if other := next((row for row in rows if row.cells["kind"] != first["kind"]), None):
        wrong = f"the study {name} is {kind} on its first row"
        raise DealError([Fault(file, other.number, "kind", wrong, f"{kind} is allowed")])
    checks: list[Callable[[], Any]] = [partial(_axis, deal, row, start, file) for row in rows]
    checks.append(partial(_measures, name, rows[0], file))
    *axes, measures = together(checks)
    threshold = first["threshold"]
    limit = threshold if isinstance(threshold, float) else None
    made = Study(name, kind, tuple(axes), measures, limit, _word(first["holds"], "at_least"), start)
    if kind == "breakeven" and made.test is None:
        wrong = f"the break-even {name} has nothing to hold its measure against"
        raise DealError([Fault(file, rows[0].number, "threshold", wrong, "a number is required")])
    return made


def _measures(name: str, row: Row, file: str) -> tuple[str, ...]:
    """The names of the measures on the first row of a study."""
    measures = tuple(part.strip() for part in to_text(row.cells["measure"]).split(";") if part.strip())
    if not measures:
        wrong = f"the study {name} has no measure"
        raise DealError([Fault(file, row.number, "measure", wrong, "a measure such as npv:PARTY is required")])
    return measures


def _word(value: Value, default: str) -> str:
    return to_text(value) or default


def _axis(deal: Deal, row: Row, start: str, file: str) -> Axis:
    """The axis of a row; its faults are told at the row."""
    try:
        return axis(
            deal, to_text(row.cells["cell"]), to_text(row.cells["values"]), _word(row.cells["by"], "value"), start
        )
    except DealError as error:
        raise DealError(Fault(file, row.number, "values", one.wrong, one.allowed) for one in error.faults) from None


def uncertainties_of(deal: Deal, start: str = "base") -> list[Uncertainty]:
    """What the deal's table says is uncertain; DealError with every fault, or where the table has no row."""
    file = deal.files.get("uncertainties", "uncertainties")
    if not deal.tables["uncertainties"]:
        raise DealError([Fault(file, None, None, "the deal says nothing is uncertain", "one row or more is required")])
    faults: list[Fault] = []
    found = []
    for row in deal.tables["uncertainties"]:
        try:
            found.append(_uncertainty(deal, row, start))
        except DealError as error:
            faults += [Fault(file, row.number, None, one.wrong, one.allowed) for one in error.faults]
    if faults:
        raise DealError(faults)
    return found


def _uncertainty(deal: Deal, row: Row, start: str) -> Uncertainty:
    cells: Mapping[str, Value] = row.cells
    by = _word(cells["by"], "value")
    name = to_text(cells["uncertainty"])
    moved = axis(deal, to_text(cells["cell"]), (), by, start)
    given: dict[str, float] = {}
    for column in ("low", "mode", "high", "low_at", "high_at", "chance", "floor", "cap", "correlation"):
        value = cells[column]
        value = value if isinstance(value, float) else default_of(Cell("uncertainties", name, column))
        if value is not None:
            given[column] = value
    units = {"values": unit_of(moved.cells[0], by), "weights": "1"}
    listed = {
        column: tuple(numbers(deal, to_text(cells[column]), f"{column} of {name}", unit).tolist())
        for column, unit in units.items()
        if cells[column] is not None
    }
    more: dict[str, Any] = {**given, **listed, "group": to_text(cells["group"])}
    return Uncertainty(name, moved, _word(cells["distribution"], ""), **more)
