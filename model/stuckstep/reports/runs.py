"""What a run writes: results.nc, payments.csv, the workbook and run.json, all of them or none."""

import contextlib
import csv
import hashlib
import json
import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import xarray as xr

from stuckstep.deal import Deal, DealError, Fault
from stuckstep.deal.placing import filling, move_all

from . import tables
from .storage import write_results

Writer = Callable[[Path], None]
_AT_ONCE = 50  # scenarios whose payments are held as a table
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


class Timings(dict[str, float]):
    """Seconds spent by name; `with timings.of("run"): ...` adds to one."""

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self[name] = round(self.get(name, 0.0) + time.perf_counter() - start, 4)


def write_payments(dataset: xr.Dataset, path: Path) -> None:
    """The payments of a run as CSV. Text that a spreadsheet would take for a formula gets a ' in front."""
    scenarios = dataset["scenario"].values
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for start in range(0, len(scenarios), _AT_ONCE):
            columns = _payments_as_text(dataset.sel(scenario=scenarios[start : start + _AT_ONCE]))
            if start == 0:
                writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))


def _payments_as_text(dataset: xr.Dataset) -> dict[str, list[Any]]:
    table = tables.payments(dataset)
    columns = {name: table[name].tolist() for name in table.columns}
    columns["date"] = np.datetime_as_string(table["date"].to_numpy(), unit="D").tolist()
    for name in table.columns[table.dtypes == "str"]:
        safe = {text: f"'{text}" if _FORMULA.match(text) else text for text in set(columns[name])}
        columns[name] = [safe[text] for text in columns[name]]
    return columns


def write_run(
    deal: Deal,
    dataset: xr.Dataset,
    folder: Path,
    timings: Timings,
    more: Mapping[str, Writer] | None = None,
) -> list[Path]:
    """Writes the outputs of a run into a folder, whole or not at all; `more` adds files by name.

    Returns the paths written. DealError where the folder cannot be written or is the deal's own; nothing changes then.
    """
    own = deal.path.resolve()
    if folder.resolve() == own:
        allowed = "another folder is allowed (--out)"
        raise DealError(
            [Fault(str(folder), None, None, "this is the deal's own folder, which no run writes to", allowed)]
        )
    writers: dict[str, Writer] = {
        "results.nc": lambda path: write_results(dataset, path),
        "payments.csv": lambda path: write_payments(dataset, path),
        **{name: writer for name, writer in (more or {}).items() if (folder / name).resolve() != own},
    }
    _refuse_open(folder, writers)
    return write_whole(folder, writers, lambda part: _record(deal, dataset, part, timings), timings)


def _refuse_open(folder: Path, names: Iterable[str]) -> None:
    """DealError where a file is open in a spreadsheet program: Excel and LibreOffice put a lock file beside it."""
    allowed = "a file that is not open is allowed: close it there first"
    faults = [
        Fault(str(folder / name), None, None, f"is open in another program ({lock} says so)", allowed)
        for name in names
        for lock in (f".~lock.{name}#", f"~${name}")
        if (folder / lock).exists()
    ]
    if faults:
        raise DealError(faults)


def write_whole(
    folder: Path, writers: Mapping[str, Writer], record: Callable[[Path], dict[str, Any]], timings: Timings
) -> list[Path]:
    """Writes every file beside its place, then run.json, and moves all there; puts the old ones back on failure.

    run.json goes first and comes last: where it stands, every file it names is of its own run.
    """
    created = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with filling(folder) as part:
            for name, writer in writers.items():
                with timings.of(name):
                    writer(part / name)
            text = json.dumps(record(part), indent=2, ensure_ascii=False)
            (part / "run.json").write_text(text + "\n", encoding="utf-8")
            move_all(part, folder, [*writers, "run.json"])
    except OSError as error:
        wrong = f"cannot be written ({_reason(error)})"
        raise DealError(
            [Fault(str(folder), None, None, wrong, "a folder that can be written is allowed (--out)")]
        ) from None
    finally:
        for parent in created:
            with contextlib.suppress(OSError):
                parent.rmdir()  # only an empty one goes
    return [folder / name for name in (*writers, "run.json")]


def _reason(error: OSError) -> str:
    """What the system says is wrong; h5py buries its number in a long message."""
    number = error.errno or next(map(int, re.findall(r"errno = ([0-9]+)", str(error))), None)
    return os.strerror(number) if number else str(error).splitlines()[0]


def _record(deal: Deal, dataset: xr.Dataset, part: Path, timings: Timings) -> dict[str, Any]:
    """What run.json holds: what was run, on what, how long it took, and the hash of every output."""
    return {
        "deal": deal.name,
        "title": str(dataset.attrs["title"]),
        "stuckstep_version": str(dataset.attrs["stuckstep_version"]),
        "seed": None,  # nothing in a run is drawn at random
        "scenarios": [str(name) for name in dataset["scenario"].values],
        "grid": tables.period_of(dataset),
        "is_sound": bool(dataset["is_sound"].values.all()),
        "assumptions": {"path": str(deal.path), "sha256": deal.digest},
        "outputs": {file.name: _described(file) for file in sorted(part.iterdir()) if file.is_file()},
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": dict(timings),
        "platform": _platform(),
    }


def _described(file: Path) -> dict[str, Any]:
    with file.open("rb") as content:
        return {"bytes": file.stat().st_size, "sha256": hashlib.file_digest(content, "sha256").hexdigest()}


def _platform() -> dict[str, str]:
    packages = {package.__name__: str(package.__version__) for package in (h5py, np, pd, xr)}
    return {"system": f"{platform.system()} {platform.machine()}", "python": platform.python_version(), **packages}
