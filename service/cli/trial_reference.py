"""`STUDY#7`, `STUDY/7` and `STUDY 7`: three ways to name a trial, since some shells take `#` for a comment."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import SpecError

WHOLE = re.compile(r"(?P<study>[^#/]+)(?:[#/](?P<number>\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A study, or one trial of it."""

    study: str
    number: int | None = None

    def __str__(self) -> str:
        return self.study if self.number is None else f"{self.study}#{self.number}"


def parse(text: str, number: int | None = None) -> Reference:
    """Read a study with or without a trial number.

    Args:
        text: `STUDY`, `STUDY#7` or `STUDY/7`.
        number: the number when it was given as a word of its own.

    Raises:
        SpecError: neither form, or two numbers.

    >>> parse("digits#7") == parse("digits/7") == parse("digits", 7)
    True
    """
    match = WHOLE.fullmatch(text)
    if match is None:
        raise SpecError(f"{text!r} names no study or trial.", "Write STUDY, STUDY#7 or STUDY/7.")
    inside = int(match["number"]) if match["number"] is not None else None
    if inside is not None and number is not None and inside != number:
        raise SpecError(f"{text!r} and {number} name two trials.", "Give the trial's number once.")
    return Reference(study=match["study"], number=number if inside is None else inside)


def parse_trial(text: str, number: int | None = None) -> tuple[str, int]:
    """As `parse`, where a trial is needed.

    Raises:
        SpecError: no trial number.
    """
    reference = parse(text, number)
    if reference.number is None:
        raise SpecError(f"{text!r} names a study, not a trial.", f"Write {text}#7 or {text}/7 for trial 7.")
    return reference.study, reference.number
