"""What a spreadsheet shows of a number or a date when its format hides part of it."""

from __future__ import annotations

import datetime
import re
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
_QUOTED = re.compile(r'"([^"]*)"|\\(.)')
_DIGITS = re.compile(r"[0#?]")
_DAYS = re.compile(r"d", re.IGNORECASE)


class _Shape(NamedTuple):
    """How many decimals a format shows, what it multiplies by (a power of ten), and what literal text stands in it."""

    decimals: int
    power: int
    literal: str


def looks(value: float | datetime.date, number_format: str) -> str | None:
    """How a value looks where that is not how it is read; None when the format shows it as it is, or all of it."""
    section = _section(number_format, value)
    bare = _LITERAL.sub("", section)
    if isinstance(value, datetime.date):
        return None if _DAYS.search(bare) or not bare else f"a date that shows no day (format {number_format})"
    if number_format == "General" or "@" in bare or re.search(r"[eE][+-]|/", bare):
        return None
    if not _DIGITS.search(bare) and "General" not in bare:
        if value == 0 and section.strip('"\\ ') in ("-", "–"):
            return None  # the accountant's zero
        return f"a number that is not shown (format {number_format})"
    shape = _shape(section, bare)
    shown = Decimal(f"{value:.15g}").scaleb(shape.power)
    rounded = shown.quantize(Decimal(1).scaleb(-shape.decimals), ROUND_HALF_UP) if abs(shown) < 10**20 else shown
    percent = "%" in bare or "%" in shape.literal
    if rounded == shown and not ("%" in shape.literal or shape.power not in (0, 2)):
        return None
    return f"a number that shows as {rounded:f}{'%' * percent} (format {number_format})"


def _section(number_format: str, value: float | datetime.date) -> str:
    """The part of a format that a value is shown by: the second for negatives, the third for zero."""
    sections = _split(number_format)
    place = 0 if isinstance(value, datetime.date) or value > 0 else 1 if value < 0 else 2
    return sections[place] if place < len(sections) else sections[0]


def _split(number_format: str) -> list[str]:
    """The sections of a format; a semicolon in quotes separates nothing."""
    marked = _QUOTED.sub(lambda found: found[0].replace(";", "\0"), number_format)
    return [section.replace("\0", ";") for section in marked.split(";")]


def _shape(section: str, bare: str) -> _Shape:
    fraction = bare.partition(".")[2]
    scaled = re.search(r"[0#?](,+)(?![0#?])", re.sub(r"[^0#?.,]", "", bare) + " ")
    thousands = len(scaled[1]) if scaled else 0
    decimals = len(re.match(r"[0#?]*", fraction)[0])  # type: ignore[index]
    literal = "".join(a + b for a, b in _QUOTED.findall(section))
    return _Shape(decimals, 2 * bare.count("%") - 3 * thousands, literal)
