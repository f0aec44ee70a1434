"""The chosen scenario's results live, every scenario's as the engine gave them, and a check that both agree."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from openpyxl.utils import get_column_letter

from stuckstep.engines import excel
from stuckstep.engines.excel import Formula
from stuckstep.results.grid import NEVER
from stuckstep.results.solve import Array
from stuckstep.rules.checks import LAWS
from stuckstep.rules.constants import CONSTANTS
from stuckstep.rules.lines import name_of

from .checks import STALE
from .grid import MASTER, set_print, set_widths
from .model import SELECTOR, Model
from .pages import Page
from .summaries import Dates, Stuck, cell_of, constant
from .worst import Cover, Worst, owed_lines

LABEL, OF, UNIT, LIVE, ENGINE, DIFFERS, FIRST_SCENARIO = range(1, 8)
HEADS_ROW, POSITION_ROW, FIRST_ROW = 2, 3, 5
DIFFERING = f"results!${get_column_letter(DIFFERS)}${POSITION_ROW}"
_HEADS = ("Result", "Of", "Unit", "Live: chosen scenario", "As exported: chosen scenario", "Differs")
TITLE = "Results: the chosen scenario live, and every scenario as exported (typed values that follow no change)"
FRESH = "As exported: the engine's values"
AGED = "As exported: inputs were changed since, run stuckstep on this file"
UNKNOWN = "run again"  # stands for a comparison with what base no longer comes to
Values = Sequence[float | str]
HALF_CENT = float(CONSTANTS["half_cent"][0])


class Result(NamedTuple):
    """One row: what it is, the live formula, and the engine's values by scenario."""

    label: str
    of: str
    unit: str
    number_format: str
    live: str
    values: Values
    compares: bool = False  # live with base as exported


class Found(NamedTuple):
    """Where the live rows stand that the results show."""

    stuck: Mapping[str, Stuck]
    dates: Mapping[str, Dates]
    worst: Worst
    worst_by_party: Mapping[str, Worst]
    covers: Mapping[str, Cover]


class Rows(NamedTuple):
    """The row of each result by `label of`, and those of the comparisons with base."""

    live: dict[str, int]
    compared: dict[str, int]

    def of(self, result: str) -> int:
        return (self.live | self.compared)[result]


def add_results(page: Page, model: Model, found: Found) -> Rows:
    """The results sheet; gives the row of each result."""
    scenarios = model.shown
    last = get_column_letter(FIRST_SCENARIO + len(scenarios) - 1)
    first = get_column_letter(FIRST_SCENARIO)
    page.put(1, LABEL, TITLE, "title")
    for column, head in enumerate((*_HEADS, *scenarios), start=LABEL):
        page.put(HEADS_ROW, column, head, "number heading" if column >= LIVE else "heading")
    page.put(POSITION_ROW, LABEL, "Chosen scenario", "key")
    page.put(POSITION_ROW, OF, Formula(f"={SELECTOR}"), "key link")
    position = Formula(f"=MATCH({SELECTOR},{first}{HEADS_ROW}:{last}{HEADS_ROW},0)")
    page.put(POSITION_ROW, UNIT, "place", "unit")
    page.put(POSITION_ROW, ENGINE, position, "link", "number")
    page.put(POSITION_ROW, FIRST_SCENARIO, Formula(f'=IF({STALE}>0,"{AGED}","{FRESH}")'), "key link")
    rows = Rows({}, {})
    row = FIRST_ROW
    for group in _groups(model, found, rows):
        for result in group:
            (rows.compared if result.compares else rows.live)[f"{result.label} {result.of}"] = row
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
    if not result.compares:  # a comparison looks at whether anything differs, so it is no part of it
        page.put(row, DIFFERS, Formula(differs), "link" if "!" in differs else "formula", "flag")
    for column, value in enumerate(result.values, start=FIRST_SCENARIO):
        page.put(row, column, value, "text value" if is_text else "value", result.number_format)


def _groups(model: Model, found: Found, rows: Rows) -> Iterator[Iterator[Result]]:
    """The blocks of the sheet; the comparisons stand below what they compare."""
    for phase in model.sheets.keys("phases"):
        yield _phase(model, phase, found.stuck[phase])
    for party in model.sheets.keys("parties"):
        yield _party(model, party, found.dates[party], found.worst_by_party[party])
    yield chain(_money(model), _shortfall(model, found.worst))
    for facility in model.sheets.keys("facilities"):
        yield _cover(model, facility, found.covers[facility])
    yield _laws(model)
    yield (result for party in model.sheets.keys("parties") for result in _comparisons(model, party, rows))


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


