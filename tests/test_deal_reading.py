"""Reading: a folder of CSV files and a workbook give the same deal, and a bad workbook one clear fault."""

from __future__ import annotations

import datetime
import io
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.utils.datetime import CALENDAR_MAC_1904

import deal_files as files
from stuckstep.deal import DealError, Place, read, write


def lines(path: Path) -> list[str]:
    with pytest.raises(DealError) as caught:
        read(path)
    return [str(fault) for fault in caught.value.faults]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """The superpod as a workbook."""
    write(read(files.SUPERPOD), tmp_path / "superpod.xlsx")
    return tmp_path / "superpod.xlsx"


def change(path: Path, sheet: str, cell: str, value: Any, number_format: str = "") -> None:
    found = openpyxl.load_workbook(path)
    found[sheet][cell].value = value
    if number_format or isinstance(value, int | float):
        found[sheet][cell].number_format = number_format or "General"
    found.save(path)


def test_cells_are_typed() -> None:
    deal = read(files.SUPERPOD)
    claim = deal.tables["claims"][0]
    assert deal.name == "superpod"
    assert claim.number == 2
    assert claim.cells["paid_from"] == (Place("construction", 10), Place("operating", 60))
    assert claim.cells["rate"] == 2600000.0
    assert claim.cells["term_days"] is None
    assert claim.cells["phase"] is None  # the column is missing altogether: a blank one
    assert deal.tables["phases"][0].cells["order_date"] == datetime.date(2027, 1, 15)
    assert deal.tables["facilities"][0].cells["available_until"] == datetime.date(2028, 4, 1)
    assert deal.tables["supports"][1].cells["available_until"] == "billing"
    assert deal.tables["scenarios"][0].cells["value"] == 180.0
    assert deal.tables["deal"][0].extras == {"source": "SEED1-01"}
    assert deal.columns["deal"] == ("item", "value", "unit", "source")


def test_optional_tables(tmp_path: Path) -> None:
    """Without customers, loans, supports and scenarios a deal is still one."""
    folder = files.copy(tmp_path / "small")
    files.put(folder, "phases", "su1", "contract", "")
    for table in ("contracts", "facilities", "supports", "scenarios"):
        (folder / f"{table}.csv").unlink()
    deal = read(folder)
    assert deal.tables["contracts"] == ()
    assert "contracts" not in deal.columns


def test_what_is_not_a_table_is_left_alone(tmp_path: Path) -> None:
    folder = files.copy(tmp_path / "deal")
    (folder / "expected").mkdir()
    (folder / "expected" / "claims.csv").write_text("scenario\n")
    (folder / "README.md").write_text("a note")
    (folder / ".claims.csv").write_text("an editor's own")
    assert read(folder) == read(files.SUPERPOD)


def test_bom_blank_rows_and_line_ends(tmp_path: Path) -> None:
    """A byte order mark, Windows line ends, blank rows and spaces around cells change no value."""
    folder = files.copy(tmp_path / "deal")
    text = (folder / "parties.csv").read_text().replace("memory,memory", "\n,,\n  memory , memory")
    (folder / "parties.csv").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    deal = read(folder)
    assert deal == read(files.SUPERPOD)
    assert deal.digest == read(files.SUPERPOD).digest
    assert [row.number for row in deal.tables["parties"]][:3] == [2, 5, 6]


def test_names_that_look_like_nothing_stay_names(tmp_path: Path) -> None:
    folder = files.copy(tmp_path / "deal")
    for name in ("NA", "None", "null", "nan", "TRUE", "1"):
        files.put(folder, "parties", name, "role", "a name")
    deal = read(folder)
    assert [row.cells["party"] for row in deal.tables["parties"][-6:]] == ["NA", "None", "null", "nan", "TRUE", "1"]
    write(deal, tmp_path / "deal.xlsx")
    assert read(tmp_path / "deal.xlsx") == deal


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    folder = files.copy(tmp_path / "deal")
    before = read(folder).digest
    files.put(folder, "claims", "rent", "note", "as quoted")
    noted = read(folder).digest
    files.put(folder, "claims", "rent", "rate", "150.5")
    assert len({before, noted, read(folder).digest}) == 3
    files.put(folder, "claims", "rent", "rate", "150.0")
    assert read(folder).digest == noted


