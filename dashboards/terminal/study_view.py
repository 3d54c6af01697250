"""One study as a rich renderable: header, best so far, the trials at work, the last ones that ended.

    digits · running · 17 of 30 trials · 2 running · 5.2 GPU-min · about 40 s left (25 s to 1 min 10 s)
    best    val_accuracy 0.9778  #7  ▁▃▆▆██
            lr=0.003 batch_size=64 optimizer=adam ...
    #   state    epoch  last    best    held   time  why
    18  running  3      0.9511  0.9511  1 CPU  4 s   rung 1: among the top third
"""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...search.study_data import StudyData
from ...search.transitions import TrialStatus
from ...search.trial_record import TrialRecord
from .figures import NOTHING, configuration, duration, number, shortened
from .outlook import outlook
from .parameters import flat
from .sparkline import sparkline
from .standing import best_so_far, best_value, last_ended, leader, of_status, settled

STYLES = {
    "running": "cyan",
    "queued": "dim",
    "paused": "blue",
    "completed": "green",
    "stopped": "yellow",
    "failed": "red",
    "cancelled": "magenta",
    "infeasible": "red",
}

COUNTED = (TrialStatus.RUNNING, TrialStatus.QUEUED, TrialStatus.PAUSED, TrialStatus.FAILED)


def study_view(state: StudyData, at: float, *, at_work: int = 8, waiting: int = 3, ended: int = 6) -> RenderableType:
    """The whole screen for one study.

    Args:
        at: now, in seconds since the epoch (for the time that running trials have run).
        at_work, waiting, ended: how many running, queued and ended trials are listed at most; up to half of the last
            ones are trials that are paused at a rung.
    """
    parts: list[RenderableType] = [header(state), best_line(state)]
    working = of_status(state, TrialStatus.RUNNING)[:at_work] + of_status(state, TrialStatus.QUEUED)[:waiting]
    if working:
        parts.append(trial_table(working, at, title="at work and next"))
    paused = of_status(state, TrialStatus.PAUSED)[::-1][: ended // 2]
    done = last_ended(state, ended - len(paused)) + paused
    if done:
        parts.append(trial_table(done, at, title="ended last, and paused" if paused else "ended last"))
    return Group(*parts)


def header(state: StudyData) -> Text:
    """State, progress, what it has cost, how long still."""
    total = state.spec.budget.trials
    counts = state.counts()
    done = settled(state)
    parts = [f"{done} of {total} trials" if total is not None else f"{done} trials"]
    parts += [f"{counts[status]} {status}" for status in COUNTED if counts.get(status)]
    parts.append(f"{duration(state.gpu_s)} on GPUs" if state.gpu_s > 0 else f"{duration(state.run_s)} of trials")
    ahead = outlook(total=total, settled=done, running=counts.get(TrialStatus.RUNNING, 0), run_s=state.run_s)
    if ahead is not None and state.status == "running":
        interval = f"{duration(ahead.low_s)} to {duration(ahead.high_s)}"
        parts.append(f"about {duration(ahead.remaining_s)} left ({interval})")
    line = Text(shortened(state.name, 40), style="bold")
    line.append(f" · {state.status}", style=STYLES.get(state.status, ""))
    line.append(" · " + " · ".join(parts), style="not bold")
    return line


def best_line(state: StudyData) -> Text:
    """The best value, its trial, the way there, its configuration."""
    if len(state.spec.objectives) > 1 and state.front:
        return front_line(state)
    objective = state.spec.objective
    official, first = state.best, leader(state)
    shown = official or first
    line = Text(f"{'best' if official else 'leading'}  {objective.metric} ")
    if shown is None:
        line.append(NOTHING, style="bold")
        line.append("  (no value yet)", style="dim")
        return line
    line.append(number(shown.value if official else best_value(shown)), style="bold green")
    line.append(f"  #{shown.number}")
    if official and first is not None and first.number != official.number:
        line.append(f"  (leading {number(best_value(first))}, #{first.number} {first.status})", style="dim")
    line.append("  " + sparkline(list(best_so_far(state.trials.values(), objective))), style="green")
    line.append("\n      " + configuration(flat(state, shown)), style="dim")
    return line


def front_line(state: StudyData) -> Text:
    """How many trials are on the front, and of every objective the best value there."""
    line = Text(f"front  {len(state.front)} trials")
    for place, objective in enumerate(state.spec.objectives):
        values = [(trial.values[place], n) for n in state.front if (trial := state.trials[n]).values]
        value, best = min(values, key=lambda pair: (objective.loss(pair[0]), pair[1]))
        line.append(f"   {objective.metric} ")
        line.append(number(value), style="bold green")
        line.append(f"  #{best}")
    return line


def trial_table(trials: list[TrialRecord], at: float, title: str) -> Table:
    """Rows of trials with the reason for what happens to each."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, expand=False)
    for column in ("#", "epoch", "last", "best", "time"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("held", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("why", overflow="fold")
    for trial in trials:
        step, value = trial.curve[-1] if trial.curve else (None, trial.value)
        table.add_row(
            str(trial.number),
            NOTHING if step is None else str(step),
            number(value),
            number(best_value(trial)),
            duration(run_time_s(trial, at)),
            held(trial) if trial.status == TrialStatus.RUNNING else NOTHING,
            Text(trial.status, style=STYLES.get(trial.status, "")),
            why(trial),
        )
    return table


def run_time_s(trial: TrialRecord, at: float) -> float | None:
    """Seconds on workers so far; None for a trial that has not started."""
    if trial.started_at is None:
        return None
    if trial.status == TrialStatus.RUNNING:
        return max(trial.run_s, at - trial.started_at)
    return trial.run_s


def held(trial: TrialRecord) -> str:
    """The devices a trial holds."""
    if trial.gpus:
        return "GPU " + ",".join(trial.gpus)
    return f"{trial.workers} worker" + ("s" if trial.workers != 1 else "")


def why(trial: TrialRecord) -> Text:
    """The last decision's reason; for a failed trial what went wrong."""
    if trial.failure is not None:
        return Text(f"{trial.failure}: {trial.message or trial.reason}", style="red")
    return Text(trial.reason or "")
