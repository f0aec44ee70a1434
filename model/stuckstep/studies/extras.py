"""The packages that only some studies need: imported when they are, and told where they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from stuckstep.deal import DealError, Fault

EXTRAS = {"scipy": "studies", "SALib": "studies", "numba": "fast", "distributed": "cluster", "zarr": "cluster"}


def extra(module: str) -> Any:
    """A module of an extra of the package; DealError that names the extra where it is not installed."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        allowed = f"pip install '.[{EXTRAS[package]}]' in the project's folder brings it"
        raise DealError([Fault(package, None, None, "the package is not installed", allowed)]) from None