def test_a_workbook_is_the_same_deal(book: Path) -> None:
    assert read(book) == read(files.SUPERPOD)
    assert read(book).digest == read(files.SUPERPOD).digest
    assert read(book).files["claims"] == "claims"


def test_numbers_dates_and_text_of_a_spreadsheet(book: Path) -> None:
    """A percent cell gives its stored value; a date cell, ISO text and a serial give the same date."""
    change(book, "deal", "B7", 0.04, "0.00%")
    change(book, "deal", "B4", "2027-01-01")
    change(book, "phases", "B2", 46402)
    change(book, "claims", "F2", "2600000")
    change(book, "claims", "F3", 0.1 + 0.2)
    deal = read(book)
    assert deal.tables["deal"][5].cells["value"] == 0.04
    assert deal.tables["deal"][2].cells["value"] == datetime.date(2027, 1, 1)
    assert deal.tables["phases"][0].cells["order_date"] == datetime.date(2027, 1, 15)
    assert deal.tables["claims"][0].cells["rate"] == 2600000.0
    assert deal.tables["claims"][1].cells["rate"] == 0.3  # 15 digits


@pytest.mark.parametrize(
    ("sheet", "cell", "value", "line"),
    [
        ("claims", "F2", "=1+1", "claims, row 2, column rate: cell F2 holds a formula without a stored value (open, "),
        ("claims", "F2", "#DIV/0!", "claims, row 2, column rate: cell F2 holds the error value #DIV/0!; a number from"),
        ("claims", "F2", datetime.date(2027, 1, 1), "claims, row 2, column rate: 2027-01-01 is not a number; a number"),
        ("claims", "F2", True, "claims, row 2, column rate: TRUE is not a number; a number from 0 to 1e15 is allowed"),
        ("claims", "F2", datetime.time(1, 2), "claims, row 2, column rate: cell F2 holds the time 01:02:00; a number"),
        ("phases", "B2", datetime.datetime(2027, 1, 1, 8), "phases, row 2, column order_date: 2027-01-01 08:00:00 has"),
        ("phases", "B2", 46402.5, "phases, row 2, column order_date: 46402.5 is not a date; a date from 2000-01-01 to"),
        ("phases", "B2", 2027, "phases, row 2, column order_date: 1905-07-19 is below 2000-01-01; a date from 2000-01"),
        ("phases", "B1", "orderdate", "phases, row 1: there is no column 'orderdate' (nearest: order_date); the colum"),
        ("phases", "B1", "#REF!", "phases, row 1: there is no column 'cell B1 holds the error value #REF!'; the colum"),
        ("phases", "K2", "astray", "phases, row 2: cell 11 of the row stands under no heading; cells under a heading"),
        (
            "phases",
            "IV2",
            "astray",
            "phases, row 2: cell IV2 lies far off the table; the first 200 columns are allowed",
        ),
    ],
)
def test_faults_of_cells(book: Path, sheet: str, cell: str, value: object, line: str) -> None:
    change(book, sheet, cell, value)
    assert lines(book)[0].startswith(line)


def test_a_formula_counts_with_its_stored_value(book: Path) -> None:
    """The same cell with the value a spreadsheet program stores beside its formula."""
    change(book, "claims", "F2", "=1300000*2")
    inside = zipfile.ZipFile(io.BytesIO(book.read_bytes()))
    with zipfile.ZipFile(book, "w") as changed:
        for name in inside.namelist():
            stored = inside.read(name).replace(b"<f>1300000*2</f><v />", b"<f>1300000*2</f><v>2600000</v>")
            changed.writestr(name, stored.replace(b"<f>1300000*2</f><v></v>", b"<f>1300000*2</f><v>2600000</v>"))
    assert read(book) == read(files.SUPERPOD)


def test_merged_cells(book: Path) -> None:
    found = openpyxl.load_workbook(book)
    found["claims"].merge_cells("B3:B4")
    found.save(book)
    assert lines(book) == [
        "claims, row 3: the cells B3:B4 are merged; single cells are allowed",
        "claims, row 4, column paid_from: the cell is blank; "
        "a list account:rank;account:rank in the order of the table accounts is required",
    ]


def test_bare_serials_in_a_1904_workbook(book: Path) -> None:
    found = openpyxl.load_workbook(book)
    found.epoch = CALENDAR_MAC_1904
    found["phases"]["B2"].value = 46402
    found["phases"]["B2"].number_format = "0"
    found.save(book)
    assert lines(book)[0].startswith(
        "phases, row 2, column order_date: 46402 is a bare number in a workbook that counts days from 1904; a date"
    )


