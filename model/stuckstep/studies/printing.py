"""Studies as they are printed: the sheets' numbers as people read them, with what fails in square brackets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from stuckstep.deal import from_serial
from stuckstep.reports.amounts import Scale, money, percent, scale_of
from stuckstep.reports.console import Block, Heading, Sentence, Table

from .sheets import Sheet, Value, sheets


def blocks(study: xr.Dataset, periods: Sequence[str]) -> list[Block]:
    """A study's tables as blocks for the console; `periods` names the positions that quarters stand on."""
    found: list[Block] = [Heading(_heading(study))]
    for sheet in sheets(study):
        scale = scale_of(_amounts(sheet, str(study.attrs["currency"])))
        rows = [_row(sheet, place, periods, scale, str(study.attrs["currency"])) for place in range(len(sheet.rows))]
        text = frozenset(place for place, unit in enumerate(sheet.units) if unit == "")
        title = sheet.title + (f" ({study.attrs['currency']} {scale.suffix})" if scale.suffix else "")
        found.append(Table(sheet.headings, rows, text, title))
        if sheet.measure:
            shown = _shown(sheet.base_value, sheet.units[-1], periods, scale, str(study.attrs["currency"]))
            found.append(Sentence(f"{sheet.measure} in {sheet.start}, with nothing moved: {shown or 'none'}."))
        if sheet.failing:
            found.append(Sentence("What stands in square brackets fails the test."))
    found += [Sentence(line) for line in _about(study)]
    return found


def _heading(study: xr.Dataset) -> str:
    kinds = {"oneway": "one cell", "twoway": "two cells", "tornado": "each cell alone", "breakeven": "break-even",
             "montecarlo": "Monte Carlo", "attribution": "what caused it", "delay": "one more quarter of delay",
             "indices": "Sobol indices"}  # fmt: skip
    name = str(study.attrs.get("study", ""))
    return f"{study.attrs['title']}: {kinds[study.attrs['kind']]}" + (f", {name}" if name else "")


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
    return [f"[{text}]" if (place, column) in sheet.failing else text for column, text in enumerate(texts)]


def _unit(unit: str, of_row: str) -> str:
    """The unit of a cell; a mean of quarters or days is a number."""
    if unit == "row mean":
        return "number" if of_row in ("quarter", "date", "days", "periods") else of_row
    return of_row if unit == "row" else unit


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
        return from_serial(number).isoformat()
    if unit == "quarter":
        whole = number.is_integer() and 0 <= number < len(periods)
        return periods[int(number)] if whole else f"{number:,.2f}"
    if unit in ("1/year", "share"):
        return percent(round(number, 4))
    return f"{number:,.15g}" if number.is_integer() else f"{number:,.4f}"


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
