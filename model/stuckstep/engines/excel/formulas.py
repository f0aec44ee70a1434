"""Reads the lines as live spreadsheet formulas: one row for each line, one formula along all periods.

Every calculation sheet has the same columns: label, what it says, unit, constant, total, the period before the first,
then one column for each period. A static line stands in the constant column. What this module makes is plain content by
cell; dressing it is the business of the reports.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from openpyxl.utils import get_column_letter, quote_sheetname

from stuckstep.deal import Cell
from stuckstep.rules.expression import Node
from stuckstep.rules.lines import Line, Lines

from .content import Cells, Content, Formula, Placed

LABEL, SAYS, UNIT, CONSTANT, TOTAL, BEFORE, FIRST_PERIOD = range(1, 8)
PERIOD_ROW, FIRST_DAY_ROW, NEXT_FIRST_DAY_ROW, DAYS_ROW, FIRST_ROW = 3, 4, 5, 6, 9
LONGEST_FORMULA = 8192  # characters a spreadsheet accepts
TIMELINE = "constants"
SHEETS: Mapping[str, str] = {
    "constants": TIMELINE,
    "phases": "schedule",
    "steps": "schedule",
    "relief": "relief",
    "contracts": "contracts_calc",
    "mw": "contracts_calc",
    "claims": "claims_calc",
    "facilities": "facilities_calc",
    "supports": "accounts_calc",
    "accounts": "accounts_calc",
    "parties": "parties_calc",
    "checks": "checks",
}
# The lines that end a block, in the order of the eye: opening, what is added and taken, closing.
CORKSCREWS: Mapping[str, tuple[str, ...]] = {
    "claims": ("unpaid before", "late", "due", "claimed", "paid", "unpaid"),
    "facilities": (
        *("cfads", "debt service", "dscr", "fallen due before", "fallen due", "drawn before", "drawn"),
        *("balance before", "draw", "repaid", "balance"),
    ),
}
_HERE, _BEFORE = "\x01", "\x02"  # stand for the letters of this column and the one before it


class Address(NamedTuple):
    """Where a line or a block's heading stands."""

    sheet: str
    row: int


class Layout(NamedTuple):
    """Where each line stands, and the headings of the blocks of lines that belong together."""

    lines: Mapping[str, Address]
    headings: Mapping[Address, str]
    periods: int

    @property
    def last_column(self) -> int:
        return FIRST_PERIOD + self.periods - 1


def lay_out(lines: Lines, periods: int, reserved: Mapping[str, int] | None = None) -> Layout:
    """A sheet for each table of lines, a block for each row of the table, its lines in the order they were said.

    Corkscrews stand last in their block. `reserved` gives the rows to leave free at the top of a sheet.
    """
    blocks: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines.values():
        blocks.setdefault((SHEETS[line.table], line.table, line.row), []).append(line)
    next_row = {sheet: FIRST_ROW + (reserved or {}).get(sheet, 0) for sheet in SHEETS.values()}
    places: dict[str, Address] = {}
    headings: dict[Address, str] = {}
    for (sheet, table, row), members in sorted(blocks.items(), key=lambda block: _sheet_order(block[0][0])):
        headings[Address(sheet, next_row[sheet])] = f"{table}: {row}"
        for position, line in enumerate(sorted(members, key=_in_block), start=next_row[sheet] + 1):
            places[line.name] = Address(sheet, position)
        next_row[sheet] += len(members) + 2
    return Layout(places, headings, periods)


def _in_block(line: Line) -> int:
    corkscrew = CORKSCREWS.get(line.table, ())
    return corkscrew.index(line.item) if line.phase is None and line.item in corkscrew else -1


def _sheet_order(sheet: str) -> int:
    return list(SHEETS.values()).index(sheet)


def timeline(layout: Layout, start: str, months: int) -> Cells:
    """The clock rows of every calculation sheet; `start` is the cell of the first day, `months` a period's length.

    Every period is counted from the start, so that one formula fills each row.
    """
    columns = range(FIRST_PERIOD, layout.last_column + 1)
    length = f"${get_column_letter(CONSTANT)}${NEXT_FIRST_DAY_ROW}"
    yield Placed(TIMELINE, NEXT_FIRST_DAY_ROW, CONSTANT, float(months))
    for sheet in dict.fromkeys(SHEETS.values()):
        for column in columns:
            here, before = get_column_letter(column), get_column_letter(column - 1)
            first_day = f"{here}{FIRST_DAY_ROW}"
            rows = {
                PERIOD_ROW: f"={before}{PERIOD_ROW}+1",
                FIRST_DAY_ROW: f"=DATE(YEAR({start}),MONTH({start})+{length}*({here}{PERIOD_ROW}-1),1)",
                NEXT_FIRST_DAY_ROW: f"=DATE(YEAR({first_day}),MONTH({first_day})+{length},1)",
            }
            if sheet != TIMELINE:
                rows = {row: f"={TIMELINE}!{here}{row}" for row in rows}
            for row, formula in rows.items():
                yield Placed(sheet, row, column, Formula(formula))
            yield Placed(sheet, DAYS_ROW, column, Formula(f"={here}{NEXT_FIRST_DAY_ROW}-{here}{FIRST_DAY_ROW}"))


