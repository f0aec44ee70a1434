"""Distributions as quantile functions: what stands in the table `uncertainties`, made into numbers from shares of one.

All of them are read backwards, from a share u between 0 and 1 to the value that share of the draws lies below, so that
any set of evenly spread points (Sobol's, a Latin hypercube's) serves any distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import DealError, Fault

from .axes import Axis
from .extras import extra

Array = NDArray[np.float64]
EDGE = 2.0**-33  # the shares drawn keep this distance from 0 and 1
PERT = 4.0  # weight of the mode in a PERT distribution


@dataclass(frozen=True)
class Uncertainty:
    """What is uncertain: the cells that take the draw, and how it is distributed.

    The axis says what a drawn number means for its cells (`value`, `add`, `factor`). low, mode and high are the
    distribution's; low_at and high_at the shares at which low and high stand, where those are quantiles. With
    probability 1 - chance nothing happens and the cells hold what they hold in base. floor and cap cut the draw off:
    what would lie beyond stands on them. Members of a group share a factor: two of them with the correlations a and b
    have normal scores correlated by sqrt(a x b), signed as both are.
    """

    name: str
    axis: Axis
    distribution: str
    low: float = float("nan")
    mode: float = float("nan")
    high: float = float("nan")
    low_at: float = 0.1
    high_at: float = 0.9
    values: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    chance: float = 1.0
    floor: float = float("-inf")
    cap: float = float("inf")
    group: str = ""
    correlation: float = 0.0

    def __post_init__(self) -> None:
        """Raises DealError for parameters that are no distribution."""
        if self.distribution not in DISTRIBUTIONS:
            raise self._fault(f"'{self.distribution}' is no distribution", f"{', '.join(DISTRIBUTIONS)} are allowed")
        for wrong, allowed in _problems(self):
            raise self._fault(wrong, allowed)

    def _fault(self, wrong: str, allowed: str) -> DealError:
        return DealError([Fault(f"uncertainty {self.name}", None, None, wrong, allowed)])

    @property
    def still(self) -> float:
        """The draw that leaves the cells as they are in base."""
        return {"value": self.axis.base, "add": 0.0, "factor": 1.0}[self.axis.by]

    def draw(self, share: Array) -> Array:
        """What is drawn at each share u: nothing happens below 1 - chance, the rest is spread over the distribution."""
        happens = share >= 1.0 - self.chance
        inside = np.clip((share - (1.0 - self.chance)) / self.chance if self.chance > 0 else share, EDGE, 1.0 - EDGE)
        drawn = np.clip(DISTRIBUTIONS[self.distribution](self, inside), self.floor, self.cap)
        return np.where(happens & (self.chance > 0), drawn, self.still)

    def span(self) -> tuple[float, float]:
        """The lowest and the highest that can be drawn."""
        ends = DISTRIBUTIONS[self.distribution](self, np.array([EDGE, 1.0 - EDGE]))
        ends = np.clip(ends, self.floor, self.cap)
        every = [*ends.tolist(), *([] if self.chance == 1.0 else [self.still])]
        return min(every), max(every)


def _problems(one: Uncertainty) -> Sequence[tuple[str, str]]:
    """What is wrong with an uncertainty's parameters, and what is allowed."""
    found = []
    needed = {"uniform": ("low", "high"), "triangular": ("low", "mode", "high"), "pert": ("low", "mode", "high"),
              "normal": ("low", "high"), "lognormal": ("low", "high"), "discrete": ()}[one.distribution]  # fmt: skip
    blank = [name for name in needed if not np.isfinite(getattr(one, name))]
    if blank:
        found.append((f"{', '.join(blank)} is not given", f"{one.distribution} needs {', '.join(needed)}"))
    elif needed and not one.low < one.high:
        found.append((f"low {one.low:.15g} is not below high {one.high:.15g}", "low below high is allowed"))
    elif "mode" in needed and not one.low <= one.mode <= one.high:
        found.append((f"mode {one.mode:.15g} lies outside low and high", "a mode between low and high is allowed"))
    if one.distribution == "lognormal" and one.low <= 0:
        found.append((f"low {one.low:.15g} is not above 0", "a lognormal lies above 0"))
    if one.distribution in ("normal", "lognormal") and not 0 < one.low_at < one.high_at < 1:
        found.append(("low_at and high_at are no two shares", "0 < low_at < high_at < 1 is allowed"))
    if one.distribution == "discrete" and (not one.values or len(one.values) != len(one.weights)):
        found.append(("values and weights are not equally many", "one weight for each value is required"))
    if one.distribution == "discrete" and (min(one.weights, default=1) < 0 or sum(one.weights, 0.0) <= 0):
        found.append(("weights are not shares", "weights from 0 with a sum above 0 are allowed"))
    if not 0 <= one.chance <= 1:
        found.append((f"chance is {one.chance:.15g}", "a chance from 0 to 1 is allowed"))
    if not -1 <= one.correlation <= 1:
        found.append((f"correlation is {one.correlation:.15g}", "a correlation from -1 to 1 is allowed"))
    if one.chance < 1 and one.axis.by == "value" and np.isnan(one.axis.base):
        found.append((f"{one.axis.name} is blank in base", "a value is required where nothing may happen"))
    return found


def _uniform(one: Uncertainty, share: Array) -> Array:
    return one.low + share * (one.high - one.low)


def _triangular(one: Uncertainty, share: Array) -> Array:
    width, rise = one.high - one.low, one.mode - one.low
    left = one.low + np.sqrt(share * width * rise)
    right = one.high - np.sqrt((1.0 - share) * width * (one.high - one.mode))
    return np.where(share * width <= rise, left, right)


def _pert(one: Uncertainty, share: Array) -> Array:
    """A beta distribution with the mean (low + 4 mode + high) / 6."""
    width = one.high - one.low
    before, after = (1.0 + PERT * part / width for part in (one.mode - one.low, one.high - one.mode))
    return np.asarray(one.low + width * extra("scipy.special").betaincinv(before, after, share))


def _normal(one: Uncertainty, share: Array) -> Array:
    return _from_scores(one, share, one.low, one.high)


def _lognormal(one: Uncertainty, share: Array) -> Array:
    return np.exp(_from_scores(one, share, float(np.log(one.low)), float(np.log(one.high))))


def _from_scores(one: Uncertainty, share: Array, low: float, high: float) -> Array:
    """A normal whose quantiles at low_at and high_at are low and high."""
    ndtri = extra("scipy.special").ndtri
    first, second = float(ndtri(one.low_at)), float(ndtri(one.high_at))
    spread = (high - low) / (second - first)
    return np.asarray(low + spread * (ndtri(share) - first))


def _discrete(one: Uncertainty, share: Array) -> Array:
    edges = np.cumsum(one.weights) / np.sum(one.weights)
    place = np.searchsorted(edges, share, side="right")
    return np.array(one.values)[np.minimum(place, len(one.values) - 1)]


DISTRIBUTIONS: Mapping[str, Callable[[Uncertainty, Array], Array]] = {
    "uniform": _uniform,
    "triangular": _triangular,
    "pert": _pert,
    "normal": _normal,
    "lognormal": _lognormal,
    "discrete": _discrete,
}
