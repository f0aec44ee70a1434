"""The what-if page without a browser: it works out what `run` does, keeps states, and answers nobody else."""

from __future__ import annotations

import http.client
import json
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings

import stuckstep as ss
from deal_files import copy, put, read_table, scenario, write_table
from strategies import deals, write_tables
from stuckstep.deal import Cell, DealError
from test_report import LIMIT, numbers, tables_of

pytest.importorskip("starlette", reason="the extra app is not installed: this check did not run")

from pages import serving
from stuckstep.app import AppNotInstalled, serve
from stuckstep.app.controls import controls
from stuckstep.app.copies import report_of, save_copy, with_scenario, workbook_of
from stuckstep.app.live import WHAT_IF, Live
from stuckstep.app.states import State, StateError, read_state
from stuckstep.reports.html import report_bytes
from stuckstep.reports.html.beside import varied
from stuckstep.reports.html.page import scenario_html
from stuckstep.results import run

pytestmark = pytest.mark.thorough

POWER = Cell("steps", "power", "delay")
TOKEN = "a-token"


@pytest.fixture(scope="module")
def deal(tmp_path_factory):
    return ss.read(copy(tmp_path_factory.mktemp("deal") / "superpod"))


@pytest.fixture(scope="module")
def live(deal):
    return live_of(deal)


def live_of(deal):
    return Live(deal, [cell for one in controls(deal) for cell in one.cells])


def two_phases(folder):
    """The example with a second phase, and a scenario in which one step of it alone is late."""
    rows = read_table(copy(folder), "phases")
    write_table(folder, "phases", [*rows, {**rows[0], "phase": "su2", "order_date": "2027-07-15"}])
    scenario(folder, "su2 late", "steps", "power@su2", "delay", "60")
    return ss.read(folder)


def test_a_change_after_which_a_refund_falls_due_before_the_start_is_refused(tmp_path):
    folder = copy(tmp_path / "begun")
    put(folder, "contracts", "anchor", "prepay_share", "0.04")
    put(folder, "contracts", "anchor", "longstop_days", "340")
    for column, value in (("order_date", "2025-01-15"), ("mw", "1"), ("contract", "anchor")):
        put(folder, "phases", "live", column, value)
    for claim in (row["claim"] for row in read_table(folder, "claims") if row["kind"] == "once"):
        put(folder, "claims", claim, "phase", "su1")
    live = live_of(ss.read(folder))
    live.answer("base", {POWER: 300.0})
    with pytest.raises(DealError, match=r"anchor\.refund falls due on 2026-.* in scenario what if, before the start"):
        live.answer("base", {POWER: 400.0})


def assert_same(answer, dataset):
    """Every variable of the page's scenario equals that of a plain run, to the last bit."""
    for name in dataset.data_vars:
        here = answer.case.of(str(name))
        np.testing.assert_array_equal(here, dataset[name].transpose(..., "scenario").values[..., 0], err_msg=str(name))


def test_every_control_works_out_what_run_does(deal, live):
    """Each control moved off its value, and the same cell changed in a scenario of the sheets."""
    for one in controls(deal):
        changes = dict.fromkeys(one.cells, one.low + 0.75 * (one.high - one.low))
        changes = {cell: float(round(value)) if one.unit == "days" else value for cell, value in changes.items()}
        answer = live.answer("base", changes)
        assert_same(answer, varied(deal, {WHAT_IF: ("base", changes)}).run([WHAT_IF]))


@pytest.mark.parametrize("name", ["power_late", "everything"])
def test_a_change_on_top_of_a_scenario(deal, live, name):
    changes = {POWER: 180.0, Cell("facilities", "ddtl", "margin"): 0.07}
    answer = live.answer(name, changes)
    assert_same(answer, varied(deal, {WHAT_IF: (name, changes)}).run([WHAT_IF]))


def test_nothing_changed_is_the_scenario_itself(deal, live):
    for name in ("base", "power_late"):
        dataset = deal.run([name])
        assert_same(live.answer(name, {}), dataset)


