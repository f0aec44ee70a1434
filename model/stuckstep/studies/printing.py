"""Studies as they are printed: the sheets' numbers as people read them, with what fails in square brackets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from stuckstep.deal import from_serial
from stuckstep.reports.amounts import Scale, money, percent, scale_of
from stuckstep.reports.console import Block, Heading, Sentence, Table
from stuckstep.reports.sheets import Sheet, Value

from .sheets import sheets

MOST = 11  # rows and columns of a grid that are printed


def blocks(study: xr.Dataset, periods: Sequence[str]) -> list[Block]:
    """A study's tables as blocks for the console; `periods` names the positions that quarters stand on."""
    found: list[Block] = [Heading(_heading(study))]
    for whole in sheets(study):
        sheet = _thinned(whole) if study.attrs["kind"] == "twoway" else whole
        scale = scale_of(_amounts(sheet, str(study.attrs["currency"])))
        rows = [_row(sheet, place, periods, scale, str(study.attrs["currency"])) for place in range(len(sheet.rows))]
        text = frozenset(place for place, unit in enumerate(sheet.units) if unit == "")
        title = sheet.title + _said_of_units(sheet, str(study.attrs["currency"]), scale)
        found.append(Table(sheet.headings, rows, text, title))
        if sheet.measure:
            shown = _shown(
                sheet.base_value, sheet.units[sheet.measured[0]], periods, scale, str(study.attrs["currency"])
            )
            found.append(Sentence(f"{sheet.measure} in {sheet.start}, with nothing moved: {shown or 'none'}."))
        if len(sheet.rows) < len(whole.rows) or len(sheet.headings) < len(whole.headings):
            size = f"{len(whole.rows)} x {len(whole.headings) - 1}"
            found.append(Sentence(f"A part of {size} values; all are in the file below, and in a workbook's sheet."))
        if sheet.failing:
            found.append(Sentence("What stands in square brackets fails the test."))
    found += [Sentence(line) for line in _about(study)]
    if "note" in study.attrs:
        found.append(Sentence(f"Warning: {study.attrs['note']}", "yellow"))
    return found


def _thinned(sheet: Sheet) -> Sheet:
    """A grid with so many rows and columns, evenly spaced, that it can be read on a screen."""
    down, across = _every(len(sheet.rows)), _every(len(sheet.headings) - 1)
    rows, columns = range(0, len(sheet.rows), down), [0, *range(1, len(sheet.headings), across)]
    failing = ((rows.index(row), columns.index(column)) for row, column in sheet.failing
               if row in rows and column in columns)  # fmt: skip
    return sheet._replace(
        headings=tuple(sheet.headings[column] for column in columns),
        units=tuple(sheet.units[column] for column in columns),
        rows=[[sheet.rows[row][column] for column in columns] for row in rows],
        failing=frozenset(failing),
        measured=range(1, len(columns)),
    )


def _every(count: int) -> int:
    """Which value is shown of so many: every one where they fit."""
    return 1 if count <= MOST else -(-(count - 1) // (MOST - 1))


def _heading(study: xr.Dataset) -> str:
    kinds = {"oneway": "one cell", "twoway": "two cells", "tornado": "each cell alone", "breakeven": "break-even",
             "montecarlo": "Monte Carlo", "attribution": "what caused it", "delay": "one more quarter of delay",
             "indices": "Sobol indices"}  # fmt: skip
    name = str(study.attrs.get("study", ""))
    return f"{study.attrs['title']}: {kinds[study.attrs['kind']]}" + (f", {name}" if name else "")


def _said_of_units(sheet: Sheet, currency: str, scale: Scale) -> str:
    """The unit of a table's numbers, behind its title; that of amounts where the rows have units of their own."""
    money_unit = f"{currency} {scale.suffix}".strip()
    units = dict.fromkeys(unit for unit in sheet.units if unit not in ("", "date", "quarter", "share", "1/year"))
    if any(unit.startswith("row") for unit in units):
        return f" (amounts in {money_unit})" if _amounts(sheet, currency) else ""
    said = [money_unit if unit == currency else unit for unit in units if unit not in ("number", "1")]
    return f" ({said[0]})" if said else ""


def _amounts(sheet: Sheet, currency: str) -> list[float]:
    return [
        float(value)
        for row in sheet.rows
        for value, unit in zip(row, sheet.units, strict=True)
        if isinstance(value, float) and (unit == currency or (unit.startswith("row") and row[1] == currency))
    ]


def _row(sheet: Sheet, place: int, periods: Sequence[str], scale: Scale, currency: str) -> list[str]:
    row = sheet.rows[place]
    units = [_unit(unit, str(row[1])) for unit in sheet.units]
    texts = [_shown(value, unit, periods, scale, currency) for value, unit in zip(row, units, strict=True)]
    texts = [text or "none" if column in sheet.measured else text for column, text in enumerate(texts)]
    return [f"[{text}]" if (place, column) in sheet.failing else text for column, text in enumerate(texts)]


def _unit(unit: str, of_row: str) -> str:
    """The unit of a cell; how far means of quarters or dates lie apart is a number."""
    if unit == "row error":
        return "number" if of_row in ("quarter", "date") else of_row
    return of_row if unit.startswith("row") else unit


def _shown(value: Value, unit: str, periods: Sequence[str], scale: Scale, currency: str) -> str:
    """A value in its unit; blank where there is nothing."""
    if isinstance(value, str):
        return value
    number = float(value)
    if np.isnan(number):
        return ""
    if unit == currency:
        return money(number, scale)
    if unit == "date":
        return from_serial(round(number)).isoformat()
    if unit == "quarter" and 0 <= round(number) < len(periods):
        return periods[round(number)]
    if unit in ("1/year", "share"):
        return percent(round(number, 4))
    return f"{number:,.15g}" if number.is_integer() else f"{number:,.2f}"


def _about(study: xr.Dataset) -> list[str]:
    """How many runs there were, and what the numbers do not say by themselves."""
    about = study.attrs
    lines = []
    if about["kind"] == "montecarlo":
        lines.append(
            f"{about['draws']:,} draws ({about['method']}, seed {about['seed']}) in {about['replicates']} replicates, "
            f"whose spread is what stands under +-. Shortfall is the mean of the worst {percent(about['tail'])} of the "
            "draws that have the measure."
        )
    elif "runs" in about:
        lines.append(f"{about['runs']:,} runs.")
    if about["kind"] == "breakeven":
        lines.append(
            f"The bracket was scanned at {about['scanned']} values; two changes between two of them are not seen."
        )
    broken = about.get("laws_broken", 0)
    if broken == "not checked":
        lines.append("The laws of the model were not checked.")
    elif broken:
        lines.append(f"A law of the model is broken in {broken:,} runs: these results are not sound.")
    return lines
