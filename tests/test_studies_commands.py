"""The deal's own tables of studies, the commands that run them, and what they print and write."""

import numpy as np
import pytest
from click.testing import CliRunner

from deal_files import SUPERPOD, copy
from stuckstep.cli import main
from stuckstep.deal import DealError, new, periods, read
from stuckstep.reports.storage import read_results
from stuckstep.results import run
from stuckstep.studies.axes import axis
from stuckstep.studies.breakeven import Test, break_even
from stuckstep.studies.printing import blocks
from stuckstep.studies.sensitivity import one_way, tornado, two_way
from stuckstep.studies.sheets import sheets
from stuckstep.studies.tables import studies_of, uncertainties_of

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("deal") / "start"
    new(path)
    return path


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        return CliRunner().invoke(main, [str(word) for word in words])

    return call


def change(folder, target, table, old, by):
    target.mkdir()
    for file in folder.glob("*.csv"):
        text = file.read_text()
        assert file.stem != table or old in text
        (target / file.name).write_text(text.replace(old, by) if file.stem == table else text)
    return target


def test_the_template_says_studies_and_uncertainties(folder):
    deal = read(folder)
    assert [(one.name, one.kind, len(one.axes)) for one in studies_of(deal)] == [
        ("delay", "oneway", 1),
        ("price_and_delay", "twoway", 2),
        ("what_matters", "tornado", 3),
        ("latest_hall", "breakeven", 1),
    ]
    names = [(one.name, one.distribution, one.chance, one.group) for one in uncertainties_of(deal)]
    assert names == [
        ("hall_late", "lognormal", 0.5, "site"),
        ("commissioning_late", "pert", 1, "site"),
        ("price", "triangular", 1, ""),
    ]


@pytest.mark.parametrize(
    ("table", "old", "by", "wrong"),
    [
        ("studies", "steps.hall.delay,value,0..180/7,days", "steps.hal.delay,value,0..180/7,days",
         "studies.csv, row 2, column cell: 'hal' is not in steps (nearest: hall)"),
        ("uncertainties", "contracts.anchor.price", "contracts.anchor.basis", "this is no number and no date"),
        ("uncertainties", "triangular,0.9,1,1.05", "gamma,0.9,1,1.05", "column distribution"),
    ],
)  # fmt: skip
def test_wrong_cells_are_told_when_the_deal_is_read(folder, tmp_path, table, old, by, wrong):
    with pytest.raises(DealError) as error:
        read(change(folder, tmp_path / "deal", table, old, by))
    assert wrong in str(error.value)


@pytest.mark.parametrize(
    ("old", "by", "wrong"),
    [
        ("0..180/7,days_late", "0..x/7,days_late", "studies.csv, row 2, column values: 'x' is no number"),
        ("0..180/7,days_late", "-5,days_late", "row 2, column values: -5 is not what the cell can hold"),
        ("price_and_delay,twoway,contracts", "delay,oneway,contracts", "has 2 rows"),
        ("what_matters,tornado,steps.hall", "what_matters,twoway,steps.hall", "tornado is allowed"),
        ("npv:neocloud,0,at_least,,assumption,The longest", ",0,at_least,,assumption,The longest", "has no measure"),
        (
            "npv:neocloud,0,at_least,,assumption,The longest",
            "npv:neo,0,at_least,,assumption,The longest",
            "column measure: 'neo' is not in parties",
        ),
        (
            "npv:neocloud,0,at_least,,assumption,The longest",
            "npv:neocloud,,at_least,,assumption,The longest",
            "a number",
        ),
    ],
)
def test_wrong_studies_are_told(folder, tmp_path, old, by, wrong):
    deal = read(change(folder, tmp_path / "deal", "studies", old, by))
    with pytest.raises(DealError) as error:
        studies_of(deal)
    assert wrong in str(error.value)


def test_sheets_hold_the_values_what_fails_and_the_base(folder):
    deal = read(folder)
    rows, columns = (
        axis(deal, "steps.hall.delay", "0;90"),
        axis(deal, "contracts.anchor.price", "0.5;1;1.5", by="factor"),
    )
    grid = two_way(deal, rows, columns, ["npv:neocloud"])
    grid.attrs |= {"holds": "at_least", "threshold": 0.0, "tested": "npv:neocloud"}
    sheet = sheets(grid)[0]
    assert [row[0] for row in sheet.rows] == ["0", "90"]
    np.testing.assert_array_equal([row[1:] for row in sheet.rows], grid.result.values[0])
    assert sheet.failing == {(r, c + 1) for r in range(2) for c in range(3) if grid.result.values[0, r, c] < 0}
    assert (0, 1) in sheet.failing
    assert sheet.base == {(0, 2)}
    assert sheet.rows[0][2] == sheet.base_value == run(deal, ["base"]).npv.sel(party="neocloud").item()
    line = sheets(one_way(deal, axis(deal, "steps.hall.delay", "30;60"), ["days_late", "npv:neocloud"]))
    assert [one.base for one in line] == [frozenset(), frozenset()]
    assert [one.units[1] for one in line] == ["days", "USD"]
    bars = sheets(tornado(deal, [rows, columns], ["npv:neocloud"]))[0]
    assert [row[0] for row in bars.rows] == ["contracts.anchor.price", "steps.hall.delay"]
    answers = sheets(break_even(deal, [rows], Test("days_late", "at_most", 1e6)))[0]
    assert answers.rows[0][:2] == ["steps.hall.delay", "always holds"]


