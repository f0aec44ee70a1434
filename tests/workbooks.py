"""What the tests of the workbook share: exporting, editing a cell in the file, and recalculating in three engines."""

import csv
import io
import json
import math
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import formualizer
import ironcalc
import numpy as np
from openpyxl.utils import get_column_letter

from stuckstep.deal import Deal
from stuckstep.engines import excel
from stuckstep.reports.workbook import export
from stuckstep.reports.workbook.model import Model, model_of
from stuckstep.results import Solution, label, solve

Read = Callable[[str, int, int], object]


class Answer(NamedTuple):
    """A scenario as LibreOffice recalculates it: its cells, and those that hold an error."""

    scenario: str
    read: Read
    errors: list[str]


SELECTOR = ("cover", "C5")
ASSUMPTIONS = Path(__file__).parents[1] / "assumptions"
_TITLES = re.compile(r'<definedName name="_xlnm.Print_Titles".*?</definedName>')
_FORMULA = re.compile(r'(<c r="[A-Z]+[0-9]+"[^>]*?)(?: t="str")?(>)(<f>[^<]*</f>)<v>[^<]*</v>')


class Exported(NamedTuple):
    """A workbook and the model it was written from."""

    path: Path
    model: Model

    @property
    def content(self) -> bytes:
        return self.path.read_bytes()


def changed_superpod(folder: Path, changes: Mapping[tuple[str, str, str], str]) -> Path:
    """The superpod deal in a folder, with other cells (table, row, column) in its CSV files."""
    shutil.copytree(ASSUMPTIONS / "superpod", folder)
    for (table, row, column), value in changes.items():
        path = folder / f"{table}.csv"
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for one in rows:
            if next(iter(one.values())) == row:
                one[column] = value
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    return folder


def exported(deal: Deal, path: Path, selected: str = "base", solution: Solution | None = None) -> Exported:
    """Exports a deal and gives the workbook beside what it must agree with."""
    solution = solution or solve(deal)
    dataset = label(solution)
    export(deal, path, selected, solution=solution, dataset=dataset)
    return Exported(path, model_of(solution, dataset, selected))


def exported_all(deal: Deal, folder: Path) -> Iterator[Exported]:
    """A workbook for each structure of a deal, which together hold every scenario."""
    solution = solve(deal)
    for number, part in enumerate(solution.parts):
        yield exported(deal, folder / f"book{number}.xlsx", part.sheets.scenarios[0], solution)


# Editing --------------------------------------------------------------------------------------------------------------


