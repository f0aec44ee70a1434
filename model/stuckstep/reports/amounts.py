"""How people read numbers: money in millions or billions, negatives in brackets, dates as dates, rates in per cent."""

import math
from collections.abc import Iterable
from typing import NamedTuple

HALF_CENT = 0.005  # an amount below it is nothing, as in the rules
MOST_MEANT = 10.0  # of a return
NOT_MEANT = "n/m"
NOT_MEANT_SAYS = f"{NOT_MEANT}: not meaningful, a rate above {MOST_MEANT:,.0%} a year"


class Scale(NamedTuple):
    """What money is shown in: its suffix (m, bn or nothing) and how many units of the currency that is."""

    suffix: str
    units: float


ONES, MILLIONS, BILLIONS = Scale("", 1.0), Scale("m", 1e6), Scale("bn", 1e9)


def scale_of(amounts: Iterable[float]) -> Scale:
    """The scale that suits the largest of some amounts: bn from ten billion, m from one million."""
    largest = max((abs(amount) for amount in amounts if math.isfinite(amount)), default=0.0)
    if largest >= 1e10:
        return BILLIONS
    return MILLIONS if largest >= 1e6 else ONES


def money(amount: float | None, scale: Scale = ONES) -> str:
    """An amount in a scale: `1,234.56`, `(1.20)` below zero, `-` for nothing, blank where there is none."""
    if amount is None or math.isnan(amount):
        return ""
    if abs(amount) < HALF_CENT:
        return "-"
    text = f"{abs(amount) / scale.units:,.2f}"
    text = "<0.01" if text == "0.00" else text
    return f"({text})" if amount < 0 else text


def sum_of_money(amount: float, currency: str) -> str:
    """An amount for a sentence, in the scale that suits it: `USD 1.20m`."""
    scale = scale_of([amount])
    shown = money(amount, scale)
    return f"{currency} {'0' if shown == '-' else shown}{scale.suffix}"


def number(value: float) -> str:
    """A plain number with thousands separators and no more digits than it needs: `1,234.5`, `0.000001`."""
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1e15 or 0 < abs(value) < 1e-9:
        return f"{value:.6g}"
    text = f"{value:,.6f}" if abs(value) >= 1 else f"{value:.12f}"
    return text.rstrip("0").rstrip(".")


def percent(share: float) -> str:
    """A share or rate in per cent: `4.25%`, `100%`."""
    return f"{number(round(share * 100, 10))}%"


def is_meaningful(value: float) -> bool:
    """Whether a return says anything: who pays a little and is paid much soon after earns thousands of per cent."""
    return abs(value) <= MOST_MEANT


def rate(value: float | None) -> str:
    """A return: `9.7%`, in brackets below zero, `n/m` where it says nothing, blank where there is none."""
    if value is None or math.isnan(value):
        return ""
    if not is_meaningful(value):
        return NOT_MEANT
    return f"({-100 * value:,.1f}%)" if value < 0 else f"{100 * value:,.1f}%"


def ratio(value: float | None) -> str:
    """A cover ratio: `1.25x`, in brackets below zero, blank where there is none."""
    if value is None or math.isnan(value):
        return ""
    return f"({-value:,.2f}x)" if value < 0 else f"{value:,.2f}x"
