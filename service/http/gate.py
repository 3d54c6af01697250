"""`Gate`: what every request passes before the application sees it.

Order: the path prefix is taken off; the Host must be one of ours, or a page of another site could reach us by rebinding
its name to 127.0.0.1; a request that changes something must come from our own pages (Origin); then the session. Replies
get a content policy under which no inline script, no foreign source and no frame works.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .sessions import Sessions

PLOTLY_STYLES = ("", "font-weight:bold", "font-style:italic", "font-size:70%")
"""What plotly.js writes as text into style elements and attributes: an empty sheet that it then fills rule by rule, and
the tags of its texts. Without the first, titles and axes stand in the wrong places."""

MAP_SHEET = "'sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o='"
"""The sheet of the map library within plotly.js, which writes it whether there is a map or not."""


def style_hash(text: str) -> str:
    """The source expression that allows exactly this style.

    >>> style_hash("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


STYLES = " ".join([*map(style_hash, PLOTLY_STYLES), MAP_SHEET])
CONTENT_POLICY = (
    f"default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-hashes' {STYLES}; "
    "img-src 'self' data: blob:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
PUBLIC = ("/login", "/api/v1/login", "/static/")
"""Paths without a session: the login page, what it posts to, and scripts and styles, which hold no data."""

READING = ("GET", "HEAD")


class Gate:
    """Pure ASGI middleware.

    Args:
        app: what is behind it.
        sessions: who is let in.
        hosts: allowed values of the Host header, with the port.
        cookie: the session cookie's name; it has the port in it, since cookies do not tell ports apart.
        prefix: a path in front of ours, e.g. "/proxy/8321"; "" for none.
    """

    def __init__(self, app: ASGIApp, sessions: Sessions, hosts: Iterable[str], cookie: str, prefix: str = "") -> None:
        self._app = app
        self._sessions = sessions
        self._hosts = frozenset(host.lower() for host in hosts)
        self._cookie = cookie
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = self._without_prefix(scope)
        headers = Headers(scope=scope)
        path, method = scope["path"], scope["method"]
        send = _with_headers(send, keep=path.startswith("/static/"))
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            await _refuse(send, 400, f"host {host!r} is not this server.", "Open the address that shoal printed.")
        elif method not in READING and not self._is_our_page(headers, host):
            await _refuse(send, 403, "the request comes from another site.", "Use the dashboard's own pages.")
        elif path.startswith(PUBLIC) or self._sessions.knows(self._token(headers)):
            await self._app(scope, receive, send)
        elif path.startswith("/api/"):
            await _refuse(send, 401, "there is no session.", "Log in with the code that shoal printed.")
        else:
            await send({"type": "http.response.start", "status": 303, "headers": [(b"location", b"login")]})
            await send({"type": "http.response.body", "body": b""})

    def _without_prefix(self, scope: Scope) -> Scope:
        """A proxy may have taken the prefix off already; both ways work."""
        path = scope["path"]
        if self._prefix and (path == self._prefix or path.startswith(self._prefix + "/")):
            rest = path[len(self._prefix) :] or "/"
            return {**scope, "path": rest, "raw_path": rest.encode()}
        return scope

    def _is_our_page(self, headers: Headers, host: str) -> bool:
        origin = headers.get("origin", "")
        return origin.lower() in (f"http://{host}", f"https://{host}")

    def _token(self, headers: Headers) -> str:
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except CookieError:
            return ""
        morsel = cookies.get(self._cookie)
        return "" if morsel is None else morsel.value


def _with_headers(send: Send, *, keep: bool) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            if not keep:
                headers["cache-control"] = "no-store"
        await send(message)

    return sent


async def _refuse(send: Send, status: int, cause: str, remedy: str) -> None:
    body = json.dumps({"error": {"cause": cause, "remedy": remedy}}).encode()
    headers: list[tuple[bytes, Any]] = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
