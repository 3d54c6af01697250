"""One function a figure: a view of a study's state in, a Plotly figure out.

The web pages, `shoal export --html` and notebooks draw the same ones. Importing this loads plotly.
"""

from .architecture import architecture
from .catalogue import (
    OF_OBJECTIVE,
    POOL_FIGURES,
    STUDY_FIGURES,
    Options,
    importance_figure,
    pool_figure,
    study_figure,
)
from .compare import compare
from .contour import contour
from .gantt import gantt
from .history import history
from .importance import importance
from .learning_curves import learning_curves
from .parallel_coordinates import parallel_coordinates
from .pareto import pareto
from .rungs import rungs
from .shares import shares
from .slices import slices
from .strict_json import dumped, figure_json
from .trial_curve import trial_curve
from .utilisation import utilisation

__all__ = [
    "OF_OBJECTIVE",
    "POOL_FIGURES",
    "STUDY_FIGURES",
    "Options",
    "architecture",
    "compare",
    "contour",
    "dumped",
    "figure_json",
    "gantt",
    "history",
    "importance",
    "importance_figure",
    "learning_curves",
    "parallel_coordinates",
    "pareto",
    "pool_figure",
    "rungs",
    "shares",
    "slices",
    "study_figure",
    "trial_curve",
    "utilisation",
]
