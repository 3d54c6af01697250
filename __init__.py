"""shoal: hyperparameter and architecture search over a shared GPU pool.

The names below are loaded when they are first used, so that `import shoal` costs next to nothing and loads neither
torch nor ray. Search spaces live in `shoal.spaces`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import ShoalError as ShoalError
    from .search.early_stopping import ASHA as ASHA
    from .search.early_stopping import Hyperband as Hyperband
    from .search.early_stopping import Median as Median
    from .search.early_stopping import Patience as Patience
    from .search.early_stopping import Percentile as Percentile
    from .search.early_stopping import Threshold as Threshold
    from .service.entry import Command as Command
    from .service.results import StudyResults as StudyResults
    from .service.study import Study as Study
    from .trial_runner.trial import Trial as Trial

__version__ = "0.1.0"

_HOME = {
    "ASHA": "search.early_stopping",
    "Command": "service.entry",
    "Hyperband": "search.early_stopping",
    "Median": "search.early_stopping",
    "Patience": "search.early_stopping",
    "Percentile": "search.early_stopping",
    "ShoalError": "errors",
    "Study": "service.study",
    "StudyResults": "service.results",
    "Threshold": "search.early_stopping",
    "Trial": "trial_runner.trial",
}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
