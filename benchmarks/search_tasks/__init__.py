"""Offline search tasks: tables and surrogates of published trainings, and three formulas.

The data lie outside the repository (`SHOAL_SEARCH_DATA`, by default `../shared/data/search` beside it).
"""

from __future__ import annotations

from .anchors import Anchors, anchors
from .data import MissingDataError
from .registry import ASIDE, SIX, SMOKE, TWELVE, task
from .task import Task

__all__ = ["ASIDE", "SIX", "SMOKE", "TWELVE", "Anchors", "MissingDataError", "Task", "anchors", "task"]
