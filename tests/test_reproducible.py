"""The same deal gives the same bytes: on any number of threads, in any folder, locale and time zone."""

from __future__ import annotations

import hashlib
import json
import locale
import os
import subprocess
import sys
from pathlib import Path

import pytest

import deal_files as files

pytestmark = pytest.mark.thorough

SAME = ("results.nc", "payments.csv", "report.html", "deal.xlsx")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS")
CODE = "from stuckstep.cli import main; main()"


def outputs(deal: Path, out: Path, folder: Path, **environment: str) -> dict[str, str]:
    """Every output of a run by its hash; the folder is where the program stands."""
    folder.mkdir(exist_ok=True)
    named = {**os.environ, "SOURCE_DATE_EPOCH": "1800000000", **environment}
    command = [sys.executable, "-c", CODE, "run", os.path.relpath(deal, folder), "--out", str(out)]
    done = subprocess.run(command, cwd=folder, env=named, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in out.iterdir() if file.name in SAME}


@pytest.fixture(scope="module")
def deal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = files.copy(tmp_path_factory.mktemp("reproducible") / "deal")
    for old, new in (("staff", "Çalışma İstanbul"), ("utility", "Straße")):
        for table in ("parties", "claims", "steps"):
            path = folder / f"{table}.csv"
            path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def first(deal: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("first")
    return outputs(deal, place / "out", place, TZ="UTC", PYTHONHASHSEED="0", LC_ALL="C", **dict.fromkeys(THREADS, "1"))


def with_comma() -> str:
    """A locale that writes a decimal comma, where the machine has one; else one that is not there."""
    here = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "tr_TR.UTF-8", "fr_FR.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        locale.setlocale(locale.LC_ALL, here)  # else the tests that follow would write in another encoding
        return name
    return "tr_TR.UTF-8"


@pytest.mark.parametrize(
    "environment",
    [
        {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "12345", **dict.fromkeys(THREADS, "2")},
        {"TZ": "America/St_Johns", "LC_ALL": with_comma(), "LANG": "tr_TR.UTF-8", "LANGUAGE": "tr"},
    ],
    ids=["threads and time zone", "locale"],
)
def test_the_same_bytes(deal: Path, first: dict[str, str], environment: dict[str, str], tmp_path: Path) -> None:
    assert set(first) == set(SAME)
    assert outputs(deal, tmp_path / "other", tmp_path / "elsewhere", **environment) == first


def test_the_record_says_what_was_used(deal: Path, tmp_path: Path) -> None:
    found = outputs(deal, tmp_path / "out", tmp_path)
    record = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert {name: one["sha256"] for name, one in record["outputs"].items()} == found
    assert record["platform"].keys() >= {"system", "python", "numpy", "pandas", "xarray", "h5py"}
    assert record["assumptions"]["sha256"]
    assert record["stuckstep_version"]
    assert record["scenarios"][0] == "base"
