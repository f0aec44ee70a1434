"""Which line and which period a user means by what is typed, and what there is to ask for."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from stuckstep.deal import DealError, Fault, from_serial
from stuckstep.results import Part, Solution, tabled
from stuckstep.rules.lines import Line

from .console import Block, Heading, Sentence
from .flows import is_flow
from .outcomes import outcome_names


class Asked(NamedTuple):
    """The periods a line is asked in: one, or the months of a quarter where the line is a flow; and them in words."""

    times: tuple[int, ...]
    says: str


def find_period(solution: Solution, part: Part, name: str, period: str | None) -> Asked:
    """The positions of a period. A line without periods is the same in all of them.

    A quarter of a deal by month is its months for an amount that flows, and its last month for what stands.
    """
    periods, line = solution.periods, part.lines[name]
    if line.kind == "static":
        return Asked((0,), "every period")
    asked = (period or "").strip().upper()
    if asked in periods.labels:
        times, note = [periods.labels.index(asked)], ""
    elif asked in periods.quarter_labels:
        months = (periods.quarter_index == periods.quarter_labels.index(asked)).nonzero()[0]
        times = [int(month) for month in (months if is_flow(line) else months[-1:])]
        note = f"the months of {asked}; " if is_flow(line) else f"the last month of {asked}; "
    else:
        wrong = "there is no such period" if period else "it has a value in every period, and none is named"
        names = f"{periods.labels[0]} to {periods.labels[-1]}"
        if periods.labels != periods.quarter_labels:
            names += f" and {periods.quarter_labels[0]} to {periods.quarter_labels[-1]}"
        raise DealError([Fault(period or name, None, None, wrong, f"{names} are allowed")])
    first, after = periods.first_day[times[0]], periods.next_first_day[times[-1]]
    label = asked if len(times) > 1 else periods.labels[times[0]]
    return Asked(tuple(times), f"{label} ({note}{from_serial(first)} to {from_serial(after - 1)})")


def find_line(part: Part, typed: str) -> str:
    """The line a user means: its full name, a claim (what falls due on it), or row.item with or without a phase."""
    for names in _readings(part, typed.strip()):
        if len(names) == 1:
            return names[0]
        if names:
            raise DealError(
                [Fault(typed, None, None, "several lines answer to this name", f"one of {_listed(names)} is allowed")]
            )
    near = _nearest(part, typed)
    allowed = f"nearest are {_listed(near)}" if near else "stuckstep explain DEAL lists what there is"
    raise DealError([Fault(typed, None, None, "no line has this name", allowed)])


def _readings(part: Part, typed: str) -> Iterator[list[str]]:
    """The lines a name may mean, the nearest reading first."""
    lines = part.lines
    head, at, phase = typed.partition("@")
    yield [name for name in (typed, f"claims.{typed}.due", f"claims.{head}.due{at}{phase}") if name in lines][:1]
    for fold in (str, _folded):
        wanted, wanted_head = fold(typed), fold(head)
        yield [name for name in lines if fold(name) == wanted]
        yield [name for name, line in lines.items() if fold(_short(name, line.table)) == wanted]
        bare = [
            name for name, line in lines.items() if fold(f"{line.row}.{line.item}") == wanted_head
        ] if not at else []  # fmt: skip
        own = [name for name in bare if lines[name].phase != "deal"]
        yield own or bare
    yield _by_variable(part, typed)
    rows = [name for name, line in lines.items() if _folded(line.row) == _folded(typed) and line.table != "checks"]
    items = [n for n, line in lines.items() if _folded(line.item) == _folded(typed) and line.phase != "deal"]
    yield list(dict.fromkeys([*rows, *(name for name in items if lines[name].row != "deal")]))


def _by_variable(part: Part, typed: str) -> list[str]:
    """The lines behind a variable of the Dataset (balance_closing), of one row (ddtl.balance_closing) or of all."""
    row, dot, variable = typed.strip().rpartition(".")
    table, item = _variables().get(variable.casefold().replace(" ", "_"), ("", ""))
    return [
        name
        for name, line in part.lines.items()
        if line.table == table
        and _matches(line, item)
        and (not dot or _row_of(line, item).casefold() == row.casefold())
    ]


def _matches(line: Line, item: str) -> bool:
    """Whether a line is the item; `interest.due` is the item due of a claim FACILITY.interest."""
    suffix, dot, own = item.rpartition(".")
    if not dot:
        return line.item == item and (line.phase is None or line.table == "contracts")
    return line.item == own and line.phase is None and line.row.endswith(f".{suffix}")


def _row_of(line: Line, item: str) -> str:
    suffix, dot, _ = item.rpartition(".")
    if line.table == "contracts":
        return str(line.phase)
    return line.row.removesuffix(f".{suffix}") if dot else line.row


@cache
def _variables() -> dict[str, tuple[str, str]]:
    """The table and item behind each variable of the Dataset that is one line for each label."""
    found = {row["variable"]: (row["table"], row["item"]) for row in tabled()}
    found |= {f"{kind}_due": ("claims", f"{kind}.due") for kind in ("fee", "interest", "principal")}
    found |= {item: ("contracts", item) for item in ("billed", "collected", "prepaid")}
    return found | {"billing_start": ("phases", "billing"), "available_until": ("facilities", "window closes")}


def _short(name: str, table: str) -> str:
    return name.removeprefix(f"{table}.")


def _folded(name: str) -> str:
    return name.casefold().replace("_", " ")


def _nearest(part: Part, typed: str) -> list[str]:
    shorts = {_folded(_short(name, line.table)): _short(name, line.table) for name, line in part.lines.items()}
    for line in part.lines.values():
        if line.table == "claims" and line.item == "due":
            shorts[_folded(line.row)] = line.row
    shorts |= {_folded(name): name for name in outcome_names(part.sheets)}
    last = typed.rpartition(".")[2]
    near = (difflib.get_close_matches(_folded(name), list(shorts), 5, 0.6) for name in (typed, last))
    return [shorts[key] for key in next(filter(None, near), [])]


def _listed(names: list[str], most: int = 12) -> str:
    shown = [f"'{name}'" if " " in name else name for name in names[:most]]
    more = len(names) - most
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def contents(part: Part, outcomes: Mapping[str, Sequence[str]]) -> Iterator[Block]:
    """What there is to explain: by sheet, its rows and the items of each, as ROW.ITEM is typed."""
    yield Heading("What can be explained")
    yield Sentence("Type a claim (rent), or ROW.ITEM (ddtl.balance, su1.billing), with @PHASE for one phase alone.")
    rows: dict[str, dict[str, None]] = {}
    items: dict[str, dict[str, None]] = {}
    for line in part.lines.values():
        rows.setdefault(line.table, {})[line.row] = None
        if not line.item[0].isdigit() and not any(letter.isdigit() for letter in line.item):
            items.setdefault(line.table, {})[line.item] = None
    own = set().union(*(rows.get(table, {}) for table in ("claims", "accounts", "facilities", "phases", "parties")))
    for table, names in rows.items():
        if table in ("constants", "relief", "checks"):
            continue
        yield Sentence("")
        yield Sentence(f"{table}: {', '.join(names)}")
        shown = [item for item in items.get(table, {}) if not any(name in item.split() for name in own)]
        yield Sentence(f"items: {', '.join(shown)}", indent=2)
    yield Sentence("")
    for dimension, variables in outcomes.items():
        yield Sentence(f"of each {dimension}, worked out from the lines: {', '.join(variables)}")
