"""Files as they come by mail: each trap with a small file of its own, and what it must come to."""

from __future__ import annotations

import csv
import datetime
import io
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from click.testing import CliRunner
from openpyxl.styles import PatternFill
from openpyxl.utils.datetime import CALENDAR_MAC_1904

import deal_files as files
from stuckstep.cli import main
from stuckstep.deal import Deal, DealError, Value, read, write

pytestmark = pytest.mark.thorough


def faults(path: Path) -> list[str]:
    with pytest.raises(DealError) as caught:
        read(path)
    return [str(fault) for fault in caught.value.faults]


def log(deal: Deal) -> list[str]:
    return [str(reading) for reading in deal.log]


def cell(deal: Deal, table: str, row: str, column: str) -> Value:
    return next(found.cells[column] for found in deal.tables[table] if row in found.cells.values())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return files.copy(tmp_path / "deal")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """The superpod as a workbook."""
    write(read(files.SUPERPOD), tmp_path / "superpod.xlsx")
    return tmp_path / "superpod.xlsx"


def changed(book: Path, change: Callable[[openpyxl.Workbook], None]) -> Path:
    found = openpyxl.load_workbook(book)
    change(found)
    found.save(book)
    return book


def put(book: Path, sheet: str, place: str, value: Any, shown: str = "General") -> Path:
    def change(found: openpyxl.Workbook) -> None:
        found[sheet][place].value = value
        found[sheet][place].number_format = shown

    return changed(book, change)