def sheet_parts(content: bytes) -> dict[str, str]:
    """The part of the file that holds each sheet, by the sheet's name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        book = archive.read("xl/workbook.xml").decode()
        relations = archive.read("xl/_rels/workbook.xml.rels").decode()
    targets = {}
    for relation in re.findall(r"<Relationship [^>]*>", relations):
        identity, target = (re.search(rf' {name}="([^"]*)"', relation)[1] for name in ("Id", "Target"))
        targets[identity] = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    sheets = re.findall(r"<sheet [^>]*>", book)
    return {re.search(r' name="([^"]*)"', one)[1]: targets[re.search(r'r?:?id="(rId[^"]*)"', one)[1]] for one in sheets}


def edited(content: bytes, changes: Mapping[tuple[str, str], float | str], *, stripped: bool = False) -> bytes:
    """The file with other cells (text that begins with <f>: a formula with its value).

    `stripped` it is for recalculating: without stored values, and without the rows and columns that every printed page
    repeats, for which LibreOffice takes six seconds.
    """
    parts = sheet_parts(content)
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as out:
        for name in archive.namelist():
            data = archive.read(name)
            here = {cell: value for (sheet, cell), value in changes.items() if parts[sheet] == name}
            if name in parts.values() and (here or stripped):
                text = data.decode()
                text = _FORMULA.sub(r"\1\2\3", text) if stripped else text
                for cell, value in here.items():
                    text = _with_cell(text, cell, value)
                data = text.encode()
            elif name == "xl/workbook.xml" and stripped:
                data = _TITLES.sub("", data.decode()).encode()
            out.writestr(name, data)
    return stream.getvalue()


def _with_cell(text: str, cell: str, value: float | str) -> str:
    if isinstance(value, str) and value.startswith("<f>"):
        body = f">{value}</c>"
    elif isinstance(value, str):
        body = f' t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    else:
        body = f"><v>{value!r}</v></c>"
    pattern = rf'<c r="{cell}"( s="[0-9]+")?[^>]*?(/>|>.*?</c>)'
    text, count = re.subn(pattern, lambda found: f'<c r="{cell}"{found[1] or ""}{body}', text, count=1)
    assert count == 1, f"no cell {cell}"
    return text


def input_cell(deal: Deal, table: str, row: str, column: str) -> tuple[str, str]:
    """Where an input stands in the workbook."""
    headings = excel.headings(table)
    key = headings[0]
    place = next(
        number for number, one in enumerate(deal.tables[table], start=excel.HEADINGS_ROW + 1) if one.cells[key] == row
    )
    return table, f"{get_column_letter(headings.index(column) + 1)}{place}"


# Recalculating --------------------------------------------------------------------------------------------------------


def in_formualizer(content: bytes) -> tuple[Read, Callable[[str], None]]:
    """Reads a cell, and selects a scenario and recalculates."""
    book = loaded(content)
    read = [reader(book, content)]

    def select(scenario: str) -> None:
        book.set_value("cover", 5, 3, scenario)
        book.evaluate_all()
        read[0] = reader(book, content)

    return lambda sheet, row, column: read[0](sheet, row, column), select


def loaded(content: bytes) -> formualizer.Workbook:
    """The workbook in the spreadsheet engine, recalculated."""
    book = formualizer.load_workbook_bytes(content)
    book.set_temporal_egress("serial")
    book.evaluate_all()
    return book


def reader(book: formualizer.Workbook, content: bytes) -> Read:
    """Reads a cell as it was last evaluated: the sheets are fetched whole, and once."""
    parts = sheet_parts(content)
    sheets: dict[str, list[list[object]]] = {}

    def read(sheet: str, row: int, column: int) -> object:
        if sheet not in sheets:
            whole = formualizer.RangeAddress(sheet, 1, 1, *_size(content, parts[sheet]))
            sheets[sheet] = book.sheet(sheet).get_values(whole)
        return sheets[sheet][row - 1][column - 1]

    return read


def _size(content: bytes, part: str) -> tuple[int, int]:
    """The last row and column that a sheet says it has."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        found = re.search(rb'<dimension ref="[^"]*?:?([A-Z]+)([0-9]+)"', archive.read(part))
    return int(found[2]), _number(found[1].decode())


def in_ironcalc(path: Path) -> tuple[Read, Callable[[str], None]]:
    """Reads a cell, and selects a scenario and recalculates; what the file stores is not trusted."""
    model = ironcalc.load_from_xlsx(str(path), "en", "UTC", "en")
    model.evaluate()
    numbers = {sheet["name"]: number for number, sheet in enumerate(model.get_worksheets_properties())}

    def read(sheet: str, row: int, column: int) -> object:
        return model.get_cell_value(numbers[sheet], row, column)

    def select(scenario: str) -> None:
        model.set_user_input(numbers["cover"], 5, 3, scenario)
        model.evaluate()

    return read, select


def in_office(
    soffice: str,
    python: str,
    book: "Exported",
    scenarios: Sequence[str],
    folder: Path,
    edits: Sequence[tuple[str, str, float | str]] = (),
    save: Path | None = None,
) -> Iterator[Answer]:
    """What LibreOffice recalculates for each scenario, from a file without stored values, after typing some cells."""
    path = folder / "stripped.xlsx"
    path.write_bytes(edited(book.content, {}, stripped=True))
    sheets = sorted({address.sheet for address in book.model.layout.lines.values()} | {"cover"})
    job = folder / "job.json"
    files = {str(path): list(scenarios)}
    told = {"office": soffice, "folder": str(folder), "files": files, "sheets": sheets, "edits": edits}
    job.write_text(json.dumps(told | ({} if save is None else {"save": str(save)})), "utf-8")
    command = [python, str(Path(__file__).with_name("office.py")), str(job)]
    found = subprocess.run(command, check=False, capture_output=True, text=True, timeout=1800)
    assert found.returncode == 0, found.stderr
    for line in found.stdout.splitlines():
        answer = json.loads(line)
        grid = answer["sheets"]
        yield Answer(
            answer["scenario"],
            lambda sheet, row, column, grid=grid: grid[sheet][row - 1][column - 1],
            answer["errors"],
        )


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


# Comparing ------------------------------------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """Where a recalculated workbook differs from the arrays, and the worst relative difference that is not dust."""

    wrong: list[str]
    worst: float


def dust(model: Model) -> float:
    """What LibreOffice takes for zero when it subtracts: a 1e-14th of the largest amount, at least 1e-6."""
    amounts = (model.values(name) for name, line in model.lines.items() if line.unit == "money")
    return max(1e-6, 1e-14 * max(float(np.abs(values).max()) for values in amounts))


def compared(read: Read, model: Model, scenario: str, relative: float = 0.0, absolute: float = 0.0) -> Comparison:
    """Compares line by line and period by period; bit for bit unless tolerances are given."""
    position = model.scenarios.index(scenario)
    wrong, count, worst = [], 0, 0.0
    for name, line in model.lines.items():
        values = np.atleast_1d(model.values(name)[..., position])
        sheet, row = model.layout.lines[name]
        first = excel.CONSTANT if line.kind == "static" else excel.FIRST_PERIOD
        for column, value in enumerate(values.tolist(), start=first):
            got = read(sheet, row, column)
            count += 1
            if got == value:
                continue
            gap = abs(got - value) if isinstance(got, float) else math.inf
            scale = max(abs(got), abs(value)) if isinstance(got, float) else 1.0
            worst = max(worst, gap / scale if gap > max(absolute, 1e-6) else 0.0)
            if gap > max(absolute, relative * scale):
                wrong.append(f"{scenario} {name} {sheet}!{get_column_letter(column)}{row}: {got!r}, engine {value!r}")
    assert count > len(model.lines)
    return Comparison(wrong, worst)
