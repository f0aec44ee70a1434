"""Putting a finished file into place: whole or not at all."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from .values import WorkbookError


def publish(content: bytes, path: Path) -> None:
    """Writes beside the target, then moves into place. WorkbookError, the old file untouched, where that fails."""
    lock = _lock_of(path)
    if lock is not None:
        raise WorkbookError(f"{path} is open in another program ({lock.name} beside it says so): close it there first")
    part: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, 0o666 & ~_umask())
        os.replace(part, path)
    except OSError as error:
        if part is not None:
            with suppress(OSError):
                os.unlink(part)
        raise WorkbookError(f"{path} cannot be written ({error.strerror or error}); nothing was changed") from None


def _lock_of(path: Path) -> Path | None:
    """The file that LibreOffice or Excel keeps beside a workbook while it is open."""
    names = (f".~lock.{path.name}#", f"~${path.name}")
    return next((path.with_name(name) for name in names if path.with_name(name).exists()), None)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
