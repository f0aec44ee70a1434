"""`explain`: the line a user means, its formula in words, and values that are those of the run."""

import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

import deal_files
import stuckstep as ss
from stuckstep.cli import main
from stuckstep.deal.sources import source_of
from stuckstep.engines import text
from stuckstep.reports.console import Heading, Table
from stuckstep.reports.explanation import explain, shown
from stuckstep.reports.outcomes import explain_outcome, find_outcome
from stuckstep.results import solve


@pytest.fixture(scope="module")
def deal() -> ss.Deal:
    return ss.read(deal_files.SUPERPOD)


@pytest.fixture(scope="module")
def monthly(tmp_path_factory: pytest.TempPathFactory) -> ss.Deal:
    folder = deal_files.copy(tmp_path_factory.mktemp("monthly") / "superpod")
    deal_files.put(folder, "deal", "grid", "value", "month")
    return ss.read(folder)


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("ddtl.interest", "claims.ddtl.interest.due"),
        ("rent", "claims.rent.due"),
        ("rent@su1", "claims.rent.due@su1"),
        ("rent.paid", "claims.rent.paid"),
        ("ddtl.draw", "facilities.ddtl.draw"),
        ("operating.closing", "accounts.operating.closing"),
        ("power.finish@su1", "steps.power.finish@su1"),
        ("power.finish", "steps.power.finish@su1"),
        ("power.finish@deal", "steps.power.finish@deal"),
        ("su1.days_late", "phases.su1.days late"),
        ("SU1.Days Late", "phases.su1.days late"),
        ("neocloud.paid", "parties.neocloud.paid"),
        ("contracts.anchor.billed@su1", "contracts.anchor.billed@su1"),
    ],
)
def test_a_line_is_found_as_a_user_types_it(deal: ss.Deal, typed: str, line: str) -> None:
    assert explain(deal, typed, "2027Q4").line == line


@pytest.mark.parametrize(
    ("typed", "period", "said"),
    [
        ("ddtl.intrest", "2027Q4", "ddtl.intrest: no line has this name; nearest are ddtl.interest"),
        ("neocloud.irrr", None, "neocloud.irrr: no line has this name; nearest are neocloud.irr,"),
        ("neocloud.halfpaid", None, "neocloud.halfpaid: no line has this name; nearest are neocloud.half_paid,"),
        ("su1.stuckstep", None, "su1.stuckstep: no line has this name; nearest are su1.stuck_step"),
        ("x.irrr", None, "x.irrr: no line has this name; nearest are irr"),
        ("memory", "2027Q4", "memory: several lines answer to this name; one of "),
        ("rent", None, "none is named; 2027Q1 to 2033Q4 are allowed"),
        ("rent", "2027-10", "2027-10: there is no such period"),
        ("rent", "2034Q1", "2034Q1: there is no such period"),
    ],
)
def test_what_is_not_found_names_what_is_near(deal: ss.Deal, typed: str, period: str | None, said: str) -> None:
    with pytest.raises(ss.DealError) as error:
        explain(deal, typed, period)
    assert said in str(error.value)


def test_interest_in_words_with_values_and_sources(deal: ss.Deal) -> None:
    found = explain(deal, "ddtl.interest", "2027Q4", "power_late", depth=2)
    top = found.steps[0]
    assert top.formula == "on balance + half x ddtl draw x ddtl rate x days of the period / money year"
    due = deal.run(["power_late"])["interest_due"].sel(facility="ddtl", quarter="2027-12-31").item()
    assert top.value == f"USD {due:,.2f}"
    steps = {step.words: step for step in found.steps}
    assert steps["days of the period"].value == "92"
    assert steps["money year"].origin == "constant of the rules"
    assert steps["margin"].origin == "facilities.csv, row 2, column margin"
    assert steps["ddtl rate"].origin == "line facilities.ddtl.rate"
    assert steps["ddtl rate"].formula == "the largest of (base_rate; floor) + margin"


def test_a_changed_cell_is_found_in_the_scenarios(deal: ss.Deal) -> None:
    found = explain(deal, "power.finish", None, "power_late")
    delay = next(step for step in found.steps if step.words == "delay")
    rows = deal_files.read_table(deal_files.SUPERPOD, "scenarios")
    number = next(place for place, row in enumerate(rows, 2) if row["scenario"] == "power_late")
    assert delay.origin == f"scenarios.csv, row {number}, column value"
    assert delay.value == f"{rows[number - 2]['value']} days"
    assert found.period == "every period"


def test_inputs_open_the_period_down_to_the_cells_and_each_line_once(deal: ss.Deal) -> None:
    found = explain(deal, "ddtl.interest", "2027Q4", "power_late", depth=None)
    opened = [step.origin for step in found.steps if step.formula]
    assert len(opened) == len(set(opened))
    closed = [step for step in found.steps if not step.formula and step.origin.startswith("line ")]
    assert closed
    assert all(step.note for step in closed)
    origins = {step.origin for step in found.steps}
    assert "facilities.csv, row 2, column margin" in origins
    assert any(origin.startswith("claims.csv") for origin in origins)
    again = [step for step in found.steps if step.note == "opened above"]
    assert all(step.origin in opened for step in again)


