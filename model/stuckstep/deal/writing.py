"""Writing a deal as a folder of CSV files or a workbook, whole or not at all, and never over anything."""

from __future__ import annotations

import csv
import errno
import io
import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from stuckstep.deal import layout
from stuckstep.deal.cells import to_text
from stuckstep.deal.placing import put
from stuckstep.deal.reading import read
from stuckstep.deal.records import Deal, DealError, Fault, Value

TEMPLATE = Path(__file__).parent / "template"
_FORMULA = re.compile(r"'*[=+\-@\t]")
_OTHER_FILES = (".csv", ".xls", ".xlsm", ".xlsb", ".ods", ".txt", ".json", ".parquet", ".nc")


def write(deal: Deal, path: str | PathLike[str]) -> None:
    """Write a deal to a new path: a workbook when it ends in .xlsx, else a folder of CSV files.

    DealError when something other than an empty folder is there already, or the path cannot be written.
    """
    path = Path(path).absolute()
    suffix = path.suffix.lower()
    if suffix in _OTHER_FILES:
        allowed = "a new folder or a new .xlsx workbook is allowed"
        raise DealError([Fault(str(path), None, None, f"a deal is not written as {suffix}", allowed)])
    if suffix == ".xlsx":
        from stuckstep.deal.building import build_workbook  # openpyxl is slow to import

        content = build_workbook(deal)
        _appear(path, lambda part: _write_bytes(part, content))
    else:
        _appear(path, lambda part: _write_folder(part, deal))


def new(path: str | PathLike[str]) -> None:
    """Write a small commented deal to start from; DealError when the path is taken."""
    write(read(TEMPLATE), path)


def _appear(path: Path, fill: Callable[[Path], None]) -> None:
    """Fill a file or folder beside the path and move it there when it is whole."""
    if path.is_symlink() or (path.exists() and not _is_empty_folder(path)):
        raise DealError([Fault(str(path), None, None, "something is there already", "a new path is allowed")])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        put(path, lambda part: _fill_free(part, path, fill))
    except OSError as error:
        wrong = f"cannot be written ({error.strerror})"
        raise DealError([Fault(str(path), None, None, wrong, "a path that can be written is allowed")]) from None


def _fill_free(part: Path, path: Path, fill: Callable[[Path], None]) -> None:
    """Fill a file or folder whose place was free, and must still be."""
    fill(part)
    if path.is_dir():
        path.rmdir()
    elif path.exists():
        raise FileExistsError(errno.EEXIST, "something is there by now", str(path))


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _write_bytes(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def _write_folder(folder: Path, deal: Deal) -> None:
    folder.mkdir()
    for table in (name for name in layout.tables() if name in deal.columns):
        (folder / f"{table}.csv").write_bytes(_csv(deal, table).encode())


def _csv(deal: Deal, table: str) -> str:
    """One table as CSV text, its columns as they stood in its file."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    headings = deal.columns[table]
    writer.writerow(headings)
    for row in deal.tables[table]:
        values = [row.cells[name] if name in row.cells else row.extras.get(name) for name in headings]
        writer.writerow([_text(value) for value in values])
    return stream.getvalue()


def _text(value: Value) -> str:
    """A value as CSV text; what a spreadsheet would take for a formula gets a ' in front, which reading takes off."""
    text = to_text(value)
    return f"'{text}" if not isinstance(value, float) and _FORMULA.match(text) else text
