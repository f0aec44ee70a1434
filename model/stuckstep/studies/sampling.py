"""Points to draw at: any draw is worked from its number and the seed alone, whatever was drawn before or beside it.

The draws are split into replicates of equal size, each a set of points randomised on its own; how far the replicates'
results lie apart is the error bar. Draw `number` is point `number % size` of replicate `number // size`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import Cell, DealError, Fault

from .batch import chunks
from .distributions import EDGE, Uncertainty
from .extras import extra

Array = NDArray[np.float64]
METHODS = ("sobol", "lhs", "plain")
LARGEST_HYPERCUBE = 16384  # points of one Latin hypercube, which has to be made as a whole


@dataclass(frozen=True)
class Design:
    """Which points are drawn: the method, the seed, how many replicates of how many draws."""

    method: str
    seed: int
    replicates: int
    size: int

    @property
    def draws(self) -> int:
        return self.replicates * self.size

    def parts(self, width: int) -> list[slice]:
        """The draws in even slices of up to `width`, none of which reaches over two replicates."""
        inside = chunks(self.size, width)
        return [
            slice(first + part.start, first + part.stop) for first in range(0, self.draws, self.size) for part in inside
        ]


def design(draws: int, *, method: str = "sobol", seed: int = 0, replicates: int = 16) -> Design:
    """A design of at least `draws` draws; Sobol's points are balanced when a replicate holds a power of two of them."""
    if method not in METHODS:
        raise DealError([Fault("method", None, None, f"'{method}' is none", f"{', '.join(METHODS)} are allowed")])
    if draws < 1 or replicates < 1:
        raise DealError(
            [Fault("draws", None, None, "there are none", "one draw and one replicate or more are allowed")]
        )
    size = -(-draws // replicates)
    if method == "lhs" and size > LARGEST_HYPERCUBE:
        size = LARGEST_HYPERCUBE
        replicates = -(-draws // size)
    return Design(method, seed, replicates, size)


def points(plan: Design, dimensions: int, part: slice) -> Array:
    """The points of a slice of draws within one replicate, (dimension, draw), each between 0 and 1."""
    replicate, start = divmod(part.start, plan.size)
    count = part.stop - part.start
    if plan.method == "sobol":
        found = _sobol(plan.seed, replicate, dimensions, start, count)
    elif plan.method == "lhs":
        found = _hypercube(plan.seed, replicate, dimensions, plan.size)[start : start + count]
    else:
        found = _plain(plan.seed, replicate, dimensions, start, count)
    return np.ascontiguousarray(np.clip(found.T, EDGE, 1.0 - EDGE))


def _random(seed: int, replicate: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, replicate])))


def _sobol(seed: int, replicate: int, dimensions: int, start: int, count: int) -> Array:
    """Scrambled Sobol points; a first request is rounded up to a power of two, of which the first are taken."""
    engine = extra("scipy.stats.qmc").Sobol(dimensions, scramble=True, rng=_random(seed, replicate))
    if start:
        engine.fast_forward(start)
        return np.asarray(engine.random(count))
    return np.asarray(engine.random(1 << (count - 1).bit_length()))[:count]


@lru_cache(maxsize=4)
def _hypercube(seed: int, replicate: int, dimensions: int, size: int) -> Array:
    return np.asarray(extra("scipy.stats.qmc").LatinHypercube(dimensions, rng=_random(seed, replicate)).random(size))


def _plain(seed: int, replicate: int, dimensions: int, start: int, count: int) -> Array:
    """Independent points: Philox gives four numbers a step, so each draw takes whole steps and is found by counting."""
    steps = -(-dimensions // 4)
    random = _random(seed, replicate)
    random.bit_generator.advance(start * steps)  # type: ignore[attr-defined]
    return random.random((count, 4 * steps))[:, :dimensions]


def shares(plan: Design, uncertainties: Sequence[Uncertainty], part: slice) -> Array:
    """The share u of each uncertainty at each draw, (uncertainty, draw), correlated inside the groups."""
    groups = {one.group for one in uncertainties if one.group}
    return correlated(points(plan, max(1, len(groups) + len(uncertainties)), part), uncertainties)


def correlated(drawn: Array, uncertainties: Sequence[Uncertainty]) -> Array:
    """The shares that independent points give: the first rows are the groups' factors, in order of first appearance."""
    groups = list(dict.fromkeys(one.group for one in uncertainties if one.group))
    factors, own = drawn[: len(groups)], drawn[len(groups) :]
    return np.array([_correlated(one, factors, groups, own[place]) for place, one in enumerate(uncertainties)])


def _correlated(one: Uncertainty, factors: Array, groups: Sequence[str], own: Array) -> Array:
    """A Gaussian copula with one factor for each group."""
    if not one.group or one.correlation == 0:
        return own
    special = extra("scipy.special")
    loading = np.sign(one.correlation) * np.sqrt(abs(one.correlation))
    rest = np.sqrt(1.0 - abs(one.correlation))
    return np.asarray(
        special.ndtr(loading * special.ndtri(factors[groups.index(one.group)]) + rest * special.ndtri(own))
    )


def values(uncertainties: Sequence[Uncertainty], share: Array) -> dict[Cell, Array]:
    """What every cell holds at each draw, given the shares (uncertainty, draw)."""
    found: dict[Cell, Array] = {}
    for one, shares_of in zip(uncertainties, share, strict=True):
        found |= one.axis.at(one.draw(shares_of))
    return found
