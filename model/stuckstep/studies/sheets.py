"""Studies as plain tables, for pages of a workbook or of a printed report: labels, values, what fails, the base."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stuckstep.reports.sheets import Sheet, Value

from .breakeven import Test


def sheets(study: xr.Dataset) -> list[Sheet]:
    """The tables of any study's Dataset."""
    return _MAKERS[study.attrs["kind"]](study)


def _judged(study: xr.Dataset, one: xr.Dataset, columns: Sequence[int]) -> dict[str, Any]:
    """What a table of one measure says of it: where it stands, the run with nothing moved, the test if it has one."""
    measure = str(one["measure"].item())
    more = {name: study.attrs[name] for name in ("holds", "threshold") if study.attrs.get("tested") == measure}
    measured = range(columns[0], columns[-1] + 1)
    return {"measure": measure, "measured": measured, "base_value": float(one["base"].item()),
            "start": study.attrs["start"], **more}  # fmt: skip


def _failing(values: NDArray[Any], columns: Sequence[int], about: Mapping[str, Any]) -> frozenset[tuple[int, int]]:
    """Where the test fails of values (row, column) that stand in these columns."""
    if "holds" not in about:
        return frozenset()
    fails = Test(about["measure"], about["holds"], about["threshold"]).margin(values) < 0
    rows, places = (found.tolist() for found in np.nonzero(fails))
    return frozenset((row, columns[place]) for row, place in zip(rows, places, strict=True))


def _numbers(values: Iterable[Any]) -> list[float]:
    return [float(value) for value in values]


def _title(study: xr.Dataset, more: str = "") -> str:
    name = str(study.attrs.get("study", ""))
    return ": ".join(part for part in (name, more) if part)


def _oneway(study: xr.Dataset) -> list[Sheet]:
    """One table for each measure, so that each has a base of its own."""
    base = frozenset((row, 1) for row in (study.attrs["base_at"],) if row >= 0)
    found = []
    for place in range(study.sizes["measure"]):
        one = study.isel(measure=place)
        about, values = _judged(study, one, [1]), one["result"].values[:, None]
        headings, units = (_short(study.attrs["cell"]), about["measure"]), ("", str(one["unit"].item()))
        rows = _labelled(study["label"].values, values)
        failing = _failing(values, [1], about)
        found.append(Sheet(_title(study, str(one["says"].item())), headings, units, rows, failing, base, **about))
    return found


def _twoway(study: xr.Dataset) -> list[Sheet]:
    """One grid for each measure: the first cell down, the second across."""
    down, across = study.attrs["base_at"], study.attrs["base_at_2"]
    base = frozenset([(down, across + 1)] if min(down, across) >= 0 else [])
    columns = range(1, study.sizes["value_2"] + 1)
    headings = (f"{_short(study.attrs['cell'])} \\ {_short(study.attrs['cell_2'])}", *map(str, study["label_2"].values))
    found = []
    for place in range(study.sizes["measure"]):
        one = study.isel(measure=place)
        about, values = _judged(study, one, columns), one["result"].values
        units = ("", *[str(one["unit"].item())] * len(columns))
        rows = _labelled(study["label"].values, values)
        failing = _failing(values, columns, about)
        found.append(Sheet(_title(study, str(one["says"].item())), headings, units, rows, failing, base, **about))
    return found


def _short(name: str) -> str:
    """Cells moved together by the first of them."""
    first, *others = [cell.removesuffix(".value") for cell in name.split(";")]
    return f"{first} and {len(others)} more" if others else first


def _labelled(labels: Iterable[Any], values: NDArray[Any]) -> list[list[Value]]:
    return [[str(label), *_numbers(row)] for label, row in zip(labels, values, strict=True)]


def _tornado(study: xr.Dataset) -> list[Sheet]:
    """One table for each measure, the largest swing first."""
    return [_bars(study, study.isel(measure=place)) for place in range(study.sizes["measure"])]


def _bars(study: xr.Dataset, one: xr.Dataset) -> Sheet:
    low, still, high = 3, 4, 5  # columns
    about, unit = _judged(study, one, range(low, high + 1)), str(one["unit"].item())
    order = np.argsort(one["place"].values, kind="stable")
    ends, labels, swing = (one[name].values[order] for name in ("result", "end_label", "swing"))
    cells = study["cell"].values[order]
    rows: list[list[Value]] = [
        [_short(str(cells[row])), str(labels[row, 0]), str(labels[row, 1]), float(ends[row, 0]), about["base_value"],
         float(ends[row, 1]), float(swing[row])]
        for row in range(len(order))
    ]  # fmt: skip
    headings = ("cell", "lowest", "highest", "at lowest", "base", "at highest", "swing")
    units = ("", "", "", unit, unit, unit, "number" if unit in ("quarter", "date") else unit)
    failing = _failing(ends, (low, high), about)
    base = frozenset((row, still) for row in range(len(rows)))
    return Sheet(_title(study, str(one["says"].item())), headings, units, rows, failing, base, **about)


def _breakeven(study: xr.Dataset) -> list[Sheet]:
    """One row for each change of the test; one that says so where there is none."""
    unit, moved = str(study.attrs["unit"]), bool(study.attrs["over"])
    rows: list[list[Value]] = []
    for cell in range(study.sizes["cell"]):
        for over in range(study.sizes["over"]):
            one = study.isel(cell=cell, over=over)
            head: list[Value] = [_short(str(one["cell"].item())), *([float(one["over"].item())] if moved else [])]
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
    units = ("", "", *["row mean", "row error"] * 2, *["row"] * len(levels), "share")
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
