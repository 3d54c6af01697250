"""Spaces to and from other libraries. What would lose something is refused unless the caller allows it."""

from .configspace import to_configspace
from .optuna import from_optuna, suggest, to_optuna

__all__ = ["from_optuna", "suggest", "to_configspace", "to_optuna"]
