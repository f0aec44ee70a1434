"""The rules a workbook keeps whatever deal it shows: one formula along each row, no errors, no text turned formula."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from openpyxl.utils import column_index_from_string, get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from stuckstep.deal import from_serial, read, serial
from stuckstep.engines import excel
from stuckstep.reports.colours import chain_colour
from stuckstep.reports.html import report_bytes
from workbooks import ASSUMPTIONS, Exported, changed_superpod, compared, edited, exported, in_formualizer

pytestmark = pytest.mark.thorough

TIME_SHEETS = [*dict.fromkeys(excel.SHEETS.values()), "charts"]
ALLOWED = {
    "SUM",
    "MIN",
    "MAX",
    "IF",
    "AND",
    "OR",
    "ABS",
    "INDEX",
    "MATCH",
    "SUMPRODUCT",
    "INT",
    "YEAR",
    "MONTH",
    "DATE",
    "ISNUMBER",
    "ISBLANK",
}
REFERENCE = re.compile(r"(?<![A-Za-z_.])(\$?)([A-Z]{1,3})(\$?)([0-9]+)(?![A-Za-z0-9_(])")


@pytest.fixture(scope="module")
def superpod(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return exported(read(ASSUMPTIONS / "superpod"), tmp_path_factory.mktemp("book") / "superpod.xlsx", "hall_late_2q")


@pytest.fixture(scope="module")
def book(superpod: Exported) -> openpyxl.Workbook:
    return openpyxl.load_workbook(superpod.path)


@pytest.fixture(scope="module")
def stored(superpod: Exported) -> openpyxl.Workbook:
    return openpyxl.load_workbook(superpod.path, data_only=True)


def formulas(sheet: Worksheet) -> Iterator[tuple[int, int, str]]:
    for row in sheet.iter_rows():
        for cell in row:
            if cell.data_type == "f":
                yield cell.row, cell.column, cell.value


def relative(formula: str, row: int, column: int) -> str:
    """The formula in R1C1 form."""

    def point(found: re.Match[str]) -> str:
        fixed_column, letters, fixed_row, number = found.groups()
        across = column_index_from_string(letters)
        down = int(number)
        row_text = f"R{down}" if fixed_row else f"R[{down - row}]"
        return row_text + (f"C{across}" if fixed_column else f"C[{across - column}]")

    return REFERENCE.sub(point, formula)


@pytest.mark.parametrize("sheet", TIME_SHEETS)
def test_each_row_has_one_formula_along_all_periods(book: openpyxl.Workbook, superpod: Exported, sheet: str) -> None:
    columns = superpod.model.period_columns()
    rows: dict[int, dict[int, str]] = {}
    for row, column, formula in formulas(book[sheet]):
        if column in columns:
            rows.setdefault(row, {})[column] = relative(formula, row, column)
    assert len(rows) > 4
    for row, found in rows.items():
        assert sorted(found) == list(columns), f"{sheet} row {row} has gaps"
        assert len(set(found.values())) == 1, f"{sheet} row {row}: {sorted(set(found.values()))[:2]}"


def test_the_r1c1_test_sees_a_plug() -> None:
    same = {relative(f"={letter}7*$D$3+live!$C$9", 8, number) for number, letter in ((7, "G"), (8, "H"))}
    assert len(same) == 1
    assert relative("=H7+1", 8, 8) != relative("=G7", 8, 7)


def test_every_sheet_has_the_same_grid_and_a_unit_in_each_row(book: openpyxl.Workbook, superpod: Exported) -> None:
    first = excel.FIRST_PERIOD
    widths = {}
    for name in TIME_SHEETS:
        sheet = book[name]
        letters = [get_column_letter(column) for column in range(1, superpod.model.layout.last_column + 1)]
        widths[name] = [sheet.column_dimensions[letter].width for letter in letters]
        assert sheet.cell(2, first).value.startswith("=")
        for row in {row for row, column, _ in formulas(sheet) if row > excel.DAYS_ROW + 1 and column > 3}:
            assert sheet.cell(row, 3).value, f"{name} row {row} has no unit"
            assert sheet.cell(row, 1).value, f"{name} row {row} has no label"
    assert len({tuple(one) for one in widths.values()}) == 1


def test_only_plain_functions_and_no_numbers_of_the_deal_in_formulas(book: openpyxl.Workbook) -> None:
    functions, literals = set(), set()
    for sheet in book:
        for _, _, formula in formulas(sheet):
            words = re.sub(r'"[^"]*"', "", formula)
            functions |= set(re.findall(r"([A-Z][A-Z0-9.]*)\(", words))
            literals |= set(re.findall(r"(?<![A-Za-z0-9_.$])[0-9]+(?:\.[0-9]+)?(?![0-9]*[A-Za-z0-9!:(])", words))
    assert functions <= ALLOWED
    assert literals <= {"0", "1", "2", "3", "12"}


def test_nothing_is_hidden_merged_or_in_error(book: openpyxl.Workbook, stored: openpyxl.Workbook) -> None:
    for sheet in book:
        assert sheet.sheet_state == "visible"
        assert all(one.min_row == one.max_row for one in sheet.merged_cells.ranges)  # paragraphs
        assert sheet.title in ("cover", "log") or not sheet.merged_cells.ranges
        assert not [row for row, one in sheet.row_dimensions.items() if one.hidden]
        values = stored[sheet.title]
        for row, column, formula in formulas(sheet):
            value = values.cell(row, column)
            assert value.value is not None or formula.startswith("=scenarios!"), f"{sheet.title} {value.coordinate}"
            assert value.data_type != "e", f"{sheet.title} {value.coordinate} {formula}"


def test_the_stored_values_are_the_engine_s(stored: openpyxl.Workbook, superpod: Exported) -> None:
    def read_cell(sheet: str, row: int, column: int) -> object:
        value = stored[sheet].cell(row, column).value
        return serial(value.date()) if isinstance(value, datetime) else None if value is None else float(value)

    found = compared(read_cell, superpod.model, superpod.model.selected, absolute=1e-6)
    assert [one for one in found.wrong if "engine 2900000" not in one] == []  # no calendar reaches the year 9839


def test_every_sheet_prints_so_that_it_can_be_read_and_freezes_its_titles(book: openpyxl.Workbook) -> None:
    for sheet in book:
        assert sheet.page_setup.orientation == "landscape"
        if sheet.title not in ("charts", "sensitivity"):  # these have page breaks of their own
            assert sheet.sheet_properties.pageSetUpPr.fitToPage
            assert sheet.page_setup.fitToHeight == 0
            assert printed_size(sheet) >= 0.65, sheet.title
        assert "&P" in sheet.oddFooter.right.text
        assert sheet.sheet_properties.tabColor is not None
        if sheet.title not in ("cover", "log", "charts"):
            assert sheet.freeze_panes is not None
            assert sheet.print_title_rows is not None


def printed_size(sheet: Worksheet) -> float:
    """The scale at which a sheet fits the pages it is given side by side, each with the repeated columns."""
    widths = {letter: one.width for letter, one in sheet.column_dimensions.items()}
    first, _, last = (sheet.print_title_cols or "A:A").replace("$", "").partition(":")
    repeated = range(column_index_from_string(first), column_index_from_string(last) + 1)
    again = sum(widths[get_column_letter(column)] for column in repeated if sheet.print_title_cols)
    pages = sheet.page_setup.fitToWidth
    return pages * 215 / (sum(widths.values()) + (pages - 1) * again)  # an A3 page is 215 characters of Arial wide


def test_no_page_break_splits_a_chart(book: openpyxl.Workbook) -> None:
    sheet = book["charts"]
    breaks = [one.id for one in sheet.row_breaks.brk]
    _, last = sheet.print_area.split("!")[-1].replace("$", "").split(":")
    assert not sheet.sheet_properties.pageSetUpPr.fitToPage  # else a spreadsheet ignores the breaks
    assert len(breaks) == 2
    tall = sum(sheet.row_dimensions[row].height or 15 for row in range(breaks[0] + 1, breaks[1] + 1))
    assert tall * sheet.page_setup.scale / 100 < 29.7 / 2.54 * 72 - 100
    for chart in sheet._charts:
        first, end = chart.anchor._from, chart.anchor.to
        assert not [row for row in breaks if first.row < row < end.row]
        assert end.row < int(re.sub("[A-Z]", "", last))
        assert get_column_letter(end.col) <= re.sub("[0-9]", "", last)


def test_the_selector_is_a_name_with_a_drop_down(book: openpyxl.Workbook, superpod: Exported) -> None:
    assert book.defined_names["scenario"].attr_text == "cover!$C$5"
    assert book.defined_names["master_check"].attr_text.startswith("checks!")
    validation = next(one for one in book["cover"].data_validations.dataValidation if "C5" in one.sqref)
    sheet, area = validation.formula1.split("!")
    names = [cell.value for cell in book[sheet][area.replace("$", "")][0]]
    assert tuple(names) == superpod.model.scenarios
    assert book["cover"]["C5"].value == "hall_late_2q"


def test_drop_downs_and_bounds_follow_the_columns(book: openpyxl.Workbook) -> None:
    kinds = {(sheet.title, one.type) for sheet in book for one in sheet.data_validations.dataValidation}
    assert {("claims", "list"), ("claims", "decimal"), ("steps", "whole"), ("phases", "date")} <= kinds
    for sheet in book:
        for one in sheet.data_validations.dataValidation:
            assert len(one.formula1 or "") <= 255
            assert len(one.prompt or "") <= 255


def test_the_charts_draw_live_cells_with_both_axes(book: openpyxl.Workbook) -> None:
    charts = book["charts"]._charts
    assert len(charts) == 5
    for chart in charts:
        assert chart.x_axis.delete is False
        assert chart.y_axis.delete is False
        for series in chart.series:
            row = int(re.search(r"\$([0-9]+):", series.val.numRef.f)[1])
            assert str(book["charts"].cell(row, excel.FIRST_PERIOD).value).startswith("=")


def test_a_party_has_one_colour_in_every_chart_and_in_the_report(book: openpyxl.Workbook, superpod: Exported) -> None:
    parties = superpod.model.sheets.keys("parties")
    own = {party: chain_colour(place, len(parties)) for place, party in enumerate(parties)}
    seen: dict[str, set[str]] = {}
    for chart in book["charts"]._charts:
        for series in chart.series:
            row = int(re.search(r"\$([0-9]+):", series.val.numRef.f)[1])
            name = str(book["charts"].cell(row, 1).value).removeprefix("to ")
            seen.setdefault(name, set()).add(f"#{series.graphicalProperties.solidFill.srgbClr.lower()}")
    assert {name: colours for name, colours in seen.items() if name in own} == {
        party: {colour} for party, colour in own.items() if party in seen
    }
    assert {"chipmaker", "lender", "neocloud"} <= set(seen)
    others = set().union(*(colours for name, colours in seen.items() if name not in own))
    assert not others & set(own.values())
    report = report_bytes(superpod.model.deal, superpod.model.dataset.sel(scenario=["base"])).decode()
    legend = dict(re.findall(r'fill="(#[0-9a-f]{6})" class="block"/></svg><span dir="auto">([^<]*)<', report))
    assert {own[party] for party in ("chipmaker", "lender", "neocloud")} <= set(legend)
    assert all(legend.get(own[party], name) == name for party in own for name in [party.replace("_", " ")])


def test_the_cover_gives_the_answer(stored: openpyxl.Workbook) -> None:
    cover = stored["cover"]
    text = [str(cell.value) for row in cover.iter_rows() for cell in row if cell.value is not None]
    assert "hall" in text  # the stuck step
    assert [cover.cell(row, 3).value for row in (6, 8, 9, 10)] == ["OK"] * 4


def test_the_results_hold_every_scenario_and_the_chosen_one_live(stored: openpyxl.Workbook, superpod: Exported) -> None:
    sheet = stored["results"]
    heads = [cell.value for cell in sheet[2]]
    assert tuple(heads[6:]) == superpod.model.scenarios
    assert sheet["F3"].value == 0
    rows = {(sheet.cell(row, 1).value, sheet.cell(row, 2).value): row for row in range(3, sheet.max_row + 1)}
    dataset = superpod.model.dataset
    for scenario, column in zip(heads[6:], range(7, 7 + len(heads)), strict=False):
        paid = float(dataset["paid"].sel(party="lender", scenario=scenario).sum())
        assert sheet.cell(rows["paid", "lender"], column).value == pytest.approx(paid, rel=1e-12)
        half = dataset["half_paid"].sel(party="lender", scenario=scenario).values
        serial = sheet.cell(rows["half paid", "lender"], column).value
        assert np.isnat(half) or np.datetime64(serial, "D") == half.astype("datetime64[D]")


def test_text_that_begins_like_a_formula_stays_text(tmp_path: Path) -> None:
    parties = ("chipmaker", "memory", "packaging", "rack_builder", "landlord")
    texts = ("'=1+1", "'+cmd", "'-2+3", "'@SUM(A1)", "=not")
    changes = {("parties", party, "role"): text for party, text in zip(parties, texts, strict=True)}
    deal = read(changed_superpod(tmp_path / "deal", changes))
    book = exported(deal, tmp_path / "deal.xlsx")
    loaded = openpyxl.load_workbook(book.path)
    for number, text in enumerate(texts, start=excel.HEADINGS_ROW + 1):
        cell = loaded["parties"].cell(number, 2)
        assert (cell.data_type, cell.value) == ("s", text.lstrip("'"))
        assert cell.quotePrefix
    for sheet in loaded:
        assert not [formula for _, _, formula in formulas(sheet) if formula.strip("=") in ("1+1", "not")]
    assert read(book.path).digest == deal.digest


@pytest.mark.parametrize(
    "change",
    [
        ("contracts", "anchor", "price", "1"),
        ("contracts", "anchor", "longstop_days", "0"),
        ("facilities", "ddtl", "commitment", "0"),
    ],
)
def test_a_deal_that_goes_bust_shows_no_error(change: tuple[str, str, str, str], tmp_path: Path) -> None:
    *cell, value = change
    folder = changed_superpod(tmp_path / "deal", {(cell[0], cell[1], cell[2]): value})
    book = exported(read(folder), tmp_path / "deal.xlsx", "power_late_2q")  # itself refuses a formula without a value
    loaded = openpyxl.load_workbook(book.path, data_only=True)
    for sheet in loaded:
        assert not [cell.coordinate for one in sheet.iter_rows() for cell in one if cell.data_type == "e"]
    assert book.model.values("checks.deal.unpaid")[-1].max() > 0


def test_a_monthly_grid_is_named_by_month_and_agrees(tmp_path: Path) -> None:
    folder = changed_superpod(tmp_path / "deal", {("deal", "grid", "value"): "month"})
    book = exported(read(folder), tmp_path / "deal.xlsx", "chips_late_2q")
    months = len(book.model.periods.labels)
    assert months == 3 * len(book.model.periods.quarter_labels)
    loaded = openpyxl.load_workbook(book.path, data_only=True)["claims_calc"]
    first = loaded.cell(2, excel.FIRST_PERIOD)
    assert first.number_format == "yyyy-mm"
    assert first.value.date() == from_serial(book.model.periods.first_day[0])


def test_the_structure_notice_sees_a_row_added_below(superpod: Exported) -> None:
    rows = len(superpod.model.deal.tables["parties"])
    assert superpod.path.exists()
    loaded = openpyxl.load_workbook(superpod.path)
    loaded["parties"].cell(excel.HEADINGS_ROW + rows + 1, 1, "newcomer")
    loaded.save(superpod.path.with_name("more.xlsx"))
    read_cell, _ = in_formualizer(superpod.path.with_name("more.xlsx").read_bytes())
    assert read_cell("cover", 9, 3) == "CHANGED"
    read_cell, _ = in_formualizer(edited(superpod.content, {}))
    assert read_cell("cover", 9, 3) == "OK"
