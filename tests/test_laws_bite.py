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


def broken(wrong: tuple[str, Callable[[Node], Node]] | None) -> set[str]:
    """The laws that are broken in some period when a line is made wrong (None: when none is)."""
    deal = read(SUPERPOD)
    plan, grid = base(deal), periods(deal)
    lines = build(plan, plan)
    if wrong is not None:
        name, change = wrong
        lines._lines[name] = replace(lines[name], value=change(lines[name].value))
    program = arrays.translate(lines, [f"checks.{one}.broken" for one in (*LAWS, "master")])
    clock = arrays.Clock(grid.first_day, grid.next_first_day)
    values = arrays.evaluate(program, plan.value, lambda cell: float(plan.value(cell)[0]), clock, 1)
    flags = {one: values[f"checks.{one}.broken"] for one in LAWS}
    np.testing.assert_array_equal(values["checks.master.broken"], sum(flags.values()))
    return {one for one, flag in flags.items() if np.any(flag)}


def test_no_law_is_broken_by_a_deal_as_it_is() -> None:
    assert set(WRONG) == set(LAWS)
    assert broken(None) == set()


@pytest.mark.parametrize("law", LAWS)
def test_a_law_is_broken_by_what_it_is_about(law: str) -> None:
    assert law in broken(WRONG[law])


@pytest.mark.parametrize(
    ("law", "name", "error"),
    [
        ("accounts", "accounts.operating.closing", -0.02),
        ("paid", "claims.rent.paid", -1e7),
        ("ranks", "checks.operating.60 short", 1),  # where only a residual is left to be paid
        ("balances", "facilities.ddtl.balance", -3e7),
        ("price lists", "claims.rent.last year", -9),
    ],
)
def test_a_law_is_broken_from_its_other_side_too(law: str, name: str, error: float) -> None:
    assert law in broken((name, lambda value: value + number(error)))
