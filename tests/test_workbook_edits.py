"""An analyst edits the workbook in a spreadsheet: it recalculates as the engine does, and a run on it follows."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from stuckstep.deal import Deal, read
from stuckstep.engines import excel
from system import require, require_uno
from workbooks import (
    Exported,
    changed_superpod,
    compared,
    dust,
    edited,
    exported,
    in_formualizer,
    in_ironcalc,
    in_office,
    input_cell,
)

pytestmark = pytest.mark.thorough

Typed = Sequence[tuple[str, str, float | str]]
SCENARIO = "chips_late_2q"
NUMBERS = {
    ("steps", "hall", "delay"): "45",
    ("contracts", "anchor", "price"): "10500000",
    ("facilities", "ddtl", "margin"): "0.055",
}
RANK = {("claims", "chips", "paid_from"): "construction:35;operating:60"}
CLAIM = {
    "claim": "audit",
    "paid_from": "operating:20",
    "payee": "staff",
    "kind": "once",
    "basis": "usd",
    "rate": "50000",
    "phase": "deal",
    "trigger": "billing",
}
LATE_AUDIT = {"scenario": "audit_late", "table": "claims", "row": "audit", "column": "net_days", "value": "90"}


def as_typed(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def cells_changed(deal: Deal, changes: dict[tuple[str, str, str], str]) -> Typed:
    return [(*input_cell(deal, *cell), as_typed(value)) for cell, value in changes.items()]


def row_added(deal: Deal, table: str, row: dict[str, str]) -> Typed:
    """What is typed into the first row below a table."""
    place = excel.HEADINGS_ROW + len(deal.tables[table]) + 1
    headings = excel.headings(table)
    return [(table, f"{chr(65 + headings.index(heading))}{place}", as_typed(value)) for heading, value in row.items()]


def everything(deal: Deal) -> Typed:
    """A rank, a claim and a scenario: what no formula can follow, so that the program has to run on the file."""
    return [
        *cells_changed(deal, NUMBERS | RANK),
        *row_added(deal, "claims", CLAIM),
        *row_added(deal, "scenarios", LATE_AUDIT),
    ]


def the_same_in_csv(folder: Path) -> Deal:
    changed_superpod(folder, NUMBERS | RANK)
    for table, row in (("claims", CLAIM), ("scenarios", LATE_AUDIT)):
        path = folder / f"{table}.csv"
        with path.open(newline="", encoding="utf-8") as file:
            headings = next(csv.reader(file))
        with path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, headings).writerow(row)
    return read(folder)


def type_with_openpyxl(book: Exported, typed: Typed, folder: Path) -> Path:
    loaded = openpyxl.load_workbook(book.path)
    for sheet, cell, value in typed:
        loaded[sheet][cell] = value
    loaded.save(folder / "saved.xlsx")
    return folder / "saved.xlsx"


def type_with_libreoffice(book: Exported, typed: Typed, folder: Path) -> Path:
    soffice, python = require("soffice", "an analyst edits the workbook with LibreOffice"), require_uno()
    answers = list(in_office(soffice, python, book, ["base"], folder, typed, folder / "saved.xlsx"))
    assert [answer.errors for answer in answers] == [[]]
    return folder / "saved.xlsx"


@pytest.mark.parametrize("hand", [type_with_openpyxl, type_with_libreoffice])
def test_a_run_follows_whatever_is_typed_and_saved(
    hand: Callable[[Exported, Typed, Path], Path], superpod: Exported, tmp_path: Path
) -> None:
    saved = hand(superpod, everything(superpod.model.deal), tmp_path)
    expected = the_same_in_csv(tmp_path / "csv")
    again = read(saved)
    assert again.digest == expected.digest
    book, wanted = exported(again, tmp_path / "again.xlsx", "audit_late"), exported(expected, tmp_path / "csv.xlsx")
    assert book.model.values("claims.audit.due")[:, book.model.position].sum() == 50_000.0
    read_cell, select = in_ironcalc(book.path)
    for scenario in ("base", SCENARIO, "audit_late"):
        select(scenario)
        assert compared(read_cell, wanted.model, scenario).wrong == []
    before = superpod.model.values("parties.chipmaker.paid")[:, superpod.model.scenarios.index(SCENARIO)]
    after = wanted.model.values("parties.chipmaker.paid")[:, wanted.model.scenarios.index(SCENARIO)]
    assert not np.array_equal(before, after)


def test_what_is_typed_in_libreoffice_recalculates_there_as_the_engine(superpod: Exported, tmp_path: Path) -> None:
    soffice, python = require("soffice", "an analyst edits the workbook with LibreOffice"), require_uno()
    changed = read(changed_superpod(tmp_path / "changed", NUMBERS))
    expected = exported(changed, tmp_path / "expected.xlsx", SCENARIO)
    typed = cells_changed(superpod.model.deal, NUMBERS)
    answers = in_office(soffice, python, superpod, ["base", SCENARIO], tmp_path, typed, tmp_path / "saved.xlsx")
    for scenario, read_cell, errors in answers:
        found = compared(read_cell, expected.model, scenario, relative=1e-9, absolute=dust(expected.model))
        assert found.wrong == []
        assert errors == []
        assert [read_cell("cover", row, 3) for row in (6, 8, 9, 10)] == ["OK", "CHANGED", "OK", "CHANGED"]
    assert read(tmp_path / "saved.xlsx").digest == changed.digest


@pytest.mark.parametrize("what", ["rank", "claim", "scenario"])
def test_what_no_formula_can_follow_asks_for_a_run(what: str, superpod: Exported, tmp_path: Path) -> None:
    deal = superpod.model.deal
    typed = {
        "rank": cells_changed(deal, RANK),
        "claim": row_added(deal, "claims", CLAIM),
        "scenario": row_added(deal, "scenarios", LATE_AUDIT),
    }[what]
    path = type_with_openpyxl(superpod, typed, tmp_path)
    read_cell, _ = in_formualizer(path.read_bytes())
    assert [read_cell("cover", row, 3) for row in (6, 8, 9)] == ["OK", "OK", "CHANGED"]


def test_an_input_may_refer_to_a_sheet_of_one_s_own(superpod: Exported, tmp_path: Path) -> None:
    """The formula counts with the value that was stored with it; the sheet is not read, and the log says both."""
    loaded = openpyxl.load_workbook(superpod.path)
    loaded.create_sheet("my notes")["A1"] = 12 * 150
    loaded.save(tmp_path / "notes.xlsx")
    sheet, cell = input_cell(superpod.model.deal, "claims", "rent", "rate")
    content = edited((tmp_path / "notes.xlsx").read_bytes(), {(sheet, cell): "<f>'my notes'!A1</f><v>1800</v>"})
    (tmp_path / "notes.xlsx").write_bytes(content)
    deal = read(tmp_path / "notes.xlsx")
    rent = next(row for row in deal.tables["claims"] if row.cells["claim"] == "rent")
    assert rent.cells["rate"] == 1800.0
    told = [str(one) for one in deal.log]
    assert "my notes: the sheet is no table, not read" in told
    assert any("the formula" in one and "1800" in one for one in told)
