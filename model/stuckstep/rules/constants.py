"""The few numbers that belong to the rules themselves, said as lines so that no formula holds a number of its own."""

from .expression import Node, number
from .lines import Lines

CONSTANTS = {  # name: (value, unit, what it is)
    "never": (2_900_000, "date", "a real date in the year 9839 that stands for never"),
    "year": (365, "days", "days of a year in every daily rate, and between two anniversaries"),
    "money_year": (360, "days", "days of a year in interest and commitment fees"),
    "months": (12, "months", "months of a year"),
    "kilowatts": (1000, "kW/MW", "kilowatts of a megawatt"),
    "hours": (24, "hours/day", "hours of a day"),
    "half": (0.5, "share", "a draw is outstanding for half of its period on average"),
    "near": (1e-6, "money", "a rank is paid in full when its cash comes this near to what it wants"),
    "half_cent": (0.005, "money", "an amount up to half a cent counts as paid"),
    "dust": (1e-12, "share", "what adding many numbers may lose"),
}


def constant(lines: Lines, name: str) -> Node:
    return lines.at("constants", name, "value")


def add_constants(lines: Lines) -> None:
    """One static line for each constant."""
    for name, (value, unit, says) in CONSTANTS.items():
        lines.add("constants", name, "value", unit, says, number(value))
