"""The assumption sheets: reading, checking, writing, and the scenarios they hold. The only room that reads them."""

from stuckstep.deal.dates import Periods, from_serial, periods, serial
from stuckstep.deal.layout import Column, add_kind, schema
from stuckstep.deal.reading import check, read
from stuckstep.deal.records import Cell, Deal, DealError, Fault, Place, Row, Value
from stuckstep.deal.scenarios import Sheets, base, default_of, scenario_names, variants
from stuckstep.deal.writing import new, write
from stuckstep.deal.years import listed_years

__all__ = [
    "Cell",
    "Column",
    "Deal",
    "DealError",
    "Fault",
    "Periods",
    "Place",
    "Row",
    "Sheets",
    "Value",
    "add_kind",
    "base",
    "check",
    "default_of",
    "from_serial",
    "listed_years",
    "new",
    "periods",
    "read",
    "scenario_names",
    "schema",
    "serial",
    "variants",
    "write",
]
