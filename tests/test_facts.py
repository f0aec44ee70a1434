"""The figures of the two source documents, worked out again from the facts."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import deal_files as files
from documents import numbers_in
from stuckstep.cli.library import facts as facts_command
from stuckstep.deal import read
from stuckstep.deal.arithmetic import FormulaError, evaluate, names_in
from stuckstep.deal.facts import KINDS, facts, printed_figures, worked_out
from stuckstep.deal.sources import Citation, rests_on, unsourced
from stuckstep.reports.facts import DOES_NOT_FOLLOW, FOLLOWS, checked, faults, without_source

HERE = Path(__file__).parent
DOCUMENTS = {
    "What Is a GPU Cluster?": "000_c7e83ce66fd1b7af.txt",
    "Cluster: what it means": "003_7ea102829c17f02c.txt",
}
DOMAIN = HERE.parents[1] / "shared" / "domain"
NOT_A_FIGURE = "not a figure: "
IN_WORDS = {"one", "a third"}  # too common as words to be counted in a text


def figure(name: str):
    return next(one for one in printed_figures() if one.figure == name)


def occurrences() -> list[dict[str, str]]:
    with (HERE / "data/document_numbers.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Formulas -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("1", 1),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("10 - 2 - 3", 5),
        ("24 / 4 / 3", 2),
        ("2 * -3", -6),
        ("-(1 + 2)", -3),
        ("A-1 / B2-x3 * 100", 50),
        ("A-1 - B2-x3", -1),
        ("1.5/3", 0.5),
    ],
)
def test_a_formula_is_worked_out_in_the_usual_order(formula, value):
    assert evaluate(formula, {"A-1": 1.0, "B2-x3": 2.0}.__getitem__) == pytest.approx(value)


@pytest.mark.parametrize(
    ("formula", "wrong"),
    [
        ("", "empty"),
        ("1 +", "too early"),
        ("1 2", "2 is not expected"),
        ("(1 + 2", "not closed"),
        ("1 / 0", "divides by zero"),
        ("2 ** 3", r"\* is not expected"),
        ("__import__('os')", "is no number, name or sign"),
        ("SEED1-01.real", "is no number, name or sign"),
        (") + 1", r"\) is not expected"),
    ],
)
def test_a_formula_that_has_no_value_says_why(formula, wrong):
    with pytest.raises(FormulaError, match=wrong):
        evaluate(formula, lambda name: 1.0)


def test_a_formula_of_facts_needs_facts_that_are_numbers():
    assert worked_out("SEED1-15 / SEED1-16 * 100", facts()) == pytest.approx(35.714, abs=0.001)
    with pytest.raises(FormulaError, match="SEED1-99 is no fact"):
        worked_out("SEED1-99 + 1", facts())
    with pytest.raises(FormulaError, match="SEED1-14 is months to weeks, not a number"):
        worked_out("SEED1-14 + 1", facts())
    assert names_in("(SEED2-32 / SEED2-31 - 1) * SEED2-32") == ("SEED2-32", "SEED2-31")


# Figures --------------------------------------------------------------------------------------------------------------


def test_every_figure_has_a_source_that_says_it():
    assert faults(facts(), printed_figures()) == []
    assert without_source(facts()) == []


def test_only_two_prints_do_not_follow_from_their_parts():
    results = [checked(one, facts()) for one in printed_figures()]
    failed = {one.figure.printed: one.value for one in results if one.verdict == DOES_NOT_FOLLOW}
    assert failed == {"74.2": pytest.approx(74.1), "9.0": pytest.approx(9.667, abs=0.001)}
    assert sum(one.verdict == FOLLOWS for one in results) >= 24


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GPUs in a scalable unit", 576),
        ("GPUs in a SuperPOD", 9216),
        ("CoreWeave: active of contracted power", 35.714),
        ("CoreWeave: power still dark", 2.7),
        ("CoreWeave: guided active of contracted power", 44.048),
        ("Nebius: connected of contracted power", 20),
        ("CoreWeave: backlog in quarters of revenue", 40.388),
        ("Colossus: GPUs in a block", 512),
        ("Colossus: GPUs running at the visit", 100_000),
        ("highest rung against the lowest", 8.333),
        ("rise of the one-year H100 price", 38.235),
    ],
)
def test_the_checks_of_the_documents_follow(name, value):
    result = checked(figure(name), facts())
    assert result.verdict == FOLLOWS
    assert result.value == pytest.approx(value, abs=0.001)


@pytest.mark.parametrize(
    ("printed", "about", "tolerance"),
    [
        ("35.7", "", 0.05),
        ("9,216", "", 0.5),
        ("500", "about", 50),
        ("500", "", 0.5),
        ("20", "about", 5),
        ("eight", "", 0),
    ],
)
def test_a_print_is_known_to_half_of_its_last_digit(printed, about, tolerance):
    one = printed_figures()[0]._replace(printed=printed, about=about)
    assert one.tolerance == pytest.approx(tolerance)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"fact": ""}, "it has no source"),
        ({"fact": "SEED9-01"}, "SEED9-01 is no fact"),
        ({"printed": "9"}, "SEED1-01 does not say 9"),
        ({"formula": "SEED1-14 * 2"}, "SEED1-14 is months to weeks, not a number"),
    ],
)
def test_a_figure_without_a_source_is_a_fault(changed, fault):
    one = figure("racks in a scalable unit")._replace(**changed)
    assert checked(one, facts()).fault == fault
    assert len(faults(facts(), [one])) == 1


def test_a_fact_without_a_source_is_a_fault():
    bare = {"X-1": facts()["SEED1-01"]._replace(id="X-1", source_title=" ")}
    assert faults(bare, []) == ["X-1: the fact names no source"]


def test_deals_named_beside_a_figure_exist():
    named = {deal for one in printed_figures() for deal in one.deal.split("; ") if deal}
    assert named <= {path.name for path in (HERE.parent / "assumptions").iterdir()}


# Completeness ---------------------------------------------------------------------------------------------------------


def test_every_number_of_the_documents_is_a_figure_or_says_why_not():
    known = {(one.document, one.figure): one.printed for one in printed_figures()}
    for row in occurrences():
        if not row["covered_by"].startswith(NOT_A_FIGURE):
            assert known[row["document"], row["covered_by"]] == row["number"], row


def test_every_figure_stands_in_its_document():
    found = {(row["document"], row["covered_by"]) for row in occurrences()}
    missing = {one.printed for one in printed_figures() if (one.document, one.figure) not in found}
    assert missing == IN_WORDS


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_list_of_numbers_is_that_of_the_document(document):
    path = DOMAIN / DOCUMENTS[document]
    if not path.exists():
        pytest.skip("the documents do not travel with the code")
    text = path.read_text(encoding="utf-8")
    listed = [(row["number"], row["context"]) for row in occurrences() if row["document"] == document]
    assert listed == list(map(tuple, numbers_in(text)))
    words = [one.printed for one in printed_figures() if one.document == document and one.printed in IN_WORDS]
    assert all(word in text for word in words)


# Command --------------------------------------------------------------------------------------------------------------


def test_the_command_shows_print_beside_recomputation_and_totals():
    result = CliRunner().invoke(facts_command, ["--all"])
    assert result.exit_code == 0
    shown = " ".join(result.output.split())  # whatever the width it is wrapped at
    assert "74.2 GW is printed, its parts give 74.1" in shown
    assert "9.0 x is printed, its parts give 9.67" in shown
    total = [line.split() for line in result.output.splitlines() if line.startswith("all ")]
    kinds = Counter(fact.kind for fact in facts().values())
    assert total == [["all", *(str(kinds[kind]) for kind in KINDS), str(len(facts()))]]


def test_the_command_fails_for_a_figure_without_a_source(monkeypatch):
    lost = [figure("racks in a scalable unit")._replace(fact="")]
    monkeypatch.setattr("stuckstep.deal.facts.printed_figures", lambda: lost)
    result = CliRunner().invoke(facts_command)
    assert result.exit_code == 1
    assert "it has no source" in result.output


# Sources --------------------------------------------------------------------------------------------------------------


def test_a_number_without_a_source_or_a_reason_is_named(tmp_path: Path) -> None:
    """Of the three accounts; what names several facts, or none, gives its reason in note."""
    folder = files.copy(tmp_path / "deal")
    sources = {
        "construction": "opening_cash=SEED1-15; tax=SEED1-15",
        "operating": "opening_cash=NO-FACT; minimum_cash=assumption",
        "chip_books": "opening_cash=SEED1-15+SEED1-16; minimum_cash=SEED1-15",
    }
    for account, source in sources.items():
        files.put(folder, "accounts", account, "source", source)
    assert [str(fault).split(";")[0] for fault in unsourced(read(folder), facts()) if fault.file == "accounts.csv"] == [
        "accounts.csv, row 2, column minimum_cash: the number has no source",
        "accounts.csv, row 3, column opening_cash: NO-FACT is no fact",
        "accounts.csv, row 3, column minimum_cash: assumption is not explained",
        "accounts.csv, row 4, column opening_cash: SEED1-15+SEED1-16 is not explained",
        "accounts.csv, row 2, column tax: a source is given for a blank cell",
    ]
    for account in sources:
        files.put(folder, "accounts", account, "note", "why")
    explained = [str(fault) for fault in unsourced(read(folder), facts()) if fault.file == "accounts.csv"]
    assert not [line for line in explained if "is not explained" in line]


@pytest.mark.parametrize(
    ("says", "kind"),
    [
        ((), "no source"),
        (("assumption",), "assumption"),
        (("SEED1-15", "SEED1-16"), "worked out"),
        (("SEED1-15", "a talk"), "other text"),
    ],
)
def test_what_a_number_rests_on(says: tuple[str, ...], kind: str) -> None:
    assert rests_on(Citation("accounts", 2, "opening_cash", 0.0, says, ""), facts()) == kind
