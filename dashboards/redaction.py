"""Secrets that found their way into a log or a reason are not shown to whoever looks over a shoulder."""

from __future__ import annotations

import re

from ..search.spec import Json

HIDDEN = "***"
_IN_ADDRESS = re.compile(r"(://[^/\s:@]+:)[^/\s@]+(@)")
_NAMED = re.compile(
    r"\b([A-Za-z0-9_]*(?:TOKEN|PASSWORD|PASSWD|SECRET|API_KEY|ACCESS_KEY)[A-Za-z0-9_]*\s*[=:]\s*[\"']?)[^\s\"',;]+"
)


def redacted(text: str) -> str:
    """`text` without passwords in addresses and without the values of variables named like secrets.

    >>> redacted("postgresql://me:hunter2@db/x HF_TOKEN=abc123 lr=0.1")
    'postgresql://me:***@db/x HF_TOKEN=*** lr=0.1'
    """
    return _NAMED.sub(rf"\1{HIDDEN}", _IN_ADDRESS.sub(rf"\1{HIDDEN}\2", text))


def covered(body: Json) -> Json:
    """`body` with every text in it redacted."""
    if isinstance(body, str):
        return redacted(body)
    if isinstance(body, dict):
        return {key: covered(value) for key, value in body.items()}
    if isinstance(body, list | tuple):
        return [covered(value) for value in body]
    return body