def test_every_line_can_be_explained_and_agrees_with_the_run(deal: ss.Deal) -> None:
    solution = solve(deal, ["everything"])
    part = solution.parts[0]
    for name, line in part.lines.items():
        words = text.formula(line, part.lines)
        assert words
        parts = text.parts(line, part.lines)
        assert len(parts) == len(set(parts))
        known = {"input", "base", "clock", "line", "last"}
        assert {one.kind for one in parts} <= known, name
        if line.opening is not None:
            text.opening(line, part.lines)


def test_a_sum_in_words_adds_up(deal: ss.Deal) -> None:
    found = explain(deal, "rent.claimed", "2028Q1", "power_late")
    amounts = [float(step.value.removeprefix("USD ").replace(",", "")) for step in found.steps]
    assert found.steps[0].formula == "unpaid before + late + due"
    assert amounts[0] == pytest.approx(sum(amounts[1:]), abs=0.02)
    assert amounts[0] > 0


def test_in_the_first_period_the_opening_is_told(deal: ss.Deal) -> None:
    found = explain(deal, "ddtl.balance before", "2027Q1")
    opening = found.steps[1]
    assert opening.words == "balance one period earlier"
    assert "opening_balance" in opening.origin
    nothing = explain(deal, "rent.unpaid before", "2027Q1").steps[1]
    assert nothing.origin == "nothing before the first period"


def test_months_and_quarters_on_a_monthly_grid(monthly: ss.Deal) -> None:
    month = explain(monthly, "operating.closing", "2027-12")
    quarter = explain(monthly, "operating.closing", "2027Q4")
    assert month.steps == quarter.steps
    assert quarter.period.startswith("2027-12 (the last month of 2027Q4; ")
    assert month.period == "2027-12 (2027-12-01 to 2027-12-31)"
    with pytest.raises(ss.DealError, match="2027-01 to 2033-12 and 2027Q1 to 2033Q4 are allowed"):
        explain(monthly, "rent", "2026-12")


def test_words_of_the_awkward_formulas(deal: ss.Deal) -> None:
    lines = solve(deal, ["base"]).parts[0].lines

    def words(name: str) -> str:
        return text.formula(lines[name], lines)

    assert words("claims.chips_delivery.due@su1") == "amount x (1 if due date falls into the period, else 0)"
    assert words("claims.chips_delivery.amount@su1") == "rate x share x su1 racks"
    assert "price in year [billed age + 1]" in words("contracts.anchor.billed@su1")
    assert words("contracts.anchor.billed from@su1") == "the largest of (first day of the period; su1 billing)"
    assert "rank" in words("accounts.construction.closing")
    filled = text.formula(lines["claims.chips_delivery.amount@su1"], lines, lambda part: f"<{part.words}>")
    assert filled == "<rate> x <share> x <su1 racks>"


def test_a_flow_asked_by_quarter_is_the_sum_of_its_months(monthly: ss.Deal) -> None:
    quarter = explain(monthly, "ddtl.interest", "2028Q1", depth=2)
    due = monthly.run(["base"])["interest_due"].sel(facility="ddtl", quarter="2028-03-31").item()
    assert due > 0
    assert quarter.steps[0].value == f"USD {due:,.2f}"
    assert quarter.steps[0].formula == "2028-01 + 2028-02 + 2028-03"
    assert quarter.period == "2028Q1 (the months of 2028Q1; 2028-01-01 to 2028-03-31)"
    months = [step for step in quarter.steps if step.depth == 1]
    assert [step.words for step in months] == ["2028-01", "2028-02", "2028-03"]
    assert all(step.formula for step in months)
    shallow = explain(monthly, "ddtl.interest", "2028Q1")
    assert [step.words for step in shallow.steps[1:]] == ["2028-01", "2028-02", "2028-03"]


def test_what_is_one_part_by_another_name_is_opened(deal: ss.Deal) -> None:
    found = explain(deal, "rent", "2028Q1")
    assert [step.depth for step in found.steps[:3]] == [0, 1, 2]
    assert any(step.words == "units a day" and not step.formula for step in found.steps)


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("ddtl.balance_closing", "facilities.ddtl.balance"),
        ("balance_closing", "facilities.ddtl.balance"),
        ("operating.cash_closing", "accounts.operating.closing"),
        ("ddtl.interest_due", "claims.ddtl.interest.due"),
        ("su1.billed", "contracts.anchor.billed@su1"),
        ("su1.billing_start", "phases.su1.billing"),
        ("ddtl.available_until", "facilities.ddtl.window closes"),
        ("neocloud.puts_in", "parties.neocloud.puts in"),
        ("rent.claim_unpaid", "claims.rent.unpaid"),
    ],
)
def test_a_variable_of_the_results_names_the_line_behind_it(deal: ss.Deal, typed: str, line: str) -> None:
    assert explain(deal, typed, "2027Q4").line == line


