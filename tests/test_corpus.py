"""Malformed deals, each with the first line it must come to. None ends in a traceback, and none is touched."""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import openpyxl
import pytest
from click.testing import CliRunner

import deal_files as files
from stuckstep.cli import main
from stuckstep.deal import read
from stuckstep.deal.building import build_workbook

pytestmark = pytest.mark.thorough

CELLS = Path(__file__).parent / "data" / "malformed_cells.csv"


class Case(NamedTuple):
    """One malformed deal: csv or xlsx, what is done to a sound one (its folder or file), and the first line."""

    form: str
    do: Callable[[Path], object]
    line: str


# ---- one cell


def cell_cases() -> list[tuple[str, Case]]:
    with CELLS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [(f"{r['form']}-{r['table']}-{r['row']}-{r['column']}-{r['value']}", _cell_case(r)) for r in rows]


def _cell_case(row: dict[str, str]) -> Case:
    """The row of the file as a case. `\\u00a0` stands for what cannot be seen."""
    value = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), row["value"])
    put = files.put if row["form"] == "csv" else put_in_sheet
    return Case(row["form"], lambda deal: put(deal, row["table"], row["row"], row["column"], value), row["line"])


def put_in_sheet(book: Path, table: str, row: str, column: str, value: str) -> None:
    """Change one cell of a workbook: text, or n: a number, d: a date, b: a truth, e: an error, f: a formula."""
    found = openpyxl.load_workbook(book)
    sheet = found[table]
    heads = [one.value for one in sheet[1]]
    number = next(line[0].row for line in sheet.iter_rows(min_row=2) if line[0].value == row)
    place = sheet.cell(number, heads.index(column) + 1)
    kind, _, rest = value.partition(":") if value[1:2] == ":" else ("s", "", value)
    made: dict[str, Callable[[str], object]] = {
        "n": float,
        "d": datetime.date.fromisoformat,
        "b": lambda text: text == "TRUE",
    }
    place.value = made.get(kind, str)(rest)
    if kind in "sef":
        place.data_type = kind
    if kind == "n":
        place.number_format = "General"
    found.save(book)


# ---- whole files and folders


def text(table: str, old: str, new: str) -> Callable[[Path], object]:
    """Some text of a table's file replaced."""

    def change(deal: Path) -> None:
        file = deal / f"{table}.csv"
        assert old in file.read_text(encoding="utf-8")
        file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    return change


def whole(name: str, content: bytes | str) -> Callable[[Path], object]:
    """A file of the folder with other content, or one more file."""
    made = content.encode() if isinstance(content, str) else content
    return lambda deal: (deal / name).write_bytes(made)


def more(table: str, *rows: str) -> Callable[[Path], object]:
    """Rows added to a table, or a table made of them."""

    def change(deal: Path) -> None:
        file = deal / f"{table}.csv"
        before = file.read_text(encoding="utf-8").rstrip() + "\n" if file.exists() else ""
        file.write_text(before + "\n".join(rows) + "\n", encoding="utf-8")

    return change


def gone(name: str) -> Callable[[Path], object]:
    return lambda deal: (deal / name).unlink()


