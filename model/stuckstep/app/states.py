"""A state of the page: a scenario and the cells changed in it, as it comes from a browser, checked like a sheet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stuckstep.deal import Cell, Value, scenario_names
from stuckstep.deal.cells import CellError, allowed, parse
from stuckstep.deal.records import Deal
from stuckstep.deal.scenarios import column_of

LONGEST = 100  # characters of a number that is typed


class StateError(Exception):
    """A state that cannot be worked out: a text for the whole, or one for each cell that is wrong."""

    def __init__(self, words: str = "", faults: Mapping[Cell, str] | None = None) -> None:
        super().__init__(words)
        self.faults = dict(faults or {})


@dataclass(frozen=True)
class State:
    """A scenario of the deal and the cells changed in it."""

    scenario: str
    changes: Mapping[Cell, Value]


def read_state(deal: Deal, cells: frozenset[Cell], raw: Any) -> State:
    """The state in what a browser sent; StateError says what is wrong with it.

    raw: {"scenario": name, "cells": [[table, row, column, text], ...]}, the cells among those that may change.
    """
    scenario = raw.get("scenario") if isinstance(raw, dict) else None
    listed = raw.get("cells", []) if isinstance(raw, dict) else None
    if not isinstance(scenario, str) or not isinstance(listed, list) or not all(_is_change(one) for one in listed):
        raise StateError("this is no state of the page")
    if scenario not in scenario_names(deal):
        raise StateError(f"the deal has no scenario '{scenario[:LONGEST]}'")
    changes: dict[Cell, Value] = {}
    faults: dict[Cell, str] = {}
    for table, row, column, text in listed:
        cell = Cell(table, row, column)
        if cell not in cells:
            raise StateError(f"{str(cell)[:LONGEST]} cannot be changed on this page")
        try:
            changes[cell] = _parsed(cell, text)
        except CellError as bad:
            faults[cell] = f"{bad}; {allowed(column_of(cell))}"
    if faults:
        raise StateError("a value cannot be used", faults)
    return State(scenario, changes)


def _is_change(one: Any) -> bool:
    return isinstance(one, list) and len(one) == 4 and all(isinstance(part, str) for part in one)


def _parsed(cell: Cell, text: str) -> Value:
    """The value typed for a cell; a blank one is no change to a number."""
    if len(text) > LONGEST:
        raise CellError("this is too long for a number")
    value = parse(column_of(cell), text.replace(",", ""))
    if value is None:
        raise CellError("the cell is blank")
    return value
