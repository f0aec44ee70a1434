"""Where the money comes from and goes to, and what is left: sources and uses, cash, money on idle capacity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from ..amounts import money
from ..colours import chain_colour
from .beside import Beside
from .cases import Array, Case, is_something
from .figure import (
    Figure,
    Key,
    Strip,
    name_cell,
    name_label,
    nice_ticks,
    plural,
    pretty,
    said,
    strips,
    sum_in,
)
from .figure import quarter_table as by_quarter
from .payments import draw_marks, mark_words
from .svg import area_path, bar, element, join, line, picture, steps_path, stretched, text, time_axis

TALL = 250.0
MOST_SHOWN = 6  # more kinds than these in one stack cannot be told apart
_SOURCES = {"collections": "#0b4f8a", "prepayments": "#7fb2dd", "loans": "#c8650c", "supports": "#f0bf86"}
_FROM_CASH = "#c9ced6"

Stack = list[tuple[str, str, Array]]  # name, colour, amounts by quarter


def sources_and_uses(case: Case) -> Figure:
    """Each quarter's sources upwards and its uses downwards; what is not used goes into cash, what lacks comes out."""
    run = case.run
    sources, uses = _sources(case), _uses(case)
    change = np.diff(case.of("cash_closing").sum(axis=0), prepend=_opening_cash(case))
    shown_sources: Stack = [
        *sources,
        ("out of cash", _FROM_CASH, np.where(is_something(change), np.maximum(-change, 0), 0)),
    ]
    shown_uses: Stack = [*uses, ("into cash", _FROM_CASH, np.where(is_something(change), np.maximum(change, 0), 0))]
    table = [([name_cell(name), name_cell("source")], amounts) for name, _, amounts in shown_sources]
    table += [([name_cell(name), name_cell("use")], amounts) for name, _, amounts in shown_uses]
    all_rows = tuple(range(len(table)))
    drawing = _mirrored(case, shown_sources, shown_uses)
    rows = [Strip("", mark_words(case)), Strip(_scale_labels(case, shown_sources, shown_uses), drawing, "", all_rows)]
    axis = picture(time_axis(run.labels, 2), height=18, class_="plot heading")
    legend = [
        Key(element("i", "sources"), style="none"),
        *(Key(pretty(name), fill=colour) for name, colour, amounts in shown_sources if is_something(amounts).any()),
        Key(element("i", "uses"), style="none"),
        *(Key(pretty(name), fill=colour) for name, colour, amounts in uses if is_something(amounts).any()),
    ]
    return Figure(
        key="flows",
        title="Uses against sources",
        unit=run.unit,
        reading=_flows_reading(case, sources, uses),
        picture=strips(
            "Sources and uses by quarter; the same numbers stand in the table",
            rows,
            axis,
            first=2,
            count=len(run.labels),
        ),
        table=by_quarter(run, table, ("what", "side")),
        legend=tuple(legend),
        note="Sources above the line, uses below it; the two sides are equal in every quarter.",
    )


def _opening_cash(case: Case) -> float:
    return float(sum(case.number("accounts", account, "opening_cash") for account in case.run.names["account"]))


def _sources(case: Case) -> Stack:
    amounts = {
        "collections": case.of("collected").sum(axis=0),
        "prepayments": case.of("prepaid").sum(axis=0),
        "loans": case.of("draw").sum(axis=0),
        "supports": case.of("support_paid").sum(axis=0),
    }
    return [(name, _SOURCES[name], values) for name, values in amounts.items()]


def _uses(case: Case) -> Stack:
    """What each party is paid, in chain order; the smallest together when they are many."""
    parties, paid = case.run.names["party"], case.of("paid")
    totals = paid.sum(axis=1)
    kept = set(np.argsort(-totals)[:MOST_SHOWN] if len(parties) > MOST_SHOWN + 1 else range(len(parties)))
    stack = [
        (party, chain_colour(place, len(parties)), paid[place])
        for place, party in enumerate(parties)
        if place in kept and is_something(paid[place]).any()
    ]
    others = [place for place in range(len(parties)) if place not in kept and is_something(paid[place]).any()]
    if others:
        stack.append((f"{len(others)} smaller parties", "#d8cfe6", paid[others].sum(axis=0)))
    return stack


def _reach(*stacks: Stack) -> float:
    return max(float(sum((amounts for _, _, amounts in stack), np.zeros(1)).max()) for stack in stacks) or 1.0


