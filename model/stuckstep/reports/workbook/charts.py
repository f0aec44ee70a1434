"""The charts, drawn by the spreadsheet itself from live rows that stand below them on the same sheet."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from openpyxl.chart import BarChart, LineChart, Reference, Series
from openpyxl.chart.axis import ChartLines
from openpyxl.chart.data_source import StrRef
from openpyxl.chart.series import SeriesLabel
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.chart.text import RichText, Text
from openpyxl.chart.title import Title
from openpyxl.drawing.line import LineProperties
from openpyxl.drawing.text import (
    CharacterProperties,
    Paragraph,
    ParagraphProperties,
    RegularTextRun,
    RichTextProperties,
)
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.pagebreak import Break

from stuckstep.engines import excel
from stuckstep.engines.excel import Formula

from .chart_data import PICTURES, Picture, Row
from .grid import BEFORE, HEADS_ROW, LABEL, SAYS, UNIT, dress_grid
from .model import Model
from .pages import Page
from .styles import LINE

TITLE = "Charts: who is paid when, from what, and what is left"
FIRST_CHART_ROW, CHART_ROWS = 9, 20
CHARTS_A_PAGE = 2
WIDTH, HEIGHT = 36, 10  # centimetres
LABELS_SHOWN = 20  # about so many periods have a name on the axis
COLOURS = (
    *("1F3A5F", "3FA7D6", "F2A541", "C8442E", "4C956C", "8E5EA2", "A7C957", "7F7F7F", "F7D070", "16808A"),
    *("E58FA6", "5B4B8A", "B7D5C4", "A0651E", "9CC5E8", "D0D0D0"),
)
RATIOS = ("C00000", "7F6000", "3F3F76")


class Band(NamedTuple):
    """The rows of a chart's data, first and last, and the largest stack in them."""

    first: int
    last: int
    largest: float


def add_charts(page: Page, model: Model) -> None:
    """The charts that the deal has data for and, below them, the live rows that they draw."""
    dress_grid(page, model, TITLE, repeated=False)
    page.sheet.freeze_panes = None
    for row in (excel.PERIOD_ROW, excel.FIRST_DAY_ROW, excel.NEXT_FIRST_DAY_ROW, excel.DAYS_ROW):
        for column in model.period_columns():
            formula = Formula(f"={excel.TIMELINE}!{get_column_letter(column)}{row}")
            is_date = row in (excel.FIRST_DAY_ROW, excel.NEXT_FIRST_DAY_ROW)
            page.put(row, column, formula, "clock", "date" if is_date else "number")
    pictures = [picture for picture in PICTURES if picture.rows(model)]
    row = FIRST_CHART_ROW + CHART_ROWS * len(pictures) + 1
    page.sheet.print_area = f"A1:I{row - 1}"
    for place, picture in enumerate(pictures):
        chart, row = _draw(page, model, picture, row)
        top = FIRST_CHART_ROW + CHART_ROWS * place
        page.sheet.add_chart(chart, f"A{top}")
        if place and place % CHARTS_A_PAGE == 0:
            page.sheet.row_breaks.append(Break(id=top - 1))


def _draw(page: Page, model: Model, picture: Picture, row: int) -> tuple[BarChart, int]:
    """A picture's data from a row on, and its chart."""
    band, row = _add_data(page, model, picture.title, picture.rows(model), row, "money")
    chart = _columns(page, model, picture.title, band)
    if not picture.has_uses:
        chart.y_axis.scaling.min = 0  # what a sum leaves below zero is dust
    if picture.ratios is not None:
        ratios, row = _add_data(page, model, "Ratios", picture.ratios(model), row, "multiple")
        chart += _lines(page, model, ratios)
    return chart, row


def _add_data(
    page: Page, model: Model, title: str, rows: Sequence[Row], row: int, number_format: str
) -> tuple[Band, int]:
    page.put(row, LABEL, title, "block")
    page.fill(row, range(SAYS, BEFORE + 1), "block")
    for number, series in enumerate(rows, start=row + 1):
        page.put(number, LABEL, series.name, "label")
        page.put(number, UNIT, model.currency if number_format == "money" else "x", "unit")
        for column in model.period_columns():
            formula = Formula(series.formula.replace("{}", get_column_letter(column)))
            page.put(number, column, formula, "link", number_format)
    largest = np.abs(np.array([series.values for series in rows])).sum(axis=0).max()
    return Band(row + 1, row + len(rows), float(largest)), row + len(rows) + 2


