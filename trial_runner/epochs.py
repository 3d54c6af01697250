"""The loop over epochs: where a trial continues, checkpoints, and lets go."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .metrics import EpochMeans
from .progress import Progress
from .reports import Reports
from .running_epoch import RunningEpoch
from .trial_memory import TrialMemory


def run_epochs(
    n: int,
    progress: Progress,
    memory: TrialMemory,
    reports: Reports,
    means: EpochMeans,
    running: RunningEpoch,
    begin_epoch: Callable[[], None],
) -> Iterator[int]:
    """Yield the indices of one loop's epochs, from where an earlier run of the trial left off.

    Between two epochs: checkpoint, then obey the study's answers. A checkpoint is written once the study has the
    reports that it counts as done: a trial killed in between would otherwise go on behind a report nobody has.
    After the last epoch nothing is left to decide: its answers are not obeyed. State is restored at the first `next`,
    when the user has built everything; loops that an earlier run finished yield nothing.

    Args:
        begin_epoch: called before each epoch.

    Raises:
        TrialLetGo: the trial is paused or stopped.
    """
    progress.loop += 1
    progress.loop_epoch = 0
    if progress.loop > 0:
        reports.obey(can_pause=False)
    resumed = memory.resumed()
    if resumed is not None and progress.loop <= resumed.header.loop:
        if progress.loop < resumed.header.loop:
            return
        if resumed.running is None:
            memory.restore(resumed)
        else:
            running.replay(resumed.running)
        progress.epoch = resumed.header.epoch
        progress.loop_epoch = resumed.header.loop_epoch
        reports.last_step = resumed.header.step
    progress.inside = True
    try:
        while progress.loop_epoch < n:
            begin_epoch()
            running.begin()
            memory.begin_epoch()
            yield progress.loop_epoch
            means.clear()
            progress.epoch += 1
            progress.loop_epoch += 1
            if memory.can_pause:
                reports.settle()
                memory.write(progress, step=reports.last_step, value=reports.value)
            if progress.loop_epoch < n:
                reports.obey(can_pause=memory.can_pause)
    finally:
        progress.inside = False
