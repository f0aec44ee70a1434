"""The answer at the top: which step is stuck, for how long, who waits, and what one more quarter costs whom."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from ..amounts import HALF_CENT, NOT_MEANT, NOT_MEANT_SAYS, money, rate
from .beside import Beside, Slip
from .cases import Case, is_something, latest
from .compare import late_words
from .cost import cost_words, dearest, dearest_words, losers
from .figure import (
    Cell,
    Table,
    capital,
    date_cell,
    day,
    listing,
    money_cell,
    name_cell,
    number_cell,
    plural,
    pretty,
    said,
    sum_in,
)
from .svg import bdi


class Tile(NamedTuple):
    """One number of the headline: what it is, the number, what stands under it, and whether it is bad news."""

    words: str
    number: Markup | str
    below: Markup | str = ""
    is_bad: bool = False


class Headline(NamedTuple):
    """The sentence, what follows from it, the tiles and the table of who waits."""

    title: Markup
    sentences: tuple[tuple[str, Markup], ...]
    tiles: tuple[Tile, ...]
    waits: Table
    note: str
    is_late: bool


def headline(case: Case, beside: Beside) -> Headline:
    """The headline of a scenario."""
    waits = who_waits(case)
    has_meaning = all(row[-1].text != NOT_MEANT for row in waits.rows)
    return Headline(
        title=_title(case, beside.stuck),
        sentences=tuple(_sentences(case, beside)),
        tiles=tuple(_tiles(case, beside)),
        waits=waits,
        note="" if has_meaning else f"{NOT_MEANT_SAYS}.",
        is_late=_is_late(case),
    )


def _is_late(case: Case) -> bool:
    return bool((np.nan_to_num(case.of("days_late"), nan=1.0) > 0).any())


def _title(case: Case, stuck: Slip | None) -> Markup:
    place = latest(case)
    phase, many = case.run.names["phase"][place], len(case.run.names["phase"]) > 1
    late = case.of("days_late")[place]
    if stuck is None:
        if not _is_late(case):
            return Markup("No step is stuck: every phase bills as planned") if many else Markup("No step is stuck")
        return Markup("Billing is late, though no step's delay explains it")
    step = capital(said(stuck.step))
    where = Markup(" in {} of {} phases").format(len(stuck.phases), len(case.run.names["phase"])) if many else ""
    if case.of("cancelled")[place]:
        return Markup("{} is stuck{}: {} is cancelled and never bills").format(step, where, said(phase))
    return Markup("{} is stuck{}: billing begins {} late").format(step, where, plural(late, "day"))


def _sentences(case: Case, beside: Beside) -> list[tuple[str, Markup]]:
    found = [("Billing", _billing_words(case, beside)), ("Who waits", _who_waits_words(case))]
    if beside.costs:
        words = cost_words(case, beside.costs[0]) if beside.stuck else dearest_words(case, beside.costs)
        found.append(("One more quarter", words))
    return found


def _billing_words(case: Case, beside: Beside) -> Markup:
    place = latest(case)
    phase = said(case.run.names["phase"][place])
    if len(case.run.names["phase"]) > 1:
        phase = Markup("Phase {}").format(phase)
    planned, actual = day(case.of("planned_billing")[place]), day(case.of("billing_start")[place])
    if case.of("cancelled")[place]:
        words = Markup("{} was to bill from {}; its customer leaves at the long-stop.").format(phase, planned)
    elif case.of("days_late")[place] > 0:
        words = Markup("{} bills from {} instead of {}.").format(phase, actual, planned)
    else:
        words = Markup("{} bills from {}, as planned.").format(phase, actual)
    if beside.stuck and _relief(case, beside.stuck) == 0:
        words += Markup(" Curing {} alone is worth nothing, because another path is as late.").format(
            said(beside.stuck.step)
        )
    return words


def _relief(case: Case, slip: Slip) -> float:
    at = case.run.names["step"].index(slip.step)
    rows = [case.run.names["phase"].index(phase) for phase in slip.phases]
    return float(max(case.of("relief")[row, at] for row in rows))


def _who_waits_words(case: Case) -> Markup:
    waits = _waiting(case)
    if not waits:
        return Markup("Nobody: everyone is paid in full, when due, and no later than in base.")
    unpaid = case.of("unpaid").max(axis=1)
    names = case.run.names["party"]
    found = []
    short = [at for at in waits if is_something(unpaid[at])]
    if short:
        owed = [
            Markup("{} (up to {} unpaid)").format(said(names[at]), sum_in(case.run, float(unpaid[at]))) for at in short
        ]
        found.append(capital(listing(owed)) + ".")
    later = [said(names[at]) for at in waits if at not in short]
    if later:
        words = Markup("{} {} paid later than in base, though never short.")
        found.append(words.format(capital(listing(later)), "is" if len(later) == 1 else "are"))
    return Markup(" ").join(found)


def _waiting(case: Case) -> list[int]:
    """The parties that are unpaid at some quarter's end, or half paid later than in base, in chain order."""
    unpaid, later = case.of("unpaid").max(axis=1), case.of("quarters_late")
    return [at for at in range(len(unpaid)) if is_something(unpaid[at]) or later[at] > 0]


