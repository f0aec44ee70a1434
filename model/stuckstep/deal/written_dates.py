"""Dates as people write them: days as 2027-03-31 and quarters as 2027Q1, nothing else."""

from __future__ import annotations

import datetime
import re


class DateError(ValueError):
    """A text that is no date; the text of the error says why."""


# What a quarter stands for in a column: its first day, its last, or the day after it (for what lasts through it).
QUARTER_DAYS = {"first": "first day", "last": "last day", "after": "day after it"}
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([T ]00:00(:00(\.0+)?)?)?")
_QUARTER = re.compile(r"([0-9]{4})-?Q([1-4])", re.IGNORECASE)
_DAY_FIRST = re.compile(r"[0-9]{1,4}[/.\-][0-9]{1,2}[/.\-][0-9]{1,4}")
_QUARTER_FIRST = re.compile(r"(?:Q([1-4])[ \-/]*|([1-4])Q[ \-/]*)([0-9]{4}|[0-9]{2})", re.IGNORECASE)


def is_date(text: str) -> bool:
    """Whether a text means a day or a quarter, so that it can be no name of a step."""
    return bool(_DAY.fullmatch(text) or _QUARTER.fullmatch(text))


def is_plain(text: str) -> bool:
    """Whether a date is written as it is read."""
    return bool((found := _DAY.fullmatch(text)) and not found[2])


def date_of(text: str, quarter: str = "first") -> datetime.date:
    """The day a text means; of a quarter its `first` or `last` day, or the day `after` it. DateError for another."""
    if day := _DAY.fullmatch(text):
        try:
            return datetime.date.fromisoformat(day[1])
        except ValueError:
            raise DateError("is not a day of the calendar") from None
    if named := _QUARTER.fullmatch(text):
        return _day_of_quarter(int(named[1]), int(named[2]), quarter)
    raise DateError(f"is not a date{_hint(text)}")


def _day_of_quarter(year: int, number: int, which: str) -> datetime.date:
    month = 3 * number - 2
    if not datetime.MINYEAR <= year < datetime.MAXYEAR:
        raise DateError("is not a quarter of the calendar")
    if which == "first":
        return datetime.date(year, month, 1)
    after = datetime.date(year + number // 4, (month + 2) % 12 + 1, 1)
    return after if which == "after" else after - datetime.timedelta(days=1)


def _hint(text: str) -> str:
    if _DAY_FIRST.fullmatch(text):
        return " (day and month cannot be told apart)"
    if found := _QUARTER_FIRST.fullmatch(text):
        year = found[3] if len(found[3]) == 4 else f"20{found[3]}"
        return f" (a quarter is written {year}Q{found[1] or found[2]})"
    return ""
