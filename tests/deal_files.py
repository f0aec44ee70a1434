"""Deals for tests: copies of the worked example with some cells changed."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

SUPERPOD = Path(__file__).parent / "golden" / "superpod"


def copy(folder: Path) -> Path:
    """The superpod example in a new folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in SUPERPOD.glob("*.csv"):
        shutil.copy(file, folder)
    return folder


def read_table(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_table(folder: Path, table: str, rows: list[dict[str, str]]) -> None:
    """Write rows as a table, with every column that any of them has."""
    headings = list(dict.fromkeys(name for row in rows for name in row))
    with (folder / f"{table}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, headings, restval="", lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(rows)


def put(folder: Path, table: str, row: str, column: str, value: str) -> None:
    """Change one cell; a new column or a new row is added at the end."""
    rows = read_table(folder, table)
    key = next(iter(rows[0]))
    if all(found[key] != row for found in rows):
        rows.append({key: row})
    next(found for found in rows if found[key] == row)[column] = value
    write_table(folder, table, rows)


def scenario(folder: Path, name: str, table: str, row: str, column: str, value: str) -> None:
    """Add a row to the table scenarios."""
    rows = read_table(folder, "scenarios")
    rows.append({"scenario": name, "table": table, "row": row, "column": column, "value": value})
    write_table(folder, "scenarios", rows)
