"""A state kept: the deal with one more scenario, as a new copy on disk, a workbook or a report."""

from __future__ import annotations

import tempfile
from pathlib import Path

from stuckstep.deal import Cell, Deal, DealError, Fault, Row, read, scenario_names, write
from stuckstep.reports.html import report_bytes
from stuckstep.reports.html.beside import varied
from stuckstep.results import run

from .states import State

HEADINGS = ("scenario", "table", "row", "column", "value")
NOTE = "Set on the what-if page"


def with_scenario(deal: Deal, state: State, name: str) -> Deal:
    """The deal with the state as a scenario of its own, read back from the sheets it would be written to.

    DealError where the sheets do not take it: a name that is taken, values that do not go together.
    """
    if name in scenario_names(deal) or not name.strip():
        wrong = f"there is a scenario '{name}' already" if name.strip() else "the scenario has no name"
        raise DealError([Fault("scenarios", None, "scenario", wrong, "a new name is allowed")])
    made = varied(deal, {name: (state.scenario, state.changes)})
    changed = {Cell(*(str(row.cells[heading] or "") for heading in HEADINGS[1:4])) for row in _own(made, name)}
    assert changed or not state.changes
    headings = deal.columns.get("scenarios", HEADINGS)
    columns = {**deal.columns, "scenarios": tuple(headings) + ("note",) * ("note" not in headings)}
    rows = tuple(_noted(row, state) if row.cells["scenario"] == name else row for row in made.tables["scenarios"])
    written = Deal(deal.name, {**made.tables, "scenarios": rows}, columns, deal.files, deal.path, deal.digest)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / (deal.name or "deal")
        write(written, place)
        return read(place)


def _own(deal: Deal, name: str) -> list[Row]:
    return [row for row in deal.tables["scenarios"] if row.cells["scenario"] == name]


def _noted(row: Row, state: State) -> Row:
    table, name, column = (str(row.cells[heading] or "") for heading in HEADINGS[1:4])
    return (
        Row(row.number, row.cells, {**row.extras, "note": NOTE}) if Cell(table, name, column) in state.changes else row
    )


def save_copy(deal: Deal, state: State, name: str, folder: str) -> Path:
    """Write a copy of the deal with the state as a scenario beside the deal, never over anything; gives its path.

    folder: the name of the copy, a plain one. DealError where the copy cannot be made.
    """
    if not folder.strip() or folder != Path(folder).name or folder.startswith(".") or "\\" in folder:
        raise DealError([Fault("copy", None, None, f"'{folder}' is no plain name", "a name without / is allowed")])
    path = deal.path.absolute().parent / folder
    if deal.path.suffix.lower() == ".xlsx" and path.suffix.lower() != ".xlsx":
        path = path.with_name(f"{path.name}.xlsx")
    write(with_scenario(deal, state, name), path)
    return path


def report_of(deal: Deal, state: State, name: str) -> bytes:
    """The report of base, the scenario the state began from, and the state as a scenario."""
    made = with_scenario(deal, state, name)
    return report_bytes(made, run(made, list(dict.fromkeys(("base", state.scenario, name)))), name)


def workbook_of(deal: Deal, state: State, name: str) -> bytes:
    """The live workbook of the deal with the state as a scenario, which it shows."""
    from stuckstep.reports.workbook import export  # slow to import

    made = with_scenario(deal, state, name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deal.xlsx"
        export(made, path, name)
        return path.read_bytes()
