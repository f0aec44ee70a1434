"""Debt: what is outstanding on each facility, and its DSCR over the thresholds that facilities are tested by."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from ..amounts import money, ratio
from .cases import Array, Case, is_something
from .figure import (
    Cell,
    Figure,
    Key,
    Strip,
    Table,
    listing,
    money_cell,
    name_cell,
    name_label,
    number_cell,
    plural,
    pretty,
    said,
    strips,
    sum_in,
)
from .payments import draw_marks, mark_words
from .svg import area_path, bar, element, join, line, percent, picture, steps_path, stretched, text, time_axis

TOP = 3.0  # DSCR shown; what is higher stands at the top
HIGH = 56.0


class Threshold(NamedTuple):
    """A DSCR that means something: where it stands, what it means, and the fact it is taken from."""

    value: float
    words: str
    source: str


@cache
def thresholds() -> tuple[Threshold, ...]:
    """The rows of thresholds.csv, lowest first."""
    table = files(__package__).joinpath("thresholds.csv").read_text(encoding="utf-8").splitlines()
    return tuple(Threshold(float(row["dscr"]), row["words"], row["source"]) for row in csv.DictReader(table))


def debt(case: Case) -> Figure | None:
    """Balance and DSCR of each facility; None in a deal without one."""
    run = case.run
    if not run.names["facility"]:
        return None
    balance, dscr = case.of("balance_closing"), case.of("dscr")
    tested = np.where(is_something(case.of("principal_due")), dscr, np.nan)
    rows, table = _rows(case, balance, dscr, tested)
    axis = picture(time_axis(run.labels, 2), height=18, class_="plot heading")
    named = "; ".join(
        f"{one.value:.2f}x {one.words}" + (f" ({one.source})" if one.source else "") for one in thresholds()
    )
    return Figure(
        key="debt",
        title="Debt and its cover",
        unit=f"{run.unit}; DSCR x",
        reading=_reading(case, balance, tested),
        picture=strips(
            "Balance and DSCR by facility and quarter; the same numbers stand in the table",
            rows,
            axis,
            first=2,
            count=len(run.labels),
            class_="tall",
            right="most",
        ),
        table=Table(("facility", "what", *run.labels), tuple(table), run.unit),
        legend=(
            Key("balance", style="cash"),
            Key("DSCR at or above 1.00x", style="dot-good"),
            Key("DSCR below 1.00x", style="dot-bad"),
            Key("below 1.00x", style="band-0"),
            Key("between 1.00x and the highest test", style="band-1"),
        ),
        note=f"Thresholds: {named}. The DSCR is drawn where an instalment falls due: before the first one interest is "
        "served from draws and equity by plan (the table has it wherever anything is due). Above "
        f"{TOP:.0f}x it stands at the top, below zero at the bottom. A deal's own tests are not among its sheets, so "
        "no breach is claimed. It counts what customers pay into the account, no rent paid in, and loans of equal rank "
        "each see all of it.",
    )


def _rows(case: Case, balance: Array, dscr: Array, tested: Array) -> tuple[list[Strip], list[tuple[Cell, ...]]]:
    """The strips of the picture and the rows of the table: balance and DSCR of each facility.

    The table has the DSCR wherever anything is due, the picture where an instalment is (`tested`).
    """
    run = case.run
    rows: list[Strip] = [Strip("", mark_words(case))]
    table: list[tuple[Cell, ...]] = []
    for place, facility in enumerate(run.names["facility"]):
        lender = pretty(str(case.sheets.cell("facilities", facility, "lender")))
        commitment = case.number("facilities", facility, "commitment")
        peak = money(float(balance[place].max()), run.scale)
        right = join((element("b", peak), element("small", f"of {money(commitment, run.scale)}")))
        rows.append(
            Strip(
                name_label(facility, lender),
                _balance_row(case, balance[place], commitment),
                right,
                (2 * place, 2 * place + 1),
            )
        )
        if np.isfinite(tested[place]).any():
            least = float(np.nanmin(tested[place]))
            low = join((element("b", ratio(least)), element("small", "lowest")))
            rows.append(Strip(_scale(), _dscr_row(case, tested[place]), low, (2 * place, 2 * place + 1)))
        balances = (money_cell(float(amount), run.scale) for amount in balance[place])
        ratios = (number_cell(float(value), ratio(float(value))) for value in dscr[place])
        table.append((name_cell(facility), Cell("balance", "balance_closing", False), *balances))
        table.append((name_cell(facility), Cell("DSCR", "dscr", False), *ratios))
    return rows, table


def _balance_row(case: Case, balance: Array, commitment: float) -> Markup:
    high, count = 34.0, len(balance)
    reach = float(max(balance.max(), commitment, 0.01)) * 1.05
    curve = stretched(
        element("path", d=area_path(np.zeros(count), balance / reach, 0, high), class_="cash-area"),
        element("path", d=steps_path(balance / reach, 0, high), class_="cash-line"),
        height=high,
    )
    level = high * (1 - commitment / reach)
    return picture(
        curve,
        line(0, level, 1, level, class_="minimum"),
        line(0, high - 0.5, 1, high - 0.5, class_="ground"),
        draw_marks(case, high),
        height=high,
    )


def _height(value: float) -> float:
    return float(HIGH - 4 - (HIGH - 10) * min(max(value, 0.0), TOP) / TOP)


def _scale() -> Markup:
    words = [text(1, _height(0) + 1, "0x", class_="tick", text_anchor="end")]
    words += [
        text(1, _height(one.value) + 4, f"{one.value:.2f}x", class_="tick", text_anchor="end")
        for one in thresholds()[:1]
    ]
    words.append(text(1, _height(TOP) + 8, f"DSCR {TOP:.0f}x", class_="tick", text_anchor="end"))
    return picture(*words, height=HIGH)


def _dscr_row(case: Case, dscr: Array) -> Markup:
    count, levels = len(dscr), [0.0, *(one.value for one in thresholds())]
    parts = []
    for place, (low, up) in enumerate(pairwise(levels)):
        band = "band-0" if place == 0 else "band-1"
        parts.append(bar(0, 1, _height(up), _height(low) - _height(up), class_=band))
        parts.append(line(0, _height(up), 1, _height(up), class_="threshold"))
    known = np.flatnonzero(np.isfinite(dscr))
    for before, after in pairwise(known):
        if after == before + 1:
            parts.append(
                line(
                    (before + 0.5) / count,
                    _height(dscr[before]),
                    (after + 0.5) / count,
                    _height(dscr[after]),
                    class_="dscr-line",
                )
            )
    for place in map(int, known):
        x, y = percent((place + 0.5) / count), _height(dscr[place])
        if dscr[place] < 1:
            parts.append(
                element("rect", x=x, y=y - 3.5, width=7, height=7, transform="translate(-3.5 0)", class_="dot-bad")
            )
        else:
            parts.append(element("circle", cx=x, cy=y, r=2.6, class_="dot-good"))
    parts.append(draw_marks(case, HIGH))
    return picture(*parts, height=HIGH)


def _reading(case: Case, balance: Array, dscr: Array) -> Markup:
    run, total = case.run, balance.sum(axis=0)
    peak = int(total.argmax())
    if not is_something(total).any():
        return Markup("No debt is outstanding at any quarter's end.")
    words = Markup("Debt is highest at the end of {}: {}.").format(run.labels[peak], sum_in(run, float(total[peak])))
    if not np.isfinite(dscr).any():
        return words + " No instalment falls due in this run."
    fed = np.asarray(is_something(case.of("cfads").max(axis=1)))
    words += _unfed(run.names["facility"], fed.tolist(), [bool(np.isfinite(row).any()) for row in dscr])
    dscr = np.where(fed[:, None], dscr, np.nan)
    if not np.isfinite(dscr).any():
        return words
    place = np.unravel_index(int(np.nanargmin(dscr)), dscr.shape)
    below = int((dscr[np.isfinite(dscr)] < 1).sum())
    words += Markup(" The DSCR is lowest in {}: {} on {}").format(
        run.labels[place[1]], ratio(float(dscr[place])), said(run.names["facility"][place[0]])
    )
    if below:
        return words + Markup("; collections do not cover debt service in {} with an instalment.").format(
            plural(below, "quarter")
        )
    return words + "; collections cover debt service wherever an instalment falls due."


def _unfed(facilities: Sequence[str], fed: Sequence[bool], tested: Sequence[bool]) -> Markup:
    """What is said of the facilities that are served from rent paid in: collections are no measure of them."""
    names = [facility for facility, flows, has in zip(facilities, fed, tested, strict=True) if has and not flows]
    if not names:
        return Markup("")
    whose = "its account" if len(names) == 1 else "their accounts"
    return Markup(" The DSCR says nothing of {}: no customer pays into {}.").format(
        listing([said(name) for name in names]), whose
    )
