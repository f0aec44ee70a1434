"""The studies as a sheet of the workbook: the engine's values, a live base, a check that can fail, colours."""

import re
from itertools import pairwise
from pathlib import Path

import openpyxl
import pytest

import deal_files
from stuckstep.deal import DealError, read, serial
from stuckstep.reports.workbook import WorkbookError, export
from stuckstep.results import run
from stuckstep.rules import all_claims
from stuckstep.studies.axes import axis
from stuckstep.studies.sensitivity import one_way
from stuckstep.studies.sheets import sheets
from stuckstep.studies.tables import studies_of
from test_workbook_rules import ALLOWED
from workbooks import ASSUMPTIONS, edited, in_formualizer, in_ironcalc, input_cell

pytestmark = pytest.mark.thorough

ROWS = [
    {"study": "late", "kind": "oneway", "cell": "steps.power.delay", "values": "0;91;364",
     "measure": "npv:neocloud;missed:ddtl", "threshold": "0"},
    {"study": "grid", "kind": "twoway", "cell": "contracts.anchor.price", "by": "factor", "values": "0.8;1",
     "measure": "npv:neocloud", "threshold": "0"},
    {"study": "grid", "kind": "twoway", "cell": "steps.power.delay", "values": "0;91"},
    {"study": "ends", "kind": "tornado", "cell": "steps.hall.delay", "values": "0..91",
     "measure": "half_paid:neocloud"},
    {"study": "ends", "kind": "tornado", "cell": "claims.rent.rate", "by": "factor", "values": "0.9..1.1"},
    {"study": "limit", "kind": "breakeven", "cell": "steps.power.delay", "values": "0..364",
     "measure": "funding_gap", "threshold": "0", "holds": "at_most"},
]  # fmt: skip


@pytest.fixture(scope="module")
def deal(tmp_path_factory):
    folder = deal_files.copy(tmp_path_factory.mktemp("deal") / "superpod")
    deal_files.write_table(folder, "studies", ROWS)
    return read(folder)


@pytest.fixture(scope="module")
def path(deal, tmp_path_factory):
    tables = [sheet for one in studies_of(deal) for sheet in sheets(one.run(deal))]
    path = tmp_path_factory.mktemp("book") / "superpod.xlsx"
    export(deal, path, studies=tables)
    return path


def cells(sheet):
    """Where each text stands in the first column, in order."""
    found = {}
    for row in range(1, sheet.max_row + 1):
        if isinstance(text := sheet.cell(row, 1).value, str):
            found.setdefault(text, []).append(row)
    return found


def test_values_are_the_engines_and_the_base_is_live(deal, path):
    formulas, stored = (openpyxl.load_workbook(path, data_only=only)["sensitivity"] for only in (False, True))
    top = cells(stored)["contracts.anchor.price \\ steps.power.delay"][0]
    late = run(deal, ["base"]).npv.sel(party="neocloud").item()
    assert formulas.cell(top + 2, 2).value.startswith('=IF(cover!$C$5="base",')
    assert stored.cell(top + 2, 2).value == pytest.approx(late, abs=1e-6)
    grid = next(one for one in studies_of(deal, ["grid"])).run(deal)
    for row in range(2):
        for column in range(2):
            value = stored.cell(top + 1 + row, 2 + column).value
            assert value == pytest.approx(grid.result.values[0, row, column], abs=1e-6)
    assert isinstance(formulas.cell(top + 1, 2).value, float)
    assert stored["B3"].value == 0


def test_quarters_are_dates_and_nothing_is_a_word(deal, path):
    stored = openpyxl.load_workbook(path, data_only=True)["sensitivity"]
    rows = cells(stored)
    top = rows["cell"][0]
    half = run(deal, ["base"]).half_paid.sel(party="neocloud").values.astype("datetime64[D]").item()
    assert stored.cell(top + 1, 5).value == serial(half)
    missed = next(row for row in rows["steps.power.delay"] if stored.cell(row, 2).value == "missed:ddtl")
    assert stored.cell(missed + 1, 2).value == "none"


def test_what_fails_is_red_by_the_threshold_in_the_sheet(path):
    sheet = openpyxl.load_workbook(path)["sensitivity"]
    rules = {str(cells.sqref): [rule.formula[0] for rule in found] for cells, found in
             sheet.conditional_formatting._cf_rules.items()}  # fmt: skip
    top = cells(sheet)["contracts.anchor.price \\ steps.power.delay"][0]
    red, green = rules[f"B{top + 1}:C{top + 2}"]
    limit = top - 2
    assert red == f'OR(B{top + 1}="none",B{top + 1}<$B${limit})'
    assert green == f"NOT({red})"
    assert sheet.cell(limit, 2).value == 0
    assert len(rules) == 2  # the measures that have a threshold: missed:ddtl and half_paid:neocloud have none


def test_no_page_break_splits_a_table(path):
    sheet = openpyxl.load_workbook(path)["sensitivity"]
    assert not sheet.sheet_properties.pageSetUpPr.fitToPage  # else a spreadsheet ignores the breaks
    breaks = [one.id for one in sheet.row_breaks.brk]
    assert breaks
    assert sheet.page_setup.scale >= 68
    pages = list(pairwise([0, *breaks, sheet.max_row]))
    for first, last in pages:
        tall = sum(sheet.row_dimensions[row].height or 15 for row in range(first + 1, last + 1))
        titles = 3 * 15 if first else 0  # the rows that are repeated
        assert (tall + titles) * sheet.page_setup.scale / 100 < 29.7 / 2.54 * 72 - 1.4 * 72  # less the margins
        assert not any(cell.value for cell in sheet[last + 1]) or last == sheet.max_row  # the row between two tables


