"""Early stopping: which trials go on. `names`, `describe` and `make_rule` are the registry, the classes what a study
is given (`early_stopping=ASHA(max_epochs=27)`); `port` is what all rules stand behind.

Lazy: importing this package loads none of its modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .choices import ASHA as ASHA
    from .choices import FreezeThaw as FreezeThaw
    from .choices import Hyperband as Hyperband
    from .choices import Median as Median
    from .choices import NoStopping as NoStopping
    from .choices import Patience as Patience
    from .choices import Percentile as Percentile
    from .choices import Threshold as Threshold
    from .registry import RuleInfo as RuleInfo
    from .registry import describe as describe
    from .registry import make_rule as make_rule
    from .registry import names as names
    from .registry import to_chosen as to_chosen

_HOME = {
    "ASHA": "choices",
    "FreezeThaw": "choices",
    "Hyperband": "choices",
    "Median": "choices",
    "NoStopping": "choices",
    "Patience": "choices",
    "Percentile": "choices",
    "Threshold": "choices",
    "RuleInfo": "registry",
    "check_rule": "registry",
    "describe": "registry",
    "make_rule": "registry",
    "names": "registry",
    "to_chosen": "registry",
}

__all__ = [
    "ASHA",
    "FreezeThaw",
    "Hyperband",
    "Median",
    "NoStopping",
    "Patience",
    "Percentile",
    "RuleInfo",
    "Threshold",
    "check_rule",
    "describe",
    "make_rule",
    "names",
    "to_chosen",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
