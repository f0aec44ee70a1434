"""A kind of claim is said in one place, and every reader has it: arrays, workbook, words."""

from pathlib import Path

import pytest

from stuckstep.deal import Sheets, read
from stuckstep.engines import excel
from stuckstep.reports.explanation import explain
from stuckstep.results import solve
from stuckstep.rules import claims
from stuckstep.rules.constants import constant
from stuckstep.rules.expression import Node, in_period
from stuckstep.rules.inputs import amount, trigger
from stuckstep.rules.lines import Lines
from workbooks import ASSUMPTIONS, compared, exported, in_ironcalc


def retention(lines: Lines, sheets: Sheets, claim: str, phase: str) -> Node:
    """A new rule: half of what is owed falls due on the date, the half that was retained a year later."""
    owed = amount(sheets, "claims", claim, "rate") * amount(sheets, "claims", claim, "share")
    owed = owed * claims._units(lines, sheets, claim, phase)
    owed = lines.add("claims", claim, "amount", "money", f"what {claim} comes to in {phase}", owed, phase=phase)
    date = trigger(sheets, lines, "claims", claim, "trigger", phase) + amount(sheets, "claims", claim, "net_days")
    date = lines.add("claims", claim, "due date", "date", f"when {claim} falls due in {phase}", date, phase=phase)
    half = owed * constant(lines, "half")
    held = half * in_period(date + constant(lines, "year"))
    held = lines.add(
        "claims", claim, "retained", "money", f"what was retained of {claim} in {phase}", held, phase=phase
    )
    now = half * in_period(date)
    return lines.add("claims", claim, "due", "money", f"what falls due on {claim} in {phase}", now + held, phase=phase)


def test_a_new_rule_is_in_the_arrays_the_workbook_and_the_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deal = read(ASSUMPTIONS / "superpod")
    before = solve(deal, ["base"]).line("claims.fabric.due")[:, 0]
    monkeypatch.setattr(claims, "_add_once", retention)

    solution = solve(deal)
    due = solution.line("claims.fabric.due")[:, 0]
    assert due.sum() == before.sum()
    assert sorted(due[due > 0]) == [before.sum() / 2, before.sum() / 2]

    book = exported(deal, tmp_path / "superpod.xlsx", solution=solution)
    read_cell, _ = in_ironcalc(book.path)
    assert compared(read_cell, book.model, "base").wrong == []
    sheet, row = book.model.layout.lines["claims.fabric.retained@su1"]
    labels = [read_cell(sheet, row, column) for column in (1, 2)]
    assert labels == ["retained · su1", "what was retained of fabric in su1"]
    periods = range(excel.FIRST_PERIOD, excel.FIRST_PERIOD + len(due))
    assert sum(read_cell(sheet, row, column) for column in periods) == before.sum() / 2

    quarter = book.model.periods.labels[int((due > 0).argmax())]
    words = "\n".join(str(step) for step in explain(deal, "claims.fabric.due@su1", quarter).steps)
    assert "retained" in words
