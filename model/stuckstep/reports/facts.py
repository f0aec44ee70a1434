"""What `facts` prints: the figures of the two documents worked out again, and the facts counted by source and kind."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stuckstep.deal import DealError, Fault
from stuckstep.deal.arithmetic import FormulaError
from stuckstep.deal.facts import KINDS, Fact, Printed, says, worked_out

from .amounts import number
from .console import Block, Heading, Sentence, Table

SAID, FOLLOWS, DOES_NOT_FOLLOW = "in the fact", "follows", "does not follow"
SHOWN = 15  # sources listed one by one, unless all are asked for


class Checked(NamedTuple):
    """A printed figure beside what its parts give. The value is None, and the verdict blank, where there is a fault."""

    figure: Printed
    value: float | None
    verdict: str
    fault: str


def checked(figure: Printed, known: Mapping[str, Fact]) -> Checked:
    """A figure worked out again from its formula, or read again from the fact that carries it.

    The verdict is SAID, FOLLOWS or DOES_NOT_FOLLOW (the print is not what its own parts give: no fault of the facts).
    A figure without a source, or one its fact does not say, has a fault.
    """
    if not figure.facts:
        return Checked(figure, None, "", "it has no source")
    if unknown := [name for name in figure.facts if name not in known]:
        return Checked(figure, None, "", f"{', '.join(unknown)} is no fact")
    if not any(_carries(known[name], figure) for name in figure.facts):
        return Checked(figure, None, "", f"{figure.fact} does not say {figure.printed}")
    if not figure.formula:
        return Checked(figure, figure.number, SAID, "")
    try:
        value = worked_out(figure.formula, known)
    except FormulaError as fault:
        return Checked(figure, None, "", str(fault))
    near = abs(value - figure.number) <= figure.tolerance * (1 + 1e-9) + 1e-9
    return Checked(figure, value, FOLLOWS if near else DOES_NOT_FOLLOW, "")


def _carries(fact: Fact, figure: Printed) -> bool:
    """Whether a fact says the printed number: in the same words, or in figures, perhaps in thousands of its unit.

    A figure that is worked out may be printed with fewer digits than its fact.
    """
    if not figure.printed[0].isdigit() and figure.printed in fact.text:
        return True
    near = figure.tolerance if figure.formula else 0.0
    return any(says(fact, figure.number * scale, near * scale) for scale in (1.0, 1000.0, 0.001))


def without_source(known: Mapping[str, Fact]) -> list[str]:
    """The ids of facts that name no source."""
    return [fact.id for fact in known.values() if not fact.source_title.strip()]


def facts_page(known: Mapping[str, Fact], figures: Sequence[Printed], *, every_source: bool = False) -> Iterator[Block]:
    """The blocks: one table of figures for each document, what does not follow, and the totals."""
    results = [checked(figure, known) for figure in figures]
    yield Heading("Figures of the two documents, worked out again")
    for document in dict.fromkeys(figure.document for figure in figures):
        yield _figures(document, [one for one in results if one.figure.document == document])
    yield from _findings(results)
    yield Heading("Facts by source and kind")
    yield _by_source(known, every_source)
    yield from _caveats(known)


def said_by(known: Mapping[str, Fact], ids: Sequence[str]) -> Iterator[Block]:
    """What each fact says, of which day, and where. DealError for ids that are no fact, naming the nearest."""
    by_fold = {name.casefold(): fact for name, fact in known.items()}
    unknown = [name for name in ids if name.casefold() not in by_fold]
    if unknown:
        raise DealError([Fault(name, None, None, "no fact has this id", _near(name, known)) for name in unknown])
    for fact in (by_fold[name.casefold()] for name in ids):
        yield Heading(fact.id, major=False)
        yield Sentence(f"{fact.entity}, {fact.quantity}: {fact.value} {fact.unit}".rstrip())
        yield Sentence(f"{fact.kind}, as of {fact.as_of or 'no day given'}; {fact.source_title}", indent=2)
        for text in (fact.source_url, fact.note):
            if text:
                yield Sentence(text, indent=2)


def _near(name: str, known: Mapping[str, Fact]) -> str:
    near = difflib.get_close_matches(name.upper(), list(known), 3, 0.6)
    return f"nearest are {', '.join(near)}" if near else "the ids stand in the columns source of the shipped deals"


def faults(known: Mapping[str, Fact], figures: Iterable[Printed]) -> list[str]:
    """One line for each figure whose source is missing or does not say it, and each fact without a source."""
    results = [checked(figure, known) for figure in figures]
    lines = [
        f"{one.figure.document}, {one.figure.figure} ({one.figure.printed}): {one.fault}"
        for one in results
        if one.fault
    ]
    return lines + [f"{name}: the fact names no source" for name in without_source(known)]


def _figures(document: str, results: Sequence[Checked]) -> Table:
    rows = [
        [
            one.figure.figure,
            " ".join(part for part in (one.figure.about, one.figure.printed, one.figure.unit) if part),
            "-" if one.value is None else number(round(one.value, 4)),
            one.verdict or one.fault,
            one.figure.formula or one.figure.fact,
            one.figure.deal,
        ]
        for one in results
    ]
    headings = ["figure", "printed", "worked out", "verdict", "from", "deal"]
    return Table(headings, rows, frozenset({0, 3, 4, 5}), title=document)


def _findings(results: Sequence[Checked]) -> Iterator[Block]:
    follow = sum(one.verdict == FOLLOWS for one in results)
    said = sum(one.verdict == SAID for one in results)
    yield Sentence(f"{len(results)} figures: {follow} follow from their parts, {said} are in their fact as printed.")
    for one in results:
        if one.verdict == DOES_NOT_FOLLOW and one.value is not None:
            shown = f"{one.figure.figure}: {one.figure.printed} {one.figure.unit} is printed"
            note = f". {one.figure.note}" if one.figure.note else ""
            yield Sentence(f"Does not follow: {shown}, its parts give {number(round(one.value, 2))}{note}.", "yellow")


def _by_source(known: Mapping[str, Fact], every_source: bool) -> Table:
    counts: dict[str, dict[str, int]] = {}
    for fact in known.values():
        of_source = counts.setdefault(fact.source_title, dict.fromkeys(KINDS, 0))
        of_source[fact.kind] = of_source.get(fact.kind, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -sum(item[1].values()))
    shown, rest = (ranked, []) if every_source else (ranked[:SHOWN], ranked[SHOWN:])
    rows = [[title or "(none)", *_counts(count)] for title, count in shown]
    if rest:
        rows.append([f"{len(rest)} other sources (--all lists them)", *_counts(_added([count for _, count in rest]))])
    rows.append(["all", *_counts(_added(list(counts.values())))])
    return Table(["source", *KINDS, "all"], rows)


def _added(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {kind: sum(count.get(kind, 0) for count in counts) for kind in KINDS}


def _counts(count: Mapping[str, int]) -> list[str]:
    return [str(count.get(kind, 0) or "-") for kind in KINDS] + [str(sum(count.values()))]


def _caveats(known: Mapping[str, Fact]) -> Iterator[Block]:
    unread = sum("[primary not opened]" in fact.note for fact in known.values())
    nowhere = sum(not fact.source_url for fact in known.values())
    yield Sentence(
        f"{len(known)} facts; {unread} of them cite a filing that was not opened itself, {nowhere} have no address: "
        "find the page again before quoting one as read."
    )
