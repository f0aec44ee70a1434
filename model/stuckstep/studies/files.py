"""Studies as files: one .nc for each, whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import xarray as xr

from stuckstep.deal import DealError, Fault
from stuckstep.reports.storage import write_results


def write_studies(studies: Mapping[str, xr.Dataset], folder: Path) -> list[Path]:
    """Writes each study as study_NAME.nc, over one of the same name; DealError where the folder cannot be written."""
    paths = []
    for name, study in studies.items():
        path = folder / f"study_{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)}.nc"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_results(study, path)
        except OSError as error:
            wrong = f"cannot be written ({error.strerror or error})"
            raise DealError(
                [Fault(str(folder), None, None, wrong, "a folder that can be written is allowed")]
            ) from None
        paths.append(path)
    return paths
