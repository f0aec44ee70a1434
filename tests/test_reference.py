"""The reference against the worked deal, hand-worked small deals, and the laws on random deals."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import pytest

import reference

SUPERPOD = Path(__file__).parent / "golden" / "superpod"
CENT = 0.01


@pytest.fixture(scope="module")
def superpod():
    return reference.run(reference.read_tables(SUPERPOD))


def expected(name):
    with (SUPERPOD / "expected" / name).open(newline="") as file:
        return list(csv.DictReader(file))


# The worked deal ------------------------------------------------------------------------------------------------------


def test_superpod_claims(superpod):
    listed = {(row["scenario"], row["claim"], row["period"]): row for row in expected("claims.csv")}
    assert {key[0] for key in listed} == set(superpod)
    seen = set()
    for scenario, result in superpod.items():
        for claim, records in result.claims.items():
            for period, record in zip(result.periods, records, strict=True):
                seen.add((scenario, claim, period))
                row = listed.get((scenario, claim, period), {})  # an unlisted row is empty
                for column, value in record.items():
                    assert value == pytest.approx(float(row.get(column, 0)), abs=CENT), (scenario, claim, period)
    assert set(listed) <= seen


def test_superpod_cash(superpod):
    rows = expected("accounts.csv")
    assert len(rows) == 5 * 3 * 28
    for row in rows:
        result = superpod[row["scenario"]]
        cash = result.cash_closing[row["account"]][result.periods.index(row["period"])]
        assert cash == pytest.approx(float(row["cash_closing"]), abs=CENT), row


def test_superpod_facility(superpod):
    rows = expected("facilities.csv")
    assert len(rows) == 5 * 28
    for row in rows:
        result = superpod[row["scenario"]]
        period = result.periods.index(row["period"])
        for column in ("draw", "balance_closing"):
            value = result.facilities[row["facility"]][column][period]
            assert value == pytest.approx(float(row[column]), abs=CENT), row


def test_superpod_schedule(superpod):
    rows = expected("schedule.csv")
    assert len(rows) == 5 * 10
    for row in rows:
        result, day = superpod[row["scenario"]], date.fromisoformat(row["finish"])
        if row["step"] == "(billing)":
            assert (result.billing[row["phase"]], result.days_late[row["phase"]]) == (day, int(row["relief_days"]))
        else:
            key = row["phase"], row["step"]
            assert (result.finish[key], result.relief[key]) == (day, int(row["relief_days"]))


def test_superpod_stuck_steps(superpod):
    assert {scenario: result.stuck_step["su1"] for scenario, result in superpod.items()} == {
        "base": None,
        "power_late": "power",
        "spine_missing": "fabric",
        "onboarding_late": "onboarding",
        "everything": "power",
    }
