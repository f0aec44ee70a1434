"""The schedule as results: when steps end and phases bill, how late, and which step is stuck."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .grid import Variable, dates
from .solve import Array, Solution


def schedule_variables(solution: Solution) -> Iterator[tuple[str, Variable]]:
    """finish, relief and float by (phase, step, scenario); billing and what makes it late by (phase, scenario)."""
    sheets = solution.plan
    phases, steps = sheets.keys("phases"), sheets.keys("steps")

    def by_step(item: str) -> Array:
        return np.stack(
            [[solution.static(f"steps.{step}.{item}@{phase}") for step in steps] for phase in phases]
        )  # fmt: skip

    def by_phase(item: str) -> Array:
        return np.stack([solution.static(f"phases.{phase}.{item}") for phase in phases])

    def said(long_name: str, units: str, formula: str) -> dict[str, str]:
        return {"long_name": long_name, "units": units, "formula": formula, "cell_methods": "quarter: point"}

    finish, relief, spare, start = (by_step(item) for item in ("finish", "relief", "float", "start"))
    cancelled = by_phase("cancelled") > 0
    late = np.where(cancelled, np.nan, by_phase("days late"))
    delay = np.stack([[_delay(solution, step, phase) for step in steps] for phase in phases])
    stuck = _stuck_step(np.array(steps, dtype=object), (late > 0) | cancelled, relief, spare, delay)
    steps_of, phase_of = ("phase", "step", "scenario"), ("phase", "scenario")
    text = "max(order_date, not_before, finish of the steps it waits for)"
    yield "start", (steps_of, dates(start), said("when a step can begin", "date", text))
    text = "start + days + delay"
    yield "finish", (steps_of, dates(finish), said("when a step ends", "date", text))
    text = "last finish - last finish without this step's delay"
    yield "relief", (steps_of, relief, said("days gained if this one delay were zero", "days", text))
    text = "latest finish that moves nothing - finish"
    yield "float", (steps_of, spare, said("days a step may still slip at no cost", "days", text))
    text = "last finish of the base sheets without delays (of all phases with billing_unit deal)"
    yield "planned_billing", (phase_of, dates(by_phase("planned billing")), said("promised billing date", "date", text))
    text = "last finish of the phase (of all phases with billing_unit deal); never when cancelled"
    yield "billing_start", (phase_of, dates(by_phase("billing")), said("when a phase begins to bill", "date", text))
    text = "billing_start - planned_billing"
    yield "days_late", (phase_of, late, said("how late billing begins; absent when cancelled", "days", text))
    text = "last finish > planned finish + longstop_days"
    yield "cancelled", (phase_of, cancelled, said("whether a phase is cancelled", "1", text))
    text = "step with the most relief; where none has any, the longest delay without float"
    yield "stuck_step", (phase_of, stuck, said("the step a late phase waits for", "1", text))


def _delay(solution: Solution, step: str, phase: str) -> Array:
    out = np.zeros(len(solution.scenarios))
    for part in solution.parts:
        values = part.sheets.value(part.sheets.find("steps", step, "delay", phase))
        for value, name in zip(values, part.sheets.scenarios, strict=True):
            out[solution.scenarios.index(name)] = value
    return out


def _stuck_step(
    steps: NDArray[np.object_], is_late: NDArray[np.bool_], relief: Array, spare: Array, delay: Array
) -> NDArray[np.object_]:
    """Names by (phase, scenario); blank where the phase is not late, or late for no delay of its own steps."""
    unfloated = np.where(spare <= 0, delay, 0.0)
    measure = np.where((relief > 0).any(axis=1, keepdims=True), relief, unfloated)
    stuck = steps[measure.argmax(axis=1)]
    return np.where(is_late & (measure.max(axis=1) > 0), stuck, "")
