"""How what numba compiles is compiled: importing this imports numba, which takes a second."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compiled by numba, kept in a cache where a folder can be written. Never with fast-math: it changes results."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False}
    made: Any
    try:
        made = njit(cache=True, **options)(function)
    except RuntimeError:  # no folder for the cache: the package and the user's own are read-only
        made = njit(**options)(function)
    return cast(Function, made)
