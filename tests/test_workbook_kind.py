"""A kind of claim is said in one place, and every reader has it: sheets, arrays, workbook, words."""

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from stuckstep.deal import DealError, Sheets, layout, read
from stuckstep.engines import excel
from stuckstep.reports.explanation import explain
from stuckstep.results import solve
from stuckstep.results.plausibility import warnings
from stuckstep.rules import claims
from stuckstep.rules.constants import constant
from stuckstep.rules.expression import Node, in_period
from stuckstep.rules.inputs import amount, trigger
from stuckstep.rules.lines import Lines
from workbooks import ASSUMPTIONS, compared, exported, in_formualizer, in_ironcalc

pytestmark = pytest.mark.thorough


@pytest.fixture
def retention() -> Iterator[None]:
    """The one place: a claim of which half falls due on its date, and the half that was retained a year later."""

    @claims.kind("retention", like="once")
    def add_retention(lines: Lines, sheets: Sheets, claim: str) -> list[Node]:
        return [add_phase(lines, sheets, claim, phase) for phase in claims.claim_phases(sheets, claim)]

    def add_phase(lines: Lines, sheets: Sheets, claim: str, phase: str) -> Node:
        def say(item: str, unit: str, says: str, value: Node) -> Node:
            return lines.add("claims", claim, item, unit, f"{says} of {claim} in {phase}", value, phase=phase)

        owed = amount(sheets, "claims", claim, "rate") * amount(sheets, "claims", claim, "share")
        owed = say("amount", "money", "the whole", owed * claims.quantity(lines, sheets, claim, phase))
        date = trigger(sheets, lines, "claims", claim, "trigger", phase) + amount(sheets, "claims", claim, "net_days")
        date = say("due date", "date", "when the first half falls due", date)
        half = say("half", "money", "each half", owed * constant(lines, "half"))
        held = say("retained", "money", "the half that was retained", half * in_period(date + constant(lines, "year")))
        return say("due", "money", "what falls due", half * in_period(date) + held)

    yield
    del claims.KINDS["retention"], layout.FURTHER_KINDS["retention"]
    layout.schema.cache_clear()
    layout.columns.cache_clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """superpod, its storage a claim of the new kind, and a scenario that makes it late."""
    folder = tmp_path / "deal"
    shutil.copytree(ASSUMPTIONS / "superpod", folder)
    with (folder / "claims.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    next(row for row in rows if row["claim"] == "storage")["kind"] = "retention"
    with (folder / "facilities.csv").open(newline="", encoding="utf-8") as file:
        loans = list(csv.DictReader(file))
    for loan in loans:
        loan["eligible"] = ";".join(name for name in loan["eligible"].split(";") if name != "storage")
    for name, table in (("claims", rows), ("facilities", loans)):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, table[0])
            writer.writeheader()
            writer.writerows(table)
    return folder


@pytest.mark.usefixtures("retention")
def test_a_new_kind_is_in_the_sheets_the_arrays_the_workbook_and_the_words(folder: Path, tmp_path: Path) -> None:
    deal = read(folder)
    before = solve(read(ASSUMPTIONS / "superpod"), ["base"]).line("claims.storage.due")[:, 0]
    solution = solve(deal)
    due = solution.line("claims.storage.due")[:, 0]
    first, last = np.flatnonzero(due)
    assert due[first] == due[last] == before.sum() / 2
    assert last - first == 4  # quarters

    book = exported(deal, tmp_path / "deal.xlsx", solution=solution)
    for read_cell, select in (in_ironcalc(book.path), in_formualizer(book.content)):
        for scenario in ("base", "power_late_2q"):
            select(scenario)
            assert compared(read_cell, book.model, scenario).wrong == []
        sheet, row = book.model.layout.lines["claims.storage.retained@su1"]
        assert [read_cell(sheet, row, column) for column in (1, 2)] == [
            "retained · su1",
            "the half that was retained of storage in su1",
        ]
        select("base")
        held = [read_cell(sheet, row, excel.FIRST_PERIOD + place) for place in range(len(due))]
        assert np.flatnonzero(held).tolist() == [last]
    choices = [one.formula1 for one in openpyxl.load_workbook(book.path)["claims"].data_validations.dataValidation]
    assert '"once,recurring,residual,retention"' in choices
    assert read(book.path).digest == deal.digest

    quarter = book.model.periods.labels[int(last)]
    words = "\n".join(str(step) for step in explain(deal, "claims.storage.due@su1", quarter).steps)
    assert "retained" in words
    warnings(deal)  # reads the plan of every claim


def test_a_kind_that_no_rule_declares_is_refused(folder: Path) -> None:
    with pytest.raises(DealError, match="retention"):
        read(folder)


@pytest.mark.usefixtures("retention")
def test_the_cells_of_a_new_kind_are_checked_as_those_of_the_kind_it_is_like(folder: Path) -> None:
    claims_csv = folder / "claims.csv"
    text = claims_csv.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("storage,"))
    claims_csv.write_text(text.replace(line, line.replace("usd_per_rack", "usd_per_mwh")), encoding="utf-8")
    with pytest.raises(DealError, match="usd_per_mwh is no basis of a once claim"):
        read(folder)
