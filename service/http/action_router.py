"""What a person may do: requests in the commands table, as `shoal pause|resume|stop|kill|set|enqueue` write them, and
notes and tags."""

from __future__ import annotations

import time
from contextlib import closing

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from ...dashboards.study_view import StudyView
from ...errors import JournalLocked, SpecError
from ...search.journal.opening import open_reader
from ...search.remarks import note_of
from ...search.spec import Json, priority_class
from ...spaces import Space
from ..cli.enqueueing import completed, free_form, key_of
from ..command_effects import effect_of
from ..commands import Command, Verb
from ..remark_writing import is_remark, write_remark
from .share_preview import share_preview
from .strict import StrictJson
from .watching import JournalWatch

ACKNOWLEDGE_S = 5.0
"""How long a running head may take to answer; it looks every 0.1 s."""

WHO = "the dashboard"


class Asked(BaseModel):
    """The body of a request.

    `number` names a trial (absent: the whole study). `values` belongs to enqueue: parameters by path, as text; those
    left out are drawn at random. `changes` belongs to edit: new values by the names of `shoal set`. `text` is a note
    ("" takes it away), `added` and `removed` are tags.
    """

    model_config = ConfigDict(extra="forbid")

    verb: Verb
    number: int | None = Field(default=None, ge=0)
    values: dict[str, str] = Field(default_factory=dict)
    changes: dict[str, int | float | str | None] = Field(default_factory=dict)
    text: str = ""
    added: list[str] = Field(default_factory=list)
    removed: list[str] = Field(default_factory=list)


def action_router(watch: JournalWatch) -> APIRouter:
    """The routes that change something."""
    router = APIRouter(prefix="/api/v1", tags=["actions"], default_response_class=StrictJson)

    @router.post("/studies/{study}/commands/preview")
    def preview(study: str, asked: Asked) -> StrictJson:
        """What would happen, in words; nothing is changed."""
        with watch.study(study) as view:
            command = command_of(asked, view)
            effect = effect_of(command.to_json(), view.state, time.time())
        is_live = effect.ok and watch.head_is_running()
        shares = share_preview(watch.pool(), study, command.changes) if is_live else ""
        return StrictJson({"ok": effect.ok, "effect": f"{effect.text}; {shares}" if shares else effect.text})

    @router.post("/studies/{study}/commands")
    def act(study: str, asked: Asked) -> StrictJson:
        """Ask the head, and say what it answered; notes and tags are written without one, too."""
        with watch.study(study) as view:
            command = command_of(asked, view)
            body = command.to_json()
        if is_remark(command):
            written = write_alone(watch, study, command)
            if written is not None:
                return written
        with closing(open_reader(watch.journal)) as reader:
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


def write_alone(watch: JournalWatch, study: str, command: Command) -> StrictJson | None:
    """Write a note or tags where no run holds the journal; None where one does."""
    if watch.head_is_running():
        return None
    try:
        effect = write_remark(watch.journal, study, command)
    except JournalLocked:  # a run has begun meanwhile
        return None
    return StrictJson({"ok": effect.ok, "acknowledged": True, "effect": effect.text})


def command_of(asked: Asked, view: StudyView) -> Command:
    """The request as the head reads it.

    Raises:
        SpecError: it is not complete, or its values are not in the space.
    """
    if asked.verb != "enqueue":
        if asked.values:
            raise SpecError(f"{asked.verb} takes no values.", "Leave them out.")
        changes: dict[str, Json] = dict(asked.changes)
        if "priority" in changes:
            changes["priority"] = priority_class(changes["priority"])
        return Command(
            verb=asked.verb,
            number=asked.number,
            changes=changes,
            text=note_of(asked.text),
            added=asked.added,
            removed=asked.removed,
            who=WHO,
        )
    spec = view.state.spec
    if spec.space is None:
        config = free_form(asked.values)
    else:
        config = completed(Space.from_json(spec.space), asked.values).to_json()
    return Command(verb="enqueue", config=config, key=key_of(config), who=WHO)
