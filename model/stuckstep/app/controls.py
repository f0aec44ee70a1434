"""What can be changed on the page: the delays, prices, shares and rates of the deal, with bounds and units."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stuckstep.deal import Cell, Deal, Sheets, base
from stuckstep.deal.scenarios import column_of

from .live import narrowed_steps

RENTS = "recurring"


@dataclass(frozen=True)
class Control:
    """One slider: the cells it sets (one for each phase of a step), and the range it is dragged over.

    low and high are the slider's; what may be typed is what the sheets allow.
    """

    key: str
    group: str
    name: str
    words: str
    cells: tuple[Cell, ...]
    phases: tuple[str, ...]
    unit: str
    low: float
    high: float
    step: float

    def rows_json(self) -> str:
        """The cells as the page's script reads them."""
        return json.dumps([[cell.table, cell.row, cell.column] for cell in self.cells])

    def open_json(self, phases: Sequence[str]) -> str:
        """The cells of some of the phases; none where the control has one cell for all."""
        chosen = [cell for cell, phase in zip(self.cells, self.phases, strict=False) if phase in phases]
        return json.dumps([[cell.table, cell.row, cell.column] for cell in chosen])


def controls(deal: Deal) -> tuple[Control, ...]:
    """Every control of a deal, in the order of the sheets."""
    sheets = base(deal)
    return tuple(_numbered([*_delays(deal, sheets), *_contracts(sheets), *_facilities(sheets), *_recurring(sheets)]))


def _numbered(found: Sequence[Control]) -> Iterator[Control]:
    for place, one in enumerate(found):
        yield Control(f"c{place}", *list(vars(one).values())[1:])


def _delays(deal: Deal, sheets: Sheets) -> Iterator[Control]:
    """A step's delay: one cell where the deal has one phase, else one for each phase."""
    phases, narrowed = sheets.keys("phases"), narrowed_steps(deal)
    for step in sheets.keys("steps"):
        one_cell = len(phases) == 1 and step not in narrowed
        rows = (step,) if one_cell else tuple(f"{step}@{phase}" for phase in phases)
        cells = tuple(Cell("steps", row, "delay") for row in rows)
        yield Control("", "Delays", step, "delay", cells, phases, "days", 0.0, 547.0, 1.0)


def _contracts(sheets: Sheets) -> Iterator[Control]:
    for contract in sheets.keys("contracts"):
        yield _number(sheets, "Customers", "contracts", contract, "price")
        yield _number(sheets, "Customers", "contracts", contract, "utilisation")
        yield _number(sheets, "Customers", "contracts", contract, "take_or_pay")


def _facilities(sheets: Sheets) -> Iterator[Control]:
    for facility in sheets.keys("facilities"):
        yield _number(sheets, "Loans", "facilities", facility, "advance_rate")
        yield _number(sheets, "Loans", "facilities", facility, "margin")


def _recurring(sheets: Sheets) -> Iterator[Control]:
    for claim in sheets.keys("claims"):
        if sheets.kind(claim) == RENTS:
            yield _number(sheets, "Rent and other recurring claims", "claims", claim, "rate")


def _number(sheets: Sheets, group: str, table: str, row: str, column: str) -> Control:
    cell = Cell(table, row, column)
    value, bound = float(sheets.value(cell)[0]), column_of(cell).high
    if bound == 1 and column == "margin":
        high, step = max(0.15, 2 * value), 0.0005
    elif bound == 1:
        high, step = 1.0, 0.01
    else:
        high = 2 * value if value else 1.0
        step = 10.0 ** (math.floor(math.log10(high)) - 2)
    return Control("", group, row, column.replace("_", " "), (cell,), (), sheets.unit(cell), 0.0, high, step)
