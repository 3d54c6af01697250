"""The strategy process: `python -P -m shoal.service.strategy_process SOCKET_FD PARENT_PID`.

Reads one question a line, answers it, until its parent closes the socket or dies. Not for people to start.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import BinaryIO

from ..search.spec import Json
from ..spaces import Space
from ..trial_runner.descent import die_with_parent
from .strategy_desk import StrategyDesk, told_error
from .strategy_memory import AskRequest
from .strategy_wire import opening_from_json, proposals_to_json, request_from_json

NICENESS = 5  # below the head and the trials: a late proposal costs less than a late heartbeat


def serve(questions: BinaryIO, replies: BinaryIO) -> None:
    """Answer until there are no more questions."""
    desk = StrategyDesk()
    spaces: dict[str, Space | None] = {}
    for line in questions:
        reply = answer(desk, spaces, json.loads(line))
        replies.write(json.dumps(reply, separators=(",", ":")).encode() + b"\n")
        replies.flush()


def answer(desk: StrategyDesk, spaces: dict[str, Space | None], body: Json) -> Json:
    """The reply to one question; what a strategy raises is part of it."""
    try:
        study = body["study"]
        if body["opening"] is not None:
            opening = opening_from_json(body["opening"])
            desk.open(opening)
            spaces[study] = None if opening.spec.space is None else Space.from_json(opening.spec.space)
        request = request_from_json(body, spaces[study])
        if isinstance(request, AskRequest):
            proposals = desk.ask(
                study, request.first_number, request.n, request.results, request.pending, request.seed, request.wanted
            )
            return {"proposals": proposals_to_json(proposals), "error": ""}
        value = desk.suggest(study, request.number, request.path, request.domain, request.seed)
        return {"value": value, "error": ""}
    except Exception as raised:
        return {"proposals": [], "value": None, "error": told_error(raised)}


def main() -> None:
    fd, parent = int(sys.argv[1]), int(sys.argv[2])
    die_with_parent(parent)
    os.nice(NICENESS)
    with socket.socket(fileno=fd) as line, line.makefile("rb") as questions, line.makefile("wb") as replies:
        serve(questions, replies)


if __name__ == "__main__":
    main()