def test_sheets_of_the_program_and_of_others(book: Path) -> None:
    """An exported workbook can be read again; a sheet whose name is near a table's, and is none, is a fault."""
    found = openpyxl.load_workbook(book)
    found.create_sheet("cover", 0)["A1"] = "One DGX SuperPOD"
    found.create_sheet("live")["A1"] = "=1+1"
    found.save(book)
    assert read(book) == read(files.SUPERPOD)
    found.create_sheet("Claim")["A1"] = "claim"
    del found["parties"]
    found["steps"].delete_rows(1, 20)
    found.save(book)
    assert [line.split(";")[0] for line in lines(book)] == [
        "Claim: there is no table 'Claim' (nearest: claims)",
        f"{book}: the table parties is missing",
        "steps: no row holds headings",
    ]


def test_a_sheet_of_one_s_own_is_let_alone(book: Path) -> None:
    """Notes and workings are not read, and the log says so; inputs may refer to them and count with their value."""
    found = openpyxl.load_workbook(book)
    for title in ("my notes", "Notes", "test", "Sheet1", "workings"):
        found.create_sheet(title)["A1"] = "ask the lender about the window"
    found["my notes"]["B2"] = "=1/0"
    listed = found.create_sheet("list")
    listed.append(["item", "value"])
    listed.append(["rent per kW", 150])
    found.save(book)
    deal = read(book)
    assert deal == read(files.SUPERPOD)
    told = [one.file for one in deal.log if one.stood == "the sheet is no table, not read"]
    assert told == ["my notes", "Notes", "test", "Sheet1", "workings", "list"]


@pytest.mark.parametrize("title", ["claim", "Claimz", "claims (2)", "stepz", "old claims"])
def test_a_sheet_that_is_nearly_a_table_is_a_slip(title: str, book: Path) -> None:
    found = openpyxl.load_workbook(book)
    found.create_sheet(title)["A1"] = "a note"
    found.save(book)
    assert len(lines(book)) == 1
    assert lines(book)[0].startswith(f"{title}: there is no table '{title}' (nearest: ")
    assert lines(book)[0].endswith(", and sheets of your own that neither by name nor by headings could be one of them")


def test_a_sheet_with_a_table_s_headings_is_a_slip_whatever_its_name(book: Path) -> None:
    found = openpyxl.load_workbook(book)
    found["claims"].title = "what we owe"
    found.create_sheet("claims").append(["claim", "paid_from", "payee", "kind", "trigger"])
    found.save(book)
    assert any(line.startswith("what we owe: there is no table 'what we owe'") for line in lines(book))


def test_stray_formatting_far_down(book: Path) -> None:
    """A sheet that claims a million rows costs nothing and adds nothing."""
    found = openpyxl.load_workbook(book)
    found["claims"].cell(1_048_576, 16_384).number_format = "0.00"
    found.save(book)
    assert read(book) == read(files.SUPERPOD)


def test_unreadable_workbooks(book: Path, tmp_path: Path) -> None:
    allowed = "an .xlsx workbook without a password is allowed"
    old = tmp_path / "old.xlsx"
    old.write_bytes(bytes.fromhex("D0CF11E0A1B11AE1") + bytes(600))
    assert lines(old) == [f"{old}: the workbook is encrypted or in the old .xls format; {allowed}"]
    text = tmp_path / "text.xlsx"
    text.write_text("claim,paid_from\n")
    assert lines(text) == [f"{text}: this is text, perhaps CSV; {allowed}"]
    cut = tmp_path / "cut.xlsx"
    whole = book.read_bytes()
    for length in range(0, len(whole), len(whole) // 12):
        cut.write_bytes(whole[:length])
        assert len(lines(cut)) == 1
    for place in range(100, len(whole), len(whole) // 12):
        cut.write_bytes(whole[:place] + bytes(40) + whole[place + 40 :])
        try:
            read(cut)  # what is hit may be of no consequence
        except DealError as error:
            assert error.faults  # noqa: PT017 - either outcome is fine, a traceback is not


def test_openpyxl_is_imported_only_for_workbooks() -> None:
    code = "import sys, stuckstep.deal as d; d.read(sys.argv[1]); assert 'openpyxl' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, str(files.SUPERPOD)], check=True)
