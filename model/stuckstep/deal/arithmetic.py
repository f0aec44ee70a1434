"""Works out a formula of numbers and names: + - * /, brackets and a sign. Nothing else can be written in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import add, mul, sub, truediv

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?(?![\w.]))|([A-Z][A-Z0-9]*(?:-[A-Za-z0-9]+)+)|([-+*/()])|(\S+))")
_LEVELS: tuple[dict[str, Callable[[float, float], float]], ...] = ({"+": add, "-": sub}, {"*": mul, "/": truediv})


class FormulaError(ValueError):
    """A formula that cannot be read or has no value."""


def names_in(formula: str) -> tuple[str, ...]:
    """The names of a formula, each once, in order."""
    return tuple(dict.fromkeys(text for kind, text in _tokens(formula) if kind == "name"))


def evaluate(formula: str, value_of: Callable[[str], float]) -> float:
    """The value of a formula, such as `SEED1-15 / SEED1-16 * 100`. FormulaError for one that has none.

    A name is capitals, digits and hyphens (SEED1-15), so a minus between names stands between spaces.
    """
    tokens = _tokens(formula)[::-1]
    if not tokens:
        raise FormulaError("the formula is empty")
    try:
        value = _sum(tokens, value_of, 0)
    except ZeroDivisionError:
        raise FormulaError(f"{formula} divides by zero") from None
    if tokens:
        raise FormulaError(f"{tokens[-1][1]} is not expected in {formula}")
    return value


def _tokens(formula: str) -> list[tuple[str, str]]:
    found = []
    for number, name, sign, other in _TOKEN.findall(formula):
        if other:
            raise FormulaError(f"{other} is no number, name or sign in {formula}")
        found.append(("number", number) if number else ("name", name) if name else ("sign", sign))
    return found


def _sum(tokens: list[tuple[str, str]], value_of: Callable[[str], float], level: int) -> float:
    """Terms of one level from left to right: sums of products of factors."""
    if level == len(_LEVELS):
        return _factor(tokens, value_of)
    value = _sum(tokens, value_of, level + 1)
    while tokens and tokens[-1][0] == "sign" and tokens[-1][1] in _LEVELS[level]:
        work = _LEVELS[level][tokens.pop()[1]]
        value = work(value, _sum(tokens, value_of, level + 1))
    return value


def _factor(tokens: list[tuple[str, str]], value_of: Callable[[str], float]) -> float:
    if not tokens:
        raise FormulaError("the formula ends too early")
    kind, text = tokens.pop()
    if kind == "number":
        return float(text)
    if kind == "name":
        return value_of(text)
    if text == "-":
        return -_factor(tokens, value_of)
    if text != "(":
        raise FormulaError(f"{text} is not expected")
    value = _sum(tokens, value_of, 0)
    if not tokens or tokens.pop()[1] != ")":
        raise FormulaError("a bracket is not closed")
    return value