def repacked(book: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """The workbook with its parts changed (None: left out)."""
    inside = zipfile.ZipFile(io.BytesIO(book.read_bytes()))
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as package:
        for name in inside.namelist():
            content = change(name, inside.read(name))
            if content is not None:
                package.writestr(name, content)
    return book


def part_of(book: Path, sheet: str) -> str:
    return f"xl/worksheets/sheet{openpyxl.load_workbook(book).sheetnames.index(sheet) + 1}.xml"


# ---- numbers as text

READ = [
    ("late_rate", "8%", 0.08),
    ("late_rate", "12.5 %", 0.125),
    ("late_rate", "1e-2", 0.01),
    ("late_rate", "0.5%", 0.005),
    ("rate", "1,234.56", 1234.56),
    ("rate", "2,600,000", 2600000.0),
    ("rate", "2 600 000", 2600000.0),
    ("rate", "2\u00a0600\u00a0000", 2600000.0),
    ("rate", "2\u202f600\u202f000.5", 2600000.5),
    ("rate", "2'600'000", 2600000.0),
    ("rate", "$5m", 5000000.0),
    ("rate", "$ 2.6 M", 2600000.0),
    ("rate", "USD 150k", 150000.0),
    ("rate", "2.6 bn", 2600000000.0),
    ("rate", "150 USD", 150.0),
    ("rate", "$+5", 5.0),
    ("rate", "1e5", 100000.0),
    ("rate", "2600000.12345678901", 2600000.12345679),
    ("net_days", "\u221230", -30.0),
    ("net_days", "(30)", -30.0),
    ("net_days", "\u201330", -30.0),
]


@pytest.mark.parametrize(("column", "text", "number"), READ)
def test_numbers_that_have_one_reading(folder: Path, column: str, text: str, number: float) -> None:
    """They are read by the unit of their column, and every one is listed."""
    files.put(folder, "claims", "hbm", column, text)
    deal = read(folder)
    assert cell(deal, "claims", "hbm", column) == number
    assert log(deal) == [f"claims.csv, row 4, column {column}: '{text}' was read as {number:.15g}"]


REFUSED = [
    ("rate", "1,234", "'1,234' may be 1234 or 1.234"),
    ("rate", "(1,234)", "'(1,234)' may be 1234 or 1.234"),
    ("rate", "$1,234m", "'$1,234m' may be 1234 or 1.234"),
    ("rate", "1.234,56", "'1.234,56' has a decimal comma (write 1234.56)"),
    ("rate", "0,5", "'0,5' has a decimal comma (write 0.5)"),
    ("rate", "1.234.567", "'1.234.567' is not a number"),
    ("rate", "1 23 456", "'1 23 456' is not a number"),
    ("rate", "1,23,456.0", "'1,23,456.0' is not a number"),
    ("rate", "5%", "'5%' is a percentage, and the column holds none"),
    ("rate", "€5m", "'€5m' is not a number"),
    ("rate", "5MM", "'5MM' is not a number"),
    ("rate", "(-5)", "'(-5)' has both brackets and a sign"),
    ("rate", "(5)", "-5 is below 0"),
    ("rate", "-$5", "-5 is below 0"),
    ("rate", "$-5", "-5 is below 0"),
    ("rate", "10\u00b2", "'10\u00b2' is not a number"),
    ("rate", "\u0663", "'\u0663' is not a number"),
    ("share", "$0.5", "'$0.5' is not a number"),
    ("share", "5", "5 is above 1 (5% is written 0.05)"),
    ("share", "500%", "5 is above 1 (5% is written 0.05)"),
    ("share", "1.5", "1.5 is above 1 (1.5% is written 0.015)"),
    ("share", "100", "100 is above 1 (100% is written 1)"),
    ("share", "101", "101 is above 1"),
    ("net_days", "30d", "'30d' is not a number"),
    ("net_days", "1e-1", "0.1 is not a whole number"),
]


@pytest.mark.parametrize(("column", "text", "wrong"), REFUSED)
def test_numbers_that_have_none_or_two(folder: Path, column: str, text: str, wrong: str) -> None:
    files.put(folder, "claims", "hbm", column, text)
    assert [line.split(";")[0] for line in faults(folder)] == [f"claims.csv, row 4, column {column}: {wrong}"]


def test_a_currency_that_is_not_the_deals(folder: Path) -> None:
    files.put(folder, "deal", "currency", "value", "EUR")
    files.put(folder, "claims", "hbm", "rate", "€5m")
    assert cell(read(folder), "claims", "hbm", "rate") == 5e6
    files.put(folder, "claims", "hbm", "rate", "$5m")
    assert "'$5m' is not a number" in faults(folder)[0]


def test_a_scenarios_value_is_read_by_the_cell_it_changes(folder: Path) -> None:
    files.scenario(folder, "dear", "facilities", "ddtl", "margin", "4.5%")
    files.scenario(folder, "dear", "claims", "hbm", "rate", "$1.5m")
    files.scenario(folder, "dear", "facilities", "ddtl", "available_until", "2028Q1")
    deal = read(folder)
    assert [row.cells["value"] for row in deal.tables["scenarios"][-3:]] == [0.045, 1.5e6, datetime.date(2028, 4, 1)]
    assert len(deal.log) == 3


# ---- dates

DATES = [
    ("phases", "su1", "order_date", "2027Q1", "2027-01-01"),
    ("phases", "su1", "order_date", "2027-q1", "2027-01-01"),
    ("deal", "start", "value", "2027Q1", "2027-01-01"),
    ("claims", "hbm", "trigger", "2027Q4", "2027-10-01"),
    ("facilities", "ddtl", "available_from", "2027Q2", "2027-04-01"),
    ("facilities", "ddtl", "available_until", "2027Q4", "2028-01-01"),
    ("facilities", "ddtl", "first_repayment", "2028Q2", "2028-06-30"),
    ("facilities", "ddtl", "first_repayment", "2028Q4", "2028-12-31"),
    ("phases", "su1", "order_date", "2027-01-15 00:00:00", "2027-01-15"),
    ("phases", "su1", "order_date", "2027-01-15T00:00", "2027-01-15"),
]


@pytest.mark.parametrize(("table", "row", "column", "text", "day"), DATES)
def test_quarters_stand_for_a_day(folder: Path, table: str, row: str, column: str, text: str, day: str) -> None:
    """What begins does so on the first day, an instalment falls on the last, what lasts does so through the quarter."""
    files.put(folder, table, row, column, text)
    deal = read(folder)
    assert str(cell(deal, table, row, column)) == day
    assert log(deal)[0].endswith(f"column {column}: '{text}' was read as {day}")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("31/12/2027", "'31/12/2027' is not a date (day and month cannot be told apart)"),
        ("12.31.27", "'12.31.27' is not a date (day and month cannot be told apart)"),
        ("01-02-2027", "'01-02-2027' is not a date (day and month cannot be told apart)"),
        ("4Q25", "'4Q25' is not a date (a quarter is written 2025Q4)"),
        ("Q1 2027", "'Q1 2027' is not a date (a quarter is written 2027Q1)"),
        ("2027Q5", "'2027Q5' is not a date"),
        ("Jan 2027", "'Jan 2027' is not a date"),
        ("2027-1-5", "'2027-1-5' is not a date (day and month cannot be told apart)"),
        ("46402", "'46402' is not a date"),
        ("20270115", "'20270115' is not a date"),
        ("2027-01-15 08:00", "'2027-01-15 08:00' is not a date"),
        ("9999Q4", "'9999Q4' is not a quarter of the calendar"),
    ],
)
def test_dates_that_are_refused(folder: Path, text: str, wrong: str) -> None:
    files.put(folder, "phases", "su1", "order_date", text)
    assert faults(folder)[0].startswith(f"phases.csv, row 2, column order_date: {wrong}; a date from 2000")


