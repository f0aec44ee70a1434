"""Which cells are moved, and to what: values given outright, as steps from what the cell holds, or as factors of it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import Cell, Deal, DealError, Fault, base, from_serial, serial
from stuckstep.deal.changes import cell_of, fitted
from stuckstep.deal.numerals import NO_NUMBER, Dialect, NumeralError, number_of
from stuckstep.deal.records import together
from stuckstep.deal.scenarios import column_of

from .batch import Model, held, model

Array = NDArray[np.float64]
BY = ("value", "add", "factor")
LONGEST = 10_000  # values of one axis
FAR = 20.0  # times what a cell holds
_SPAN = re.compile(r"(?P<low>[^/]+)\.\.(?P<high>[^/]+?)(?:/(?P<count>[0-9]+))?")
VALUES = "a list such as 0;91;182, or low..high, or low..high/5 for five values, is allowed"


@dataclass(frozen=True)
class Axis:
    """One or more cells that are moved together: `given` says to what, `by` how that is meant (see `axis`).

    bases is what each cell holds with nothing moved; NaN where it is blank.
    """

    cells: tuple[Cell, ...]
    given: Array
    by: str
    bases: Mapping[Cell, float]

    @property
    def name(self) -> str:
        """The cells as they are written in the tables."""
        return ";".join(map(str, self.cells))

    @property
    def is_date(self) -> bool:
        return column_of(self.cells[0]).type in ("date", "trigger")

    @property
    def is_whole(self) -> bool:
        """Whether the cells take whole numbers only and `given` is counted in them."""
        return self.by != "factor" and any(column_of(cell).type not in ("number",) for cell in self.cells)

    @property
    def moved(self) -> dict[Cell, Array]:
        """The values of each cell (dates as serials)."""
        return self.at(self.given)

    @property
    def values(self) -> Array:
        """The values of the first cell."""
        return self.moved[self.cells[0]]

    @property
    def base(self) -> float:
        """What the first cell holds with nothing moved."""
        return self.bases[self.cells[0]]

    def at(self, given: Array) -> dict[Cell, Array]:
        """The values of each cell where it is moved by these; DealError beyond what the cell can hold."""
        return {cell: fitted(cell, _moved(given, self.bases[cell], self.by)) for cell in self.cells}

    def labels(self) -> list[str]:
        """The values as text."""
        return [said(value, self.is_date) for value in self.values]


def said(value: float, is_date: bool) -> str:
    return from_serial(value).isoformat() if is_date else f"{value:,.15g}"


def axis(deal: Deal, cells: str | Sequence[str], values: str | Sequence[float], by: str = "value",
         start: str = "base") -> Axis:  # fmt: skip
    """The axis of some cells (`;` between names) and values, as text or as numbers; DealError for what cannot be.

    by: `value` the values themselves; `add` what is added to what each cell holds in `start` (days to a date);
    `factor` what it is multiplied by.
    """
    found = cells_of(deal, cells)
    where = "; ".join(map(str, found))
    if by not in BY:
        raise DealError([Fault(where, None, None, f"'{by}' says not how", f"{', '.join(BY)} are allowed")])
    given = (
        numbers(deal, values, where, unit_of(found[0], by))
        if isinstance(values, str)
        else np.asarray(values, dtype=np.float64)
    )
    bases = {cell: _held(deal, cell, start, by) for cell in found}
    made = Axis(found, given, by, bases)
    made.at(given)
    return made


def cells_of(deal: Deal, cells: str | Sequence[str]) -> tuple[Cell, ...]:
    """The cells of some names (`;` between them); DealError with every fault."""
    names = cells.split(";") if isinstance(cells, str) else cells
    return tuple(together(partial(cell_of, deal, name) for name in names))


def unit_of(cell: Cell, by: str) -> str:
    """What the values are in by which a cell is moved."""
    return "1" if by == "factor" else column_of(cell).unit


def noted(axes: Iterable[Axis]) -> dict[str, str]:
    """What a study says of cells that it gives values far from what they hold, as where factors were meant."""
    cells = [str(cell) for one in axes if one.by == "value" and not one.is_date
             for cell, values in one.moved.items() if _are_far(values, one.bases[cell])]  # fmt: skip
    wrong = f"every value is more than {FAR:g} times what the cell holds, or less than a {FAR:g}th of it"
    return {"note": f"{', '.join(cells)}: {wrong}; by factor multiplies it."} if cells else {}


def _are_far(values: Array, base: float) -> bool:
    """Whether no value but zero is anywhere near what a cell holds, if that is anything."""
    sizes, base = np.abs(values[values != 0]), abs(base)
    return bool(base > 0 and sizes.size and ((sizes > FAR * base) | (FAR * sizes < base)).all())


def _held(deal: Deal, cell: Cell, start: str, by: str) -> float:
    """What a cell holds; where it is blank and the values need no base, nothing."""
    value = held(deal, cell, start)
    if value is None and by != "value":
        allowed = f"a number or a date to {'add to' if by == 'add' else 'multiply'} is required"
        raise DealError([Fault(str(cell), None, None, f"the cell holds none in {start}", allowed)])
    return float("nan") if value is None else value


def _moved(given: Array, base: float, by: str) -> Array:
    if by == "add":
        return base + given
    return base * given if by == "factor" else given


def numbers(deal: Deal, text: str, where: str, unit: str) -> Array:
    """The values of a list or span as numbers of a unit, dates as serials; DealError with every fault."""
    currency = str(base(deal).cell("deal", "currency", "value"))

    def number(text: str) -> float:
        return _number(text.strip(), where, unit, Dialect(currency=currency))

    def spread(part: str) -> list[float]:
        span = _SPAN.fullmatch(part)
        if span is None:
            return [number(part)]
        low, high = together(partial(number, span[end]) for end in ("low", "high"))
        count = int(span["count"] or 2)
        if not 0 < count <= LONGEST:
            wrong = f"'{part}' asks for {count:,} values"
            raise DealError([Fault(where, None, None, wrong, f"1 to {LONGEST:,} are allowed")])
        return [float(value) for value in np.linspace(low, high, count)]

    parts = [part.strip() for part in text.split(";") if part.strip()]
    if not parts:
        raise DealError([Fault(where, None, None, "there are no values", VALUES)])
    return np.concatenate(together(partial(spread, part) for part in parts))


def _number(text: str, where: str, unit: str, dialect: Dialect) -> float:
    """A number as the sheets' reader takes it, or the serial of a day."""
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return serial(datetime.date.fromisoformat(text))
        return number_of(text, unit, dialect)
    except ValueError as bad:
        said = str(bad) if isinstance(bad, NumeralError) and str(bad) != NO_NUMBER else "is no number and no date"
        raise DealError([Fault(where, None, None, f"'{text}' {said}", VALUES)]) from None


def model_of(deal: Deal, axes: Sequence[Axis], start: str = "base") -> Model:
    """The lines of a deal for any values of some axes, and for what their cells hold unmoved."""
    ranges = {}
    for one in axes:
        for cell, values in one.moved.items():
            base = one.bases[cell]
            every = values if np.isnan(base) else np.append(values, base)
            ranges[cell] = (float(every.min()), float(every.max()))
    return model(deal, ranges, start)
