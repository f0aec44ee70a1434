"""results.nc: what is written comes back as it was; and the files of a run, all or none."""

import csv
import dataclasses
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import deal_files
import stuckstep as ss
from stuckstep.reports import runs
from stuckstep.reports.runs import Timings, write_run
from stuckstep.reports.storage import read_results, write_results


@pytest.fixture(scope="module")
def deal(tmp_path_factory: pytest.TempPathFactory) -> ss.Deal:
    folder = deal_files.copy(tmp_path_factory.mktemp("deals") / "superpod")
    rows = deal_files.read_table(folder, "parties")
    assert rows[0]["party"] == "chipmaker"
    for table in ("parties", "claims", "steps", "supports", "accounts"):
        path = folder / f"{table}.csv"
        path.write_text(path.read_text().replace("staff", "=cmd|' /C calc'!A0"))
    return ss.read(folder)


@pytest.fixture(scope="module")
def dataset(deal: ss.Deal) -> xr.Dataset:
    return deal.run()


def test_the_dataset_comes_back_identical_down_to_types_and_attributes(dataset: xr.Dataset, tmp_path: Path) -> None:
    write_results(dataset, tmp_path / "results.nc")
    again = read_results(tmp_path / "results.nc")
    xr.testing.assert_identical(dataset, again)
    for name, variable in dataset.variables.items():
        found = again.variables[name]
        assert (found.dtype, found.dims, found.attrs) == (variable.dtype, variable.dims, variable.attrs), name
    assert again["finish"].dtype == np.dtype("datetime64[s]")
    assert again["finish"].attrs["units"] == "date"
    assert again["relief"].attrs["units"] == dataset["relief"].attrs["units"]
    assert again.indexes.keys() == dataset.indexes.keys()


def test_any_reader_of_netcdf_finds_the_same_values(dataset: xr.Dataset, tmp_path: Path) -> None:
    write_results(dataset, tmp_path / "results.nc")
    with xr.open_dataset(tmp_path / "results.nc", engine="h5netcdf") as plain:
        xr.testing.assert_equal(dataset, plain.load())
        assert set(plain.coords) == set(dataset.coords)


def test_absent_dates_odd_names_and_empty_dimensions_survive(tmp_path: Path) -> None:
    dates = np.array(["2027-01-01", "NaT"], dtype="datetime64[s]")
    odd = xr.Dataset(
        {
            "draw": (("facility", "quarter"), np.zeros((0, 2)), {"units": "USD"}),
            "first": ("quarter", dates, {"units": "date"}),
            "days": ("quarter", np.array([np.nan, -0.0]), {"units": "days"}),
            "broken": ("quarter", np.array([True, False])),
            "words": ("quarter", np.array(["", "Łódź\n'=1+1 \U0001f680"], dtype=object), {"units": ""}),
            "one": ((), 3.0),
        },
        {"facility": np.array([], dtype=object), "quarter": np.array(["2027-03-31", "2027-06-30"], "datetime64[s]")},
        {f"attribute {number}": str(number) for number in range(12)},
    )
    write_results(odd, tmp_path / "odd.nc")
    again = read_results(tmp_path / "odd.nc")
    xr.testing.assert_identical(odd, again)
    assert {name: v.dtype for name, v in odd.variables.items()} == {n: v.dtype for n, v in again.variables.items()}
    assert np.signbit(again["days"].values[1])


def test_a_kind_of_value_that_no_results_hold_is_refused(tmp_path: Path) -> None:
    spans = xr.Dataset({"span": ("quarter", np.array([1], "timedelta64[s]"))}, {"quarter": [1]})
    with pytest.raises(TypeError, match="timedelta"):
        write_results(spans, tmp_path / "spans.nc")
    assert list(tmp_path.iterdir()) == []


