"""The few numbers that belong to the rules themselves, said as lines so that no formula holds a number of its own."""

import csv
from importlib.resources import files

from .expression import Node, number
from .lines import Lines


def constant(lines: Lines, name: str) -> Node:
    return lines.at("constants", name, "value")


def add_constants(lines: Lines) -> None:
    """One static line for each row of constants.csv."""
    with files(__package__).joinpath("constants.csv").open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            lines.add("constants", row["constant"], "value", row["unit"], row["says"], number(float(row["value"])))