def who_waits(case: Case) -> Table:
    """Each party's dates here and in base, what it waits for, and what its flows are worth and earn."""
    run, rows = case.run, []
    half, base, unpaid = case.of("half_paid"), case.base("half_paid"), case.of("unpaid")
    for at, party in enumerate(run.names["party"]):
        peak = float(unpaid[at].max())
        when = run.labels[int(unpaid[at].argmax())] if peak >= HALF_CENT else ""
        later = float(case.of("quarters_late")[at])
        rows.append(
            (
                name_cell(party),
                date_cell(case.of("first_paid")[at]),
                _quarter_cell(case, half[at]),
                _quarter_cell(case, base[at]),
                number_cell(later, f"{later:+.0f}".replace("+0", "-")),
                money_cell(float(case.of("paid")[at].sum()), run.scale),
                money_cell(peak, run.scale),
                Cell(when, when),
                money_cell(float(unpaid[at, -1]), run.scale),
                money_cell(float(case.of("npv")[at]), run.scale),
                _rate_cell(case, at),
            )
        )
    head = (
        "party",
        "first paid",
        "half paid",
        "in base",
        "quarters later",
        "paid in all",
        "most unpaid",
        "at end of",
        "unpaid at the end",
        "NPV",
        "IRR",
    )
    return Table(head, tuple(rows), run.unit)


def _rate_cell(case: Case, at: int) -> Cell:
    """The IRR of a party that both puts money in and is paid."""
    puts_in, paid = case.of("puts_in")[at].sum(), case.of("paid")[at].sum()
    earned = float(case.of("irr")[at])
    if min(puts_in, paid) < HALF_CENT or np.isnan(earned):
        return Cell("", "")
    return number_cell(earned, rate(earned))


def _quarter_cell(case: Case, date: np.datetime64) -> Cell:
    if np.isnat(date):
        return Cell("", "")
    return Cell(case.run.labels[int(np.searchsorted(case.run.ends, date))], str(date.astype("datetime64[D]")))


def _tiles(case: Case, beside: Beside) -> list[Tile]:
    run, place = case.run, latest(case)
    late, planned = late_words(case), day(case.of("planned_billing")[place])
    unpaid = case.of("unpaid")
    peak, total = int(unpaid.sum(axis=0).argmax()), float(unpaid.sum(axis=0).max())
    idle = int(beside.idle.argmax())
    stuck = bdi(pretty(beside.stuck.step)) if beside.stuck else Markup("none")
    tiles = [Tile("stuck step", stuck, _stuck_below(case, beside), beside.stuck is not None)]
    if late == "cancelled":
        tiles.append(Tile("billing begins", "never", f"planned {planned}", True))
    else:
        below = "as planned" if late == "0" else f"planned {planned}"
        tiles.append(Tile("billing begins", day(case.of("billing_start")[place]), below, late != "0"))
    tiles.append(
        Tile("days late", late if late != "cancelled" else "-", "cancelled" * (late == "cancelled"), late != "0")
    )
    words = f"at the end of {run.labels[peak]}" if total >= HALF_CENT else "at no quarter's end"
    tiles.append(Tile(f"most unpaid, {run.unit}", money(total, run.scale), words, total >= HALF_CENT))
    words = f"at the end of {run.labels[idle]}" if beside.idle[idle] >= HALF_CENT else ""
    tiles.append(Tile(f"out on idle capacity, {run.unit}", money(float(beside.idle[idle]), run.scale), words))
    if beside.costs:
        cost = beside.costs[0] if beside.stuck else dearest(beside.costs)
        hit = losers(case, cost, 1)
        tiles.append(
            Tile(
                f"one more quarter of {pretty(cost.slip.step)}, {run.unit}",
                money(-hit[0][1], run.scale) if hit else "-",
                Markup("to {}, hit hardest").format(said(hit[0][0])) if hit else "costs nobody",
            )
        )
    return tiles


def _stuck_below(case: Case, beside: Beside) -> str:
    if beside.stuck is None:
        return "in this scenario"
    relief = _relief(case, beside.stuck)
    return f"worth {plural(relief, 'day')} when cured" if relief else "worth nothing when cured alone"