def test_one_phase_of_several_is_moved_alone(tmp_path):
    deal = two_phases(tmp_path / "two")
    changes = {Cell("steps", "power@su1", "delay"): 45.0}
    for name in ("base", "su2 late"):
        answer = live_of(deal).answer(name, changes)
        dataset = varied(deal, {WHAT_IF: (name, changes)}).run([WHAT_IF])
        assert_same(answer, dataset)
        assert answer.case.of("days_late")[0] == dataset["days_late"].values[0, 0] > 0


def test_one_more_quarter_is_the_state_run_again(deal, live):
    answer = live.answer("base", {POWER: 180.0})
    cost = answer.beside.costs[0]
    assert cost.slip.step == "power"
    both = varied(deal, {"a": ("base", {POWER: 180.0}), "b": ("base", {POWER: 271.0})}).run(["a", "b"])
    np.testing.assert_array_equal(cost.npv, both["npv"].values[:, 1] - both["npv"].values[:, 0])
    assert np.abs(cost.npv).max() > 1e4


def test_structural_scenarios_are_worked_out_too(tmp_path):
    folder = copy(tmp_path / "structural")
    scenario(folder, "fixed end", "contracts", "anchor", "end_rule", "fixed")
    scenario(folder, "fixed end", "steps", "power", "delay", "20")
    deal = ss.read(folder)
    changes = {POWER: 120.0}
    assert_same(
        live_of(deal).answer("fixed end", changes), varied(deal, {WHAT_IF: ("fixed end", changes)}).run([WHAT_IF])
    )


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables=deals())
def test_random_deals_have_a_report_and_a_page(tmp_path_factory, tables):
    folder = tmp_path_factory.mktemp("random")
    write_tables(tables, folder)
    try:
        deal = ss.read(folder)
        dataset = deal.run()
        changes = {controls(deal)[0].cells[-1]: 45.0}
        name = str(dataset["scenario"].values[-1])
        expected = varied(deal, {WHAT_IF: (name, changes)}).run([WHAT_IF])
    except DealError:  # such as a refund that falls due before the start
        reject()
    assert len(report_bytes(deal, dataset)) < LIMIT
    answer = live_of(deal).answer(name, changes)
    assert_same(answer, expected)
    assert scenario_html(answer.case, answer.beside)


# states -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cells(live):
    return frozenset(live.cells)


def state_of(text, column="delay", row="power", table="steps", name="base"):
    return {"scenario": name, "cells": [[table, row, column, text]]}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (None, "no state"),
        ([], "no state"),
        ({"scenario": 3}, "no state"),
        ({"scenario": "base", "cells": "all"}, "no state"),
        ({"scenario": "base", "cells": [["steps", "power", "delay", 180]]}, "no state"),
        ({"scenario": "nobody", "cells": []}, "no scenario 'nobody'"),
        (state_of("1", column="days"), "cannot be changed"),
        (state_of("1", row="<script>"), "cannot be changed"),
    ],
)
def test_what_is_no_state_is_refused(deal, cells, raw, words):
    with pytest.raises(StateError, match=words):
        read_state(deal, cells, raw)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("abc", "'abc' is not a number"),
        ("-1", "-1 is below 0"),
        ("1.5", "1.5 is not a whole number"),
        ("1e9", "above 36500"),
        ("nan", "not a number"),
        ("", "blank"),
        ("9" * 101, "too long"),
    ],
)
def test_a_bad_value_is_told_with_what_is_allowed(deal, cells, text, words):
    with pytest.raises(StateError) as caught:
        read_state(deal, cells, state_of(text))
    told = caught.value.faults[POWER]
    assert words in told
    assert "from 0 to 36500 is allowed" in told


def test_thousands_may_be_separated(deal, cells):
    state = read_state(deal, cells, state_of("12,000,000", "price", "anchor", "contracts"))
    assert state.changes == {Cell("contracts", "anchor", "price"): 12e6}


