"""Writing: both forms hold the same deal, text never becomes a formula, nothing is overwritten or half-written."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path

import openpyxl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import deal_files as files
from stuckstep.deal import DealError, Place, cells, new, read, schema, writing, written_dates
from stuckstep.deal.layout import REPEATED, Column, columns, key, tables
from stuckstep.deal.lettering import fold, name_text

FORMULAS = ("=1+1", "+1", "-a", "@x", "'=1", "''=1", "'quoted", "\t=1")


def test_csv_to_xlsx_and_back_is_the_same_text(tmp_path: Path) -> None:
    writing.write(read(files.SUPERPOD), tmp_path / "deal.xlsx")
    writing.write(read(tmp_path / "deal.xlsx"), tmp_path / "deal")
    for file in files.SUPERPOD.glob("*.csv"):
        assert (tmp_path / "deal" / file.name).read_text() == file.read_text()
    assert read(tmp_path / "deal") == read(files.SUPERPOD)


def test_columns_rows_and_extras_are_kept(tmp_path: Path) -> None:
    """Columns in the order of the file, extra columns, and what stands in them."""
    folder = files.copy(tmp_path / "deal")
    notes = ["first", "", "1.50", "007", "", " 2026-01-01 ", "12", "-3", "=A1"]
    rows = files.read_table(folder, "parties")
    rows = [{"note": note, "role": row["role"], **row} for note, row in zip(notes, rows, strict=True)]
    files.write_table(folder, "parties", [{**row, "source": "", "unit": ""} for row in rows])
    deal = read(folder)
    assert deal.columns["parties"] == ("note", "role", "party", "source", "unit")
    kept = [row.extras.get("note") for row in deal.tables["parties"]]
    assert kept == ["first", None, "1.50", "007", None, " 2026-01-01 ", 12.0, -3.0, "=A1"]
    assert deal.tables["parties"][0].extras == {"note": "first"}
    writing.write(deal, tmp_path / "deal.xlsx")
    assert read(tmp_path / "deal.xlsx") == deal
    writing.write(read(tmp_path / "deal.xlsx"), tmp_path / "again")
    assert read(tmp_path / "again") == deal
    assert read(tmp_path / "again").digest == deal.digest


def test_a_workbook_holds_real_numbers_and_dates(tmp_path: Path) -> None:
    writing.write(read(files.SUPERPOD), tmp_path / "deal.xlsx")
    book = openpyxl.load_workbook(tmp_path / "deal.xlsx")
    assert book.sheetnames == [table for table in tables() if table in read(files.SUPERPOD).columns]
    assert book["phases"]["B2"].value == datetime.datetime(2027, 1, 15)
    assert book["phases"]["B2"].number_format == "yyyy-mm-dd"
    assert book["claims"]["F2"].value == 2600000
    assert book["claims"]["A1"].font.bold
    assert book["claims"].freeze_panes == "A2"
    assert book["claims"].column_dimensions["B"].width > 20


def test_text_never_becomes_a_formula(tmp_path: Path) -> None:
    folder = files.copy(tmp_path / "deal")
    for number, text in enumerate(FORMULAS):
        files.put(folder, "parties", f"p{number}", "role", "-")
        files.put(folder, "parties", f"p{number}", "note", text)
    files.put(folder, "parties", "=cmd", "role", "x")
    writing.write(read(folder), tmp_path / "deal.xlsx")
    book = openpyxl.load_workbook(tmp_path / "deal.xlsx")
    cells_there = [cell for sheet in book for row in sheet for cell in row if cell.value is not None]
    assert not [cell for cell in cells_there if cell.data_type in "fe"]
    texts = [cell for cell in cells_there if cell.data_type == "s"]
    assert all(cell.quotePrefix == (cell.value[0] in "=+-@'") for cell in texts)
    assert read(tmp_path / "deal.xlsx").tables["parties"][-1].cells["party"] == "=cmd"
    writing.write(read(tmp_path / "deal.xlsx"), tmp_path / "again")
    text = (tmp_path / "again" / "parties.csv").read_text()
    assert "\n'=cmd,x" in text
    assert read(tmp_path / "again") == read(tmp_path / "deal.xlsx")
    with (tmp_path / "again" / "parties.csv").open(newline="") as file:
        assert not [cell for line in file for cell in line.rstrip().split(",") if cell[:1] in set("=+-@")]


@pytest.mark.parametrize("name", ["deal", "deal.xlsx"])
def test_nothing_is_overwritten(tmp_path: Path, name: str) -> None:
    new(tmp_path / name)
    before = sorted(tmp_path.iterdir())
    content = (tmp_path / name).read_bytes() if name.endswith("xlsx") else b""
    with pytest.raises(DealError) as caught:
        new(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: something is there already; a new path is allowed"
    assert sorted(tmp_path.iterdir()) == before
    assert not content or (tmp_path / name).read_bytes() == content


def test_where_a_deal_is_written(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    new(tmp_path / "empty")
    new(tmp_path / "a" / "deal.v2")
    assert read(tmp_path / "empty") == read(tmp_path / "a" / "deal.v2")
    with pytest.raises(DealError, match=r"a deal is not written as \.xls; a new folder or a new \.xlsx workbook"):
        new(tmp_path / "deal.xls")
    (tmp_path / "file").write_text("x")
    with pytest.raises(DealError, match="cannot be written"):
        new(tmp_path / "file" / "deal")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "empty", "file"]


@pytest.mark.parametrize("name", ["deal", "deal.xlsx"])
def test_nothing_is_half_written(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    deal = read(files.SUPERPOD)

    def full(self: Path, content: bytes) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DealError, match=r"cannot be written \(No space left on device\)"):
        writing.write(deal, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["start", "start.xlsx"])
def test_the_template(tmp_path: Path, name: str) -> None:
    """It reads without a fault, and every row with a number says where it comes from and why."""
    new(tmp_path / name)
    deal = read(tmp_path / name)
    assert deal.name == "start"
    assert set(deal.columns) == set(tables())
    for table, rows in deal.tables.items():
        for row in rows:
            assert row.extras["note"], f"{table}, row {row.number}"
            if any(isinstance(value, float) for value in row.cells.values()):
                assert row.extras["source"] == "assumption", f"{table}, row {row.number}"


def test_the_schema_is_whole() -> None:
    """Every column has a meaning and a known type; its default, bounds and references are good."""
    names = {column.table for column in schema()}
    for column in schema():
        assert column.meaning
        assert column.allowed or column.type not in ("choice", "ref", "refs", "places", "trigger")
        assert (column.low is None) == (column.type not in ("number", "days", "count", "date", "trigger"))
        assert column.type == "choice" or {source.partition(".")[0] for source in column.sources} <= names
        assert not column.default.startswith("=") or column.default[1:] in columns(column.table)
        if column.default and not column.optional:
            assert cells.parse(column, column.default) == cells.default(column)
        if column.type in ("number", "days", "count"):
            assert column.unit
    assert {key(table) for table in names if table not in REPEATED} == {
        column.column for column in schema() if column.type == "name"
    } | {"item"}


# Cells of every type, and text as people and spreadsheets write it.
LETTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
TEXT = st.text(LETTERS | st.sampled_from("\n\t ,;\"'=+-@_x0123"), min_size=1, max_size=30)
NAMES = st.text(LETTERS, min_size=1, max_size=12).filter(
    lambda name: name_text(name) == name and not set(name) & set(";:@") and fold(name) not in cells.RESERVED
)


def numbers(column: Column) -> st.SearchStrategy[float]:
    if column.type == "number":
        return st.floats(column.low, column.high).map(cells.exact)  # type: ignore[arg-type]
    return st.integers(int(column.low), int(column.high)).map(float)  # type: ignore[arg-type]


def values(column: Column) -> st.SearchStrategy[object]:
    """Typed values a column can hold."""
    dates = st.dates(datetime.date(2000, 1, 1), datetime.date(2150, 1, 1))
    kinds: dict[str, st.SearchStrategy[object]] = {
        "choice": st.sampled_from(column.allowed or ("x",)),
        "refs": st.lists(NAMES, min_size=1, max_size=4, unique_by=fold).map(tuple),
        "places": st.lists(st.builds(Place, NAMES, st.integers(0, 999999)), min_size=1, max_size=3).map(tuple),
        "date": dates,
        "trigger": dates | NAMES.filter(lambda name: not written_dates.is_date(name)),
    }
    if column.type in ("number", "days", "count"):
        return numbers(column)
    return kinds.get(column.type, NAMES)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_cell_comes_back_from_its_text(data: st.DataObject) -> None:
    column = data.draw(st.sampled_from([column for column in schema() if column.type != "any"]))
    value = cells.parse(column, cells.to_text(data.draw(values(column))))  # names are normalised the first time
    assert cells.parse(column, cells.to_text(value)) == value
    assert type(cells.parse(column, cells.to_text(value))) is type(value)


@settings(max_examples=25, deadline=None)
@given(st.lists(TEXT | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9))
@example(["_x000D_", "_x0041_", "a\r\nb", "a\rb", " ", "  a ", "#N/A", "1e5", "-0"])
@example(["00", "'", "<&>\u2028\u00a0", "a\n", "TRUE", "2027-01-01", '"', "1e300"])
def test_extras_come_back_from_both_forms(notes: list[str | float]) -> None:
    """Whatever stands in a note, CSV and xlsx give it back, and the same."""
    with tempfile.TemporaryDirectory() as place:
        folder = files.copy(Path(place) / "deal")
        rows = files.read_table(folder, "parties")
        for row, note in zip(rows, notes, strict=False):
            row["note"] = str(note)
        files.write_table(folder, "parties", rows)
        deal = read(folder)
        writing.write(deal, Path(place) / "deal.xlsx")
        workbook = read(Path(place) / "deal.xlsx")
        writing.write(workbook, Path(place) / "again")
        again = read(Path(place) / "again")
        assert workbook == again == deal
        assert workbook.digest == again.digest == deal.digest
