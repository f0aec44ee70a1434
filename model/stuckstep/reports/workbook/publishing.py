"""Putting a finished file into place: whole or not at all."""

import os
from pathlib import Path

from stuckstep.deal.placing import put

from .values import WorkbookError


def publish(content: bytes, path: Path) -> None:
    """Writes beside the target, then moves into place. WorkbookError, the old file untouched, where that fails."""
    try:
        lock = _lock_of(path)
        if lock is not None:
            said = f"({lock.name} beside it says so)"
            raise WorkbookError(f"{path} is open in another program {said}: close it there first")
        path.parent.mkdir(parents=True, exist_ok=True)
        put(path, lambda part: _write(part, content))
    except OSError as error:
        raise WorkbookError(f"{path} cannot be written ({error.strerror or error}); nothing was changed") from None


def _write(part: Path, content: bytes) -> None:
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _lock_of(path: Path) -> Path | None:
    """The file that LibreOffice or Excel keeps beside a workbook while it is open."""
    names = (f".~lock.{path.name}#", f"~${path.name}")
    return next((path.with_name(name) for name in names if path.with_name(name).exists()), None)