@pytest.mark.parametrize("engine", ["formualizer", "ironcalc"])
def test_the_check_says_when_an_input_was_changed(deal, path, engine, tmp_path):
    changes = {input_cell(deal, "claims", "rent", "rate"): 200.0}
    changed = tmp_path / "changed.xlsx"
    changed.write_bytes(edited(path.read_bytes(), changes, stripped=True))
    for file, wanted in ((path, "OK"), (changed, "CHANGED")):
        read_cell, select = in_formualizer(file.read_bytes()) if engine == "formualizer" else in_ironcalc(file)
        assert read_cell("cover", 10, 3) == wanted
        assert (read_cell("sensitivity", 3, 2) > 0) == (wanted == "CHANGED")
        select("power_late")
        assert read_cell("sensitivity", 3, 2) == 0  # another scenario is another question


def test_the_workbook_is_refused_where_a_base_is_not_the_models(deal, tmp_path):
    (table,) = sheets(studies_of(deal, ["grid"])[0].run(deal))
    wrong = table._replace(base_value=table.base_value + 1)
    with pytest.raises(WorkbookError, match="disagrees with the engine"):
        export(deal, tmp_path / "wrong.xlsx", studies=[wrong])
    assert not (tmp_path / "wrong.xlsx").exists()


def every_measure(deal, scenario):
    """Each measure of each name there is, for all that the deal has."""
    from stuckstep.deal import variants
    from stuckstep.studies.measures import MEASURES

    found = variants(deal, [scenario])[0]
    claims = all_claims(found)
    names = {
        "npv": found.keys("parties"), "dscr": found.keys("facilities"), "missed": found.keys("facilities"),
        "draw": found.keys("facilities"), "support": found.keys("supports"), "cash": found.keys("accounts"),
        "claim_unpaid": [one.name for one in claims if one.kind != "residual"],
        "blocked": [one.name for one in claims if one.kind == "residual"],
    }  # fmt: skip
    for measure in MEASURES:
        what, _, of = measure.partition(":")
        if of == "LINE":
            yield f"{what}:{next(f'parties.{party}.net' for party in found.keys('parties'))}"
        else:
            yield from [f"{what}:{name}" for name in names.get(what, found.keys("parties"))] if of else [what]


@pytest.mark.parametrize(
    ("deck", "scenario"),
    [("superpod", "base"), ("superpod", "power_late_4q"), ("colossus_2", "base"), ("fluidstack", "base")],
)
def test_every_measure_is_live_as_the_engine_says(deck, scenario, tmp_path):
    """The export compares each with the engine; only a rate of return has no plain formula."""
    deal = read(ASSUMPTIONS / deck)
    step = deal.tables["steps"][0].cells["step"]
    moved = axis(deal, f"steps.{step}.delay", "0;1", start=scenario)
    tables = sheets(one_way(deal, moved, list(every_measure(deal, scenario)), scenario))
    export(deal, tmp_path / "book.xlsx", scenario, studies=tables)
    sheet = openpyxl.load_workbook(tmp_path / "book.xlsx")["sensitivity"]
    rows = cells(sheet)["live: chosen scenario"]
    formulas = {sheet.cell(row, 3).value.split(" ")[0]: sheet.cell(row, 2).value for row in rows}
    assert len(formulas) == len(tables)
    assert {name.partition(":")[0] for name, formula in formulas.items() if re.fullmatch(r"=\$B\$\d+", formula)} == {
        "irr"
    }
    functions = {name for formula in formulas.values() for name in re.findall(r"([A-Z]+)\(", formula)}
    assert functions <= ALLOWED


def test_a_workbook_with_studies_is_the_same_deal(tmp_path):
    deal = read(ASSUMPTIONS / "superpod")
    (study,) = studies_of(deal, ["power_late"])
    export(deal, tmp_path / "book.xlsx", studies=sheets(study.run(deal)))
    again = read(tmp_path / "book.xlsx")
    assert again.digest == deal.digest
    assert [one.name for one in studies_of(again)] == [one.name for one in studies_of(deal)]


def test_cells_moved_together_are_a_base_only_where_all_of_them_are_unmoved(deal):
    both = axis(deal, "steps.hall.delay;steps.power.delay", "0;91", start="power_late")
    (table,) = sheets(one_way(deal, both, ["days_late"], "power_late"))
    assert table.base == frozenset()
    (table,) = sheets(one_way(deal, both.__class__(both.cells, both.given, "add", both.bases), ["days_late"]))
    assert table.base == {(0, 1)}


def test_a_deal_without_studies_says_so(tmp_path):
    from click.testing import CliRunner

    from stuckstep.cli import main

    deal_files.copy(tmp_path / "plain")
    for command in ("export", "run"):
        result = CliRunner().invoke(main, [command, str(tmp_path / "plain"), "--studies"])
        assert result.exit_code == 2, result.output
        assert "the deal has no studies" in result.output
    flags = ["--studies", "--no-workbook", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, ["run", str(tmp_path / "plain"), *flags])
    assert len(result.output.splitlines()) == 2
    assert "which --no-workbook leaves out" in result.output
    assert not (tmp_path / "out").exists()
    with pytest.raises(DealError, match="there is no study"):
        studies_of(read(tmp_path / "plain"), ["none"])


def test_export_writes_them_when_asked(deal, tmp_path):
    from click.testing import CliRunner

    from stuckstep.cli import main

    out = Path(tmp_path / "book.xlsx")
    result = CliRunner().invoke(main, ["export", str(deal.path), "--studies", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "sensitivity" in openpyxl.load_workbook(out, read_only=True).sheetnames
