"""The results of every scenario as the engine's values, the chosen one live, and a check that both agree."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from openpyxl.utils import get_column_letter

from stuckstep.engines import excel
from stuckstep.engines.excel import Formula
from stuckstep.results.grid import NEVER
from stuckstep.results.solve import Array
from stuckstep.rules.checks import LAWS
from stuckstep.rules.lines import name_of

from .grid import MASTER, set_print, set_widths
from .model import SELECTOR, Model
from .pages import Page
from .summaries import Dates, Stuck, cell_of, constant

LABEL, OF, UNIT, LIVE, ENGINE, DIFFERS, FIRST_SCENARIO = range(1, 8)
HEADS_ROW, POSITION_ROW, FIRST_ROW = 2, 3, 5
DIFFERING = f"results!${get_column_letter(DIFFERS)}${POSITION_ROW}"
_HEADS = ("Result", "Of", "Unit", "Live: chosen scenario", "Engine: chosen scenario", "Differs")
Values = Sequence[float | str]


class Result(NamedTuple):
    """One row: what it is, the live formula, and the engine's values by scenario."""

    label: str
    of: str
    unit: str
    number_format: str
    live: str
    values: Values


def add_results(page: Page, model: Model, stuck: Mapping[str, Stuck], dates: Mapping[str, Dates]) -> Mapping[str, int]:
    """The results sheet; gives the row of each result by `label of`."""
    scenarios = model.shown
    last = get_column_letter(FIRST_SCENARIO + len(scenarios) - 1)
    first = get_column_letter(FIRST_SCENARIO)
    page.put(1, LABEL, "Results: every scenario as computed by the engine, and the chosen one live", "title")
    for column, head in enumerate((*_HEADS, *scenarios), start=LABEL):
        page.put(HEADS_ROW, column, head, "number heading" if column >= LIVE else "heading")
    page.put(POSITION_ROW, LABEL, "Chosen scenario", "key")
    page.put(POSITION_ROW, OF, Formula(f"={SELECTOR}"), "key link")
    position = Formula(f"=MATCH({SELECTOR},{first}{HEADS_ROW}:{last}{HEADS_ROW},0)")
    page.put(POSITION_ROW, UNIT, "place", "unit")
    page.put(POSITION_ROW, ENGINE, position, "link", "number")
    rows: dict[str, int] = {}
    row = FIRST_ROW
    for group in _groups(model, stuck, dates):
        for result in group(row):
            rows[f"{result.label} {result.of}"] = row
            _put(page, model, row, result, last)
            row += 1
        row += 1
    differs = get_column_letter(DIFFERS)
    count = Formula(f"=SUM({differs}{FIRST_ROW}:{differs}{row})")
    page.put(POSITION_ROW, DIFFERS, count, "key formula", "number")
    page.heights[HEADS_ROW] = 36.0
    set_widths(page, (24, 24, 10, 20, 20, 9, *([16.0] * len(scenarios))))
    page.sheet.freeze_panes = f"{first}{HEADS_ROW + 2}"
    set_print(page, f"1:{POSITION_ROW}", "A:C")
    return rows


def _put(page: Page, model: Model, row: int, result: Result, last: str) -> None:
    first = get_column_letter(FIRST_SCENARIO)
    is_key = result.label in ("billing", "stuck step", "half paid", "paid", "unpaid at the end")
    page.put(row, LABEL, result.label, "key" if is_key else "label")
    page.put(row, OF, result.of, "label")
    page.put(row, UNIT, result.unit, "unit")
    is_text = isinstance(result.values[0], str)
    role = "text link" if is_text else "key link" if is_key else "link"
    page.put(row, LIVE, Formula(f"={result.live}"), role, result.number_format)
    engine = Formula(f"=INDEX({first}{row}:{last}{row},${get_column_letter(ENGINE)}${POSITION_ROW})")
    page.put(row, ENGINE, engine, "text value" if is_text else "formula", result.number_format)
    live, stored = (f"{get_column_letter(column)}{row}" for column in (LIVE, ENGINE))
    differs = f"=IF({live}={stored},0,1)"
    if result.number_format == "money":
        differs = f"=IF(ABS({live}-{stored})<={constant(model, 'half_cent')},0,1)"
    page.put(row, DIFFERS, Formula(differs), "link" if "!" in differs else "formula", "flag")
    for column, value in enumerate(result.values, start=FIRST_SCENARIO):
        page.put(row, column, value, "text value" if is_text else "value", result.number_format)


def _groups(
    model: Model, stuck: Mapping[str, Stuck], dates: Mapping[str, Dates]
) -> Iterator[Callable[[int], Iterator[Result]]]:
    """The blocks of the sheet; each is given the row it begins in."""
    for phase in model.sheets.keys("phases"):
        yield lambda row, phase=phase: _phase(model, phase, stuck[phase])  # type: ignore[misc]
    for party in model.sheets.keys("parties"):
        yield lambda row, party=party: _party(model, party, dates[party], row)  # type: ignore[misc]
    yield lambda row: _money(model)
    yield lambda row: _laws(model)


