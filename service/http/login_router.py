"""Logging in with a one-time code, and out."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from .sessions import Sessions
from .strict import StrictJson


class Code(BaseModel):
    """What the login page posts."""

    code: str = Field(max_length=200)


def login_router(sessions: Sessions, cookie: str, path: str) -> APIRouter:
    """The two routes.

    Args:
        sessions: who is let in.
        cookie: the cookie's name.
        path: the cookie's path: the prefix, or "/".
    """
    router = APIRouter(prefix="/api/v1", tags=["login"], default_response_class=StrictJson)

    @router.post("/login")
    def log_in(code: Code) -> Response:
        """Exchange a code for a session cookie."""
        token = sessions.log_in(code.code)
        if token is None:
            told = {"cause": "this code is wrong or was used.", "remedy": "The terminal shows the newest one."}
            return StrictJson({"error": told}, status_code=401)
        response = StrictJson({"ok": True})
        response.set_cookie(cookie, token, httponly=True, samesite="strict", path=path)
        return response

    @router.post("/logout")
    def log_out(request: Request) -> Response:
        """End the session."""
        sessions.log_out(request.cookies.get(cookie, ""))
        response = StrictJson({"ok": True})
        response.delete_cookie(cookie, path=path, httponly=True, samesite="strict")
        return response

    return router
