"""One line explained: its formula in words, each part with its value, and where that comes from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from stuckstep.deal import Cell, Deal, DealError, Fault, base, from_serial
from stuckstep.deal.sources import source_of
from stuckstep.engines import text
from stuckstep.results import Part, Solution, solve

from .amounts import HALF_CENT, money, number, percent
from .console import Block, Heading, Sentence, Table

NEVER = 2_900_000.0  # the date that stands for never
ABOVE, EARLIER = "opened above", "not opened: a period of its own"
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

    DealError for an unknown line, period or scenario, and for a name that several lines answer to.
    """
    solution = solve(deal, [scenario])
    part, place = solution.where(scenario)
    name = find_line(part, line)
    time, note = find_period(solution, part, name, period)
    currency = str(base(deal).cell("deal", "currency", "value"))
    reader = _Reader(solution, part, place, currency)
    found = part.lines[name]
    steps = tuple(_walk(reader, name, time, depth))
    return Explanation(name, found.says, scenario, note, steps)


def find_period(solution: Solution, part: Part, name: str, period: str | None) -> tuple[int, str]:
    """The position of a period, and the period in words. A line without periods is the same in all of them."""
    periods = solution.periods
    if part.lines[name].kind == "static":
        return 0, "every period"
    asked = (period or "").strip().upper()
    if asked in periods.labels:
        time, note = periods.labels.index(asked), ""
    elif asked in periods.quarter_labels:
        quarter = periods.quarter_labels.index(asked)
        time = int((periods.quarter_index == quarter).nonzero()[0][-1])
        note = f"the last month of {asked}; "
    else:
        wrong = f"there is no period '{period}'" if period else f"{name} has a value in every period, and none is named"
        names = f"{periods.labels[0]} to {periods.labels[-1]}"
        if periods.labels != periods.quarter_labels:
            names += f" and {periods.quarter_labels[0]} to {periods.quarter_labels[-1]}"
        raise DealError([Fault(period or "QUARTER", None, None, wrong, f"{names} are allowed")])
    first, after = periods.first_day[time], periods.next_first_day[time]
    return time, f"{periods.labels[time]} ({note}{from_serial(first)} to {from_serial(after - 1)})"


def find_line(part: Part, typed: str) -> str:
    """The line a user means: its full name, a claim (what falls due on it), or row.item with or without a phase."""
    for names in _readings(part, typed.strip()):
        if len(names) == 1:
            return names[0]
        if names:
            wrong = f"several lines answer to '{typed}'"
            raise DealError([Fault("LINE", None, None, wrong, f"one of {_listed(names)} is allowed")])
    wrong = f"there is no line '{typed}'"
    near = _nearest(part, typed)
    raise DealError([Fault("LINE", None, None, wrong, f"nearest are {_listed(near)}" if near else "see --help")])


def _readings(part: Part, typed: str) -> Iterator[list[str]]:
    """The lines a name may mean, the nearest reading first."""
    lines = part.lines
    head, at, phase = typed.partition("@")
    yield [name for name in (typed, f"claims.{typed}.due", f"claims.{head}.due{at}{phase}") if name in lines][:1]
    for fold in (str, _folded):
        wanted, wanted_head = fold(typed), fold(head)
        yield [name for name in lines if fold(name) == wanted]
        yield [name for name, line in lines.items() if fold(_short(name, line.table)) == wanted]
        bare = [
            name for name, line in lines.items() if fold(f"{line.row}.{line.item}") == wanted_head
        ] if not at else []  # fmt: skip
        own = [name for name in bare if lines[name].phase != "deal"]
        yield own or bare
    yield [name for name, line in lines.items() if _folded(line.row) == _folded(typed) and line.table != "checks"]


def _short(name: str, table: str) -> str:
    return name.removeprefix(f"{table}.")


def _folded(name: str) -> str:
    return name.casefold().replace("_", " ")


def _nearest(part: Part, typed: str) -> list[str]:
    import difflib

    shorts = {_folded(_short(name, line.table)): _short(name, line.table) for name, line in part.lines.items()}
    for line in part.lines.values():
        if line.table == "claims" and line.item == "due":
            shorts[_folded(line.row)] = line.row
    return [shorts[key] for key in difflib.get_close_matches(_folded(typed), list(shorts), 5, 0.6)]


def _listed(names: list[str], most: int = 12) -> str:
    shown = [f"'{name}'" if " " in name else name for name in names[:most]]
    more = len(names) - most
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _walk(reader: _Reader, name: str, time: int, depth: int | None) -> Iterator[Step]:
    """The steps from a line down, each line opened once; iterative, for chains over hundreds of periods."""
    opened: set[tuple[str, int]] = set()
    top = text.Part(name, "line", name)
    waiting: list[tuple[int, text.Part, int]] = [(0, top, time)]
    while waiting:
        level, part, at = waiting.pop()
        step, below = _step(reader, level, part, at, depth is None or level < depth, depth is None, opened)
        yield step
        waiting += [(level + 1, inner, when) for inner, when in reversed(below)]


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
        return
    yield Sentence("")
    for step in below:
        pad = 2 * step.depth
        note = f" ({step.note})" if step.note else ""
        yield Sentence(f"{step.words}: {step.value}   [{_origin(step)}]{note}", indent=pad)
        if step.formula:
            yield Sentence(f"= {step.formula}", indent=pad + 2)
            if step.filled not in (step.formula, step.value):
                yield Sentence(f"= {step.filled}", indent=pad + 2)
    if any(step.note == EARLIER for step in below):
        yield Sentence("")
        yield Sentence("Lines one period earlier are not opened: explain them in that period.")


def _origin(step: Step, *, with_words: bool = False) -> str:
    said = f"; source: {step.source}" if step.source and step.source != "default" else ""
    said = " (blank: its default)" if step.source == "default" else said
    words = f": {step.says}" if with_words and step.says else ""
    return f"{step.origin}{said}{words}"
