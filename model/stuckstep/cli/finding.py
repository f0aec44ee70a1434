"""Finds the deal a user means: a path, or the name of a folder or workbook under ./assumptions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from stuckstep.api import Deal

HOME = Path("assumptions")


class OutPath(click.Path):
    """The path of a file or folder to write. An empty one is refused: it would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from stuckstep.deal import DealError, Fault

        if value == "":
            name = param.opts[0] if param else "path"
            raise DealError([Fault(name, None, None, "the path is empty", "a path, or . for this folder, is required")])
        return super().convert(value, param, ctx)


OUT_PATH = OutPath(path_type=Path)


def read_deal(named: str) -> Deal:
    """The deal a user means, read. DealError with every fault, or where there is no such deal or more than one."""
    from stuckstep.api import read

    return read(find_deal(named))


def find_deal(named: str) -> Path:
    """The path of the deal a user means. DealError where there is none or more than one."""
    from stuckstep.deal import DealError, Fault

    path = Path(named)
    if not named:
        raise DealError([Fault("DEAL", None, None, "the name is empty", _allowed())])
    if path.exists() or os.sep in named or named in (".", ".."):
        return path
    found = [place for place in (HOME / named, HOME / f"{named}.xlsx") if place.exists()]
    if len(found) > 1:
        allowed = f"{' or '.join(map(str, found))} is allowed"
        raise DealError([Fault(named, None, None, "this is both a folder and a workbook", allowed)])
    if not found:
        wrong = f"there is no such path, and no such deal under {HOME}"
        raise DealError([Fault(named, None, None, wrong, _allowed())])
    return found[0]


def _allowed() -> str:
    return f"a folder of .csv files, an .xlsx workbook or a name under {HOME} is allowed{_known()}"


def _known() -> str:
    """The deals under ./assumptions, for a message."""
    if not HOME.is_dir():
        return ""
    names = sorted(place.stem for place in HOME.iterdir() if place.is_dir() or place.suffix == ".xlsx")
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return f" ({shown})" if names else ""
