"""The default configuration, and the check that no rule forbids it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import SpaceError
from . import sampling
from .configuration import Configuration
from .sites import Decision
from .values import Value

if TYPE_CHECKING:
    from .space import Space


def default(space: Space) -> Configuration | None:
    """See `Space.default`. Parameters the definition left open give way where a rule asks for it."""
    if not space.has_defaults():
        return None
    config = space.root.build(_initial)
    if space.holds(config):
        return config
    return sampling.nearby(space, config, np.random.default_rng(0), movable=_is_open)


def check(space: Space) -> None:
    """Refuse a definition whose defaults break a rule.

    Raises:
        SpaceError: names the rule.
    """
    if not space.has_defaults() or not space.rules:
        return
    config = space.root.build(_initial)
    if space.holds(config) or sampling.nearby(space, config, np.random.default_rng(0), movable=_is_open):
        return
    raise SpaceError(
        f"The default configuration {config!r} is forbidden by {space.violations(config)[0]}.",
        "Change the default, or the rule.",
    )


def _initial(decision: Decision) -> Value:
    if decision.allowed is not None and not decision.domain.has_defaults():
        return decision.allowed[0]
    return decision.domain.initial()


def _is_open(decision: Decision) -> bool:
    return not decision.domain.has_defaults()
