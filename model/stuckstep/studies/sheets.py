"""Studies as plain tables, for pages of a workbook or of a printed report: labels, values, what fails, the base."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from .breakeven import Test

Value = str | float | bool


class Sheet(NamedTuple):
    """A table of a study.

    headings name the columns and units says in what each is: blank for text, `row` for the unit in the row's second
    cell, `row mean` for a mean in it. rows hold text and numbers, NaN for nothing; dates are serials and quarters
    positions from 0. failing holds (row, column) of what fails the study's test. base is where the deal itself stands,
    (row, column), when one of the cells is that run; base_value is the measure of the deal itself, for a live cell
    beside the table; measure and start say which measure of which scenario that is.
    """

    title: str
    headings: tuple[str, ...]
    units: tuple[str, ...]
    rows: Sequence[Sequence[Value]]
    failing: frozenset[tuple[int, int]] = frozenset()
    base: tuple[int, int] | None = None
    base_value: float = float("nan")
    measure: str = ""
    start: str = "base"


def sheets(study: xr.Dataset) -> list[Sheet]:
    """The tables of any study's Dataset."""
    return _MAKERS[study.attrs["kind"]](study)


def _test(study: xr.Dataset, measure: str) -> Test | None:
    """The test that the cells of a measure are held against, where the study has one for it."""
    if study.attrs.get("tested") != measure:
        return None
    return Test(measure, study.attrs["holds"], study.attrs["threshold"])


def _failing(test: Test | None, values: NDArray[Any], first_column: int) -> frozenset[tuple[int, int]]:
    if test is None:
        return frozenset()
    rows, columns = np.nonzero(test.margin(values) < 0)
    return frozenset((int(row), int(column) + first_column) for row, column in zip(rows, columns, strict=True))


def _numbers(values: Iterable[Any]) -> list[float]:
    return [float(value) for value in values]


def _title(study: xr.Dataset, more: str = "") -> str:
    name = str(study.attrs.get("study", ""))
    return ": ".join(part for part in (name, more) if part)


def _position(values: NDArray[Any], base: float) -> int | None:
    """Where an axis holds what the deal holds."""
    found = np.flatnonzero(values == base)
    return int(found[0]) if found.size else None


def _oneway(study: xr.Dataset) -> list[Sheet]:
    """One table for each measure, so that each has a base of its own."""
    at = _position(study["value"].values, study.attrs["base_value"])
    return [_line(study, str(measure), at) for measure in study["measure"].values]


def _line(study: xr.Dataset, measure: str, at: int | None) -> Sheet:
    one = study.sel(measure=measure)
    values = one["result"].values[:, None]
    rows: list[list[Value]] = [
        [str(label), float(value)] for label, value in zip(study["label"].values, values[:, 0], strict=True)
    ]
    return Sheet(
        _title(study, str(one["says"].item())),
        (study.attrs["cell"], measure),
        ("", str(one["unit"].item())),
        rows,
        _failing(_test(study, measure), values, 1),
        None if at is None else (at, 1),
        float(one["base"].item()),
        measure,
        study.attrs["start"],
    )


def _twoway(study: xr.Dataset) -> list[Sheet]:
    """One grid for each measure: the first cell down, the second across."""
    down = _position(study["value"].values, study.attrs["base_value"])
    across = _position(study["value_2"].values, study.attrs["base_value_2"])
    base = None if down is None or across is None else (down, across + 1)
    return [_grid(study, str(measure), base) for measure in study["measure"].values]


def _grid(study: xr.Dataset, measure: str, base: tuple[int, int] | None) -> Sheet:
    one = study.sel(measure=measure)
    values = one["result"].values
    rows: list[list[Value]] = [
        [str(label), *_numbers(row)] for label, row in zip(study["label"].values, values, strict=True)
    ]
    return Sheet(
        _title(study, str(one["says"].item())),
        (f"{study.attrs['cell']} \\ {study.attrs['cell_2']}", *map(str, study["label_2"].values)),
        ("", *[str(one["unit"].item())] * values.shape[1]),
        rows,
        _failing(_test(study, measure), values, 1),
        base,
        float(one["base"].item()),
        measure,
        study.attrs["start"],
    )


def _tornado(study: xr.Dataset) -> list[Sheet]:
    """One table for each measure, the largest swing first."""
    return [_bars(study, str(measure)) for measure in study["measure"].values]


def _bars(study: xr.Dataset, measure: str) -> Sheet:
    one = study.sel(measure=measure)
    still = float(one["base"].item())
    order = np.argsort(one["place"].values, kind="stable")
    ends, labels, swing = (one[name].values[order] for name in ("result", "end_label", "swing"))
    cells = study["cell"].values[order]
    rows: list[list[Value]] = [
        [str(cells[row]), str(labels[row, 0]), str(labels[row, 1]), float(ends[row, 0]), still, float(ends[row, 1]),
         float(swing[row])]
        for row in range(len(order))
    ]  # fmt: skip
    failing = {(row, 3 if column == 0 else 5) for row, column in _failing(_test(study, measure), ends, 0)}
    return Sheet(
        _title(study, str(one["says"].item())),
        ("cell", "lowest", "highest", "at lowest", "base", "at highest", "swing"),
        ("", "", "", *[str(one["unit"].item())] * 4),
        rows,
        frozenset(failing),
        None,
        still,
        measure,
        study.attrs["start"],
    )


