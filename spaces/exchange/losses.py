"""What another library cannot say, and the refusal to drop it silently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from ...errors import SpaceError

Lossy: TypeAlias = Literal["refuse", "allow"]


def refuse_losses(library: str, losses: Sequence[str], lossy: Lossy) -> None:
    """Raise when something would be lost and that was not allowed.

    Raises:
        SpaceError: names what would be lost, or `lossy` is neither "refuse" nor "allow".
    """
    if lossy not in ("refuse", "allow"):
        raise SpaceError(f'lossy={lossy!r} is neither "refuse" nor "allow".', "Give one of these.")
    if losses and lossy == "refuse":
        raise SpaceError(
            f"{library} cannot express all of this space; lost would be: {'; '.join(losses)}.",
            'Give lossy="allow" to go on without.',
        )
