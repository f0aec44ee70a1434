"""What a cell of a workbook holds, without dressing."""

from collections.abc import Iterator
from typing import NamedTuple


class Formula(str):
    """A formula, beginning with `=`. Text is a plain str and never becomes a formula, whatever it begins with."""

    __slots__ = ()


Content = float | str | Formula


class Placed(NamedTuple):
    """A cell's content and where it stands."""

    sheet: str
    row: int
    column: int
    content: Content


Cells = Iterator[Placed]