def test_bare_numbers_are_dates_only_in_a_sheets_date_column(book: Path) -> None:
    put(book, "phases", "B2", 46402)
    assert log(read(book)) == ["phases, row 2, column order_date: the bare number 46402 was read as 2027-01-15"]
    put(book, "facilities", "I2", 46478)  # a trigger: a name or a typed date
    assert "'46478' is not order, billing, a step or a date" in faults(book)[0]


def test_a_workbook_that_counts_from_1904(book: Path) -> None:
    changed(book, lambda found: setattr(found, "epoch", CALENDAR_MAC_1904))
    assert read(book) == read(files.SUPERPOD)  # typed date cells say what they are
    put(book, "phases", "B2", 46402, "0")
    assert "46402 is a bare number in a workbook that counts days from 1904" in faults(book)[0]


# ---- what a format hides

SHOWN = [
    ("claims", "G2", 0.125, "0%", "a number that shows as 13% (format 0%) was read as 0.125"),
    ("claims", "G2", 0.5, '0.00"%"', 'a number that shows as 0.50% (format 0.00"%") was read as 0.5'),
    ("claims", "G2", 0.1, '"5.00%"', 'a number that is not shown (format "5.00%") was read as 0.1'),
    ("claims", "G2", 0.1, ";;;", "a number that is not shown (format ;;;) was read as 0.1"),
    ("claims", "F2", 2600000, '0.0,,"m"', 'a number that shows as 2.6 (format 0.0,,"m") was read as 2600000'),
    ("claims", "F2", 2600000.4, "#,##0", "a number that shows as 2600000 (format #,##0) was read as 2600000.4"),
    ("claims", "F2", 2600000, "$#,##0.00", None),
    ("claims", "G2", 0.0525, "0.00%", None),
    ("claims", "G2", 0, '0.0%;-0.0%;"-"', None),
]


@pytest.mark.parametrize(("sheet", "place", "value", "shown", "line"), SHOWN)
def test_the_stored_value_counts(
    book: Path, sheet: str, place: str, value: float, shown: str, line: str | None
) -> None:
    put(book, sheet, place, value, shown)
    found = log(read(book))
    assert found == ([] if line is None else [f"claims, row 2, column {'rate' if place == 'F2' else 'share'}: {line}"])


def test_a_date_that_shows_no_day(book: Path) -> None:
    put(book, "phases", "B2", datetime.date(2027, 1, 15), "mmm-yy")
    line = "phases, row 2, column order_date: a date that shows no day (format mmm-yy) was read as 2027-01-15"
    assert log(read(book)) == [line]