# copies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", ".xlsx"])
def test_a_saved_copy_runs_to_what_the_page_showed(tmp_path, suffix):
    folder = copy(tmp_path / "superpod")
    deal = ss.read(folder)
    if suffix:
        from stuckstep.deal import write

        write(deal, tmp_path / "superpod.xlsx")
        deal = ss.read(tmp_path / "superpod.xlsx")
    state = State("power_late", {POWER: 180.0, Cell("contracts", "anchor", "utilisation"): 0.5})
    path = save_copy(deal, state, "my case", "copy")
    assert path == tmp_path / f"copy{suffix}"
    saved = ss.read(path)
    assert_same(live_of(deal).answer(state.scenario, state.changes), saved.run(["my case"]))
    for name in ("base", "power_late"):
        np.testing.assert_array_equal(saved.run([name])["paid"].values, deal.run([name])["paid"].values)
    with pytest.raises(DealError, match="something is there already"):
        save_copy(deal, state, "my case", "copy")


@pytest.mark.parametrize("name", ["../elsewhere", "a/b", "", ".hidden", "/etc/deal", "a\\b", ".."])
def test_a_copy_stays_beside_the_deal(deal, name):
    before = sorted(deal.path.parent.iterdir())
    with pytest.raises(DealError, match="no plain name"):
        save_copy(deal, State("base", {}), "case", name)
    assert sorted(deal.path.parent.iterdir()) == before


@pytest.mark.parametrize("name", ["power_late", "base", " "])
def test_a_scenario_takes_a_new_name(deal, name):
    with pytest.raises(DealError):
        with_scenario(deal, State("base", {POWER: 1.0}), name)


def test_a_deal_without_scenarios_is_saved_with_one(tmp_path):
    folder = copy(tmp_path / "plain")
    (folder / "scenarios.csv").unlink()
    deal = ss.read(folder)
    made = with_scenario(deal, State("base", {POWER: 33.0}), "first")
    assert run(made, ["first"])["days_late"].values.max() > 0
    assert [row.extras["note"] for row in made.tables["scenarios"]] == ["Set on the what-if page"]


def test_report_and_workbook_hold_the_state(deal):
    from io import BytesIO

    import openpyxl

    state = State("power_late", {POWER: 180.0})
    text = report_of(deal, state, "my case").decode()
    shown = tables_of(text).found["figure-unpaid"][1:]
    expected = varied(deal, {"my case": (state.scenario, state.changes)}).run(["my case"])["unpaid"].values[..., 0]
    np.testing.assert_array_equal([numbers(row, 1) for row in shown], expected)
    book = openpyxl.load_workbook(BytesIO(workbook_of(deal, state, "my case")), read_only=True)
    rows = [row for row in book["scenarios"].iter_rows(values_only=True) if "my case" in row]
    assert any(180 in row for row in rows)


# the server -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def port(deal):
    with serving(deal, TOKEN) as found:
        yield found


def ask(port, method="POST", path="/answer", body: object = None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    named = {"x-stuckstep-token": TOKEN} | {name.replace("_", "-"): value for name, value in headers.items()}
    content = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    try:
        connection.request(method, path, content, {name: value for name, value in named.items() if value is not None})
        response = connection.getresponse()
        return response.status, response.read(), response.headers
    finally:
        connection.close()


STATE = {"scenario": "base", "cells": [["steps", "power", "delay", "180"]]}


def test_the_page_answers_what_run_says(deal, port):
    status, body, _ = ask(port, body=STATE)
    assert status == 200
    dataset = varied(deal, {WHAT_IF: ("base", {POWER: 180.0})}).run([WHAT_IF])
    tables = tables_of(json.loads(body)["html"]).found
    np.testing.assert_array_equal(
        [numbers(row, 1) for row in tables["figure-unpaid"][1:]], dataset["unpaid"].values[..., 0]
    )


def test_the_page_needs_its_token(port):
    assert ask(port, "GET", f"/?token={TOKEN}")[0] == 200
    for path in ("/", "/?token=", "/?token=b-token", f"/?token={TOKEN}x"):
        status, body, _ = ask(port, "GET", path)
        assert status == 403
        assert TOKEN.encode() not in body
    for token in (None, "", "b-token"):
        assert ask(port, body=STATE, x_stuckstep_token=token)[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "0.0.0.0"])
