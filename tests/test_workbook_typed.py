"""What is typed into an exported workbook is followed, or the cover says that it is not: no edit passes in silence."""

import datetime
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import formualizer
import openpyxl
import pytest
from openpyxl.utils import coordinate_to_tuple

from stuckstep.deal import Cell, Column, DealError, default_of, read, schema, serial
from stuckstep.engines import excel
from stuckstep.reports.workbook.as_written import NOT_ALLOWED
from stuckstep.reports.workbook.assumptions import NOTES, column_of, deal_tables, is_live
from stuckstep.reports.workbook.model import model_of
from stuckstep.results import label, solve
from stuckstep.results.validity import check_schedule
from system import require, require_uno
from workbooks import (
    Exported,
    changed_superpod,
    compared,
    edited,
    exported,
    in_formualizer,
    in_ironcalc,
    input_cell,
    loaded,
    reader,
)

pytestmark = pytest.mark.thorough

STATES = {"Master check": 6, "Alerts": 7, "Inputs": 8, "Structure": 9, "Values": 10, "Inputs allowed": 11}
NUMBERS = ("number", "days", "count", "date", "trigger")
# The cells that superpod leaves blank, so that every column that can hold a number holds one.
FILLED = {
    ("accounts", "operating", "opening_cash"): "250000",
    ("accounts", "operating", "minimum_cash"): "100000",
    ("contracts", "anchor", "escalator"): "0.01",
    ("contracts", "anchor", "utilisation"): "0.9",
    ("contracts", "anchor", "take_or_pay"): "0.8",
    ("contracts", "anchor", "prepay_trigger"): "2027-02-01",
    ("facilities", "ddtl", "opening_balance"): "100000",
    ("facilities", "ddtl", "floor"): "0.045",
    ("facilities", "ddtl", "repay_every_months"): "6",
    ("steps", "power", "delay"): "20",
    ("steps", "fabric", "not_before"): "2027-09-01",
    ("supports", "sponsor_equity", "available_from"): "2027-01-01",
    ("supports", "sponsor_equity", "available_until"): "2034-01-01",
}
UNREAD = {("deal", "quarters"), ("deal", "discount_rate")}  # numbers that no formula reads
Place = tuple[str, int, int]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("book")
    return exported(read(changed_superpod(folder / "deal", FILLED)), folder / "deal.xlsx")


@pytest.fixture(scope="module")
def sheets(book: Exported) -> formualizer.Workbook:
    """The workbook as a spreadsheet engine holds it; a test that edits a cell puts it back."""
    return loaded(book.content)


def value(sheets: formualizer.Workbook, sheet: str, row: int, column: int) -> object:
    return sheets.sheet(sheet).get_values(formualizer.RangeAddress(sheet, row, column, row, column))[0][0]


def states(sheets: formualizer.Workbook) -> dict[str, object]:
    return {name: value(sheets, "cover", row, 3) for name, row in STATES.items()}


@contextmanager
def typed(sheets: formualizer.Workbook, contents: Mapping[Place, float | str | None]) -> Iterator[None]:
    """The workbook with other contents in some cells, which are put back (for the next to recalculate)."""
    old = {place: value(sheets, *place) for place in contents}
    for place, content in contents.items():
        sheets.set_value(*place, content)
    sheets.evaluate_all()
    yield
    for place, content in old.items():
        sheets.set_value(*place, content)


def after(sheets: formualizer.Workbook, place: Place, content: float | str | None) -> dict[str, object]:
    """What the cover says with another content in a cell, which is put back."""
    with typed(sheets, {place: content}):
        return states(sheets)


def cells(book: Exported) -> Iterator[tuple[Place, Cell, bool]]:
    """The assumptions as they stand in the workbook: where, the cell by name, and whether formulas follow it."""
    for table in deal_tables():
        for number, row in enumerate(book.model.deal.tables[table], start=excel.HEADINGS_ROW + 1):
            for column, heading in enumerate(excel.headings(table), start=1):
                if heading not in NOTES:
                    key = str(next(iter(row.cells.values())))
                    live = is_live(book.model, table, row, heading)
                    yield (table, number, column), Cell(table, key, heading), live


