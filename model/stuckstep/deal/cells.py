"""One cell: from what stands in a file to a typed value, and back to text."""

from __future__ import annotations

import datetime
import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from stuckstep.deal import numerals, written_dates
from stuckstep.deal.dates import from_serial
from stuckstep.deal.layout import Column
from stuckstep.deal.lettering import fold, name_text, nearest, tidy
from stuckstep.deal.numerals import Dialect, NumeralError
from stuckstep.deal.records import Place, Value
from stuckstep.deal.written_dates import DateError


class Unreadable(NamedTuple):
    """A cell that holds nothing usable (an error value, a formula never calculated), and why."""

    wrong: str


Raw = str | float | bool | datetime.date | Unreadable | None


class CellError(Exception):
    """A cell is not what its column wants; the text says what is wrong with it."""


RESERVED = ("order", "billing", "deal", "none", "all")
LONGEST = 32767  # characters a spreadsheet cell can hold
TRIGGERS = ("order", "billing")
PLAIN = Dialect()
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")


def parse(column: Column, raw: Raw, dialect: Dialect = PLAIN) -> Value:
    """The typed value of a cell, None when it is blank; CellError when it is not what the column wants."""
    raw = clean(raw)
    if raw is None:
        if column.default == "":
            raise CellError("the cell is blank")
        return None
    if column.type == "date" and isinstance(raw, float) and not dialect.serials:
        raise CellError(f"{number_text(raw)} is a bare number in a workbook that counts days from 1904")
    value = _PARSERS[column.type](column, raw, dialect)
    _check_bounds(column, value)
    return value


def otherwise(raw: Raw, value: Value) -> tuple[str, str] | None:
    """What stood in a cell and what was read, where a reader might take the one for another; else None."""
    if isinstance(raw, str):
        text = tidy(raw)
        if isinstance(value, float):
            same = numerals.is_plain(text) and float(text) == value  # more digits than 15 are dropped
        elif isinstance(value, datetime.date):
            same = written_dates.is_plain(text)
        else:
            same = _spaced(unicodedata.normalize("NFC", raw)) == _spaced(to_text(value))
        return None if same else (quoted(raw), _shown(value))
    if isinstance(raw, float) and isinstance(value, datetime.date):
        return f"the bare number {number_text(raw)}", _shown(value)
    return None


def _spaced(text: str) -> str:
    """Text without the spaces around it and around the marks of a list."""
    return re.sub(r"\s*([;:])\s*", r"\1", "\n".join(text.split("\r\n")).strip())


def _shown(value: Value) -> str:
    return to_text(value) if isinstance(value, (float, datetime.date)) else quoted(to_text(value))


def clean(raw: Raw) -> Raw:
    """A raw cell with even line ends and nothing unseen around it; None when nothing is left. CellError for no use."""
    if isinstance(raw, Unreadable):
        raise CellError(raw.wrong)
    if isinstance(raw, str):
        return tidy(legible(raw)) or None
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        return raw
    return exact(raw)


def legible(text: str) -> str:
    """Text with even line ends; CellError when a spreadsheet could not hold it."""
    if len(text) > LONGEST:
        raise CellError(f"the text has {len(text)} characters, more than the {LONGEST} of a spreadsheet cell")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if found := _CONTROL.search(text):
        raise CellError(f"the text holds the control character U+{ord(found[0]):04X}")
    return text


def exact(number: float) -> float:
    """A number as it survives every file: 15 significant digits."""
    if not math.isfinite(number):
        raise CellError(f"{number} is not a finite number")
    return float(f"{number:.15g}") + 0.0


def extra(raw: Raw) -> str | float | None:
    """A cell of the columns unit, source and note, as it is; text that reads as a plain number is that number."""
    if clean(raw) is None:
        return None
    if isinstance(raw, str):
        text = legible(raw)
        return float(text) if numerals.PLAIN.fullmatch(text) and _plain(text) else text
    return as_text(raw) if isinstance(raw, (bool, datetime.date)) else exact(raw)  # type: ignore[arg-type]


