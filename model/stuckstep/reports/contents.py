"""What `check` prints: the tables that were read, the scenarios by structure, the defaults, and the sources."""

from collections.abc import Iterator

from stuckstep.deal import Deal, scenario_names, schema, variants
from stuckstep.deal.facts import facts
from stuckstep.deal.sources import RESTS_ON, shares, unsourced
from stuckstep.results.plausibility import accepted_in_vain, warnings

from .console import Block, Heading, Sentence, Table

LOG_SHOWN = 40  # readings that are listed unless all are asked for


def contents(deal: Deal, *, sources: bool = False, whole_log: bool = False) -> Iterator[Block]:
    """The blocks that say what a deal without faults holds."""
    titles = [str(row.cells["value"]) for row in deal.tables["deal"] if row.cells["item"] == "title"]
    yield Heading(f"{deal.name}: {titles[0]}")
    yield Sentence("No faults.", "green")
    yield _tables(deal)
    absent = [table for table in deal.tables if table not in deal.files]
    if absent:
        yield Sentence(f"Not given, and not needed: {', '.join(absent)}.")
    yield from _scenarios(deal)
    yield from _log(deal, whole_log)
    yield from _warnings(deal)
    if sources:
        yield from _sources(deal)
    yield Sentence(f"SHA-256 of the assumptions: {deal.digest}")


def _log(deal: Deal, whole: bool) -> Iterator[Block]:
    """What was read otherwise than it looks."""
    if not deal.log:
        return
    count = len(deal.log)
    yield Sentence(
        f"{count} thing{'s' * (count != 1)} read otherwise than {'they look' if count != 1 else 'it looks'}:"
    )
    shown = count if whole else LOG_SHOWN
    yield from (Sentence(str(reading), indent=2) for reading in deal.log[:shown])
    if count > shown:
        yield Sentence(f"and {count - shown} more; --log lists them all", indent=2)


def _warnings(deal: Deal) -> Iterator[Block]:
    """What is legal but odd, and what of it the deal accepts with which reason."""
    raised = warnings(deal)
    for kind in (False, True):
        shown = [one for one in raised if (one.accepted is not None) == kind]
        if not shown:
            continue
        said = f"{len(shown)} warning{'s' * (len(shown) != 1)}"
        yield Sentence(f"{said} accepted:" if kind else f"{said}:", "" if kind else "yellow")
        for one in shown:
            yield Sentence(f"{one} ({one.accepted})" if kind else str(one), indent=2)
    if any(one.accepted is None for one in raised):
        yield Sentence("They change nothing. A row `code, row, reason` in the table accepted takes one as it is.")
    for name in accepted_in_vain(deal, raised):
        yield Sentence(f"Accepted, but not raised: {name}.", "yellow")


def _tables(deal: Deal) -> Table:
    rows = []
    for table, file in deal.files.items():
        columns, blank = deal.columns[table], _defaults(deal, table)
        rows.append([table, file, str(len(deal.tables[table])), str(len(columns)), str(blank) if blank else "-"])
    return Table(["table", "read from", "rows", "columns", "defaults used"], rows, frozenset({0, 1}))


def _defaults(deal: Deal, table: str) -> int:
    """How many cells of a table are blank or not there, and take a default that stands for a value."""
    with_default = [column for column in schema() if column.table == table and column.default not in ("", "none")]
    if table == "deal":
        given = {row.cells["item"] for row in deal.tables["deal"] if row.cells["value"] is not None}
        return sum(column.column not in given for column in with_default)
    return sum(row.cells.get(column.column) is None for row in deal.tables[table] for column in with_default)


def _scenarios(deal: Deal) -> Iterator[Block]:
    names, groups = scenario_names(deal), variants(deal)
    said = f"{len(names)} scenario{'s' * (len(names) != 1)}, base among them"
    if len(groups) == 1:
        yield Sentence(f"{said}, all of one structure.")
        return
    yield Sentence(f"{said}, of {len(groups)} structures (each is compiled apart):")
    for group in groups:
        shown = ", ".join(group.scenarios[:6])
        more = len(group.scenarios) - 6
        yield Sentence(shown + (f" and {more} more" if more > 0 else ""), indent=2)


def _sources(deal: Deal) -> Iterator[Block]:
    """How many numbers rest on what, and those that rest on nothing or on a fact that is not there."""
    counts = shares(deal, facts())
    total = {kind: sum(count[kind] for count in counts.values()) for kind in RESTS_ON}
    kinds = [kind for kind in RESTS_ON if total[kind]]
    rows = [[table, *(str(count[kind] or "-") for kind in kinds)] for table, count in counts.items()]
    rows.append(["all", *(str(total[kind]) for kind in kinds)])
    everything = max(1, sum(total.values()))
    rows.append(["share", *(f"{total[kind] / everything:.0%}" for kind in kinds)])
    yield Table(["table", *kinds], rows, title="What the numbers and dates rest on")
    missing = unsourced(deal, facts())
    if missing:
        yield Sentence(f"{len(missing)} to look at:", "yellow")
    yield from (Sentence(str(fault), indent=2) for fault in missing)