def test_every_variable_of_the_results_can_be_explained(deal: ss.Deal) -> None:
    """By a line, or as an outcome; the rest are flags of checks and words about other variables."""
    results = deal.run(["base"])
    apart = {"law_broken", "alert_raised", "alert_on", "is_sound", "irr_reason", "mw"}
    for name in sorted(map(str, set(results.data_vars) - apart)):
        dimension = results[name].dims[0]
        label = str(results[dimension].values[0])
        outcome = find_outcome(deal, f"{label}.{name}")
        if outcome is None:
            typed = f"{results['step'].values[0]}.{name}" if "step" in results[name].dims else f"{label}.{name}"
            assert explain(deal, typed, "2027Q4").line
        else:
            assert list(explain_outcome(deal, outcome))


def test_outcomes_are_explained_by_their_rows(deal: ss.Deal) -> None:
    results = deal.run()
    for variable in ("irr", "npv", "half_paid", "quarters_late"):
        outcome = find_outcome(deal, f"neocloud.{variable}")
        assert outcome is not None
        blocks = list(explain_outcome(deal, outcome, "power_late"))
        (table,) = [block for block in blocks if isinstance(block, Table)]
        net = [float(row[-1].replace(",", "").replace("(", "-").strip(")")) for row in table.rows if row[-1] != "-"]
        expected = results["net"].sel(party="neocloud", scenario="power_late").sum().item()
        assert sum(net) == pytest.approx(expected, abs=0.01 * len(net))
    stuck = find_outcome(deal, "stuck_step")
    assert stuck is not None
    heading, *_, steps = explain_outcome(deal, stuck, "power_late")
    assert isinstance(heading, Heading)
    assert heading.text == "su1.stuck_step = power"
    assert isinstance(steps, Table)
    assert {row[0]: row[3] for row in steps.rows}["power"] == "180"


@pytest.mark.parametrize(
    ("typed", "said"),
    [("half_paid", "it is one for each party; one of "), ("nobody.irr", "no party has this name; one of ")],
)
def test_an_outcome_without_its_row_names_the_rows(deal: ss.Deal, typed: str, said: str) -> None:
    with pytest.raises(ss.DealError, match=said):
        find_outcome(deal, typed)


def test_a_bare_item_that_several_lines_have_names_them(deal: ss.Deal) -> None:
    with pytest.raises(ss.DealError, match=r"mw\.billing\.mw, phases\.su1\.billing is allowed"):
        explain(deal, "billing", "2027Q4")


def test_without_a_line_there_is_a_list() -> None:
    result = CliRunner().invoke(main, ["explain", str(deal_files.SUPERPOD)])
    assert result.exit_code == 0
    assert "claims: " in result.stdout
    assert "of each party, worked out from the lines: first_paid, " in result.stdout


def test_the_command_prints_a_table_or_a_tree() -> None:
    deal = str(deal_files.SUPERPOD)
    runner = CliRunner()
    table = runner.invoke(main, ["explain", deal, "ddtl.interest", "2027Q4", "--scenario", "power_late"])
    assert table.exit_code == 0
    assert table.stdout.startswith("claims.ddtl.interest.due = USD ")
    assert "part " in table.stdout
    tree = runner.invoke(main, ["explain", deal, "ddtl.interest", "2027Q4", "--inputs"], env={"COLUMNS": "80"})
    assert tree.exit_code == 0
    assert "facilities.csv, row 2" in tree.stdout
    assert "explain them in that period" in tree.stdout
    assert not runner.invoke(main, ["explain", deal, "rent", "2027Q4", "--depth", "0"]).stdout.count("part ")


def test_values_by_unit() -> None:
    day = datetime.date(2027, 10, 1)
    serial = float((day - datetime.date(1899, 12, 30)).days)
    assert shown(serial, "date", "USD") == "2027-10-01"
    assert shown(2_900_000, "date", "USD") == "never"
    assert shown(-1234.5, "money", "USD") == "USD (1,234.50)"
    assert shown(0.0425, "1/year", "USD") == "4.25%"
    assert shown(1, "flag", "USD") == "yes"
    assert shown(150, "USD/kW/month", "USD") == "150 USD/kW/month"
    assert shown(2027 * 12 + 10, "month", "USD") == "2027-10"


def test_a_source_is_that_of_its_column() -> None:
    said = "rate=BOM-01; share = assumption"
    assert source_of(said, "rate") == "BOM-01"
    assert source_of(said, "share") == "assumption"
    assert source_of(said, "net_days") == ""
    assert source_of("the term sheet", "rate") == "the term sheet"


def test_explaining_reads_a_workbook_by_its_sheets(tmp_path: Path, deal: ss.Deal) -> None:
    from stuckstep.deal import write

    write(deal, tmp_path / "book.xlsx")
    found = explain(ss.read(tmp_path / "book.xlsx"), "ddtl.rate", "2027Q4")
    margin = next(step for step in found.steps if step.words == "margin")
    assert margin.origin == "facilities, row 2, column margin"
