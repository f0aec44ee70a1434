"""The report: what it says equals the results, whatever the deal is called, whole or not at all."""

from __future__ import annotations

import base64
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import stuckstep as ss
from deal_files import copy, put, read_table, scenario, write_table
from stuckstep.deal import Cell
from stuckstep.reports.amounts import rate
from stuckstep.reports.colours import chain_colour
from stuckstep.reports.html import report_bytes, write_report
from stuckstep.reports.html.beside import beside, varied, worst_slip
from stuckstep.reports.html.cases import Case, run_of
from stuckstep.reports.html.figure import listing, nice_ticks
from stuckstep.reports.html.inputs import linked
from stuckstep.reports.html.svg import element, share_of_date, ticks

pytestmark = pytest.mark.thorough

LIMIT = 6_000_000


class Tables(HTMLParser):
    """The tables of numbers by figure: rows of (words, full value)."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[list[tuple[str, str]]]] = {}
        self.figure, self.cell, self.rows, self.tags = "", None, None, set()

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.tags.add(tag)
        if tag == "section" and "figure" in (named.get("class") or "").split():
            self.figure = named["id"]
        elif tag == "table" and named.get("class") == "numbers":
            self.rows = self.found.setdefault(self.figure, [])
        elif tag == "tr" and self.rows is not None:
            self.rows.append([])
        elif tag in ("td", "th") and self.rows is not None:
            self.cell = named.get("data-v") or ""
            self.rows[-1].append(("", self.cell))

    def handle_data(self, data):
        if self.rows is not None and self.cell is not None and self.rows and self.rows[-1]:
            words, value = self.rows[-1][-1]
            self.rows[-1][-1] = (words + data, value)

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.cell = None
        if tag == "table":
            self.rows = None


def tables_of(text: str) -> Tables:
    parser = Tables()
    parser.feed(text)
    return parser


def numbers(row: list[tuple[str, str]], start: int) -> np.ndarray:
    return np.array([float(value) if value else np.nan for _, value in row[start:]])


@pytest.fixture(scope="module")
def deal(tmp_path_factory):
    return ss.read(copy(tmp_path_factory.mktemp("deal") / "superpod"))


@pytest.fixture(scope="module")
def dataset(deal):
    return deal.run()


@pytest.fixture(scope="module")
def report(deal, dataset):
    return report_bytes(deal, dataset, "power_late").decode()


def unpacked(text: str) -> dict[str, str]:
    found = re.findall(r'<script type="text/plain" class="packed" data-name="([^"]*)">([^<]*)</script>', text)
    return {name: zlib.decompress(base64.b64decode(packed)).decode() for name, packed in found}


def test_report_is_one_small_file_that_asks_for_nothing(report):
    assert len(report.encode()) < LIMIT
    assert "default-src 'none'" in report
    assert not re.search(r"<(?:link|img|iframe|object|embed)\b", report)
    assert not re.search(r"""(?:src|@import|url\()\s*=?\s*["']?(?:https?:)?//""", report)


def test_a_loan_that_is_served_from_rent_is_not_said_to_be_uncovered(report):
    jupiter = ss.read(Path(__file__).parents[1] / "assumptions" / "jupiter")
    text = report_bytes(jupiter, jupiter.run(), "base").decode()
    assert "The DSCR says nothing of <bdi>loan</bdi>: no customer pays into its account." in text
    assert "do not cover debt service" not in text
    assert "The DSCR says nothing of" not in report
    assert (
        "; collections cover debt service wherever" in report or "; collections do not cover debt service in" in report
    )


def test_every_figure_holds_the_results(report, dataset):
    tables = tables_of(report).found
    here = dataset.sel(scenario="power_late")
    for place, party in enumerate(dataset["party"].values):
        for item, name in enumerate(("due", "paid", "unpaid")):
            row = tables["figure-timeline"][1 + 3 * place + item]
            assert row[0][1] == party
            np.testing.assert_array_equal(numbers(row, 2), here[name].sel(party=party).values)
        row = tables["figure-unpaid"][1 + place]
        np.testing.assert_array_equal(numbers(row, 1), here["unpaid"].sel(party=party).values)
    for place, account in enumerate(dataset["account"].values):
        row = tables["figure-cash"][1 + 2 * place]
        np.testing.assert_array_equal(numbers(row, 2), here["cash_closing"].sel(account=account).values)
    for place, facility in enumerate(dataset["facility"].values):
        rows = tables["figure-debt"][1 + 2 * place : 3 + 2 * place]
        np.testing.assert_array_equal(numbers(rows[0], 2), here["balance_closing"].sel(facility=facility).values)
        np.testing.assert_array_equal(numbers(rows[1], 2), here["dscr"].sel(facility=facility).values)
    for place, status in enumerate(dataset["status"].values):
        np.testing.assert_array_equal(numbers(tables["figure-mw"][1 + place], 1), here["mw"].sel(status=status).values)


def test_a_return_that_means_nothing_is_not_shown_as_a_number(deal, dataset):
    changed = dataset.copy(deep=True)
    changed["irr"].loc[{"party": "neocloud", "scenario": "power_late"}] = 12.5
    late = report_bytes(deal, changed, "power_late").decode()
    row = next(row for row in tables_of(late).found["figure-waits"] if row[0][1] == "neocloud")
    assert row[-1] == ("n/m", "12.5")
    note = "is paid. n/m: not meaningful, a rate above 1,000% a year.</p>"
    assert [note in body for body in unpacked(late).values()] == [False, True, False, False, False]
    assert [rate(one) for one in (10.0, 10.01, -0.5, None)] == ["1,000.0%", "n/m", "(50.0%)", ""]


def test_sources_equal_uses_in_every_quarter(report):
    rows = tables_of(report).found["figure-flows"][1:]
    sides = {side: sum(numbers(row, 2) for row in rows if row[1][1] == side) for side in ("source", "use")}
    np.testing.assert_allclose(sides["source"], sides["use"], atol=0.01)
    assert sides["source"].max() > 1e6


def test_every_scenario_is_in_the_file_and_says_its_own_numbers(report, dataset):
    bodies = unpacked(report)
    assert list(bodies) == list(dataset["scenario"].values)
    for name, body in bodies.items():
        rows = tables_of(body).found["figure-unpaid"][1:]
        found = np.array([numbers(row, 1) for row in rows])
        np.testing.assert_array_equal(found, dataset["unpaid"].sel(scenario=name).values)


def test_comparison_says_dates_and_amounts_against_base(report, dataset):
    rows = tables_of(report).found["figure-compare"][1:]
    paid = dataset["paid"].sum("quarter")
    for row in rows:
        name = row[0][1]
        change = (paid.sel(scenario=name) - paid.sel(scenario="base")).values
        found = numbers(row, 4)
        np.testing.assert_allclose(found[0::2], change, atol=0.005)
        np.testing.assert_array_equal(found[1::2], dataset["quarters_late"].sel(scenario=name).values)


def test_step_table_says_plan_and_actual(report, dataset):
    rows = tables_of(report).found["figure-steps"][1:]
    power = next(row for row in rows if row[1][1] == "power")
    finish = dataset["finish"].sel(phase="su1", step="power")
    assert power[5][1] == str(finish.sel(scenario="power_late").values.astype("datetime64[D]"))
    assert power[3][1] == str(finish.sel(scenario="base").values.astype("datetime64[D]"))
    assert power[9][1] == "stuck"
    assert float(power[7][1]) == float(dataset["relief"].sel(phase="su1", step="power", scenario="power_late"))


def test_one_more_quarter_is_the_engine_run_again(deal, dataset):
    run = run_of(deal, dataset)
    found = beside(run)["power_late"]
    assert found.stuck is not None
    assert found.stuck.step == "power"
    delay = float(run.sheets["power_late"].value(Cell("steps", "power", "delay"))[0]) + 91
    later = varied(deal, {"later": ("power_late", {Cell("steps", "power", "delay"): delay})}).run(
        ["power_late", "later"]
    )
    names = ["npv", "paid", "days_late"]
    change = later[names].sel(scenario="later") - later[names].sel(scenario="power_late")
    np.testing.assert_allclose(found.costs[0].npv, change["npv"].values, atol=1e-6)
    np.testing.assert_allclose(found.costs[0].paid, change["paid"].sum("quarter").values, atol=1e-6)
    assert found.costs[0].days == float(change["days_late"].values.max())


def test_one_more_quarter_of_one_phase_leaves_the_others(tmp_path):
    folder = copy(tmp_path / "two")
    rows = read_table(folder, "phases")
    write_table(folder, "phases", [*rows, {**rows[0], "phase": "su2", "order_date": "2027-07-15"}])
    scenario(folder, "su2 late", "steps", "power@su2", "delay", "60")
    deal = ss.read(folder)
    run = run_of(deal, deal.run(["base", "su2 late"]))
    slip = worst_slip(Case(run, "su2 late"))
    assert slip is not None
    assert (slip.step, slip.phases) == ("power", ("su2",))
    cost = beside(run)["su2 late"].costs[0]
    twice = varied(deal, {"later": ("su2 late", {Cell("steps", "power@su2", "delay"): 151.0})}).run(["base", "later"])
    again = deal.run(["su2 late"])
    change = twice["npv"].sel(scenario="later").values - again["npv"].sel(scenario="su2 late").values
    np.testing.assert_allclose(cost.npv, change, atol=1e-6)


def test_money_on_idle_capacity_is_what_was_paid_before_billing(deal, dataset):
    """One phase: all that its own accounts paid on once and recurring claims, until it bills."""
    run = run_of(deal, dataset)
    for name, found in beside(run).items():
        here = dataset.sel(scenario=name)
        bills = here["billing_start"].values[0]
        own = [
            row.cells["claim"]
            for row in deal.tables["claims"]
            if row.cells["kind"] != "residual"
            and row.cells["payee"] in dataset["party"].values
            and row.cells["paid_from"][0].account != "chip_books"
        ]
        paid = here["claim_paid"].sel(claim=own).sum("claim").cumsum("quarter").values
        dark = dataset["quarter"].values < bills if not np.isnat(bills) else np.ones(len(paid), dtype=bool)
        np.testing.assert_allclose(found.idle, np.where(dark, paid, 0.0), atol=0.01)
        assert found.idle.max() > 1e6


HOSTILE = {
    "chipmaker": "<script>document.title='run'</script>",
    "memory": "\"' onmouseover=alert(1) x='",
    "landlord": "م" * 60 + " مالك المبنى",
    "lender": "L" * 200,
    "neocloud": "=HYPERLINK(1) & <b>bold</b>",
}


def hostile(folder):
    """The example with names and texts that a careless page would run or be broken by."""
    folder = copy(folder)
    for file in folder.glob("*.csv"):
        rows = read_table(folder, file.stem)
        changed = [
            {column: _renamed(text) for column, text in row.items()} | {"note": "</script><img src=x>"} for row in rows
        ]
        write_table(folder, file.stem, changed)
    put(folder, "deal", "title", "value", "</title><script>document.title='run'</script>")
    scenario(folder, '"><svg onload=alert(1)>', "steps", "power", "delay", "91")
    return folder


def _renamed(text: str) -> str:
    parts = [HOSTILE.get(part, part) for part in text.split(";")]
    return ";".join(parts)


def test_nothing_in_a_deal_becomes_markup(tmp_path):
    deal = ss.read(hostile(tmp_path / "hostile"))
    text = report_bytes(deal, deal.run()).decode()
    for part in [text, *unpacked(text).values()]:
        parser = tables_of(part)
        assert not parser.tags & {"img", "b1", "iframe", "object"}
        assert len(re.findall(r"<script\b", part)) == len(
            re.findall(r'<script(?: type="text/plain" class="packed"[^>]*)?>', part)
        )
        assert "<svg onload" not in part
        assert not re.search(r"<[^>]*\son\w+\s*=", re.sub(r'"[^"]*"', '""', part))
        names = {row[0][1] for row in parser.found["figure-timeline"][1:]}
        assert set(HOSTILE.values()) <= names
    assert text.count("<script>") == 1


def test_report_is_written_whole_or_not_at_all(deal, dataset, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("as it was")
    monkeypatch.setattr("os.replace", lambda part, target: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_report(deal, dataset, path)
    assert path.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [path]


def test_scenarios_too_large_for_the_file_are_named(deal, dataset, monkeypatch):
    whole = unpacked(report_bytes(deal, dataset).decode())
    monkeypatch.setattr("stuckstep.reports.html.page.LARGEST", 60_000)
    text = report_bytes(deal, dataset, "power_late").decode()
    kept = unpacked(text)
    assert 0 < len(kept) < len(whole)
    left_out = text.split("Too large to be shown one by one here: ")[1].split("</p>")[0]
    assert [f"<bdi>{name}</bdi>" in left_out for name in whole] == [name not in kept for name in whole]
    assert len(tables_of(text).found["figure-compare"]) == 1 + len(whole)


def test_report_of_a_few_scenarios_knows_base(deal):
    some = deal.run(["power_late"])
    assert list(unpacked(report_bytes(deal, some).decode())) == ["base", "power_late"]


def test_unknown_scenario_and_months_are_refused(deal, dataset, tmp_path):
    with pytest.raises(ValueError, match="no scenario 'nobody'"):
        write_report(deal, dataset, tmp_path / "report.html", "nobody")
    folder = copy(tmp_path / "monthly")
    put(folder, "deal", "grid", "value", "month")
    monthly = ss.read(folder)
    with pytest.raises(ValueError, match="by quarter"):
        write_report(monthly, monthly.run(["base"], monthly=True), tmp_path / "report.html")


def test_report_of_a_deal_by_month_is_by_quarter(tmp_path):
    folder = copy(tmp_path / "monthly")
    put(folder, "deal", "grid", "value", "month")
    deal = ss.read(folder)
    dataset = deal.run(["base", "power_late"])
    rows = tables_of(report_bytes(deal, dataset, "power_late").decode()).found["figure-timeline"]
    np.testing.assert_array_equal(numbers(rows[1], 2), dataset["due"].sel(scenario="power_late").values[0])


@pytest.mark.parametrize("quarters", ["1", "5", "200"])
def test_short_and_long_runs_have_a_report(tmp_path, quarters):
    folder = copy(tmp_path / "run")
    put(folder, "deal", "quarters", "value", quarters)
    deal = ss.read(folder)
    dataset = deal.run(["base", "power_late"])
    text = report_bytes(deal, dataset, "power_late").decode()
    assert len(text) < LIMIT
    found = [numbers(row, 1) for row in tables_of(text).found["figure-unpaid"][1:]]
    np.testing.assert_array_equal(found, dataset["unpaid"].sel(scenario="power_late").values)


def test_small_amounts_are_shown_in_full(tmp_path):
    folder = copy(tmp_path / "small")
    money = {"claims": ["rate"], "contracts": ["price"], "facilities": ["commitment"], "supports": ["commitment"]}
    money["accounts"] = ["opening_cash", "minimum_cash"]
    for table, column in ((table, column) for table, columns in money.items() for column in columns):
        rows = read_table(folder, table)
        write_table(folder, table, [{**row, column: row[column] and str(float(row[column]) / 1e4)} for row in rows])
    deal = ss.read(folder)
    dataset = deal.run(["base"])
    text = report_bytes(deal, dataset).decode()
    assert f"amounts in {dataset.attrs['currency']}, negatives" in text


def test_report_is_the_same_twice(deal, dataset):
    assert report_bytes(deal, dataset) == report_bytes(deal, dataset)


def test_inputs_stand_with_their_sources(tmp_path):
    folder = copy(tmp_path / "sourced")
    rows = read_table(folder, "steps")
    write_table(folder, "steps", [{**row, "source": "days=SCHED-02", "note": "thirty-nine weeks"} for row in rows])
    deal = ss.read(folder)
    text = report_bytes(deal, deal.run(["base"])).decode()
    assert "thirty-nine weeks" in text
    assert 'href="#fact-SCHED-02"' in text
    assert 'id="fact-SCHED-02"' in text


@pytest.mark.parametrize(
    ("words", "told"),
    [("", ""), ("a X-1 b", 'a <a href="#fact-X-1">X-1</a> b'), ("<i>X-1", '&lt;i&gt;<a href="#fact-X-1">X-1</a>')],
)
def test_linked_sources_are_escaped(words, told):
    assert linked(words, {"X-1"}) == told


def test_element_escapes_names_and_values():
    assert element("div", "<b>", title='"&') == '<div title="&quot;&amp;">&lt;b&gt;</div>'
    assert element("rect", x=1.0, y=None, class_="a") == '<rect x="1" class="a"/>'
    assert element("div") == "<div></div>"


@pytest.mark.parametrize(
    ("parts", "words"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_listing(parts, words):
    assert listing(parts) == words


@pytest.mark.parametrize(
    ("largest", "found"), [(0.0, [0]), (10.0, [0, 2.5, 5, 7.5, 10]), (7.0, [0, 2, 4, 6]), (0.3, [0, 0.1, 0.2, 0.3])]
)
def test_ticks_are_round(largest, found):
    np.testing.assert_allclose(nice_ticks(largest), found)


def test_axis_names_every_year_and_no_more_than_fit():
    labels = [f"{2027 + place // 4}Q{place % 4 + 1}" for place in range(40)]
    assert [name for _, name in ticks(labels)] == [str(year) for year in range(2027, 2037)]
    assert len(ticks([f"{2027 + place // 4}Q{place % 4 + 1}" for place in range(400)])) <= 12
    assert ticks(labels[:3]) == list(enumerate(labels[:3]))


def test_dates_have_their_place_on_the_axis():
    ends = np.array(["2027-03-31", "2027-06-30", "2027-09-30"], dtype="datetime64[s]")
    assert share_of_date(np.datetime64("2027-04-01"), ends) == pytest.approx(1 / 3)
    assert share_of_date(np.datetime64("2027-09-30"), ends) == pytest.approx(1 - 1 / 92 / 3)
    assert share_of_date(np.datetime64("2027-10-01"), ends) is None
    assert share_of_date(np.datetime64("2020-01-01"), ends) is None
    assert share_of_date(np.datetime64("NaT"), ends) is None


def test_chain_runs_from_dark_to_light():
    def light(colour: str) -> float:
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        return 0.3 * red + 0.59 * green + 0.11 * blue

    for count in (1, 2, 9, 40):
        shades = [light(chain_colour(place, count)) for place in range(count)]
        assert shades == sorted(shades)