def _shortfall(model: Model, worst: Worst) -> Iterator[Result]:
    """Most that is unpaid at the end of a period, when that first is, who is owed most of it, and how much of it."""
    unpaid = _series(model, name_of("checks", "deal", "unpaid"))
    yield Result("most unpaid", "deal", model.currency, "money", worst.amount, _listed(unpaid.max(axis=0)))
    yield Result("most unpaid at the end of", "deal", "date", "date or none", worst.date, _worst_dates(model, unpaid))
    at = unpaid.argmax(axis=0)
    owed = {payee: sum(_series(model, line) for line in lines) for payee, lines in owed_lines(model).items()}
    then = {payee: np.asarray(values)[at, np.arange(len(at))] for payee, values in owed.items()}
    payees = [
        max(then, key=lambda payee, place=place: then[payee][place]) if is_owed else "nobody"  # type: ignore[misc]
        for place, is_owed in enumerate(unpaid.max(axis=0) >= HALF_CENT)
    ]
    yield Result("most of it owed to", "deal", "payee", "general", worst.owed, payees)
    part = _listed(np.max(list(then.values()), axis=0))
    yield Result("owed to that payee", "deal", model.currency, "money", worst.part, part)


def _worst_dates(model: Model, unpaid: Array) -> list[float]:
    """The last day of the first period in which most is unpaid, 0 where nothing ever is."""
    ends = model.periods.next_first_day[unpaid.argmax(axis=0)] - 1.0
    return _listed(np.where(unpaid.max(axis=0) >= HALF_CENT, ends, 0.0))


def _listed(values: Array) -> list[float]:
    return [float(value) for value in values]


def _party(model: Model, party: str, dates: Dates, worst: Worst) -> Iterator[Result]:
    for label, cell in zip(("first paid", "half paid", "last paid"), dates, strict=False):
        values = _serials(model, label.replace(" ", "_"), party)
        yield Result(label, party, "date", "date or none", cell, values)
    for item, label in (("due", "due"), ("paid", "paid")):
        name = name_of("parties", party, item)
        total = [float(value) for value in _series(model, name).sum(axis=0)]
        yield Result(label, party, model.currency, "money", cell_of(model, name, "results"), total)
    name = name_of("parties", party, "unpaid")
    unpaid = [float(value) for value in _series(model, name)[-1]]
    yield Result("unpaid at the end", party, model.currency, "money", _at_end(model, name), unpaid)
    series = _series(model, name)
    yield Result("most unpaid", party, model.currency, "money", worst.amount, _listed(series.max(axis=0)))
    yield Result("most unpaid at the end of", party, "date", "date or none", worst.date, _worst_dates(model, series))


def _comparisons(model: Model, party: str, rows: Rows) -> Iterator[Result]:
    """The live half paid beside base's as exported; no number where inputs were changed: base changed with them."""
    row = rows.live[f"half paid {party}"]
    here, base = f"{get_column_letter(LIVE)}{row}", f"${get_column_letter(FIRST_SCENARIO)}{row}"
    months = f"(YEAR({here})*12+MONTH({here})-YEAR({base})*12-MONTH({base}))/3"
    late = model.by_scenario("quarters_late", party)
    quarters = [0.0 if np.isnan(number) else float(number) for number in late]
    live = f'IF({STALE}>0,"{UNKNOWN}",IF({here}*{base}>0,{months},0))'
    yield Result("half paid later than base", party, "quarters", "number", live, quarters, compares=True)
    half = _serials(model, "half_paid", party)
    never = [float(half[0] > 0 and date == 0) for date in half]
    live = f'IF({STALE}>0,"{UNKNOWN}",IF({base}>0,1,0)*IF({here}>0,0,1))'
    yield Result("never half paid", party, "flag", "flag", live, never, compares=True)


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


def _cover(model: Model, facility: str, cover: Cover) -> Iterator[Result]:
    """The lowest DSCR where an instalment falls due, and when it is."""
    is_tested = _series(model, name_of("claims", f"{facility}.principal", "due")) >= HALF_CENT
    dscr = np.where(is_tested, _series(model, name_of("facilities", facility, "dscr")), NEVER)
    lowest = dscr.min(axis=0)
    yield Result("lowest DSCR", facility, "x", "multiple or none", cover.lowest, _listed(lowest))
    ends = model.periods.next_first_day[dscr.argmin(axis=0)] - 1.0
    dates = _listed(np.where(lowest < NEVER, ends, 0.0))
    yield Result("lowest DSCR at the end of", facility, "date", "date or none", cover.date, dates)


def _laws(model: Model) -> Iterator[Result]:
    broken = sum((_series(model, name_of("checks", law, "broken")).max(axis=0) for law in LAWS), start=np.zeros(1))
    yield Result("laws broken", "model", "number", "number", MASTER, [float(value) for value in broken])
