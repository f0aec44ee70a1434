"""Reads the lines and the inputs as a live workbook: plain content by sheet and cell, without dressing."""

from .content import Cells, Content, Formula, Placed
from .formulas import (
    CONSTANT,
    DAYS_ROW,
    FIRST_DAY_ROW,
    FIRST_PERIOD,
    FIRST_ROW,
    NEXT_FIRST_DAY_ROW,
    PERIOD_ROW,
    SHEETS,
    TIMELINE,
    Address,
    Layout,
    formulas,
    lay_out,
    timeline,
)
from .inputs import HEADINGS_ROW, Live, address, headings, live_sheet, place, read_inputs, row_of

__all__ = [
    "CONSTANT",
    "DAYS_ROW",
    "FIRST_DAY_ROW",
    "FIRST_PERIOD",
    "FIRST_ROW",
    "HEADINGS_ROW",
    "NEXT_FIRST_DAY_ROW",
    "PERIOD_ROW",
    "SHEETS",
    "TIMELINE",
    "Address",
    "Cells",
    "Content",
    "Formula",
    "Layout",
    "Live",
    "Placed",
    "address",
    "formulas",
    "headings",
    "lay_out",
    "live_sheet",
    "place",
    "read_inputs",
    "row_of",
    "timeline",
]