def _columns(page: Page, model: Model, title: str, band: Band) -> BarChart:
    chart = BarChart()
    chart.type, chart.grouping, chart.overlap, chart.gapWidth = "col", "stacked", 100, 35
    chart.title = _heading(title)
    chart.width, chart.height = WIDTH, HEIGHT
    chart.legend.position = "r"
    chart.legend.txPr = _text(900)
    _add_series(page, model, chart, band, COLOURS)
    for series in chart.series:
        series.invertIfNegative = False
    chart.x_axis.delete = chart.y_axis.delete = False
    chart.x_axis.tickLblPos = "low"
    chart.x_axis.tickLblSkip = max(1, round(len(model.periods.labels) / LABELS_SHOWN))
    chart.x_axis.number_format = "yyyy-mm" if model.is_monthly else "General"
    chart.x_axis.txPr = _text(800, turned=True)
    chart.y_axis.number_format, chart.y_axis.title = _scale(band.largest), model.currency
    chart.y_axis.txPr = _text(900)
    chart.y_axis.majorGridlines = ChartLines(GraphicalProperties(ln=LineProperties(solidFill=LINE, w=6350)))
    return chart


def _lines(page: Page, model: Model, band: Band) -> LineChart:
    """Ratios as lines on an axis of their own at the right."""
    chart = LineChart()
    _add_series(page, model, chart, band, RATIOS)
    for series, colour in zip(chart.series, RATIOS * len(chart.series), strict=False):
        series.smooth = False
        series.graphicalProperties = GraphicalProperties(ln=LineProperties(solidFill=colour, w=25400))
    chart.y_axis.axId, chart.y_axis.crosses = 200, "max"
    chart.y_axis.delete, chart.y_axis.majorGridlines = False, None
    chart.y_axis.number_format, chart.y_axis.title = '0.0"x"', "DSCR"
    chart.y_axis.txPr = _text(900)
    return chart


def _add_series(page: Page, model: Model, chart: BarChart | LineChart, band: Band, colours: Sequence[str]) -> None:
    columns = model.period_columns()
    for number, row in enumerate(range(band.first, band.last + 1)):
        values = Reference(page.sheet, min_col=columns[0], max_col=columns[-1], min_row=row, max_row=row)
        series = Series(values, title_from_data=False)
        series.tx = _title(page, row)
        series.graphicalProperties.solidFill = colours[number % len(colours)]
        series.graphicalProperties.line.solidFill = colours[number % len(colours)]
        chart.series.append(series)
    names = Reference(page.sheet, min_col=columns[0], max_col=columns[-1], min_row=HEADS_ROW, max_row=HEADS_ROW)
    chart.set_categories(names)


def _title(page: Page, row: int) -> SeriesLabel:
    """A series is called what stands in its row's label."""
    return SeriesLabel(strRef=StrRef(f"'{page.name}'!$A${row}"))


def _heading(text: str) -> Title:
    paragraph = Paragraph(pPr=ParagraphProperties(defRPr=_letters(1300, bold=True)), r=[RegularTextRun(t=text)])
    return Title(tx=Text(rich=RichText(p=[paragraph])), overlay=False)


def _letters(size: int, *, bold: bool = False) -> CharacterProperties:
    return CharacterProperties(sz=size, b=bold)


def _text(size: int, *, turned: bool = False) -> RichText:
    body = RichTextProperties(rot=-2700000, vert="horz") if turned else RichTextProperties()
    paragraph = Paragraph(pPr=ParagraphProperties(defRPr=_letters(size)), endParaRPr=_letters(size))
    return RichText(bodyPr=body, p=[paragraph])


def _scale(largest: float) -> str:
    """Billions, millions or thousands, by the largest stack of the scenario that is saved."""
    if largest >= 2e9:
        return '#,##0.0,,,"bn";(#,##0.0,,,"bn");0'
    return '#,##0.0,,"m";(#,##0.0,,"m");0' if largest >= 2e6 else '#,##0.0,"k";(#,##0.0,"k");0'
