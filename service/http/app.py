"""The application, put together from its routers."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp

from ...errors import ShoalError
from .action_router import action_router
from .event_router import event_router
from .figure_router import figure_router
from .gate import Gate
from .login_router import login_router
from .page_router import page_router
from .read_router import read_router
from .sessions import Sessions
from .space_router import space_router
from .strict import tell_error
from .warming import warm_up
from .watching import JournalWatch

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def make_app(
    data: Path,
    *,
    port: int,
    tell_code: Callable[[str], None],
    prefix: str = "",
    allow_hosts: Sequence[str] = (),
    closing: threading.Event | None = None,
    draw_ahead: bool = False,
) -> ASGIApp:
    """The dashboard over a data directory.

    Args:
        data: the data directory.
        port: where it is served; it is part of the allowed Host headers.
        tell_code: told each one-time code.
        prefix: a path in front of ours, e.g. "/proxy/8321".
        allow_hosts: further Host headers, e.g. that of a proxy in front, with their ports.
        closing: set when the server goes down, to end the event streams.
        draw_ahead: do at the start what the first visitor would wait for.
    """
    watch = JournalWatch(data)
    going = closing or threading.Event()
    sessions = Sessions(tell_code)
    cookie = f"shoal_{port}"

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        watch.start()
        if draw_ahead:
            threading.Thread(target=warm_up, args=(watch,), name="warm up", daemon=True).start()
        try:
            yield
        finally:
            going.set()
            watch.close()

    app = FastAPI(
        title="shoal", version="1", lifespan=life, openapi_url="/api/v1/openapi.json", docs_url=None, redoc_url=None
    )
    app.add_exception_handler(ShoalError, tell_error)
    app.include_router(login_router(sessions, cookie, prefix or "/"))
    app.include_router(read_router(watch))
    app.include_router(space_router(watch))
    app.include_router(figure_router(watch))
    app.include_router(action_router(watch))
    app.include_router(event_router(watch, going.is_set))
    app.include_router(page_router())
    app.add_middleware(GZipMiddleware, minimum_size=800, compresslevel=5)
    hosts = [f"{name}:{port}" for name in LOOPBACK] + list(allow_hosts)
    app.add_middleware(Gate, sessions=sessions, hosts=hosts, cookie=cookie, prefix=prefix)
    return app
