"""Reads the lines and the inputs as a live workbook: plain content by sheet and cell, without dressing."""

from .formulas import Content, Layout, formulas, lay_out, timeline
from .inputs import Live, live_sheet, place, read_inputs

__all__ = ["Content", "Layout", "Live", "formulas", "lay_out", "live_sheet", "place", "read_inputs", "timeline"]
