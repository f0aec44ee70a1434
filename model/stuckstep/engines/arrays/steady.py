"""What is the same in every scenario, worked once: static values as numbers, other lines as series of all periods."""

import operator
from collections.abc import Callable, Mapping, Sequence
from math import floor
from typing import Any

import numpy as np

from stuckstep.deal import Cell

from .operations import Program

Values = dict[int, Any]


def steady(
    program: Program,
    varies: Sequence[bool],
    value: Callable[[Cell], float],
    base_value: Callable[[Cell], float],
    clock: tuple[Any, Any],
) -> Values:
    """Each operation that does not vary: a number where it is static, else a series (period,)."""
    first_day, next_first_day = clock
    clocks = {"first_day": first_day, "next_first_day": next_first_day, "days": next_first_day - first_day}
    clocks["horizon"] = float(next_first_day[-1])
    found: Values = {}
    with np.errstate(all="ignore"):
        for place, (name, parts, leaf) in enumerate(program.operations):
            kind = program.kinds[place]
            if varies[place] or kind == "cash":
                continue
            if not parts:
                found[place] = _leaf(name, leaf, value, base_value, clocks)
            else:
                functions = ONE if kind == "static" else SERIES
                found[place] = functions[name](*(found[part] for part in parts))
    return found | _cash(program, varies, found, len(first_day))


def _leaf(
    name: str,
    leaf: Any,
    value: Callable[[Cell], float],
    base_value: Callable[[Cell], float],
    clocks: Mapping[str, Any],
) -> Any:
    match name:
        case "number":
            return float(leaf)
        case "input":
            return float(value(leaf))
        case "base":
            return float(base_value(leaf))
    return clocks[leaf]


def _cash(program: Program, varies: Sequence[bool], found: Values, periods: int) -> Values:
    """The lines with cash, period by period, in plain numbers: where nothing varies that they read."""
    cash = [place for place, kind in enumerate(program.kinds) if kind == "cash" and not varies[place]]
    if not cash:
        return {}
    lasts = [place for place in cash if place in program.nexts]
    worked = [(place, ONE[program.operations[place].operator], program.operations[place].parts)
              for place in cash if place not in program.nexts]  # fmt: skip
    read = {part for _, _, parts in worked for part in parts} | {program.nexts[last] for last in lasts}
    series = [(place, found[place].tolist()) for place in read if place in found and np.ndim(found[place])]
    now: Values = {place: one for place, one in found.items() if not np.ndim(one)}
    now |= {last: now[program.openings[last]] for last in lasts}
    table = np.empty((periods, len(cash)))
    for period in range(periods):
        for place, values in series:
            now[place] = values[period]
        for place, function, parts in worked:
            now[place] = function(*[now[part] for part in parts])
        table[period] = [now[place] for place in cash]
        now |= {last: now[program.nexts[last]] for last in lasts}
    return dict(zip(cash, table.T, strict=True))


def month(date: Any) -> Any:
    """YEAR x 12 + MONTH of a spreadsheet serial (day 25569 is 1970-01-01, whose month is 23641)."""
    days = (np.asarray(date) - 25569.0).astype("datetime64[D]")
    return days.astype("datetime64[M]").astype(np.int64) + 23641.0


def _divide(left: float, right: float) -> float:
    return left / right if right else float(np.divide(left, right))


# Plain numbers: the same bits as the arrays' operations, a few times faster than they are on one number.
ONE: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _divide,
    "least": lambda left, right: left if left <= right else right,
    "most": lambda left, right: left if left >= right else right,
    "below": operator.lt,
    "upto": operator.le,
    "unequal": operator.ne,
    "flag": float,
    "choose": lambda mask, then, otherwise: then if mask else otherwise,
    "ratio": lambda left, right: left / right if right > 0.0 else 0.0,
    "whole": lambda value: float(floor(value)),
    "month": lambda date: float(month(date)),
    "pick": lambda position, *choices: choices[int(position)],
}
SERIES: Mapping[str, Callable[..., Any]] = {
    **ONE,
    "divide": np.divide,
    "least": np.fmin,
    "most": np.fmax,
    "flag": lambda mask: np.asarray(mask, dtype=float),
    "choose": np.where,
    "ratio": lambda left, right: np.where(np.greater(right, 0.0), np.divide(left, right), 0.0),
    "whole": np.floor,
    "month": month,
    "pick": lambda position, *choices: np.array(choices)[np.asarray(position).astype(np.intp)],
}
