"""The what-if page: a deal under sliders, in the browser of this machine, worked out by the engine that `run` uses."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable

from stuckstep.deal import Deal

__all__ = ["AppNotInstalled", "serve"]


class AppNotInstalled(ImportError):  # noqa: N818 - it is about an installation, not a mistake
    """The packages of the page are not installed; the text says which extra brings them."""


def serve(
    deal: Deal,
    port: int = 0,
    open_browser: bool = True,
    announce: Callable[[str], None] = print,
    token: str | None = None,
) -> None:
    """Serve the page on 127.0.0.1 until it is interrupted.

    port: a free one by default. announce is told the address, which holds the token (a new one by default).
    AppNotInstalled without the extra `app`; OSError where the port is taken.
    """
    try:
        import uvicorn

        from .server import make_app
    except ImportError as missing:
        raise AppNotInstalled(
            f"the page needs the extra app: pip install '.[app]' in the project's folder ({missing})"
        ) from None
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        port = listening.getsockname()[1]
        token = token or secrets.token_urlsafe(24)
        config = uvicorn.Config(
            make_app(deal, token, port), log_level="error", lifespan="off", http="h11", ws="none", server_header=False
        )
        address = f"http://127.0.0.1:{port}/?token={token}"
        announce(address)
        if open_browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        uvicorn.Server(config).run(sockets=[listening])
