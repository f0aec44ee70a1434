"""What a workbook file is before any of it is read: its kind, and whether it unpacks to something of a sane size."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

from stuckstep.deal.raw import SHAPES
from stuckstep.deal.records import DealError, Fault

ALLOWED = "an .xlsx workbook without a password is allowed"
_OLD_FORMAT = bytes.fromhex("D0CF11E0A1B11AE1")
_ENCRYPTED, _OLD_BOOKS = "EncryptedPackage", ("Workbook", "Book")
_MOST_FILE, _MOST_ENTRY, _MOST_TOTAL = 100_000_000, 100_000_000, 300_000_000  # bytes
_DECLARED = [f"<!{word}".encode(code) for word in ("DOCTYPE", "ENTITY") for code in ("ascii", "utf-16-le", "utf-16-be")]
_PIECE, _LONGEST = 1_000_000, max(map(len, _DECLARED))
_MOST_ENTRIES, _MOST_RATIO, _SMALL = 2_000, 200, 1_000_000
_OTHER_KINDS = {
    "xl/workbook.bin": "this is a binary .xlsb workbook",
    "content.xml": "this is an OpenDocument file",
    "word/document.xml": "this is a Word document",
    "Index/Document.iwa": "this is a Numbers document",
}
_OTHER_TEXTS = {
    b"<": "this is HTML or XML, not a workbook",
    b"%PDF": "this is a PDF, not a workbook",
    b"{": "this is JSON",
}


def refused(path: Path, wrong: str, allowed: str = ALLOWED) -> DealError:
    """The error of a file that cannot be read."""
    return DealError([Fault(str(path), None, None, " ".join(wrong.split()), allowed)])


def open_package(path: Path) -> bytes:
    """The bytes of a workbook that may be read; DealError when it is no workbook or unpacks to too much."""
    suffix = path.suffix.lower()
    try:
        content = b"" if path.stat().st_size > _MOST_FILE else path.read_bytes()
    except OSError as error:
        raise refused(path, f"cannot be read ({error.strerror})") from None
    if path.stat().st_size > _MOST_FILE:
        raise refused(path, f"the file is larger than {_MOST_FILE // 1_000_000} MB", "a smaller file is allowed")
    if not content.startswith((b"PK", _OLD_FORMAT[:4])) and suffix not in (".xlsx", ".xlsm"):
        raise refused(path, "this is neither a folder nor an .xlsx workbook", SHAPES)
    if wrong := _other_kind(content):
        raise refused(path, wrong)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            wrong = _wrong_archive(package.infolist()) or _entities(package)
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, NotImplementedError, EOFError, RuntimeError) as error:
        wrong = f"this is no readable workbook ({error})"
    if wrong:
        raise refused(path, wrong)
    if suffix not in (".xlsx", ".xlsm"):
        raise refused(path, f"this is a workbook named {suffix or 'without .xlsx'}", "the ending .xlsx is required")
    return content


def _other_kind(content: bytes) -> str:
    """What a file is when its first bytes are not those of a zip archive; nothing when they are."""
    if content.startswith(_OLD_FORMAT[:4]):
        return _old_kind(content)
    if content.startswith(b"PK"):
        return ""
    if not content:
        return "the file is empty"
    start = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    said = next((said for magic, said in _OTHER_TEXTS.items() if start.startswith(magic)), "")
    if not said and b"\0" not in content and any(mark in content[:2000] for mark in b",;\t"):
        said = "this is text, perhaps CSV"
    return said or "this is no readable workbook (File is not a zip file)"


def _old_kind(content: bytes) -> str:
    if _ENCRYPTED.encode("utf-16-le") in content:
        return "the workbook is encrypted with a password"
    if any(f"{name}\0".encode("utf-16-le") in content for name in _OLD_BOOKS):
        return "the workbook is in the old .xls format"
    return "the workbook is encrypted or in the old .xls format"


def _wrong_archive(entries: list[zipfile.ZipInfo]) -> str:
    """What speaks against an archive before anything of it is unpacked."""
    names = {entry.filename for entry in entries}
    if wrong := next((said for name, said in _OTHER_KINDS.items() if name in names), ""):
        return wrong
    if "[Content_Types].xml" not in names:
        return "this is an archive that holds no workbook"
    if any(entry.flag_bits & 1 for entry in entries):
        return "the archive is locked with a password"
    return _too_large(entries)


def _entities(package: zipfile.ZipFile) -> str:
    """Whether a part declares entities, which no workbook needs and an attack begins with."""
    for name in package.namelist():
        if not name.endswith((".xml", ".rels")):
            continue
        before = b""
        with package.open(name) as part:
            while piece := part.read(_PIECE):
                if any(mark in before + piece for mark in _DECLARED):
                    return f"{name} declares entities, which no workbook does"
                before = piece[-_LONGEST:]
    return ""


def _too_large(entries: list[zipfile.ZipInfo]) -> str:
    """What speaks against unpacking an archive; nothing when it is of a sane size."""
    if len(entries) > _MOST_ENTRIES:
        return f"the archive has {len(entries)} parts, more than {_MOST_ENTRIES}"
    total = sum(entry.file_size for entry in entries)
    if total > _MOST_TOTAL:
        return f"the workbook unpacks to {total // 1_000_000} MB, more than {_MOST_TOTAL // 1_000_000} MB"
    for entry in entries:
        size = entry.file_size // 1_000_000
        if entry.file_size > _MOST_ENTRY:
            return f"{entry.filename} unpacks to {size} MB, more than {_MOST_ENTRY // 1_000_000} MB"
        if entry.file_size > _SMALL and entry.file_size > _MOST_RATIO * max(entry.compress_size, 1):
            return f"{entry.filename} unpacks to more than {_MOST_RATIO} times its size"
    return ""
