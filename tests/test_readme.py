"""The README says what the program says: its tables are made from the program's own."""

import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from stuckstep.cli import main
from stuckstep.deal import schema
from stuckstep.deal.limits import limits
from stuckstep.deal.warning_codes import codes
from stuckstep.rules.checks import LAWS

README = Path(__file__).parents[1] / "README.md"


def block(name: str) -> str:
    return re.search(f"<!-- {name} -->\n(.*)<!-- /{name} -->", README.read_text(encoding="utf-8"), re.S)[1]


def columns_table() -> str:
    rows = ["| table | column | what it is |", "|---|---|---|"]
    for column in schema():
        bounds = "" if column.low is None else f"{bound(column.low)} to {bound(column.high)}"
        inside = ", ".join(part for part in (column.unit, bounds) if part)
        unit = f" ({inside})" if inside else ""
        default = f" [{column.default}]" if column.default else ""
        rows.append(f"| {column.table} | `{column.column}`{default} | {column.meaning}{unit} |")
    return "\n".join(rows) + "\n"


def bound(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def laws_list() -> str:
    return "".join(f"- {law}\n" for law in LAWS.values())


def warnings_table() -> str:
    rows = ["| code | raised where | what it means | what to do |", "|---|---|---|---|"]
    rows += [f"| `{code.code}` | {code.when} | {code.means} | {code.do} |" for code in codes().values()]
    return "\n".join(rows) + "\n"


def limits_table() -> str:
    rows = ["| what | at most | |", "|---|---|---|"]
    rows += [f"| {limit.what} | {limit.most:,} | {limit.meaning} |" for limit in limits()]
    return "\n".join(rows) + "\n"


def test_the_tables_are_the_programs_own():
    """With STUCKSTEP_WRITE_README=1 the blocks are written instead, for whoever changes a column, a law or a limit."""
    blocks = {"columns": columns_table(), "laws": laws_list(), "warnings": warnings_table(), "limits": limits_table()}
    if os.environ.get("STUCKSTEP_WRITE_README") == "1":
        text = README.read_text(encoding="utf-8")
        for name, wanted in blocks.items():
            text = text.replace(f"<!-- {name} -->\n{block(name)}", f"<!-- {name} -->\n{wanted}")
        README.write_text(text, encoding="utf-8")
    for name, wanted in blocks.items():
        assert block(name) == wanted


def test_the_first_two_shell_blocks_are_the_set_up():
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert "stuckstep run assumptions/superpod" in blocks[0]
    assert "pytest" in blocks[1]


def test_the_example_in_python_says_what_it_gives(monkeypatch):
    """Every line of the block runs, and one with a number in its comment gives that number."""
    monkeypatch.chdir(README.parent)
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    names: dict[str, object] = {}
    checked = 0
    for line in filter(str.strip, example.splitlines()):
        code, _, comment = line.partition("  # ")
        if code.startswith("import ") or " = " in code:
            exec(code, names)
            continue
        value = eval(code, names)
        assert value is not None
        if number := re.match(r"[0-9,]+", comment):
            assert f"{value:,.0f}" == number[0]
            checked += 1
    assert checked == 1


def examples() -> list[tuple[str, str]]:
    """The commands of the section on studies, each with what it says they print."""
    text = re.search(
        "<!-- studies -->\n```console\n(.*)```\n<!-- /studies -->", README.read_text(encoding="utf-8"), re.S
    )
    assert text is not None
    return re.findall(r"^\$ stuckstep (.*)\n((?:(?!\$ ).*\n)+)", text[1], re.M)


@pytest.mark.parametrize(("arguments", "printed"), examples(), ids=lambda text: text.split()[0])
def test_the_studies_print_what_the_readme_says(arguments: str, printed: str, tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="scipy is an extra")
    words = shlex.split(arguments)
    words[1] = str(README.parent / "assumptions" / words[1])
    result = CliRunner().invoke(main, [*words, "--out", str(tmp_path)], env={"COLUMNS": None})
    assert result.exit_code == 0, result.output
    assert printed in result.output
