"""Who is paid and when: the payment-order timeline and the heat map of what is unpaid."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from markupsafe import Markup

from ..amounts import HALF_CENT, Scale, money
from .cases import Array, Case, is_something, latest
from .figure import (
    Cell,
    Figure,
    Key,
    Strip,
    Table,
    capital,
    listing,
    money_cell,
    name_cell,
    name_label,
    plural,
    said,
    strips,
    sum_in,
)
from .figure import quarter_table as by_quarter
from .svg import bar, element, grid, join, line, picture, share_of_date, stretched, text, time_axis

ROW = 34.0


@lru_cache(maxsize=4)  # every row of a picture asks
def billing_marks(case: Case) -> list[tuple[str, float, str]]:
    """Vertical marks (class, share of the width, words): planned and actual billing of the phases that matter most."""
    planned, actual = case.of("planned_billing"), case.of("billing_start")
    worst = latest(case)
    marks = []
    for class_, date, words in (("planned", planned[worst], "planned"), ("actual", actual[worst], "bills")):
        share = share_of_date(date, case.run.ends)
        if share is not None:
            marks.append((class_, share, words))
    if len(marks) == 2 and marks[0][1] == marks[1][1]:
        marks = [("actual", marks[0][1], "bills as planned")]
    return marks


def draw_marks(case: Case, height: float) -> Markup:
    return join(line(share, 0, share, height, class_=f"mark {class_}") for class_, share, _ in billing_marks(case))


def mark_words(case: Case) -> Markup:
    """The names of the marks, for the strip above a picture; the later one is written to its right."""
    marks = billing_marks(case)
    drawn = []
    for place, (class_, share, words) in enumerate(marks):
        to_left = (place == 0 and len(marks) == 2) or share > 0.8
        drawn.append(
            text(
                share,
                11,
                words,
                class_=f"mark-words {class_}",
                dx=-4 if to_left else 4,
                text_anchor="end" if to_left else "start",
            )
        )
        drawn.append(line(share, 2, share, 16, class_=f"mark {class_}"))
    return picture(*drawn, height=16, class_="plot heading")


def timeline(case: Case) -> Figure:
    """Party by quarter: what falls due hollow, what is paid solid, what stays unpaid red on top of it."""
    run = case.run
    due, paid, unpaid = case.of("due"), case.of("paid"), case.of("unpaid")
    rows = [Strip("", mark_words(case))]
    table: list[tuple[list[Cell], Array]] = []
    for place, party in enumerate(run.names["party"]):
        amounts = {"due": due[place], "paid": paid[place], "unpaid": unpaid[place]}
        at = tuple(range(len(table), len(table) + 3))
        table += [([name_cell(party), Cell(item, item, False)], values) for item, values in amounts.items()]
        total = money(float(paid[place].sum()), run.scale)
        right = join((element("b", total), element("small", _of(float(due[place].sum()), run.scale))))
        rows.append(Strip(name_label(party), _bars(case, *amounts.values()), right, at))
    axis = picture(time_axis(run.labels, 2), height=18, class_="plot heading")
    return Figure(
        key="timeline",
        title="Who is paid, when",
        unit=run.unit,
        reading=_timeline_reading(case),
        picture=strips(
            "Due, paid and unpaid by party and quarter; the same numbers stand in the table",
            rows,
            axis,
            first=2,
            count=len(run.labels),
            class_="tall",
            right="paid of due",
        ),
        table=by_quarter(run, table, ("party", "what")),
        legend=(
            Key("paid", style="paid"),
            Key("falls due", style="due"),
            Key("unpaid at the quarter's end", style="unpaid"),
            Key("planned billing", style="mark planned"),
            Key("billing", style="mark actual"),
        ),
        note="Parties stand in chain order. Each row has its own scale; solid and red together are what was claimed. "
        "More is paid than fell due where interest on late money is.",
    )


def _bars(case: Case, due: Array, paid: Array, unpaid: Array) -> Markup:
    count = len(due)
    largest = float(max((paid + unpaid).max(), due.max(), 0.01))
    tall = (ROW - 5) / largest
    parts = [draw_marks(case, ROW), line(0, ROW - 0.5, 1, ROW - 0.5, class_="ground")]
    for place, (owed, given, missed) in enumerate(zip(due.tolist(), paid.tolist(), unpaid.tolist(), strict=True)):
        left, width = (place + 0.12) / count, 0.76 / count
        high = given * tall
        if given >= HALF_CENT:
            parts.append(bar(left, width, ROW - 1 - high, max(high, 0.75), class_="paid"))
        if missed >= HALF_CENT:
            over = max(missed * tall, 1.5)
            parts.append(bar(left, width, ROW - 1 - high - over, over, class_="unpaid"))
        if owed >= HALF_CENT:
            parts.append(bar(left, width, ROW - 1 - owed * tall, owed * tall, class_="due"))
    return picture(*parts, height=ROW)


def _of(due: float, scale: Scale) -> str:
    return f"of {money(due, scale)}" if due >= HALF_CENT else ""


def _timeline_reading(case: Case) -> Markup:
    run = case.run
    first, paid = case.of("first_paid"), case.of("paid").sum(axis=1)
    known = [place for place in range(len(first)) if not np.isnat(first[place])]
    if not known:
        return Markup("Nobody is paid anything in this run.")
    order = sorted(known, key=lambda place: first[place])
    labels = {place: _label_of(case, first[place]) for place in order}
    lead = [run.names["party"][place] for place in order if labels[place] == labels[order[0]]]
    tail = run.names["party"][order[-1]]
    words = Markup("{} {} paid first, in {}; {} comes last, in {}. In all {} is paid.").format(
        capital(listing([said(name) for name in lead])),
        "is" if len(lead) == 1 else "are",
        labels[order[0]],
        said(tail),
        labels[order[-1]],
        sum_in(run, float(paid.sum())),
    )
    late = case.of("quarters_late")
    later = [place for place in range(len(late)) if late[place] > 0]
    if later:
        waits = [
            Markup("{} {}").format(said(run.names["party"][place]), plural(late[place], "quarter")) for place in later
        ]
        words += Markup(" Half of what they are owed comes later than in base: {}.").format(listing(waits))
    return words


def _label_of(case: Case, date: np.datetime64) -> str:
    return case.run.labels[int(np.searchsorted(case.run.ends, date))]


def unpaid_map(case: Case) -> Figure:
    """Party by quarter: what stays unpaid at the quarter's end, the darker the more."""
    run, unpaid = case.run, case.of("unpaid")
    count, largest = len(run.labels), float(unpaid.max(initial=0.0))
    rows = []
    for place, party in enumerate(run.names["party"]):
        drawing = _heat_row(unpaid[place], largest, run.scale)
        peak = float(unpaid[place].max())
        right = element("b", money(peak, run.scale))
        rows.append(Strip(name_label(party), drawing, right, (place,)))
    axis = picture(time_axis(run.labels, 2), height=18, class_="plot heading")
    rows_of_table = [([name_cell(party)], unpaid[place]) for place, party in enumerate(run.names["party"])]
    legend = [Key(f"up to {money(largest * share, run.scale)}", fill=heat_colour(share)) for share in (0.1, 0.4, 1.0)]
    return Figure(
        key="unpaid",
        title="What stays unpaid",
        unit=run.unit,
        reading=_unpaid_reading(case, unpaid),
        picture=strips(
            "Unpaid by party and quarter; the same numbers stand in the table",
            rows,
            axis,
            first=1,
            count=count,
            class_="heatmap",
            right="most",
        ),
        table=by_quarter(run, rows_of_table, ("party",)),
        legend=(Key("nothing", style="nothing"), *(legend if largest >= 0.005 else ())),
        note="At each quarter's end, late interest included.",
    )


