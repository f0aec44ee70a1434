"""A page: the cells of one sheet as they are put, and their XML. Rows are many, so they are written without openpyxl."""

import math
from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from stuckstep.engines.excel import Content, Formula

from .styles import Style, Styles

class Page:
    """The cells of one sheet. `sheet` is openpyxl's, and holds all but the cells: widths, panes, validations, charts."""

    def __init__(self, sheet: Worksheet, styles: Styles) -> None:
        self.sheet = sheet
        self.name = str(sheet.title)
        self.styles = styles
        self.rows: dict[int, dict[int, tuple[Content, int]]] = {}
        self.heights: dict[int, float] = {}
        self.outlines: dict[int, int] = {}

    def put(self, row: int, column: int, content: Content, role: str, number_format: str = "general") -> None:
        """Puts a number, a text or a formula into a cell; a cell is put once."""
        cells = self.rows.setdefault(row, {})
        if column in cells:
            raise ValueError(f"{self.name}!{get_column_letter(column)}{row} is written twice")
        if not isinstance(content, str):
            content = float(content)
            if not math.isfinite(content):
                raise ValueError(f"{self.name}!{get_column_letter(column)}{row} would hold {content}")
        cells[column] = (content, self.styles.number(Style(role, number_format)))

    def fill(self, row: int, columns: range, role: str) -> None:
        """Empty cells that only look like their role."""
        for column in columns:
            if column not in self.rows.get(row, {}):
                self.put(row, column, "", role)

    def formulas(self) -> Iterator[tuple[int, int, Formula]]:
        """Row, column and formula of every cell with one."""
        for row, cells in self.rows.items():
            for column, (content, _) in cells.items():
                if isinstance(content, Formula):
                    yield row, column, content

    @property
    def size(self) -> tuple[int, int]:
        """The last row and the last column."""
        return max(self.rows, default=1), max((max(cells, default=1) for cells in self.rows.values()), default=1)


class Strings:
    """The texts of a workbook, each once: a cell holds its number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))

    def xml(self) -> str:
        items = "".join(f'<si><t xml:space="preserve">{escape(text)}</t></si>' for text in self.numbers)
        count = len(self.numbers)
        return (
            '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
            f'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" uniqueCount="{count}">{items}</sst>'
        )


def rows_xml(page: Page, strings: Strings, values: Mapping[tuple[int, int], Any] | None) -> str:
    """The page's rows; with `values`, each formula's value by (row, column) is stored beside it."""
    letters = [get_column_letter(column) for column in range(1, page.size[1] + 1)]
    parts = ["<sheetData>"]
    for row in sorted(page.rows):
        parts.append(f'<row r="{row}"{_row_attributes(page, row)}>')
        for column in sorted(page.rows[row]):
            content, style = page.rows[row][column]
            start = f'<c r="{letters[column - 1]}{row}" s="{style}"'
            if isinstance(content, Formula):
                stored = None if values is None else values[row, column]
                parts.append(f"{start}{_formula_xml(content, stored)}")
            elif isinstance(content, str):
                text = f' t="s"><v>{strings.number(content)}</v></c>' if content else "/>"
                parts.append(start + text)
            else:
                parts.append(f"{start}><v>{content!r}</v></c>")
        parts.append("</row>")
    parts.append("</sheetData>")
    return "".join(parts)


def _row_attributes(page: Page, row: int) -> str:
    height, level = page.heights.get(row), page.outlines.get(row)
    text = "" if height is None else f' ht="{height}" customHeight="1"'
    return text if level is None else f'{text} outlineLevel="{level}"'


def _formula_xml(formula: Formula, value: float | str | None) -> str:
    written = f"<f>{escape(formula[1:])}</f>"
    if value is None:
        return f">{written}</c>"
    if isinstance(value, str):
        return f' t="str">{written}<v>{escape(value)}</v></c>'
    return f">{written}<v>{value!r}</v></c>"
