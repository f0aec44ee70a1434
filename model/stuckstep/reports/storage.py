"""results.nc: the Dataset as a NetCDF-4 file, and the same Dataset again from it.

The file is written through h5py, in the layout the NetCDF-4 library gives it (every coordinate is a dimension scale):
ten times as fast as through xarray, and read by anything that reads NetCDF-4. Three things a file cannot hold as they
are are put in other words and back: `units` of dates (NetCDF needs the field for the epoch), `days` as a unit (which
readers take for a span of time), and truth values.
"""

import io
from os import PathLike
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stuckstep.deal.placing import put

EPOCH = "seconds since 1970-01-01"
_SAID = "said_units"  # where the units of a date stand in the file
_NO_DATE = np.iinfo(np.int64).min
_IN_FILE, _IN_MEMORY = {"days": "day"}, {"day": "days"}


def write_results(dataset: xr.Dataset, path: str | PathLike[str]) -> None:
    """Writes a Dataset whose dimensions all have coordinates to a NetCDF-4 file, which appears whole or not at all.

    OSError where it cannot be written; TypeError for a kind of value that no results hold.
    """
    content = io.BytesIO()  # a full disk under an open HDF5 file ends the program without a word
    _write(dataset, content)
    put(Path(path), lambda part: part.write_bytes(content.getbuffer()))


def read_results(path: str | PathLike[str]) -> xr.Dataset:
    """The Dataset in a file of `write_results`, identical to what was written. OSError where it cannot be read."""
    dates = xr.coders.CFDatetimeCoder(time_unit="s")
    dataset = xr.load_dataset(path, engine="h5netcdf", decode_times=dates, decode_timedelta=False)
    for name, variable in dataset.variables.items():
        if variable.dtype.kind in "UT":
            dataset[name] = variable.astype(object)
    for variable in dataset.variables.values():
        said = variable.attrs.pop(_SAID, None) or _IN_MEMORY.get(variable.attrs.get("units", ""))
        if said is not None:
            variable.attrs["units"] = said
    return dataset


def _write(dataset: xr.Dataset, content: io.BytesIO) -> None:
    with h5py.File(content, "w", track_order=True) as file:
        scales = {}
        for place, name in enumerate(dataset.sizes):
            scales[name] = _create(file, str(name), dataset.variables[name])
            scales[name].make_scale(str(name))
            scales[name].attrs["_Netcdf4Dimid"] = np.int32(place)
        for name, variable in dataset.variables.items():
            if name not in dataset.sizes:
                stored = _create(file, str(name), variable)
                for axis, dimension in enumerate(variable.dims):
                    stored.dims[axis].attach_scale(scales[dimension])
        for key, value in dataset.attrs.items():
            file.attrs[str(key)] = value
        beside = [str(name) for name in dataset.coords if name not in dataset.sizes]
        if beside:
            file.attrs["coordinates"] = " ".join(beside)


def _create(file: h5py.File, name: str, variable: xr.Variable) -> h5py.Dataset:
    values, marks = _encoded(variable.values)
    kind = h5py.string_dtype() if values.dtype == object else values.dtype
    stored = file.create_dataset(name, data=values, dtype=kind)
    attributes = {str(key): value for key, value in variable.attrs.items()}
    units = attributes.get("units")
    if "units" in marks and units is not None:
        attributes[_SAID] = attributes.pop("units")
    elif units in _IN_FILE:
        attributes["units"] = _IN_FILE[units]
    for key, value in {**attributes, **marks}.items():
        stored.attrs[key] = value
    return stored


def _encoded(values: NDArray[Any]) -> tuple[NDArray[Any], dict[str, Any]]:
    """Values as the file holds them, and the attributes by which a reader knows what they were."""
    match values.dtype.kind:
        case "M":
            seconds = values.astype("datetime64[s]").astype(np.int64)
            missing = {"_FillValue": np.int64(_NO_DATE)} if np.isnat(values).any() else {}
            return seconds, {"units": EPOCH, "calendar": "proleptic_gregorian", **missing}
        case "b":
            return values.astype(np.int8), {"dtype": "bool"}
        case "O" | "i" | "u" | "f":
            return values, {}
    raise TypeError(f"results hold no values of the type {values.dtype}")