def _line(model: Model, name: str, column: int = excel.FIRST_PERIOD) -> str:
    return cell_of(model, name, "results", column)


def _serials(model: Model, variable: str, label: str) -> list[float]:
    """Dates of the Dataset as serials, 0 where there is none."""
    found = model.by_scenario(variable, label)
    days = found.astype("datetime64[D]").astype(np.int64) + 25569.0
    return [0.0 if np.isnat(date) else float(day) for date, day in zip(found, days, strict=True)]


def _static(model: Model, name: str) -> list[float]:
    """A static line's values by scenario, base first."""
    return [float(value) for value in model.solution.static(name)[model.columns]]


def _series(model: Model, name: str) -> Array:
    """A line's values (period, scenario), base first."""
    return model.solution.line(name)[:, model.columns]


def _phase(model: Model, phase: str, stuck: Stuck) -> Iterator[Result]:
    names = {item: name_of("phases", phase, item) for item in ("planned billing", "billing", "days late", "cancelled")}
    for item in ("planned billing", "billing"):
        yield Result(item, phase, "date", "date", _line(model, names[item]), _static(model, names[item]))
    late, cancelled = (_line(model, names[item]) for item in ("days late", "cancelled"))
    days = [0.0 if day > NEVER / 2 else day for day in _static(model, names["days late"])]
    yield Result("days late", phase, "days", "number", f"IF({cancelled}>0,0,{late})", days)
    yield Result("cancelled", phase, "flag", "flag", cancelled, _static(model, names["cancelled"]))
    found = model.by_scenario("stuck_step", phase)
    yield Result("stuck step", phase, "step", "general", stuck.step, [str(step) or "none" for step in found])


def _party(model: Model, party: str, dates: Dates, row: int) -> Iterator[Result]:
    half = _serials(model, "half_paid", party)
    for label, cell in zip(("first paid", "half paid", "last paid"), dates, strict=False):
        values = half if label == "half paid" else _serials(model, label.replace(" ", "_"), party)
        yield Result(label, party, "date", "date or none", cell, values)
    here, base = f"{get_column_letter(LIVE)}{row + 1}", f"${get_column_letter(FIRST_SCENARIO)}{row + 1}"
    months = f"(YEAR({here})*12+MONTH({here})-YEAR({base})*12-MONTH({base}))/3"
    late = model.by_scenario("quarters_late", party)
    quarters = [0.0 if np.isnan(number) else float(number) for number in late]
    live = f"IF({here}*{base}>0,{months},0)"
    yield Result("half paid later than base", party, "quarters", "number", live, quarters)
    never = [float(half[0] > 0 and date == 0) for date in half]
    yield Result("never half paid", party, "flag", "flag", f"IF({base}>0,1,0)*IF({here}>0,0,1)", never)
    for item, label in (("due", "due"), ("paid", "paid")):
        name = name_of("parties", party, item)
        total = [float(value) for value in _series(model, name).sum(axis=0)]
        yield Result(label, party, model.currency, "money", cell_of(model, name, "results"), total)
    name = name_of("parties", party, "unpaid")
    unpaid = [float(value) for value in _series(model, name)[-1]]
    yield Result("unpaid at the end", party, model.currency, "money", _at_end(model, name), unpaid)


def _at_end(model: Model, name: str) -> str:
    return cell_of(model, name, "results", model.layout.last_column)


def _money(model: Model) -> Iterator[Result]:
    """What facilities and supports gave, the cash left, and what stays unpaid."""
    currency = model.currency
    for table, item, label in (("facilities", "draw", "drawn"), ("supports", "paid", "supported")):
        for row in model.sheets.keys(table):
            name = name_of(table, row, item)
            total = [float(value) for value in _series(model, name).sum(axis=0)]
            yield Result(label, row, currency, "money", cell_of(model, name, "results"), total)
    for table, item, label in (
        ("facilities", "balance", "balance at the end"),
        ("accounts", "closing", "cash at the end"),
    ):
        for row in model.sheets.keys(table):
            name = name_of(table, row, item)
            values = [float(value) for value in _series(model, name)[-1]]
            yield Result(label, row, currency, "money", _at_end(model, name), values)
    unpaid = name_of("checks", "deal", "unpaid")
    values = [float(value) for value in _series(model, unpaid)[-1]]
    yield Result("unpaid at the end", "deal", currency, "money", _at_end(model, unpaid), values)


def _laws(model: Model) -> Iterator[Result]:
    broken = sum((_series(model, name_of("checks", law, "broken")).max(axis=0) for law in LAWS), start=np.zeros(1))
    yield Result("laws broken", "model", "number", "number", MASTER, [float(value) for value in broken])