@pytest.mark.parametrize(
    ("place", "column", "formula", "value"),
    [("F2", "rate", "1300000*2", "2600000"), ("L2", "late_rate", "0.04*2", "0.08")],  # the latter after blank cells
)
def test_a_formula_is_named_with_its_stored_value(
    book: Path, place: str, column: str, formula: str, value: str
) -> None:
    put(book, "claims", place, f"={formula}")
    assert "holds a formula without a stored value" in faults(book)[0]
    unknown, stored = f"<f>{formula}</f><v />".encode(), f"<f>{formula}</f><v>{value}</v>".encode()
    repacked(book, lambda _, part: part.replace(unknown.replace(b"<v />", b"<v></v>"), stored).replace(unknown, stored))
    deal = read(book)
    assert deal == read(files.SUPERPOD)
    line = f"claims, row 2, column {column}: the formula '={formula}' was read as its stored value {value}"
    assert log(deal) == [line]


def test_every_error_value_is_listed(book: Path) -> None:
    for place in ("F2", "F3", "I4"):
        put(book, "claims", place, "#REF!")
    assert [line.split(";")[0] for line in faults(book)] == [
        "claims, row 2, column rate: cell F2 holds the error value #REF!",
        "claims, row 3, column rate: cell F3 holds the error value #REF!",
        "claims, row 4, column net_days: cell I4 holds the error value #REF!",
    ]


# ---- titles, blanks, hidden things


def test_titles_above_the_headings_merged_or_not(book: Path) -> None:
    def change(found: openpyxl.Workbook) -> None:
        sheet = found["claims"]
        sheet.insert_rows(1, 4)
        sheet["A1"] = "Claims of the programme"
        sheet["A2"], sheet["C2"] = "as of", "2026-10-15"
        sheet.merge_cells("A1:F1")
        sheet.insert_cols(1, 2)

    deal = read(changed(book, change))
    assert deal == read(files.SUPERPOD)
    assert deal.tables["claims"][0].number == 6
    assert log(deal) == [
        "claims, row 1: 'Claims of the programme' is a title, not read",
        "claims, row 2: 'as of' is a title, not read",
    ]


def test_merged_cells_of_a_table(book: Path) -> None:
    changed(book, lambda found: found["claims"].merge_cells("B3:B4"))
    assert faults(book)[0] == "claims, row 3: the cells B3:B4 are merged; single cells are allowed"


def test_merged_headings(book: Path) -> None:
    changed(book, lambda found: found["claims"].merge_cells("O1:P1"))
    assert faults(book)[0] == "claims, row 1: the cells O1:P1 are merged; single cells are allowed"


def test_rows_above_the_headings_are_not_lost(folder: Path) -> None:
    """A table sorted with its headings, which ended up below a row."""
    lines = (folder / "claims.csv").read_text().splitlines()
    (folder / "claims.csv").write_text("\n".join([lines[1], lines[0], *lines[2:]]))
    assert faults(folder)[0].startswith("claims.csv, row 1: the row stands above the headings in row 2; titles above")


def test_an_item_above_the_headings_is_no_title(folder: Path) -> None:
    """Of a table of two columns a row of two cells holds what would be lost."""
    items = [{name: row[name] for name in ("item", "value")} for row in files.read_table(folder, "deal")]
    files.write_table(folder, "deal", items)
    (folder / "deal.csv").write_text("currency,EUR\n" + (folder / "deal.csv").read_text())
    assert [line.split(";")[0] for line in faults(folder)] == [
        "deal.csv, row 1: the row stands above the headings in row 2"
    ]


def test_blank_rows_and_columns(folder: Path) -> None:
    rows = files.read_table(folder, "steps")
    lines = [",," + ",,".join(row) for row in [list(rows[0]), *([*row.values()] for row in rows)]]
    (folder / "steps.csv").write_text("\n\n" + "\n,,,\n\n".join(lines) + "\n" + "," * 40 + "\n")
    assert read(folder) == read(files.SUPERPOD)
    assert read(folder).log == ()


def test_what_is_hidden_is_read_and_said(book: Path) -> None:
    def change(found: openpyxl.Workbook) -> None:
        found["supports"].sheet_state = "veryHidden"
        found["claims"].row_dimensions[3].hidden = True
        found["claims"].column_dimensions["G"].hidden = True
        found["claims"].column_dimensions["ZZ"].hidden = True

    deal = read(changed(book, change))
    assert deal == read(files.SUPERPOD)
    assert log(deal) == [
        "claims, column share: the column is hidden, and read",
        "claims, row 3: the row is hidden, and read",
        "supports: the sheet is hidden, and read",
    ]


