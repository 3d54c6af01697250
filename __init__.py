"""shoal: hyperparameter and architecture search over a shared GPU pool.

The names below are loaded when they are first used, so that `import shoal` costs next to nothing and loads neither
torch nor ray. Search spaces live in `shoal.spaces`.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import ShoalError as ShoalError
    from .search.early_stopping import ASHA as ASHA
    from .search.early_stopping import FreezeThaw as FreezeThaw
    from .search.early_stopping import Hyperband as Hyperband
    from .search.early_stopping import Median as Median
    from .search.early_stopping import Patience as Patience
    from .search.early_stopping import Percentile as Percentile
    from .search.early_stopping import Threshold as Threshold
    from .search.integrations import optuna as optuna
    from .service.entry import Command as Command
    from .service.results import StudyResults as StudyResults
    from .service.study import Study as Study
    from .trial_runner.trial import Trial as Trial

__version__ = "0.1.0"

# on the path under its own name: a file optuna.py here would hide Optuna itself
__path__.append(str(Path(__file__).parent / "search" / "integrations"))

_HOME = {
    "ASHA": "search.early_stopping",
    "Command": "service.entry",
    "FreezeThaw": "search.early_stopping",
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

__all__ = [*sorted(_HOME), "__version__", "optuna"]


def __getattr__(name: str) -> Any:
    if name == "optuna":
        return import_module(".optuna", __name__)
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
