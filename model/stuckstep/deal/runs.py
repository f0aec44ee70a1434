"""The tables that say what to run: whether each cell they name is one that can be varied. Measures are the studies'."""

from __future__ import annotations

from collections.abc import Collection

from stuckstep.deal.cells import to_text
from stuckstep.deal.changes import cell_of
from stuckstep.deal.records import Deal, DealError, Fault

TABLES = ("studies", "uncertainties")


def run_faults(deal: Deal, spoilt: Collection[str] = ()) -> list[Fault]:
    """A fault for each cell in the tables of runs that the deal does not have, or that holds no number and no date.

    What names a row of a spoilt table is not judged.
    """
    faults = []
    for table in TABLES:
        file = deal.files.get(table, table)
        for row in deal.tables[table]:
            names = to_text(row.cells["cell"]).split(";") if row.cells["cell"] is not None else []
            for name in names:
                if name.strip().partition(".")[0] in spoilt:
                    continue
                try:
                    cell_of(deal, name)
                except DealError as error:
                    faults += [Fault(file, row.number, "cell", one.wrong, one.allowed) for one in error.faults]
    return faults
