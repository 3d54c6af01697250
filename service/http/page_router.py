"""The pages and what they are made of, compressed once."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from ...dashboards import pages
from ...errors import NotFound

FOLDER = Path(pages.__file__).parent
PAGES = {"": "studies", "studies": "studies", "study": "study", "trial": "trial", "pool": "pool", "compare": "compare"}
"""Address → page. All lie side by side, so that relative links hold under any prefix."""

SERVED = (".css", ".js", ".svg")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A file in memory."""

    body: bytes
    packed: bytes
    tag: str
    media_type: str


@cache
def load(path: Path) -> Served:
    """Read and compress a file, once in a process."""
    body = path.read_bytes()
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Served(
        body=body,
        packed=gzip.compress(body, 6, mtime=0),
        tag=f'"{hashlib.sha256(body).hexdigest()[:20]}"',
        media_type=f"{kind}; charset=utf-8",
    )


def page_router() -> APIRouter:
    """The routes of pages and static files; everything is read once, at the start."""
    router = APIRouter(include_in_schema=False)
    html = {name: load(FOLDER / f"{name}.html") for name in {*PAGES.values(), "login"}}
    static = {
        path.relative_to(FOLDER).as_posix(): load(path) for path in FOLDER.rglob("*") if path.suffix in SERVED
    }

    @router.get("/static/{name:path}")
    def static_file(name: str, request: Request) -> Response:
        if name not in static:
            raise NotFound(f"no file {name!r}.", "")
        return reply(static[name], request)

    @router.get("/login")
    def login_page(request: Request) -> Response:
        return reply(html["login"], request)

    @router.get("/{name}")
    def page(name: str, request: Request) -> Response:
        if name not in PAGES:
            raise NotFound(f"no page {name!r}.", f"Pages: {', '.join(p for p in PAGES if p)}.")
        return reply(html[PAGES[name]], request)

    @router.get("/")
    def first_page(request: Request) -> Response:
        return reply(html[PAGES[""]], request)

    return router


def reply(served: Served, request: Request) -> Response:
    """The file, packed for who can unpack it; nothing for who has it already."""
    headers = {"etag": served.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
    if request.headers.get("if-none-match") == served.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        return Response(served.packed, headers=headers, media_type=served.media_type)
    return Response(served.body, headers=headers, media_type=served.media_type)
