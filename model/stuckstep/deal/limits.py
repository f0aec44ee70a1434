"""How large a deal may be: the table limits.csv, and a refusal that names the limit and what the deal has.

A limit is the name of a table, for its rows, or a product such as `claims x phases`, for what the lines come to; a
product may be `for a workbook` alone.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from math import prod
from typing import NamedTuple

from stuckstep.deal import layout
from stuckstep.deal.dates import periods
from stuckstep.deal.records import Deal, Fault
from stuckstep.deal.scenarios import base, scenario_names, variants


class Limit(NamedTuple):
    """One row of limits.csv: the most there may be of something, and what that costs."""

    what: str
    most: int
    meaning: str


@cache
def limits() -> tuple[Limit, ...]:
    """Every limit, in the order of the table."""
    with files(__package__).joinpath("limits.csv").open(encoding="utf-8") as file:
        return tuple(Limit(row["what"], int(row["most"]), row["meaning"]) for row in csv.DictReader(file))


def too_many(deal: Deal) -> list[Fault]:
    """A fault for each table with more rows, and for more scenarios, than are looked at."""
    found = {**{table: len(rows) for table, rows in deal.tables.items()}, "scenarios": len(scenario_names(deal))}
    return [
        _fault(deal.files[limit.what], f"there are {found[limit.what]:,} {limit.what}", limit)
        for limit in limits()
        if limit.what in layout.tables() and found[limit.what] > limit.most
    ]


def too_large(deal: Deal, purpose: str = "") -> list[Fault]:
    """A fault for each product of a sound deal's sizes that is more than there may be, of a run or for a purpose."""
    sizes = _sizes(deal)
    faults = []
    for limit in limits():
        what, _, wanted_for = limit.what.partition(" for ")
        factors = what.split(" x ")
        found = prod(sizes[factor] for factor in factors)
        if limit.what not in layout.tables() and wanted_for == purpose and found > limit.most:
            has = " x ".join(f"{sizes[factor]:,} {factor}" for factor in factors)
            comes_to = f" is {found:,}" if len(factors) > 1 else ""
            wrong = f"the deal is too large{purpose and f' for {purpose}'}: {has}{comes_to}"
            faults.append(_fault(str(deal.path), wrong, limit))
    return faults


def _fault(file: str, wrong: str, limit: Limit) -> Fault:
    return Fault(file, None, None, wrong, f"at most {limit.most:,} are allowed")


def _sizes(deal: Deal) -> Mapping[str, int]:
    """How much of everything a deal has; `eligible claims` counts those of every facility."""
    sheets = base(deal)
    eligible = (sheets.cell("facilities", name, "eligible") for name in sheets.keys("facilities"))
    return {
        **{table: len(rows) for table, rows in deal.tables.items()},
        "scenarios": len(scenario_names(deal)),
        "structures": len(variants(deal)),
        "periods": len(periods(deal).labels),
        "eligible claims": sum(len(names) for names in eligible if isinstance(names, tuple)),
    }