def _breakeven(study: xr.Dataset) -> list[Sheet]:
    """One row for each change of the test; one that says so where there is none."""
    unit, moved = str(study.attrs["unit"]), bool(study.attrs["over"])
    rows: list[list[Value]] = []
    for cell in range(study.sizes["cell"]):
        for over in range(study.sizes["over"]):
            one = study.isel(cell=cell, over=over)
            head: list[Value] = [str(one["cell"].item()), *([float(one["over"].item())] if moved else [])]
            rows += [[*head, str(one["found"].item()), *answer] for answer in _answers(one)]
    date = "date" if bool(study["is_date"].values.all()) else "number"
    more = (study.attrs["over"],) if moved else ()
    headings = ("cell", *more, "answers", "holds at", "fails at", "measure there", "measure beyond", "how")
    units = ("", *["number"] * len(more), "", date, date, unit, unit, "")
    return [Sheet(_title(study, str(study.attrs["test"])), headings, units, rows, start=study.attrs["start"])]


def _answers(one: xr.Dataset) -> list[list[Value]]:
    """The changes of one lane; one without numbers where there is none."""
    found: list[list[Value]] = []
    for answer in range(one.sizes["answer"]):
        at = one.isel(answer=answer)
        ends = _numbers(at[name].item() for name in ("holds_at", "fails_at", "before", "after"))
        if not np.isnan(ends[0]):
            found.append([*ends, "a jump" if bool(at["jump"].item()) else "a crossing"])
    return found or [[*[float("nan")] * 4, ""]]


def _montecarlo(study: xr.Dataset) -> list[Sheet]:
    """The measures, what may go wrong, and the stuck steps."""
    levels = study["quantile"].values
    rows: list[list[Value]] = []
    for place, measure in enumerate(study["measure"].values):
        one = study.isel(measure=place)
        means = _numbers(one[name].item() for name in ("mean", "mean_error", "shortfall", "shortfall_error"))
        absent = float(one["absent"].item())
        rows.append([str(measure), str(one["unit"].item()), *means, *_numbers(one["quantiles"].values), absent])
    heads = (
        "measure",
        "unit",
        "mean",
        "+-",
        "shortfall",
        "+-",
        *(f"{100 * level:.15g}%" for level in levels),
        "absent",
    )
    units = ("", "", *["row mean"] * 4, *["row"] * len(levels), "share")
    pairs = zip(study["what"].values, study["probability"].values, study["probability_error"].values, strict=True)
    events: list[list[Value]] = [[str(what), float(share), float(error)] for what, share, error in pairs]
    stuck = study["stuck"].transpose("phase", "step").values
    steps = [str(step) or "none" for step in study["step"].values]
    held: list[list[Value]] = [[str(p), *_numbers(row)] for p, row in zip(study["phase"].values, stuck, strict=True)]
    return [
        Sheet(_title(study, "the measures over all draws"), heads, units, rows, start=study.attrs["start"]),
        Sheet(_title(study, "how often"), ("what happens", "share of draws", "+-"), ("", "share", "share"), events),
        Sheet(_title(study, "the stuck step"), ("phase", *steps), ("", *["share"] * len(steps)), held),
    ]


def _attribution(study: xr.Dataset) -> list[Sheet]:
    """Measures down, causes across, in the unit of each row."""
    causes = [str(cause) for cause in study["cause"].values]
    rows: list[list[Value]] = []
    for place in range(study.sizes["measure"]):
        one = study.isel(measure=place)
        values = [one["without"].item(), *one["share"].values, one["with_all"].item()]
        rows.append([str(one["measure"].item()), str(one["unit"].item()), *_numbers(values)])
    headings = ("measure", "unit", "without", *causes, "with all")
    units = ("", "", *["row mean"] * (len(causes) + 2))
    return [Sheet(_title(study, "what each cause changed"), headings, units, rows, start=study.attrs["start"])]


def _delay(study: xr.Dataset) -> list[Sheet]:
    """Steps down, parties across."""
    parties = [str(party) for party in study["party"].values]
    late = study["days_late"].values
    found = []
    for what in ("npv", "net", "unpaid"):
        values = study[what].transpose("step", "party").values
        rows: list[list[Value]] = [
            [str(step), *_numbers(row), float(days)]
            for step, row, days in zip(study["step"].values, values, late, strict=True)
        ]
        heads, units = ("step", *parties, "days late"), ("", *[str(study[what].attrs["units"])] * len(parties), "days")
        found.append(
            Sheet(_title(study, str(study[what].attrs["long_name"])), heads, units, rows, start=study.attrs["start"])
        )
    return found


def _indices(study: xr.Dataset) -> list[Sheet]:
    """Measures down, inputs across: alone, then with all they act together with."""
    inputs = [str(one) for one in study["input"].values]
    found = []
    for what in ("first", "total"):
        pairs = zip(study["measure"].values, study[what].values, strict=True)
        rows: list[list[Value]] = [[str(measure), *_numbers(row)] for measure, row in pairs]
        units = ("", *["share"] * len(inputs))
        found.append(Sheet(_title(study, str(study[what].attrs["long_name"])), ("measure", *inputs), units, rows))
    return found


_MAKERS = {
    "oneway": _oneway,
    "twoway": _twoway,
    "tornado": _tornado,
    "breakeven": _breakeven,
    "montecarlo": _montecarlo,
    "attribution": _attribution,
    "delay": _delay,
    "indices": _indices,
}
