"""Draws headings, sentences and tables: with rich on a terminal, as plain aligned text anywhere else.

What fits is decided once, for both: columns shrink by breaking headings at spaces and names at spaces and underscores,
never by cutting anything off.
"""

import os
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TextIO

GAP = 2  # spaces between columns; one where it is tight
NARROWEST_TEXT = 30  # a paragraph, however deep it is indented
NARROWEST = 10  # a column of names is not broken below this


class Heading(NamedTuple):
    """A line that begins a part; `major` for the whole and for each scenario."""

    text: str
    major: bool = True


class Sentence(NamedTuple):
    """A paragraph; `style` is a rich style that means nothing elsewhere."""

    text: str
    style: str = ""
    indent: int = 0


class Table(NamedTuple):
    """A table of text. `left` holds the positions of the columns of names; numbers and dates are set right."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: frozenset[int] = frozenset({0})
    title: str = ""


Block = Heading | Sentence | Table


def show(blocks: Iterable[Block], stream: TextIO) -> None:
    """Writes the blocks to a stream: with rich and in colour on a terminal, else plain."""
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        _show_rich(blocks, stream)
    else:
        width = _columns()
        for line in _single_blanks(line for block in blocks for line in _plain(block, width)):
            stream.write(line + "\n")


def _single_blanks(lines: Iterable[str]) -> Iterator[str]:
    """The lines without blank ones at the top and next to each other."""
    before = ""
    for line in lines:
        if line or before:
            yield line
        before = line


def _columns() -> int | None:
    """The width asked for by COLUMNS; None (no limit) without it, since a file or a pipe has no width."""
    text = os.environ.get("COLUMNS", "")
    return max(int(text), 40) if text.isdecimal() and int(text) else None


def _plain(block: Block, width: int | None) -> list[str]:
    if isinstance(block, Heading):
        lines = _wrapped(block.text, width)
        return ["", *lines, ("=" if block.major else "-") * min(max(map(cell_width, lines)), width or 120)]
    if isinstance(block, Sentence):
        return _wrapped(block.text, width, block.indent)
    laid = lay_out(block, width)
    title = ["", block.title] if block.title else [""]
    rule = (" " * laid.gap).join("-" * size for size in laid.widths)
    body = [line for row in laid.rows for line in _lines(row, laid, block.left)]
    return [*title, *_lines(laid.headings, laid, block.left), rule, *body, ""]


def _wrapped(text: str, width: int | None, indent: int = 0) -> list[str]:
    pad = " " * indent
    if width is None:
        return [pad + text]
    lines = textwrap.wrap(text, max(width - indent, NARROWEST_TEXT), break_on_hyphens=False, break_long_words=False)
    return [pad + line for line in lines] or [""]


def _show_rich(blocks: Iterable[Block], stream: TextIO) -> None:
    """As the plain text, with the same blank lines, and colour."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    after_blank = True
    for block in blocks:
        if isinstance(block, Table):
            drawn = _rich_table(block, console.width)
        else:
            style = block.style if isinstance(block, Sentence) else "bold reverse" if block.major else "bold underline"
            indent = block.indent if isinstance(block, Sentence) else 0
            drawn = Text("\n".join(_wrapped(block.text, console.width, indent)), style=style)
        is_blank = isinstance(block, Sentence) and not block.text
        if not isinstance(block, Sentence) and not after_blank:
            console.print()
        if not (is_blank and after_blank):
            console.print(drawn, no_wrap=True, overflow="ignore", crop=False)
        after_blank = is_blank or isinstance(block, Table)
        if isinstance(block, Table):
            console.print()


def _rich_table(table: Table, width: int) -> Any:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    laid = lay_out(table, width)
    drawn = RichTable(
        title=Text(table.title) if table.title else None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, laid.gap - 1, 0, 0),
    )
    for position, lines in enumerate(laid.headings):
        heading = Text("\n".join(lines), style="bold")
        side: Any = "left" if position in table.left else "right"
        drawn.add_column(heading, justify=side, no_wrap=True, width=laid.widths[position])
    for row in laid.rows:
        drawn.add_row(*(Text("\n".join(lines), style=_style(lines)) for lines in row))
    return drawn


