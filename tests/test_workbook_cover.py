"""What the cover says is true: live where it says live, compared with base only while base is as it was stored."""

import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from openpyxl.utils import column_index_from_string

import deal_files
from stuckstep.deal import from_serial, read
from stuckstep.reports.summary import summarise
from stuckstep.reports.tables import debt
from stuckstep.reports.workbook import export
from stuckstep.reports.workbook.results import DIFFERING, ENGINE, FIRST_SCENARIO, LIVE
from stuckstep.results import solve
from workbooks import (
    SELECTOR,
    Exported,
    Read,
    changed_superpod,
    edited,
    exported,
    in_formualizer,
    in_ironcalc,
    input_cell,
)

pytestmark = pytest.mark.thorough

STALE = "checks!$D$"
RUN_AGAIN = "run again"


@lru_cache(1)
def opened(path: Path) -> openpyxl.Workbook:
    return openpyxl.load_workbook(path)


def rows_of(book: Exported, sheet: str, columns: tuple[int, ...]) -> dict[tuple[str, ...], int]:
    """The rows of a sheet by what stands in some of its columns."""
    found = opened(book.path)[sheet]
    return {tuple(str(found.cell(row, column).value) for column in columns): row for row in range(1, found.max_row + 1)}


def compared_cells(book: Exported) -> list[tuple[str, int, int]]:
    """Every cell that compares with base: two for each party on two sheets, and the two lines of the answer."""
    results, cover = rows_of(book, "results", (1, 2)), rows_of(book, "cover", (2,))
    labels = ("half paid later than base", "never half paid")
    parties = book.model.sheets.keys("parties")
    cells = [("results", results[label, party], LIVE) for label in labels for party in parties]
    cells += [("cover", cover[party,], column) for party in parties for column in (7, 8)]
    return cells + [("cover", cover[label,], 4) for label in ("Who waits longest", "Never half paid")]


def answers(read_cell: Read, cells: list[tuple[str, int, int]]) -> set[object]:
    return {read_cell(*cell) for cell in cells}


EDITS: dict[str, Callable[[Exported], dict[tuple[str, str], float | str]]] = {
    "a price, base chosen": lambda book: {input_cell(book.model.deal, "contracts", "anchor", "price"): 9_000_000.0},
    "a price, another chosen": lambda book: {
        input_cell(book.model.deal, "contracts", "anchor", "price"): 9_000_000.0,
        SELECTOR: "power_late",
    },
    "base's delay, while a scenario with its own is chosen": lambda book: {
        input_cell(book.model.deal, "steps", "power", "delay"): 30.0,
        SELECTOR: "power_late",
    },
    "a scenario's own value": lambda book: {("scenarios", f"E{scenario_row(book, 'power_late')}"): 200.0},
    "a word": lambda book: {input_cell(book.model.deal, "claims", "chips", "paid_from"): "construction:35"},
    "the first day": lambda book: {input_cell(book.model.deal, "deal", "start", "value"): 46388.0 + 90},
}


def scenario_row(book: Exported, scenario: str) -> int:
    rows = [row.cells["scenario"] for row in book.model.deal.tables["scenarios"]]
    return 3 + rows.index(scenario)


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_input_silences_every_comparison_with_base(edit: str, superpod: Exported, tmp_path: Path) -> None:
    path = tmp_path / "edited.xlsx"
    path.write_bytes(edited(superpod.content, EDITS[edit](superpod), stripped=True))
    cells = compared_cells(superpod)
    for read_cell, _ in (in_formualizer(path.read_bytes()), in_ironcalc(path)):
        assert answers(read_cell, cells) == {RUN_AGAIN}
        assert "CHANGED" in (read_cell("cover", 8, 3), read_cell("cover", 9, 3))
        for label in ("Who waits longest", "Never half paid"):
            assert "run again" in str(read_cell("cover", rows_of(superpod, "cover", (2,))[label,], 3))
        assert "inputs were changed" in str(read_cell("results", 3, FIRST_SCENARIO))
        assert read_cell("cover", 6, 3) == "OK"  # the laws hold


def test_what_the_chosen_scenario_overrides_hides_no_change(superpod: Exported, tmp_path: Path) -> None:
    """The live results are still the stored ones, so only the inputs tell that base is no longer as it was."""
    edit = EDITS["base's delay, while a scenario with its own is chosen"]
    read_cell, _ = in_formualizer(edited(superpod.content, edit(superpod), stripped=True))
    assert [read_cell("cover", row, 3) for row in (8, 9, 10)] == ["CHANGED", "OK", "OK"]


