"""The sourced facts that ship with the package, and the figures of the two documents it began from."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from stuckstep.deal.arithmetic import FormulaError, evaluate

KINDS = ("reported", "guided", "press", "derived")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Fact(NamedTuple):
    """One row of facts.csv, as text."""

    id: str
    entity: str
    quantity: str
    value: str
    unit: str
    as_of: str
    source_title: str
    source_url: str
    note: str
    kind: str

    @property
    def number(self) -> float:
        """The value as a number. FormulaError where it is words or several numbers."""
        try:
            return float(self.value)
        except ValueError:
            raise FormulaError(f"{self.id} is {self.value}, not a number") from None

    @property
    def text(self) -> str:
        """Everything the fact says, its date and address apart."""
        return " ".join((self.entity, self.quantity, self.value, self.unit, self.note))

    @property
    def numbers(self) -> tuple[float, ...]:
        """Every number written in it."""
        return tuple(float(word.replace(",", "")) for word in _NUMBER.findall(self.text))


class Printed(NamedTuple):
    """A figure of a document: the number as printed, the facts that carry it (with +), what it is worked out from."""

    document: str
    figure: str
    printed: str
    unit: str
    about: str
    fact: str
    formula: str
    deal: str
    note: str

    @property
    def facts(self) -> tuple[str, ...]:
        return tuple(name for name in self.fact.split("+") if name)

    @property
    def number(self) -> float:
        """The printed number; ValueError for words that are none."""
        if self.printed in _WORDS:
            return float(_WORDS.index(self.printed))
        return 1 / 3 if self.printed == "a third" else float(self.printed.replace(",", ""))

    @property
    def tolerance(self) -> float:
        """Half of the last digit printed: what is about 500 is known to a hundred, what is 500 to one."""
        if not self.printed[0].isdigit():
            return 0.0
        digits = self.printed.replace(",", "")
        whole, _, decimals = digits.partition(".")
        zeros = len(whole) - len(whole.rstrip("0")) if self.about and not decimals else 0
        return 0.5 * float(10 ** (zeros - len(decimals)))


@cache
def facts() -> Mapping[str, Fact]:
    """The facts by id, in the order of the table."""
    return {fact.id: fact for fact in (Fact(**row) for row in _rows("facts.csv"))}


@cache
def printed_figures() -> tuple[Printed, ...]:
    """Every figure and check of the two documents, in their order."""
    return tuple(Printed(**row) for row in _rows("printed.csv"))


def worked_out(formula: str, known: Mapping[str, Fact]) -> float:
    """A formula over fact ids. FormulaError for an id that is not known or is no number."""

    def value_of(name: str) -> float:
        if name not in known:
            raise FormulaError(f"{name} is no fact")
        return known[name].number

    return evaluate(formula, value_of)


def says(fact: Fact, number: float, near: float = 0.0) -> bool:
    """Whether a number is written in a fact, or one that lies near it."""
    return any(abs(said - number) <= near + 1e-9 * abs(number) for said in fact.numbers)


def _rows(name: str) -> list[dict[str, str]]:
    with files(__package__).joinpath(name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
