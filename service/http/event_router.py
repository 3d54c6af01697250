"""Server-sent events: which studies have changed. Pages fetch what they show of them.

The id of a message is the journal's sequence number, so a browser that comes back, even an hour later, is told at once
about everything that changed behind the id it saw last.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from .watching import JournalWatch

LOOK_S = 0.05
BATCH_S = 0.25
"""The least time between two messages: a study with a thousand reports a second is drawn four times a second."""

ALIVE_S = 15.0
"""Comments in between keep proxies from closing the line."""


def event_router(watch: JournalWatch, is_closing: Callable[[], bool]) -> APIRouter:
    """The route of events; `is_closing` ends the streams when the server goes down."""
    router = APIRouter(prefix="/api/v1", tags=["events"])

    @router.get("/events")
    async def events(request: Request, seen: int | None = None) -> StreamingResponse:
        """`changed` messages: {"studies": [...], "seq": n}; `seen` is the sequence number that the page shows."""
        last = request.headers.get("last-event-id", "")
        if last.isdecimal():
            seen = int(last)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(changes(watch, seen, is_closing), media_type="text/event-stream", headers=headers)

    return router


async def changes(
    watch: JournalWatch, seen: int | None, is_closing: Callable[[], bool], *, batch_s: float = BATCH_S
) -> AsyncIterator[str]:
    """Messages for one browser.

    Args:
        watch: the journal.
        seen: the last sequence number it was told; None: it has just loaded its page.
        is_closing: ends the stream.
        batch_s: the least time between two messages, seconds.
    """
    newest = max(watch.seqs.values(), default=0)
    told = newest if seen is None else min(seen, newest)
    yield f"retry: 1000\nid: {told}\nevent: hello\ndata: {{}}\n\n"
    quiet_s = 0.0
    while not is_closing():
        seqs = dict(watch.seqs)
        changed = [study for study, seq in seqs.items() if seq > told]
        if changed:
            told, quiet_s = max(seqs.values()), 0.0
            yield f"id: {told}\nevent: changed\ndata: {json.dumps({'studies': changed, 'seq': told})}\n\n"
            await asyncio.sleep(batch_s)
            continue
        await asyncio.sleep(LOOK_S)
        quiet_s += LOOK_S
        if quiet_s >= ALIVE_S:
            quiet_s = 0.0
            yield ": alive\n\n"