def test_blank_sheets_are_left_out(book: Path) -> None:
    changed(book, lambda found: found.create_sheet("Sheet1"))
    deal = read(book)
    assert deal == read(files.SUPERPOD)
    assert log(deal) == ["Sheet1: the sheet is empty, not read"]


def test_ten_thousand_blank_formatted_rows(book: Path) -> None:
    def change(found: openpyxl.Workbook) -> None:
        fill = PatternFill("solid", fgColor="FFFF00")
        for row in range(20, 10_020):
            for column in range(1, 8):
                found["claims"].cell(row, column).fill = fill

    changed(book, change)
    begun = time.process_time()
    assert read(book) == read(files.SUPERPOD)
    assert time.process_time() - begun < 8


def test_a_dimension_that_lies(book: Path) -> None:
    part = part_of(book, "claims")

    def change(name: str, content: bytes) -> bytes:
        if name != part:
            return content
        start = content.index(b"<dimension")
        return content[:start] + b'<dimension ref="A1:XFD1048576"' + content[content.index(b"/>", start) :]

    assert read(repacked(book, change)) == read(files.SUPERPOD)


# ---- names


def test_case_width_and_spaces_of_names(folder: Path) -> None:
    """Read as the name that is meant, and listed; the deal is the same."""
    text = (folder / "claims.csv").read_text()
    text = text.replace(",landlord,", ", Landlord ,").replace(
        "construction:10;operating:60", "Construction : 10 ; operating:60"
    )
    text = text.replace(",once,", ",Once,", 1).replace("paid_from", "Paid From").replace(",memory,", ",\uff4demory,")
    (folder / "claims.csv").write_text(text)
    (folder / "claims.csv").rename(folder / "Claims.csv")
    files.scenario(folder, "x", "Steps", "Power@SU1", "Delay", "5")
    files.scenario(folder, "X ", "deal", "Base Rate", "", "5%")
    deal = read(folder)
    assert {table: deal.tables[table] for table in deal.tables if table != "scenarios"} == {
        table: rows for table, rows in read(files.SUPERPOD).tables.items() if table != "scenarios"
    }
    changes = [[*row.cells.values()] for row in deal.tables["scenarios"][-2:]]
    assert sorted(map(str, changes[0])) == sorted(["x", "steps", "power@su1", "delay", "5.0"])
    assert deal.tables["scenarios"][-1].cells["scenario"] == "x"
    assert deal.tables["scenarios"][-1].cells["row"] == "base_rate"
    said = "\n".join(log(deal))
    for part in (
        "'Landlord' was read as 'landlord'",
        "'Once' was read as 'once'",
        "the heading 'Paid From' was read as",
    ):
        assert part in said
    for part in ("'\uff4demory' was read as 'memory'", "'Power@SU1' was read as 'power@su1'", "'X' was read as 'x'"):
        assert part in said


def test_a_name_that_is_known_as_it_is_written_stays(folder: Path) -> None:
    """An account and a party that differ in case alone: who is paid is the one that is written."""
    for file in folder.glob("*.csv"):
        file.write_text(file.read_text().replace("operating", "Lender"))
    assert cell(read(folder), "claims", "release", "payee") == "Lender"


def test_names_twice_in_another_case_or_width(folder: Path) -> None:
    files.put(folder, "parties", "\uff2cender ", "role", "again")
    assert faults(folder)[0].startswith("parties.csv, row 11, column party: 'Lender' stands in row 8 already;")


def test_look_alike_letters(folder: Path) -> None:
    files.put(folder, "claims", "rent", "payee", "l\u0430ndlord")
    names = "chipmaker, memory, rack_builder, landlord, utility, staff, lender, neocloud, customer"
    allowed = f"{names}, construction, operating, chip_books are allowed"
    assert faults(folder) == [
        "claims.csv, row 7, column payee: 'l\u0430ndlord' is not in parties or accounts (nearest: landlord; its letter "
        f"2 is CYRILLIC SMALL LETTER A, not LATIN SMALL LETTER A); {allowed}"
    ]
    files.put(folder, "parties", "l\u0430ndlord", "role", "another")
    assert faults(folder) == [
        "parties.csv, row 11, column party: 'l\u0430ndlord' looks like 'landlord' of row 5; its letter 2 is CYRILLIC "
        "SMALL LETTER A, not LATIN SMALL LETTER A; each name once is allowed"
    ]


