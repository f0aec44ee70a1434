"""A table of many runs as plain labels and numbers, for the console and for a page of the workbook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Value = str | float | bool


class Sheet(NamedTuple):
    """A table of a study.

    headings name the columns and units says in what each is: blank for text, `row` for the unit in the row's second
    cell, `row mean` for a mean in it, `row error` for how far such means lie apart. rows hold text and numbers, NaN for
    nothing; dates are serials and quarters positions from 0. measure says what is measured in the columns `measured`,
    in the scenario `start` with cells moved; base_value is the measure with nothing moved, and base holds the
    (row, column) of the cells that are that run. failing holds the (row, column) of what fails the test `holds` (as in
    the table studies; blank for none) against the threshold.
    """

    title: str
    headings: tuple[str, ...]
    units: tuple[str, ...]
    rows: Sequence[Sequence[Value]]
    failing: frozenset[tuple[int, int]] = frozenset()
    base: frozenset[tuple[int, int]] = frozenset()
    base_value: float = float("nan")
    measure: str = ""
    start: str = "base"
    measured: range = range(0)
    holds: str = ""
    threshold: float = float("nan")
