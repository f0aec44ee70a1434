"""The package as Python users meet it: a deal that can be read, changed in no way, and run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from os import PathLike
from typing import TYPE_CHECKING

from stuckstep import deal as sheets

if TYPE_CHECKING:
    import xarray as xr


class Deal(sheets.Deal):
    """The assumptions of one deal, with its run."""

    def run(self, scenarios: Sequence[str] | None = None, *, monthly: bool = False) -> xr.Dataset:
        """Who is paid, when and how much: Dataset (party, quarter, scenario); see `stuckstep.results.run`."""
        from stuckstep.results import run

        return run(self, scenarios, monthly=monthly)

    def __repr__(self) -> str:
        rows = ", ".join(f"{table} {len(rows)}" for table, rows in self.tables.items() if rows and table != "deal")
        return f"<Deal {self.name}; rows: {rows}>"


def read(path: str | PathLike[str]) -> Deal:
    """Reads a deal: a folder of CSV files or one .xlsx workbook. DealError with every fault found."""
    import stuckstep.rules  # noqa: F401 - declares the kinds of claims

    found = sheets.read(path)
    return Deal(**{field.name: getattr(found, field.name) for field in fields(found)})