def live_columns(book: Exported) -> dict[tuple[str, str], tuple[Place, Cell]]:
    """Of each column whose numbers the formulas follow the first cell that holds one."""
    found: dict[tuple[str, str], tuple[Place, Cell]] = {}
    for place, cell, live in cells(book):
        table, number, _ = place
        held = book.model.deal.tables[table][number - excel.HEADINGS_ROW - 1].cells[cell.column]
        if live and held is not None and table != "scenarios":
            found.setdefault((table, column_of(cell).column), (place, cell))
    return found


def numeric_columns() -> list[Column]:
    return [one for one in schema() if one.table in deal_tables() and one.type in NUMBERS]


def test_the_deal_of_these_tests_has_a_number_in_every_column_that_can_hold_one(book: Exported) -> None:
    columns = {(one.table, one.column) for one in numeric_columns()}
    assert columns - set(live_columns(book)) == UNREAD
    assert all(one.low is not None and one.high is not None for one in numeric_columns())


def test_a_blank_is_its_default_or_is_flagged(book: Exported, sheets: formualizer.Workbook, tmp_path: Path) -> None:
    """In the one case the results are the engine's, in the other the structure is no longer as written."""
    followed, flagged = [], []
    for place, cell in live_columns(book).values():
        is_flagged = after(sheets, place, None)["Structure"] == "CHANGED"
        assert is_flagged == (default_of(cell) is None), cell
        (flagged if is_flagged else followed).append((place, cell))
    assert len(flagged) > 15
    assert len(followed) > 15
    for number in range(3):  # a phase needs its racks or its MW, which stand two columns apart
        blanks = followed[number::3]
        changes = FILLED | {(cell.table, cell.row, cell.column): "" for _, cell in blanks}
        solution = solve(read(changed_superpod(tmp_path / f"deal{number}", changes)), ["base"])
        other = model_of(solution, label(solution), "base")
        assert other.layout.lines == book.model.layout.lines
        with typed(sheets, {place: None for place, _ in blanks}):
            assert compared(reader(sheets, book.content), other, "base").wrong == []


def test_a_scenario_s_blank_is_its_default_or_is_flagged(book: Exported, sheets: formualizer.Workbook) -> None:
    seen = set()
    for place, cell, live in cells(book):
        row = book.model.deal.tables["scenarios"][place[1] - excel.HEADINGS_ROW - 1] if live else None
        if place[0] == "scenarios" and row is not None:
            target = Cell(*(str(row.cells[heading]) for heading in ("table", "row", "column")))
            if (target.table, target.column) not in seen:
                seen.add((target.table, target.column))
                flagged = after(sheets, place, None)["Structure"] == "CHANGED"
                assert flagged == (default_of(target) is None), cell
    assert len(seen) > 3


def test_whatever_no_formula_follows_is_flagged(book: Exported, sheets: formualizer.Workbook) -> None:
    """Every kind of cell that is no live number, given another content; and the headings."""
    seen = set()
    for place, cell, live in cells(book):
        table, number, _ = place
        kind = cell.row if table == "deal" else cell.column
        held = book.model.deal.tables[table][number - excel.HEADINGS_ROW - 1].cells[cell.column]
        if live or (table, kind, held is None) in seen:
            continue
        seen.add((table, kind, held is None))
        new = held + 1 if isinstance(held, float) else "other"
        assert after(sheets, place, new)["Structure"] == "CHANGED", (cell, new)
        if held is None:
            assert after(sheets, place, 7.0)["Structure"] == "CHANGED", cell
    assert ("deal", "quarters", False) in seen
    assert after(sheets, ("steps", excel.HEADINGS_ROW, 4), "delay")["Structure"] == "CHANGED"
    assert len(seen) > 60


