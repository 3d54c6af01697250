"""Results, pending trials, proposals and former asks as JSON, for the pipe to the strategy process.

Non-finite numbers stay what they are: both ends are ours, and Python's `json` writes and reads NaN and Infinity.
"""

from __future__ import annotations

from ...spaces import Configuration, Space
from ..spec import Json
from .port import PastAsk, Pending, Proposal, Result


def result_to_json(result: Result) -> Json:
    return {
        "number": result.number,
        "config": _config_to_json(result.config),
        "state": result.state,
        "values": None if result.values is None else list(result.values),
        "outcomes": list(result.outcomes),
        "curve": [list(point) for point in result.curve],
        "cost_s": result.cost_s,
        "failure": result.failure,
        "returned": result.returned,
        "borrowed_from": result.borrowed_from,
        "attrs": result.attrs,
        "flat": dict(result.flat),
        "domains": dict(result.domains),
    }


def result_from_json(body: Json, space: Space | None) -> Result:
    return Result(
        **{
            **body,
            "config": _config_from_json(body["config"], space),
            "values": None if body["values"] is None else tuple(body["values"]),
            "outcomes": tuple(body["outcomes"]),
            "curve": _curve_from_json(body["curve"]),
        }
    )


def pending_to_json(pending: Pending) -> Json:
    return {
        "number": pending.number,
        "config": _config_to_json(pending.config),
        "curve": [list(point) for point in pending.curve],
        "attrs": pending.attrs,
        "flat": dict(pending.flat),
        "domains": dict(pending.domains),
    }


def pending_from_json(body: Json, space: Space | None) -> Pending:
    config = _config_from_json(body["config"], space)
    return Pending(**{**body, "config": config, "curve": _curve_from_json(body["curve"])})


def proposal_to_json(proposal: Proposal) -> Json:
    return {
        "config": _config_to_json(proposal.config),
        "reason": proposal.reason,
        "attrs": proposal.attrs,
        "infeasible": proposal.infeasible,
        "parent": proposal.parent,
        "until": proposal.until,
    }


def proposal_from_json(body: Json, space: Space | None) -> Proposal:
    return Proposal(**{**body, "config": _config_from_json(body["config"], space)})


def past_ask_to_json(past: PastAsk) -> Json:
    return {
        "ask": past.ask,
        "first_number": past.first_number,
        "n": past.n,
        "seed": past.seed,
        "results": [result_to_json(result) for result in past.results],
        "pending": [pending_to_json(pending) for pending in past.pending],
    }


def past_ask_from_json(body: Json, space: Space | None) -> PastAsk:
    return PastAsk(
        **{
            **body,
            "results": tuple(result_from_json(result, space) for result in body["results"]),
            "pending": tuple(pending_from_json(pending, space) for pending in body["pending"]),
        }
    )


def _config_to_json(config: Configuration | None) -> Json:
    return None if config is None else config.to_json()


def _config_from_json(body: Json, space: Space | None) -> Configuration | None:
    return None if body is None or space is None else space.configuration(body)


def _curve_from_json(curve: Json) -> tuple[tuple[int, float], ...]:
    return tuple((step, value) for step, value in curve)
