"""What a person may do: requests in the commands table, as `shoal pause|resume|stop|kill|enqueue` write them."""

from __future__ import annotations

import time
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from ...dashboards.study_view import StudyView
from ...errors import SpecError
from ...search.journal.sqlite_reader import SqliteReader
from ...spaces import Space
from ..cli.enqueueing import completed, free_form, key_of
from ..command_effects import effect_of
from ..commands import Command
from .strict import StrictJson
from .watching import JournalWatch

ACKNOWLEDGE_S = 5.0
"""How long a running head may take to answer; it looks every 0.1 s."""

WHO = "the dashboard"


class Asked(BaseModel):
    """The body of a request.

    `number` names a trial (absent: the whole study). `values` belongs to enqueue: parameters by path, as text; those
    left out are drawn at random. `trials` belongs to edit: the study's new budget.
    """

    model_config = ConfigDict(extra="forbid")

    verb: Literal["pause", "resume", "stop", "kill", "enqueue", "edit"]
    number: int | None = Field(default=None, ge=0)
    values: dict[str, str] = Field(default_factory=dict)
    trials: int | None = Field(default=None, ge=1)


def action_router(watch: JournalWatch) -> APIRouter:
    """The routes that change something."""
    router = APIRouter(prefix="/api/v1", tags=["actions"], default_response_class=StrictJson)

    @router.post("/studies/{study}/commands/preview")
    def preview(study: str, asked: Asked) -> StrictJson:
        """What would happen, in words; nothing is changed."""
        with watch.study(study) as view:
            effect = effect_of(command_of(asked, view).to_json(), view.state, time.time())
        return StrictJson({"ok": effect.ok, "effect": effect.text})

    @router.post("/studies/{study}/commands")
    def command(study: str, asked: Asked) -> StrictJson:
        """Ask the head, and say what it answered."""
        with watch.study(study) as view:
            body = command_of(asked, view).to_json()
        with SqliteReader(watch.path) as reader:
            request = reader.put_command(study, body)
        if not watch.head_is_running():
            effect = f"written down; no run has {study} open, it takes effect when shoal run next opens it"
            return StrictJson({"ok": True, "acknowledged": False, "effect": effect})
        reply = watch.acknowledgement(request, ACKNOWLEDGE_S)
        if reply is None:
            effect = f"the run has not answered within {ACKNOWLEDGE_S:g} s; the request stays in the journal"
            return StrictJson({"ok": True, "acknowledged": False, "effect": effect})
        return StrictJson({"ok": reply.ok, "acknowledged": True, "effect": reply.effect})

    return router


def command_of(asked: Asked, view: StudyView) -> Command:
    """The request as the head reads it.

    Raises:
        SpecError: it is not complete, or its values are not in the space.
    """
    if asked.verb != "enqueue":
        if asked.values:
            raise SpecError(f"{asked.verb} takes no values.", "Leave them out.")
        return Command(verb=asked.verb, number=asked.number, trials=asked.trials, who=WHO)
    spec = view.state.spec
    if spec.space is None:
        config = free_form(asked.values)
    else:
        config = completed(Space.from_json(spec.space), asked.values).to_json()
    return Command(verb="enqueue", config=config, key=key_of(config), who=WHO)