def heat_colour(share: float) -> str:
    """From pale to dark red; lightness alone tells the order."""
    stops = ((254, 224, 210), (252, 146, 114), (222, 45, 38), (103, 0, 13))
    place = min(max(share, 0.0), 1.0) ** 0.7 * (len(stops) - 1)
    low = min(int(place), len(stops) - 2)
    mixed = (round(a + (b - a) * (place - low)) for a, b in zip(stops[low], stops[low + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _heat_row(amounts: Array, largest: float, scale: Scale) -> Markup:
    """A row of cells: the empty ones are one strip behind a grid, the others lie over it."""
    count = len(amounts)
    parts = [bar(0, 1, 1, 20, class_="nothing")]
    for place in np.flatnonzero(is_something(amounts)).tolist():
        share, width = float(amounts[place]) / largest, 1 / count
        parts.append(bar(place / count, width, 1, 20, fill=heat_colour(share), class_="some"))
        style = "in-cell" + " light" * (share > 0.3) + " many" * (count > 24)
        words = _short(float(amounts[place]) / scale.units)
        parts.append(text((place + 0.5) / count, 15, words, class_=style, text_anchor="middle"))
    return picture(*parts, stretched(grid(count, 22), height=22), height=22, class_="plot heat")


def _short(value: float) -> str:
    """An amount in the room of a cell: three digits where they tell anything."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def _unpaid_reading(case: Case, unpaid: Array) -> Markup:
    run = case.run
    if not is_something(unpaid).any():
        return Markup("Nothing is unpaid at any quarter's end: everyone is paid in full, when due.")
    total = unpaid.sum(axis=0)
    peak = int(total.argmax())
    parties = [place for place in range(len(unpaid)) if is_something(unpaid[place]).any()]
    worst = int(unpaid.max(axis=1).argmax())
    when = int(unpaid[worst].argmax())
    words = Markup("{} {}. Most is owed to {}: {} at the end of {}.").format(
        plural(len(parties), "party").replace("partys", "parties"),
        "has to wait" if len(parties) == 1 else "have to wait",
        said(run.names["party"][worst]),
        sum_in(run, float(unpaid[worst, when])),
        run.labels[when],
    )
    if len(parties) > 1:
        told = Markup(" All together are owed most, {}, at the end of {}.")
        words += told.format(sum_in(run, float(total[peak])), run.labels[peak])
    end = float(total[-1])
    if end >= 0.005:
        return words + Markup(" When the run ends {} is still unpaid.").format(sum_in(run, end))
    last = int(np.flatnonzero(is_something(total))[-1])
    return words + Markup(" All of it is paid by the end of {}.").format(run.labels[last + 1])


def party_table(case: Case) -> Table:
    """Each party's dates and amounts in one table: the words of the timeline."""
    run = case.run
    rows = []
    for place, party in enumerate(run.names["party"]):
        amounts = (case.of("due")[place].sum(), case.of("paid")[place].sum(), case.of("unpaid")[place].max())
        rows.append((name_cell(party), *(money_cell(float(amount), run.scale) for amount in amounts)))
    return Table(("party", "due", "paid", "most unpaid"), tuple(rows), run.unit)
