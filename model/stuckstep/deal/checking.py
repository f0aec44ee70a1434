"""Whether the rows of a deal fit together, in base and in every scenario: who is checked, and where a fault stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from stuckstep.deal import cells, crosschecks, layout
from stuckstep.deal.records import Cell, Deal, Fault, Row
from stuckstep.deal.scenarios import BASE, Index, Sheets, changed_cell, index, variants
from stuckstep.deal.view import Check, NotJudged, Problem, View, listed


@dataclass(frozen=True)
class Spoilt:
    """What had a fault when it was read and cannot be judged further: whole tables, and (table, row, column)."""

    tables: set[str]
    cells: set[tuple[str, str, str]]


def cross_faults(deal: Deal, spoilt: Spoilt) -> list[Fault]:
    """Every fault between the cells of a deal, as far as what was read can be judged.

    Structure is checked once for each group of scenarios that share it, numbers in every scenario.
    """
    changes, faults = _fitting_changes(deal, spoilt)
    deal = replace(deal, tables={**deal.tables, "scenarios": tuple(changes)})
    groups = variants(deal)
    shared = deal.index
    known = _problems(Sheets((BASE,), shared), spoilt, crosschecks.STRUCTURE)
    known |= _problems(Sheets((BASE,), shared), spoilt, crosschecks.NUMBERS)
    faults += [_base_fault(shared, problem) for problem in known]
    for group in groups:
        for scenario in (name for name in group.scenarios if name != BASE):
            sheets = Sheets((scenario,), shared)
            first = scenario == group.scenarios[0]
            found = _problems(sheets, spoilt, crosschecks.STRUCTURE) if first else {}
            found |= _problems(sheets, spoilt, crosschecks.NUMBERS, changed_only=True)
            faults += [_scenario_fault(sheets, scenario, one) for one in found if _is_new(sheets, one, known)]
    return faults


def _problems(
    sheets: Sheets, spoilt: Spoilt, checks: Mapping[str, Iterable[Check]], changed_only: bool = False
) -> dict[Problem, None]:
    """What the checks find in every row they can judge (or only in those the scenario changes)."""
    view = View(sheets, spoilt.tables, spoilt.cells)
    changed = {(cell.table, cell.row) for cell in sheets.index.changes.get(sheets.scenarios[0], {})}
    found: list[Problem] = []
    for table, functions in checks.items():
        for row in view.rows(table):
            if changed_only and (table, row) not in changed:
                continue
            for function in functions:
                try:
                    found.extend(function(view, row))
                except NotJudged:
                    continue
    return dict.fromkeys(found)


def _is_new(sheets: Sheets, problem: Problem, known: Mapping[Problem, None]) -> bool:
    return problem not in known or sheets.held(problem.cell, sheets.scenarios[0]).changed


def _base_fault(shared: Index, problem: Problem) -> Fault:
    cell, rows = problem.cell, shared.rows[problem.cell.table]
    row = rows.get(cell.row) or rows.get(cell.plain.row)
    column = cell.column if row else None
    return Fault(shared.deal.files[cell.table], row.number if row else None, column, problem.wrong, problem.allowed)


def _scenario_fault(sheets: Sheets, scenario: str, problem: Problem) -> Fault:
    """The fault at the row of the table scenarios that brings it about: the cell's own change, else the nearest."""
    cell = problem.cell
    file = sheets.deal.files["scenarios"]
    held = sheets.held(cell, scenario)
    if held.changed and held.row:
        return Fault(file, held.row.number, "value", problem.wrong, problem.allowed)

    def distance(changed: Cell) -> tuple[bool, bool, bool]:
        return changed.table != cell.table, changed.plain.row != cell.row, changed.column != cell.column

    changes = sheets.index.changes[scenario]
    row = changes[min(changes, key=distance)]
    return Fault(file, row.number, "value", f"with this, at {cell}: {problem.wrong}", problem.allowed)


def _fitting_changes(deal: Deal, spoilt: Spoilt) -> tuple[list[Row], list[Fault]]:
    """The rows of the table scenarios that name a cell there is, and a fault for each other one."""
    file = deal.files.get("scenarios", "scenarios")
    view = View(Sheets((BASE,), index(replace(deal, tables={**deal.tables, "scenarios": ()}))), spoilt.tables, set())
    seen: dict[tuple[str, Cell], int] = {}
    fitting, faults = [], []
    for row in deal.tables["scenarios"]:
        scenario, cell = cells.to_text(row.cells["scenario"]), changed_cell(row)
        if scenario.casefold() == BASE:
            allowed = "another name is allowed"
            faults.append(Fault(file, row.number, "scenario", "base is the name of the sheets themselves", allowed))
            continue
        first = seen.setdefault((scenario, cell), row.number)
        if first != row.number:
            wrong = f"{scenario} changes {cell} in row {first} already"
            faults.append(Fault(file, row.number, "row", wrong, "each cell once in a scenario is allowed"))
            continue
        problem = None if cell.table in spoilt.tables else _misfit(view, cell)
        if problem:
            faults.append(Fault(file, row.number, "row", *problem))
        elif cell.table not in spoilt.tables:
            fitting.append(row)
    return fitting, faults


def _misfit(view: View, cell: Cell) -> tuple[str, str] | None:
    """What is wrong with the row a change names, and what is allowed; None when there is such a row."""
    step, narrow, phase = cell.row.partition("@")
    if narrow and cell.table != "steps":
        return f"'{cell.row}' narrows a row of {cell.table}", "narrowing a step to a phase (step@phase) is allowed"
    parts = [(cell.table, step), ("phases", phase)] if narrow else [(cell.table, step)]
    for table, name in parts:
        names = view.sheets.keys(table)
        if name not in names and table not in view.spoilt_tables:
            wrong = f"'{name}' is not in {table}{layout.nearest(name, names)}"
            return wrong, listed(names, (table,))
    return None
