"""Names as they are written by hand: what counts as the same name, what only looks the same, and the nearest one."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

# Letters of other alphabets that print like a Latin one, in small letters.
_LOOK = dict(
    zip("авеіјкмнорсѕтухԁԛԝһαβεηικνορτυχωıɡ", "abeijkmhopcstyxdqwhabenikvoptyxwig", strict=True),
)


def tidy(text: str) -> str:
    """Text without the spaces and invisible signs at its ends."""
    if text.isascii():  # nearly always, and far quicker
        return text.strip()
    start, end = 0, len(text)
    while start < end and _unseen(text[start]):
        start += 1
    while end > start and _unseen(text[end - 1]):
        end -= 1
    return text[start:end]


def _unseen(sign: str) -> bool:
    return sign.isspace() or unicodedata.category(sign) == "Cf"


def name_text(text: str) -> str:
    """A name as it is kept: wide letters, ligatures and odd spaces made plain (NFKC), nothing unseen at its ends."""
    return tidy(unicodedata.normalize("NFKC", tidy(text)))


def fold(text: str) -> str:
    """What two spellings of one name share: no case, no width, no invisible signs, single spaces."""
    if text.isascii():
        return " ".join(text.lower().split())
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join("".join(sign for sign in plain if unicodedata.category(sign) != "Cf").split())


def look(text: str) -> str:
    """What a name looks like: letters of other alphabets as the Latin ones they print like."""
    return "".join(_LOOK.get(sign, sign) for sign in fold(text))


def nearest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """' (nearest: x)' when some name is near, and the letter in which a name that looks the same differs."""
    folded = {fold(other): other for other in names}
    alike = next((other for other in folded.values() if look(other) == look(name)), None)
    if alike is not None:
        return f" (nearest: {alike}{odd_letter(name, alike)})"
    near = difflib.get_close_matches(fold(name), folded, n=1, cutoff=cutoff)
    return f" (nearest: {folded[near[0]]})" if near else ""


def odd_letter(name: str, other: str) -> str:
    """'; its letter 2 is CYRILLIC SMALL LETTER A' for the first letter in which names that look alike differ."""
    for place, (mine, theirs) in enumerate(zip(name, other, strict=False), 1):
        if fold(mine) != fold(theirs):
            return f"; its letter {place} is {_called(mine)}, not {_called(theirs)}"
    return ""


def _called(sign: str) -> str:
    return unicodedata.name(sign, f"U+{ord(sign):04X}")
