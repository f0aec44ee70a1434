"""What a Monte Carlo counts while it runs: one tally for each chunk, merged exactly, whatever the order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stuckstep.results.payments import HALF_CENT
from stuckstep.rules import all_claims
from stuckstep.rules.lines import name_of

from .batch import LAWS, Columns, Model
from .measures import Found, Measure, measure
from .summaries import Histogram, Sketch, Sum

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
WHOLE_UNITS = ("days", "date", "quarter", "periods")
AMOUNT_BITS = 12  # quantiles of measures are right to 0.012%


@dataclass(frozen=True)
class Event:
    """Something that happens in a draw or not."""

    name: str
    says: str
    measure: Measure
    happens: Callable[[Array], Flags]


@dataclass(frozen=True)
class Questions:
    """What is asked of every draw: measures, events, series by party, and which step was stuck."""

    measures: tuple[Measure, ...]
    events: tuple[Event, ...]
    series: tuple[tuple[str, str], ...]  # (item, party)
    stuck: bool
    laws: bool

    def lines(self, model: Model) -> list[str]:
        """The lines the answers are worked from."""
        found = [line for one in self.measures for line in one.lines]
        found += [line for one in self.events for line in one.measure.lines]
        found += [name_of("parties", party, item) for item, party in self.series]
        if self.stuck:
            phases, steps = model.sheets.keys("phases"), model.sheets.keys("steps")
            found += [name_of("phases", phase, item) for phase in phases for item in ("days late", "cancelled")]
            found += [name_of("steps", s, item, p) for p in phases for s in steps for item in ("relief", "float")]
        return list(dict.fromkeys([*found, *([LAWS] if self.laws else [])]))


@dataclass
class Tally:
    """The answers of some draws of one replicate."""

    draws: int
    sums: list[Sum]
    sketches: list[Sketch]
    events: NDArray[np.int64]
    stuck: NDArray[np.int64]  # (phase, step), the last step: none
    broken: int

    def merge(self, other: Tally) -> None:
        self.draws += other.draws
        self.broken += other.broken
        self.events = self.events + other.events
        self.stuck = self.stuck + other.stuck
        for mine, theirs in zip(self.sums, other.sums, strict=True):
            mine.merge(theirs)
        for one, another in zip(self.sketches, other.sketches, strict=True):
            one.merge(another)


def tally(
    model: Model, asked: Questions, lines: Found, columns: Columns, draws: int
) -> tuple[Tally, Mapping[str, Array]]:
    """The answers of one chunk of draws, and the measures by name, (draw,)."""
    judged = {one.name: one for one in (*asked.measures, *(event.measure for event in asked.events))}
    worked = {name: one.work(lines, columns) for name, one in judged.items()}
    sums, sketches = [], []
    for one in asked.measures:
        total, sketch = Sum(), Sketch(None if one.unit in WHOLE_UNITS else AMOUNT_BITS)
        total.add(worked[one.name])
        sketch.add(worked[one.name])
        sums.append(total)
        sketches.append(sketch)
    happened = [int(one.happens(worked[one.measure.name]).sum()) for one in asked.events]
    broken = int((lines[LAWS].max(axis=0) > 0).sum()) if asked.laws else 0
    stuck = _stuck(model, lines, columns) if asked.stuck else np.zeros((0, 0), dtype=np.int64)
    return Tally(draws, sums, sketches, np.array(happened, dtype=np.int64), stuck, broken), worked


def series(model: Model, asked: Questions, lines: Found) -> Histogram:
    """The amounts of each series in each period. A line that is the same in all periods is a sum of nothing."""
    periods = len(model.periods.labels)
    found = Histogram((len(asked.series), periods))
    for place, (item, party) in enumerate(asked.series):
        rows = lines[name_of("parties", party, item)]
        if rows.ndim == 2:
            found.add(place * periods, rows)
    return found


def _stuck(model: Model, lines: Found, columns: Columns) -> NDArray[np.int64]:
    """How often each step was the stuck step of each phase, (phase, step); how often none was in the last place."""
    phases, steps = model.sheets.keys("phases"), model.sheets.keys("steps")
    counts = np.zeros((len(phases), len(steps) + 1), dtype=np.int64)
    for place, phase in enumerate(phases):
        stuck = stuck_steps(model, phase, lines, columns)
        counts[place] = np.bincount(stuck, minlength=len(steps) + 1)
    return counts


def stuck_steps(model: Model, phase: str, lines: Found, columns: Columns) -> NDArray[np.intp]:
    """The place of the stuck step in each draw, as the schedule's results say it; the number of steps where none is."""
    steps = model.sheets.keys("steps")
    relief, spare = (np.stack([lines[name_of("steps", s, item, phase)] for s in steps]) for item in ("relief", "float"))
    inputs = [model.input(model.sheets.find("steps", step, "delay", phase), columns) for step in steps]
    delay = np.stack([np.broadcast_to(one, relief.shape[1:]) for one in inputs])
    unfloated = np.where(spare <= 0, delay, 0.0)
    weight = np.where((relief > 0).any(axis=0), relief, unfloated)
    late = (lines[name_of("phases", phase, "days late")] > 0) | (lines[name_of("phases", phase, "cancelled")] > 0)
    return np.where(late & (weight.max(axis=0) > 0), weight.argmax(axis=0), len(steps))


def events(model: Model, still: Mapping[str, float], unpaid_over: float, later_by: float) -> list[Event]:
    """What may go wrong: missed payments, blocked distributions, parties unpaid by more than x or later than y.

    still: what each `half_paid:PARTY` is with nothing drawn. unpaid_over: in the currency, at any period's end;
    later_by: periods by which half is paid later than with nothing drawn, or never.
    """
    found = []
    for facility in model.sheets.keys("facilities"):
        missed = measure(model, f"missed:{facility}")
        found.append(Event(missed.name, f"a payment on {facility} is missed", missed, _present))
    for claim in all_claims(model.sheets):
        if claim.kind == "residual":
            blocked = measure(model, f"blocked:{claim.name}")
            found.append(Event(blocked.name, f"{claim.name} has begun and is locked up", blocked, _some))
    for party in model.sheets.keys("parties"):
        unpaid = measure(model, f"unpaid:{party}")
        says = f"more than {unpaid_over:,.15g} is unpaid to {party}"
        found.append(Event(f"unpaid:{party}", says, unpaid, _above(max(unpaid_over, HALF_CENT))))
        half = measure(model, f"half_paid:{party}")
        usual = still[half.name]
        if not np.isnan(usual):
            says = f"{party} is half paid more than {later_by:.15g} periods later, or never"
            found.append(Event(f"late:{party}", says, half, _after(usual + later_by)))
    return found


def _present(values: Array) -> Flags:
    return ~np.isnan(values)


def _some(values: Array) -> Flags:
    return values > 0


def _above(limit: float) -> Callable[[Array], Flags]:
    return lambda values: values > limit


def _after(limit: float) -> Callable[[Array], Flags]:
    """Later than the limit; never is later than anything."""
    return lambda values: ~(values <= limit)
