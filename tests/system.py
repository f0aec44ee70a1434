"""Programs of the system that some tests need: absent they are a clear skip, or a failure where they are required."""

import os
import shutil

import pytest


def require(program: str, why: str) -> str:
    """The path of a program; skips the test without it, or fails it where STUCKSTEP_REQUIRE_SYSTEM is 1."""
    found = shutil.which(program)
    if found is not None:
        return found
    missing = f"{program} is not installed: {why}"
    if os.environ.get("STUCKSTEP_REQUIRE_SYSTEM") == "1":
        pytest.fail(missing)
    pytest.skip(missing)