def _scale_labels(case: Case, sources: Stack, uses: Stack) -> Markup:
    """The round amounts at the left of the picture, upwards and downwards."""
    half, reach = TALL / 2, _reach(sources, uses)
    marks = [text(1, half - 3, "0", class_="tick", text_anchor="end")]
    for tick in nice_ticks(reach, 4)[1:]:
        words = _axis_words(tick / case.run.scale.units)
        high = tick / reach * (half - 8)
        marks += [
            text(1, half - high + 4, words, class_="tick", text_anchor="end"),
            text(1, half + high + 4, words, class_="tick", text_anchor="end"),
        ]
    return picture(*marks, height=TALL, class_="plot")


def _axis_words(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".") if value < 100 else f"{value:,.0f}"


def _mirrored(case: Case, sources: Stack, uses: Stack) -> Markup:
    count, half, reach = len(case.run.labels), TALL / 2, _reach(sources, uses)
    tall = (half - 8) / reach
    parts = []
    for tick in nice_ticks(reach, 4)[1:]:
        parts += [line(0, half + sign * tick * tall, 1, half + sign * tick * tall, class_="hair") for sign in (-1, 1)]
    for sign, stack in ((-1, sources), (1, uses)):
        level = np.zeros(count)
        for _, colour, amounts in stack:
            for place in np.flatnonzero(is_something(amounts)):
                high = float(amounts[place] * tall)
                top = half + (level[place] if sign > 0 else -level[place] - high)
                parts.append(bar((place + 0.12) / count, 0.76 / count, top, high, fill=colour, class_="block"))
                level[place] += high
    parts += [line(0, half, 1, half, class_="ground"), draw_marks(case, TALL)]
    return picture(*parts, height=TALL)


def _flows_reading(case: Case, sources: Stack, uses: Stack) -> Markup:
    run = case.run
    total_in = float(sum(amounts.sum() for _, _, amounts in sources))
    out = case.of("paid")
    if total_in < 0.005:
        return Markup("No money comes in during this run.")
    shares = [
        Markup("{} {:.0f}%").format(name, 100 * float(amounts.sum()) / total_in)
        for name, _, amounts in sources
        if is_something(amounts).any()
    ]
    top = int(out.sum(axis=1).argmax())
    return Markup("{} comes in over {}: {}. The most, {}, goes to {}.").format(
        sum_in(run, total_in),
        plural(len(run.labels), "quarter"),
        Markup(", ").join(shares),
        sum_in(run, float(out[top].sum())),
        said(run.names["party"][top]),
    )


def cash(case: Case) -> Figure:
    """The cash of each account at each quarter's end over the minimum it must keep."""
    run, closing = case.run, case.of("cash_closing")
    rows, table, short = [Strip("", mark_words(case))], [], []
    for place, account in enumerate(run.names["account"]):
        minimum = case.number("accounts", account, "minimum_cash")
        below = closing[place] < minimum - 0.005
        short += [(account, at) for at in np.flatnonzero(below).tolist()][:1]
        owner = str(case.sheets.cell("accounts", account, "party"))
        right = join(
            (
                element("b", money(float(closing[place].max()), run.scale)),
                element("small", f"ends {money(float(closing[place][-1]), run.scale)}"),
            )
        )
        rows.append(
            Strip(
                name_label(account, pretty(owner)),
                _cash_row(case, closing[place], minimum),
                right,
                (2 * place, 2 * place + 1),
            )
        )
        table.append(([name_cell(account), name_cell("closing cash")], closing[place]))
        table.append(([name_cell(account), name_cell("minimum")], np.full(len(run.labels), minimum)))
    axis = picture(time_axis(run.labels, 2), height=18, class_="plot heading")
    return Figure(
        key="cash",
        title="Cash by account",
        unit=run.unit,
        reading=_cash_reading(case, closing, short),
        picture=strips(
            "Cash by account and quarter; the same numbers stand in the table",
            rows,
            axis,
            first=2,
            count=len(run.labels),
            class_="tall",
            right="most",
        ),
        table=by_quarter(run, table, ("account", "what")),
        legend=(
            Key("cash at the quarter's end", style="cash"),
            Key("minimum it must keep", style="minimum"),
            Key("short of it: nothing is distributed", style="late"),
        ),
        note="Each row has a scale of its own.",
    )


