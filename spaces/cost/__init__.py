"""What a network will cost, before anything runs: parameters, MACs, work, depth, memory, workers."""

from .operators import Cost
from .prediction import Fit, Prediction, fits, predict, predict_configuration, why_infeasible
from .summary import summary
from .terms import cost
from .workers import Machine, best_workers, step_time_s

__all__ = [
    "Cost",
    "Fit",
    "Machine",
    "Prediction",
    "best_workers",
    "cost",
    "fits",
    "predict",
    "predict_configuration",
    "step_time_s",
    "summary",
    "why_infeasible",
]
