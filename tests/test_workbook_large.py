"""Large deals: 40 quarters, 40 claims, 6 phases, by quarter and by month, within a minute and a gigabyte."""

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from strategies import Row, Tables, full_row, write_tables
from system import is_required

pytestmark = pytest.mark.thorough

QUARTERS, CLAIMS, PHASES = 40, 40, 6
SECONDS, MEGABYTES = 60, 1000
STEPS = {
    "memory": ("", 182, ""),
    "chips": ("memory", 91, ""),
    "racks": ("chips", 30, "installed"),
    "hall": ("", 303, ""),
    "power": ("hall", 21, "connected"),
    "fabric": ("racks;hall", 21, ""),
    "commissioning": ("fabric;power", 14, ""),
    "platform": ("commissioning", 7, "active"),
    "onboarding": ("platform", 14, "billing"),
}
PARTIES = ["chipmaker", "memory", "builder", "landlord", "utility", "staff", "lender", "neocloud", "customer"]
EXPORT = """
import json, resource, sys, time
from stuckstep.deal import read
from stuckstep.reports.workbook import export

started = time.process_time()
report = export(read(sys.argv[1]), sys.argv[2])
seconds = time.process_time() - started
megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": seconds, "megabytes": megabytes, "formulas": report.formulas, "worst": report.worst}))
"""


def large_deal(grid: str) -> Tables:
    items = {"title": "Large", "currency": "USD", "start": "2027-01-01", "quarters": str(QUARTERS), "grid": grid}
    items |= {"base_rate": "0.04", "discount_rate": "0.08"}
    once, claims = _claims()
    return {
        "deal": [full_row("deal", item=item, value=value) for item, value in items.items()],
        "parties": [full_row("parties", party=party, role=party) for party in PARTIES],
        "phases": [_phase(number) for number in range(PHASES)],
        "steps": [
            full_row("steps", step=step, party="chipmaker", after=after, days=str(days), status=status)
            for step, (after, days, status) in STEPS.items()
        ],
        "contracts": [_contract(name) for name in ("anchor", "second")],
        "accounts": [
            full_row("accounts", account=account, party="neocloud")
            for account in ("construction", "operating", "reserve", "books")
        ],
        "claims": claims,
        "facilities": [_facility(number, once[number::2]) for number in range(2)],
        "supports": [
            full_row("supports", support="equity", party="neocloud", account="construction", commitment="90000000"),
            full_row("supports", support="books", party="chipmaker", account="books"),
        ],
        "scenarios": [
            full_row("scenarios", scenario=f"{step}_late", table="steps", row=step, column="delay", value="91")
            for step in STEPS
        ],
    }


def _phase(number: int) -> Row:
    ordered = date(2027 + number // 4, 1 + 3 * (number % 4), 15)
    contract = "anchor" if number % 2 else "second"
    sizes = {"racks": "8", "gpus_per_rack": "72", "mw": "1.2"}
    return full_row("phases", phase=f"phase{number}", order_date=str(ordered), contract=contract, **sizes)


def _contract(name: str) -> Row:
    return full_row(
        "contracts",
        contract=name,
        customer="customer",
        account="operating",
        prepay_account="construction",
        basis="usd_per_mw_year",
        price="12000000",
        escalator="0.02",
        term_days="1825",
        net_days="60",
        prepay_share="0.04",
        longstop_days="300",
        refund_from="construction:25;operating:25",
    )


def _claims() -> tuple[list[str], list[Row]]:
    """Half of the claims due once, half recurring, and four residuals."""
    residuals = [
        ("release", "construction:90", "operating", "billing"),
        ("to_reserve", "operating:80", "reserve", "billing"),
        ("distribution", "operating:90", "neocloud", "billing"),
        ("reserve_release", "reserve:90", "neocloud", "2036-01-01"),
    ]
    half = (CLAIMS - len(residuals)) // 2
    once = [f"once{number}" for number in range(half)]
    rows = [_once(number, name) for number, name in enumerate(once)]
    rows += [_recurring(number) for number in range(CLAIMS - len(residuals) - half)]
    for name, place, payee, trigger in residuals:
        rows.append(full_row("claims", claim=name, paid_from=place, payee=payee, kind="residual", trigger=trigger))
    return once, rows


def _once(number: int, name: str) -> Row:
    return full_row(
        "claims",
        claim=name,
        paid_from="construction:10;operating:60" if number % 2 else f"construction:{10 + number}",
        payee=PARTIES[number % 4],
        kind="once",
        basis="usd_per_rack",
        rate=str(100_000 + 1000 * number),
        share="0.9",
        trigger=list(STEPS)[number % len(STEPS)],
        net_days=str(10 * (number % 6)),
        late_rate="0.1",
    )


def _recurring(number: int) -> Row:
    return full_row(
        "claims",
        claim=f"running{number}",
        paid_from=f"operating:{10 + number % 5}",
        payee=PARTIES[number % 7],
        kind="recurring",
        basis="usd_per_kw_month",
        rate=str(10 + number),
        trigger=("power", "billing", "order")[number % 3],
        net_days="30",
        term_days="2190",
        escalator="0.03",
        late_rate="0.1",
    )


def _facility(number: int, eligible: list[str]) -> Row:
    return full_row(
        "facilities",
        facility=f"loan{number}",
        lender="lender",
        account="construction",
        commitment="60000000",
        advance_rate="0.4",
        eligible=";".join(eligible),
        condition="power",
        available_from="2027-04-01",
        available_until="2030-04-01",
        margin="0.04",
        commitment_fee="0.005",
        upfront_fee="0.015",
        first_repayment="2030-06-30",
        instalments="20",
        fee_from="construction:20;operating:30",
        interest_from="construction:20;operating:30",
        principal_from="operating:40",
        default_margin="0.02",
    )


@pytest.mark.parametrize("grid", ["quarter", "month"])
def test_a_large_deal_is_exported_in_time(grid: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if grid == "month" and not is_required():
        pytest.skip("the monthly one only where STUCKSTEP_REQUIRE_SYSTEM=1 asks for every check")
    deal = write_tables(large_deal(grid), tmp_path / "large")
    command = [sys.executable, "-c", EXPORT, str(deal), str(tmp_path / "large.xlsx")]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    measured = json.loads(found.stdout)
    with capsys.disabled():
        print(f"\nlarge deal by {grid}: {measured}")
    assert measured["formulas"] > {"quarter": 60_000, "month": 180_000}[grid]
    assert measured["worst"] <= 1e-9
    assert measured["seconds"] < SECONDS
    assert measured["megabytes"] < MEGABYTES
