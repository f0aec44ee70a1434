"""A workbook appears whole and right, or not at all."""

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy
import pytest

from stuckstep.deal import DealError, read
from stuckstep.reports.workbook import WorkbookError, export
from stuckstep.results import Solution, label, solve

pytestmark = pytest.mark.thorough

SUPERPOD = Path(__file__).parents[1] / "assumptions" / "superpod"
FULL = """
import resource, signal, sys
from stuckstep.deal import read
from stuckstep.reports.workbook import WorkbookError, export
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    export(read(sys.argv[1]), sys.argv[2])
except WorkbookError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def solution() -> Solution:
    return solve(read(SUPERPOD))


def attempt(path: Path, solution: Solution) -> str:
    """The one line of the error that an export gives."""
    with pytest.raises(WorkbookError) as caught:
        export(solution.deal, path, solution=solution, dataset=label(solution))
    text = str(caught.value)
    assert "\n" not in text
    return text


def left_over(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_disagreement_names_the_first_cells_and_leaves_no_file(tmp_path: Path, solution: Solution) -> None:
    part = solution.parts[0]
    values = part.values["claims.rent.due"]
    values[5, 0] += 1.0
    try:
        text = attempt(tmp_path / "superpod.xlsx", solution)
    finally:
        values[5, 0] -= 1.0
    assert "disagrees with the engine" in text
    assert "claims_calc!L" in text
    assert "claims.rent.due" in text
    assert left_over(tmp_path) == []


def test_a_difference_inside_the_tolerance_is_published(tmp_path: Path, solution: Solution) -> None:
    values = solution.parts[0].values["claims.rent.due"]
    before = values[5, 0]
    values[5, 0] = before * (1 + 1e-11)
    try:
        report = export(solution.deal, tmp_path / "superpod.xlsx", solution=solution, dataset=label(solution))
    finally:
        values[5, 0] = before
    assert 0 < report.worst < 1e-9


@pytest.mark.parametrize("lock", [".~lock.superpod.xlsx#", "~$superpod.xlsx"])
def test_a_workbook_open_elsewhere_is_left_alone(lock: str, tmp_path: Path, solution: Solution) -> None:
    path = tmp_path / "superpod.xlsx"
    path.write_bytes(b"old")
    (tmp_path / lock).touch()
    text = attempt(path, solution)
    assert "open in another program" in text
    assert lock in text
    assert path.read_bytes() == b"old"
    assert left_over(tmp_path) == sorted([lock, "superpod.xlsx"])


def test_a_locked_file_keeps_its_content(tmp_path: Path, solution: Solution, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "superpod.xlsx"
    path.write_bytes(b"old")

    def refused(source: str, target: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(target))

    monkeypatch.setattr(os, "replace", refused)
    assert attempt(path, solution) == f"{path} cannot be written (Permission denied); nothing was changed"
    assert path.read_bytes() == b"old"
    assert left_over(tmp_path) == ["superpod.xlsx"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, solution: Solution, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "superpod.xlsx"
    path.write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left on device" in attempt(path, solution)
    assert path.read_bytes() == b"old"
    assert left_over(tmp_path) == ["superpod.xlsx"]


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, solution: Solution) -> None:
    (tmp_path / "file").write_text("a file, not a folder")
    assert "cannot be written" in attempt(tmp_path / "file" / "superpod.xlsx", solution)
    assert left_over(tmp_path) == ["file"]


def test_a_disk_that_fills_up_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    """The system itself refuses to write on, in a process of its own."""
    path = tmp_path / "superpod.xlsx"
    path.write_bytes(b"old")
    found = subprocess.run([sys.executable, "-c", FULL, str(SUPERPOD), str(path)], capture_output=True, text=True)
    assert found.stdout == f"{path} cannot be written (File too large); nothing was changed\n", found.stderr
    assert path.read_bytes() == b"old"
    assert left_over(tmp_path) == ["superpod.xlsx"]


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write anywhere, so it steps back."""
    own = os.geteuid()
    os.seteuid(65534 if own == 0 else own)
    try:
        if not os.access(numpy.__file__, os.R_OK, effective_ids=True):
            pytest.skip("the installed packages can be read by their owner alone")
        yield
    finally:
        os.seteuid(own)


@pytest.mark.parametrize("mode", [0o555, 0o000])
def test_a_read_only_folder_is_one_line(mode: int, solution: Solution) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, dataset = Path(name), label(solution)
        (folder / "superpod.xlsx").write_bytes(b"old")
        folder.chmod(mode)
        with as_nobody(), pytest.raises(WorkbookError, match=r"written \(Permission denied\); nothing was changed$"):
            export(solution.deal, folder / "superpod.xlsx", solution=solution, dataset=dataset)
        folder.chmod(0o755)
        assert left_over(folder) == ["superpod.xlsx"]
        assert (folder / "superpod.xlsx").read_bytes() == b"old"


def test_an_unknown_scenario_is_a_fault_of_the_deal(tmp_path: Path, solution: Solution) -> None:
    with pytest.raises(DealError, match="nowhere"):
        export(solution.deal, tmp_path / "superpod.xlsx", "nowhere", solution=solution)
    assert left_over(tmp_path) == []
