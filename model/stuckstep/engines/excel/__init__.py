"""Reads the lines and the inputs as a live workbook: plain content by sheet and cell, without dressing."""

from .content import Cells, Content, Formula, Placed
from .formulas import Address, Layout, formulas, lay_out, timeline
from .inputs import Live, headings, live_sheet, place, read_inputs

__all__ = [
    "Address",
    "Cells",
    "Content",
    "Formula",
    "Layout",
    "Live",
    "Placed",
    "formulas",
    "headings",
    "lay_out",
    "live_sheet",
    "place",
    "read_inputs",
    "timeline",
]
