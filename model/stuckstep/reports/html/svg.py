"""Drawing in SVG without a library: elements, whose text is always escaped, and a time axis in per cent of the width.

Horizontal places are per cents, so that a picture takes any width without its text or strokes being stretched; vertical
places are pixels. Curves live in a layer of their own that is stretched, with strokes that are not.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from markupsafe import Markup

from .cases import Array

RTL_SAFE = ("\u2068", "\u2069")  # first strong isolate ... pop: a name keeps its direction and no other's


@lru_cache(maxsize=65536)
def escaped(words: str) -> str:
    """Text as HTML, the same few words thousands of times in a report."""
    return html.escape(words)


def element(tag: str, *inside: Markup | str, **attributes: Any) -> Markup:
    """An element: `class_` is class, `_` is - in other names; what is None is left out; all text is escaped."""
    named = "".join(
        [f' {_attribute(name)}="{_escaped(value)}"' for name, value in attributes.items() if value is not None]
    )
    if not inside and tag in _LEAVES:
        return Markup(f"<{tag}{named}/>")
    content = "".join([part if isinstance(part, Markup) else escaped(part) for part in inside])
    return Markup(f"<{tag}{named}>{content}</{tag}>")


_LEAVES = frozenset({"rect", "line", "path", "circle"})


@cache
def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _escaped(value: Any) -> str:
    """A value as the text of an attribute; numbers to a hundredth."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escaped(value) if isinstance(value, str) else str(value)


def join(parts: Iterable[Markup | str]) -> Markup:
    """Parts one after the other, text among them escaped."""
    return Markup("".join([part if isinstance(part, Markup) else escaped(part) for part in parts]))


def isolated(name: str) -> str:
    """A name inside plain text (a tip, an accessible label), safe from other text's direction."""
    return f"{RTL_SAFE[0]}{name}{RTL_SAFE[1]}"


def bdi(name: str) -> Markup:
    """A name inside a sentence of HTML."""
    return element("bdi", name)


def percent(share: float) -> str:
    """A share of the width as SVG says it."""
    return f"{100 * share:.3f}".rstrip("0").rstrip(".") + "%"


def picture(*inside: Markup | str, height: float, label: str = "", class_: str = "plot") -> Markup:
    """A picture as wide as its place, and what a screen reader says of it: nothing of a part of a larger one."""
    named: dict[str, str] = {"role": "img", "aria_label": label} if label else {"aria_hidden": "true"}
    return element("svg", *inside, class_=class_, width="100%", height=height, **named)


def stretched(*inside: Markup | str, height: float, y: float = 0.0) -> Markup:
    """The layer of curves: 1000 units wide whatever the width."""
    return element(
        "svg",
        *inside,
        x=0,
        y=y,
        width="100%",
        height=height,
        viewBox=f"0 0 1000 {_escaped(float(height))}",
        preserveAspectRatio="none",
        overflow="visible",
    )


def bar(start: float, width: float, y: float, height: float, **attributes: str) -> Markup:
    """A rectangle whose place and width are shares of the picture's width. Said in one go, for there are many."""
    named = "".join([f' {_attribute(name)}="{escaped(value)}"' for name, value in attributes.items()])
    place = f'x="{100 * start:.3f}%" width="{100 * width:.3f}%" y="{y:.2f}" height="{max(height, 0.0):.2f}"'
    return Markup(f"<rect {place}{named}/>")


def line(x1: float, y1: float, x2: float, y2: float, **attributes: Any) -> Markup:
    """A straight line between shares of the width."""
    return element("line", x1=percent(x1), y1=float(y1), x2=percent(x2), y2=float(y2), **attributes)


def text(x: float, y: float, words: str, **attributes: Any) -> Markup:
    """Words at a share of the width."""
    return element("text", words, x=percent(x), y=float(y), **attributes)


@cache
def grid(count: int, height: float) -> Markup:
    """White lines between the periods, for the stretched layer."""
    return element(
        "path", d="".join(f"M{1000 * place / count:.1f} 0V{height:g}" for place in range(1, count)), class_="grid"
    )


def steps_path(values: Array, top: float, height: float) -> str:
    """The path of a staircase for the stretched layer: values are shares of the height, one for each period."""
    edges = np.linspace(0, 1000, len(values) + 1)
    heights = top + height * (1 - np.clip(values, 0, 1))
    moves = [f"M0 {heights[0]:.1f}"]
    for place, (right, here) in enumerate(zip(edges[1:], heights, strict=True)):
        if place and here != heights[place - 1]:
            moves.append(f"V{here:.1f}")
        moves.append(f"H{right:.1f}")
    return "".join(moves)


def area_path(low: Array, high: Array, top: float, height: float) -> str:
    """The path of the area between two staircases."""
    edges = np.linspace(0, 1000, len(low) + 1)
    floor = top + height * (1 - np.clip(low, 0, 1))
    moves = [steps_path(high, top, height)]
    for left, here in zip(edges[-2::-1], floor[::-1], strict=True):
        moves.append(f"V{here:.1f}H{left:.1f}")
    return "".join(moves) + "Z"


def ticks(labels: Sequence[str]) -> list[tuple[int, str]]:
    """Which periods the axis names: every quarter of a short run, else the first of every year (or of every few)."""
    if len(labels) <= 8:
        return list(enumerate(labels))
    firsts = [place for place, label in enumerate(labels) if place == 0 or label[:4] != labels[place - 1][:4]]
    if firsts and len(firsts) > 1 and firsts[1] - firsts[0] < 4:
        firsts = firsts[1:]
    every = -(-len(firsts) // 12)
    return [(place, labels[place][:4]) for place in firsts[::every]]


def time_axis(labels: Sequence[str], height: float, top: float = 0.0) -> Markup:
    """Hairlines at the named periods and their names below; 18 pixels under the plot belong to them."""
    count = len(labels)
    marks = []
    for number, (place, name) in enumerate(ticks(labels)):
        share = place / count
        marks.append(line(share, top, share, height, class_="hair"))
        marks.append(text(share, height + 13, name, class_="tick odd" if number % 2 else "tick", dx=2))
    return element("g", join(marks), class_="axis", aria_hidden="true")


def share_of_date(date: np.datetime64, ends: Array) -> float | None:
    """Where a date lies on the axis of quarters, as a share of the width; None outside it (or for no date)."""
    if np.isnat(date):
        return None
    day = date.astype("datetime64[D]")
    lasts = ends.astype("datetime64[D]")
    place = int(np.searchsorted(lasts, day))
    if place >= len(lasts):
        return None
    length = int((lasts[place] - lasts[place - 1]).astype(int)) if place else 91
    into = 1 - int((lasts[place] - day).astype(int) + 1) / length
    return (place + into) / len(lasts) if place or into >= 0 else None


HATCHES = element(
    "svg",
    element(
        "defs",
        element(
            "pattern",
            element("rect", width=6, height=6, class_="hatch-ground"),
            element("path", d="M0 6L6 0M-1 1L1 -1M5 7L7 5", class_="hatch-line"),
            id="hatch-unpaid",
            width=6,
            height=6,
            patternUnits="userSpaceOnUse",
        ),
        element(
            "pattern",
            element("rect", width=5, height=5, class_="late-ground"),
            element("path", d="M0 0L5 5M-1 4L1 6M4 -1L6 1", class_="late-line"),
            id="hatch-late",
            width=5,
            height=5,
            patternUnits="userSpaceOnUse",
        ),
    ),
    width=0,
    height=0,
    class_="defs",
    aria_hidden="true",
)