def _plain(text: str) -> bool:
    """Whether a number is written exactly as number_text would (007 and 1.50 are not)."""
    number = float(text)
    return math.isfinite(number) and number_text(number) == text


def to_text(value: Value) -> str:
    """A value as text that parses to it again; blank for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, tuple):
        return ";".join(f"{part.account}:{part.rank}" if isinstance(part, Place) else part for part in value)
    return value


def number_text(number: float) -> str:
    """A number in as few digits as it needs, at most 15."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else f"{number:.15g}"


def quoted(text: str) -> str:
    """Text in quotes for a message, cut when long."""
    return f"'{text if len(text) <= 60 else text[:57] + '...'}'"


@cache
def default(column: Column) -> Value:
    """The literal default of a column; None when it has none of its own."""
    if column.default == "" or column.optional:
        return None
    return _PARSERS[column.type](column, column.default, PLAIN)


def wanted(column: Column) -> str:
    """What a column wants, in words."""
    words = "".join(f" or the word {word}" for word in column.words)
    tables = [source for source in column.sources if "." not in source]
    if column.type in ("number", "count", "days"):
        noun = "a number" if column.type == "number" else f"a whole number{' of days' * (column.type == 'days')}"
        return noun + _range(column)
    if column.type == "date":
        return f"a date{_range(column)}, written as 2027-03-31,"
    if column.type == "trigger":
        return "order, billing, a step or a date as 2027-03-31"
    if column.type == "choice":
        return "one of " + ", ".join(column.allowed)
    if column.type == "places":
        return "a list account:rank;account:rank in the order of the table accounts"
    if column.type == "name":
        return "a name without ; : @"
    if column.type in ("ref", "refs"):
        return f"a {'name' if column.type == 'ref' else 'list with ; of names'} from {' or '.join(tables)}{words}"
    return "text"


def allowed(column: Column) -> str:
    """What a column allows, as a clause."""
    required = column.default == "" and column.type != "name"
    return f"{wanted(column)} is {'required' if required else 'allowed'}"


def _range(column: Column) -> str:
    if column.low is None or column.high is None:
        return ""
    return f" from {_bound_text(column.low)} to {_bound_text(column.high)}"


def _bound_text(bound: float | datetime.date) -> str:
    if isinstance(bound, datetime.date):
        return bound.isoformat()
    return f"{bound:.0e}".replace("+", "") if abs(bound) >= 1e7 else number_text(bound)


def _check_bounds(column: Column, value: Value) -> None:
    """Raise CellError when a number or date lies outside the column's bounds."""
    for bound, side in ((column.low, "below"), (column.high, "above")):
        if bound is None or type(bound) is not type(value):
            continue
        below = side == "below"
        if (value < bound) if below else (value > bound):  # type: ignore[operator]
            raise CellError(f"{to_text(value)} is {side} {_bound_text(bound)}{_percent_hint(column, value)}")


def _percent_hint(column: Column, value: Value) -> str:
    if column.type != "number" or column.high != 1 or not isinstance(value, float) or not 1 < value <= 100:
        return ""
    return f" ({number_text(value)}% is written {number_text(exact(value / 100))})"


def as_text(raw: Raw) -> str:
    """Text, or a spreadsheet's number, date or truth value where text is wanted."""
    if isinstance(raw, bool):
        return str(raw).upper()
    if isinstance(raw, float):
        return number_text(raw)
    if isinstance(raw, datetime.datetime) and raw.time() == datetime.time():
        return raw.date().isoformat()
    return raw.isoformat() if isinstance(raw, datetime.date) else unicodedata.normalize("NFC", str(raw))


def _named(raw: Raw) -> str:
    """A name as it is kept."""
    return name_text(as_text(raw))


def _text(column: Column, raw: Raw, dialect: Dialect) -> Value:
    return as_text(raw)


def _ref(column: Column, raw: Raw, dialect: Dialect) -> Value:
    return _named(raw)


