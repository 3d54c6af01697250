"""Writing on studies and trials: `note` and `tag`, while they run and after they have ended."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...errors import SpecError
from .options import DataFlag, OutputFlag, StudyOrTrial, data_directory
from .steering import send
from .trial_reference import Reference, parse

OutputWord = Annotated[str | None, typer.Option("--output", help="table, json or csv. [SHOAL_OUTPUT; default: table]")]
"""Without the short form: `-old` would be read as `-o ld` instead of as a tag to remove."""

DASHED_WORDS = {"ignore_unknown_options": True}
"""What the program must allow for `tag`: words that begin with a dash and are no options."""


def note(
    reference: StudyOrTrial,
    text: Annotated[str, typer.Argument(help='The note, up to 4000 characters; "" takes it away.')],
    data: DataFlag = None,
    output: OutputFlag = None,
) -> None:
    """Write a note on a study or a trial. It replaces the former one; shoal show prints it."""
    from ...search.remarks import note_of
    from ..commands import Command

    on = parse(reference)
    command = Command(verb="note", number=on.number, text=note_of(text), who="shoal note")
    directory = data_directory(data)
    _known_tags(directory, on)
    send(directory, on.study, command, output)


def tag(
    reference: StudyOrTrial,
    words: Annotated[list[str], typer.Argument(metavar="+TAG/-TAG", help="Tags to add and to remove.")],
    data: DataFlag = None,
    output: OutputWord = None,
) -> None:
    """Tag a study or a trial. shoal show prints tags, shoal trials --tag and the dashboard choose by them."""
    from ...search.remarks import check_tags
    from ..commands import Command

    on = parse(reference)
    added, removed = signed(words)
    command = Command(verb="tag", number=on.number, added=added, removed=removed, who="shoal tag")
    directory = data_directory(data)
    check_tags(_known_tags(directory, on), added, removed)
    send(directory, on.study, command, output)


def signed(words: list[str]) -> tuple[list[str], list[str]]:
    """What to add and what to remove.

    Raises:
        SpecError: a word begins with neither + nor -.

    >>> signed(["+good", "-slow", "+again"])
    (['good', 'again'], ['slow'])
    """
    for word in words:
        if not word.startswith(("+", "-")):
            raise SpecError(f"{word!r} says neither + nor -.", f"Write +{word} to add the tag, -{word} to remove it.")
    return [w[1:] for w in words if w.startswith("+")], [w[1:] for w in words if w.startswith("-")]


def _known_tags(directory: Path, on: Reference) -> tuple[str, ...]:
    """The tags that it has.

    Raises:
        NotFound: no such study or trial.
    """
    from .journal_reading import open_reader

    with open_reader(directory) as reader:
        return reader.state(on.study).tags if on.number is None else reader.trial(on.study, on.number).tags
