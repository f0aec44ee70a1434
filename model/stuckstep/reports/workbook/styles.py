"""How cells look: a role (input, formula, heading) and a number format make a style."""

from collections.abc import Mapping
from typing import NamedTuple

from openpyxl import Workbook
from openpyxl.styles import Alignment, Border, Font, PatternFill, Protection, Side

FONT = "Arial"
INK, GREY, BLUE, GREEN, RED = "1F2933", "6B7280", "0000FF", "00703C", "C00000"
DARK, BAND, INPUT, SHAPE, GOOD, BAD = "1F3A5F", "E8EDF3", "FFF9DB", "EDEDED", "E3F4E8", "FBE3E3"
LINE = "C9D1DA"

FORMATS: Mapping[str, str] = {
    "general": "General",
    "text": "@",
    "money": '#,##0_);(#,##0);"-"_)',
    "price": '#,##0.00_);(#,##0.00);"-"_)',
    "number": '#,##0_);(#,##0);"-"_)',
    "decimal": '#,##0.00##_);(#,##0.00##);"-"_)',
    "exact": "#,##0.##########_);(#,##0.##########);0_)",
    "percent": '0.0%_);(0.0%);"-"_)',
    "rate": '0.00%_);(0.00%);"-"_)',
    "plain": "0",
    "multiple": '0.00"x"_);(0.00"x");"-"_)',
    "multiple or none": '[>=2900000]"none"_);[<0](0.00"x");0.00"x"_)',
    "multiple drawn": '0.00"x"_);"none"_);0.00"x"_)',
    "flag": '0_);(0);"-"_)',
    "date": '[>=2900000]"never"_);[>0]yyyy-mm-dd_);"-"_)',
    "date or none": '[>0]yyyy-mm-dd_);[=0]"none"_);General',
    "input date": "yyyy-mm-dd",
    "number input": "#,##0_);(#,##0);0_)",
    "decimal input": "#,##0.00##########_);(#,##0.00##########);0_)",
    "percent input": "0.0##########%",
    "month": "yyyy-mm",
}


class Look(NamedTuple):
    """What a role looks like."""

    color: str = INK
    fill: str | None = None
    bold: bool = False
    italic: bool = False
    size: float = 9
    align: str | None = None
    wrap: bool = False
    border: bool = False
    unlocked: bool = False
    quoted: bool = False


LOOKS: Mapping[str, Look] = {
    "title": Look(DARK, bold=True, size=14),
    "heading": Look("FFFFFF", DARK, bold=True, wrap=True),
    "number heading": Look("FFFFFF", DARK, bold=True, wrap=True, align="right"),
    "time": Look("FFFFFF", DARK, bold=True, align="right"),
    "clock": Look(GREY, BAND),
    "block": Look(DARK, BAND, bold=True),
    "label": Look(),
    "key": Look(bold=True),
    "says": Look(GREY, italic=True, size=8, wrap=True),
    "unit": Look(GREY),
    "line": Look(),
    "line quoted": Look(quoted=True),
    "wrapped": Look(wrap=True),
    "wrapped quoted": Look(wrap=True, quoted=True),
    "wrapped link": Look(GREEN, wrap=True),
    "lesson": Look(size=10, wrap=True),
    "lesson quoted": Look(size=10, wrap=True, quoted=True),
    "paragraph": Look(GREY, wrap=True),
    "input": Look(BLUE, INPUT, border=True, wrap=True, unlocked=True),
    "input quoted": Look(BLUE, INPUT, border=True, wrap=True, unlocked=True, quoted=True),
    "shape": Look(BLUE, SHAPE, border=True, wrap=True, unlocked=True),
    "shape quoted": Look(BLUE, SHAPE, border=True, wrap=True, unlocked=True, quoted=True),
    "note": Look(GREY, border=True, size=8, wrap=True, unlocked=True),
    "note quoted": Look(GREY, border=True, size=8, wrap=True, unlocked=True, quoted=True),
    "value": Look(),
    "formula": Look(),
    "link": Look(GREEN),
    "text value": Look(align="right"),
    "text link": Look(GREEN, bold=True, align="right"),
    "opening": Look(GREY, BAND),
    "total": Look(bold=True, fill=BAND),
    "key formula": Look(bold=True),
    "key link": Look(GREEN, bold=True),
    "status": Look(bold=True, align="center"),
    "selector": Look(BLUE, INPUT, bold=True, size=11, border=True, unlocked=True),
    "headline": Look(DARK, bold=True, size=11),
    "headline text": Look(DARK, bold=True, size=11, wrap=True),
}


class Styles:
    """The numbers under which a workbook knows its styles, made on first use."""

    def __init__(self, book: Workbook) -> None:
        self.sheet = book.create_sheet("scratch")
        self.book = book
        self.numbers: dict[tuple[str, str], int] = {}

    def number(self, role: str, number_format: str) -> int:
        number = self.numbers.get((role, number_format))
        if number is None:
            number = self.numbers[role, number_format] = self._make(role, number_format)
        return number

    def close(self) -> None:
        self.book.remove(self.sheet)

    def _make(self, role: str, number_format: str) -> int:
        look = LOOKS[role]
        cell = self.sheet.cell(1, len(self.numbers) + 1)
        cell.font = Font(name=FONT, size=look.size, bold=look.bold, italic=look.italic, color=look.color)
        if look.fill is not None:
            cell.fill = PatternFill("solid", start_color=look.fill)
        if look.border:
            side = Side("thin", color=LINE)
            cell.border = Border(side, side, side, side)
        vertical = "top" if look.wrap and look.border else "center"
        cell.alignment = Alignment(horizontal=look.align, vertical=vertical, wrap_text=look.wrap)
        cell.protection = Protection(locked=not look.unlocked)
        cell.number_format = FORMATS[number_format]
        cell.quotePrefix = look.quoted
        return int(cell.style_id)


UNIT_FORMATS: Mapping[str, str] = {
    "money": "money",
    "date": "date",
    "share": "percent",
    "1": "percent",
    "1/year": "rate",
    "month": "plain",
    "x": "multiple",
    "flag": "flag",
    "MW": "decimal",
    "units": "decimal",
}


def format_of(unit: str) -> str:
    """The number format of a unit: whole numbers where nothing else is said."""
    return UNIT_FORMATS.get(unit, "number")
