"""Summaries of many draws that stream: they are added to chunk by chunk, and merged without regard to order.

Counts and sums are whole numbers, so the result is the same to the last bit for any chunks, threads or machines.
Quantiles come from counts by bucket: of whole numbers (days, periods) each its own, so that quantiles are exact; of
amounts, buckets whose ends lie a share 2**-bits apart, so that a quantile is right to half that share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
FINE = 30  # sums are kept in whole units of 2**-30
SMALLEST = 2.0**-20  # what is nearer to zero lies in the bucket of zero
_SMALLEST_BITS = int(np.float64(SMALLEST).view(np.int64))


@dataclass
class Sum:
    """An exact sum of numbers, each rounded to 2**-30, and how many there are; nothing (NaN) counts as absent."""

    count: int = 0
    absent: int = 0
    units: int = 0

    def add(self, values: Array) -> None:
        known = values[~np.isnan(values)]
        whole = np.floor(known)
        rest = np.rint((known - whole) * 2.0**FINE)
        self.units += (int(whole.astype(np.int64).sum()) << FINE) + int(rest.astype(np.int64).sum())
        self.count += known.size
        self.absent += values.size - known.size

    def merge(self, other: Sum) -> None:
        self.count, self.absent = self.count + other.count, self.absent + other.absent
        self.units += other.units

    @property
    def mean(self) -> float:
        """The mean of what is not absent; NaN of nothing."""
        return self.units / (self.count << FINE) if self.count else float("nan")


@dataclass
class Sketch:
    """Counts by bucket. bits: how fine the buckets of amounts are; None for whole numbers, each counted on its own."""

    bits: int | None = None
    keys: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    counts: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    lowest: float = float("inf")
    highest: float = float("-inf")

    def add(self, values: Array) -> None:
        known = values[~np.isnan(values)]
        if not known.size:
            return
        keys = np.rint(known).astype(np.int64) if self.bits is None else _keys(known, self.bits)
        self._take(*_counted(keys))
        self.lowest = min(self.lowest, float(known.min()))
        self.highest = max(self.highest, float(known.max()))

    def merge(self, other: Sketch) -> None:
        self._take(other.keys, other.counts)
        self.lowest, self.highest = min(self.lowest, other.lowest), max(self.highest, other.highest)

    def _take(self, keys: Counts, counts: Counts) -> None:
        if not self.keys.size:
            self.keys, self.counts = keys, counts
            return
        merged, where = np.unique(np.concatenate([self.keys, keys]), return_inverse=True)
        total = np.zeros(merged.size, dtype=np.int64)
        np.add.at(total, where, np.concatenate([self.counts, counts]))
        self.keys, self.counts = merged, total

    def middles(self) -> Array:
        """The value each bucket stands for: its middle, within what was met."""
        middle = self.keys.astype(float) if self.bits is None else _middles(self.keys, self.bits)
        return np.asarray(np.clip(middle, self.lowest, self.highest))

    def quantiles(self, shares: Sequence[float]) -> Array:
        """The smallest value that at least this share of the draws does not exceed; NaN of nothing."""
        if not self.keys.size:
            return np.full(len(shares), np.nan)
        reached = np.cumsum(self.counts)
        place = np.searchsorted(reached, np.ceil(np.asarray(shares) * reached[-1]), side="left")
        return np.asarray(self.middles()[np.minimum(place, len(reached) - 1)])

    def tail(self, share: float, *, high: bool) -> float:
        """The mean of the lowest (or highest) share of the draws: the expected shortfall beyond that quantile."""
        if not self.keys.size:
            return float("nan")
        counts, middles = (self.counts[::-1], self.middles()[::-1]) if high else (self.counts, self.middles())
        wanted = share * float(self.counts.sum())
        before = np.concatenate([[0.0], np.cumsum(counts)[:-1].astype(float)])
        taken = np.clip(wanted - before, 0.0, counts)
        return float((taken * middles).sum() / taken.sum()) if taken.sum() > 0 else float("nan")

    @property
    def error(self) -> float:
        """How far a quantile may lie off, as a share of itself."""
        return 0.0 if self.bits is None else 2.0 ** -(self.bits + 1)


def _keys(values: Array, bits: int) -> Counts:
    """Buckets numbered from zero outwards, by the leading bits of a number: its exponent and `bits` of its mantissa."""
    size = np.abs(values)
    leading = (size.view(np.int64) - _SMALLEST_BITS) >> (52 - bits)
    return np.where(size < SMALLEST, 0, np.where(values < 0, -1 - leading, 1 + leading))


def _middles(keys: Counts, bits: int) -> Array:
    leading = np.where(keys == 0, 0, np.abs(keys) - 1)
    low = ((leading << (52 - bits)) + _SMALLEST_BITS).view(np.float64)
    high = (((leading + 1) << (52 - bits)) + _SMALLEST_BITS).view(np.float64)
    return np.where(keys == 0, 0.0, np.sign(keys) * (low + high) / 2)


def _counted(keys: Counts) -> tuple[Counts, Counts]:
    """The distinct keys and how often each occurs; by counting where they lie close, which is faster than sorting."""
    low, high = int(keys.min()), int(keys.max())
    if high - low <= 8 * keys.size + 1024:
        counts = np.bincount(keys - low)
        there = np.flatnonzero(counts)
        return there + low, counts[there].astype(np.int64)
    distinct, counts = np.unique(keys, return_counts=True)
    return distinct, counts.astype(np.int64)


@dataclass
class Histogram:
    """Counts of many series of amounts from zero on, by bucket; bucket 0 is for less than about a cent.

    The others are a share 2**-SERIES_BITS wide. nothing counts bucket 0 of each series; rows holds, for a series that
    has more, its first other bucket and the counts from it on.
    """

    shape: tuple[int, ...]
    nothing: Counts = field(init=False)
    rows: dict[int, tuple[int, Counts]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begins with no draw counted."""
        self.nothing = np.zeros(int(np.prod(self.shape)), dtype=np.int64)

    def add(self, first: int, values: Array) -> None:
        """Adds draws, (series, draw), to the series from `first` on."""
        keys = _amount_keys(values)
        high = keys.max(axis=1).tolist()
        low = np.where(keys > 0, keys, _LAST_KEY).min(axis=1).tolist()
        for place, row in enumerate(keys, first):
            top, bottom = high[place - first], low[place - first]
            if top == 0:
                self.nothing[place] += row.size
                continue
            counts = np.bincount(np.maximum(row - (bottom - 1), 0), minlength=top - bottom + 2)
            self.nothing[place] += counts[0]
            self._take(place, bottom, counts[1:])

    def _take(self, place: int, low: int, counts: Counts) -> None:
        """Adds counts of the buckets from `low` on to a series."""
        mine = self.rows.get(place)
        if mine is None:
            self.rows[place] = (low, counts.copy())
            return
        begin, end = min(low, mine[0]), max(low + counts.size, mine[0] + mine[1].size)
        if (begin, end - begin) != (mine[0], mine[1].size):
            wider = np.zeros(end - begin, dtype=np.int64)
            wider[mine[0] - begin : mine[0] - begin + mine[1].size] = mine[1]
            mine = self.rows[place] = (begin, wider)
        mine[1][low - begin : low - begin + counts.size] += counts

    def merge(self, other: Histogram) -> None:
        self.nothing = self.nothing + other.nothing
        for place, (low, counts) in other.rows.items():
            self._take(place, low, counts)

    def quantiles(self, shares: Sequence[float]) -> Array:
        """The quantiles of every series, (*shape, share); zero of a series that was never added."""
        table = np.zeros((len(self.nothing), len(shares)))
        for place, (low, counts) in self.rows.items():
            reached = np.concatenate([self.nothing[place : place + 1], self.nothing[place] + np.cumsum(counts)])
            found = np.searchsorted(reached, np.ceil(np.asarray(shares) * reached[-1]), side="left")
            middles = _middles(np.maximum(found, 1) + (low - 1) + _CENT_KEY, SERIES_BITS)
            table[place] = np.where(found == 0, 0.0, middles)
        return table.reshape(*self.shape, len(shares))


SERIES_BITS = 8
_CENT_BITS = int(np.float64(2.0**-7).view(np.int64))
_CENT_KEY = (_CENT_BITS - _SMALLEST_BITS) >> (52 - SERIES_BITS)
_LAST_KEY = np.int64(1) << 62


def _amount_keys(values: Array) -> Counts:
    """Buckets of amounts from zero on: 0 below about a cent (and for the dust below zero), then 1, 2 and so on."""
    keys = np.maximum(values, 0.0).view(np.int64) - _CENT_BITS
    keys >>= 52 - SERIES_BITS
    keys += 1
    return np.maximum(keys, 0, out=keys)


def spread(values: Iterable[float]) -> float:
    """The standard error of the mean of some replicates: NaN of fewer than two."""
    known = np.array([value for value in values if not np.isnan(value)])
    return float(known.std(ddof=1) / np.sqrt(known.size)) if known.size > 1 else float("nan")
