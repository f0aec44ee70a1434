"""Files that appear whole or not at all: filled in a folder beside their place, then moved there.

That folder is locked while its program lives. What a killed program left is therefore known by the next one that writes
there: it finishes a move that had begun, and removes what was not complete. Where there are no such locks (Windows),
what is left stays and hinders nobody.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

PREFIX = ".stuckstep-"
_MOVING = "moving"  # a file in the folder: all of it is complete, and what is still there is to be moved
_OLD = "old"  # a folder in it: the files that are replaced, until the last is in place


def put(path: Path, fill: Callable[[Path], object]) -> None:
    """A file or folder made by `fill` at another path, moved to its place when it is complete. OSError where not."""
    with filling(path.parent) as part:
        fill(part / path.name)
        os.replace(part / path.name, path)


@contextlib.contextmanager
def filling(place: Path) -> Iterator[Path]:
    """A folder in `place` for files that are to appear there; it is gone afterwards, whatever happened."""
    _finish_others(place)
    part, lock = _new_folder(place)
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)
        _unlock(lock)


def move_all(part: Path, place: Path, names: Sequence[str]) -> None:
    """Moves complete files to their place as one set: the last name is gone first and comes last, and stands for all.

    Where a move fails, the old files come back. A program that is killed in between leaves the last name absent.
    """
    with _turn(place):
        (part / _OLD).mkdir()
        for name in names:
            if (place / name).exists():
                shutil.copy2(place / name, part / _OLD / name)
        (part / _MOVING).touch()
        moved: list[str] = []
        try:
            (place / names[-1]).unlink(missing_ok=True)
            for name in names:
                os.replace(part / name, place / name)
                moved.append(name)
        except BaseException:
            _bring_back(part / _OLD, place, [*moved, names[-1]])
            raise


def _bring_back(old: Path, place: Path, names: Sequence[str]) -> None:
    for name in dict.fromkeys(names):
        if (old / name).exists():
            os.replace(old / name, place / name)
        else:
            (place / name).unlink(missing_ok=True)


def _finish_others(place: Path) -> None:
    """Finishes or removes what killed programs left in a folder; what a living one fills is locked, and left alone."""
    for part in sorted(place.glob(f"{PREFIX}*")):
        lock = None if part.is_symlink() or not part.is_dir() else _lock(part)
        if lock is None:
            continue
        with contextlib.suppress(OSError):
            if (part / _MOVING).exists():
                with _turn(place):
                    for file in sorted(part.iterdir(), key=lambda file: (file.name == "run.json", file.name)):
                        if file.is_file() and file.name != _MOVING:
                            os.replace(file, place / file.name)
            shutil.rmtree(part, ignore_errors=True)
        _unlock(lock)


def _new_folder(place: Path) -> tuple[Path, int | None]:
    """A new folder, locked. Another program may take it for one that was left before the lock is there: then again."""
    while True:
        part = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        lock = _lock(part)
        if part.exists():
            return part, lock
        _unlock(lock)


def _lock(folder: Path) -> int | None:
    """A lock on a folder, which ends with the program at the latest; None where another holds it or there are none."""
    if fcntl is None:
        return None
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _unlock(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


@contextlib.contextmanager
def _turn(place: Path) -> Iterator[None]:
    """One program at a time moves a set of files into a folder."""
    handle = None
    with contextlib.suppress(OSError):
        if fcntl is not None:
            handle = os.open(place, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        _unlock(handle)