def _style(lines: Sequence[str]) -> str:
    """The words that are bad news in red."""
    return "red" if lines and lines[0] in ("never", "cancelled", "BROKEN") else ""


class LaidOut(NamedTuple):
    """A table whose cells are lists of lines no longer than the widths of their columns."""

    headings: list[list[str]]
    rows: list[list[list[str]]]
    widths: list[int]
    gap: int


def lay_out(table: Table, width: int | None) -> LaidOut:
    """The table in as many columns of text as fit: headings break first, then the gaps narrow, then names break."""
    count = len(table.headings)
    cells = [max((cell_width(row[i]) for row in table.rows), default=0) for i in range(count)]
    full = [max(cells[i], cell_width(table.headings[i])) for i in range(count)]
    words = [max(cells[i], *(cell_width(word) for word in table.headings[i].split() or [""])) for i in range(count)]
    widths, gap = full, GAP
    if width is not None and _total(full, GAP) > width:
        widths = words
        if _total(words, GAP) > width:
            gap = 1
            widths = _shrunk(words, table, width)
        else:
            widths = _grown(words, full, width)
    headings = [broken(text, size) for text, size in zip(table.headings, widths, strict=True)]
    height = max(map(len, headings), default=0)
    headings = [[""] * (height - len(lines)) + lines for lines in headings]
    rows = [[broken(cell, size) for cell, size in zip(row, widths, strict=True)] for row in table.rows]
    return LaidOut(headings, rows, widths, gap)


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _grown(widths: Sequence[int], full: Sequence[int], width: int) -> list[int]:
    """Columns given room, from the left, for their headings in one line."""
    grown = list(widths)
    for position, wanted in enumerate(full):
        room = width - _total(grown, GAP)
        grown[position] += min(room, wanted - grown[position]) if wanted - grown[position] <= room else 0
    return grown


def _shrunk(widths: Sequence[int], table: Table, width: int) -> list[int]:
    """The columns of names made narrower, the widest first, until the table fits or none can be."""
    shrunk = list(widths)
    while _total(shrunk, 1) > width:
        widest = max(table.left, key=lambda position: shrunk[position], default=None)
        if widest is None or shrunk[widest] <= NARROWEST:
            break
        shrunk[widest] -= 1
    return shrunk


def broken(text: str, width: int) -> list[str]:
    """Text in lines of a width, broken after spaces and underscores, and inside a word only where it must be."""
    lines: list[str] = []
    for piece in re.findall(r"[^\s_]*_|[^\s_]+|\s", text):
        if lines and cell_width(lines[-1] + piece.rstrip()) <= width:
            lines[-1] += piece
            continue
        rest = piece.lstrip() if lines else piece
        while cell_width(rest) > width > 0:
            cut = next(end for end in range(len(rest), 0, -1) if cell_width(rest[:end]) <= width or end == 1)
            lines.append(rest[:cut])
            rest = rest[cut:]
        if rest:
            lines.append(rest)
    return [line.rstrip() for line in lines] or [""]


def _lines(row: Sequence[Sequence[str]], laid: LaidOut, left: frozenset[int]) -> list[str]:
    """A row of cells as lines of plain text."""
    height = max(map(len, row), default=0)
    lines = []
    for number in range(height):
        texts = [cell[number] if number < len(cell) else "" for cell in row]
        padded = [
            _pad(text, size, position in left)
            for position, (text, size) in enumerate(zip(texts, laid.widths, strict=True))
        ]
        lines.append((" " * laid.gap).join(padded).rstrip())
    return lines


def _pad(text: str, width: int, left: bool) -> str:
    space = " " * max(0, width - cell_width(text))
    return text + space if left else space + text


def cell_width(text: str) -> int:
    """How many columns a text takes: two for a wide character, none for a mark that joins the one before."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
