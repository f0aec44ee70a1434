"""The interpreter of the lanes, compiled by numba: a loop over steps, in each a loop over the lanes of a register."""

import math
from typing import Any

import numpy as np

from .compiling import compiled

# Scenarios in a register: the more, the less a step costs beside its arithmetic; the fewer, the nearer the cache.
LANES = 512
# `one` stands for an operand that is the same in every lane: it is read once.
OPERATORS = (
    "add", "subtract", "multiply", "divide", "least", "most", "below", "upto", "unequal", "choose", "ratio", "whole",
    "month", "copy", "pick", "sum 3", "sum 4", "multiply multiply", "multiply divide", "multiply add", "add product",
    "subtract product", "most difference", "add one", "multiply one", "divide one", "least one", "most one",
    "one below", "below one", "one upto", "upto one", "multiply one one", "scale", "most difference one", "share",
    "from one", "pick one", "sum 5", "sum 6", "pay",
)  # fmt: skip
NUMBERS = {name: number for number, name in enumerate(OPERATORS)}


@compiled
def month_of(date: float) -> float:
    """YEAR x 12 + MONTH of a spreadsheet serial, by cycles of 400 years (146,097 days) from 1 March of the year 0."""
    days = np.int64(math.floor(date)) - 25569 + 719468
    cycle = days // 146097
    of_cycle = days - cycle * 146097
    year = (of_cycle - of_cycle // 1460 + of_cycle // 36524 - of_cycle // 146096) // 365
    of_year = of_cycle - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153  # 0 is March
    month = shifted + 3 if shifted < 10 else shifted - 9
    calendar = year + cycle * 400 + (1 if month <= 2 else 0)
    return float(calendar * 12 + month)


@compiled
def sign(signs: int, bit: int) -> float:
    """-1 where the bit is set, else 1."""
    return 1.0 - 2.0 * ((signs >> bit) & 1)


@compiled
def carry_out(code: Any, listed: Any, numbers: Any, r: Any, lanes: int) -> None:
    """Carries out the steps over the first lanes of the registers `r`: the branches follow OPERATORS.

    It is one long function because a call would cost as much as the arithmetic. A result never lies in a register that
    its step reads, or the loops would not be worked several lanes at once.
    """
    for step in range(code.shape[0]):
        operator = code[step, 0]
        out, a, b, c, d = code[step, 1], code[step, 2], code[step, 3], code[step, 4], code[step, 5]
        if operator == 0:
            for i in range(lanes):
                r[out, i] = r[a, i] + r[b, i]
        elif operator == 1:
            for i in range(lanes):
                r[out, i] = r[a, i] - r[b, i]
        elif operator == 2:
            for i in range(lanes):
                r[out, i] = r[a, i] * r[b, i]
        elif operator == 3:
            for i in range(lanes):
                r[out, i] = r[a, i] / r[b, i]
        elif operator == 4:
            for i in range(lanes):
                x, y = r[a, i], r[b, i]
                r[out, i] = x if x < y else y
        elif operator == 5:
            for i in range(lanes):
                x, y = r[a, i], r[b, i]
                r[out, i] = x if x > y else y
        elif operator == 6:
            for i in range(lanes):
                r[out, i] = 1.0 if r[a, i] < r[b, i] else 0.0
        elif operator == 7:
            for i in range(lanes):
                r[out, i] = 1.0 if r[a, i] <= r[b, i] else 0.0
        elif operator == 8:
            for i in range(lanes):
                r[out, i] = 1.0 if r[a, i] != r[b, i] else 0.0
        elif operator == 9:
            for i in range(lanes):
                x, y = r[b, i], r[c, i]
                r[out, i] = x if r[a, i] != 0.0 else y
        elif operator == 10:
            for i in range(lanes):
                y = r[b, i]
                x = r[a, i] / y
                r[out, i] = x if y > 0.0 else 0.0
        elif operator == 11:
            for i in range(lanes):
                r[out, i] = np.floor(r[a, i])
        elif operator == 12:
            for i in range(lanes):
                r[out, i] = month_of(r[a, i])
        elif operator == 13:
            for i in range(lanes):
                r[out, i] = r[a, i]
        elif operator == 14:
            first = code[step, 8]
            for i in range(lanes):
                r[out, i] = r[listed[first + np.int64(r[a, i])], i]
        elif operator == 15:
            signs = code[step, 8]
            s, t = sign(signs, 0), sign(signs, 1)
            for i in range(lanes):
                r[out, i] = r[a, i] + s * r[b, i] + t * r[c, i]
        elif operator == 16:
            signs = code[step, 8]
            s, t, u = sign(signs, 0), sign(signs, 1), sign(signs, 2)
            for i in range(lanes):
                r[out, i] = r[a, i] + s * r[b, i] + t * r[c, i] + u * r[d, i]
        elif operator == 17:
            for i in range(lanes):
                r[out, i] = r[a, i] * r[b, i] * r[c, i]
        elif operator == 18:
            for i in range(lanes):
                r[out, i] = r[a, i] * r[b, i] / r[c, i]
        elif operator == 19:
            for i in range(lanes):
                r[out, i] = r[a, i] * r[b, i] + r[c, i]
        elif operator == 20:
            for i in range(lanes):
                r[out, i] = r[a, i] + r[b, i] * r[c, i]
        elif operator == 21:
            for i in range(lanes):
                r[out, i] = r[a, i] - r[b, i] * r[c, i]
        elif operator == 22:
            for i in range(lanes):
                x, y = r[a, i], r[b, i] - r[c, i]
                r[out, i] = x if x > y else y
        elif operator == 23:
            x = r[b, 0]
            for i in range(lanes):
                r[out, i] = r[a, i] + x
        elif operator == 24:
            x = r[b, 0]
            for i in range(lanes):
                r[out, i] = r[a, i] * x
        elif operator == 25:
            x = r[b, 0]
            for i in range(lanes):
                r[out, i] = r[a, i] / x
        elif operator == 26:
            x = r[b, 0]
            for i in range(lanes):
                e = r[a, i]
                r[out, i] = e if e < x else x
        elif operator == 27:
            x = r[b, 0]
            for i in range(lanes):
                e = r[a, i]
                r[out, i] = e if e > x else x
        elif operator == 28:
            x = r[b, 0]
            for i in range(lanes):
                r[out, i] = 1.0 if x < r[a, i] else 0.0
        elif operator == 29:
            x = r[b, 0]
            for i in range(lanes):
                r[out, i] = 1.0 if r[a, i] < x else 0.0
        elif operator == 30:
            x = r[b, 0]
            for i in range(lanes):
                r[out, i] = 1.0 if x <= r[a, i] else 0.0
        elif operator == 31:
            x = r[b, 0]
            for i in range(lanes):
                r[out, i] = 1.0 if r[a, i] <= x else 0.0
        elif operator == 32:
            x, y = r[b, 0], r[c, 0]
            for i in range(lanes):
                r[out, i] = r[a, i] * x * y
        elif operator == 33:
            x, y, z = r[b, 0], r[c, 0], r[d, 0]
            for i in range(lanes):
                r[out, i] = r[a, i] * x * y / z
        elif operator == 34:  # the largest of one number and a difference
            x = r[b, 0]
            for i in range(lanes):
                e = r[a, i] - r[c, i]
                r[out, i] = e if e > x else x
        elif operator == 35:  # the share of `b` that `a` pays: all of it when it comes near enough
            near, all_of_it = r[c, 0], r[d, 0]
            for i in range(lanes):
                cash, wanted = r[a, i], r[b, i]
                held = cash if cash > 0.0 else 0.0
                part = held / wanted
                part = part if wanted > 0.0 else 0.0
                r[out, i] = all_of_it if wanted <= held + near else part
        elif operator == 36:
            x = r[b, 0]
            for i in range(lanes):
                r[out, i] = x - r[a, i]
        elif operator == 37:
            listed_numbers = numbers[code[step, 8] :]
            for i in range(lanes):
                r[out, i] = listed_numbers[np.uint32(np.int32(r[a, i]))]
        elif operator == 38:
            signs, e = code[step, 8], code[step, 6]
            s, t, u, v = sign(signs, 0), sign(signs, 1), sign(signs, 2), sign(signs, 3)
            for i in range(lanes):
                r[out, i] = r[a, i] + s * r[b, i] + t * r[c, i] + u * r[d, i] + v * r[e, i]
        elif operator == 39:
            signs, e, f = code[step, 8], code[step, 6], code[step, 7]
            s, t, u, v, w = sign(signs, 0), sign(signs, 1), sign(signs, 2), sign(signs, 3), sign(signs, 4)
            for i in range(lanes):
                r[out, i] = r[a, i] + s * r[b, i] + t * r[c, i] + u * r[d, i] + v * r[e, i] + w * r[f, i]
        elif operator == 40:  # what is paid, into `out`, and what is then still open, into `c`
            for i in range(lanes):
                x = r[a, i]
                y = x * r[b, i]
                r[out, i] = y
                r[c, i] = x - y


@compiled
def interpret(
    once: Any,
    even: Any,
    odd: Any,
    listed: Any,
    numbers: Any,
    registers: Any,
    given: Any,
    values: Any,
    moving: Any,
    series: Any,
    kept: Any,
    kept_once: Any,
    out_once: Any,
    out: Any,
) -> None:
    """Runs all scenarios, a register full at a time; see `lanes.worker` for what everything is.

    The steps of an odd period read what is carried over where those of an even one leave it, and leave it where those
    read it, so that nothing is copied. given and values are the registers of the inputs and what they hold, (input,
    scenario); moving and series the registers of what is the same in every scenario but not in every period, and what
    they hold, (period, register); kept the registers written out after an even and after an odd period.
    """
    scenarios = values.shape[1]
    for start in range(0, scenarios, LANES):
        lanes = min(LANES, scenarios - start)
        for place in range(given.shape[0]):
            for i in range(lanes):
                registers[given[place], i] = values[place, start + i]
        carry_out(once, listed, numbers, registers, lanes)
        for place in range(kept_once.shape[0]):
            for i in range(lanes):
                out_once[place, start + i] = registers[kept_once[place], i]
        for period in range(series.shape[0]):
            for place in range(moving.shape[0]):
                register, held = registers[moving[place]], series[period, place]
                for i in range(lanes):
                    register[i] = held
            if period % 2 == 0:
                carry_out(even, listed, numbers, registers, lanes)
            else:
                carry_out(odd, listed, numbers, registers, lanes)
            for place in range(out.shape[0]):
                row = kept[period % 2, place]
                written = out[place, period, start:]  # an index that may not be below zero is worked several at once
                for i in range(lanes):
                    written[i] = registers[row, i]
