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
    """Counts of many series of amounts from zero on, by bucket; the first bucket is for less than about a cent.

    The others are a share 2**-SERIES_BITS wide.
    """

    shape: tuple[int, ...]
    rows: dict[int, Counts] = field(default_factory=dict)

    def add(self, first: int, values: Array) -> None:
        """Adds the draws (series, draw) of the series from `first` on; they are all that is ever added in one chunk."""
        low, high = _amount_keys(values.min(axis=1)), _amount_keys(values.max(axis=1))
        for place, row in enumerate(values):
            counts = self.rows.setdefault(first + place, np.zeros(0, dtype=np.int64))
            if counts.size <= high[place]:
                counts = np.concatenate([counts, np.zeros(int(high[place]) + 1 - counts.size, dtype=np.int64)])
                self.rows[first + place] = counts
            if low[place] == high[place]:
                counts[low[place]] += row.size
            else:
                counts[: high[place] + 1] += np.bincount(_amount_keys(row), minlength=int(high[place]) + 1)

    def merge(self, other: Histogram) -> None:
        for place, counts in other.rows.items():
            mine = self.rows.get(place)
            if mine is None:
                self.rows[place] = counts.copy()
            elif mine.size < counts.size:
                self.rows[place] = counts.copy()
                self.rows[place][: mine.size] += mine
            else:
                mine[: counts.size] += counts

    def quantiles(self, shares: Sequence[float]) -> Array:
        """The quantiles of every series, (*shape, share); zero of a series that was never added."""
        table = np.zeros((int(np.prod(self.shape)), len(shares)))
        for place, counts in self.rows.items():
            reached = np.cumsum(counts)
            keys = np.searchsorted(reached, np.ceil(np.asarray(shares) * reached[-1]), side="left")
            table[place] = np.where(keys == 0, 0.0, _middles(np.maximum(keys, 1) + _CENT_KEY, SERIES_BITS))
        return table.reshape(*self.shape, len(shares))


SERIES_BITS = 8
_CENT_BITS = int(np.float64(2.0**-7).view(np.int64))
_CENT_KEY = (_CENT_BITS - _SMALLEST_BITS) >> (52 - SERIES_BITS)


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