def test_an_input_that_is_put_back_is_compared_again(superpod: Exported) -> None:
    place = input_cell(superpod.model.deal, "contracts", "anchor", "price")
    read_cell, _ = in_formualizer(edited(superpod.content, {place: 12_000_000.0}, stripped=True))
    assert RUN_AGAIN not in answers(read_cell, compared_cells(superpod))
    assert [read_cell("cover", row, 3) for row in (8, 9, 10)] == ["OK", "OK", "OK"]


def test_every_scenario_compares_with_base_when_it_is_chosen(superpod: Exported) -> None:
    read_cell, select = in_ironcalc(superpod.path)
    late = superpod.model.dataset["quarters_late"]
    cover = rows_of(superpod, "cover", (2,))
    parties = superpod.model.sheets.keys("parties")
    for scenario in superpod.model.scenarios:
        select(scenario)
        found = [read_cell("cover", cover[party,], 7) for party in parties]
        expected = late.sel(scenario=scenario, party=list(parties)).fillna(0).values
        assert found == expected.tolist()
        if max(expected) > 0:
            named = read_cell("cover", cover["Who waits longest",], 3)
            assert named == parties[int(np.argmax(expected))]
            assert read_cell("cover", cover["Who waits longest",], 4) == max(expected)


def test_no_formula_mixes_what_is_live_with_what_is_stored_unguarded(superpod: Exported) -> None:
    """What is stored of the scenarios is read by its own column, by the check, and behind the notice; else nowhere."""
    loaded = opened(superpod.path)
    guarded = 0
    for sheet in loaded:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type != "f":
                    continue
                own = sheet.title == "results"
                pattern = r"(?<![A-Za-z!$])\$?([A-Z]+)\$?[0-9]+" if own else r"results!\$?([A-Z]+)\$?[0-9]+"
                stored = [one for one in re.findall(pattern, cell.value) if column_index_from_string(one) >= ENGINE]
                if stored and STALE in cell.value:
                    guarded += 1
                elif stored and cell.value != f"={DIFFERING}":
                    assert own, f"{sheet.title}!{cell.coordinate} {cell.value}"
                    assert cell.column in (ENGINE, ENGINE + 1), f"{cell.coordinate} {cell.value}"
    assert guarded == 2 * len(superpod.model.sheets.keys("parties"))


def test_the_cover_shows_the_most_unpaid_of_every_scenario_and_whose_most_of_it_is(superpod: Exported) -> None:
    document = summarise(superpod.model.deal, superpod.model.dataset)
    read_cell, select = in_ironcalc(superpod.path)
    row = rows_of(superpod, "cover", (2,))["Most unpaid at one time",]
    seen = 0
    for one in document["scenarios"]:
        if one["scenario"] not in superpod.model.scenarios:
            continue
        select(one["scenario"])
        whom, amount, period = (read_cell("cover", row, column) for column in (3, 4, 5))
        owed, part = (read_cell("cover", row + 1, column) for column in (3, 4))
        worst = one["largest_shortfall"]
        if worst is None:
            assert (whom, owed, period) == ("nothing is unpaid at the end of any period", "nobody", "never")
            assert amount + part < 0.005
        else:
            seen += 1
            assert (whom, owed) == ("to all together", worst["payees"][0]["payee"])
            assert part == pytest.approx(worst["payees"][0]["unpaid"], rel=1e-9)
            assert amount == pytest.approx(worst["amount"], rel=1e-9)
            assert period == worst["quarter"]
    assert seen > 5


def test_the_shortfall_of_an_account_that_claims_money_is_named(tmp_path: Path) -> None:
    """An account may be owed money too: here a reserve that nothing can fill."""
    folder = changed_superpod(tmp_path / "deal", {("claims", "reserve_funding", "rate"): "2600000000"})
    deal = read(folder)
    book = exported(deal, tmp_path / "deal.xlsx")
    document = summarise(deal, book.model.dataset, ["base"])
    worst = document["scenarios"][0]["largest_shortfall"]
    loaded = openpyxl.load_workbook(book.path, data_only=True)["cover"]
    row = rows_of(book, "cover", (2,))["Most unpaid at one time",]
    assert worst["payees"][0]["payee"] == "reserve"
    assert loaded.cell(row + 1, 3).value == "reserve"


