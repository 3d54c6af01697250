"""What another process may ask of a running head: the bodies in the journal's commands table.

Written by the command line (`shoal pause|resume|stop|kill|enqueue|set|note|tag`), read by the head, acknowledged by a
`CommandDone` event whose effect text says what happened and how many trials it touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, get_args

from ..errors import SpecError
from ..search.remarks import note_of, tag_of
from ..search.spec import Json

Verb = Literal["pause", "resume", "stop", "kill", "enqueue", "edit", "note", "tag"]
VERBS: tuple[Verb, ...] = get_args(Verb)
REMARK_VERBS: tuple[Verb, ...] = ("note", "tag")
"""What may be done to a study that has ended, and to one that the head does not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One request.

    `number` names a trial (None: the whole study) for pause, resume, stop, kill, note and tag. `config` and `key`
    belong to enqueue: the same key counts once. `changes` belongs to edit: new values of what may change while the
    study runs (`command_effects.CHANGEABLE`). `text` is a note ("" takes it away); `added` and `removed` are tags.
    `who` is told in the reasons that `shoal explain` prints, e.g. "shoal stop".

    Raises:
        SpecError: what the verb needs is missing, or a note or tag cannot be one.
    """

    verb: Verb
    number: int | None = None
    config: Json = None
    key: str = ""
    changes: Mapping[str, Json] = field(default_factory=dict)
    text: str = ""
    added: Sequence[str] = ()
    removed: Sequence[str] = ()
    who: str = "a command"

    def __post_init__(self) -> None:
        if self.verb not in VERBS:
            raise SpecError(f"command {self.verb!r} is unknown.", f"Use one of {', '.join(VERBS)}.")
        if self.verb == "enqueue" and (self.config is None or not self.key):
            raise SpecError("enqueue needs a configuration and a key.", "Give name=value pairs.")
        if self.verb == "edit" and not self.changes:
            raise SpecError("edit needs something to change.", "Use e.g. trials=100.")
        if self.verb == "note":
            note_of(self.text)
        if self.verb == "tag":
            self._check_tags()

    def _check_tags(self) -> None:
        if not self.added and not self.removed:
            raise SpecError("tag needs a tag to add or to remove.", "Use e.g. +good -slow.")
        for word in (*self.added, *self.removed):
            tag_of(word)
        both = set(self.added).intersection(self.removed)
        if both:
            raise SpecError(f"tag {min(both)!r} is to be added and removed.", "Say one of the two.")

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, body: Json) -> Command:
        try:
            return cls(**body)
        except TypeError as error:
            raise SpecError(f"a command is not readable: {error}.", "Use the same shoal version.") from error
