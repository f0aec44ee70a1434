"""Killed, full, locked, read-only, twice at once: outputs are absent, old or complete; nothing hinders the next run.

`STUCKSTEP_KILLS=200 pytest tests/test_faults.py` kills so often.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import deal_files as files
from stuckstep.cli import main
from stuckstep.deal import DealError, placing
from stuckstep.studies.extras import EXTRAS, extra

pytestmark = pytest.mark.thorough

KILLS = int(os.environ.get("STUCKSTEP_KILLS", "8"))
SOUND = {"results.nc", "payments.csv", "run.json", "deal.xlsx", "report.html"}


@pytest.fixture(scope="module")
def deals(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two deals of one name that differ in a price, so that their outputs do."""
    found = []
    for price in ("12000000", "11000000"):
        folder = files.copy(tmp_path_factory.mktemp("deals") / "deal")
        files.put(folder, "contracts", "anchor", "price", price)
        found.append(folder)
    return found


def start(*arguments: object, **options: object) -> subprocess.Popen[str]:
    code = "from stuckstep.cli import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload, no-any-return]


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code and what was said on the error stream."""
    error = process.communicate()[1]
    return process.returncode, error


def hashed(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def visible(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir() if not file.name.startswith(".")} if folder.exists() else set()


def check_whole(folder: Path) -> None:
    """Every output can be read to its end; where run.json stands, every file it names is of its own run."""
    assert visible(folder) <= SOUND
    for name in visible(folder) & {"deal.xlsx"}:
        assert zipfile.ZipFile(folder / name).testzip() is None
    if "report.html" in visible(folder):
        assert (folder / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    if "payments.csv" in visible(folder):
        assert (folder / "payments.csv").read_bytes().endswith(b"\n")
    if "run.json" in visible(folder):
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        assert {name: one["sha256"] for name, one in record["outputs"].items()} == {
            name: hashed(folder / name) for name in record["outputs"]
        }


def killings(deals: list[Path], out: Path, seed: int = 1) -> Iterator[tuple[list[object], float]]:
    """Commands in turn, and when each is killed: anywhere in its life, a third of them in its last tenth.

    An export goes elsewhere: a workbook written alone is newer than the run whose record stands beside it.
    """
    rng = random.Random(seed)
    commands = [
        lambda deal: ["run", deal, "--out", out, "--no-workbook", "--no-report"],
        lambda deal: ["run", deal, "--out", out, "--no-workbook"],
        lambda deal: ["export", deal, "--out", out.with_name("exported") / "deal.xlsx"],
        lambda deal: ["run", deal, "--out", out],
    ]
    lives = {}
    for number in range(KILLS):
        which = number % (2 if number % 4 < 3 and KILLS < 50 else len(commands))
        command = commands[which](deals[number % 2])
        if which not in lives:
            begun = time.monotonic()
            assert finish(start(*command))[0] == 0
            lives[which] = time.monotonic() - begun
        least = 0.9 if rng.random() < 1 / 3 else 0.0
        yield command, lives[which] * rng.uniform(least, 1.05)


def test_a_run_that_is_killed_leaves_files_that_are_absent_old_or_complete(deals: list[Path], tmp_path: Path) -> None:
    out, killed = tmp_path / "out", 0
    for command, seconds in killings(deals, out):
        process = start(*command)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        killed += finish(process)[0] == -signal.SIGKILL
        check_whole(out)
        check_whole(tmp_path / "exported")
    assert killed >= KILLS // 2
    assert finish(start("run", deals[0], "--out", out)) == (0, "")
    check_whole(out)
    assert {file.name for file in out.iterdir()} == SOUND


NAMES = ["results.nc", "payments.csv", "run.json"]


def killed_at(place: Path, call: int) -> int:
    """A new set is moved over an old one by a program that kills itself before one of its moves; its exit code."""
    code = f"""
import os, signal
from pathlib import Path
from stuckstep.deal import DealError, placing
from stuckstep.studies.extras import EXTRAS, extra
move, calls = os.replace, []
def replace(source, target):
    calls.append(source)
    if len(calls) == {call}:
        os.kill(os.getpid(), signal.SIGKILL)
    move(source, target)
os.replace = replace
place = Path({str(place)!r})
with placing.filling(place) as part:
    for name in {NAMES!r}:
        (part / name).write_text("new")
    placing.move_all(part, place, {NAMES!r})
