"""Strategies: what to try next. `names`, `describe` and `make` are the registry; `port` is what all stand behind.

Lazy: importing this package loads none of its modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .info import StrategyInfo as StrategyInfo
    from .options import Option as Option
    from .registry import check as check
    from .registry import describe as describe
    from .registry import make as make
    from .registry import names as names

_HOME = {
    "Option": "options",
    "StrategyInfo": "info",
    "check": "registry",
    "describe": "registry",
    "make": "registry",
    "names": "registry",
}

__all__ = ["Option", "StrategyInfo", "check", "describe", "make", "names"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