def test_invisible_signs_around_a_name(folder: Path) -> None:
    files.put(folder, "claims", "rent", "payee", "\ufefflandlord\u200b")
    assert read(folder) == read(files.SUPERPOD)
    assert len(read(folder).log) == 1


def test_names_in_no_alphabet_of_ours(folder: Path) -> None:
    files.put(folder, "parties", "Арендодатель", "role", "x")
    files.put(folder, "parties", "房东", "role", "x")
    deal = read(folder)
    assert [row.cells["party"] for row in deal.tables["parties"][-2:]] == ["Арендодатель", "房东"]
    assert deal.log == ()


def test_quoted_text_stays_text(book: Path) -> None:
    def change(found: openpyxl.Workbook) -> None:
        found["parties"]["C1"], found["parties"]["C2"] = "note", "007"
        found["parties"]["C2"].quotePrefix = True

    assert read(changed(book, change)).tables["parties"][0].extras == {"note": "007"}


@pytest.mark.parametrize("heading", ["payee", "Payee", " PAYEE "])
def test_headings_twice(folder: Path, heading: str) -> None:
    text = (folder / "claims.csv").read_text()
    (folder / "claims.csv").write_text(text.replace(",late_rate", f",{heading}"))
    assert "claims.csv, row 1, column payee: the column stands there twice; each column once is allowed" in faults(
        folder
    )


# ---- CSV


def rewritten(folder: Path, table: str, separator: str, encoding: str = "utf-8", comma: bool = False) -> None:
    rows = files.read_table(folder, table)
    with (folder / f"{table}.csv").open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(rows[0])
        for row in rows:
            writer.writerow([_with_comma(value) if comma else value for value in row.values()])


def _with_comma(text: str) -> str:
    return text.replace(".", ",") if text.replace(".", "").isdigit() else text


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_other_separators(folder: Path, separator: str, name: str) -> None:
    rewritten(folder, "claims", separator)
    deal = read(folder)
    assert deal == read(files.SUPERPOD)
    assert log(deal) == [f"claims.csv: the columns are separated by {name}"]


def test_decimal_commas_of_a_file_with_semicolons(folder: Path) -> None:
    """That dialect is known: a file where some number shows a decimal comma beyond doubt and none a point."""
    rewritten(folder, "claims", ";", comma=True)
    deal = read(folder)
    assert deal == read(files.SUPERPOD)
    assert log(deal)[:3] == [
        "claims.csv: the columns are separated by semicolons",
        "claims.csv: the numbers have decimal commas",
        "claims.csv, row 2, column share: '0,1' was read as 0.1",
    ]
    text = (folder / "claims.csv").read_text()
    (folder / "claims.csv").write_text(text.replace(";2960;", ";1.234.567,8;"))
    assert cell(read(folder), "claims", "hbm", "rate") == 1234567.8
    (folder / "claims.csv").write_text(text.replace(";2960;", ";1.234;"))
    assert "'1.234' may be 1234 or 1.234" in faults(folder)[0]


def test_semicolons_without_a_sign_of_the_decimal_mark(folder: Path) -> None:
    files.put(folder, "accounts", "operating", "opening_cash", "1.500")
    rewritten(folder, "accounts", ";")
    assert "'1.500' may be 1500 or 1.500" in faults(folder)[0]


def test_both_decimal_marks_in_one_file(folder: Path) -> None:
    files.put(folder, "claims", "hbm", "rate", "1,5")
    rewritten(folder, "claims", ";")
    assert "column rate: '1,5' has a decimal comma (write 1.5)" in faults(folder)[0]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings(folder: Path, encoding: str) -> None:
    text = (folder / "parties.csv").read_text().replace("memory,memory", "memory,m\u00e9moire")
    (folder / "parties.csv").write_text(text)
    wanted = read(folder)
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    (folder / "parties.csv").write_bytes(mark + text.encode(encoding))
    deal = read(folder)
    assert deal == wanted
    assert log(deal) == ([] if encoding == "utf-8-sig" else ["parties.csv: the text is UTF-16"])


