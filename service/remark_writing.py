"""Notes and tags on studies that no head has open: written into the journal at once, by whoever asks."""

from __future__ import annotations

import threading
import time
from contextlib import closing

from ..search.journal.opening import open_journal
from ..search.replay import read_study
from .command_effects import Effect, effect_of
from .commands import REMARK_VERBS, Command

_ONE_AT_A_TIME = threading.Lock()
"""Two requests of one dashboard must not find the journal locked by each other."""


def is_remark(command: Command) -> bool:
    """Is it a note or a change of tags, which needs no head?"""
    return command.verb in REMARK_VERBS


def write_remark(journal: str, study: str, command: Command) -> Effect:
    """Be the journal's writer for a moment and write a note or tags.

    Args:
        journal: its address, which `journal_of` gives.
        study: one that it has.
        command: of a kind that `is_remark`.

    Raises:
        JournalLocked: a head holds the journal; it takes the command from the commands table.
        NotFound: the journal has no such study.
        JournalError: it cannot be read or written.
    """
    with _ONE_AT_A_TIME, closing(open_journal(journal)) as opened:
        effect = effect_of(command.to_json(), read_study(opened, study), time.time())
        if effect.events:
            opened.append(study, effect.events)
            opened.commit()
    return effect
