"""The workbook as a file: openpyxl writes the package, the pages' rows and texts are put into it."""

import datetime
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

from openpyxl import Workbook
from openpyxl.utils import get_column_letter

from .pages import Page, Rows

Values = Mapping[str, Mapping[tuple[int, int], Any]]
_ROWS = re.compile(rb"<sheetData\s*/>|<sheetData>.*?</sheetData>", re.DOTALL)
_CORE, _STAMP = "docProps/core.xml", re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")
_SIZE = re.compile(rb'<dimension ref="[^"]*"\s*/>')


class Package:
    """The parts of a workbook file, ready to be written with or without the formulas' values.

    All that says when is the time it was `written`, so that nothing else in it depends on the clock.
    """

    def __init__(self, book: Workbook, pages: Sequence[Page], written: datetime.datetime) -> None:
        stream = io.BytesIO()
        book.save(stream)
        with zipfile.ZipFile(stream) as archive:
            self.parts = {name: archive.read(name) for name in archive.namelist()}
        stamp = written.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
        self.parts[_CORE] = _STAMP.sub(lambda found: found[1] + stamp, self.parts[_CORE])
        self.time = (max(written.year, 1980), *written.timetuple()[1:6])
        self.pages = {f"xl/worksheets/sheet{number}.xml": page for number, page in enumerate(pages, start=1)}
        self.rows = {page.name: Rows(page) for page in pages}

    def write(self, values: Values | None = None) -> bytes:
        """The file. `values` gives each formula's value by sheet, row and column; without it none is stored."""
        stream = io.BytesIO()
        method = zipfile.ZIP_STORED if values is None else zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(stream, "w") as archive:
            for name, content in self.parts.items():
                page = self.pages.get(name)
                if page is not None:
                    rows = self.rows[page.name].xml(None if values is None else values[page.name])
                    content = _with_rows(content, page, rows.encode())
                archive.writestr(zipfile.ZipInfo(name, self.time), content, method, 6)
        return stream.getvalue()


def _with_rows(part: bytes, page: Page, rows: bytes) -> bytes:
    last_row, last_column = page.size
    size = f'<dimension ref="A1:{get_column_letter(last_column)}{last_row}"/>'.encode()
    part = _SIZE.sub(lambda _: size, part, count=1)
    written, count = _ROWS.subn(lambda _: rows, part, count=1)
    if count != 1:
        raise ValueError(f"the sheet {page.name} has no place for its rows")
    return written
