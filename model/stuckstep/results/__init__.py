"""What a run gives: the lines' values put together as one labelled Dataset, with returns and payment order."""

from .dataset import is_shown, label, run, tabled
from .solve import Part, Solution, solve

__all__ = ["Part", "Solution", "is_shown", "label", "run", "solve", "tabled"]
