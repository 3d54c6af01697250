"""What a policy was told and what it answered, written down batch by batch, and played again.

A policy is a function of the batches of events that it was given: the same batches lead to the same actions, whoever
asked it questions in between. The journal of a study holds the actions, and not all that led to them: ticks, starts,
measured memory and the nodes of the pool are told to the policy alone. A recording holds all of it, and nothing else.

One batch is one line of JSON: `{"events": [[kind, fields], ...], "actions": [...]}`. Fields that have their default
are left out; fractions are written as "1/2"; numbers come back as they were, NaN and infinities included.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from typing import Any

from . import port
from .port import Action, Policy, PoolEvent, Request, StudyShare

Json = Any

KINDS: dict[str, Any] = {name: kind for name, kind in vars(port).items() if is_dataclass(kind)}
"""Events, actions and what they are made of, by name."""


class RecordedPolicy:
    """A policy whose decisions are written down.

    Args:
        policy: who decides.
        write: called with one line, without its end, after every decision.
    """

    def __init__(self, policy: Policy, write: Callable[[str], None]) -> None:
        self._policy = policy
        self._write = write

    def step(self, event: PoolEvent) -> list[Action]:
        return self.steps([event])

    def steps(self, events: Sequence[PoolEvent]) -> list[Action]:
        actions = self._policy.steps(events)
        self._write(line_of(events, actions))
        return actions

    def waiting(self) -> Sequence[tuple[str, int, str]]:
        return self._policy.waiting()

    def room(self, request: Request) -> int:
        return self._policy.room(request)

    def shares(self, at: float) -> Sequence[StudyShare]:
        return self._policy.shares(at)

    def cordoned(self) -> Mapping[str, str]:
        return self._policy.cordoned()


def line_of(events: Sequence[PoolEvent], actions: Sequence[Action]) -> str:
    """One decision as a line of JSON, without its end."""
    return json.dumps({"events": _to_json(list(events)), "actions": _to_json(list(actions))}, separators=(",", ":"))


def decision_of(line: str) -> tuple[list[PoolEvent], list[Action]]:
    """What `line_of` has written.

    Raises:
        ValueError: the line is no JSON, or names something that the port does not have.
    """
    body = json.loads(line)
    try:
        return [_from_json(event) for event in body["events"]], [_from_json(action) for action in body["actions"]]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no decision of a policy: {error}") from error


def first_difference(lines: Iterable[str], policy: Policy) -> str:
    """Play a recording through `policy`, a fresh one; empty if it decides everything as recorded.

    Returns:
        Otherwise which decision is the first other one, what was recorded and what was decided now.

    Raises:
        ValueError: a line is no decision.
    """
    for number, line in enumerate(lines, start=1):
        events, recorded = decision_of(line)
        actions = policy.steps(events)
        if actions != recorded:
            return f"decision {number}, at {events[-1].at}: recorded {recorded}, now {actions}"
    return ""


def _to_json(value: Any) -> Json:
    if is_dataclass(value) and not isinstance(value, type):
        given = ((f, getattr(value, f.name)) for f in fields(value))
        return [type(value).__name__, {f.name: _to_json(v) for f, v in given if f.default is MISSING or v != f.default}]
    if isinstance(value, Fraction):
        return ["Fraction", str(value)]
    if isinstance(value, tuple | list):
        return ["tuple", [_to_json(part) for part in value]] if isinstance(value, tuple) else [*map(_to_json, value)]
    return value


def _from_json(body: Json) -> Any:
    if not isinstance(body, list):
        return body
    kind, inside = body
    if kind == "tuple":
        return tuple(_from_json(part) for part in inside)
    if kind == "Fraction":
        return Fraction(inside)
    return KINDS[kind](**{name: _from_json(part) for name, part in inside.items()})
