"""What a figure is: a picture, a sentence that reads it, and the table of the numbers behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from ..amounts import BILLIONS, MILLIONS, Scale, money
from .cases import Array, Run
from .svg import bdi, element, escaped, join


class Cell(NamedTuple):
    """A cell of a table: its words, its value as text (full precision, ISO dates), and whether it is a number."""

    text: str
    value: str
    is_number: bool = True


class Table(NamedTuple):
    """The numbers of a figure: headings, and rows that begin with their name."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    unit: str


class Key(NamedTuple):
    """An entry of a legend: how it is drawn (a fill or a class) and what it means."""

    words: Markup | str
    fill: str = ""
    style: str = ""


class Figure(NamedTuple):
    """One figure of the report or page. `note` says how to read it or what is left out."""

    key: str
    title: str
    unit: str
    reading: Markup
    picture: Markup
    table: Table
    legend: tuple[Key, ...] = ()
    note: Markup | str = ""


LONGEST = 48  # characters of a name in a sentence


def pretty(name: str) -> str:
    """A name as it is read: names in the sheets often have _ for a space."""
    return name.replace("_", " ").strip() or name


def said(name: str) -> Markup:
    """A name inside a sentence; a very long one is cut, and whole in its title."""
    words = pretty(name)
    return bdi(words) if len(words) <= LONGEST else element("bdi", words[: LONGEST - 1] + "\u2026", title=name)


def capital(words: Markup) -> Markup:
    """The beginning of a sentence: a name that opens it gets a capital."""
    at = words.index(">") + 1 if words.startswith("<bdi") else 0
    letter = words[at : at + 1]
    return words if letter == "&" else Markup(words[:at] + letter.upper() + words[at + 1 :])


def sum_in(run: Run, amount: float) -> str:
    """An amount for a sentence: in the unit of the figures, a small one in the next smaller."""
    scale = run.scale
    if scale is BILLIONS and abs(amount) < 0.1 * BILLIONS.units:
        scale = MILLIONS
    shown = money(amount, scale)
    return f"{run.currency} 0" if shown in ("-", "") else f"{run.currency} {shown}{scale.suffix}"


def listing(parts: Sequence[Markup | str]) -> Markup:
    """a, b and c."""
    if len(parts) < 2:
        return join(parts)
    return Markup("{} and {}").format(Markup(", ").join(parts[:-1]), parts[-1])


def plural(count: float, noun: str) -> str:
    """3 quarters, 1 quarter."""
    words = f"{count:g}" if not float(count).is_integer() else f"{int(count):,}"
    return f"{words} {noun}{'' if count == 1 else 's'}"


def day(date: np.datetime64) -> str:
    """A date as it is read, 4 Jun 2028; never where there is none."""
    if np.isnat(date):
        return "never"
    plain = date.astype("datetime64[D]").item()
    return f"{plain.day} {plain:%b %Y}"


def name_cell(name: str) -> Cell:
    return Cell(pretty(name), name, False)


def words_cell(words: str) -> Cell:
    return Cell(words, words, False)


_NOTHING = Cell("-", "0.0")


def money_cell(amount: float, scale: Scale) -> Cell:
    if amount == 0:
        return _NOTHING
    return Cell(money(amount, scale), "" if math.isnan(amount) else repr(float(amount)))


def number_cell(value: float, text: str) -> Cell:
    """A number that is not money; blank when absent."""
    return Cell("", "") if math.isnan(value) else Cell(text, repr(float(value)))


def date_cell(date: np.datetime64) -> Cell:
    return Cell("", "") if np.isnat(date) else Cell(day(date), str(date.astype("datetime64[D]")))


def table_html(table: Table, caption: str) -> Markup:
    """A table as HTML: every cell also holds its value in full (`data-v`), which tests and the copy button read."""
    head = "".join([f'<th scope="col"><span dir="auto">{escaped(words)}</span></th>' for words in table.head])
    body = "".join(["<tr>" + "".join(_cells_html(row)) + "</tr>\n" for row in table.rows])
    said = escaped(f"{caption}, {table.unit}")
    return Markup(
        f'<table class="numbers"><caption>{said}</caption><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>'
    )


def _cells_html(row: tuple[Cell, ...]) -> list[str]:
    value, words = escaped(row[0].value), escaped(row[0].text)
    first = f'<th scope="row" data-v="{value}"><span dir="auto">{words}</span></th>'
    rest = [
        f'<td data-v="{cell.value}">{escaped(cell.text)}</td>' if cell.is_number else _words_html(cell)
        for cell in row[1:]
    ]
    return [first, *rest]


def _words_html(cell: Cell) -> str:
    value, words = escaped(cell.value), escaped(cell.text)
    return f'<td class="words" data-v="{value}"><span dir="auto">{words}</span></td>'


def quarter_table(run: Run, named: Iterable[tuple[Sequence[Cell], Array]], heads: Sequence[str]) -> Table:
    """Money by quarter: rows of leading cells and amounts (quarter,)."""
    rows = tuple((*cells, *(money_cell(amount, run.scale) for amount in amounts.tolist())) for cells, amounts in named)
    return Table((*heads, *run.labels), rows, run.unit)


class Strip(NamedTuple):
    """A row of a picture: what stands left, the drawing, what stands right, and the rows of the table it shows."""

    left: Markup | str
    drawing: Markup
    right: Markup | str = ""
    rows: tuple[int, ...] = ()


def strips(
    label: str, rows: Sequence[Strip], axis: Markup, *, first: int, count: int, class_: str = "", right: str = ""
) -> Markup:
    """A picture of rows over one axis. `first` and `count` say which columns of the table its quarters are."""
    drawn = [
        element(
            "div",
            element("div", row.left, class_="left"),
            element("div", row.drawing, class_="draw", data_rows=" ".join(map(str, row.rows)) or None),
            element("div", row.right, class_="right"),
            class_="strip",
        )
        for row in rows
    ]
    head = [element("div", element("div"), element("div"), element("div", right, class_="right"), class_="strip head")]
    foot = element(
        "div", element("div", class_="left"), element("div", axis, class_="draw"), element("div"), class_="strip axis"
    )
    return element(
        "div",
        join(head if right else ()),
        join(drawn),
        foot,
        class_=f"strips {class_}".strip(),
        role="img",
        aria_label=label,
        tabindex=0,
        data_first=first,
        data_count=count,
    )


def name_label(name: str, below: str = "") -> Markup:
    """The name left of a row, cut by the page where it is long; the whole name is its title."""
    second = element("small", below) if below else Markup("")
    return join((element("span", pretty(name), class_="name", dir="auto", title=name), second))


def nice_ticks(largest: float, at_most: int = 4) -> list[float]:
    """Round numbers from zero up to about `largest`."""
    if not largest > 0:
        return [0.0]
    step = 10 ** math.floor(math.log10(largest))
    for factor in (0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0):
        if largest / (step * factor) <= at_most:
            step *= factor
            break
    return [step * count for count in range(int(largest / step + 1e-9) + 1)]