def test_the_lowest_dscr_is_that_of_the_periods_with_an_instalment(superpod: Exported) -> None:
    """As `run` says it; before the first instalment the DSCR lies below zero, by plan."""
    told = debt(superpod.model.dataset).set_index(["facility", "scenario"])
    loaded = openpyxl.load_workbook(superpod.path, data_only=True)
    heads, rows = [cell.value for cell in loaded["results"][2]], rows_of(superpod, "results", (1, 2))
    for scenario in superpod.model.scenarios:
        one = told.loc["ddtl", scenario]
        lowest, date = (
            loaded["results"].cell(rows[label, "ddtl"], heads.index(scenario) + 1).value
            for label in ("lowest DSCR", "lowest DSCR at the end of")
        )
        if np.isnan(one["lowest_dscr"]):
            assert lowest == 2_900_000
            assert not isinstance(date, datetime)
        else:
            assert lowest == pytest.approx(one["lowest_dscr"], rel=1e-12)
            assert f"{date.year}Q{(date.month + 2) // 3}" == one["lowest_dscr_at"]
    assert superpod.model.dataset["dscr"].sel(scenario="base").min() < 0 < told.loc[("ddtl", "base"), "lowest_dscr"]
    cover = rows_of(superpod, "cover", (2,))["ddtl",]
    assert loaded["cover"].cell(cover, 6).value == pytest.approx(told.loc[("ddtl", "base"), "lowest_dscr"])


def test_the_chart_of_dscr_draws_nothing_where_there_is_none(superpod: Exported) -> None:
    loaded = openpyxl.load_workbook(superpod.path, data_only=True)["charts"]
    row = rows_of(superpod, "charts", (1,))["DSCR ddtl",]
    drawn = [loaded.cell(row, column).value for column in superpod.model.period_columns()]
    dscr = superpod.model.dataset["dscr"].sel(facility="ddtl", scenario="base").values
    marks = [(value, ratio) for value, ratio in zip(drawn, dscr, strict=True) if value >= 0]
    assert 10 < len(marks) < len(drawn)
    assert all(value == pytest.approx(min(ratio, 5.0)) for value, ratio in marks)
    assert {value for value in drawn if value < 0} == {-1.0}
    chart = next(one for one in opened(superpod.path)["charts"]._charts if len(one._charts) > 1)
    marked = chart._charts[1]
    assert marked.y_axis.scaling.min == 0  # so that -1 lies below the axis
    assert marked.series[0].graphicalProperties.line.noFill
    assert marked.series[0].marker.symbol not in (None, "none")


def test_the_lesson_stands_under_the_title(superpod: Exported) -> None:
    cover = opened(superpod.path)["cover"]
    lesson = superpod.model.deal.tables["deal"][0].extras["note"]
    assert (cover["B2"].value, cover["B3"].value) == (superpod.model.item("title"), lesson)
    assert cover["B3"].alignment.wrap_text
    across = sum(cover.column_dimensions[letter].width for letter in "BCDEFGHI")
    assert cover.row_dimensions[3].height >= 12 * len(lesson) / across
    assert "B3:I3" in {str(one) for one in cover.merged_cells.ranges}


def test_a_monthly_shortfall_is_named_by_its_month(tmp_path: Path) -> None:
    folder = changed_superpod(tmp_path / "deal", {("deal", "grid", "value"): "month"})
    book = exported(read(folder), tmp_path / "deal.xlsx", "power_late")
    unpaid = book.model.values("checks.deal.unpaid")[:, book.model.position]
    cover = openpyxl.load_workbook(book.path, data_only=True)["cover"]
    row = rows_of(book, "cover", (2,))["Most unpaid at one time",]
    assert cover.cell(row, 4).value == unpaid.max()
    first = from_serial(book.model.periods.first_day[unpaid.argmax()])
    assert (cover.cell(row, 5).value.date(), cover.cell(row, 5).number_format) == (first, "yyyy-mm")
    assert solve(read(folder)).line("checks.deal.unpaid").max() >= unpaid.max()


def test_nothing_in_a_workbook_of_the_programs_own_is_read_otherwise_than_it_looks(superpod: Exported) -> None:
    assert read(superpod.path).log == ()


def test_a_scenario_that_fills_a_blank_of_one_phase_has_a_workbook_of_its_own(tmp_path: Path) -> None:
    folder = deal_files.copy(tmp_path / "deal")
    deal_files.scenario(folder, "opened", "steps", "power@su1", "not_before", "2027-12-01")
    deal_files.scenario(folder, "opened", "steps", "power", "delay", "10")
    export(read(folder), tmp_path / "book.xlsx", "opened")
    cover = openpyxl.load_workbook(tmp_path / "book.xlsx", data_only=True)["cover"]
    assert "opened" in [cell.value for row in cover.iter_rows() for cell in row]
