"""Any Optuna pruner behind our port.

The pruner sees a study of its own, filled with the curves that were observed. Deviations from Optuna:
- all other trials look completed, with their last value: our rules compare with what has been reported, not only with
  trials that have ended;
- some pruners write marks on the trial they judge, so the answer is computed once for each report, in the order of the
  reports (the journal keeps it), and a question only looks it up;
- a report without the metric is not shown to the pruner: no decision.
Optuna is loaded at the first question, so that folding a journal stays cheap.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import SpecError
from ..spec import Json, Objective
from ..strategies.options import nearest
from ..strategies.optuna_keywords import refuse_objects
from .curves import Curves
from .port import Promotion, Verdict
from .ranking import shown

if TYPE_CHECKING:
    from optuna import Study
    from optuna.pruners import BasePruner

    from ..strategies.optuna_storage import TrialsStorage

PREFIX = "optuna:"

PRUNERS = {
    "MedianPruner": "worse than the median at the same step",
    "PercentilePruner": "outside a percentile at the same step (option percentile)",
    "SuccessiveHalvingPruner": "asynchronous successive halving, stopping form",
    "HyperbandPruner": "successive halving in brackets, stopping form (option max_resource)",
    "PatientPruner": "no improvement for some steps (option patience)",
    "ThresholdPruner": "outside bounds (options lower, upper)",
    "WilcoxonPruner": "worse than the best trial by a signed-rank test over steps",
    "NopPruner": "never stops",
}

ALIASES = {
    "median": "MedianPruner",
    "percentile": "PercentilePruner",
    "successive_halving": "SuccessiveHalvingPruner",
    "sha": "SuccessiveHalvingPruner",
    "hyperband": "HyperbandPruner",
    "patient": "PatientPruner",
    "threshold": "ThresholdPruner",
    "wilcoxon": "WilcoxonPruner",
    "nop": "NopPruner",
}


def class_name(name: str) -> str:
    """The Optuna class that `optuna:NAME` means.

    Raises:
        SpecError: there is none.
    """
    asked = name.removeprefix(PREFIX)
    found = asked if asked in PRUNERS else ALIASES.get(asked.lower())
    if found is None:
        raise SpecError(
            f"Optuna pruner {asked!r} is unknown.{nearest(asked, [*PRUNERS, *ALIASES])}",
            f"Known: {', '.join(PRUNERS)}.",
        )
    return found


class OptunaRule:
    """An Optuna pruner as a stopping rule."""

    def __init__(self, objective: Objective, cls_name: str, options: Mapping[str, Json]) -> None:
        self._objective = objective
        self._cls_name = cls_name
        self._options = dict(options)
        self._curves = Curves()
        self._reports: list[tuple[int, int, float]] = []
        self._judged = 0
        self._prunes: dict[int, bool] = {}
        self._scratch: tuple[BasePruner, Study, TrialsStorage] | None = None

    def observe(self, number: int, step: int, value: float | None) -> None:
        if self._curves.add(number, step, value) and value is not None:
            self._reports.append((number, step, value))

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        last = self._curves.last(number)
        if last is None:
            return Verdict(action="continue", reason="no report yet")
        step, value = last
        if value is None:
            return Verdict(action="continue", reason=f"epoch {step}: {self._objective.metric} is missing, no decision")
        self._judge_new_reports()
        is_pruned = self._prunes[number]
        verb = "prunes" if is_pruned else "keeps"
        reason = f"epoch {step}: Optuna's {self._cls_name} {verb} it at {shown(value)}"
        return Verdict(action="stop" if is_pruned else "continue", reason=reason)

    def promotions(self, paused: Collection[int], *, closing: bool = False) -> list[Promotion]:
        return []

    def farewell(self, number: int) -> str:
        return "the study ended while it was paused"

    def _made(self) -> tuple[BasePruner, Study, TrialsStorage]:
        if self._scratch is None:
            import optuna

            from ..strategies.optuna_storage import STUDY_NAME, TrialsStorage

            pruner = made_pruner(self._cls_name, self._options)
            storage = TrialsStorage([self._objective.direction])
            study = optuna.load_study(study_name=STUDY_NAME, storage=storage, pruner=pruner)
            self._scratch = (pruner, study, storage)
        return self._scratch

    def _judge_new_reports(self) -> None:
        from optuna.trial import TrialState

        from ..strategies.optuna_storage import frozen_trial

        pruner, study, storage = self._made()
        for number, step, value in self._reports[self._judged :]:
            trial = storage.trials.setdefault(number, frozen_trial(number, TrialState.RUNNING, values=[0.0]))
            trial.intermediate_values[step] = value
            trial.values = [value if math.isfinite(value) else self._objective.loss(math.inf)]
            trial.state = TrialState.RUNNING
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of curves that are all NaN
                self._prunes[number] = bool(pruner.prune(study, trial))
            trial.state = TrialState.COMPLETE
        self._judged = len(self._reports)


def made_pruner(cls_name: str, options: Mapping[str, Json]) -> BasePruner:
    """An Optuna pruner from JSON options.

    Raises:
        SpecError: an option that it does not take from JSON, or a value that it refuses.
    """
    import optuna

    owner = f"{PREFIX}{cls_name}"
    cls = getattr(optuna.pruners, cls_name)
    refuse_objects(owner, cls, options)
    keywords: dict[str, Any] = dict(options)
    if cls_name == "PatientPruner":
        keywords["wrapped_pruner"] = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # experimental pruners were chosen on purpose
            pruner = cls(**keywords)
    except (TypeError, ValueError) as error:
        raise SpecError(f"{owner}: Optuna refuses the options: {error}", "See Optuna's documentation.") from error
    assert isinstance(pruner, optuna.pruners.BasePruner)
    return pruner
