"""The two loops of `returns` that look at every flow, compiled by numba: the same arithmetic in the same order.

They work a few lanes at a time, so that everything stays in the nearest cache, and give the same bits. The formulas
stand here once more: numba's cache notices a change of this file alone, so what is compiled takes none from another.
"""

from typing import Any

import numpy as np

from stuckstep.engines.arrays.compiling import compiled

from .returns import CLOSE, DUST, ROUNDING, ROUNDS, SERIES, START, YEAR, Flags, Floats, reach

LANES = 256


def look_over(rows: Floats) -> tuple[Floats, Flags, Flags, bool]:
    """As `returns._look_over`."""
    lanes = rows.shape[1]
    largest, once, often = np.empty(lanes), np.empty(lanes, dtype=bool), np.empty(lanes, dtype=bool)
    return largest, once, often, bool(_look_over(np.ascontiguousarray(rows), DUST, largest, once, often))


def only_root(rows: Floats, days: Floats) -> Floats:
    """As `returns._only_root`."""
    steps, which = np.unique(np.diff(days) / YEAR, return_inverse=True)
    far = reach(steps)
    root = np.empty(rows.shape[1])
    limits = np.array([min(START, far), far, ROUNDING, *CLOSE])
    _only_root(np.ascontiguousarray(rows), steps, which, np.array(SERIES), limits, ROUNDS, root)
    return root


@compiled
def _look_over(rows: Any, share: float, largest: Any, once: Any, often: Any) -> bool:
    periods, lanes = rows.shape
    most, last = np.empty(LANES), np.empty(LANES)
    changes, dust = np.empty(LANES), np.empty(LANES)
    dusty = 0.0
    for start in range(0, lanes, LANES):
        size = min(LANES, lanes - start)
        most[:], last[:], changes[:], dust[:] = 0.0, 0.0, 0.0, 0.0
        for period in range(periods):
            flows = rows[period, start : start + size]
            for i in range(size):
                amount = abs(flows[i])
                most[i] = most[i] if (amount <= most[i]) | (most[i] != most[i]) else amount  # what is no number stays
        for period in range(periods):
            flows = rows[period, start : start + size]
            for i in range(size):
                flow = flows[i] if abs(flows[i]) > most[i] * share else 0.0
                dust[i] += abs(flows[i] - flow)
                changes[i] += 1.0 if flow * last[i] < 0.0 else 0.0
                last[i] = last[i] if flow == 0.0 else 1.0 if flow > 0.0 else -1.0
        for i in range(size):
            largest[start + i] = most[i]
            once[start + i], often[start + i] = changes[i] == 1.0, changes[i] > 1.0
            dusty += dust[i]
    return dusty != 0.0


@compiled
def _only_root(rows: Any, steps: Any, which: Any, series: Any, limits: Any, rounds: int, root: Any) -> None:
    """The limits: where to start, how far to go, what balance is none, what correction and what remainder is none."""
    lanes = rows.shape[1]
    begin, far, rounding, small, nothing = limits[0], limits[1], limits[2], limits[3], limits[4]
    sums, factors = np.empty((4, LANES)), np.empty((steps.shape[0], LANES))
    before, there, inverse = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    x, here, turned = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    correction, after, found = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for start in range(0, lanes, LANES):
        size = min(LANES, lanes - start)
        ends = _last(rows, start, size, 1.0), _last(rows, start, size, -1.0)
        before[:], found[:] = begin, np.nan
        _balances(rows, start, size, ends, steps, which, series, before, factors, sums, there, inverse)
        for i in range(size):
            x[i] = min(max(before[i] - there[i] * inverse[i], -far), far)
        for _ in range(rounds):
            _balances(rows, start, size, ends, steps, which, series, x, factors, sums, here, turned)
            for i in range(size):
                apart = here[i] - there[i]
                nearer = (x[i] - before[i]) / apart
                bend = (turned[i] - nearer) / apart
                bent = (bend - (nearer - inverse[i]) / apart) / apart
                correction[i] = here[i] * here[i] * (bend - there[i] * bent)
            for i in range(size):
                after[i] = x[i] - here[i] * turned[i] + (0.0 if abs(here[i]) <= rounding else correction[i])
            left = 0
            for i in range(size):
                moved, exact = abs(correction[i]), abs(here[i]) <= rounding
                close = exact | ((moved <= small) & (moved * (there[i] * there[i]) <= nothing))
                found[i] = after[i] if close & (abs(after[i]) < far) & (found[i] != found[i]) else found[i]
                left += 1 if found[i] != found[i] else 0
            if left == 0:
                break
            for i in range(size):
                before[i], there[i], inverse[i] = x[i], here[i], turned[i]
                x[i] = min(max(after[i], -far), far)
        root[start : start + size] = found[:size]


@compiled
def _last(rows: Any, start: int, size: int, sign: float) -> int:
    """The last period in which any of these lanes has a flow of this sign; 0 where none has."""
    for period in range(rows.shape[0] - 1, 0, -1):
        row = rows[period, start : start + size]
        flows = 0
        for i in range(size):
            flows += 1 if row[i] * sign > 0.0 else 0
        if flows > 0:
            return period
    return 0


@compiled
def _balances(
    rows: Any, start: int, size: int, ends: Any, steps: Any, which: Any, series: Any,
    x: Any, factors: Any, sums: Any, here: Any, inverse: Any,
) -> None:  # fmt: skip
    """The balance of each lane at its x, and one over its slope."""
    for step in range(steps.shape[0]):
        factor, length = factors[step], -steps[step]
        for i in range(size):
            factor[i] = x[i] * length * series[0] + series[1]
        for term in range(2, series.shape[0]):
            following = series[term]
            for i in range(size):
                factor[i] = factor[i] * (x[i] * length) + following
    received, late, spent, early = sums[0], sums[1], sums[2], sums[3]
    _worth(rows, start, size, 1.0, ends[0], steps, which, factors, received, late)
    _worth(rows, start, size, -1.0, ends[1], steps, which, factors, spent, early)
    for i in range(size):
        gross = received[i] + spent[i]
        part = (received[i] - spent[i]) / gross
        square = part * part
        slope = 2.0 * (received[i] * early[i] - spent[i] * late[i]) / (gross * gross)
        here[i] = part * (1.0 + square * (1.0 / 3.0 + square * 0.2))
        inverse[i] = 1.0 / (slope * (1.0 + square * (1.0 + square)))


@compiled
def _worth(
    rows: Any, start: int, size: int, sign: float, last: int, steps: Any, which: Any,
    factors: Any, value: Any, dated: Any,
) -> None:  # fmt: skip
    """Present value of the flows of one sign up to the last of them, and the same weighted by the years until then."""
    row = rows[last, start : start + size]
    for i in range(size):
        value[i], dated[i] = max(row[i] * sign, 0.0), 0.0
    for period in range(last - 1, -1, -1):
        length, factor, row = steps[which[period]], factors[which[period]], rows[period, start : start + size]
        for i in range(size):
            dated[i] = (dated[i] + value[i] * length) * factor[i]
            value[i] = value[i] * factor[i] + max(row[i] * sign, 0.0)
