"""With STUCKSTEP_LIGHT=1 the thorough tests are left to another run: they take most of the time."""

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("STUCKSTEP_LIGHT") == "1":
        for item in items:
            if item.get_closest_marker("thorough"):
                item.add_marker(pytest.mark.skip(reason="thorough: left to a run without STUCKSTEP_LIGHT"))
