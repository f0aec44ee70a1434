"""A page: the cells of one sheet as they are put, and their XML; rows are many, so openpyxl does not write them."""

import math
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

from openpyxl.utils import get_column_letter
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.worksheet import Worksheet

from stuckstep.engines.excel import Content, Formula

from .styles import Styles


class Page:
    """The cells of one sheet. `sheet` is openpyxl's and holds all but the cells: widths, panes, validations, charts."""

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
            content = float(content)  # of numpy's numbers too
            if not math.isfinite(content):
                raise ValueError(f"{self.name}!{get_column_letter(column)}{row} would hold {content}")
        cells[column] = (content, self.styles.number(role, number_format))

    def fill(self, row: int, columns: range, role: str) -> None:
        """Empty cells that only look like their role."""
        for column in columns:
            if column not in self.rows.get(row, {}):
                self.put(row, column, "", role)

    def define(self, name: str, cell: str) -> None:
        """Gives a cell a name in the workbook."""
        self.styles.book.defined_names[name] = DefinedName(name, attr_text=cell)

    @property
    def size(self) -> tuple[int, int]:
        """The last row and the last column."""
        return max(self.rows, default=1), max((max(cells, default=1) for cells in self.rows.values()), default=1)


class Rows:
    """A page's rows as XML, worked out once: `parts` alternates text and the places of the formulas' values."""

    def __init__(self, page: Page) -> None:
        letters = [get_column_letter(column) for column in range(1, page.size[1] + 1)]
        self.parts: list[str] = []
        self.formulas: list[tuple[int, int]] = []
        text = ["<sheetData>"]
        for row in sorted(page.rows):
            text.append(f'<row r="{row}"{_row_attributes(page, row)}>')
            cells = page.rows[row]
            for column in sorted(cells):
                content, style = cells[column]
                start = f'<c r="{letters[column - 1]}{row}" s="{style}"'
                if isinstance(content, Formula):
                    self.parts += ["".join(text) + start, f"<f>{escape(content[1:])}</f>"]
                    self.formulas.append((row, column))
                    text = []
                else:
                    text.append(start + _plain_xml(content))
            text.append("</row>")
        self.parts.append("".join(text) + "</sheetData>")

    def xml(self, values: Mapping[tuple[int, int], Any] | None) -> str:
        """The rows; with `values`, each formula's value by (row, column) is stored beside it."""
        written = self.parts.copy()
        for number, place in enumerate(self.formulas):
            formula = written[2 * number + 1]
            value = None if values is None else values[place]
            if value is None:
                written[2 * number + 1] = f">{formula}</c>"
            elif isinstance(value, str):
                written[2 * number + 1] = f' t="str">{formula}<v>{escape(value)}</v></c>'
            else:
                written[2 * number + 1] = f">{formula}<v>{value!r}</v></c>"
        return "".join(written)


def _row_attributes(page: Page, row: int) -> str:
    height, level = page.heights.get(row), page.outlines.get(row)
    text = "" if height is None else f' ht="{height}" customHeight="1"'
    return text if level is None else f'{text} outlineLevel="{level}"'


def _plain_xml(content: float | str) -> str:
    if not isinstance(content, str):
        return f"><v>{content!r}</v></c>"
    return f' t="inlineStr"><is><t xml:space="preserve">{escape(content)}</t></is></c>' if content else "/>"
