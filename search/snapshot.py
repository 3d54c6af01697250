"""A study's folded state as JSON and back, so that a long journal need not be folded from its start."""

from __future__ import annotations

from .fold import StudyFold
from .spec import Json, StudySpec
from .transitions import TrialStatus
from .trial_record import TrialRecord

FORMAT = 3
"""Raised whenever the fold would make something else of the same events; snapshots of another format are not used."""

_PLAIN = (
    "status",
    "reason",
    "created_at",
    "ended_at",
    "last_at",
    "active_s",
    "best_number",
    "epochs_trained",
    "run_s",
    "gpu_s",
    "next_ask",
    "exhausted",
    "rejected",
    "known_in_a_row",
    "user_failures",
    "forgiven_failures",
    "stale_events",
    "note",
)


def to_json(state: StudyFold) -> Json:
    """Everything the fold made of the events, equal for equal journals."""
    return {
        "format": FORMAT,
        "spec": state.spec.to_json(),
        **{name: getattr(state, name) for name in _PLAIN},
        "phases_s": dict(state.phases_s),
        "tags": list(state.tags),
        "ended": list(state.ended),
        "front": list(state.front),
        "enqueued": [[key, config] for key, config in state.enqueued],
        "enqueued_keys": sorted(state.enqueued_keys),
        "borrowed": [[study, result] for study, result in state.borrowed],
        "trial_of_key": dict(state.trial_of_key),
        "twins": [[number, list(waiting)] for number, waiting in sorted(state.twins.items())],
        "trials": [record.to_json() for record in state.trials.values()],
    }


def is_usable(body: Json) -> bool:
    """Was the snapshot made by this version of the fold?"""
    return isinstance(body, dict) and body.get("format") == FORMAT


def spec_of(body: Json) -> StudySpec:
    """The spec that the snapshot's study had."""
    return StudySpec.from_json(body["spec"])


def restore(state: StudyFold, body: Json, seq: int) -> None:
    """Bring `state`, new and with the spec `spec_of(body)`, to what it was after the event `seq`.

    The stopping rule is shown every report again: its state is a function of the set of reports alone.
    """
    for name in _PLAIN:
        setattr(state, name, body[name])
    state.last_seq = seq
    state.phases_s = dict(body["phases_s"])
    state.tags = tuple(body["tags"])
    state.ended = list(body["ended"])
    state.front = list(body["front"])
    state.enqueued = [(key, config) for key, config in body["enqueued"]]
    state.enqueued_keys = set(body["enqueued_keys"])
    state.borrowed = [(study, result) for study, result in body["borrowed"]]
    state.trial_of_key = dict(body["trial_of_key"])
    state.twins = {number: list(waiting) for number, waiting in body["twins"]}
    state.by_status = {status: set() for status in TrialStatus}
    for record_body in body["trials"]:
        record = TrialRecord.from_json(record_body, state.spec.objectives, state.spec.value_from)
        state.trials[record.number] = record
        state.by_status[record.status].add(record.number)
        if record.status is TrialStatus.PAUSED and record.decided_by != "rule":
            state.held.add(record.number)
    state.observe_again()
