"""The reader under mutation: whatever is done to the bytes or cells of a sound deal, it is read or refused in words.

`STUCKSTEP_FUZZ_SECONDS=600 pytest tests/test_fuzz.py` goes on for so long; what it finds becomes a case of its own.
"""

from __future__ import annotations

import csv
import io
import os
import random
import tempfile
import time
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deal_files as files
from stuckstep.cli import main
from stuckstep.deal import DealError, Fault, read, schema
from stuckstep.deal.building import build_workbook

pytestmark = pytest.mark.thorough

SECONDS = float(os.environ.get("STUCKSTEP_FUZZ_SECONDS", "0"))
NASTY = [
    *("", " ", "\u00a0", "'", '"', ";", ":", "@", ",", "\n", "\t", "\0", "\ufeff", "\u202e", "\ud7ff", "\U0001f680"),
    *(
        "0",
        "-0",
        "-1",
        "1e308",
        "1e309",
        "-1e15",
        "1e15",
        "0.1",
        "1e-300",
        "nan",
        "inf",
        "007",
        "½",
        "٣",
        "1,5",
        "1.5%",
    ),
    *("2027-01-01", "0000-00-00", "9999-12-31", "2027Q4", "2150-01-01", "9999Q4", "2000-02-29", "46022", "1/2/2027"),
    *("=1+1", "=cmd|' /C calc'!A0", "+1", "@SUM(A1)", "-2+3", "#N/A", "#REF!", "NA", "None", "TRUE", "null"),
    *("base", "deal", "order", "billing", "none", "all", "Power", "power@su1", "su1", "ddtl.fee", "anchor.refund"),
    *("operating:10", "construction:10;operating:60", "operating:999999", "a:b:c", ";;", "x" * 40000, "<b>&amp;</b>"),
    *(column.column for column in schema()),
    *("scenarios", "steps", "phases", "usd", "once", "recurring", "residual", "month", "fixed", "any\r\nthing"),
]


def sound() -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(files.SUPERPOD.glob("*.csv"))} | {
        "studies.csv": b"study,kind,cell,values,measure\npower,oneway,steps.power.delay,0..90,npv:lender\n",
        "uncertainties.csv": b"uncertainty,cell,distribution,low,high\nu,steps.power.delay,uniform,0,90\n",
        "accepted.csv": b"code,row,reason\nunused,operating,because\n",
    }


def spoil_bytes(rng: random.Random, content: bytes) -> bytes:
    """A few bytes changed, left out, doubled or put in."""
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        place = rng.randrange(len(found) + 1)
        match rng.randrange(5):
            case 0:
                found[place : place + 1] = bytes([rng.randrange(256)])
            case 1:
                del found[place : place + rng.choice((1, 4, 200))]
            case 2:
                found[place:place] = rng.choice(NASTY).encode("utf-8", "surrogatepass")
            case 3:
                found[place:place] = found[: rng.randrange(80)]
            case _:
                found = found[:place]
    return bytes(found)


def spoil_cells(rng: random.Random, content: bytes) -> bytes:
    """A few cells of a table changed, swapped, or rows and columns doubled."""
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    for _ in range(rng.choice((1, 1, 2, 5))):
        row = rng.choice(rows)
        place = rng.randrange(len(row)) if row else 0
        match rng.randrange(5):
            case 0 | 1:
                row[place : place + 1] = [rng.choice(NASTY)]
            case 2:
                other = rng.choice(rows)
                row[place : place + 1] = [rng.choice(other)] if other else []
            case 3:
                rows.insert(rng.randrange(len(rows) + 1), list(row))
            case _:
                row.insert(place, rng.choice(NASTY))
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=rng.choice(",,,,;\t|")).writerows(rows)
    return stream.getvalue().encode(rng.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16")), "surrogatepass")


def spoil_folder(rng: random.Random, place: Path) -> Path:
    tables = sound()
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(list(tables))
        tables[name] = (spoil_cells if rng.random() < 0.7 else spoil_bytes)(rng, sound()[name])
    deal = place / "deal"
    deal.mkdir()
    for name, content in tables.items():
        (deal / name).write_bytes(content)
    return deal


def spoil_book(rng: random.Random, place: Path, whole: bytes) -> Path:
    deal = place / "deal.xlsx"
    if rng.random() < 0.3:
        deal.write_bytes(spoil_bytes(rng, whole))
        return deal
    inside = zipfile.ZipFile(io.BytesIO(whole))
    chosen = rng.choice([name for name in inside.namelist() if "sheet" in name or rng.random() < 0.3])
    with zipfile.ZipFile(deal, "w", zipfile.ZIP_DEFLATED) as package:
        for name in inside.namelist():
            content = inside.read(name)
            package.writestr(name, spoil_bytes(rng, content) if name == chosen else content)
    return deal


def faults_of(deal: Path) -> tuple[Fault, ...] | None:
    """The faults of a deal; None where it is read."""
    try:
        read(deal)
    except DealError as error:
        return error.faults
    return None


def survives(rng: random.Random, whole: bytes) -> None:
    """It is read, or refused with faults in single lines; `check` says so too, and meets no error of its own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        deal = spoil_folder(rng, place) if rng.random() < 0.6 else spoil_book(rng, place, whole)
        begun = time.process_time()
        faults = faults_of(deal)
        assert faults is None or (faults and all(fault.wrong and fault.allowed for fault in faults))
        result = CliRunner().invoke(main, ["check", str(deal)])
        assert result.exit_code in (0, 2), result.output
        assert (result.exit_code == 2) == bool(result.stderr)
        assert time.process_time() - begun < 20


@pytest.fixture(scope="module")
def whole() -> bytes:
    return build_workbook(read(files.SUPERPOD))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(rng=st.randoms(use_true_random=False))
def test_what_is_done_to_a_deal_is_survived(rng: random.Random, whole: bytes) -> None:
    survives(rng, whole)


@pytest.mark.skipif(not SECONDS, reason="asked for by STUCKSTEP_FUZZ_SECONDS")
def test_for_as_long_as_is_asked_for(whole: bytes) -> None:
    ends = time.monotonic() + SECONDS
    seed = done = int(os.environ.get("STUCKSTEP_FUZZ_SEED", "1"))
    while time.monotonic() < ends:
        try:
            survives(random.Random(done), whole)
        except BaseException:
            print(f"seed {done}")
            raise
        done += 1
    print(f"{done - seed} deals")
