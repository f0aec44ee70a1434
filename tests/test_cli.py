"""The command: what it prints and writes, its exit codes, and how it tells what is wrong."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner, Result

import deal_files
import stuckstep as ss
from stuckstep.cli import main
from stuckstep.reports.console import Table, broken, lay_out, show
from stuckstep.reports.statement import statement
from stuckstep.reports.storage import read_results
from stuckstep.reports.summary import summarise

COMMAND = [sys.executable, "-c", "from stuckstep.cli import main; main()"]


def call(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, list(arguments), env={"COLUMNS": None, **environment})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own: the example under ./assumptions."""
    deal_files.copy(tmp_path / "assumptions" / "superpod")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What a run of the example prints, and where it wrote."""
    out = tmp_path_factory.mktemp("out") / "superpod"
    result = call("run", str(deal_files.SUPERPOD), "--out", str(out), "--no-workbook", "--no-report")
    assert result.exit_code == 0, result.output
    return result.stdout, out


def test_run_prints_every_scenario_and_writes_the_files(printed: tuple[str, Path]) -> None:
    text, out = printed
    assert sorted(path.name for path in out.iterdir()) == ["payments.csv", "results.nc", "run.json"]
    assert "Base pays everyone in full and when due" in text
    assert "\x1b" not in text
    row = next(line for line in text.splitlines() if line.startswith("power_late "))
    assert row.split()[:5] == ["power_late", "2028-03-29", "159", "power", "159"]
    payments = text[text.index("\npower_late\n---") :]
    order = [line.split()[0] for line in payments[payments.index("party ") :].splitlines()[2:10]]
    results = read_results(out / "results.nc").sel(scenario="power_late")
    first = results["first_paid"].sel(party=order).values
    assert (first[1:] >= first[:-1]).all()
    assert "Master check: sound" in payments


def test_the_whole_of_base_in_plain_text(printed: tuple[str, Path]) -> None:
    text = printed[0]
    start = text.index("\nbase\n----") + 1
    lines = text[start : text.index("\npower_late\n---")].splitlines()
    assert lines[:6] == [
        "base",
        "----",
        "",
        "Billing",
        "phase     planned       bills  days late  stuck step  relief days",
        "-----  ----------  ----------  ---------  ----------  -----------",
    ]
    assert lines[6] == "su1    2027-10-22  2027-10-22          0"
    assert all(line == line.rstrip() for line in lines)


def test_one_quarter_is_not_many(home: Path) -> None:
    deal_files.put(home / "assumptions" / "superpod", "deal", "quarters", "value", "1")
    result = call("run", "superpod", "--no-workbook", "--no-report", "--brief")
    assert "scenarios, 1 quarter, 2027Q1 to 2027Q1." in result.stdout


def test_columns_narrows_the_tables(home: Path) -> None:
    result = call("run", "superpod", "--no-workbook", "--no-report", COLUMNS="80")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert (home / "outputs" / "superpod" / "results.nc").is_file()


def test_json_is_one_document_with_plain_numbers_and_iso_dates(home: Path) -> None:
    result = call("run", "superpod", "--no-workbook", "--no-report", "--json", "--scenario", "everything")
    document = json.loads(result.stdout)
    assert result.stderr == ""
    assert document["base"]["pays_when_due"] is True
    (scenario,) = document["scenarios"]
    assert scenario["scenario"] == "everything"
    (phase,) = scenario["phases"]
    assert (phase["billing_start"], phase["days_late"], phase["stuck_step"], phase["relief"]) == (
        "2028-05-28",
        219.0,
        "power",
        69.0,
    )
    paid = {row["party"]: row for row in scenario["payment_order"]}
    dataset = ss.read(deal_files.SUPERPOD).run(["everything"])
    for party, row in paid.items():
        assert row["paid"] == pytest.approx(float(dataset["paid"].sel(party=party).sum()))
        assert row["due"] + row["late"] - row["paid"] == pytest.approx(row["unpaid"], abs=0.01)
    assert paid["customer"]["first_paid"] is None
    short = scenario["largest_shortfall"]
    assert short["amount"] == pytest.approx(float(dataset["unpaid"].sum("party").max()))
    assert short["amount"] == pytest.approx(sum(one["unpaid"] for one in short["payees"]))
    written = read_results(home / "outputs" / "superpod" / "results.nc")
    assert list(written["scenario"].values) == ["everything"]


def test_parallel_late_paths_and_cancelled_phases_are_said(home: Path) -> None:
    folder = home / "assumptions" / "superpod"
    deal_files.put(folder, "contracts", "anchor", "longstop_days", "340")
    deal_files.put(folder, "contracts", "anchor", "refund_from", "operating:50")
    finish = ss.read(folder).run(["base"])["finish"].isel(phase=0, scenario=0)
    spare = int((finish.sel(step="fabric") - finish.sel(step="power")).values / np.timedelta64(1, "D"))
    for step, delay in (("fabric", 60), ("power", 60 + spare)):
        deal_files.scenario(folder, "both", "steps", step, "delay", str(delay))
        deal_files.scenario(folder, "lost", "steps", step, "delay", "400")
    result = call("run", "superpod", "--no-workbook", "--no-report", "--json", "--scenario", "both")
    (phase,) = json.loads(result.stdout)["scenarios"][0]["phases"]
    assert (phase["days_late"], phase["relief"], phase["parallel"]) == (60, 0, True)
    text = call("run", "superpod", "--no-workbook", "--no-report").stdout
    assert (
        text.count(f"{phase['stuck_step']} in su1: curing it alone is worth nothing, because another path is as") == 1
    )
    lost = text[text.index("\nlost\n") :]
    assert "su1: cancelled at the long-stop date, never bills." in lost
    row = next(line for line in text.splitlines() if line.startswith("lost "))
    assert row.split()[1] == "cancelled"


def test_a_return_that_means_nothing_is_not_printed_as_a_number(home: Path) -> None:
    dataset = ss.read(deal_files.SUPERPOD).run(["base"])
    dataset["irr"].loc[{"party": "neocloud"}] = 12.5
    out = io.StringIO()
    show(statement(summarise(ss.read(deal_files.SUPERPOD), dataset)), out)
    text = out.getvalue()
    assert next(line for line in text.splitlines() if line.startswith("neocloud") and "n/m" in line).endswith("n/m")
    assert "IRR of neocloud n/m: not meaningful, a rate above 1,000% a year." in text
    assert "n/m" not in call("run", "superpod", "--no-workbook", "--no-report").stdout


def test_a_broken_law_is_exit_code_1(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stuckstep import results

    label = results.label

    def spoilt(*arguments: object, **options: object) -> object:
        dataset = label(*arguments, **options)  # type: ignore[arg-type]
        dataset["law_broken"].loc[{"law": "ranks", "scenario": "power_late"}] = True
        dataset["is_sound"].loc[{"scenario": "power_late"}] = False
        return dataset

    monkeypatch.setattr(results, "label", spoilt)
    result = call("run", "superpod", "--no-workbook", "--no-report")
    assert result.exit_code == 1
    assert "MASTER CHECK BROKEN in power_late" in result.stdout
    assert "the laws on ranks do not hold" in result.stdout
    monkeypatch.undo()
    monkeypatch.chdir(home)
    assert call("run", "superpod", "--no-workbook", "--no-report").exit_code == 0


def test_faults_come_all_at_once_one_line_each(home: Path) -> None:
    folder = home / "assumptions" / "superpod"
    deal_files.put(folder, "facilities", "ddtl", "margin", "5")
    deal_files.put(folder, "claims", "rent", "payee", "landlady")
    deal_files.put(folder, "steps", "chips", "days", "soon")
    for command in ("run", "check"):
        result = call(command, "superpod")
        assert result.exit_code == 2
        assert result.stdout == ""
        lines = result.stderr.splitlines()
        assert len(lines) == 3
        assert lines[2].startswith("facilities.csv, row 2, column margin: 5 is above 1")
        assert all(": " in line and "; " in line for line in lines)
    assert not (home / "outputs").exists()


def test_a_once_claim_due_before_the_start_is_a_fault(home: Path) -> None:
    folder = home / "assumptions" / "superpod"
    rows = deal_files.read_table(folder, "claims")
    number = next(place for place, row in enumerate(rows, 2) if row["claim"] == "chips_delivery")
    deal_files.scenario(folder, "early", "claims", "chips_delivery", "net_days", "-400")
    for command in ("run", "check"):
        result = call(command, "superpod")
        assert result.exit_code == 2
        (line,) = result.stderr.splitlines()
        assert line.startswith(f"claims.csv, row {number}, column trigger: chips_delivery falls due on 2026-")
        assert "in scenario early, before the start" in line
    with pytest.raises(ss.DealError, match="before the start"):
        ss.read(folder).run()
    ss.read(folder).run(["power_late"])


def test_a_refund_due_before_the_start_is_a_fault(home: Path) -> None:
    folder = home / "assumptions" / "superpod"
    deal_files.put(folder, "contracts", "anchor", "prepay_share", "0.04")
    deal_files.put(folder, "contracts", "anchor", "longstop_days", "340")
    for column, value in (("order_date", "2025-01-15"), ("mw", "1")):
        deal_files.put(folder, "phases", "live", column, value)
    deal_files.put(folder, "phases", "live", "contract", "anchor")
    claims = deal_files.read_table(folder, "claims")
    for claim in (row["claim"] for row in claims if row["kind"] == "once"):
        deal_files.put(folder, "claims", claim, "phase", "su1")
    deal_files.scenario(folder, "given_up", "steps", "power@live", "delay", "400")
    for command in ("run", "check"):
        result = call(command, "superpod")
        assert result.exit_code == 2
        (line,) = result.stderr.splitlines()
        assert line.startswith("contracts.csv, row 2: anchor.refund falls due on 2026-")
        assert "in scenario given_up, before the start" in line
    ss.read(folder).run(["power_late"])


def test_an_empty_path_is_one_line_and_not_the_current_folder(home: Path) -> None:
    study = ["--cell", "steps.power.delay", "--values", "0;90", "--measure", "npv:neocloud"]
    for command in (["run"], ["export"], ["report"], ["sensitivity", *study]):
        result = call(command[0], "superpod", *command[1:], "--out", "")
        assert result.exit_code == 2
        assert result.stderr.splitlines() == ["--out: the path is empty; a path, or . for this folder, is required"]
    assert call("convert", "superpod", "").exit_code == 2
    result = call("run", "")
    assert result.exit_code == 2
    assert result.stderr.startswith("DEAL: the name is empty; a folder of .csv files")
    assert [path.name for path in home.iterdir()] == ["assumptions"]


def test_what_is_no_path_and_no_name_is_said_in_python(home: Path) -> None:
    for path in (None, 3, b"superpod", ["superpod"]):
        with pytest.raises(TypeError, match="a deal is read from the path of a folder or of an"):
            ss.read(path)  # type: ignore[arg-type]
    with pytest.raises(ss.DealError, match="the path is empty"):
        ss.read("")
    deal = ss.read(home / "assumptions" / "superpod")
    for scenarios in (1, [1], ["base", None]):
        with pytest.raises(TypeError, match="scenarios are asked for by name, such as 'base', not by"):
            deal.run(scenarios)  # type: ignore[arg-type]
    assert list(deal.run("power_late").scenario.values) == ["power_late"]


def test_what_cannot_be_written_is_said_in_one_line_and_changes_nothing(home: Path) -> None:
    (home / "outputs").write_text("a file where a folder should be")
    result = call("run", "superpod", "--no-workbook", "--no-report")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "outputs/superpod: cannot be written (Not a directory); a folder that can be written is allowed (--out)"
    ]
    assert (home / "outputs").read_text() == "a file where a folder should be"
    result = call("run", "superpod", "--no-workbook", "--no-report", "--out", "assumptions/superpod")
    assert result.exit_code == 2
    assert "own folder" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "elsewhere"), "there is no such path, and no such deal under assumptions"),
        (("run", "superpod", "--scenario", "power"), "there is no scenario 'power'"),
        (("run", "superpod", "--monthly"), "the grid month is required"),
        (("check", "pyproject.toml"), "no such deal"),
        (("convert", "superpod", "deal.csv"), "a deal is not written as .csv"),
        (("new", "superpod"), "something is there already"),
        (("explain", "superpod", "rent", "2099Q1"), "2099Q1: there is no such period; 2027Q1 to "),
    ],
)
def test_bad_input_is_exit_code_2_and_one_line(home: Path, arguments: tuple[str, ...], said: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_error_of_the_program_is_one_line_without_traceback(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stuckstep.results.solve", lambda *_: 1 / 0)
    result = call("run", "superpod")
    assert result.exit_code == 3
    (line,) = result.stderr.splitlines()
    assert "ZeroDivisionError" in line
    assert "STUCKSTEP_TRACEBACK=1" in line
    assert isinstance(call("run", "superpod", STUCKSTEP_TRACEBACK="1").exception, ZeroDivisionError)


def test_new_and_convert_give_deals_that_run(home: Path) -> None:
    result = call("new", "mine")
    assert result.exit_code == 0
    assert (home / "assumptions" / "mine" / "deal.csv").is_file()
    assert call("run", "mine", "--no-workbook", "--no-report").exit_code == 0
    assert call("convert", "mine", "mine.xlsx").exit_code == 0
    assert ss.read("mine.xlsx") == ss.read("assumptions/mine")
    shutil.copy("mine.xlsx", "assumptions/mine.xlsx")
    assert "both a folder and a workbook" in call("check", "mine").stderr
    assert call("check", "mine.xlsx").exit_code == 0


def test_check_says_what_was_read_and_counts_sources(home: Path) -> None:
    folder = home / "assumptions" / "superpod"
    rows = deal_files.read_table(folder, "facilities")
    rows[0]["source"] = "margin=DDTL3-02; advance_rate=assumption; floor=a talk with the lender"
    deal_files.write_table(folder, "facilities", rows)
    result = call("check", "superpod", "--sources")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["claims", "claims.csv", "10"] in [line[:3] for line in lines]
    facility = next(line for line in lines if line[:1] == ["facilities"] and "facilities.csv" not in line)
    kinds = next(line for line in result.stdout.splitlines() if line.startswith("table") and "assumption" in line)
    counts = dict(zip(re.split(r"\s{2,}", kinds)[1:], facility[1:], strict=True))
    assert (counts["reported"], counts["assumption"], counts["other text"]) == ("1", "1", "1")
    assert "5 scenarios, base among them, all of one structure." in result.stdout


def test_export_writes_the_workbook_of_a_scenario(home: Path) -> None:
    result = call("export", "superpod", "--scenario", "power_late")
    assert result.exit_code == 0
    book = home / "outputs" / "superpod" / "superpod.xlsx"
    assert ss.read(book).digest == ss.read("assumptions/superpod").digest
    again = call("export", str(book))
    assert again.exit_code == 2
    assert "never written over" in again.stderr


def test_export_writes_nothing_but_xlsx(home: Path) -> None:
    for name in ("x.txt", "x.xls", "x"):
        result = call("export", "superpod", "--out", name)
        assert result.exit_code == 2
        assert result.stderr == (
            f"{name}: a live workbook is an .xlsx file; a name that ends in .xlsx is allowed (--out)\n"
        )
        assert not (home / name).exists()


def test_an_exported_workbook_is_converted_back_to_the_same_files(home: Path) -> None:
    """Also where an analyst keeps a sheet of notes in it. The deck has every column of its tables, but no `unit`."""
    source, back = Path(__file__).parents[1] / "assumptions" / "superpod", home / "back"
    assert call("export", str(source), "--out", "live.xlsx").exit_code == 0
    book = openpyxl.load_workbook("live.xlsx")
    book.create_sheet("my notes")["A1"] = "ask the lender"
    book.save("live.xlsx")
    assert call("convert", "live.xlsx", "back").exit_code == 0
    names = sorted(file.name for file in source.glob("*.csv"))
    assert sorted(file.name for file in back.iterdir()) == names
    for name in names:
        assert (back / name).read_bytes() == (source / name).read_bytes(), name


def test_an_odd_name_does_no_harm(home: Path) -> None:
    folder = home / "assumptions" / "superpod"
    for file in folder.glob("*.csv"):
        file.write_text(file.read_text().replace("staff", "[red]=cmd|' /C calc'!A0"))
    result = call("run", "superpod", "--no-workbook", "--no-report")
    assert result.exit_code == 0
    assert "[red]=cmd|' /C calc'!A0 " in result.stdout
    assert "\n'[red]" not in (home / "outputs" / "superpod" / "payments.csv").read_text()


def test_names_break_at_underscores_and_nothing_is_cut_off() -> None:
    assert broken("power_late_2q_window_moved", 14) == ["power_late_2q_", "window_moved"]
    assert broken("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    table = Table(["name", "a long heading"], [["power_late_2q_window_moved", "1,234.56"], ["b", "-"]])
    laid = lay_out(table, 24)
    assert sum(laid.widths) + laid.gap <= 24
    assert "".join(laid.rows[0][0]) == "power_late_2q_window_moved"
    assert laid.rows[0][1] == ["1,234.56"]
    assert lay_out(table, None).headings == [["name"], ["a long heading"]]


def test_a_terminal_gets_colour_and_the_same_words(capsys: pytest.CaptureFixture[str]) -> None:
    import io

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    show([Table(["party", "paid"], [["[bold]lender", "1.00"], ["staff", "never"]])], stream)
    assert "[bold]lender" in stream.getvalue()
    assert "never" in stream.getvalue()


def run_process(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_help_answers_at_once_and_loads_nothing_heavy() -> None:
    check = "import sys; from stuckstep.cli import main; main(['--help'], standalone_mode=False)"
    check += "; print([m for m in ('numpy', 'pandas', 'xarray', 'openpyxl', 'rich', 'h5py') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert result.stdout.endswith("[]\n")
    commands = result.stdout[result.stdout.index("Commands:") :]
    found = [line.split()[0] for line in commands.splitlines()[1:] if line.startswith("  ")]
    assert found[:5] == ["run", "check", "new", "convert", "explain"]


def test_the_process_runs_where_dask_is_there_and_where_output_is_ascii(home: Path) -> None:
    folder = home / "assumptions" / "superpod"
    for file in folder.glob("*.csv"):
        file.write_text(file.read_text().replace("staff", "Łódź"), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = run_process("run", "superpod", "--no-workbook", "--no-report", "--scenario", "power_late", env=environment)
    assert (result.returncode, result.stderr) == (0, "")
    assert "\\u0141" in result.stdout
    assert "Written to outputs/superpod: results.nc, payments.csv, run.json." in result.stdout


def test_a_reader_that_stops_reading_is_no_error(home: Path) -> None:
    command = subprocess.list2cmdline([*COMMAND, "check", "superpod"])
    script = f"{command} | head -n 1; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert "Traceback" not in result.stderr
    assert result.stdout.startswith("superpod: ")


def test_brief_stops_after_the_table_of_all_scenarios(home: Path) -> None:
    result = call("run", "superpod", "--no-workbook", "--no-report", "--brief")
    assert result.exit_code == 0
    assert "All scenarios" in result.stdout
    assert "Payment order" not in result.stdout
    assert "Payment order" in call("run", "superpod", "--no-workbook", "--no-report").stdout


def test_debt_and_returns_are_said_for_each_scenario(home: Path) -> None:
    document = json.loads(call("run", "superpod", "--no-workbook", "--no-report", "--json").stdout)
    results = ss.read("assumptions/superpod").run()
    for scenario in document["scenarios"]:
        name = scenario["scenario"]
        (loan,) = scenario["debt"]
        assert loan["drawn"] == pytest.approx(results["draw"].sel(scenario=name).sum().item())
        assert loan["peak"] == pytest.approx(results["balance_closing"].sel(scenario=name).max().item())
        tested = results["dscr"].where(results["principal_due"] >= 0.005).sel(scenario=name)
        assert loan["lowest_dscr"] == pytest.approx(tested.min().item())
        for row in scenario["returns"]:
            party = results.sel(party=row["party"], scenario=name)
            assert row["npv"] == pytest.approx(party["npv"].item())
            assert row["irr"] is None or row["irr"] == pytest.approx(party["irr"].item())


def test_an_alert_names_what_raises_it_and_why(home: Path) -> None:
    folder = deal_files.copy(Path("assumptions") / "shut")
    deal_files.put(folder, "facilities", "ddtl", "available_until", "2027-08-01")
    deal_files.put(folder, "facilities", "ddtl", "condition", "power")
    result = call("run", "shut", "--scenario", "power_late", "--no-workbook", "--no-report")
    assert result.exit_code == 0
    done = ss.read(folder).run(["power_late"])["finish"].sel(step="power").dt.strftime("%Y-%m-%d").item()
    why = f"the draw window of ddtl closes on 2027-08-01, and power is done only on {done}"
    assert f"never drawn: ddtl; {why}." in result.stdout


def test_a_loan_that_outlasts_the_run_is_not_called_repaid(home: Path) -> None:
    folder = deal_files.copy(Path("assumptions") / "short")
    deal_files.put(folder, "deal", "quarters", "value", "10")
    result = call("run", "short", "--scenario", "base", "--no-workbook", "--no-report")
    left = ss.read(folder).run(["base"])["balance_closing"].isel(quarter=-1).item()
    assert f"Lent and not yet due when the last quarter ends: ddtl USD {left / 1e6:,.2f}m." in result.stdout
    # the lender's IRR is that of a loan never repaid, which the table of returns would not tell
    assert f"is lent and not yet due then counts as nothing (ddtl USD {left / 1e6:,.2f}m)." in result.stdout
    assert "Returns end" not in call("run", "superpod", "--scenario", "base", "--no-workbook", "--no-report").stdout


def test_the_legend_says_what_the_dscr_leaves_out(home: Path) -> None:
    # two halves of a loan, each of which is printed with twice the cover of the whole
    text = call("run", "superpod", "--brief", "--no-workbook", "--no-report").stdout
    assert "neither rent paid in nor a loan of equal rank counts" in text


def test_facts_are_said_by_their_id() -> None:
    result = call("facts", "bom-01", "SEED1-01")
    assert result.exit_code == 0
    assert "8 racks" in result.stdout
    wrong = call("facts", "BOM-0", "XX")
    assert wrong.exit_code == 2
    assert len(wrong.stderr.splitlines()) == 2


def test_several_deals_are_run_into_folders_of_their_names(home: Path) -> None:
    deal_files.copy(Path("assumptions") / "other")
    quick = ("--scenario", "base", "--no-workbook", "--no-report")
    documents = json.loads(call("run", "superpod", "other", *quick, "--out", "all", "--json").stdout)
    assert [document["deal"] for document in documents] == ["superpod", "other"]
    assert all((Path("all") / name / "results.nc").exists() for name in ("superpod", "other"))
    printed = call("run", "superpod", "other", *quick, "--brief").stdout
    assert "Written to outputs/superpod" in printed
    assert "Written to outputs/other" in printed


def test_of_several_deals_none_is_run_where_one_has_faults(home: Path) -> None:
    bad = deal_files.copy(Path("assumptions") / "bad")
    deal_files.put(bad, "phases", "su1", "racks", "many")
    result = call("run", "superpod", "bad", "nope", str(Path("assumptions") / "superpod"))
    assert result.exit_code == 2
    assert not Path("outputs").exists()
    told = result.stderr.splitlines()
    assert told[0].startswith("bad: phases.csv, row 2, column racks: ")
    assert "nope: there is no such path" in told[1]
    assert told[2] == "superpod: two deals have this name; deals of different names are allowed"


def test_a_loan_that_runs_past_the_horizon_raises_the_alert(home: Path) -> None:
    folder = deal_files.copy(Path("assumptions") / "short")
    deal_files.put(folder, "deal", "quarters", "value", "10")
    results = ss.read(folder).run("base")
    on = str(results["alert_on"].sel(alert="claims past horizon").item())
    assert "ddtl.principal" in on.split(";")
    whole = ss.read("assumptions/superpod").run("base")
    assert "ddtl.principal" not in str(whole["alert_on"].sel(alert="claims past horizon").item())


def test_monthly_results_are_of_deals_by_month(home: Path) -> None:
    with pytest.raises(ss.DealError, match="monthly results need a deal that runs by month"):
        ss.read("assumptions/superpod").run(monthly=True)


def test_a_scenario_may_be_named_alone(home: Path) -> None:
    assert list(ss.read("assumptions/superpod").run("power_late")["scenario"].values) == ["power_late"]


def test_run_says_that_something_was_read_otherwise(home: Path) -> None:
    folder = deal_files.copy(Path("assumptions") / "spaced")
    deal_files.put(folder, "facilities", "ddtl", "commitment", "25,600,000")
    quick = ("--scenario", "base", "--no-workbook", "--no-report", "--brief")
    count = len(ss.read(folder).log)
    assert count > 0
    assert f"{count} reading" in call("run", "spaced", *quick).stdout
    assert "reading" not in call("run", "superpod", *quick).stdout


def test_the_module_is_the_command() -> None:
    ran = subprocess.run([sys.executable, "-m", "stuckstep", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("stuckstep ")


def test_a_stop_while_the_command_loads_is_told_in_a_word() -> None:
    code = (
        "import sys, stuckstep.__main__ as start\n"
        "class Stop:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'stuckstep.cli': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "start.main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "stopped\n")