def formulas(lines: Lines, layout: Layout, live: Callable[[Cell], str], base: Callable[[Cell], str]) -> Cells:
    """The cells of every line; `live` and `base` give the cells of an input's values."""
    letters = [get_column_letter(column) for column in range(1, layout.last_column + 1)]
    for name, line in lines.items():
        sheet, row = layout.lines[name]
        writer = _Writer(layout, lines, sheet, live, base)
        if line.kind == "static":
            yield Placed(sheet, row, CONSTANT, _content(name, line.value, writer))
            continue
        if line.opening is not None:
            yield Placed(sheet, row, BEFORE, _content(name, line.opening, writer))
        formula = _formula(name, line.value, writer)
        for column in range(FIRST_PERIOD, layout.last_column + 1):
            text = formula.replace(_HERE, letters[column - 1]).replace(_BEFORE, letters[column - 2])
            yield Placed(sheet, row, column, Formula(text))


def _content(name: str, value: Node, writer: "_Writer") -> Content:
    """A number that stands for itself is a value; anything else a formula."""
    if value.operator == "number":
        assert isinstance(value.leaf, float)
        return value.leaf
    return _formula(name, value, writer)


def _formula(name: str, value: Node, writer: "_Writer") -> Formula:
    formula = Formula("=" + writer.write(value))
    if len(formula) + formula.count(_HERE) * 2 > LONGEST_FORMULA:
        raise ValueError(f"the formula of {name} is longer than the {LONGEST_FORMULA} characters of a spreadsheet")
    return formula


class _Writer:
    """Writes an expression as a formula on one sheet, with as few brackets as the order of operations allows."""

    def __init__(
        self,
        layout: Layout,
        lines: Lines,
        sheet: str,
        live: Callable[[Cell], str],
        base: Callable[[Cell], str],
    ) -> None:
        self.layout, self.lines, self.sheet, self.live, self.base = layout, lines, sheet, live, base

    def write(self, node: Node) -> str:
        parts = node.parts
        match node.operator:
            case "number":
                return f"{node.leaf:.17g}"
            case "input" | "base":
                assert isinstance(node.leaf, Cell)
                return self.live(node.leaf) if node.operator == "input" else self.base(node.leaf)
            case "clock":
                return self._clock(str(node.leaf))
            case "line":
                return self._line(str(node.leaf))
            case "last":
                address = self.layout.lines[str(node.leaf)]
                return f"{self._sheet(address.sheet)}{_BEFORE}{address.row}"
            case "add" | "subtract":
                sign = "+" if node.operator == "add" else "-"
                return f"{self.write(parts[0])}{sign}{self._bracketed(parts[1], _SUMS)}"
            case "multiply" | "divide":
                sign = "*" if node.operator == "multiply" else "/"
                return f"{self._bracketed(parts[0], _SUMS)}{sign}{self._bracketed(parts[1], _SUMS | _PRODUCTS)}"
            case "least" | "most":
                function = "MIN" if node.operator == "least" else "MAX"
                return f"{function}({','.join(self.write(part) for part in parts)})"
            case "choose":
                return f"IF({self._condition(parts[0])},{self.write(parts[1])},{self.write(parts[2])})"
            case "below" | "upto":
                return f"IF({self._condition(node)},1,0)"
            case "ratio":
                left = self._bracketed(parts[0], _SUMS)
                right = self._bracketed(parts[1], _SUMS | _PRODUCTS)
                return f"IF({self.write(parts[1])}>0,{left}/{right},0)"
            case "whole":
                return f"INT({self.write(parts[0])})"
            case "month":
                date = self.write(parts[0])
                return f"(YEAR({date})*12+MONTH({date}))"
            case "pick":
                return self._pick(parts[0], parts[1:])
        raise ValueError(f"the spreadsheet reader cannot express {node.operator}")

    def _bracketed(self, node: Node, weaker: frozenset[str]) -> str:
        text = self.write(node)
        return f"({text})" if node.operator in weaker else text

    def _condition(self, node: Node) -> str:
        if node.operator not in ("below", "upto"):
            return self.write(node)
        sign = "<" if node.operator == "below" else "<="
        return f"{self.write(node.parts[0])}{sign}{self.write(node.parts[1])}"

    def _sheet(self, sheet: str) -> str:
        return "" if sheet == self.sheet else f"{quote_sheetname(sheet) if ' ' in sheet else sheet}!"

    def _line(self, name: str) -> str:
        sheet, row = self.layout.lines[name]
        if self.lines[name].kind == "static":
            return f"{self._sheet(sheet)}${get_column_letter(CONSTANT)}{row}"
        return f"{self._sheet(sheet)}{_HERE}{row}"

    def _clock(self, name: str) -> str:
        if name == "horizon":
            return f"{self._sheet(TIMELINE)}${get_column_letter(self.layout.last_column)}${NEXT_FIRST_DAY_ROW}"
        rows = {"first_day": FIRST_DAY_ROW, "next_first_day": NEXT_FIRST_DAY_ROW, "days": DAYS_ROW}
        return f"{_HERE}${rows[name]}"

    def _pick(self, position: Node, choices: Sequence[Node]) -> str:
        """The lines of a list stand below each other, which the layout keeps."""
        places = [self.layout.lines[str(choice.leaf)] for choice in choices]
        first = places[0]
        if [place.row for place in places] != list(range(first.row, first.row + len(places))):
            raise ValueError(f"the list that begins with {choices[0].leaf} does not stand in one piece")
        column = get_column_letter(CONSTANT)
        listed = f"{self._sheet(first.sheet)}${column}${first.row}:${column}${places[-1].row}"
        return f"INDEX({listed},{self.write(position)}+1)"


_SUMS = frozenset({"add", "subtract"})
_PRODUCTS = frozenset({"multiply", "divide"})
