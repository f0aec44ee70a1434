"""The charts, drawn by the spreadsheet itself from live rows that stand below them on the same sheet."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, cycle
from typing import Literal, NamedTuple

import numpy as np
from openpyxl.chart import BarChart, LineChart, Reference, Series
from openpyxl.chart.axis import ChartLines
from openpyxl.chart.data_source import StrRef
from openpyxl.chart.marker import Marker
from openpyxl.chart.series import SeriesLabel
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.chart.text import RichText, Text
from openpyxl.chart.title import Title
from openpyxl.drawing.line import LineProperties
from openpyxl.drawing.spreadsheet_drawing import AnchorMarker, TwoCellAnchor
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

from ..colours import chain_colour
from .chart_data import PICTURES, Picture, Row
from .grid import BEFORE, HEADS_ROW, LABEL, SAYS, UNIT, dress_grid, set_scale
from .model import Model
from .pages import Page
from .styles import LINE
from .worst import HIGHEST_SHOWN, Cover, Worst

TITLE = "Charts: who is paid when, from what, and what is left"
FIRST_CHART_ROW, CHART_ROWS = 9, 22  # the first of a chart's rows is its caption
ROW_HEIGHT = 14.5  # points; the chart's rows are a little higher than the chart
CHARTS_A_PAGE = 2
WIDTH = 185  # characters: columns are taken until there are so many
LABELS_SHOWN = 20  # about so many periods have a name on the axis
SCALE = 0.9  # two charts and the titles of the sheet go on a page
COLOURS = (  # of what is no party's, first as in the report: collections, prepayments, loans, supports
    *("0B4F8A", "7FB2DD", "C8650C", "F0BF86", "8C2F39", "E58FA6", "7F7F7F", "F2A541", "A0651E", "D0D0D0", "C8442E"),
    "5B4B8A",
)
RATIOS = ("C00000", "7F6000", "3F3F76")
SYMBOLS: Sequence[Literal["diamond", "circle", "triangle", "square"]] = ("diamond", "circle", "triangle", "square")


class Band(NamedTuple):
    """The rows of a chart's data, first and last, and the largest stack in them."""

    first: int
    last: int
    largest: float


def add_charts(page: Page, model: Model, covers: Mapping[str, Cover], worst: Worst) -> None:
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
    for place, picture in enumerate(pictures):
        chart, row = _draw(page, model, picture, covers if picture.has_cover else {}, row)
        top = FIRST_CHART_ROW + CHART_ROWS * place
        page.heights |= dict.fromkeys(range(top, top + CHART_ROWS), ROW_HEIGHT)
        page.put(top, LABEL, Formula(_shortfall(model, worst)) if picture.is_shortfall else picture.says, "line")
        _place(page, chart, top)
        if place and place % CHARTS_A_PAGE == 0:
            page.sheet.row_breaks.append(Break(id=top - 1))
    _set_pages(page, FIRST_CHART_ROW + CHART_ROWS * len(pictures) - 1)


def _shortfall(model: Model, worst: Worst) -> str:
    """What the chart of the shortfall shows, in words: it may be empty."""
    period = f'YEAR({worst.date})&"-"&MONTH({worst.date})' if model.is_monthly else worst.period
    most = f'"Most is unpaid at the end of "&{period}&", most of it to "&{worst.owed}'
    return f'=IF({worst.date}>0,{most},"Nothing is unpaid at the end of any period: the chart is empty")'


def _set_pages(page: Page, last: int) -> None:
    """Two charts a page."""
    page.sheet.print_area = f"A1:{get_column_letter(_columns_wide(page))}{last}"
    set_scale(page, SCALE)


def _columns_wide(page: Page) -> int:
    """How many columns a chart covers."""
    widths = accumulate(one.width for one in page.sheet.column_dimensions.values())
    return next((number for number, width in enumerate(widths, start=1) if width >= WIDTH), BEFORE)


def _place(page: Page, chart: BarChart, top: int) -> None:
    """A chart from cell to cell, below its caption, so that it ends where its page ends whatever the font's width."""
    first, last = AnchorMarker(0, 0, top, 0), AnchorMarker(_columns_wide(page), 0, top + CHART_ROWS - 2, 0)
    chart.anchor = TwoCellAnchor("twoCell", first, last)  # type: ignore[assignment]  # the stubs know names of cells only
    page.sheet.add_chart(chart)


def _draw(page: Page, model: Model, picture: Picture, covers: Mapping[str, Cover], row: int) -> tuple[BarChart, int]:
    """A picture's data from a row on, and its chart."""
    series = picture.rows(model)
    band, row = _add_data(page, model, picture.title, series, row, "money")
    chart = _columns(page, model, picture.title, band, _colours(model, series))
    if not picture.has_uses:
        chart.y_axis.scaling.min = 0  # what a sum leaves below zero is dust
    if covers:
        rows = [Row(f"DSCR {name}", f"={cover.drawn}", np.zeros(1)) for name, cover in covers.items()]
        marks, row = _add_data(page, model, "DSCR drawn", rows, row, "multiple drawn")
        chart += _marks(page, model, marks)
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


def _colours(model: Model, rows: Sequence[Row]) -> list[str]:
    """A party's own colour, and for what is no party's one after the other."""
    parties, others = model.sheets.keys("parties"), cycle(COLOURS)
    own = {party: chain_colour(place, len(parties)).removeprefix("#").upper() for place, party in enumerate(parties)}
    return [own[row.party] if row.party else next(others) for row in rows]


def _columns(page: Page, model: Model, title: str, band: Band, colours: Sequence[str]) -> BarChart:
    chart = BarChart()
    chart.type, chart.grouping, chart.overlap, chart.gapWidth = "col", "stacked", 100, 35
    chart.title = _heading(title)
    chart.legend.position = "r"
    chart.legend.txPr = _text(900)
    _add_series(page, model, chart, band, colours)
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


def _marks(page: Page, model: Model, band: Band) -> LineChart:
    """Ratios as marks on an axis of their own at the right, which begins at 0: what is absent is -1 and not drawn."""
    chart = LineChart()
    _add_series(page, model, chart, band, RATIOS)
    for series, colour, symbol in zip(chart.series, cycle(RATIOS), cycle(SYMBOLS), strict=False):
        fill = GraphicalProperties(solidFill=colour, ln=LineProperties(solidFill=colour))
        series.smooth = False
        series.marker = Marker(symbol, size=7, spPr=fill)
        series.graphicalProperties = GraphicalProperties(ln=LineProperties(noFill=True))
    chart.y_axis.axId, chart.y_axis.crosses = 200, "max"
    chart.y_axis.scaling.min, chart.y_axis.scaling.max, chart.y_axis.majorUnit = 0, HIGHEST_SHOWN, 1
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
    """Billions, millions or thousands, by the largest stack of any scenario; an empty axis has no labels."""
    if largest >= 2e9:
        return '[>=50000000]#,##0.0,,,"bn";[<=-50000000](#,##0.0,,,"bn");""'
    if largest >= 2e6:
        return '[>=50000]#,##0.0,,"m";[<=-50000](#,##0.0,,"m");""'
    return '[>=50]#,##0.0,"k";[<=-50](#,##0.0,"k");""'
