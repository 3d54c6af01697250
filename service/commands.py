"""What another process may ask of a running head: the bodies in the journal's commands table.

Written by the command line (`shoal pause|resume|stop|kill|enqueue|set`), read by the head, acknowledged by a
`CommandDone` event whose effect text says what happened and how many trials it touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from ..errors import SpecError
from ..search.spec import Json

Verb = Literal["pause", "resume", "stop", "kill", "enqueue", "edit"]
VERBS: tuple[Verb, ...] = ("pause", "resume", "stop", "kill", "enqueue", "edit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One request.

    `number` names a trial (None: the whole study) for pause, resume, stop and kill. `config` and `key` belong
    to enqueue: the same key counts once. `changes` belongs to edit: new values of what may change while the
    study runs (`command_effects.CHANGEABLE`). `who` is told in the reasons that `shoal explain` prints, e.g. "shoal
    stop".
    """

    verb: Verb
    number: int | None = None
    config: Json = None
    key: str = ""
    changes: Mapping[str, Json] = field(default_factory=dict)
    who: str = "a command"

    def __post_init__(self) -> None:
        if self.verb not in VERBS:
            raise SpecError(f"command {self.verb!r} is unknown.", f"Use one of {', '.join(VERBS)}.")
        if self.verb == "enqueue" and (self.config is None or not self.key):
            raise SpecError("enqueue needs a configuration and a key.", "Give name=value pairs.")
        if self.verb == "edit" and not self.changes:
            raise SpecError("edit needs something to change.", "Use e.g. trials=100.")

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, body: Json) -> Command:
        try:
            return cls(**body)
        except TypeError as error:
            raise SpecError(f"a command is not readable: {error}.", "Use the same shoal version.") from error