def test_a_number_that_is_not_allowed_is_flagged(book: Exported, sheets: formualizer.Workbook) -> None:
    """The lowest and the highest allowed pass, what lies beyond does not, nor a fraction where a whole is wanted."""
    listed = openpyxl.load_workbook(book.path)["as_written"].iter_rows(max_col=2, values_only=True)
    rows = {row: number for number, row in enumerate(listed, start=1)}
    found = list(live_columns(book).values())
    at = [rows["deal" if cell.row == "start" else "base", str(cell)] for _, cell in found]
    tries = [attempts(column_of(cell)) for _, cell in found]
    for attempt in ("lowest", "highest", "below", "above", "a fraction"):
        with typed(sheets, {place: one[attempt] for (place, _), one in zip(found, tries, strict=True)}):
            flags = [value(sheets, "as_written", row, NOT_ALLOWED) for row in at]
            whole = [column_of(cell).type != "number" for _, cell in found]
            wrong = {"lowest": 0, "highest": 0, "below": 1, "above": 1}
            assert flags == [wrong.get(attempt, int(one)) for one in whole], attempt
            assert states(sheets)["Inputs allowed"] == "ERROR" or not any(flags)
    with typed(sheets, {}):
        assert states(sheets)["Inputs allowed"] == "OK"


def attempts(column: Column) -> dict[str, float]:
    """A column's bounds, what lies beyond them, and a number between them that is not whole."""
    low, high = (serial(one) if isinstance(one, datetime.date) else one for one in (column.low, column.high))
    least, most = (1.0, 1.0) if column.type != "number" else (max(abs(one), 1.0) * 1e-6 for one in (low, high))
    return {"lowest": low, "highest": high, "below": low - least, "above": high + most, "a fraction": low + 0.5}


def days(text: str) -> float:
    return serial(datetime.date.fromisoformat(text))


EARLY = {"a phase": ("phases", "su1", "order_date", "2026-02-01"), "the deal": ("deal", "start", "value", "2027-04-01")}


@pytest.mark.parametrize("edit", EARLY)
def test_a_claim_that_falls_due_before_the_start_is_flagged(edit: str, book: Exported, tmp_path: Path) -> None:
    table, row, column, date = EARLY[edit]
    with pytest.raises(DealError, match="before the start"):
        check_schedule(read(changed_superpod(tmp_path / "deal", FILLED | {(table, row, column): date})))
    read_cell, _ = in_formualizer(edited(book.content, {input_cell(book.model.deal, table, row, column): days(date)}))
    assert read_cell("cover", STATES["Inputs allowed"], 3) == "ERROR"
    assert read_cell("cover", STATES["Structure"], 3) == "OK"


@pytest.mark.parametrize("month", range(1, 13))
def test_a_start_is_flagged_where_the_engine_refuses_it(
    month: int, book: Exported, sheets: formualizer.Workbook, tmp_path: Path
) -> None:
    place = ("deal", *coordinate_to_tuple(input_cell(book.model.deal, "deal", "start", "value")[1]))
    for day in (1, 2):
        date = datetime.date(2026, month, day)  # before every due date
        try:
            read(changed_superpod(tmp_path / f"deal{day}", FILLED | {("deal", "start", "value"): date.isoformat()}))
            expected = "OK"
        except DealError:
            expected = "ERROR"
        assert after(sheets, place, serial(date))["Inputs allowed"] == expected
        assert expected == ("OK" if day == 1 and month in (1, 4, 7, 10) else "ERROR")


BROKEN: dict[str, dict[tuple[str, str, str], str]] = {
    "a word for a date": {("facilities", "ddtl", "first_repayment"): "billing"},
    "a word for the start": {("deal", "start", "value"): "soon"},
    "a number as text": {("contracts", "anchor", "price"): "12 m"},
    "a row that was deleted": {("claims", "chips", "rate"): "<f>#REF!</f>"},
    "a name that was deleted": {("claims", "chips", "payee"): "<f>#REF!</f>"},
}


