"""A deal grows by rows alone: a party, a step, a claim on a third account and a facility."""

from pathlib import Path

import numpy as np

import deal_files
import reference
import stuckstep as ss
from compare import differences
from stuckstep.results import solve

GOLDEN = Path(__file__).parent / "golden" / "superpod"


def grown() -> reference.Tables:
    """The worked deal with a row more in each of these tables."""
    tables = reference.read_tables(GOLDEN)

    def add(table: str, **cells: str) -> None:
        tables[table].append({**dict.fromkeys(tables[table][0], ""), **cells})

    add("parties", party="insurer", role="insurer")
    add("parties", party="second_lender", role="lender")
    add("steps", step="inspection", party="insurer", after="onboarding", days="10")
    add("accounts", account="insurance_books", party="neocloud", opening_cash="50000")
    add(
        "claims",
        claim="premium",
        paid_from="operating:12;insurance_books:10",
        payee="insurer",
        kind="recurring",
        basis="usd_per_year",
        rate="100000",
        phase="deal",
        trigger="inspection",
        term_days="365",
    )
    add(
        "facilities",
        facility="bridge",
        lender="second_lender",
        account="construction",
        commitment="1000000",
        advance_rate="0.05",
        eligible="fabric_install",
        margin="0.08",
        first_repayment="2028-09-30",
        instalments="4",
        fee_from="construction:20;operating:30",
        interest_from="construction:20;operating:30",
        principal_from="operating:41",
    )
    return tables


def test_rows_alone_add_parties_steps_claims_and_facilities(tmp_path):
    tables = grown()
    for table, rows in tables.items():
        deal_files.write_table(tmp_path, table, rows)
    deal = ss.read(tmp_path)
    assert differences(solve(deal), reference.run(tables)) == []
    results = deal.run()
    finish = results.finish.sel(phase="su1")
    assert (finish.sel(step="inspection") > finish.sel(step="onboarding")).all()
    assert results.draw.sel(facility="bridge").sum("quarter").values.min() > 0
    assert results.paid.sel(party="second_lender").sum("quarter").values.min() > 0
    np.testing.assert_allclose(results.due.sel(party="insurer").sum("quarter"), 100_000)
    assert results.is_sound.all()
