"""Numbers as people write them, read strictly: what has two readings has none."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple


class NumeralError(ValueError):
    """A text that is no number; the text of the error says why, and what to write instead where that is clear."""


class Dialect(NamedTuple):
    """How a file writes: its decimal mark, the deal's currency, and whether a bare number may stand for a date.

    The mark is '' where the file does not show which it uses: then 1.234 has two readings too.
    """

    decimal: str = "."
    currency: str = ""
    serials: bool = True


NO_NUMBER = "is not a number"
PLAIN = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MINUS = str.maketrans("\u2212\u2013", "--")
_UNSIGNED = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SPACES = " \u00a0\u2009\u202f'\u2019"  # what stands between thousands and is never a decimal mark
_SYMBOLS = {
    "$": ("USD", "CAD", "AUD", "NZD", "SGD", "HKD", "TWD"),
    "€": ("EUR",),
    "£": ("GBP",),
    "¥": ("JPY", "CNY"),
    "₩": ("KRW",),
    "₹": ("INR",),
}
_SCALES = {"": 0, "k": 3, "m": 6, "mn": 6, "bn": 9}
_MONEY = re.compile(r"(?P<body>[^A-Za-z%]+?)\s*(?P<scale>k|m|mn|bn)?", re.IGNORECASE)
_EXPONENT = re.compile(r"[0-9.]+[eE][+-]?[0-9]+")
_COMMA_DECIMALS = re.compile(r"([0-9]*|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+")
_TWO_READINGS = {
    ".": re.compile(r"[0-9]{1,3},[0-9]{3}"),
    ",": re.compile(r"[0-9]{1,3}\.[0-9]{3}"),
    "": re.compile(r"[0-9]{1,3}[.,][0-9]{3}"),
}
_DECIMAL_COMMA = re.compile(r"[+-]?(0,[0-9]+|[0-9]+,([0-9]{1,2}|[0-9]{4,})|[0-9]{1,3}(\.[0-9]{3})+,[0-9]+)\s*%?")
_DECIMAL_POINT = re.compile(r"[+-]?(0\.[0-9]+|[0-9]+\.([0-9]{1,2}|[0-9]{4,})|[0-9]{1,3}(,[0-9]{3})+\.[0-9]+)\s*%?")


def is_plain(text: str) -> bool:
    """Whether a number is written as it is read: a sign, digits and a decimal point."""
    return re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?|[+-]?\.[0-9]+", text) is not None


def decimal_mark(texts: Iterable[str]) -> str:
    """The decimal mark that numbers show beyond doubt; '' when none does, or when some show one and some the other."""
    marks = {"," if _DECIMAL_COMMA.fullmatch(text) else "." for text in texts if _shows_its_mark(text)}
    return marks.pop() if len(marks) == 1 else ""


def _shows_its_mark(text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in (_DECIMAL_COMMA, _DECIMAL_POINT))


def number_of(text: str, unit: str, dialect: Dialect) -> float:
    """The number a text means in a column of a unit; NumeralError when it has no reading, or more than one.

    Percent is read where the unit is 1 or 1/year, a currency sign and k, m, mn, bn where it is money.
    """
    if PLAIN.fullmatch(text) and dialect.decimal == ".":
        return _finite(text)
    signed = text.translate(_MINUS)
    in_brackets = signed.startswith("(") and signed.endswith(")")
    if in_brackets:
        signed = signed[1:-1].strip()
    negative = in_brackets or signed.startswith("-")
    if signed[:1] in ("-", "+"):
        if in_brackets:
            raise NumeralError("has both brackets and a sign")
        signed = signed[1:].lstrip()
    body, power = _body(signed, unit, dialect)
    if body.startswith(("-", "+")) and not negative:  # the sign stands behind the currency: $-5
        negative, body = body.startswith("-"), body[1:]
    digits = _ungrouped(body, dialect.decimal)
    return _finite(f"{'-' if negative else ''}{digits}", power)


def _finite(digits: str, power: int = 0) -> float:
    number = float(Decimal(digits).scaleb(power)) if power else float(digits)
    if not math.isfinite(number):
        raise NumeralError("is no finite number")
    return number


def _body(text: str, unit: str, dialect: Dialect) -> tuple[str, int]:
    """The digits of a number without its percent, currency or scale, and the power of ten these stand for."""
    if text.endswith("%"):
        if unit not in ("1", "1/year"):
            raise NumeralError("is a percentage, and the column holds none")
        return text[:-1].rstrip(), -2
    if not unit.startswith("currency"):
        return text, 0
    for sign in _signs(dialect.currency):
        if text[: len(sign)].upper() == sign:
            text = text[len(sign) :].lstrip()
        elif text[-len(sign) :].upper() == sign:
            text = text[: -len(sign)].rstrip()
        else:
            continue
        break
    money = _MONEY.fullmatch(text)
    if money is None or _EXPONENT.fullmatch(text):
        return text, 0
    return money["body"], _SCALES[(money["scale"] or "").lower()]


def _signs(currency: str) -> list[str]:
    """How a currency is written: its code, and its symbol where it has one."""
    if not currency:
        return []
    return [currency.upper(), *(symbol for symbol, codes in _SYMBOLS.items() if currency.upper() in codes)]


def _ungrouped(body: str, mark: str) -> str:
    """Digits with a decimal point, of digits in any grouping that has one reading only."""
    if _TWO_READINGS[mark].fullmatch(body):
        raise NumeralError(f"may be {re.sub('[.,]', '', body)} or {body.replace(',', '.')}")
    comma = mark == ","
    if _UNSIGNED.fullmatch(body) and not (comma and "." in body):
        return body
    mark, thousands = (",", ".") if comma else (".", ",")
    for sign in (thousands, *_SPACES):
        pattern = rf"[0-9]{{1,3}}({re.escape(sign)}[0-9]{{3}})+({re.escape(mark)}[0-9]+)?"
        if re.fullmatch(pattern, body):
            return body.replace(sign, "").replace(mark, ".")
    if _COMMA_DECIMALS.fullmatch(body):
        digits = body.replace(".", "").replace(",", ".")
        if comma:
            return digits
        raise NumeralError(f"has a decimal comma (write {digits})")
    raise NumeralError(NO_NUMBER)
