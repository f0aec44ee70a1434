"""Programs of the system that some checks want: without one they are skipped and say so, unless they are required."""

from __future__ import annotations

import os
import shutil

import pytest

REQUIRED = "STUCKSTEP_REQUIRE_SYSTEM"


def needs(program: str) -> str:
    """The path of a program. Without it the test is skipped, or fails where STUCKSTEP_REQUIRE_SYSTEM=1 is set."""
    path = shutil.which(program)
    if path is None and os.environ.get(REQUIRED) == "1":
        pytest.fail(f"{program} is required ({REQUIRED}=1) and is not installed")
    if path is None:
        pytest.skip(f"{program} is not installed: this check did not run")
    return path
