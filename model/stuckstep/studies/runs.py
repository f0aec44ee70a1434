"""Some runs of one deal and what they are judged by: the table every study begins from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import LAWS, Batch, Columns, Model, batch, chunks, stream
from .measures import Measure

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Runs:
    """What some runs give: values (measure, run), and in how many of them a law of the model was broken."""

    values: Array
    broken: int


def prepared(found: Model, measures: Sequence[Measure], **options: Any) -> Batch:
    """A model made ready for runs judged by these measures (and by the laws of the model)."""
    keep = dict.fromkeys(line for one in measures for line in one.lines)
    return batch(found, [*keep, LAWS], **options)


def measured(ready: Batch, columns: Columns, count: int, measures: Sequence[Measure], *, threads: int = 1) -> Runs:
    """The measures of `count` runs; `columns` gives each changed cell's values, (run,)."""

    def reduce(lines: Mapping[str, Array], values: Columns, _: slice) -> tuple[Array, int]:
        broken = int((lines[LAWS].max(axis=0) > 0).sum())
        return np.stack([one.work(lines, values) for one in measures]), broken

    def part_of(part: slice) -> Columns:
        return {cell: values[part] for cell, values in columns.items()}

    found = list(stream(ready, chunks(count, ready.width), part_of, reduce, threads=threads))
    return Runs(np.concatenate([values for values, _ in found], axis=1), sum(broken for _, broken in found))
