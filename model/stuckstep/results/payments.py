"""When a party is paid: first, half and last, as positions on the period axis.

Amounts are (period, ...) arrays, usually (period, lane) or (period, party, scenario), in the deal's currency; positions
are floats in the shape of the other axes, NaN where there is none: absent is not zero. An amount below half a cent is
nothing, as in the rules' lock-up, so that the dust of adding and subtracting large amounts dates no payment.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

HALF_CENT = 0.005


def first_paid(paid: ArrayLike) -> Floats:
    """The first period in which something is paid; NaN where nothing ever is."""
    return _first(np.asarray(paid, dtype=float) >= HALF_CENT)


def last_paid(paid: ArrayLike) -> Floats:
    """The last period in which something is paid; NaN where nothing ever is."""
    amounts = np.asarray(paid, dtype=float)
    return len(amounts) - 1 - _first(amounts[::-1] >= HALF_CENT)


def half_paid(paid: ArrayLike, due: ArrayLike) -> Floats:
    """The first period by which half of all that ever falls due is paid, to half a cent.

    NaN where nothing falls due, and where half is not paid by the last period (`never_half_paid` tells them apart).
    """
    half = _total(due) / 2
    # half a cent of slack absorbs rounding; under a cent due the slack must not make half of it nothing
    enough = np.maximum(half - HALF_CENT, HALF_CENT)
    so_far = np.cumsum(np.asarray(paid, dtype=float), axis=0)
    return _first((so_far >= enough) & is_due(due))


def never_half_paid(paid: ArrayLike, due: ArrayLike) -> Flags:
    """Where something falls due and yet half of it is not paid by the last period."""
    return is_due(due) & np.isnan(half_paid(paid, due))


def is_due(due: ArrayLike) -> Flags:
    """Where anything falls due at all."""
    return _total(due) >= HALF_CENT


def quarters_late(half: ArrayLike, base: ArrayLike) -> Floats:
    """Periods by which `half_paid` comes after that of base (negative: before); NaN where either is absent.

    half: positions by lane; base: the same or what broadcasts against it, such as base's own column kept as an axis.
    A lane that base pays and this one never does is NaN too: no number of periods is true of it.
    """
    late: Floats = np.asarray(half, dtype=float) - np.asarray(base, dtype=float)
    return late


def _total(amounts: ArrayLike) -> Floats:
    return np.asarray(np.sum(np.asarray(amounts, dtype=float), axis=0), dtype=float)


def _first(flags: Flags) -> Floats:
    found = flags.any(axis=0)
    return np.where(found, flags.argmax(axis=0) if len(flags) else 0, np.nan)
