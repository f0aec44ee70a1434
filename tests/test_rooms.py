"""The rooms of the house: who may import whom, and who may touch what."""

import ast
from pathlib import Path

import pytest

import stuckstep

PACKAGE = Path(stuckstep.__file__).parent
ROOMS = ["deal", "rules", "engines", "results", "reports", "studies", "app", "cli"]  # each imports only those before it
FORBIDDEN = {  # what a room may not touch
    "rules": {"numpy", "pandas", "xarray", "openpyxl", "csv", "pathlib", "os", "io"},
    "engines": {"pandas", "xarray", "csv", "pathlib"},
    "results": {"openpyxl", "click", "rich"},
    "studies": {"openpyxl", "click"},
    "deal": {"pandas", "xarray", "click", "rich"},
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "cli" if first.startswith("cli") or first in ("__init__", "__main__", "api") else first


def imports(path: Path) -> list[tuple[str, bool]]:
    """The modules a file imports by their full names, and whether only for the type checker."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and ast.unparse(test.test) == "TYPE_CHECKING"
        for node in ast.walk(test)
    }
    package = ["stuckstep", *path.relative_to(PACKAGE).parts[:-1]]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) in typing_only) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            found.append((module, id(node) in typing_only))
            found += [(f"{module}.{alias.name}", id(node) in typing_only) for alias in node.names]
    return found


def test_there_are_rooms():
    found = {room_of(path) for path in MODULES}
    assert found <= set(ROOMS)
    assert {"deal", "rules", "engines", "results", "reports", "cli"} <= found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_only(path):
    room = room_of(path)
    for module, _ in imports(path):
        if module.startswith("stuckstep.") and module.split(".")[1] in ROOMS:
            target = module.split(".")[1]
            assert ROOMS.index(target) <= ROOMS.index(room), f"{room} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_room_keeps_to_its_tools(path):
    touched = {module.split(".")[0] for module, _ in imports(path)}
    assert not touched & FORBIDDEN.get(room_of(path), set())


def test_engines_do_not_know_one_another_nor_the_rules_by_name():
    for path in MODULES:
        if room_of(path) == "engines":
            engine = path.relative_to(PACKAGE).parts[1].removesuffix(".py")
            for module, _ in imports(path):
                parts = module.split(".")
                if parts[:2] == ["stuckstep", "engines"] and len(parts) > 2:
                    assert parts[2] == engine, f"{path.name} imports {module}"
                if parts[:2] == ["stuckstep", "rules"]:
                    assert len(parts) == 2 or parts[2] in ("expression", "lines"), f"{path.name} imports {module}"


def test_only_the_excel_engine_reports_and_deal_know_openpyxl():
    knowing = {room_of(path) for path in MODULES if any(m.split(".")[0] == "openpyxl" for m, _ in imports(path))}
    assert knowing <= {"deal", "engines", "reports"}


def test_the_rules_hold_no_numbers():
    """Only constants.py does; 0 and 1 are the expressions' own, and a position in a list is no amount."""
    for path in sorted((PACKAGE / "rules").glob("*.py")):
        if path.name not in ("constants.py", "expression.py"):
            numbers = [
                node.value
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.Constant) and type(node.value) in (int, float)
            ]
            assert set(numbers) <= {0, 1}, f"{path.name} holds {numbers}"
