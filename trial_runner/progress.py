"""Where a trial is in its training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Progress:
    """Epochs are counted over the whole trial, from 0, across its `trial.epochs` loops.

    `seed` is the trial's; `epoch` the one that is running, or would run next; `loop` the number of the last
    `trial.epochs` loop that began (-1: none), `loop_epoch` how many of its epochs are done, `inside` whether it is
    running now. `step` counts
    the batches drawn in this epoch.
    """

    seed: int
    epoch: int = 0
    loop: int = -1
    loop_epoch: int = 0
    inside: bool = False
    step: int = 0
