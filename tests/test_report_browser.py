"""The report in headless Chromium: opened from disk without a network, read back from the page."""

from __future__ import annotations

import numpy as np
import pytest

import stuckstep as ss
from deal_files import copy
from pages import chromium, resize, troubles, wait_for
from stuckstep.reports.html import write_report
from test_report import HOSTILE, hostile

pytestmark = pytest.mark.thorough

FIGURES = ("timeline", "unpaid", "waits", "steps", "quarter", "idle", "flows", "cash", "debt", "mw", "compare")
READ = """return [...document.querySelectorAll("#figure-" + arguments[0] + " table.numbers tbody tr")].map(
    row => [...row.cells].map(cell => [cell.textContent, cell.dataset.v]))"""


@pytest.fixture(scope="module")
def deal(tmp_path_factory):
    return ss.read(copy(tmp_path_factory.mktemp("deal") / "superpod"))


@pytest.fixture(scope="module")
def dataset(deal):
    return deal.run()


@pytest.fixture(scope="module")
def page(deal, dataset, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(deal, dataset, path, "power_late")
    return path.as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def opened(browser, page):
    resize(browser, 1440)
    browser.get("about:blank")
    browser.get(page)
    return browser


def shown(browser, figure: str, start: int) -> tuple[list[str], np.ndarray]:
    rows = browser.execute_script(READ, figure)
    values = [[float(value) if value else np.nan for _, value in row[start:]] for row in rows]
    return [row[0][1] for row in rows], np.array(values)


def test_every_figure_is_drawn_and_nothing_is_asked_for(opened):
    for figure in FIGURES:
        size = opened.execute_script(
            "const box = document.querySelector('#figure-' + arguments[0]).getBoundingClientRect();"
            "return [box.width, box.height]",
            figure,
        )
        assert size[0] > 500, figure
        assert size[1] > 80, figure
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert troubles(opened) == []


def test_figures_say_what_the_run_says(opened, dataset):
    here = dataset.sel(scenario="power_late")
    parties, values = shown(opened, "timeline", 2)
    assert parties[::3] == list(dataset["party"].values)
    for item, name in enumerate(("due", "paid", "unpaid")):
        np.testing.assert_array_equal(values[item::3], here[name].values)
    np.testing.assert_array_equal(shown(opened, "unpaid", 1)[1], here["unpaid"].values)
    np.testing.assert_array_equal(shown(opened, "cash", 2)[1][0::2], here["cash_closing"].values)
    np.testing.assert_array_equal(shown(opened, "debt", 2)[1][0::2], here["balance_closing"].values)
    np.testing.assert_array_equal(shown(opened, "mw", 1)[1], here["mw"].values)


def test_bars_are_as_high_as_the_amounts(opened, dataset):
    """The heights of the drawn bars of every party, quarter by quarter, against the results."""
    here = dataset.sel(scenario="power_late")
    heights = opened.execute_script("""
        const found = {};
        for (const draw of document.querySelectorAll('#figure-timeline .draw[data-rows]')) {
            const party = Number(draw.dataset.rows.split(' ')[0]) / 3, box = draw.getBoundingClientRect();
            for (const kind of ['paid', 'unpaid', 'due'])
                found[party + kind] = [...draw.querySelectorAll('rect.' + kind)].map(bar => {
                    const size = bar.getBoundingClientRect();
                    return [(size.left + size.width / 2 - box.left) / box.width, Number(bar.getAttribute('height'))];
                });
        }
        return found;""")
    count = dataset.sizes["quarter"]
    checked = 0
    for place, party in enumerate(dataset["party"].values):
        amounts = {kind: here[kind].sel(party=party).values for kind in ("paid", "unpaid", "due")}
        largest = max((amounts["paid"] + amounts["unpaid"]).max(), amounts["due"].max(), 0.01)
        for kind, values in amounts.items():
            drawn = dict.fromkeys(range(count), 0.0)
            for middle, height in heights[f"{place}{kind}"]:
                drawn[int(middle * count)] = height
            for quarter, value in enumerate(values):
                assert (drawn[quarter] > 0) == (value >= 0.005)
                if value / largest > 0.06:  # lower bars are drawn high enough to be seen
                    assert drawn[quarter] == pytest.approx(29 * value / largest, abs=0.02)
                    checked += 1
    assert checked > 50


def test_another_scenario_is_shown_and_linked(opened, page, dataset):
    opened.execute_script("""
        const picker = document.getElementById('scenario');
        picker.value = 'base'; picker.dispatchEvent(new Event('change'));""")
    wait_for(opened, "return document.getElementById('scenario-name').dataset.name === 'base'")
    np.testing.assert_array_equal(shown(opened, "unpaid", 1)[1], dataset["unpaid"].sel(scenario="base").values)
    name = str(dataset["scenario"].values[-1])
    opened.get("about:blank")
    opened.get(f"{page}#scenario={name}")
    wait_for(opened, "return document.getElementById('scenario-name').dataset.name === arguments[0]", name)
    np.testing.assert_array_equal(shown(opened, "timeline", 2)[1][1::3], dataset["paid"].sel(scenario=name).values)
    assert troubles(opened) == []


def test_table_is_copied_in_full(opened, dataset):
    opened.execute_script("document.querySelector('#figure-unpaid details').open = true")
    button = opened.find_element("css selector", "#figure-unpaid .copy")
    opened.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
    button.click()
    text = wait_for(opened, "return document.querySelector('#figure-unpaid .copy').dataset.copied")
    rows = [line.split("\t") for line in text.split("\n")]
    assert rows[0][1:] == list(dataset["label"].values)
    copied = np.array([[float(value) for value in row[1:]] for row in rows[1:]])
    np.testing.assert_array_equal(copied, dataset["unpaid"].sel(scenario="power_late").values)


def test_pictures_answer_the_keyboard(opened, dataset):
    from selenium.webdriver.common.keys import Keys

    picture = opened.find_element("css selector", "#figure-unpaid .strips")
    opened.execute_script("arguments[0].focus()", picture)
    for _ in range(5):
        picture.send_keys(Keys.ARROW_RIGHT)
    words = opened.execute_script(
        "const tip = document.getElementById('tip'); return tip.hidden ? '' : tip.textContent"
    )
    assert words.startswith(str(dataset["label"].values[4]))
    assert str(dataset["party"].values[0]) in words
    picture.send_keys(Keys.ARROW_DOWN)
    words = opened.execute_script("return document.getElementById('tip').textContent")
    assert str(dataset["party"].values[1]) in words
    picture.send_keys(Keys.ESCAPE)
    assert opened.execute_script("return document.getElementById('tip').hidden")


@pytest.mark.parametrize("width", [1440, 768, 390])
def test_page_fits_its_width(opened, width):
    resize(opened, width)
    assert opened.execute_script("return document.documentElement.scrollWidth") <= width


def test_controls_and_pictures_are_named(opened):
    unnamed = opened.execute_script("""
        return [...document.querySelectorAll('button, select, input, a, [role=img]')].filter(one =>
            !(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length)
        ).map(one => one.outerHTML)""")
    assert unnamed == []


@pytest.mark.parametrize("width", [1440, 390])
def test_nothing_in_a_deal_runs_or_breaks_the_page(browser, tmp_path, width):
    deal = ss.read(hostile(tmp_path / "hostile"))
    path = tmp_path / "report.html"
    dataset = deal.run()
    write_report(deal, dataset, path)
    resize(browser, width)
    browser.get(path.as_uri())
    for name in dataset["scenario"].values:
        browser.execute_script("location.hash = 'scenario=' + encodeURIComponent(arguments[0])", str(name))
        wait_for(browser, "return document.getElementById('scenario-name').dataset.name === arguments[0]", str(name))
        parties, values = shown(browser, "timeline", 2)
        assert set(HOSTILE.values()) <= set(parties)
        np.testing.assert_array_equal(values[1::3], dataset["paid"].sel(scenario=name).values)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.title == "</title><script>document.title='run'</script>"
    assert browser.execute_script("return document.querySelectorAll('main img, main script, main iframe').length") == 0
    assert troubles(browser) == []
