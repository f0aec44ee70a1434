"""What the charts draw: for each, rows of live formulas by period."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from openpyxl.utils import get_column_letter

from stuckstep.engines import excel
from stuckstep.results.solve import Array
from stuckstep.rules.lines import name_of

from .model import Model


class Row(NamedTuple):
    """One series: its name, its formula with {} for the letter of a period's column, its values (period, scenario),
    and the party it is about, if it is about one."""

    name: str
    formula: str
    values: Array
    party: str = ""


class Picture(NamedTuple):
    """A chart of stacked columns; one of debt has DSCRs as marks on a second axis."""

    title: str
    says: str
    rows: Callable[[Model], list[Row]]
    has_cover: bool = False
    has_uses: bool = False  # below the axis
    is_shortfall: bool = False


def paid(model: Model) -> list[Row]:
    return _by_party(model, "paid")


def unpaid(model: Model) -> list[Row]:
    return _by_party(model, "unpaid")


def cash(model: Model) -> list[Row]:
    return [_row(model, [name_of("accounts", one, "closing")], one) for one in model.sheets.keys("accounts")]


def balances(model: Model) -> list[Row]:
    return [_row(model, [name_of("facilities", one, "balance")], one) for one in model.sheets.keys("facilities")]


def sources_and_uses(model: Model) -> list[Row]:
    """Sources above the axis and uses below it: what came in, by kind, and what was paid, by party."""
    rows = []
    for item in ("collected", "prepaid"):
        lines = [line.name for line in model.lines.values() if line.table == "contracts" and line.item == item]
        if lines:
            rows.append(_row(model, lines, f"customers: {item}"))
    rows += [
        _row(model, [name_of("facilities", one, "draw")], f"draw: {one}") for one in model.sheets.keys("facilities")
    ]
    rows += [
        _row(model, [name_of("supports", one, "paid")], f"support: {one}") for one in model.sheets.keys("supports")
    ]
    return rows + [row._replace(name=f"to {row.name}") for row in _by_party(model, "paid", is_use=True)]


PICTURES: Sequence[Picture] = (
    Picture("Payment order: what each party is paid", "Stacked by party: what is paid in each period", paid),
    Picture(
        "Sources (above) and uses (below)",
        "Above the axis what comes in, by kind; below it what is paid, by party",
        sources_and_uses,
        has_uses=True,
    ),
    Picture("Cash by account", "What each account holds at the end of the period", cash),
    Picture(
        "Debt outstanding, and DSCR where an instalment falls due",
        "DSCR: marks, right axis. Before the first instalment equity and draws pay the interest, as planned; no mark "
        "where no instalment falls due; what lies outside the axis is drawn at its end",
        balances,
        has_cover=True,
    ),
    Picture("Shortfall: what is still unpaid to each party", "", unpaid, is_shortfall=True),
)


def _by_party(model: Model, item: str, *, is_use: bool = False) -> list[Row]:
    """A row for each party that is a payee of anything."""
    lines = {party: name_of("parties", party, item) for party in model.sheets.keys("parties")}
    payees = {party: name for party, name in lines.items() if model.lines[name].kind != "static"}
    return [_row(model, [name], party, is_use=is_use)._replace(party=party) for party, name in payees.items()]


def _row(model: Model, lines: Sequence[str], name: str, *, is_use: bool = False) -> Row:
    """The sum of some lines; a use is shown below the axis."""
    cells, values = [], np.zeros((len(model.periods.labels), len(model.scenarios)))
    for line in lines:
        sheet, row = model.layout.lines[line]
        is_static = model.lines[line].kind == "static"
        cells.append(f"{sheet}!${get_column_letter(excel.CONSTANT)}${row}" if is_static else f"{sheet}!{{}}{row}")
        values = values + model.values(line)
    return Row(name, f"={'-1*' if is_use else ''}{'+'.join(cells)}", values)
