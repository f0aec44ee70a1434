"""The what-if page in headless Chromium: dragged, typed, linked, stopped and started again."""

from __future__ import annotations

import statistics
import time

import numpy as np
import pytest

import stuckstep as ss
from deal_files import copy, put
from pages import chromium, resize, serving, troubles, wait_for
from stuckstep.deal import Cell
from stuckstep.reports.html.beside import varied

pytestmark = pytest.mark.thorough

READ = """return [...document.querySelectorAll("#figure-" + arguments[0] + " table.numbers tbody tr")].map(
    row => [...row.cells].map(cell => cell.dataset.v))"""
FIND = """const part = [...document.querySelectorAll('.control')].find(
    one => JSON.parse(one.dataset.cells).some(cell => cell.join() === arguments[0]));
part.closest('details').open = true;"""
DRAG = (
    FIND
    + """const range = part.querySelector('input[type=range]');
range.value = arguments[1]; range.dispatchEvent(new Event('input', {bubbles: true}));"""
)
TYPE = (
    FIND
    + """const typed = part.querySelector('input[type=text]');
typed.value = arguments[1]; typed.dispatchEvent(new Event('change', {bubbles: true}));"""
)
ANSWERS = "return Number(document.body.dataset.answers || 0)"
POWER = "steps,power,delay"
PATIENCE = (
    3000  # milliseconds: the aim is 300 on a quiet machine, which is printed; a machine at work may take its time
)


@pytest.fixture(scope="module")
def deal(tmp_path_factory):
    folder = copy(tmp_path_factory.mktemp("deal") / "superpod")
    put(folder, "deal", "quarters", "value", "40")
    return ss.read(folder)


@pytest.fixture(scope="module")
def port(deal):
    with serving(deal) as found:
        yield found


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


def open_page(browser, port, state=""):
    resize(browser, 1440)
    browser.get("about:blank")
    browser.get(f"http://127.0.0.1:{port}/?token=a-token{state}")
    wait_for(browser, "return Number(document.body.dataset.answers || 0) > 0")


def change(browser, script, cell, value):
    """Change a control and wait for the figures."""
    before = browser.execute_script(ANSWERS)
    browser.execute_script(script, cell, str(value))
    wait_for(browser, "return Number(document.body.dataset.answers || 0) > arguments[0]", before)


def numbers(browser, figure, start):
    rows = browser.execute_script(READ, figure)
    return np.array([[float(value) if value else np.nan for value in row[start:]] for row in rows])


def assert_shows(browser, dataset):
    """The page's unpaid map, payments and billing date are those of a run."""
    np.testing.assert_array_equal(numbers(browser, "unpaid", 1), dataset["unpaid"].values[..., 0])
    np.testing.assert_array_equal(numbers(browser, "timeline", 2)[1::3], dataset["paid"].values[..., 0])
    tile = browser.execute_script("return document.querySelectorAll('.tile')[1].textContent")
    date = dataset["billing_start"].values[0, 0].astype("datetime64[D]").item()
    assert f"{date.day} {date:%b %Y}" in tile


LATE = """const said = document.querySelector('#headline').textContent;
return said.includes(arguments[0] + ' days late') || (arguments[0] === '0' && said.includes('No step is stuck'))"""


def days_late(dataset) -> str:
    return f"{dataset['days_late'].values[0, 0]:.0f}"


def run_with(deal, changes, scenario="base"):
    return varied(deal, {"what if": (scenario, changes)}).run(["what if"])


def test_power_dragged_to_180_days_shows_what_run_says(browser, port, deal):
    open_page(browser, port)
    assert_shows(browser, deal.run(["base"]))
    change(browser, DRAG, POWER, 180)
    expected = run_with(deal, {Cell("steps", "power", "delay"): 180.0})
    assert_shows(browser, expected)
    assert expected["unpaid"].values.max() > 1e5
    drawn = browser.execute_script("return document.querySelectorAll('#figure-unpaid rect.some').length")
    assert drawn == int((expected["unpaid"].values >= 0.005).sum())
    assert troubles(browser) == []


def test_every_kind_of_control_moves_the_figures(browser, port, deal):
    cells = {
        "contracts,anchor,price": 9e6,
        "contracts,anchor,take_or_pay": 0.5,
        "contracts,anchor,utilisation": 0.6,
        "facilities,ddtl,advance_rate": 0.5,
        "facilities,ddtl,margin": 0.09,
        "claims,rent,rate": 200.0,
    }
    open_page(browser, port)
    changes = {}
    for name, value in cells.items():
        changes[Cell(*name.split(","))] = value
        change(browser, TYPE, name, value)
        assert_shows(browser, run_with(deal, changes))


def test_a_link_and_a_reload_restore_the_state(browser, port, deal):
    open_page(browser, port)
    before = browser.execute_script(ANSWERS)
    browser.execute_script(
        "const begin = document.getElementById('begin'); begin.value = 'power_late';"
        "begin.dispatchEvent(new Event('change'))"
    )
    wait_for(browser, "return Number(document.body.dataset.answers || 0) > arguments[0]", before)
    assert_shows(browser, deal.run(["power_late"]))
    change(browser, DRAG, "steps,racks,delay", 60)
    address = browser.current_url
    expected = run_with(deal, {Cell("steps", "racks", "delay"): 60.0}, "power_late")
    for go in (lambda: browser.refresh(), lambda: (browser.get("about:blank"), browser.get(address))):
        go()
        wait_for(browser, "return Number(document.body.dataset.answers || 0) > 0")
        assert browser.execute_script("return document.getElementById('begin').value") == "power_late"
        assert_shows(browser, expected)


