"""Sensitivity tables: one cell over a list of values, two over a grid, many each between its low and its high."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stuckstep.deal import Cell, Deal, DealError, Fault, base

from .axes import Axis, model_of, noted
from .batch import Columns, Model, held, model
from .measures import Measure, measure, measures_of
from .runs import Runs, measured, prepared

Array = NDArray[np.float64]
LOW, HIGH = "low", "high"
MOST_RUNS = 1_000_000  # of a grid


def one_way(deal: Deal, axis: Axis, measures: Sequence[str], start: str = "base", **options: Any) -> xr.Dataset:
    """The measures for each value of one axis: `result` (measure, value), and `base` (measure) with nothing moved."""
    found = model_of(deal, [axis], start)
    wanted = measures_of(found, measures)
    values, attributes = _run(found, axis.moved, len(axis.values), wanted, options)
    coordinates = {"value": _values(axis), "label": ("value", _text(axis.labels()))}
    about = {"kind": "oneway", "cell": axis.name, "base_at": _unmoved_at(axis), **noted([axis]), **attributes}
    return _dataset(deal, found, wanted, ("value",), values[:, 1:], values[:, 0], coordinates, about)


def two_way(
    deal: Deal, rows: Axis, columns: Axis, measures: Sequence[str], start: str = "base", **options: Any
) -> xr.Dataset:
    """The measures on the grid of two axes: `result` (measure, value, value_2), and `base` with nothing moved.

    DealError where the axes share a cell.
    """
    if shared := set(rows.cells) & set(columns.cells):
        wrong = "the cell stands on both axes"
        raise DealError([Fault(str(min(shared)), None, None, wrong, "two different cells are allowed")])
    height, width = len(rows.values), len(columns.values)
    if height * width > MOST_RUNS:
        wrong, allowed = f"a grid of {height:,} x {width:,} values is asked for", f"up to {MOST_RUNS:,} are allowed"
        raise DealError([Fault(f"{rows.name}, {columns.name}", None, None, wrong, allowed)])
    found = model_of(deal, [rows, columns], start)
    wanted = measures_of(found, measures)
    moved = {cell: np.repeat(values, width) for cell, values in rows.moved.items()}
    moved |= {cell: np.tile(values, height) for cell, values in columns.moved.items()}
    values, attributes = _run(found, moved, height * width, wanted, options)
    grid = values[:, 1:].reshape(len(wanted), height, width)
    coordinates = {
        "value": _values(rows),
        "label": ("value", _text(rows.labels())),
        "value_2": ("value_2", columns.values, {"long_name": columns.name}),
        "label_2": ("value_2", _text(columns.labels())),
    }
    about = {"kind": "twoway", "cell": rows.name, "cell_2": columns.name, **attributes}
    about |= {"base_at": _unmoved_at(rows), "base_at_2": _unmoved_at(columns)} | noted([rows, columns])
    return _dataset(deal, found, wanted, ("value", "value_2"), grid, values[:, 0], coordinates, about)


def tornado(
    deal: Deal, axes: Sequence[Axis], measures: Sequence[str], start: str = "base", **options: Any
) -> xr.Dataset:
    """The measures with each axis alone at its lowest and at its highest value: `result` (measure, cell, end).

    Also `swing` (measure, cell), the distance between the two ends and base taken together, and `place`, the cell's
    place when the largest swing stands first. Cells that no end moves to a number (NaN) stand last.
    """
    _distinct(axes)
    found = model_of(deal, axes, start)
    wanted = measures_of(found, measures)
    moved = {cell: np.full(2 * len(axes), _unmoved(found, cell, deal, start)) for one in axes for cell in one.cells}
    for place, one in enumerate(axes):
        for cell, values in one.moved.items():
            moved[cell][2 * place : 2 * place + 2] = values.min(), values.max()
    values, attributes = _run(found, moved, 2 * len(axes), wanted, options)
    ends = values[:, 1:].reshape(len(wanted), len(axes), 2)
    triple = np.concatenate([ends, np.broadcast_to(values[:, :1, None], (len(wanted), len(axes), 1))], axis=2)
    swing = triple.max(axis=2) - triple.min(axis=2)
    order = np.argsort(np.argsort(np.where(np.isnan(swing), np.inf, -swing), axis=1, kind="stable"), axis=1)
    coordinates = {
        "cell": _text([one.name for one in axes]),
        "end": _text([LOW, HIGH]),
        "end_value": (("cell", "end"), np.array([[one.values.min(), one.values.max()] for one in axes])),
        "end_label": (("cell", "end"), np.array([_ends(one) for one in axes], dtype=object)),
        "base_value": ("cell", np.array([one.base for one in axes])),
    }
    about = {"kind": "tornado", **noted(axes), **attributes}
    table = _dataset(deal, found, wanted, ("cell", "end"), ends, values[:, 0], coordinates, about)
    table["swing"] = (("measure", "cell"), swing, {"long_name": "largest less smallest of both ends and base"})
    table["place"] = (("measure", "cell"), order, {"long_name": "place by swing, the largest first", "units": "1"})
    return table


def _distinct(axes: Sequence[Axis]) -> None:
    cells = [cell for one in axes for cell in one.cells]
    twice = [cell for place, cell in enumerate(cells) if cell in cells[:place]]
    if twice:
        wrong = "the cell stands there twice"
        raise DealError([Fault(str(twice[0]), None, None, wrong, "each cell once is allowed")])


def _unmoved(found: Model, cell: Cell, deal: Deal, start: str) -> float:
    value = held(deal, cell, start)
    if value is None:
        allowed = f"a number or a date in {start} is required, for the runs that move other cells"
        raise DealError([Fault(str(cell), None, None, "the cell holds none", allowed)])
    return value


def _ends(axis: Axis) -> list[str]:
    labels = axis.labels()
    return [labels[int(axis.values.argmin())], labels[int(axis.values.argmax())]]


def _run(
    found: Model, moved: Columns, count: int, wanted: Sequence[Measure], options: Mapping[str, Any]
) -> tuple[Array, dict[str, Any]]:
    """The measures (measure, run), base first; and how many runs there were and in how many a law was broken."""
    threads = options.get("threads", 1)
    more = {name: value for name, value in options.items() if name != "threads"}
    runs = measured(prepared(found, wanted, **more), moved, count, wanted, threads=threads)
    still = unmoved(found, wanted)
    attributes = {"runs": count + 1, "laws_broken": runs.broken + still.broken}
    return np.concatenate([still.values, runs.values], axis=1), attributes


def unmoved(found: Model, wanted: Sequence[Measure]) -> Runs:
    """The measures of the one run in which nothing is moved."""
    alone = model(found.deal, {}, found.start)
    measures = [measure(alone, one.name) for one in wanted]
    return measured(prepared(alone, measures), {}, 1, measures)


def _values(axis: Axis) -> Any:
    return ("value", axis.values, {"long_name": axis.name})


def _text(texts: Sequence[str]) -> NDArray[np.object_]:
    return np.array(list(texts), dtype=object)


def _unmoved_at(axis: Axis) -> int:
    """The place of the value at which every cell of an axis holds what it holds unmoved; -1 where there is none."""
    still = np.all([values == axis.bases[cell] for cell, values in axis.moved.items()], axis=0)
    return int(np.flatnonzero(still)[0]) if still.any() else -1


def _dataset(
    deal: Deal,
    found: Model,
    wanted: Sequence[Measure],
    dimensions: tuple[str, ...],
    values: Array,
    still: Array,
    coordinates: Mapping[str, Any],
    about: Mapping[str, Any],
) -> xr.Dataset:
    """The labelled table of a study."""
    coords = {
        **coordinates,
        "measure": _text([one.name for one in wanted]),
        "unit": ("measure", _text([one.unit for one in wanted])),
        "says": ("measure", _text([one.says for one in wanted])),
    }
    variables = {
        "result": (("measure", *dimensions), values, {"long_name": "the measure with the cells moved"}),
        "base": (("measure",), still, {"long_name": f"the measure in {found.start}, with nothing moved"}),
    }
    return xr.Dataset(variables, coords, {**attributes_of(deal), "start": found.start, **about})


def attributes_of(deal: Deal) -> dict[str, str]:
    """What every study says of the deal it is about."""
    title, currency = (str(base(deal).cell("deal", item, "value")) for item in ("title", "currency"))
    return {"title": title, "currency": currency, "assumptions_sha256": deal.digest}
