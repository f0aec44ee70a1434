"""What may look odd in a deal without being wrong: the codes, and the prices that are usual for a basis."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Code(NamedTuple):
    """One row of warnings.csv: when it is raised, beyond what bounds, what it means and what to do about it."""

    code: str
    least: float
    most: float
    when: str
    means: str
    do: str


@cache
def codes() -> Mapping[str, Code]:
    """Every code, in the order of the table."""
    rows = _rows("warnings.csv")
    return {
        row["code"]: Code(
            row["code"], float(row["least"] or 0), float(row["most"] or 0), row["when"], row["means"], row["do"]
        )
        for row in rows
    }


@cache
def typical_prices() -> Mapping[tuple[str, str], tuple[float, float]]:
    """The lowest and the highest price that the facts give for a basis, by (contracts or claims, basis)."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in _rows("typical.csv"):
        found.setdefault((row["table"], row["basis"]), []).append(float(row["printed"]) * float(row["scale"]))
    return {key: (min(prices), max(prices)) for key, prices in found.items()}


def _rows(name: str) -> list[dict[str, str]]:
    with files(__package__).joinpath(name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
