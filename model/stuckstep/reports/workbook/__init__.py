"""The live workbook: the lines as formulas, dressed, with values on which a spreadsheet engine and the arrays agree.

`export` writes it; no workbook that disagrees with the engine ever reaches its place.
"""

import datetime
import os
import time
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import xarray as xr

from stuckstep.deal import Deal, DealError, variants
from stuckstep.deal.limits import too_large
from stuckstep.reports.sheets import Sheet
from stuckstep.results import Solution, label, solve

from .book import put_together
from .model import model_of
from .publishing import publish
from .values import WorkbookError, compare, recalculate

__all__ = ["Report", "WorkbookError", "export", "refuse_large"]


class Report(NamedTuple):
    """What was written: the scenarios it can select, its formulas, the numbers compared and the worst difference."""

    path: Path
    scenarios: tuple[str, ...]
    formulas: int
    compared: int
    worst: float


def refuse_large(deal: Deal) -> None:
    """DealError where a deal is too large for a workbook, before anything of it is worked out."""
    if faults := too_large(deal, "a workbook"):
        raise DealError(faults)


def _now() -> datetime.datetime:
    """The time that a workbook says it was written: SOURCE_DATE_EPOCH where that is set, for the same bytes again."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.datetime.fromtimestamp(int(epoch) if epoch.isdecimal() else time.time(), datetime.UTC)


def export(
    deal: Deal,
    path: str | PathLike[str],
    selected: str = "base",
    *,
    solution: Solution | None = None,
    dataset: xr.Dataset | None = None,
    studies: Sequence[Sheet] = (),
) -> Report:
    """Writes the workbook of the scenarios that share the selected one's structure, saved with that one selected.

    `solution` and `dataset` save working them out again; they must keep every line and hold every scenario of the deal.
    `studies` are tables of many runs of the deal, for a sheet of their own.
    WorkbookError, and no file or the old one, where it cannot be written or a formula disagrees with the engine.
    DealError for an unknown scenario, and for a deal that is too large for a workbook.
    """
    path = Path(path)
    refuse_large(deal)
    solution = solve(deal) if solution is None else solution
    if selected not in solution.scenarios:
        variants(deal, [selected])  # says that there is no such scenario
    dataset = label(solution) if dataset is None else dataset
    model = model_of(solution, dataset, selected)
    try:
        book = put_together(model, _now(), studies)
    except ValueError as error:
        raise WorkbookError(f"the deal does not fit into a workbook: {error}") from error
    values = recalculate(book.package, book.pages)
    compared = compare(book.expected, values, book.pages)
    publish(book.package.write(values), path)
    return Report(path, model.scenarios, sum(map(len, values.values())), compared.cells, compared.worst)
