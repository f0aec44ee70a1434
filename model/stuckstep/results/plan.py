"""A deal as it was planned: the dates and amounts of its schedule with every delay at zero."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from stuckstep.deal import Cell, Deal, Periods, Sheets, base, serial
from stuckstep.deal.changes import with_scenarios
from stuckstep.rules.claims import Claim, all_claims, claim_phases
from stuckstep.rules.lines import name_of

from .solve import Part, solve

_PLAN = "(as planned)"
_DEAL = "deal"


@dataclass(frozen=True)
class Plan:
    """The base sheets, and the lines of the schedule without delays."""

    sheets: Sheets
    periods: Periods
    part: Part

    @property
    def deal(self) -> Deal:
        return self.sheets.deal

    @cached_property
    def end(self) -> float:
        """The day after the last one of the model."""
        return float(self.periods.next_first_day[-1])

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Every claim: the table's, then those that facilities and contracts make."""
        return all_claims(self.sheets)

    @cached_property
    def covered(self) -> dict[str, list[str]]:
        """The claims each support pays: those it names, else those whose first place is its account."""
        return {support: self._covered(support) for support in self.sheets.keys("supports")}

    def _covered(self, support: str) -> list[str]:
        if self.sheets.cell("supports", support, "commitment") == 0:
            return []
        named = self.sheets.cell("supports", support, "covers")
        if isinstance(named, tuple):
            return [str(name) for name in named]
        account = self.text("supports", support, "account")
        owed = [claim for claim in self.claims if claim.kind != "residual" and claim.places]
        return [claim.name for claim in owed if claim.places[0].account == account]

    def at(self, table: str, row: str, item: str, phase: str | None = None) -> float:
        """A line's value: a date as a serial, or an amount. KeyError where there is no such line."""
        return float(self.part.values[name_of(table, row, item, phase)][0])

    def number(self, table: str, row: str, column: str) -> float:
        """The number or date of a cell of the base sheets."""
        return float(self.sheets.value(self.sheets.find(table, row, column))[0])

    def text(self, table: str, row: str, column: str) -> str | None:
        """The name or choice in a cell of the base sheets; None where it is blank."""
        value = self.sheets.cell(table, row, column)
        return None if value is None else str(value)

    def date(self, table: str, row: str, column: str) -> float | None:
        """The date a trigger cell means for the whole deal; None where it is blank."""
        named = self.sheets.cell(table, row, column)
        if named is None or isinstance(named, datetime.date):
            return None if named is None else serial(named)
        if named in ("order", "billing"):
            return self.at("phases", _DEAL, str(named))
        return self.at("steps", str(named), "finish", _DEAL)

    def phases_of(self, table: str, row: str) -> tuple[str, ...]:
        """The phases a claim exists in (`deal` for one of the whole deal), or that name a contract."""
        if table == "claims":
            return claim_phases(self.sheets, row)
        return tuple(p for p in self.sheets.keys("phases") if self.text("phases", p, "contract") == row)


def plan_of(deal: Deal) -> Plan:
    """Works the planned schedule out; nothing of it depends on cash, so it is quick."""
    sheets = base(deal)
    late = [Cell("steps", step, "delay") for step in sheets.keys("steps") if sheets.cell("steps", step, "delay")]
    planned = with_scenarios(deal, {_PLAN: dict.fromkeys(late, 0.0)}) if late else deal
    solution = solve(planned, [_PLAN if late else "base"], keep=list(_names(sheets)))
    return Plan(sheets, solution.periods, solution.parts[0])


def _names(sheets: Sheets) -> Iterator[str]:
    """Every static line that a plan is asked for."""
    phases = (*sheets.keys("phases"), _DEAL)
    items = {
        "phases": ("billing", "order"),
        "steps": ("finish",),
        "contracts": ("end", "prepayment", "prepayment date", "units a day"),
        "claims": ("due date", "amount", "begins", "end", "units a day"),
        "facilities": tuple(f"{claim} counts on" for claim in sheets.keys("claims")),
    }
    for table, named in items.items():
        for row in (*sheets.keys(table), _DEAL) if table == "phases" else sheets.keys(table):
            for item in named:
                yield name_of(table, row, item)
                yield from (name_of(table, row, item, phase) for phase in phases)
    yield from (name_of("claims", claim, "starts") for claim in sheets.keys("claims"))
