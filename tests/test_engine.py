"""The engine against the worked deal and against the plain reference program, on deals of every shape."""

import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import reference
from compare import differences
from strategies import deals, write_tables
from stuckstep.deal import from_serial, read
from stuckstep.results import solve
from stuckstep.rules.expression import number

GOLDEN = Path(__file__).parent / "golden" / "superpod"


def _rows(name):
    with (GOLDEN / "expected" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_sums_and_products_stand_left_to_right():
    a, b, c = number(2), number(3), number(5)
    assert a + (b + c) == (a + b) + c
    assert a + (b - c) == (a + b) - c
    assert a * (b * c) == (a * b) * c
    assert a * (b / c) == (a * b) / c


def test_worked_deal_amounts():
    solution = solve(read(GOLDEN))
    place = {label: number for number, label in enumerate(solution.periods.labels)}
    scenario = {name: number for number, name in enumerate(solution.scenarios)}
    items = {
        "claims": ("claim", {name: name for name in ("due", "late", "claimed", "paid", "unpaid")}),
        "accounts": ("account", {"cash_closing": "closing"}),
        "facilities": ("facility", {"draw": "draw", "balance_closing": "balance"}),
    }
    compared = 0
    for table, (key, columns) in items.items():
        for row in _rows(table):
            for column, item in columns.items():
                got = solution.line(f"{table}.{row[key]}.{item}")[place[row["period"]], scenario[row["scenario"]]]
                assert abs(got - float(row[column])) < 0.01, (row, column, got)
                compared += 1
    assert compared == 5 * 657 + 420 + 2 * 140


def test_worked_deal_dates():
    solution = solve(read(GOLDEN))
    for row in _rows("schedule"):
        at = solution.scenarios.index(row["scenario"])
        if row["step"] == "(billing)":
            finish = solution.static(f"phases.{row['phase']}.billing")[at]
            days = solution.static(f"phases.{row['phase']}.days late")[at]
        else:
            finish = solution.static(f"steps.{row['step']}.finish@{row['phase']}")[at]
            days = solution.static(f"steps.{row['step']}.relief@{row['phase']}")[at]
        assert (from_serial(finish).isoformat(), days) == (row["finish"], float(row["relief_days"]))


@pytest.mark.thorough
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables=deals())
def test_random_deals_agree_with_the_reference(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("deal")
    write_tables(tables, folder)
    solution = solve(read(folder))
    assert differences(solution, reference.run(tables)) == []
    for scenario in range(len(solution.scenarios)):
        assert solution.line("checks.master.broken")[:, scenario].max() == 0