@pytest.mark.parametrize("edit", BROKEN)
def test_an_error_stops_before_the_checks(edit: str, book: Exported, tmp_path: Path) -> None:
    changes = {input_cell(book.model.deal, *cell): content for cell, content in BROKEN[edit].items()}
    content = edited(book.content, changes, stripped=True)
    path = tmp_path / "edited.xlsx"
    path.write_bytes(content)
    for read_cell, _ in (in_formualizer(content), in_ironcalc(path)):
        found = {name: read_cell("cover", row, 3) for name, row in STATES.items()}
        assert found["Structure"] == "CHANGED"
        assert isinstance(found["Alerts"], float)
        assert {found[name] for name in STATES if name != "Alerts"} <= {"OK", "CHANGED", "ERROR"}


OFFICE: dict[str, tuple[dict[tuple[str, str, str], float | str | None], list[str], list[str]]] = {
    "quarters": ({("deal", "quarters", "value"): 24.0}, ["OK", "CHANGED"], ["OK"]),
    "a word": ({("facilities", "ddtl", "first_repayment"): "billing"}, ["CHANGED", "CHANGED"], ["OK"]),
    "a blank for never": ({("contracts", "anchor", "longstop_days"): None}, ["CHANGED", "CHANGED"], ["OK"]),
    "an early order and a blank for 1": (
        {("phases", "su1", "order_date"): 46054.0, ("claims", "chips", "share"): None},
        ["CHANGED", "OK"],
        ["ERROR"],
    ),
}


def test_libreoffice_flags_the_same_edits(book: Exported, tmp_path: Path) -> None:
    soffice = require("soffice", "LibreOffice recalculates the edited workbooks")
    python = require_uno()
    opened = openpyxl.load_workbook(book.path)
    for name, (changes, *_) in OFFICE.items():
        places = [input_cell(book.model.deal, *cell) for cell in changes]
        before = [opened[sheet][cell].value for sheet, cell in places]
        for contents, path in ((changes.values(), tmp_path / f"{name}.xlsx"), (before, None)):
            for (sheet, cell), content in zip(places, contents, strict=True):
                opened[sheet][cell].value = content
            if path is not None:
                opened.save(path)
                path.write_bytes(edited(path.read_bytes(), {}, stripped=True))
    files = {str(tmp_path / f"{name}.xlsx"): ["base"] for name in OFFICE}
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"office": soffice, "folder": str(tmp_path), "files": files, "sheets": ["cover"]}))
    office = Path(__file__).with_name("office.py")
    found = subprocess.run([python, str(office), str(job)], check=True, capture_output=True, text=True, timeout=600)
    for answer in map(json.loads, found.stdout.splitlines()):
        _, changed, allowed = OFFICE[Path(answer["file"]).stem]
        shown = {name: answer["sheets"]["cover"][row - 1][2] for name, row in STATES.items()}
        assert [shown["Inputs"], shown["Structure"]] == changed, answer["file"]
        assert [shown["Inputs allowed"]] == allowed, answer["file"]
        assert isinstance(shown["Alerts"], float)
    assert len(found.stdout.splitlines()) == len(OFFICE)


def test_a_refund_that_falls_due_before_the_start_is_flagged(book: Exported, sheets: formualizer.Workbook) -> None:
    """Cancelled before the start: only where something was prepaid."""
    places = {
        cell: (cell[0], *coordinate_to_tuple(input_cell(book.model.deal, *cell)[1]))
        for cell in (
            ("phases", "su1", "order_date"),
            ("steps", "fabric", "not_before"),
            ("steps", "power", "delay"),
            ("contracts", "anchor", "prepay_trigger"),
            ("contracts", "anchor", "prepay_share"),
        )
    }
    rows = [row for row in range(1, 900) if value(sheets, "as_written", row, 2) == "due date of anchor.refund"]
    order, earliest, delay, trigger, share = places.values()
    cancelled = {order: days("2024-06-01"), earliest: days("2024-06-01"), delay: 400.0, trigger: days("2024-06-01")}
    for prepaid, flag in ((0.1, 1), (0.0, 0)):
        with typed(sheets, cancelled | {share: prepaid}):
            assert [value(sheets, "as_written", row, NOT_ALLOWED) for row in rows] == [flag]
    assert [value(sheets, "as_written", row, NOT_ALLOWED) for row in rows] == [0]