def test_windows_letters_are_shown_as_they_were_read(folder: Path) -> None:
    text = (folder / "parties.csv").read_text().replace("memory,memory", "memory,m\u00e9moire \u2013 \u00dcber")
    (folder / "parties.csv").write_bytes(text.encode("cp1252"))
    deal = read(folder)
    assert deal.tables["parties"][1].cells["role"] == "m\u00e9moire \u2013 \u00dcber"
    line = "is not UTF-8 text: 'm\u00e9moire', '\u2013', '\u00dcber' was read as Windows-1252"
    assert log(deal)[0].endswith(line)


def test_quoted_line_breaks(folder: Path) -> None:
    text = (folder / "parties.csv").read_text().replace("memory,memory", 'memory,"mem\r\nory; ""HBM"", mostly"')
    (folder / "parties.csv").write_bytes(text.encode())
    deal = read(folder)
    assert deal.tables["parties"][1].cells["role"] == 'mem\nory; "HBM", mostly'
    assert [row.number for row in deal.tables["parties"]][:3] == [2, 3, 4]


def test_two_files_of_one_table(folder: Path) -> None:
    (folder / "Claims.csv").write_bytes((folder / "claims.csv").read_bytes())
    assert faults(folder)[0] == "claims.csv: the table claims stands in Claims.csv already; each table once is allowed"


# ---- files that are something else