def _cash_row(case: Case, closing: Array, minimum: float) -> Markup:
    high, count = 40.0, len(closing)
    reach = float(max(closing.max(), minimum, 0.01)) * 1.08
    curve = stretched(
        element("path", d=area_path(np.zeros(count), closing / reach, 0, high), class_="cash-area"),
        element("path", d=steps_path(closing / reach, 0, high), class_="cash-line"),
        height=high,
    )
    parts = [curve, line(0, high - 0.5, 1, high - 0.5, class_="ground")]
    if minimum > 0:
        level = high * (1 - minimum / reach)
        parts.append(line(0, level, 1, level, class_="minimum"))
        parts += [
            bar(
                at / count,
                1 / count,
                high * (1 - minimum / reach),
                high * (minimum - closing[at]) / reach,
                class_="late",
            )
            for at in np.flatnonzero(closing < minimum - 0.005)
        ]
    parts.append(draw_marks(case, high))
    return picture(*parts, height=high)


def _cash_reading(case: Case, closing: Array, short: Sequence[tuple[str, int]]) -> Markup:
    run = case.run
    total = closing.sum(axis=0)
    low = int(total.argmin())
    words = Markup("All accounts together hold least, {}, at the end of {} and {} when the run ends.").format(
        sum_in(run, float(total[low])), run.labels[low], sum_in(run, float(total[-1]))
    )
    if short:
        named = [Markup("{} from {}").format(said(account), run.labels[at]) for account, at in short]
        words += Markup(" Short of its minimum, so that nothing is distributed from it: {}.").format(
            Markup(", ").join(named)
        )
    return words


def idle(case: Case, beside: Beside) -> Figure:
    """Money already paid out on capacity that does not bill yet, here and in base."""
    run, here, base = case.run, beside.idle, beside.idle_base
    high, reach = 150.0, float(max(here.max(), base.max(), 0.01)) * 1.05
    ticks = nice_ticks(reach, 3)
    left = picture(
        *(
            text(
                1, high * (1 - tick / reach) + 4, _axis_words(tick / run.scale.units), class_="tick", text_anchor="end"
            )
            for tick in ticks
        ),
        height=high,
    )
    curve = stretched(
        element("path", d=area_path(np.zeros(len(here)), here / reach, 0, high), class_="idle-area"),
        element("path", d=steps_path(here / reach, 0, high), class_="idle-line"),
        element("path", d=steps_path(base / reach, 0, high), class_="base-line"),
        height=high,
    )
    hairs = [line(0, high * (1 - tick / reach), 1, high * (1 - tick / reach), class_="hair") for tick in ticks]
    rows = [
        Strip("", mark_words(case)),
        Strip(left, picture(*hairs, curve, draw_marks(case, high), height=high), "", (0, 1)),
    ]
    return Figure(
        key="idle",
        title="Paid out on capacity that does not bill yet",
        unit=run.unit,
        reading=_idle_reading(case, here, base),
        picture=strips(
            "Money on idle capacity by quarter; the same numbers stand in the table",
            rows,
            picture(time_axis(run.labels, 2), height=18, class_="plot heading"),
            first=1,
            count=len(run.labels),
        ),
        table=by_quarter(run, [([name_cell(case.scenario)], here), ([name_cell("base")], base)], ("scenario",)),
        legend=(Key("this scenario", style="idle"), Key("base", style="base-line")),
        note="What the programme's own accounts have paid by each quarter's end on the claims of phases that do not "
        "bill yet; debt service, refunds and distributions are left out. Where a claim spans phases, what is paid is "
        "shared as what fell due.",
    )


def _idle_reading(case: Case, here: Array, base: Array) -> Markup:
    run = case.run
    if not is_something(here).any():
        return Markup("At no quarter's end has anything been paid out on capacity that does not bill.")
    peak, base_peak = int(here.argmax()), float(base.max())
    lead = Markup("At the end of {}, {} has been paid out on capacity that does not bill yet, the most of the run")
    words = lead.format(run.labels[peak], sum_in(run, float(here[peak])))
    words += Markup(" (in base {}).").format(sum_in(run, base_peak)) if case.scenario != "base" else "."
    quarters = int(is_something(here).sum())
    more = quarters - int(is_something(base).sum())
    words += Markup(" Money is out this way at {} of {} quarter ends").format(quarters, len(here))
    return words + (
        Markup(", {} than in base.").format(f"{more} more" if more > 0 else f"{-more} fewer") if more else "."
    )
