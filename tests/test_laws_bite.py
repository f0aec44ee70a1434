"""Each law can be broken: a line is made wrong by a little, and the law that is about it says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stuckstep.deal import base, periods, read
from stuckstep.engines import arrays
from stuckstep.rules import build
from stuckstep.rules.checks import LAWS
from stuckstep.rules.expression import ZERO, Node, number

SUPERPOD = Path(__file__).parent / "golden" / "superpod"

# For each law a line and what is made of it.
WRONG: dict[str, tuple[str, Callable[[Node], Node]]] = {
    "accounts": ("accounts.operating.closing", lambda value: value + number(0.02)),
    "paid": ("claims.rent.paid", lambda value: value + number(1e7)),
    "ranks": ("accounts.construction.10 chips_deposit paid", lambda value: ZERO),
    "balances": ("facilities.ddtl.balance", lambda value: value + number(3e7)),
    "sources and uses": ("parties.lender.paid", lambda value: value + number(0.02)),
    "unpaid": ("claims.rent.unpaid", lambda value: value + number(0.02)),
    "prepayments": ("contracts.anchor.refund@su1", lambda value: value + number(0.02)),
    "steps": ("steps.racks.finish@su1", lambda value: value - number(200)),
    "price lists": ("contracts.anchor.last year", lambda value: value - number(9)),
}


def broken(law: str | None) -> set[str]:
    """The laws that are broken in some period when the line of a law is made wrong (None: when none is)."""
    deal = read(SUPERPOD)
    plan, grid = base(deal), periods(deal)
    lines = build(plan, plan)
    if law is not None:
        name, change = WRONG[law]
        lines._lines[name] = replace(lines[name], value=change(lines[name].value))
    program = arrays.translate(lines, [f"checks.{one}.broken" for one in LAWS])
    clock = arrays.Clock(grid.first_day, grid.next_first_day)
    values = arrays.evaluate(program, plan.value, lambda cell: float(plan.value(cell)[0]), clock, 1)
    return {one for one in LAWS if np.any(values[f"checks.{one}.broken"])}


def test_no_law_is_broken_by_a_deal_as_it_is() -> None:
    assert set(WRONG) == set(LAWS)
    assert broken(None) == set()


@pytest.mark.parametrize("law", LAWS)
def test_a_law_is_broken_by_what_it_is_about(law: str) -> None:
    assert law in broken(law)
