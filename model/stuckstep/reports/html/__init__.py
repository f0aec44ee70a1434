"""The report: one self-contained HTML file to send, print and open anywhere."""

from .page import report_bytes, write_report

__all__ = ["report_bytes", "write_report"]