def _name(column: Column, raw: Raw, dialect: Dialect) -> Value:
    text = _named(raw)
    if "\n" in text or "\t" in text:
        raise CellError(f"{quoted(text)} holds a line break or tab")
    if bad := [mark for mark in ";:@" if mark in text]:
        raise CellError(f"{quoted(text)} holds {' '.join(bad)}")
    if not text:
        raise CellError("the name has no letters")
    if column.table in ("phases", "steps", "claims") and fold(text) in RESERVED:
        raise CellError(f"'{text}' has a meaning of its own")
    if column.table == "steps" and written_dates.is_date(text):
        raise CellError(f"'{text}' is a date")
    return text


def _choice(column: Column, raw: Raw, dialect: Dialect) -> Value:
    text = _named(raw)
    chosen = _word(text, column.allowed)
    if chosen not in column.allowed:
        raise CellError(f"{quoted(text)} is no choice{nearest(text, column.allowed)}")
    return chosen


def _word(text: str, words: Iterable[str]) -> str:
    """One of some words in any case, as it is meant; other text as it is."""
    return next((word for word in words if word == fold(text)), text)


def _names(column: Column, raw: Raw, dialect: Dialect) -> Value:
    """A list with ; between names; words such as deal stand alone."""
    names = tuple(_word(tidy(part), column.words) for part in _named(raw).split(";"))
    if "" in names:
        raise CellError(f"{quoted(as_text(raw))} has an empty name between ;")
    folded = [fold(name) for name in names]
    twice = [name for index, name in enumerate(names) if folded[index] in folded[:index]]
    if twice:
        raise CellError(f"'{twice[0]}' stands in the list twice")
    alone = [name for name in names if name in column.words]
    if alone and len(names) > 1:
        raise CellError(f"the word {alone[0]} stands beside names")
    return names


def _places(column: Column, raw: Raw, dialect: Dialect) -> Value:
    return tuple(_place(tidy(part)) for part in _named(raw).split(";"))


def _place(text: str) -> Place:
    account, colon, rank = (tidy(part) for part in text.partition(":"))
    if not colon or not account or not re.fullmatch(r"[0-9]{1,6}", rank):
        raise CellError(f"{quoted(text)} is not account:rank")
    return Place(account, int(rank))


def _number(column: Column, raw: Raw, dialect: Dialect) -> Value:
    if isinstance(raw, float):
        return raw
    text = as_text(raw)
    if isinstance(raw, (bool, datetime.date)):
        raise CellError(f"{text} is not a number")
    try:
        return exact(numerals.number_of(text, column.unit, dialect))
    except NumeralError as bad:
        raise CellError(f"{quoted(text)} {bad}") from None


def _whole(column: Column, raw: Raw, dialect: Dialect) -> Value:
    number = _number(column, raw, dialect)
    assert isinstance(number, float)
    if not number.is_integer():
        raise CellError(f"{number_text(number)} is not a whole number")
    return number


def _date(column: Column, raw: Raw, dialect: Dialect) -> Value:
    if isinstance(raw, datetime.datetime):
        if raw.time() != datetime.time():
            raise CellError(f"{raw} has a time of day")
        return raw.date()
    if isinstance(raw, datetime.date):
        return raw
    if isinstance(raw, float):
        if not raw.is_integer() or not 61 <= raw <= 2_900_000:
            raise CellError(f"{number_text(raw)} is not a date")
        return from_serial(raw)
    text = as_text(raw)
    try:
        return written_dates.date_of(text, column.quarter)
    except DateError as bad:
        raise CellError(f"{quoted(text)} {bad}") from None


def _trigger(column: Column, raw: Raw, dialect: Dialect) -> Value:
    if isinstance(raw, datetime.date) or written_dates.is_date(as_text(raw)):
        return _date(column, raw, dialect)
    return _word(_named(raw), TRIGGERS)


_PARSERS: dict[str, Callable[[Column, Raw, Dialect], Value]] = {
    "name": _name,
    "text": _text,
    "choice": _choice,
    "ref": _ref,
    "refs": _names,
    "places": _places,
    "date": _date,
    "trigger": _trigger,
    "days": _whole,
    "count": _whole,
    "number": _number,
}
