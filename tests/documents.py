"""Every number in a document, with the words around it, as the completeness test of `facts` reads them."""

from __future__ import annotations

import re
from typing import NamedTuple

ADDRESS = re.compile(r"https?://[^\s)]*")
# a number that is no part of a name (NVL72, GB200, GPT-4) nor of a quarter (Q2, 1Q25)
NUMBER = re.compile(r"(?<![A-Za-z0-9.,])(?<![A-Za-z]-)(?!\dQ\d\d)\d[\d,]*(?<!,)(?:\.\d+)?")
WORD = re.compile(r"\b(?:two|three|four|five|six|seven|eight|nine|ten)\b", re.IGNORECASE)
AROUND = 24


class Occurrence(NamedTuple):
    """A number as it stands in a text, and the text around it."""

    number: str
    context: str


def numbers_in(text: str) -> list[Occurrence]:
    """Numbers in figures and words from two to ten, in order; addresses apart."""
    plain = re.sub(r"\s+", " ", ADDRESS.sub("(address)", text))
    found = sorted([*NUMBER.finditer(plain), *WORD.finditer(plain)], key=lambda match: match.start())
    return [
        Occurrence(match.group().lower(), plain[max(0, match.start() - AROUND) : match.end() + AROUND])
        for match in found
    ]
