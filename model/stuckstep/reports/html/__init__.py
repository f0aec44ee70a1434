"""The report: one self-contained HTML file to send, print and open anywhere."""

from .page import write_report

__all__ = ["write_report"]
