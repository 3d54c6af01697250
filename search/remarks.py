"""Notes and tags: what people write on studies and trials. They change nothing about how these run.

Both are plain text. They may be written at any time, also on a study that has ended, so they count neither as activity
nor as time of the study.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

from ..errors import SpecError
from .events import CommandDone, NoteWritten, TagsChanged
from .study_data import StudyData
from .trial_record import TrialRecord

NOTE_CHARACTERS = 4_000
TAG_CHARACTERS = 40
MOST_TAGS = 20
"""On one study or trial. Tags are for telling a few kinds apart; a text is a note."""

ASIDES = (NoteWritten, TagsChanged, CommandDone)
"""Events that come from a person and not from the study's work, perhaps while no head has it open: the time up to them
is no time in which it was active."""


def note_of(text: str) -> str:
    """`text` as a note is kept: without spaces at its ends, its lines apart by a line feed.

    Raises:
        SpecError: it is longer than 4,000 characters, or has control characters.

    >>> note_of("  best so far\\r\\nrun it again ")
    'best so far\\nrun it again'
    """
    note = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(note) > NOTE_CHARACTERS:
        raise SpecError(
            f"the note has {len(note)} characters, more than {NOTE_CHARACTERS}.",
            "Shorten it, or write where the rest is kept.",
        )
    odd = next((c for c in note if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"), None)
    if odd is not None:
        raise SpecError(f"the note has the control character {odd!r}.", "Use letters, spaces and line breaks.")
    return note


def tag_of(word: str) -> str:
    """`word`, when it can be a tag.

    Raises:
        SpecError: it is empty or longer than 40 characters, begins with "+" or "-", or has spaces, commas or characters
            that cannot be printed.
    """
    if not 0 < len(word) <= TAG_CHARACTERS:
        raise SpecError(f"tag {word[:60]!r} has {len(word)} characters.", f"Use 1 to {TAG_CHARACTERS}.")
    if word[0] in "+-" or "," in word or not word.isprintable() or any(c.isspace() for c in word):
        raise SpecError(
            f"tag {word!r} is not one word.", "Use letters, digits and signs like _ . : /, with + or - not in front."
        )
    return word


def retagged(tags: Sequence[str], added: Sequence[str], removed: Sequence[str]) -> tuple[str, ...]:
    """The tags after a change, in the order in which they came.

    >>> retagged(("good", "slow"), added=["good", "again"], removed=["slow"])
    ('good', 'again')
    """
    kept = [tag for tag in tags if tag not in removed]
    return tuple(dict.fromkeys([*kept, *added]))


def check_tags(tags: Sequence[str], added: Sequence[str], removed: Sequence[str]) -> None:
    """Make sure that a change can be made to `tags`.

    Raises:
        SpecError: a tag to remove is not there (did you mean), or there would be more than 20.
    """
    for word in removed:
        if word not in tags:
            close = get_close_matches(word, tags, n=1)
            there = f"Its tags: {', '.join(tags)}." if tags else "It has no tags."
            raise SpecError(f"there is no tag {word!r} to remove.", f"Did you mean {close[0]}?" if close else there)
    count = len(retagged(tags, added, removed))
    if count > MOST_TAGS:
        raise SpecError(f"it would have {count} tags, more than {MOST_TAGS}.", "Remove some: -TAG.")


def tags_of(state: StudyData) -> list[str]:
    """Every tag that a trial of the study has, the most frequent first."""
    counts = Counter(tag for trial in state.trials.values() for tag in trial.tags)
    return sorted(counts, key=lambda tag: (-counts[tag], tag))


def bearer(state: StudyData, number: int | None) -> StudyData | TrialRecord | None:
    """Who bears a remark: the study, or one of its trials; None for a trial that it does not have."""
    return state if number is None else state.trials.get(number)


def write_note(state: StudyData, event: NoteWritten) -> bool:
    """Take a note in; False for a trial that the study does not have."""
    on = bearer(state, event.number)
    if on is None:
        return False
    on.note = event.text
    return True


def change_tags(state: StudyData, event: TagsChanged) -> bool:
    """Take a change of tags in; False for a trial that the study does not have."""
    on = bearer(state, event.number)
    if on is None:
        return False
    on.tags = retagged(on.tags, event.added, event.removed)
    return True
