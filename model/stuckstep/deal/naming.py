"""Names that are spelled in another case or width than where they are defined: read as the name that is meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from stuckstep.deal import layout
from stuckstep.deal.cells import quoted, to_text
from stuckstep.deal.lettering import fold, tidy
from stuckstep.deal.records import Place, Reading, Row, Value

Tables = Mapping[str, tuple[Row, ...]]
_NAMING = ("ref", "refs", "places", "trigger")


def as_known(tables: Tables, files: Mapping[str, str]) -> tuple[dict[str, tuple[Row, ...]], list[Reading]]:
    """The tables with every name spelled as where it is defined, and a reading for each that was not."""
    names = {table: _spellings(str(row.cells[layout.key(table)]) for row in rows) for table, rows in tables.items()}
    for source in {source for column in layout.schema() for source in column.sources if "." in source}:
        table, _, suffix = source.partition(".")
        names[source] = _spellings(f"{name}.{suffix}" for name in names[table].values())
    found: dict[str, tuple[Row, ...]] = {}
    log: list[Reading] = []
    for table, rows in tables.items():
        spelled = []
        for row in rows:
            cells = _change(row.cells, names) if table == "scenarios" else _row(table, row.cells, names)
            spelled.append(replace(row, cells=cells))
            log += [
                Reading(files[table], row.number, column, quoted(to_text(row.cells[column])), quoted(to_text(value)))
                for column, value in cells.items()
                if value != row.cells[column]
            ]
        found[table] = tuple(spelled)
    return found, log


def _spellings(names: Iterable[str]) -> dict[str, str]:
    """Names by what all their spellings share; the first of two."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(fold(name), name)
    return found


def _row(table: str, cells: Mapping[str, Value], names: Mapping[str, Mapping[str, str]]) -> dict[str, Value]:
    columns = layout.columns(table)
    found = {name: _spelled(columns[name], value, names) if name in columns else value for name, value in cells.items()}
    if table in layout.REPEATED:  # rows of one name belong together
        key = layout.key(table)
        found[key] = names[table][fold(to_text(cells[key]))]
    return found


def _change(cells: Mapping[str, Value], names: Mapping[str, Mapping[str, str]]) -> dict[str, Value]:
    """A row of the table scenarios: its own name, the row it changes, and the value as the column it changes."""
    table, row = to_text(cells["table"]), to_text(cells["row"])
    name, narrow, phase = (tidy(part) for part in row.partition("@"))
    row = f"{names[table].get(fold(name), name)}{narrow}{names['phases'].get(fold(phase), phase)}"
    scenario = to_text(cells["scenario"])
    column = layout.column_of(table, row if table == "deal" else "", to_text(cells["column"]) or "value")
    value = _spelled(column, cells["value"], names)
    return {**cells, "scenario": names["scenarios"].get(fold(scenario), scenario), "row": row, "value": value}


def _spelled(column: layout.Column, value: Value, names: Mapping[str, Mapping[str, str]]) -> Value:
    """A value with its names as they are defined; names that are not known stay as they are."""
    if column.type not in _NAMING or not isinstance(value, (str, tuple)):
        return value

    def spell(name: str) -> str:
        if name in column.words or any(name in names[source].values() for source in column.sources):
            return name
        return next((known for source in column.sources if (known := names[source].get(fold(name)))), name)

    if isinstance(value, str):
        return spell(value)
    return _each(value, spell)


def _each(value: tuple[str, ...] | tuple[Place, ...], spell: Callable[[str], str]) -> Value:
    if all(isinstance(one, Place) for one in value):
        return tuple(Place(spell(one.account), one.rank) for one in value if isinstance(one, Place))
    return tuple(spell(one) for one in value if isinstance(one, str))
