"""A browser and the what-if server for tests."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from system import require

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no name leads anywhere
)


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """Headless Chromium under a driver, without a network."""
    why = "the page is not opened in a browser"
    program, driver = require("chromium", why), require("chromedriver", why)
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: this check did not run")
    options = selenium.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(profile / "downloads")})
    browser = selenium.Chrome(options=options, service=selenium.ChromeService(driver))
    browser.set_script_timeout(60)
    try:
        yield browser
    finally:
        browser.quit()


def resize(browser: Any, width: int, height: int = 900) -> None:
    """The size of the page itself, narrower than any window may be."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def wait_for(browser: Any, script: str, *arguments: Any, seconds: float = 30) -> Any:
    """What a script gives once it is true; fails after some seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := browser.execute_script(script, *arguments):
            return found
        time.sleep(0.03)
    raise AssertionError(f"never true: {script}")


def troubles(browser: Any) -> list[str]:
    """What the page complained of on its console."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@contextlib.contextmanager
def serving(deal: Any, token: str = "a-token", port: int = 0) -> Iterator[int]:
    """The what-if page of a deal on a port of 127.0.0.1, in a thread; gives the port."""
    uvicorn = pytest.importorskip("uvicorn", reason="the extra app is not installed: this check did not run")
    from stuckstep.app.server import make_app

    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    port = listening.getsockname()[1]
    config = uvicorn.Config(make_app(deal, token, port), log_level="error", lifespan="off", http="h11", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        until = time.monotonic() + 20
        while not server.started and time.monotonic() < until:
            time.sleep(0.02)
        yield port
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join()
        listening.close()