def test_quarters_and_dates_are_printed_as_such(folder):
    deal = read(folder)
    study = one_way(deal, axis(deal, "steps.hall.delay", "0;120"), ["first_paid:neocloud", "billing"])
    tables = [block for block in blocks(study, periods(deal).labels) if hasattr(block, "rows")]
    solution = run(deal, ["base"])
    first = solution.label.sel(quarter=solution.first_paid.sel(party="neocloud").item()).item()
    assert tables[0].rows[0][1] == first
    assert tables[1].rows[0][1] == str(solution.billing_start.min().values)[:10]


def test_sensitivity_prints_and_writes_the_table(folder, command, tmp_path):
    done = command("sensitivity", folder, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    for words in ("one cell, delay", "two cells, price_and_delay", "each cell alone, what_matters", "square brackets"):
        assert words in done.output
    assert "break-even" not in done.output
    written = read_results(tmp_path / "out" / "study_price_and_delay.nc")
    assert written.result.shape == (1, 7, 5)
    assert written.attrs["runs"] == 36
    only = command("sensitivity", folder, "--study", "delay", "--out", tmp_path / "other")
    assert "price_and_delay" not in only.output
    assert sorted(path.name for path in (tmp_path / "other").iterdir()) == ["study_delay.nc"]


def test_sensitivity_by_flags(folder, command, tmp_path):
    done = command(
        "sensitivity", folder, "--cell", "steps.hall.delay", "--values", "0;90", "--cell", "contracts.anchor.price",
        "--values", "0.9;1;1.1", "--by", "value", "--by", "factor", "--measure", "npv:neocloud", "--threshold", "2e6",
        "--out", tmp_path,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    table = read_results(tmp_path / "study_sensitivity.nc")
    assert table.result.shape == (1, 2, 3)
    assert done.output.count("[") == int((table.result < 2e6).sum())
    cost = command("sensitivity", folder, "--delay-cost", "--causes", "hall_late", "--out", tmp_path)
    assert "one more quarter of delay" in cost.output
    assert "what caused it" in cost.output
    wrong = command("sensitivity", folder, "--cell", "steps.hall.delay", "--measure", "npv:neocloud")
    assert "--values: there are 0 for 1 --cell" in wrong.output
    assert command("sensitivity", folder, "--cell", "steps.hall.delay", "--values", "0;9").exit_code == 2


def test_breakeven_prints_the_day(folder, command, tmp_path):
    done = command("breakeven", folder, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    table = read_results(tmp_path / "study_latest_hall.nc")
    assert f"{table.holds_at.item():.0f}" in done.output
    flagged = command(
        "breakeven", folder, "--cell", "steps.hall.delay", "--values", "0..720", "--measure", "days_late",
        "--threshold", 30, "--holds", "at_most", "--over", "steps.commissioning.delay", "--over-values", "0;10",
        "--out", tmp_path,
    )  # fmt: skip
    assert flagged.exit_code == 0, flagged.output
    assert read_results(tmp_path / "study_breakeven.nc").holds_at.values[0, :, 0].tolist() == [60, 50]
    assert command("breakeven", folder, "--cell", "steps.hall.delay", "--values", "0..9").exit_code == 2


def test_montecarlo_prints_error_bars_and_a_draw_runs_again(folder, command, tmp_path):
    pytest.importorskip("SALib", reason="scipy and SALib are extras")
    words = ("montecarlo", folder, "--draws", 64, "--replicates", 4, "--measure", "npv:neocloud")
    done = command(*words, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    for text in ("64 draws (sobol, seed 0) in 4 replicates", "how often", "the stuck step", "+-"):
        assert text in done.output
    first = read_results(tmp_path / "out" / "study_montecarlo.nc")
    again = command(*words, "--threads", 2, "--unchecked", "--out", tmp_path / "more")
    assert "The laws of the model were not checked." in again.output
    assert first["mean"].equals(read_results(tmp_path / "more" / "study_montecarlo.nc")["mean"])
    alone = command(*words, "--draw", 5, "--out", tmp_path / "out")
    assert alone.exit_code == 0, alone.output
    worth = read_results(tmp_path / "out" / "draw_5" / "results.nc").npv.sel(party="neocloud", scenario="draw 5").item()
    assert first.lowest.item() <= worth <= first.highest.item()
    indices = command("montecarlo", folder, "--draws", 16, "--indices", "--measure", "npv:neocloud", "--out", tmp_path)
    assert "Sobol indices" in indices.output


def test_a_deal_that_is_certain_is_told(folder, tmp_path):
    target = tmp_path / "deal"
    target.mkdir()
    for file in folder.glob("*.csv"):
        if file.stem != "uncertainties":
            (target / file.name).write_text(file.read_text())
    with pytest.raises(DealError, match="says nothing is uncertain"):
        uncertainties_of(read(target))


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["sensitivity", "--cell", "steps.pwer.delay", "--values", "0", "--cell", "steps.hal.delay", "--values", "0",
          "--measure", "npv:neocloud"], ["'pwer' is not in steps", "'hal' is not in steps"]),
        (["sensitivity", "--cell", "steps.power.delay", "--values", "0", "--measure", "npv:neo", "--measure", "irrr:x"],
         ["measure npv:neo: 'neo' is not in parties", "measure irrr:x: there is no measure 'irrr'"]),
        (["sensitivity", "--cell", "steps.power.delay", "--measure", "npv:neocloud"], ["there are 0 for 1 --cell"]),
        (["sensitivity", "--cell", "steps.power.delay", "--values", "0"], ["--cell: nothing is measured"]),
        (["sensitivity", "--cell", "steps.power.delay", "--values", "0..9/1000000000", "--measure", "npv:neocloud"],
         ["asks for 1,000,000,000 values"]),
        (["sensitivity", "--cell", "steps.power.delay", "--cell", "steps.hall.delay", "--values", "0..364/5000",
          "--values", "0..364/5000", "--measure", "npv:neocloud"], ["a grid of 5,000 x 5,000"]),
        (["sensitivity", "--threshold", "nan"], ["--threshold: nan is no number"]),
        (["sensitivity", "--values", "3"], ["--values: it says how a cell is moved, and none is named"]),
        (["breakeven", "--cell", "steps.power.delay", "--values", "91", "--measure", "funding_gap", "--threshold", "0"],
         ["steps.power.delay: there is one value only"]),
        (["breakeven", "--cell", "steps.power.delay", "--values", "0..91", "--measure", "funding_gap"],
         ["--cell: there is nothing to test"]),
        (["sensitivity", "--cell", "steps.pwer.delay", "--values", "0"],
         ["--cell: nothing is measured", "'pwer' is not in steps"]),
        (["sensitivity", "--cell", "steps.pwer.delay", "--cell", "steps.hall.delay", "--values", "0", "--by", "add",
          "--measure", "irrr:x"],
         ["--values: there are 1 for 2", "--by: there are 1 for 2", "'pwer' is not in steps", "no measure 'irrr'"]),
        (["sensitivity", "--cell", "steps.hall.delay", "--values", "soon;4%;1,234..9", "--measure", "npv:neo",
          "--scenario", "never"],
         ["'soon' is no number and no date", "'4%' is a percentage, and the column holds none",
          "'1,234' may be 1234 or 1.234", "there is no scenario 'never'"]),
        (["breakeven", "--cell", "steps.pwer.delay", "--values", "0..91", "--over", "steps.hal.delay"],
         ["--cell: there is nothing to test", "'pwer' is not in steps", "'hal' is not in steps"]),
        (["sensitivity", "--values", "3", "--by", "add"], ["--values: it says how", "--by: it says how"]),
        (["sensitivity", "--scenario", "power_late"], ["--scenario: a study of the deal's table names its own"]),
        (["breakeven", "--scenario", "power_late"], ["--scenario: a study of the deal's table names its own"]),
        (["breakeven", "--over", "steps.hall.delay"], ["--over: it says how a cell is moved"]),
    ],
)  # fmt: skip
def test_wrong_flags_are_told_in_one_line_each(arguments, wrong, tmp_path):
    command, *flags = arguments
    result = CliRunner().invoke(main, [command, str(SUPERPOD), *flags, "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    lines = result.output.splitlines()
    assert len(lines) == len(wrong)
    for line, words in zip(lines, wrong, strict=True):
        assert words in line
    assert not (tmp_path / "out").exists()


def test_a_large_grid_is_printed_in_part():
    deal = read(SUPERPOD)
    rows, columns = (axis(deal, f"steps.{step}.delay", "0..200/21") for step in ("hall", "power"))
    grid = two_way(deal, rows, columns, ["npv:neocloud"])
    grid.attrs |= {"holds": "at_least", "threshold": float(grid.result.values[0, 10, 10]), "tested": "npv:neocloud"}
    found = blocks(grid, periods(deal).labels)
    (table,) = [block for block in found if hasattr(block, "rows")]
    assert list(table.headings)[1:] == [f"{days}" for days in range(0, 201, 20)]
    assert [row[0] for row in table.rows] == [f"{days}" for days in range(0, 201, 20)]
    fails = grid.result.values[0, ::2, ::2] < grid.attrs["threshold"]
    assert [[text.startswith("[") for text in row[1:]] for row in table.rows] == fails.tolist()
    assert fails.any()
    assert any("A part of 21 x 21 values" in str(block) for block in found)


def test_several_measures_may_stand_in_one_flag(folder, command, tmp_path):
    both = ("sensitivity", str(folder), "--cell", "steps.hall.delay", "--values", "0;91", "--measure")
    together = command(*both, "npv:lender;npv:neocloud", "--out", str(tmp_path / "one"))
    apart = command(*both, "npv:lender", "--measure", "npv:neocloud", "--out", str(tmp_path / "two"))
    assert together.exit_code == apart.exit_code == 0
    assert together.output.replace("/one", "/two") == apart.output


def test_tornado_alone_runs_the_tornados_of_the_table(folder, command):
    result = command("sensitivity", folder, "--tornado")
    assert result.exit_code == 0
    assert result.output.splitlines()[-1].endswith(": study_what_matters.nc.")


def test_values_are_read_as_the_sheets_are():
    deal = read(SUPERPOD)
    assert axis(deal, "facilities.ddtl.margin", "4%;5 %..6%/3;0.07").given.tolist() == [0.04, 0.05, 0.055, 0.06, 0.07]
    assert axis(deal, "contracts.anchor.price", "80%;1.1", by="factor").given.tolist() == [0.8, 1.1]
    assert axis(deal, "contracts.anchor.price", "$12m;12,500,000;USD 1 000 000").given.tolist() == [12e6, 12.5e6, 1e6]
    assert axis(deal, "phases.su1.order_date", "2027-03-31").values.tolist() == [46477]
    with pytest.raises(DealError, match="'12m' is no number and no date"):
        axis(deal, "steps.power.delay", "12m")


@pytest.mark.parametrize(
    ("cell", "values", "by", "is_told"),
    [
        ("contracts.anchor.price", "0.9;1;1.1", "value", True),
        ("contracts.anchor.price", "0;0.9", "value", True),
        ("contracts.anchor.price", "0.9;1;1.1", "factor", False),
        ("contracts.anchor.price", "1;12000000", "value", False),
        ("contracts.anchor.price", "1000000;2000000", "value", False),
        ("contracts.anchor.price", "0", "value", False),
        ("steps.power.delay", "30;90", "value", False),  # it holds 0
        ("phases.su1.order_date", "2027-03-31", "value", False),
    ],
)
def test_values_far_from_what_a_cell_holds_are_warned_of(cell, values, by, is_told, command, tmp_path):
    words = ("--cell", cell, "--values", values, "--by", by, "--measure", "npv:neocloud", "--out", tmp_path / "out")
    result = command("sensitivity", SUPERPOD, *words)
    assert result.exit_code == 0
    said = " ".join(result.output.split())
    line = f"Warning: {cell}: every value is more than 20 times what the cell holds, or less than a 20th of it"
    assert (f"{line}; by factor multiplies it." in said) == is_told
    assert ("Warning" in said) == is_told


def test_the_run_with_nothing_moved_is_said_in_the_unit_of_its_column():
    """A tornado's last column is the swing: of quarters and of dates a number, of which neither is said."""
    deal = read(SUPERPOD)
    axes = [axis(deal, "steps.power.delay", "0;91"), axis(deal, "contracts.anchor.price", "0.9;1.1", by="factor")]
    study = tornado(deal, axes, ["half_paid:lender", "billing"])
    expected = {"half_paid:lender": "2030Q1", "billing": "2027-10-22"}
    said = [one.text for one in blocks(study, periods(deal).labels) if "nothing moved" in getattr(one, "text", "")]
    assert said == [f"{name} in base, with nothing moved: {value}." for name, value in expected.items()]


def test_check_finds_the_faults_of_studies_and_uncertainties_as_well(tmp_path):
    deal = copy(tmp_path / "deal")
    (deal / "studies.csv").write_text(
        "study,kind,cell,values,measure,scenario\na,oneway,steps.power.delay,x,npv:neocloud,\n", encoding="utf-8"
    )
    (deal / "uncertainties.csv").write_text(
        "uncertainty,cell,distribution,low,mode,high\nu,steps.power.delay,pert,5,1,2\n", encoding="utf-8"
    )
    result = CliRunner().invoke(main, ["check", str(deal)])
    assert result.exit_code == 2
    for said in ("column values: 'x' is no number", "low 5 is not below high 2"):
        assert said in result.stderr, result.stderr
