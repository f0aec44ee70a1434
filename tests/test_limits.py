"""How large a deal may be: each limit is refused by name, and what is shown needs no more lines than are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
import xarray as xr
from click.testing import CliRunner

import deal_files as files
import stuckstep as ss
from stuckstep.cli import main
from stuckstep.deal import read
from stuckstep.deal.limits import limits, too_large, too_many
from stuckstep.results import is_shown, label, solve
from stuckstep.rules.expression import number, total

pytestmark = pytest.mark.thorough

ASSUMPTIONS = Path(__file__).parents[1] / "assumptions"


def lowered(monkeypatch: pytest.MonkeyPatch, what: str, most: int) -> None:
    """One limit alone, and lower, so that a small deal passes it."""
    limit = next(limit for limit in limits() if limit.what == what)._replace(most=most)
    monkeypatch.setattr("stuckstep.deal.limits.limits", lambda: (limit,))


@pytest.mark.parametrize("limit", limits(), ids=lambda limit: limit.what)
def test_each_limit_is_named_with_what_the_deal_has(limit, monkeypatch: pytest.MonkeyPatch) -> None:
    deal = read(files.SUPERPOD)
    purpose = "a workbook" if "workbook" in limit.what else ""
    assert too_many(deal) == too_large(deal) == too_large(deal, "a workbook") == []
    lowered(monkeypatch, limit.what, 0)
    found = too_many(deal) or too_large(deal, purpose)
    assert len(found) == 1
    assert str(found[0]).endswith("; at most 0 are allowed")
    factors = limit.what.removesuffix(" for a workbook").split(" x ")
    assert all(f"{factor}" in found[0].wrong for factor in factors)


def test_the_sizes_are_those_of_the_deal(monkeypatch: pytest.MonkeyPatch) -> None:
    deal = read(files.SUPERPOD)
    lowered(monkeypatch, "claims x phases x periods x scenarios", 1)
    has = "10 claims x 1 phases x 28 periods x 5 scenarios is 1,400"
    assert [str(fault) for fault in too_large(deal)] == [
        f"{files.SUPERPOD}: the deal is too large: {has}; at most 1 are allowed"
    ]
    lowered(monkeypatch, "eligible claims x phases", 3)
    assert "4 eligible claims x 1 phases is 4" in str(too_large(deal)[0])


def test_at_the_limit_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    deal = read(files.SUPERPOD)
    lowered(monkeypatch, "claims x phases x periods x scenarios", 1400)
    assert too_large(deal) == []
    lowered(monkeypatch, "claims", 10)
    assert too_many(deal) == []


def test_a_workbook_that_would_be_too_large_is_refused_before_anything_is_worked_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered(monkeypatch, "claims x phases x periods for a workbook", 279)
    deal, out = str(files.SUPERPOD), str(tmp_path / "out")
    monkeypatch.setattr("stuckstep.results.solve", None)
    said = "too large for a workbook: 10 claims x 1 phases x 28 periods is 280; at most 279 are allowed"
    result = CliRunner().invoke(main, ["run", deal, "--out", out])
    assert (result.exit_code, result.stderr.strip().endswith(f"{said} (or --no-workbook)")) == (2, True)
    result = CliRunner().invoke(main, ["export", deal, "--out", f"{out}/x.xlsx"])
    assert (result.exit_code, result.stderr.strip().endswith(said)) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("deck", ["superpod", "fluidstack", "colossus"])
def test_the_lines_that_are_kept_are_all_that_is_shown(deck: str) -> None:
    """A line that is missing counts as zero, so one too few would be silent."""
    deal = ss.read(ASSUMPTIONS / deck)
    xr.testing.assert_identical(label(solve(deal, keep=is_shown)), label(solve(deal)))


def test_a_sum_of_thousands_can_be_walked() -> None:
    """From the top, left before right, and without recursing as deep as the sum is long."""
    found = [node.leaf for node in total(number(place) for place in range(5000)).walk() if node.operator == "number"]
    assert found == list(range(5000))
