"""Who may look: a one-time code becomes a session cookie, which no script can read and no other site can send."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable


class Sessions:
    """Codes that were given out and sessions that began with one.

    Only hashes of the session tokens are kept. A code works once; the next one is told to the person at the terminal,
    so that a second browser can be let in.

    Args:
        tell_code: called with each new code.
    """

    def __init__(self, tell_code: Callable[[str], None]) -> None:
        self._tell_code = tell_code
        self._lock = threading.Lock()
        self._sessions: set[str] = set()
        self._code = ""
        self.new_code()

    def new_code(self) -> str:
        """A fresh code; the former one works no more."""
        self._code = secrets.token_urlsafe(24)
        self._tell_code(self._code)
        return self._code

    def log_in(self, code: str) -> str | None:
        """The token of a new session; None for a wrong or used code."""
        with self._lock:
            if not hmac.compare_digest(code.strip().encode(), self._code.encode()):
                return None
            token = secrets.token_urlsafe(32)
            self._sessions.add(_hash(token))
            self.new_code()
        return token

    def knows(self, token: str) -> bool:
        """Does this token belong to a session?"""
        return bool(token) and _hash(token) in self._sessions

    def log_out(self, token: str) -> None:
        """End a session."""
        self._sessions.discard(_hash(token))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
