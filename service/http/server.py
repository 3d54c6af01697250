"""Serving the application on this machine, until told to stop."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from ...errors import PoolError

FIRST_PORT = 8321
PORTS_TRIED = 20
PARENT_LOOK_S = 0.5
BACKLOG = 64


def bound_socket(port: int | None) -> socket.socket:
    """A listening socket on the loopback address.

    Args:
        port: which one; None: the first free one from 8321 on; 0: any.

    Raises:
        PoolError: the port is taken.
    """
    candidates = range(FIRST_PORT, FIRST_PORT + PORTS_TRIED) if port is None else (port,)
    for candidate in candidates:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", candidate))
        except OSError:
            listener.close()
            continue
        listener.listen(BACKLOG)  # who comes before the application is up waits instead of being refused
        return listener
    tried = f"port {port} is" if port is not None else f"ports {FIRST_PORT} to {FIRST_PORT + PORTS_TRIED - 1} are"
    raise PoolError(f"{tried} taken.", "Name another one: --port 9000, or --port 0 for any.")


def serve(
    data: Path,
    *,
    tell: Callable[[str], None],
    port: int | None = None,
    prefix: str = "",
    allow_hosts: Sequence[str] = (),
    parent: int | None = None,
) -> None:
    """Serve the dashboard until interrupted.

    Args:
        data: the data directory.
        tell: told the address, with a code that works once, and each later code. The code stands behind a "#", which
            browsers never send.
        port, prefix, allow_hosts: as in `bound_socket` and `make_app`.
        parent: end when this process is no longer our parent.
    """
    from .app import make_app

    listener = bound_socket(port)
    actual = listener.getsockname()[1]
    closing = threading.Event()

    def tell_code(code: str) -> None:
        tell(f"http://127.0.0.1:{actual}{prefix}/login#{code}")

    app = make_app(
        data,
        port=actual,
        tell_code=tell_code,
        prefix=prefix,
        allow_hosts=allow_hosts,
        closing=closing,
        draw_ahead=True,
    )
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1, lifespan="on")
    server = _Server(config, closing)
    if parent is not None:
        threading.Thread(target=_follow_parent, args=(parent, server), daemon=True).start()
    server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """Ends the event streams first: uvicorn waits for open replies."""

    def __init__(self, config: uvicorn.Config, closing: threading.Event) -> None:
        super().__init__(config)
        self._closing = closing

    def handle_exit(self, sig: int, frame: object) -> None:
        self._closing.set()
        super().handle_exit(sig, frame)  # type: ignore[arg-type]


def _follow_parent(parent: int, server: _Server) -> None:
    while os.getppid() == parent:
        if server._closing.wait(PARENT_LOOK_S):
            return
    server._closing.set()
    server.should_exit = True
