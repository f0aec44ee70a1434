"""How the rules reach the sheets: a number becomes an input, a trigger becomes a date."""

import datetime

from stuckstep.deal import Place, Sheets

from .expression import Node, base_of, input_of
from .lines import Lines

DEAL = "deal"


def amount(sheets: Sheets, table: str, row: str, column: str, phase: str | None = None) -> Node:
    """The number or date in a cell, as it is in each scenario."""
    return input_of(sheets.find(table, row, column, phase))


def base_amount(sheets: Sheets, table: str, row: str, column: str, phase: str | None = None) -> Node:
    """The number or date in a cell of the base sheets."""
    return base_of(sheets.find(table, row, column, phase))


def listed(sheets: Sheets, table: str, row: str, column: str, phase: str | None = None) -> tuple[str, ...] | None:
    """The names in a list cell; None where it is blank."""
    value = sheets.cell(table, row, column, phase)
    return tuple(str(name) for name in value) if isinstance(value, tuple) else None


def places(sheets: Sheets, table: str, row: str, column: str) -> tuple[Place, ...]:
    """Where a claim is paid from, in order; nowhere where the cell is blank."""
    value = sheets.cell(table, row, column)
    return tuple(place for place in value if isinstance(place, Place)) if isinstance(value, tuple) else ()


def is_blank(sheets: Sheets, table: str, row: str, column: str, phase: str | None = None) -> bool:
    return sheets.cell(table, row, column, phase) is None


def trigger(sheets: Sheets, lines: Lines, table: str, row: str, column: str, phase: str) -> Node:
    """The date a trigger cell names, in a phase or deal-wide (phase `deal`): a date, `order`, `billing` or a step."""
    named = sheets.cell(table, row, column)
    if isinstance(named, datetime.date):
        return amount(sheets, table, row, column)
    return event(lines, str(named), phase)


def event(lines: Lines, name: str, phase: str) -> Node:
    """The date of `order`, `billing` or of a step's finish in a phase, or deal-wide."""
    if name in ("order", "billing"):
        return lines.at("phases", phase, name)
    return lines.at("steps", name, "finish", phase)