def package(parts: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return stream.getvalue()


OLD = bytes.fromhex("D0CF11E0A1B11AE1")
OTHERS = [
    ("deal.xlsx", b"", "the file is empty"),
    (
        "deal.xlsx",
        OLD + bytes(500) + "EncryptedPackage".encode("utf-16-le"),
        "the workbook is encrypted with a password",
    ),
    ("deal.xls", OLD + bytes(500) + "Workbook\0".encode("utf-16-le"), "the workbook is in the old .xls format"),
    ("deal.xlsx", OLD + bytes(500), "the workbook is encrypted or in the old .xls format"),
    ("deal.xlsx", b"claim,paid_from\n", "this is text, perhaps CSV"),
    ("deal.xlsx", b"\xef\xbb\xbf<html><table>", "this is HTML or XML, not a workbook"),
    ("deal.xlsx", b"%PDF-1.7", "this is a PDF, not a workbook"),
    ("deal.xlsx", b"\x89PNG\r\n\x1a\n\0", "this is no readable workbook (File is not a zip file)"),
    ("deal.xlsx", b"PK\x03\x04 and no more", "this is no readable workbook (File is not a zip file)"),
    ("deal.xlsx", package({"readme.txt": b"x"}), "this is an archive that holds no workbook"),
    ("deal.xlsx", package({"xl/workbook.bin": b"x"}), "this is a binary .xlsb workbook"),
    ("deal.xlsx", package({"content.xml": b"x"}), "this is an OpenDocument file"),
    ("deal.xlsx", package({"word/document.xml": b"x"}), "this is a Word document"),
    ("deal.csv", b"claim,paid_from\n", "this is neither a folder nor an .xlsx workbook"),
]


@pytest.mark.parametrize(("name", "content", "wrong"), OTHERS)
def test_other_files(tmp_path: Path, name: str, content: bytes, wrong: str) -> None:
    (tmp_path / name).write_bytes(content)
    found = faults(tmp_path / name)
    assert len(found) == 1
    assert found[0].startswith(f"{tmp_path / name}: {wrong};")


def test_a_file_that_cannot_be_read(folder: Path, book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert faults(book)[0].startswith(f"{book}: cannot be read (Permission denied); ")
    assert faults(folder)[0].startswith("deal.csv: cannot be read (Permission denied); ")


def test_a_workbook_under_another_name(book: Path) -> None:
    other = book.rename(book.with_suffix(".zip"))
    assert faults(other) == [f"{other}: this is a workbook named .zip; the ending .xlsx is required"]


def test_macros_are_ignored_and_said(book: Path) -> None:
    content = package({"x": b"x"})

    def change(name: str, part: bytes) -> bytes:
        plain, macro = b"spreadsheetml.sheet.main+xml", b"ms-excel.sheet.macroEnabled.main+xml"
        return part.replace(b"vnd.openxmlformats-officedocument." + plain, b"vnd." + macro)

    repacked(book, change)
    with zipfile.ZipFile(book, "a") as made:
        made.writestr("xl/vbaProject.bin", content)
    other = book.rename(book.with_suffix(".xlsm"))
    deal = read(other)
    assert deal == read(files.SUPERPOD)
    assert log(deal) == ["superpod.xlsm: the workbook holds macros, which are ignored"]


@pytest.mark.parametrize(
    "part", ["xl/worksheets/sheet3.xml", "xl/workbook.xml", "[Content_Types].xml", "xl/styles.xml"]
)
def test_parts_that_are_missing(book: Path, part: str) -> None:
    """A lost sheet is an error, and never a deal without that table."""
    repacked(book, lambda name, content: None if name == part else content)
    found = faults(book)
    assert len(found) == 1
    assert "this is " in found[0]


# ---- attacks


def bomb(book: Path, parts: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(book, "a", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return book


def test_zip_bombs(book: Path) -> None:
    whole = book.read_bytes()
    cases = {
        "xl/media/a.bin unpacks to 101 MB, more than 100 MB": {"xl/media/a.bin": bytes(101_000_000)},
        "xl/media/a.bin unpacks to more than 200 times its size": {"xl/media/a.bin": bytes(2_000_000)},
        "the archive has ": {f"xl/media/{number}": b"" for number in range(2_001)},
    }
    for wrong, parts in cases.items():
        book.write_bytes(whole)
        begun = time.process_time()
        assert faults(bomb(book, parts))[0].startswith(f"{book}: {wrong}")
        assert time.process_time() - begun < 5


LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;">]>"""
OUTSIDE = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>"""


@pytest.mark.parametrize("entities", [LAUGHS, OUTSIDE], ids=["laughs", "outside"])
@pytest.mark.parametrize(
    "part",
    [
        "xl/workbook.xml",
        "xl/_rels/workbook.xml.rels",
        "xl/styles.xml",
        "xl/worksheets/sheet3.xml",
        "[Content_Types].xml",
    ],
)
def test_entities_are_refused(book: Path, part: str, entities: bytes) -> None:
    def change(name: str, content: bytes) -> bytes:
        if name != part:
            return content
        return entities + content.partition(b"?>")[2] if content.startswith(b"<?xml") else entities + content

    repacked(book, change)
    found = faults(book)
    assert len(found) == 1
    assert found[0].startswith(f"{book}: {part} declares entities, which no workbook does;")


def test_a_merge_of_the_whole_sheet(book: Path) -> None:
    part = part_of(book, "claims")
    merged = b'</sheetData><mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    repacked(book, lambda name, content: content.replace(b"</sheetData>", merged) if name == part else content)
    begun = time.process_time()
    assert faults(book) == ["claims, row 1: the cells A1:XFD1048576 are merged; single cells are allowed"]
    assert time.process_time() - begun < 5


# ---- what check prints


def test_check_prints_the_log(folder: Path) -> None:
    rewritten(folder, "claims", ";", comma=True)
    said = CliRunner().invoke(main, ["check", str(folder)]).stdout
    assert "12 things read otherwise than they look:" in said
    assert "  claims.csv, row 8, column rate: '76,5' was read as 76.5" in said
    for row in range(40):
        files.put(folder, "steps", f"s{row}", "party", "Landlord")
    said = CliRunner().invoke(main, ["check", str(folder)]).stdout
    assert "  and 12 more; --log lists them all" in said
    assert "claims.csv, row 8, column rate" not in said
    assert "claims.csv, row 8, column rate" in CliRunner().invoke(main, ["check", str(folder), "--log"]).stdout
