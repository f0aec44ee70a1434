"""One line explained: its formula in words, each part with its value, and where that comes from."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from stuckstep.deal import Cell, Deal, base, from_serial
from stuckstep.deal.sources import source_of
from stuckstep.engines import text
from stuckstep.results import Part, Solution, solve

from .amounts import HALF_CENT, money, number, percent
from .console import Block, Heading, Sentence, Table
from .lookup import find_line, find_period

NEVER = 2_900_000.0  # the date that stands for never
ABOVE, EARLIER = "opened above", "not opened: a period of its own"
DUST = 1e-6  # money below it is what adding and subtracting large amounts leaves
FACT = re.compile(r"\b[A-Z][A-Z0-9]*-[A-Z0-9]+\b")
_PER_CENT = ("1/year", "share", "1")


class Step(NamedTuple):
    """One part of an explanation: a line, an input, a clock or a constant, with its value.

    depth counts from 0, the line explained. formula and filled (the same with values) are blank for what is not opened;
    `note` says why a line is not.
    """

    depth: int
    words: str
    value: str
    origin: str
    says: str = ""
    source: str = ""
    formula: str = ""
    filled: str = ""
    note: str = ""


class Explanation(NamedTuple):
    """What was asked, and its steps from the line down."""

    line: str
    says: str
    scenario: str
    period: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class _Reader:
    """Reads the values of one scenario."""

    solution: Solution
    part: Part
    place: int
    currency: str

    def value(self, name: str, time: int | None) -> float:
        """A line's value in a period (any for a static line)."""
        values = self.part.values[name]
        return float(values[self.place] if values.ndim == 1 else values[time or 0, self.place])

    def shown(self, value: float, unit: str) -> str:
        return shown(value, unit, self.currency)

    def label(self, time: int) -> str:
        return self.solution.periods.labels[time]


def explain(
    deal: Deal, line: str, period: str | None = None, scenario: str = "base", depth: int | None = 1
) -> Explanation:
    """Explains a line as a user names it, `depth` levels down (None: down to the inputs, within the period).

    A part that is all of its line takes no level. DealError for an unknown line, period or scenario, and for a name
    that several lines answer to.
    """
    solution = solve(deal, [scenario])
    part, place = solution.where(scenario)
    name = find_line(part, line)
    asked = find_period(solution, part, name, period)
    currency = str(base(deal).cell("deal", "currency", "value"))
    reader = _Reader(solution, part, place, currency)
    found = part.lines[name]
    if len(asked.times) > 1:
        steps = tuple(_months(reader, name, asked.times, depth))
    else:
        steps = tuple(_walk(reader, text.Part(name, "line", name), asked.times[0], depth))
    return Explanation(name, found.says, scenario, asked.says, steps)


def _months(reader: _Reader, name: str, times: tuple[int, ...], depth: int | None) -> Iterator[Step]:
    """The amount of a quarter as the sum of its months, and below it each month."""
    unit = reader.part.lines[name].unit
    values = [reader.value(name, time) for time in times]
    labels = [reader.label(time) for time in times]
    filled = " + ".join(bare(value, unit) for value in values)
    yield Step(0, name, reader.shown(sum(values), unit), f"line {name}", "", "", " + ".join(labels), filled)
    below = None if depth is None else depth - 1
    for time, at in zip(times, labels, strict=True):
        for step in _walk(reader, text.Part(at, "line", name), time, below):
            yield step._replace(depth=step.depth + 1)


def _walk(reader: _Reader, top: text.Part, time: int, depth: int | None) -> Iterator[Step]:
    """The steps from a part down, each line opened once; iterative, for chains over hundreds of periods."""
    opened: set[tuple[str, int]] = set()
    levels = 1_000_000 if depth is None else depth
    waiting: list[tuple[int, text.Part, int, int]] = [(0, top, time, levels)]
    while waiting:
        level, part, at, left = waiting.pop()
        step, below = _step(reader, level, part, at, left > 0, depth is None, opened)
        yield step
        left -= len(below) > 1  # what has one part is that part by another name
        waiting += [(level + 1, inner, when, left) for inner, when in reversed(below)]


def _step(
    reader: _Reader, level: int, part: text.Part, time: int, opens: bool, stays: bool, opened: set[tuple[str, int]]
) -> tuple[Step, list[tuple[text.Part, int]]]:
    """One part as a step, and the parts below it that are to be shown."""
    if part.kind in ("input", "base"):
        return _input_step(reader, level, part), []
    if part.kind == "clock":
        return Step(level, part.words, _clock(reader, str(part.reads), time), "calendar"), []
    name = str(part.reads)
    line = reader.part.lines[name]
    if part.kind == "last":
        if time == 0:
            return _opening_step(reader, level, part), []
        time -= 1
    if line.table == "constants":
        value = bare(reader.value(name, time), "date" if line.unit == "date" else "number")
        return Step(level, part.words, value, "constant of the rules", line.says), []
    value = reader.shown(reader.value(name, time), line.unit)
    is_static = line.kind == "static"
    origin = f"line {name}" + ("" if part.kind == "line" else f" in {reader.label(time)}")
    key = (name, 0 if is_static else time)
    if not opens or key in opened:
        return Step(level, part.words, value, origin, line.says, note=ABOVE if opens else ""), []
    if part.kind == "last" and stays:
        return Step(level, part.words, value, origin, line.says, note=EARLIER), []
    opened.add(key)
    below = [(inner, time) for inner in text.parts(line, reader.part.lines)]
    words = text.formula(line, reader.part.lines)
    filled = text.formula(line, reader.part.lines, lambda inner: _bare(reader, inner, time))
    return Step(level, part.words, value, origin, line.says, "", words, filled), below


