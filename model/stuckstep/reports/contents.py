"""What `check` prints: the tables that were read, the scenarios by structure, the defaults, and the sources."""

from collections.abc import Iterator

from stuckstep.deal import Deal, scenario_names, schema, variants

from . import sources as source_column
from .console import Block, Heading, Sentence, Table


def contents(deal: Deal, *, sources: bool = False) -> Iterator[Block]:
    """The blocks that say what a deal without faults holds."""
    titles = [str(row.cells["value"]) for row in deal.tables["deal"] if row.cells["item"] == "title"]
    yield Heading(f"{deal.name}: {titles[0]}")
    yield Sentence("No faults.", "green")
    yield _tables(deal)
    absent = [table for table in deal.tables if table not in deal.files]
    if absent:
        yield Sentence(f"Not given, and not needed: {', '.join(absent)}.")
    yield from _scenarios(deal)
    if sources:
        yield from _sources(deal)
    yield Sentence(f"SHA-256 of the assumptions: {deal.digest}")


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
    counts = source_column.shares(deal)
    total = {kind: sum(count[kind] for count in counts.values()) for kind in source_column.KINDS}
    rows = [[table, *(str(number or "-") for number in count.values())] for table, count in counts.items()]
    rows.append(["all", *(str(number or "-") for number in total.values())])
    everything = max(1, sum(total.values()))
    rows.append(["share", *(f"{number / everything:.0%}" for number in total.values())])
    yield Table(["table", "fact", "assumption", "other text", "no source"], rows, title="Sources of numbers and dates")