def test_a_spoilt_link_does_no_harm(browser, port, deal):
    for state in (
        "#scenario=nobody",
        "#scenario=base&c=%5B1%5D",
        "#c=%7B",
        "#scenario=base&c=%5B%22steps%22%2C%22x%22%2C%22delay%22%2C%221%22%5D",
    ):
        open_page(browser, port, state)
        assert_shows(browser, deal.run(["base"]))
    assert troubles(browser) == []


def test_two_tabs_do_not_mix(browser, port, deal):
    open_page(browser, port)
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    try:
        open_page(browser, port)
        change(browser, DRAG, POWER, 200)
        browser.switch_to.window(first)
        change(browser, DRAG, POWER, 30)
        assert_shows(browser, run_with(deal, {Cell("steps", "power", "delay"): 30.0}))
        browser.switch_to.window(browser.window_handles[-1])
        assert_shows(browser, run_with(deal, {Cell("steps", "power", "delay"): 200.0}))
    finally:
        browser.switch_to.window(browser.window_handles[-1])
        browser.close()
        browser.switch_to.window(first)


def test_a_bad_value_is_told_and_changes_nothing(browser, port, deal):
    open_page(browser, port)
    browser.execute_script(TYPE, POWER, "soon")
    words = wait_for(
        browser, "return [...document.querySelectorAll('.wrong')].map(one => one.textContent).find(Boolean)"
    )
    assert "'soon' is not a number" in words
    assert "from 0 to 36500 is allowed" in words
    assert browser.execute_script("return document.querySelectorAll('[aria-invalid=true]').length") == 1
    assert_shows(browser, deal.run(["base"]))
    change(browser, TYPE, POWER, 20)
    assert browser.execute_script("return document.querySelectorAll('[aria-invalid=true]').length") == 0
    assert_shows(browser, run_with(deal, {Cell("steps", "power", "delay"): 20.0}))


def test_the_server_stopped_and_started_again(browser, deal):
    with serving(deal) as port:
        open_page(browser, port)
    browser.execute_script(DRAG, POWER, "120")
    wait_for(browser, "return document.getElementById('status').textContent.includes('has stopped')")
    assert_shows(browser, deal.run(["base"]))
    with serving(deal, port=port):
        wait_for(browser, "return !document.getElementById('status').classList.contains('bad')")
        expected = run_with(deal, {Cell("steps", "power", "delay"): 120.0})
        wait_for(browser, LATE, days_late(expected))
        assert_shows(browser, expected)
    with serving(deal, token="another", port=port):
        browser.execute_script(DRAG, POWER, "30")
        wait_for(browser, "return document.getElementById('status').textContent.includes('another address')")
        assert "#scenario=base" in browser.execute_script("return document.getElementById('status').textContent")


def test_a_change_is_shown_soon(browser, port):
    """A 40-quarter deal, measured by the page from the event to the figures.

    The quickest quarter of many changes counts: what else the machine does in the meantime is not the page's doing.
    """
    open_page(browser, port)
    passed = []
    for days in range(30, 181, 6):
        change(browser, DRAG, POWER, days)
        passed.append(float(browser.execute_script("return document.body.dataset.latency")))
    quick, middle, _ = statistics.quantiles(passed, n=4)
    print(f"shown after {min(passed):.0f} ms or more: a quarter within {quick:.0f}, half within {middle:.0f}")
    assert quick < PATIENCE


def test_dragging_fast_ends_at_the_last_value(browser, port, deal):
    open_page(browser, port)
    browser.execute_script(
        FIND
        + """const range = part.querySelector('input[type=range]');
        for (let day = 1; day <= 150; day++) {
            range.value = day;
            range.dispatchEvent(new Event('input', {bubbles: true}));
        }""",
        POWER,
    )
    expected = run_with(deal, {Cell("steps", "power", "delay"): 150.0})
    wait_for(browser, LATE, days_late(expected))
    assert_shows(browser, expected)


def test_the_keyboard_is_enough(browser, port, deal):
    from selenium.webdriver.common.keys import Keys

    open_page(browser, port)
    browser.execute_script(FIND + "part.querySelector('input[type=range]').focus()", "steps,onboarding,delay")
    for _ in range(3):
        browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    expected = run_with(deal, {Cell("steps", "onboarding", "delay"): 3.0})
    assert days_late(expected) == "3"
    wait_for(browser, LATE, "3")
    assert_shows(browser, expected)


def test_a_copy_is_saved_from_the_page(browser, tmp_path):
    deal = ss.read(copy(tmp_path / "superpod"))
    with serving(deal) as port:
        open_page(browser, port)
        change(browser, DRAG, POWER, 90)
        browser.execute_script(
            "document.getElementById('name').value = 'ninety'; document.getElementById('save').click()"
        )
        words = wait_for(browser, "return document.getElementById('kept').textContent")
    assert words == f"Saved in {tmp_path / 'superpod_what_if'}"
    saved = ss.read(tmp_path / "superpod_what_if").run(["ninety"])
    np.testing.assert_array_equal(
        saved["paid"].values, run_with(deal, {Cell("steps", "power", "delay"): 90.0})["paid"].values
    )


def test_the_report_is_downloaded(browser, port, deal, tmp_path):
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    open_page(browser, port)
    change(browser, DRAG, POWER, 90)
    browser.execute_script("document.querySelector('button.download').click()")
    wait_for(browser, "return document.getElementById('kept').textContent.startsWith('Downloaded')")
    until = time.monotonic() + 20
    while not (tmp_path / "report.html").exists() and time.monotonic() < until:
        time.sleep(0.05)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'data-name="what_if"' in text
    assert days_late(run_with(deal, {Cell("steps", "power", "delay"): 90.0})) + " days late" in text


@pytest.mark.parametrize("width", [1440, 390])
def test_page_fits_its_width(browser, port, width):
    open_page(browser, port)
    resize(browser, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