"""
    return subprocess.run([sys.executable, "-c", code], check=False).returncode


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_a_move_that_is_killed_is_finished_by_the_next_that_writes_there(call: int, tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).write_text("old")
    assert killed_at(tmp_path, call) == (-signal.SIGKILL if call <= len(NAMES) else 0)
    found = {file.name: file.read_text() for file in tmp_path.iterdir() if file.is_file()}
    assert set(found.values()) <= {"old", "new"}
    assert "run.json" not in found or len(set(found.values())) == 1  # the record stands for the whole set
    placing.put(tmp_path / "report.html", lambda part: part.write_text("more"))
    found = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert found == {**dict.fromkeys(NAMES, "new"), "report.html": "more"}


def test_what_was_not_complete_is_removed_and_what_lives_is_left_alone(tmp_path: Path) -> None:
    dead, other = tmp_path / f"{placing.PREFIX}dead", tmp_path / "stuckstep-notes"
    for folder in (dead, other):
        folder.mkdir()
        (folder / "results.nc").write_text("half")
    with placing.filling(tmp_path) as alive:
        (alive / "kept").write_text("x")
        assert not dead.exists()
        placing.put(tmp_path / "report.html", lambda part: part.write_text("more"))
        assert (alive / "kept").exists()
    assert {file.name for file in tmp_path.iterdir()} == {"stuckstep-notes", "report.html"}


def test_a_link_that_is_named_like_a_leftover_is_not_followed(tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "place", tmp_path / "elsewhere"
    for folder in (place, elsewhere):
        folder.mkdir()
    (elsewhere / "moving").touch()
    (elsewhere / "mine").write_text("mine")
    (place / f"{placing.PREFIX}link").symlink_to(elsewhere)
    placing.put(place / "report.html", lambda part: part.write_text("more"))
    assert (elsewhere / "mine").read_text() == "mine"
    assert not (place / "mine").exists()


def test_two_runs_at_once_leave_the_set_of_one(deals: list[Path], tmp_path: Path) -> None:
    processes = [start("run", deal, "--out", tmp_path / "out", "--no-workbook", "--no-report") for deal in deals]
    assert [finish(process) for process in processes] == [(0, ""), (0, "")]
    check_whole(tmp_path / "out")
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"results.nc", "payments.csv", "run.json"}


def limited(size: int) -> Callable[[], None]:
    """No file may be larger: like a full disk, for what is written after the programs are loaded."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.parametrize(
    ("command", "size"),
    [("run", 60_000), *((name, 500) for name in ("run", "export", "report", "convert", "convert to xlsx"))],
)
def test_a_full_disk_is_one_line_and_loses_nothing(deals: list[Path], tmp_path: Path, command: str, size: int) -> None:
    out = tmp_path / "out"
    out.mkdir()
    old = {name: f"old {name}" for name in SOUND} if command in ("run", "export", "report") else {}
    for name, text in old.items():
        (out / name).write_text(text)
    arguments: dict[str, list[object]] = {
        "run": ["run", deals[0], "--out", out],
        "export": ["export", deals[0], "--out", out / "deal.xlsx"],
        "report": ["report", deals[0], "--out", out],
        "convert": ["convert", deals[0], out / "copy"],
        "convert to xlsx": ["convert", deals[0], out / "copy.xlsx"],
    }
    code, error = finish(start(*arguments[command], preexec_fn=limited(size)))
    assert (code, error.count("\n")) == (2, 1), error
    assert "cannot be written (File too large)" in error
    assert {file.name: file.read_text() for file in out.iterdir()} == old


@pytest.mark.parametrize(
    "command",
    [
        ["new", "/proc/none/deal"],
        ["convert", "DEAL", "/proc/none/deal.xlsx"],
        ["run", "DEAL", "--out", "/proc/none", "--no-workbook", "--no-report"],
        ["export", "DEAL", "--out", "/proc/none/deal.xlsx"],
        ["report", "DEAL", "--out", "/proc/none"],
    ],
    ids=lambda command: command[0],
)
def test_a_place_that_takes_nothing_is_one_line(deals: list[Path], command: list[str]) -> None:
    """Not even for root, whom no permission stops."""
    result = CliRunner().invoke(main, [str(deals[0]) if one == "DEAL" else one for one in command])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "cannot be written (" in result.stderr


def test_a_clock_that_is_set_back_hinders_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files from the future are replaced, and a workbook can be written before any zip archive could be."""
    old, ahead = tmp_path / "deal.xlsx", time.time() + 10 * 365 * 86400
    old.write_text("from the future")
    os.utime(old, (ahead, ahead))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    result = CliRunner().invoke(main, ["export", str(files.SUPERPOD), "--out", str(old)])
    assert (result.exit_code, result.stderr) == (0, "")
    assert zipfile.ZipFile(old).testzip() is None
    assert {path.name for path in tmp_path.iterdir()} == {"deal.xlsx"}


def test_a_machine_without_room_for_the_work_itself_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("stuckstep.results.solve", no_memory)
    result = CliRunner().invoke(main, ["run", str(files.SUPERPOD)])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "there is not enough memory for this deal" in result.stderr


@pytest.mark.parametrize("package", EXTRAS)
def test_a_package_that_is_not_installed_is_named_with_what_brings_it(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DealError) as caught:
        extra(package)
    assert str(caught.value) == (
        f"{package}: the package is not installed; pip install '.[{EXTRAS[package]}]' in the project's folder brings it"
    )