def test_payments_are_the_claims_in_long_form_and_hold_no_formula(
    deal: ss.Deal, dataset: xr.Dataset, tmp_path: Path
) -> None:
    write_run(deal, dataset, tmp_path / "out", Timings())
    with (tmp_path / "out" / "payments.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        *("scenario", "quarter", "date", "party", "account", "claim"),
        *("due", "late", "claimed", "paid", "unpaid"),
    ]
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row.values())
    named = [row for row in rows if row["party"] == "'=cmd|' /C calc'!A0"]
    assert named
    paid = sum(float(row["paid"]) for row in named if row["scenario"] == "base")
    assert paid == pytest.approx(float(dataset["paid"].sel(party="=cmd|' /C calc'!A0", scenario="base").sum()))
    for scenario in ("base", "everything"):
        total = sum(float(row["paid"]) for row in rows if row["scenario"] == scenario and row["party"])
        assert total == pytest.approx(float(dataset["paid"].sel(scenario=scenario).sum()), abs=0.01)
    first = next(row for row in rows if row["scenario"] == "power_late" and row["claim"] == "rent")
    assert first["date"] == str(dataset["quarter"].values[list(dataset["label"].values).index(first["quarter"])])[:10]


def test_the_record_names_every_output_by_its_hash(deal: ss.Deal, dataset: xr.Dataset, tmp_path: Path) -> None:
    written = write_run(deal, dataset, tmp_path / "out", Timings())
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert [path.name for path in written] == ["results.nc", "payments.csv", "run.json"]
    assert record["outputs"].keys() == {"results.nc", "payments.csv"}
    for name, described in record["outputs"].items():
        assert described["sha256"] == hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest()
    assert record["assumptions"]["sha256"] == deal.digest
    assert record["seed"] is None
    assert record["stuckstep_version"] == dataset.attrs["stuckstep_version"]
    assert {"results.nc", "payments.csv"} <= record["seconds"].keys()


def test_two_runs_write_the_same_bytes(deal: ss.Deal, dataset: xr.Dataset, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_run(deal, dataset, tmp_path / name, Timings())
    for file in ("results.nc", "payments.csv"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.parametrize("failing", ["results.nc", "payments.csv", "run.json"])
def test_a_failed_move_leaves_the_old_files_as_they_were(
    deal: ss.Deal, dataset: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "results.nc").write_text("old results")
    (folder / "run.json").write_text("old record")
    move = os.replace

    def broken(source: Path, target: Path) -> None:
        if Path(target) == folder / failing and "old" not in Path(source).parts:
            raise OSError(28, "No space left on device")
        move(source, target)

    monkeypatch.setattr(runs.os, "replace", broken)
    with pytest.raises(ss.DealError, match="No space left"):
        write_run(deal, dataset, folder, Timings())
    assert sorted(path.name for path in folder.iterdir()) == ["results.nc", "run.json"]
    assert (folder / "results.nc").read_text() == "old results"
    assert (folder / "run.json").read_text() == "old record"


def test_a_failed_writer_leaves_no_folder_behind(deal: ss.Deal, dataset: xr.Dataset, tmp_path: Path) -> None:
    def full(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(ss.DealError, match="No space left"):
        write_run(deal, dataset, tmp_path / "new" / "out", Timings(), {"book.xlsx": full})
    assert list(tmp_path.iterdir()) == []


def test_the_folder_and_the_workbook_of_the_deal_are_never_overwritten(
    deal: ss.Deal, dataset: xr.Dataset, tmp_path: Path
) -> None:
    with pytest.raises(ss.DealError, match="own folder"):
        write_run(deal, dataset, deal.path, Timings())
    book = tmp_path / "out" / "superpod.xlsx"
    book.parent.mkdir()
    book.write_text("the deal itself")
    read_from_it = dataclasses.replace(deal, path=book)
    more = {"superpod.xlsx": lambda path: path.write_text("new")}
    written = write_run(read_from_it, dataset, book.parent, Timings(), more)
    assert book not in written
    assert book.read_text() == "the deal itself"


def test_a_file_that_is_open_in_a_spreadsheet_is_refused(deal: ss.Deal, dataset: xr.Dataset, tmp_path: Path) -> None:
    (tmp_path / ".~lock.payments.csv#").write_text("someone")
    with pytest.raises(ss.DealError, match=r"payments\.csv: is open in another program"):
        write_run(deal, dataset, tmp_path, Timings())
    assert [path.name for path in tmp_path.iterdir()] == [".~lock.payments.csv#"]
