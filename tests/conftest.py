"""With STUCKSTEP_LIGHT=1 the thorough tests are left to another run: they take most of the time."""

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("STUCKSTEP_LIGHT") == "1":
        for item in items:
            if item.get_closest_marker("thorough"):
                item.add_marker(pytest.mark.skip(reason="thorough: left to a run without STUCKSTEP_LIGHT"))


@pytest.fixture(scope="session")
def superpod(tmp_path_factory: pytest.TempPathFactory):  # an Exported, whose module most runs need not import
    """The workbook of superpod, which no test changes."""
    from stuckstep.deal import read
    from workbooks import ASSUMPTIONS, exported

    return exported(read(ASSUMPTIONS / "superpod"), tmp_path_factory.mktemp("book") / "superpod.xlsx")
