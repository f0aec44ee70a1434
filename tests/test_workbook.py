"""The workbook agrees with the engine: every scenario of every shipped deal, random deals, changed inputs."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings

from strategies import Tables, deals, write_tables
from stuckstep.deal import DealError, read, scenario_names
from stuckstep.results.validity import check_schedule
from system import is_required, require, require_uno
from workbooks import (
    ASSUMPTIONS,
    SELECTOR,
    Exported,
    changed_superpod,
    compared,
    dust,
    edited,
    exported,
    exported_all,
    in_formualizer,
    in_ironcalc,
    in_office,
    input_cell,
)

pytestmark = pytest.mark.thorough

SHIPPED = sorted(folder.name for folder in ASSUMPTIONS.iterdir() if (folder / "deal.csv").exists())
CHANGES = {
    ("steps", "hall", "delay"): "45",
    ("contracts", "anchor", "price"): "10500000",
    ("facilities", "ddtl", "margin"): "0.055",
}


def watched(book: Exported) -> tuple[str, ...]:
    """All scenarios of a workbook where everything is required; else the few."""
    return book.model.scenarios if is_required() else few(book)


def few(book: Exported) -> tuple[str, ...]:
    """All scenarios of superpod; of other deals the first and the last."""
    scenarios = book.model.scenarios
    return scenarios if book.model.deal.name == "superpod" else tuple(dict.fromkeys((scenarios[0], scenarios[-1])))


@pytest.fixture(scope="module", params=SHIPPED)
def books(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Exported]:
    """All workbooks of a shipped deal, for every test of it."""
    return list(exported_all(read(ASSUMPTIONS / request.param), tmp_path_factory.mktemp(request.param)))


def test_the_shipped_deals_are_the_engine_s_bit_for_bit(books: list[Exported]) -> None:
    """Every scenario in the quicker engine, a few in the other."""
    found: list[str] = []
    for book in books:
        for (read_cell, select), scenarios in (
            (in_ironcalc(book.path), watched(book)),
            (in_formualizer(book.content), few(book)),
        ):
            for scenario in scenarios:
                select(scenario)
                assert compared(read_cell, book.model, scenario).wrong == []
        found += book.model.scenarios
    assert sorted(found) == sorted(scenario_names(books[0].model.deal))


def test_libreoffice_agrees(books: list[Exported], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    soffice = require("soffice", "LibreOffice recalculates the workbook as a third engine")
    python = require_uno()
    name = books[0].model.deal.name
    if name != "superpod" and not is_required():
        pytest.skip("only superpod in LibreOffice, unless STUCKSTEP_REQUIRE_SYSTEM=1 asks for every deal")
    worst = 0.0
    for book in books:
        answers = list(in_office(soffice, python, book, watched(book), tmp_path))
        assert [answer.scenario for answer in answers] == list(watched(book))
        for scenario, read_cell, errors in answers:
            comparison = compared(read_cell, book.model, scenario, relative=1e-9, absolute=dust(book.model))
            assert comparison.wrong == []
            assert errors == []
            worst = max(worst, comparison.worst)
    with capsys.disabled():
        print(f"\n{name}: the worst relative difference of LibreOffice above dust is {worst:.1e}")


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(tables=deals())
def test_random_deals_are_the_engine_s_bit_for_bit(tables: Tables, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("deal")
    deal = read(write_tables(tables, folder / "deal"))
    try:
        check_schedule(deal)
    except DealError:  # a refund that falls due before the start, which the workbook flags
        reject()
    for book in exported_all(deal, folder):
        read_cell, select = in_ironcalc(book.path)
        for scenario in book.model.scenarios:
            select(scenario)
            assert compared(read_cell, book.model, scenario).wrong == []
        assert read(book.path).digest == deal.digest


@pytest.mark.parametrize("scenario", ["base", "chips_late_2q"])
def test_a_changed_input_moves_the_workbook_as_it_moves_the_engine(
    scenario: str, superpod: Exported, tmp_path: Path
) -> None:
    places = {input_cell(superpod.model.deal, *cell): float(value) for cell, value in CHANGES.items()}
    path = tmp_path / "edited.xlsx"
    path.write_bytes(edited(superpod.content, {**places, SELECTOR: scenario}, stripped=True))
    changed = read(changed_superpod(tmp_path / "changed", CHANGES))
    expected = exported(changed, tmp_path / "expected.xlsx", scenario)
    before = superpod.model.values("parties.chipmaker.paid")[:, superpod.model.scenarios.index(scenario)]
    after = expected.model.values("parties.chipmaker.paid")[:, expected.model.position]
    assert not np.array_equal(before, after)  # the change is one that can be seen
    for read_cell, _ in (in_formualizer(path.read_bytes()), in_ironcalc(path)):
        assert compared(read_cell, expected.model, scenario).wrong == []
        assert read_cell("cover", 8, 3) == "CHANGED"
        assert read_cell("cover", 9, 3) == "OK"
    assert read(path).digest == changed.digest


def test_a_changed_rank_asks_for_a_run_and_the_run_follows(superpod: Exported, tmp_path: Path) -> None:
    cell = ("claims", "chips", "paid_from")
    places = "construction:35;operating:60"
    path = tmp_path / "edited.xlsx"
    path.write_bytes(edited(superpod.content, {input_cell(superpod.model.deal, *cell): places}))
    read_cell, _ = in_formualizer(path.read_bytes())
    assert read_cell("cover", 9, 3) == "CHANGED"
    changed = read(changed_superpod(tmp_path / "changed", {cell: places}))
    assert read(path).digest == changed.digest
    expected = exported(changed, tmp_path / "expected.xlsx")
    again = exported(read(path), tmp_path / "again.xlsx")
    read_cell, _ = in_ironcalc(again.path)
    assert compared(read_cell, expected.model, "base").wrong == []


def test_formulas_in_input_cells_count_with_their_stored_value(superpod: Exported, tmp_path: Path) -> None:
    place = input_cell(superpod.model.deal, "claims", "rent", "rate")
    path = tmp_path / "edited.xlsx"
    path.write_bytes(edited(superpod.content, {place: "<f>12*150</f><v>1800</v>"}))
    rent = next(row for row in read(path).tables["claims"] if row.cells["claim"] == "rent")
    assert rent.cells["rate"] == 1800.0
    path.write_bytes(edited(superpod.content, {place: "<f>12*150</f>"}))
    with pytest.raises(DealError, match=r"claims, row \d+, column rate: .* formula"):
        read(path)


def test_a_workbook_saved_by_libreoffice_is_the_same_deal(superpod: Exported, tmp_path: Path) -> None:
    soffice = require("soffice", "an analyst edits the workbook and saves it with LibreOffice")
    hall = input_cell(superpod.model.deal, "steps", "hall", "delay")
    path = tmp_path / "edited.xlsx"
    path.write_bytes(edited(superpod.content, {hall: 45.0}))
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    command = [soffice, profile, "--headless", "--convert-to", "xlsx", "--outdir", str(tmp_path / "saved"), str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    changed = read(changed_superpod(tmp_path / "changed", {("steps", "hall", "delay"): "45"}))
    assert read(tmp_path / "saved" / "edited.xlsx").digest == changed.digest


def test_the_auditor_finds_nothing_high(superpod: Exported, tmp_path: Path) -> None:
    auditor = Path(sys.executable).with_name("spreadsheet-auditor")
    command = [
        str(auditor),
        "--fail-on",
        "High",
        "--recalc-timeout",
        "1",
        "--out",
        str(tmp_path / "audit.md"),
        str(superpod.path),
    ]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