def head_only(table: str) -> Callable[[Path], object]:
    def change(deal: Path) -> None:
        file = deal / f"{table}.csv"
        file.write_text(file.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")

    return change


def recoded(table: str, encoding: str) -> Callable[[Path], object]:
    def change(deal: Path) -> None:
        file = deal / f"{table}.csv"
        file.write_bytes(file.read_text(encoding="utf-8").encode(encoding))

    return change


def put(*changes: tuple[str, str, str, str]) -> Callable[[Path], object]:
    return lambda deal: [files.put(deal, *change) for change in changes]


def scenario(*change: str) -> Callable[[Path], object]:
    return lambda deal: files.scenario(deal, *change)


STUDIES = "study,kind,cell,by,values,measure,threshold,holds,scenario"
UNCERTAINTIES = "uncertainty,cell,by,distribution,low,mode,high,chance,correlation"
OLE = bytes.fromhex("D0CF11E0A1B11AE1")

FOLDERS: dict[str, Callable[[Path], object]] = {
    **{f"missing {table}": gone(f"{table}.csv") for table in ("deal", "parties", "phases", "steps", "claims")},
    **{f"headings only {table}": head_only(table) for table in ("parties", "phases", "steps", "accounts", "claims")},
    "empty file": whole("claims.csv", ""),
    "only blank lines": whole("claims.csv", "\n\n,,\n"),
    "a zero byte": whole("parties.csv", b"party,role\nlender,a\0b\n"),
    "a pdf as csv": whole("claims.csv", b"%PDF-1.7 ..."),
    "a workbook as csv": whole("claims.csv", b"PK\x03\x04..."),
    "an old workbook as csv": whole("claims.csv", OLE),
    "html as csv": whole("claims.csv", "<html><table><tr><td>claim</td></tr></table></html>"),
    "no encoding": whole("parties.csv", b"party,role\nm\x81ller,lender\n"),
    "half of utf-16": whole("parties.csv", "party,role\n".encode("utf-16")[:-1]),
    "utf-32": recoded("parties", "utf-32"),
    "ebcdic": recoded("parties", "cp500"),
    "an open quote": text("parties", "lender,lender", '"lender,lender'),
    "text behind a quote": text("parties", "lender,lender", '"lender"x,lender'),
    "a name with a line break": text("parties", "lender,lender", '"len\nder",lender'),
    "a name with a tab": text("parties", "lender,lender", "len\tder,lender"),
    "a control character": text("parties", "lender,lender", "lender,len\x07der"),
    "a text too long": text("parties", "lender,lender", f"lender,{'x' * 32768}"),
    "spaces for commas": whole("parties.csv", "party role\nlender lender\n"),
    "an unknown table": whole("claim_list.csv", "claim\n"),
    "a table twice": whole("Claims .csv", "claim\n"),
    "an unknown column": text("claims", "late_rate", "late rate pa"),
    "a column without its name": text("claims", "payee,", ","),
    "a missing column": text("contracts", "term_days", "note"),
    "a missing key": text("accounts", "account,", "name,"),
    "a column twice": text("claims", "escalator", "Net Days"),
    "a cell too many": text("steps", "platform,neocloud", "platform,neocloud,,,,,,,9"),
    "rows above the headings": whole("parties.csv", "a,b,c\nparty,role\nlender,bank\n"),
    "the headings below": whole("parties.csv", "lender,bank,x\nparty,role,note\n"),
    "a blank name": text("claims", "hbm,", ","),
    "a name twice": more("claims", "hbm,chip_books:10,memory,once,usd,1,1,order,0,,,0"),
    "a name twice in other width": more("parties", "ｌender,bank"),
    "an item twice": more("deal", "currency,EUR,,"),
    "decimal commas and points": whole(
        "accounts.csv", "account;party;opening_cash\nconstruction;neocloud;0,5\noperating;neocloud;1.5\n"
    ),
    "a step narrowed in its own table": more("steps", "power@su1,landlord,,1,,,"),
    "two circles": put(("steps", "memory", "after", "racks"), ("steps", "hall", "after", "power")),
    "an account paid upstream": put(("claims", "hbm", "payee", "construction")),
    "an empty phase": put(("phases", "su1", "racks", "0"), ("phases", "su1", "mw", "0")),
    "a rate below zero": put(
        ("deal", "base_rate", "value", "-0.05"),
        ("facilities", "ddtl", "floor", "-0.05"),
        ("facilities", "ddtl", "margin", "0.01"),
    ),
    "due before the start": put(("phases", "su1", "order_date", "2026-01-15")),
    "the word deal beside a phase": put(("claims", "opex", "phase", "su1;deal")),
    "a lockup of a residual": put(("claims", "distribution", "lockup", "release")),
    "a step called after a trigger": more("steps", "order,memory,,1,,,"),
    "a support without effect": put(("supports", "sponsor_equity", "covers", "distribution")),
    "scenarios without their table": text("scenarios", "scenario,table,", "scenario,source,"),
    "scenario base": scenario("Base", "steps", "power", "delay", "1"),
    "scenario without a name": scenario("", "steps", "power", "delay", "1"),
    "scenario of no table": scenario("x", "stepz", "power", "delay", "1"),
    "scenario of scenarios": scenario("x", "scenarios", "power_late", "value", "1"),
    "scenario of no row": scenario("x", "steps", "powr", "delay", "1"),
    "scenario of no phase": scenario("x", "steps", "power@su2", "delay", "1"),
    "scenario narrows a claim": scenario("x", "claims", "rent@su1", "rate", "1"),
    "scenario of no column": scenario("x", "steps", "power", "dely", "1"),
    "scenario of the name": scenario("x", "steps", "power", "step", "grid"),
    "scenario of the start": scenario("x", "deal", "start", "value", "2028-01-01"),
    "scenario of no item": scenario("x", "deal", "base rates", "value", "0.1"),
    "a name with an at": more("phases", "su 1@x,2027-01-15,,,,"),
    "scenario twice": scenario("power_late", "steps", "power", "delay", "90"),
    "scenario twice in another case": scenario("POWER_LATE", "steps", "Power", "delay", "90"),
    "scenario with a word": scenario("x", "steps", "power", "delay", "late"),
    "scenario with a blank": scenario("x", "steps", "power", "party", ""),
    "scenario in percent": scenario("x", "facilities", "ddtl", "margin", "4"),
    "scenario with a circle": scenario("x", "steps", "memory", "after", "racks"),
    "scenario with no name known": scenario("x", "claims", "rent", "payee", "landlrd"),
    "scenario below the opening": lambda deal: [
        files.put(deal, "facilities", "ddtl", "opening_balance", "1000"),
        files.scenario(deal, "x", "facilities", "ddtl", "commitment", "999"),
    ],
    "scenario below zero": lambda deal: [
        files.put(deal, "facilities", "ddtl", "floor", "-0.05"),
        files.put(deal, "facilities", "ddtl", "margin", "0.01"),
        files.scenario(deal, "x", "deal", "base_rate", "value", "-0.02"),
    ],
    "scenario due before the start": scenario("x", "claims", "chips_deposit", "net_days", "-30"),
    "study of no kind": more("studies", STUDIES, "s,sweep,steps.power.delay,,0..90,,,,"),
    "study of no table": more("studies", STUDIES, "s,oneway,step.power.delay,,0..90,,,,"),
    "study of no row": more("studies", STUDIES, "s,oneway,steps.pwr.delay,,0..90,,,,"),
    "study of no column": more("studies", STUDIES, "s,oneway,steps.power.late,,0..90,,,,"),
    "study of no phase": more("studies", STUDIES, "s,oneway,steps.power@su9.delay,,0..90,,,,"),
    "study of a name": more("studies", STUDIES, "s,oneway,claims.rent.payee,,0..90,,,,"),
    "study of the start": more("studies", STUDIES, "s,oneway,deal.start,,0..90,,,,"),
    "study without values": more("studies", STUDIES, "s,oneway,steps.power.delay,,,,,,"),
    "study by no way": more("studies", STUDIES, "s,oneway,steps.power.delay,times,0..90,,,,"),
    "study held by no number": more("studies", STUDIES, "s,breakeven,steps.power.delay,,0..90,npv:lender,much,,"),
    "uncertainty twice": more(
        "uncertainties", UNCERTAINTIES, *["u,steps.power.delay,,uniform,0,,90,,", "U,steps.power.delay,,uniform,0,,9,,"]
    ),
    "uncertainty of no shape": more("uncertainties", UNCERTAINTIES, "u,steps.power.delay,,gauss,0,,90,,"),
    "uncertainty of no cell": more("uncertainties", UNCERTAINTIES, "u,steps.power,,uniform,0,,90,,"),
    "uncertainty without words": more("uncertainties", UNCERTAINTIES, "u,steps.power.delay,,uniform,low,,90,,"),
    "uncertainty beyond chance": more("uncertainties", UNCERTAINTIES, "u,steps.power.delay,,uniform,0,,90,1.5,"),
    "uncertainty beyond correlation": more("uncertainties", UNCERTAINTIES, "u,steps.power.delay,,uniform,0,,90,,-2"),
    "accepted without a reason": more("accepted", "code,row,reason", "unused,x,"),
    "accepted without a code": more("accepted", "code,row,reason", "odd,x,because"),
    "too many parties": more("parties", *(f"p{number},x" for number in range(200))),
    "too many scenarios": more("scenarios", *(f"s{number},steps,power,delay,1" for number in range(5000))),
    "too many claims by phase": lambda deal: [
        more("phases", *(f"p{number},2027-01-15,8,72,1.2,anchor" for number in range(149)))(deal),
        more("claims", *(f"c{number},operating:20,staff,once,usd,1,1,billing,0,,," for number in range(60)))(deal),
    ],
}  # fmt: skip


# ---- workbooks


def repacked(part: str, change: Callable[[bytes], bytes | None]) -> Callable[[Path], object]:
    """One part of a workbook changed (None: left out)."""

    def do(book: Path) -> None:
        inside = zipfile.ZipFile(io.BytesIO(book.read_bytes()))
        with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as package:
            for name in inside.namelist():
                found = change(inside.read(name)) if name == part else inside.read(name)
                if found is not None:
                    package.writestr(name, found)

    return do


def sheet(do: Callable[[openpyxl.Workbook], object]) -> Callable[[Path], object]:
    """A workbook changed as by a user of a spreadsheet program."""

    def change(book: Path) -> None:
        found = openpyxl.load_workbook(book)
        do(found)
        found.save(book)

    return change


def archive(*parts: str) -> Callable[[Path], object]:
    def do(book: Path) -> None:
        with zipfile.ZipFile(book, "w") as package:
            for part in parts:
                package.writestr(part, b"x")

    return do


def added(name: str, content: bytes) -> Callable[[Path], object]:
    def do(book: Path) -> None:
        with zipfile.ZipFile(book, "a", zipfile.ZIP_DEFLATED) as package:
            package.writestr(name, content)

    return do


def spoilt(start: int, content: bytes) -> Callable[[Path], object]:
    """Bytes of the file written over."""

    def do(book: Path) -> None:
        found = bytearray(book.read_bytes())
        found[start : start + len(content)] = content
        book.write_bytes(found)

    return do


def locked(book: Path) -> None:
    """Every entry's header says that it is encrypted."""
    found = book.read_bytes()
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        pieces = found.split(mark)
        found = mark.join(
            [pieces[0], *(one[: place - 4] + bytes([one[place - 4] | 1]) + one[place - 3 :] for one in pieces[1:])]
        )
    book.write_bytes(found)


def _set(table: str, place: str, value: object) -> Callable[[openpyxl.Workbook], object]:
    return lambda book: book[table].__setitem__(place, value)


DOCTYPE = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">]>'
BOOKS: dict[str, Callable[[Path], object]] = {
    "empty": lambda book: book.write_bytes(b""),
    "half": lambda book: book.write_bytes(book.read_bytes()[: book.stat().st_size // 2]),
    "without its end": lambda book: book.write_bytes(book.read_bytes()[:-30]),
    "csv as xlsx": lambda book: book.write_text("claim,paid_from\n"),
    "html as xlsx": lambda book: book.write_text("<html><table>"),
    "json as xlsx": lambda book: book.write_text('{"claims": []}'),
    "pdf as xlsx": lambda book: book.write_bytes(b"%PDF-1.7"),
    "png as xlsx": lambda book: book.write_bytes(b"\x89PNG\r\n\x1a\n\0"),
    "encrypted": lambda book: book.write_bytes(OLE + bytes(500) + "EncryptedPackage".encode("utf-16-le")),
    "old xls": lambda book: book.write_bytes(OLE + bytes(500) + "Workbook\0".encode("utf-16-le")),
    "old or encrypted": lambda book: book.write_bytes(OLE + bytes(500)),
    "an archive": archive("readme.txt"),
    "binary workbook": archive("[Content_Types].xml", "xl/workbook.bin"),
    "opendocument": archive("content.xml"),
    "word": archive("[Content_Types].xml", "word/document.xml"),
    "numbers": archive("Index/Document.iwa"),
    "locked archive": locked,
    "a bomb": added("xl/media/a.bin", bytes(2_000_000)),
    "broken deflate": spoilt(60, b"\xff" * 200),
    "no workbook part": repacked("xl/workbook.xml", lambda part: None),
    "no types": repacked("[Content_Types].xml", lambda part: None),
    "no sheet part": repacked("xl/worksheets/sheet3.xml", lambda part: None),
    "no relations": repacked("xl/_rels/workbook.xml.rels", lambda part: None),
    "no shared strings": repacked(
        "xl/worksheets/sheet3.xml",
        lambda part: part.replace(b't="inlineStr"><is><t>phase</t></is>', b't="s"><v>0</v>'),
    ),
    "no styles": repacked("xl/styles.xml", lambda part: None),
    "half a sheet": repacked("xl/worksheets/sheet3.xml", lambda part: part[: len(part) // 2]),
    "a sheet that is none": repacked("xl/worksheets/sheet3.xml", lambda part: b"hello"),
    "a row that is none": repacked("xl/worksheets/sheet3.xml", lambda part: part.replace(b'r="2"', b'r="two"')),
    "an attribute twice": repacked("xl/worksheets/sheet3.xml", lambda part: part.replace(b' t="', b' s="999" t="')),
    "a string that is none": repacked("xl/worksheets/sheet3.xml", lambda part: part.replace(b"<v>", b"<v>99999")),
    "entities in the book": repacked("xl/workbook.xml", lambda part: DOCTYPE + part.partition(b"?>")[2]),
    "entities in a sheet": repacked("xl/worksheets/sheet1.xml", lambda part: DOCTYPE + part),
    "entities in the types": repacked("[Content_Types].xml", lambda part: DOCTYPE + part.partition(b"?>")[2]),
    "a table missing": sheet(lambda book: book.remove(book["steps"])),
    "a table blank": sheet(lambda book: book["steps"].delete_rows(1, 99)),
    "a table of headings": sheet(lambda book: book["claims"].delete_rows(2, 99)),
    "a sheet named almost like a table": sheet(lambda book: book.create_sheet("suports").append(["a"])),
    "a sheet twice": sheet(lambda book: book.create_sheet("Claims ").append(["claim"])),
    "no table at all": sheet(lambda book: [book.create_sheet("Sheet1"), *map(book.remove, book.worksheets[:-1])]),
    "a cell far off": sheet(_set("claims", "IV3", "note")),
    "a cell beside the table": sheet(_set("claims", "Z3", "note")),
    "merged cells": sheet(lambda book: book["claims"].merge_cells("C2:C3")),
    "merged headings": sheet(lambda book: book["claims"].merge_cells("A1:B1")),
    "a heading gone": sheet(_set("claims", "C1", None)),
    "a heading of another table": sheet(_set("claims", "C1", "lender")),
    "a total below": sheet(lambda book: book["claims"].append(["Total", None, None, None, None, "=SUM(F2:F11)"])),
    "a note below": sheet(lambda book: book["parties"].append(["Source: the term sheet"])),
    "an error in a name": sheet(lambda book: book["claims"].append(["#REF!"])),
    "a time of day": sheet(_set("phases", "B2", datetime.datetime(2027, 1, 15, 14, 30))),
    "a span of time": sheet(_set("phases", "B2", datetime.timedelta(days=2))),
    "text for a number": sheet(_set("phases", "C2", "8 racks")),
    "a formula never calculated": sheet(_set("phases", "E2", "=1.2*1")),
    "a scenario's formula": sheet(_set("scenarios", "E2", "=90*2")),
    "a date in a count": sheet(_set("deal", "B5", datetime.date(2027, 1, 1))),
}  # fmt: skip


# ---- the cases, all together


def _lines() -> dict[str, str]:
    with (CELLS.with_name("malformed_files.csv")).open(encoding="utf-8", newline="") as file:
        return {row["case"]: row["line"] for row in csv.DictReader(file)}


def file_cases() -> list[tuple[str, Case]]:
    lines = _lines()
    folders = [(name, Case("csv", do, lines.pop(name, ""))) for name, do in FOLDERS.items()]
    books = [(name, Case("xlsx", do, lines.pop(f"xlsx: {name}", ""))) for name, do in BOOKS.items()]
    assert not lines, f"lines without a case: {list(lines)}"
    return folders + [(f"xlsx: {name}", case) for name, case in books]


CASES = [*cell_cases(), *file_cases()]


@pytest.fixture(scope="module")
def sound() -> bytes:
    return build_workbook(read(files.SUPERPOD))


def state(deal: Path) -> dict[str, str]:
    """Every file of a deal by its hash."""
    found = sorted(deal.rglob("*")) if deal.is_dir() else [deal]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in found if file.is_file()}


def made(case: Case, place: Path, sound: bytes) -> Path:
    if case.form == "csv":
        deal = files.copy(place / "deal")
    else:
        deal = place / "deal.xlsx"
        deal.write_bytes(sound)
    case.do(deal)
    return deal


def test_the_corpus_is_large_and_varied() -> None:
    """At least 120 files, of both forms, with a fault in every table that has one of its own."""
    assert len(CASES) >= 120
    assert len({name for name, _ in CASES}) == len(CASES)
    assert len({case.line for _, case in CASES}) > 120
    assert min(sum(case.form == form for _, case in CASES) for form in ("csv", "xlsx")) > 60


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[name[:60] for name, _ in CASES])
def test_each_file_comes_to_its_line(case: Case, tmp_path: Path, sound: bytes) -> None:
    deal = made(case, tmp_path, sound)
    before = state(deal)
    result = CliRunner().invoke(main, ["check", str(deal)])
    assert (result.stderr.partition("\n")[0], result.exit_code) == (case.line.replace("{deal}", str(deal)), 2)
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert state(deal) == before
    assert {path.name for path in tmp_path.iterdir()} == {deal.name}
