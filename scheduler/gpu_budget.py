"""A study's budget of GPU-hours: what it has used, what it is committed to, and who may still run when that is all.

While spent + committed is below the budget everybody may run; committed is what the running trials will need to
their next rung. From then on no new trial starts and nobody leaves a rung. When all have come to a rung and nobody has
been trained in full, the furthest trial is carried to the top. So a study goes beyond its budget by no more than the
training of one trial, and ends with one that was trained in full.
"""

from __future__ import annotations

from .elastic_state import StudyEntry, TrialState


def is_spent(study: StudyEntry, at: float) -> bool:
    """Whether what the study has used and what it is committed to exhaust its budget; never without one."""
    if study.budget_s is None:
        return False
    study.accrue(at)
    return study.spent_s + committed_s(study, at) >= study.budget_s


def committed_s(study: StudyEntry, at: float) -> float:
    """Device-seconds until every running trial stands at its next rung."""
    total = 0.0
    for trial in study.trials.values():
        if trial.holds and trial.k and trial.status != "pausing" and not trial.at_rung:
            to_next, _ = study.epochs_ahead(trial, at)
            total += to_next * trial.epoch_s() * trial.k * float(trial.unit)
    return total


def may_run(trial: TrialState, *, last: TrialState | None) -> bool:
    """Whether the trial may run on a spent budget: it is under way, or it is the `last` one (see `finisher`)."""
    return trial is last or (trial.holds and not trial.at_rung)


def finisher(study: StudyEntry) -> TrialState | None:
    """The trial that is carried to the top though the budget is spent; None while others are under way or one is there.

    The furthest; of those the most promising, then the first that came.
    """
    best: TrialState | None = None
    best_rank = (0, -1.0, 0)
    for trial in study.trials.values():
        rungs = study.rungs(trial)
        if (trial.holds and not trial.at_rung) or (rungs is not None and rungs.results[rungs.top]):
            return None
        rung = study.rung(trial) if rungs is not None else 0
        rank = (rung, study.useful(trial), -trial.arrival)
        if rung and (best is None or rank > best_rank):
            best, best_rank = trial, rank
    return best


def describe(study: StudyEntry) -> str:
    """Why a study on a spent budget starts nobody."""
    hours = (study.budget_s or 0.0) / 3600
    return f"the study's {hours:.4g} GPU-hours are spent or promised: {study.spent_s / 3600:.4g} used"
