"""Every draw of a Monte Carlo kept in a zarr folder: its measures, and lines where they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import DealError, Fault

from .batch import Model
from .extras import extra
from .sampling import Design
from .tally import Questions

Array = NDArray[np.float64]
BLOCK = 16384  # draws of one block of the folder, which only one task writes to


@dataclass(frozen=True)
class Store:
    """A zarr folder with one array for each name: (replicate, draw of it), or (replicate, draw of it, period)."""

    path: str
    measures: tuple[str, ...]
    lines: tuple[str, ...]

    def keep(self, part: slice, size: int, values: Mapping[str, Array]) -> None:
        """Writes one slice of the draws, which lies within a replicate of `size` draws."""
        group = _group(self.path, "r+")
        replicate, start = divmod(part.start, size)
        stop = start + part.stop - part.start
        for name in (*self.measures, *self.lines):
            group[_file(name)][replicate, start:stop] = values[name].T


def open_store(
    path: str | PathLike[str], asked: Questions, plan: Design, found: Model, keep: Sequence[str] = ()
) -> Store:
    """A new folder for the draws of a plan; DealError where there is something already."""
    try:
        group = _group(fspath(path), "w-")
    except FileExistsError:
        raise DealError(
            [Fault(fspath(path), None, None, "something is there already", "a new folder is allowed")]
        ) from None
    group.attrs["seed"], group.attrs["method"] = plan.seed, plan.method
    shape, block = (plan.replicates, plan.size), (1, min(plan.size, BLOCK))
    names = tuple(one.name for one in asked.measures)
    for name in names:
        _create(group, name, shape, block)
    periods = len(found.periods.labels)
    for line in keep:
        static = found.lines[line].kind == "static"
        more = () if static else (periods,)
        _create(group, line, (*shape, *more), (*block, *more))
    return Store(fspath(path), names, tuple(keep))


def _create(group: Any, name: str, shape: tuple[int, ...], block: tuple[int, ...]) -> None:
    array = group.create_array(_file(name), shape=shape, chunks=block, dtype="float64", fill_value=np.nan)
    array.attrs["name"] = name


def _file(name: str) -> str:
    """A name without what a folder cannot be called."""
    return name.replace("/", "_").replace(":", ".")


def _group(path: str, mode: str) -> Any:
    return extra("zarr").open_group(path, mode=mode)
