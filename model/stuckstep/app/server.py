"""The page's server: this machine only, one token, and nothing that another site could ask for."""

from __future__ import annotations

import hmac
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from stuckstep.deal import Cell, Deal, DealError, Sheets, base, scenario_names
from stuckstep.deal.cells import number_text
from stuckstep.reports.html.beside import open_phases
from stuckstep.reports.html.page import scenario_html, shared

from . import copies
from .controls import Control, controls
from .live import Live
from .states import State, StateError, read_state

LARGEST = 1_000_000  # bytes of a request
TOKEN_HEADER = "x-stuckstep-token"
REFUSED = "This address is not valid: open the one that `stuckstep app` printed."
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@dataclass(frozen=True)
class Site:
    """What the routes share: the deal, its controls, the engine, and who may ask."""

    deal: Deal
    controls: tuple[Control, ...]
    live: Live
    token: str
    hosts: frozenset[str]

    @property
    def cells(self) -> frozenset[Cell]:
        return frozenset(self.live.cells)


def make_app(deal: Deal, token: str, port: int) -> Starlette:
    """The page of a deal as an application for one port of 127.0.0.1."""
    found = controls(deal)
    live = Live(deal, [cell for one in found for cell in one.cells])
    site = Site(deal, found, live, token, frozenset({f"127.0.0.1:{port}", f"localhost:{port}"}))
    work = {"/answer": _answer, "/values": _values, "/save": _save, "/report": _report, "/workbook": _workbook}
    routes = [Route("/", _guarded_page(site))]
    routes += [Route(path, _guarded(site, job), methods=["POST"]) for path, job in work.items()]
    return Starlette(routes=routes)


def _is_allowed(site: Site, request: Request, token: str) -> bool:
    """Whether a request names this server and no other, comes from its own page, and knows the token."""
    origin = request.headers.get("origin")
    own = {f"http://{host}" for host in site.hosts}
    if request.headers.get("host", "") not in site.hosts or (origin is not None and origin not in own):
        return False
    return hmac.compare_digest(token.encode(), site.token.encode())


def _guarded_page(site: Site) -> Callable[[Request], Any]:
    async def page(request: Request) -> Response:
        if not _is_allowed(site, request, request.query_params.get("token", "")):
            return PlainTextResponse(REFUSED, 403, headers=_headers(""))
        text, nonce = await run_in_threadpool(page_html, site)
        return HTMLResponse(text, headers=_headers(nonce))

    return page


def _guarded(site: Site, job: Callable[[Site, Any], Response]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        if not _is_allowed(site, request, request.headers.get(TOKEN_HEADER, "")):
            return JSONResponse({"wrong": REFUSED}, 403, headers=_headers(""))
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST:
                return JSONResponse({"wrong": "the request is too large"}, 413, headers=_headers(""))
        try:
            response = await run_in_threadpool(job, site, json.loads(body))
        except StateError as bad:
            faults = [[cell.table, cell.row, cell.column, words] for cell, words in bad.faults.items()]
            response = JSONResponse({"wrong": str(bad), "faults": faults}, 422)
        except DealError as bad:
            response = JSONResponse({"wrong": str(bad)}, 422)
        except ValueError:
            response = JSONResponse({"wrong": "this is no state of the page"}, 400)
        response.headers.update(_headers(""))
        return response

    return answer


def _headers(nonce: str) -> dict[str, str]:
    script = f"'nonce-{nonce}'" if nonce else "'none'"
    policy = f"default-src 'none'; script-src {script}; style-src 'unsafe-inline'; connect-src 'self'; "
    return {
        "content-security-policy": policy + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cross-origin-resource-policy": "same-origin",
    }


def _answer(site: Site, raw: Any) -> Response:
    """The part of the page that a state gives."""
    began = time.perf_counter()
    state = read_state(site.deal, site.cells, raw)
    found = site.live.answer(state.scenario, state.changes)
    html = scenario_html(found.case, found.beside)
    return JSONResponse({"html": html, "seconds": time.perf_counter() - began})


def _values(site: Site, raw: Any) -> Response:
    """What the cells hold in a scenario before anything is changed."""
    state = read_state(site.deal, site.cells, raw)
    sheets = Sheets((state.scenario,), site.deal.index)
    values = [[cell.table, cell.row, cell.column, _held(sheets, cell)] for cell in site.live.cells]
    return JSONResponse({"values": values})


def _held(sheets: Sheets, cell: Cell) -> str:
    """A cell's number as it would be typed; a step's cell in a phase holds what the step's plain one does."""
    value = sheets.input(cell, sheets.scenarios[0])
    return number_text(value) if isinstance(value, float) else ""


def _text(raw: Any, key: str) -> str:
    value = raw.get(key) if isinstance(raw, dict) else None
    return value if isinstance(value, str) else ""


def _state_of(site: Site, raw: Any) -> tuple[State, str]:
    return read_state(site.deal, site.cells, raw), _text(raw, "name")


def _save(site: Site, raw: Any) -> Response:
    state, name = _state_of(site, raw)
    path = copies.save_copy(site.deal, state, name, _text(raw, "folder"))
    return JSONResponse({"path": str(path)})


def _report(site: Site, raw: Any) -> Response:
    state, name = _state_of(site, raw)
    return _file(copies.report_of(site.deal, state, name), "text/html; charset=utf-8")


def _workbook(site: Site, raw: Any) -> Response:
    state, name = _state_of(site, raw)
    return _file(copies.workbook_of(site.deal, state, name), SHEET)


def _file(content: bytes, kind: str) -> Response:
    return Response(content, media_type=kind, headers={"content-disposition": "attachment"})


def page_html(site: Site) -> tuple[str, str]:
    """The page and the nonce of its scripts."""
    import secrets

    found = site.live.answer("base", {})
    nonce = secrets.token_urlsafe(16)
    text = (
        _templates()
        .get_template("app.html")
        .render(
            deal=site.deal,
            token=site.token,
            nonce=nonce,
            scenarios=scenario_names(site.deal),
            groups=_grouped(site.controls),
            phases=base(site.deal).keys("phases"),
            open_phases=open_phases(found.case),
            number_text=number_text,
            copy_name=re.sub(r"[^\w.-]+", "_", site.deal.name) + "_what_if",
            app_style=Markup(_source("app.css")),
            app_script=Markup(_source("app.js")),
            run=found.case.run,
            body=Markup(scenario_html(found.case, found.beside)),
            **shared(found.case.run),
        )
    )
    return text, nonce


def _grouped(found: tuple[Control, ...]) -> dict[str, list[Control]]:
    groups: dict[str, list[Control]] = {}
    for one in found:
        groups.setdefault(one.group, []).append(one)
    return groups


@cache
def _templates() -> Environment:
    loader = PackageLoader("stuckstep.app", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@cache
def _source(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
