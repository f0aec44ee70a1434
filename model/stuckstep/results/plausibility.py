"""Plausibility: where a deal is legal but odd. It warns and never changes anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from stuckstep.deal import Deal, layout
from stuckstep.deal.records import place
from stuckstep.deal.warning_codes import codes

from . import misfits, oddities
from .oddities import Found
from .plan import Plan, plan_of

# One check for each code of warnings.csv, by its name.
CHECKS: dict[str, Callable[[Plan], Iterator[Found]]] = {
    code: getattr(oddities, code, None) or getattr(misfits, code) for code in codes()
}


class Warned(NamedTuple):
    """One thing that looks odd: its code, where it stands, the name it is accepted by, what is odd, and the reason
    with which the deal accepts it (None: it does not)."""

    code: str
    where: str
    name: str
    said: str
    accepted: str | None

    def __str__(self) -> str:
        return f"{self.where}: {self.code} {self.name}: {self.said}"


def warnings(deal: Deal) -> list[Warned]:
    """Everything odd in a deal, each row once for each code, in the order of warnings.csv."""
    plan = plan_of(deal)
    accepted = {(row.cells["code"], row.cells["row"]): str(row.cells["reason"]) for row in deal.tables["accepted"]}
    seen: dict[tuple[str, str, str], Warned] = {}
    for check in CHECKS.values():
        for one in check(plan):
            key = (one.code, one.table, one.name)
            where = place(deal.files.get(one.table, one.table), _number(deal, one), None)
            seen.setdefault(key, Warned(one.code, where, one.name, one.said, accepted.get((one.code, one.name))))
    return list(seen.values())


def accepted_in_vain(deal: Deal, raised: list[Warned]) -> list[str]:
    """What the deal accepts though nothing of the kind is raised: `code row`."""
    names = {(one.code, one.name) for one in raised}
    rows = deal.tables["accepted"]
    return [f"{r.cells['code']} {r.cells['row']}" for r in rows if (r.cells["code"], r.cells["row"]) not in names]


def _number(deal: Deal, one: Found) -> int | None:
    """The row in which something odd stands."""
    key = layout.key(one.table)
    return next((row.number for row in deal.tables[one.table] if row.cells[key] == one.row), None)