def _input_step(reader: _Reader, level: int, part: text.Part) -> Step:
    cell = part.reads
    assert isinstance(cell, Cell)
    sheets, scenario = reader.part.sheets, reader.solution.scenarios[0]
    if part.kind == "base":
        sheets, scenario = base(reader.solution.deal), "base"
    where, said = sheets.source(cell, scenario)
    column = where.rpartition("column ")[2]
    said = said if said == "default" else source_of(said, column)
    value = reader.shown(_number(reader, part), sheets.unit(cell))
    return Step(level, part.words, value, where, source=said or "none given")


def _opening_step(reader: _Reader, level: int, part: text.Part) -> Step:
    """What stands before the first period."""
    line = reader.part.lines[str(part.reads)]
    found = text.opening(line, reader.part.lines)
    if isinstance(found, float):
        return Step(level, part.words, reader.shown(found, line.unit), "nothing before the first period")
    step = _input_step(reader, level, found)
    return Step(level, part.words, step.value, f"at the start: {step.origin}", source=step.source)


def _number(reader: _Reader, part: text.Part) -> float:
    cell = part.reads
    assert isinstance(cell, Cell)
    if part.kind == "base":
        return float(base(reader.solution.deal).value(cell)[0])
    return float(reader.part.sheets.value(cell)[reader.place])


def _clock(reader: _Reader, name: str, time: int) -> str:
    periods = reader.solution.periods
    first, after = periods.first_day[time], periods.next_first_day[time]
    if name == "days":
        return number(float(after - first))
    day = {"first_day": first, "next_first_day": after, "horizon": periods.next_first_day[-1]}[name]
    return from_serial(day).isoformat()


def _bare(reader: _Reader, part: text.Part, time: int) -> str:
    """A part's value as it stands in a formula: without currency or unit."""
    if part.kind == "clock":
        return _clock(reader, str(part.reads), time)
    if isinstance(part.reads, Cell):
        return bare(_number(reader, part), reader.part.sheets.unit(part.reads))
    line = reader.part.lines[part.reads]
    if part.kind == "last" and time == 0:
        found = text.opening(line, reader.part.lines)
        return bare(found if isinstance(found, float) else _number(reader, found), line.unit)
    unit = "number" if line.table == "constants" and line.unit != "date" else line.unit
    return bare(reader.value(line.name, time - (part.kind == "last")), unit)


def bare(value: float, unit: str) -> str:
    """A value by its unit, as it stands in a formula: dates as dates, rates in per cent, without a unit."""
    if unit == "date":
        return "never" if value >= NEVER else from_serial(value).isoformat()
    if unit in _PER_CENT:
        return percent(value)
    if unit == "month":
        return f"{int(value - 1) // 12}-{int(value - 1) % 12 + 1:02}"
    if unit == "money" and abs(value) < DUST:
        return "0"
    return f"{value:,.2f}" if unit == "money" and abs(value) >= HALF_CENT else number(value)


def shown(value: float, unit: str, currency: str) -> str:
    """A value by its unit, as it stands by itself: with its currency or unit, negative money in brackets."""
    if unit in ("money", currency):
        amount = money(value)
        return f"{currency} {'0' if amount == '-' else amount}"
    if unit == "flag":
        return "yes" if value else "no"
    if unit in ("date", "month", "number", "units", "x", "years", *_PER_CENT):
        return bare(value, unit)
    return f"{number(value)} {unit}"


def narrative(explanation: Explanation) -> Iterator[Block]:
    """An explanation as it is printed: one level of parts as a table, more as a tree."""
    top, *below = explanation.steps
    yield Heading(f"{explanation.line} = {top.value}")
    yield Sentence(f"{explanation.says}; {explanation.period}; scenario {explanation.scenario}")
    if top.formula:
        yield Sentence("")
        yield Sentence(f"= {top.formula}", indent=2)
        if top.filled != top.formula:
            yield Sentence(f"= {top.filled}", indent=2)
    if below and max(step.depth for step in below) == 1:
        rows = [[step.words, step.value, _origin(step, with_words=True)] for step in below]
        yield Table(["part", "value", "where it comes from"], rows, frozenset({0, 2}))
    else:
        yield Sentence("")
        yield from _tree(below)
    yield from _where_next(below)


def _tree(steps: list[Step]) -> Iterator[Block]:
    for step in steps:
        pad = 2 * step.depth
        note = f" ({step.note})" if step.note else ""
        yield Sentence(f"{step.words}: {step.value}   [{_origin(step)}]{note}", indent=pad)
        if step.formula:
            yield Sentence(f"= {step.formula}", indent=pad + 2)
            if step.filled not in (step.formula, step.value):
                yield Sentence(f"= {step.filled}", indent=pad + 2)


def _where_next(steps: list[Step]) -> Iterator[Block]:
    """How to go on from here."""
    said = []
    if any(step.note == EARLIER for step in steps):
        said.append("Lines one period earlier are not opened: explain them in that period.")
    if any(step.origin.startswith("line ") and not step.formula and not step.note for step in steps):
        said.append("--inputs opens every part down to the sheets' cells and their sources, --depth 2 one level more.")
    fact = next((found[0] for step in steps if (found := FACT.search(step.source))), None)
    if fact is not None:
        said.append(f"What a source says: stuckstep facts {fact}.")
    if said:
        yield Sentence("")
        yield Sentence(" ".join(said))


def _origin(step: Step, *, with_words: bool = False) -> str:
    said = f"; source: {step.source}" if step.source and step.source != "default" else ""
    said = " (blank: its default)" if step.source == "default" else said
    words = f": {step.says}" if with_words and step.says else ""
    return f"{step.origin}{said}{words}"
