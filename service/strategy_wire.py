"""The messages between a host and its strategy process: one JSON object a line, question and reply in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from ..search.spec import Json, StudySpec
from ..search.strategies.codec import (
    past_ask_from_json,
    past_ask_to_json,
    pending_from_json,
    pending_to_json,
    proposal_from_json,
    proposal_to_json,
    result_from_json,
    result_to_json,
)
from ..search.strategies.port import Proposal
from ..spaces import Space
from .feasibility import DeviceMemory
from .strategy_desk import Opening
from .strategy_memory import AskRequest, Request, SuggestRequest


def request_to_json(request: Request, opening: Opening | None) -> Json:
    """A question; with an `opening` where the process has to build the strategy first."""
    body: Json
    if isinstance(request, AskRequest):
        body = {
            "op": "ask",
            "study": request.study,
            "ask": request.ask,
            "first_number": request.first_number,
            "n": request.n,
            "results": [result_to_json(result) for result in request.results],
            "pending": [pending_to_json(pending) for pending in request.pending],
            "seed": request.seed,
            "wanted": list(request.wanted),
        }
    else:
        body = {
            "op": "suggest",
            "study": request.study,
            "number": request.number,
            "generation": request.generation,
            "path": request.path,
            "domain": request.domain,
            "seed": request.seed,
        }
    body["opening"] = None if opening is None else _opening_to_json(opening)
    return body


def request_from_json(body: Json, space: Space | None) -> Request:
    """The question again; `space` is that of its study."""
    fields = {name: value for name, value in body.items() if name not in ("op", "opening")}
    if body["op"] == "suggest":
        return SuggestRequest(**fields)
    fields["results"] = tuple(result_from_json(result, space) for result in body["results"])
    fields["pending"] = tuple(pending_from_json(pending, space) for pending in body["pending"])
    fields["wanted"] = tuple(body["wanted"])
    return AskRequest(**fields)


def opening_from_json(body: Json) -> Opening:
    """The opening again."""
    spec = StudySpec.from_json(body["spec"])
    space = None if spec.space is None else Space.from_json(spec.space)
    return Opening(
        spec=spec,
        device=None if body["device"] is None else DeviceMemory(**body["device"]),
        history=tuple(past_ask_from_json(past, space) for past in body["history"]),
        told=tuple(result_from_json(result, space) for result in body["told"]),
        pending=tuple(pending_from_json(pending, space) for pending in body["pending"]),
    )


def proposals_to_json(proposals: Sequence[Proposal]) -> Json:
    return [proposal_to_json(proposal) for proposal in proposals]


def proposals_from_json(body: Json, space: Space | None) -> list[Proposal]:
    return [proposal_from_json(proposal, space) for proposal in body]


def _opening_to_json(opening: Opening) -> Json:
    return {
        "spec": opening.spec.to_json(),
        "device": None if opening.device is None else asdict(opening.device),
        "history": [past_ask_to_json(past) for past in opening.history],
        "told": [result_to_json(result) for result in opening.told],
        "pending": [pending_to_json(pending) for pending in opening.pending],
    }
