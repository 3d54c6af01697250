"""What the first visitor would wait for, done before anybody comes: Optuna's import and the newest study's figures."""

from __future__ import annotations

import logging

from ...dashboards.figures import STUDY_FIGURES, study_figure
from ...errors import ShoalError
from .watching import JournalWatch

SLOW = ("importance", "trial_curve", "architecture")
"""Figures that are not drawn ahead: the first is kept elsewhere, the others are fast."""


def warm_up(watch: JournalWatch) -> None:
    """Draw the newest study's figures once, one after the other so that nobody waits for all of them."""
    import optuna.importance  # takes a second

    optuna.logging.set_verbosity(logging.WARNING)
    watch.is_loaded.wait()
    with watch.studies() as views:
        newest = views[-1].name if views else None
    if newest is None:
        return
    for name in STUDY_FIGURES:
        if name not in SLOW:
            try:
                with watch.study(newest) as view:
                    study_figure(view, name)
            except ShoalError:  # whoever asks for it is told
                continue
