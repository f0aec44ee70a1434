"""Puts the figures of a deal into one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import os
import zlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from stuckstep.deal import Deal
from stuckstep.deal.facts import facts as facts_by_id
from stuckstep.deal.placing import put
from stuckstep.results import run as run_deal
from stuckstep.rules.checks import ALERTS, LAWS

from ..alerts import why_never_drawn
from ..summary import about
from . import inputs
from .beside import Beside, beside
from .cases import Case, Run, run_of
from .compare import compare, late_words, scenario_choice
from .cost import one_more_quarter
from .debt import debt
from .figure import Figure, plural, pretty, table_html
from .flows import cash, idle, sources_and_uses
from .headline import headline
from .payments import timeline, unpaid_map
from .schedule import ladder, steps
from .svg import HATCHES

LARGEST = 4_500_000  # bytes of scenarios packed into a file; those beyond stand in the comparison and workbook only


LINKS = {  # the figures that can be jumped to, by the word that leads there
    "timeline": "Payments",
    "unpaid": "Unpaid",
    "steps": "Steps",
    "quarter": "One more quarter",
    "idle": "Idle money",
    "flows": "Flows",
    "cash": "Cash",
    "debt": "Debt",
    "mw": "MW",
}


class Check(NamedTuple):
    """A law or an alert: what it says and whether it is broken or raised."""

    words: str
    is_raised: bool
    on: str = ""


def write_report(deal: Deal, dataset: xr.Dataset, path: str | os.PathLike[str], scenario: str | None = None) -> None:
    """Write the report of a deal's results by quarter to a file, whole or not at all.

    `scenario`: the one it opens on (base by default); the others are in it too. ValueError for monthly results or a
    scenario that they do not hold.
    """
    content = report_bytes(deal, dataset, scenario)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, lambda part: part.write_bytes(content))


def report_bytes(deal: Deal, dataset: xr.Dataset, scenario: str | None = None) -> bytes:
    """The report that `write_report` writes."""
    if "base" not in dataset["scenario"].values:
        dataset = run_deal(deal, ["base", *dataset["scenario"].values])
    run = run_of(deal, dataset)
    if scenario is not None and scenario not in run.scenarios:
        raise ValueError(f"the results hold no scenario {scenario!r}, only {', '.join(run.scenarios)}")
    return report_html(run, scenario or "base").encode()


def report_html(run: Run, shown: str = "base") -> str:
    """The report as text; it opens on the scenario `shown`."""
    known = beside(run, every_step=("base",))
    bodies = {shown: scenario_html(Case(run, shown), known[shown])}
    packed: dict[str, str] = {}
    size = 0
    for name in run.scenarios:
        body = bodies.get(name) or scenario_html(Case(run, name), known[name])
        text = _packed(body)
        if size + len(text) > LARGEST:
            break
        packed[name], size = text, size + len(text)
    facts = facts_by_id()
    return (
        environment()
        .get_template("report.html")
        .render(
            run=run,
            shown=shown,
            body=Markup(bodies[shown]),
            packed=packed,
            left_out=[name for name in run.scenarios if name not in packed],
            options=scenario_choice(run, shown, {shown, *packed}),
            compare=compare(run),
            links=[(key, words) for key, words in LINKS.items() if f'id="figure-{key}"' in bodies[shown]],
            sheets=list(inputs.sheets(run.deal)),
            facts={name: facts[name] for name in inputs.cited(run.deal, set(facts))},
            linked=lambda words: inputs.linked(words, set(facts)),
            script_hash=_hash(source("report.js")),
            **shared(run),
        )
    )


def shared(run: Run) -> dict[str, Any]:
    """What every page of a run shows: title, style, script, hatches."""
    return {
        "title": run.attributes["title"],
        "about": about(run.deal),
        "style": Markup(source("style.css")),
        "script": Markup(source("report.js")),
        "hatches": HATCHES,
        "plural": plural,
        "pretty": pretty,
    }


def scenario_html(case: Case, known: Beside) -> str:
    """Everything about one scenario: banner, headline and figures."""
    return environment().get_template("scenario.html").render(parts(case, known))


def parts(case: Case, known: Beside) -> Mapping[str, Any]:
    """What the template of a scenario is filled with."""
    return {
        "case": case,
        "run": case.run,
        "banner": banner(case),
        "headline": headline(case, known),
        "figures": figures(case, known),
        "changes": inputs.changes(case.run.deal, case.scenario),
        "late": late_words(case),
        "plural": plural,
        "pretty": pretty,
    }


def figures(case: Case, known: Beside) -> list[Figure]:
    """The figures of a scenario, in the order they are read."""
    found = (
        timeline(case),
        unpaid_map(case),
        steps(case, known),
        one_more_quarter(case, known),
        idle(case, known),
        sources_and_uses(case),
        cash(case),
        debt(case),
        ladder(case),
    )
    return [figure for figure in found if figure is not None]


def banner(case: Case) -> dict[str, Any]:
    """The checks: whether all laws hold, each law, and each alert."""
    broken, raised = case.of("law_broken"), case.of("alert_raised")
    laws = [Check(LAWS[law], bool(broken[at])) for at, law in enumerate(case.run.names["law"])]
    alerts = [
        Check(ALERTS[alert], bool(raised[at] > 0), _raised_on(case, alert, str(case.of("alert_on")[at])))
        for at, alert in enumerate(case.run.names["alert"])
    ]
    return {"is_sound": bool(case.of("is_sound")), "laws": laws, "alerts": alerts}


def _raised_on(case: Case, alert: str, names: str) -> str:
    """The rows that raise an alert, and why where the dates tell."""
    rows, facilities = names.split(";"), case.run.names["facility"]
    closes, finish, steps = case.of("available_until"), case.of("finish"), list(case.run.names["step"])
    why = [
        why_never_drawn(case.sheets, row, closes[facilities.index(row)], finish, steps)
        for row in rows
        if alert == "never drawn" and row in facilities
    ]
    return "; ".join([", ".join(rows), *filter(None, why)])


@cache
def environment() -> Environment:
    """The templates; everything they show is escaped."""
    loader = PackageLoader("stuckstep.reports.html", "templates")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["table"] = table_html
    return made


@cache
def source(name: str) -> str:
    """A style sheet or script of the package, as text."""
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _packed(text: str) -> str:
    """Text compressed for a script element: base64 of zlib."""
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def _hash(script: str) -> str:
    """The hash by which a page allows this script and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