def test_another_host_is_refused(port, host):
    assert ask(port, body=STATE, Host=host)[0] == 403
    assert ask(port, "GET", f"/?token={TOKEN}", Host=host)[0] == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_another_origin_is_refused(port, origin):
    assert ask(port, body=STATE, Origin=origin)[0] == 403


def test_its_own_origin_is_allowed(port):
    assert ask(port, body=STATE, Origin=f"http://127.0.0.1:{port}")[0] == 200
    assert ask(port, body=STATE, Origin=f"http://localhost:{port}", Host=f"localhost:{port}")[0] == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 400), (b"{", 400), (b"[]", 422), (b"\xff", 400), (b"1" * 1_000_001, 413), ({"scenario": "nobody"}, 422)],
)
def test_what_is_no_state_gets_an_answer_in_words(port, body, status):
    found, content, _ = ask(port, body=body)
    assert found == status
    assert json.loads(content)["wrong"]


def test_faults_name_their_cells(port):
    status, body, _ = ask(port, body=state_of("abc"))
    assert status == 422
    assert json.loads(body)["faults"][0][:3] == ["steps", "power", "delay"]
    assert "'abc' is not a number" in json.loads(body)["faults"][0][3]


def test_nothing_is_kept_or_framed_and_only_its_script_runs(port):
    _, body, headers = ask(port, "GET", f"/?token={TOKEN}")
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    nonce = headers["content-security-policy"].split("'nonce-")[1].split("'")[0]
    assert body.decode().count("<script") == body.decode().count(f'<script nonce="{nonce}">') == 2
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/answer"), ("GET", "/nothing"), ("PUT", "/"), ("GET", "/../etc/passwd")]
)
def test_other_paths_are_not_there(port, method, path):
    assert ask(port, method, path)[0] in (404, 405)


def test_save_and_downloads_over_the_wire(tmp_path):
    deal = ss.read(copy(tmp_path / "superpod"))
    with serving(deal, TOKEN) as port:
        status, body, _ = ask(port, path="/save", body={**STATE, "name": "wired", "folder": "wired copy"})
        assert (status, json.loads(body)["path"]) == (200, str(tmp_path / "wired copy"))
        assert "wired" in ss.read(tmp_path / "wired copy").run(["wired"])["scenario"].values
        status, body, _ = ask(port, path="/save", body={**STATE, "name": "wired", "folder": "wired copy"})
        assert status == 422
        assert "something is there already" in json.loads(body)["wrong"]
        status, body, headers = ask(port, path="/report", body={**STATE, "name": "wired"})
        assert status == 200
        assert body.startswith(b"<!doctype html>")
        assert headers["content-disposition"] == "attachment"


def test_a_deal_of_hostile_names_makes_a_page(tmp_path):
    from test_report import hostile

    deal = ss.read(hostile(tmp_path / "hostile"))
    with serving(deal, TOKEN) as port:
        status, body, _ = ask(port, "GET", f"/?token={TOKEN}")
    assert status == 200
    parser = tables_of(body.decode())
    assert not parser.tags & {"img", "iframe"}
    assert body.decode().count("<script") == 2


def test_the_page_listens_on_this_machine_alone(deal, monkeypatch):
    import uvicorn

    heard = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: heard.extend(one.getsockname() for one in sockets))
    told = []
    serve(deal, open_browser=False, announce=told.append)
    address, port = heard[0]
    assert address == "127.0.0.1"
    assert told[0].startswith(f"http://127.0.0.1:{port}/?token=")
    serve(deal, open_browser=False, announce=told.append)
    assert len(told[0].split("token=")[1]) >= 30
    assert told[0].split("token=")[1] != told[1].split("token=")[1]


def test_without_its_packages_the_page_says_what_to_install(deal, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(AppNotInstalled, match=r"pip install '\.\[app\]'"):
        serve(deal, open_browser=False)


def test_a_long_deal_keeps_its_numbers(tmp_path):
    folder = copy(tmp_path / "long")
    put(folder, "deal", "quarters", "value", "40")
    deal = ss.read(folder)
    changes = {POWER: 180.0}
    assert_same(live_of(deal).answer("base", changes), varied(deal, {WHAT_IF: ("base", changes)}).run([WHAT_IF]))
