"""Programs of the system that some tests need: absent they are a clear skip, or a failure where they are required."""

import os
import shutil
import subprocess
from functools import cache
from typing import NoReturn

import pytest


def is_required() -> bool:
    """Whether the programs must be there and every check be made, as in continuous integration."""
    return os.environ.get("STUCKSTEP_REQUIRE_SYSTEM") == "1"


def require(program: str, why: str) -> str:
    """The path of a program; skips the test without it, or fails it where it is required."""
    return shutil.which(program) or _missing(f"{program} is not installed: {why}")


def require_uno() -> str:
    """The python3 of the system that has LibreOffice's module uno (Debian's package python3-uno)."""
    return _python_with_uno() or _missing("no python3 of the system has the module uno (package python3-uno)")


@cache
def _python_with_uno() -> str | None:
    for python in ("/usr/bin/python3", shutil.which("python3")):
        if python and subprocess.run([python, "-c", "import uno"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def _missing(text: str) -> NoReturn:
    if is_required():
        pytest.fail(text)
    pytest.skip(text)
