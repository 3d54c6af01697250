"""Optuna's view of a study that we own: one study, whose trials are a dictionary by number.

Optuna's in-memory storage cannot take a trial back, put one in the middle, or show a running trial as finished. Here
the owner puts trials in and out as it likes, so that what a sampler or pruner sees depends on the set of trials alone.
Only `BaseStorage`, Optuna's documented interface, is used; trial ids are trial numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Container, Sequence
from datetime import datetime
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.study._frozen import FrozenStudy
from optuna.trial import FrozenTrial, TrialState

STUDY_ID = 0
STUDY_NAME = "shoal"  # fixed: HyperbandPruner hashes it with the trial's number

EPOCH = datetime(1970, 1, 1)
"""Start and end of every trial: no sampler or pruner looks at them, but a finished trial has to have them."""


def frozen_trial(
    number: int,
    state: TrialState,
    *,
    params: dict[str, Any] | None = None,
    distributions: dict[str, BaseDistribution] | None = None,
    values: Sequence[float] | None = None,
    curve: Sequence[tuple[int, float]] = (),
    system_attrs: dict[str, Any] | None = None,
) -> FrozenTrial:
    """An Optuna trial as it is stored."""
    return FrozenTrial(
        number=number,
        trial_id=number,
        state=state,
        value=None,
        values=values,
        params=params or {},
        distributions=distributions or {},
        user_attrs={},
        system_attrs=system_attrs or {},
        intermediate_values=dict(curve),
        datetime_start=EPOCH,
        datetime_complete=EPOCH if state.is_finished() else None,
    )


class TrialsStorage(BaseStorage):
    """A storage for one study. `trials` is the owner's to change; `next_number` is what the next new trial gets."""

    def __init__(self, directions: Sequence[str]) -> None:
        self.trials: dict[int, FrozenTrial] = {}
        self.next_number = 0
        self._directions = [StudyDirection.MAXIMIZE if d == "maximize" else StudyDirection.MINIMIZE for d in directions]
        self._system_attrs: dict[str, Any] = {}

    # --- trials --------------------------------------------------------------------------------

    def create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> int:
        """A running trial `next_number`; one that is there already goes on with the parameters that it has."""
        number = self.next_number
        self.trials.setdefault(number, template_trial or frozen_trial(number, TrialState.RUNNING))
        return number

    def get_trial(self, trial_id: int) -> FrozenTrial:
        return self.trials[trial_id]

    def get_all_trials(
        self, study_id: int, deepcopy: bool = True, states: Container[TrialState] | None = None
    ) -> list[FrozenTrial]:
        ordered = [self.trials[number] for number in sorted(self.trials)]
        chosen = [trial for trial in ordered if states is None or trial.state in states]
        return copy.deepcopy(chosen) if deepcopy else chosen

    def set_trial_param(
        self, trial_id: int, param_name: str, param_value_internal: float, distribution: BaseDistribution
    ) -> None:
        trial = self.trials[trial_id]
        trial.params = {**trial.params, param_name: distribution.to_external_repr(param_value_internal)}
        trial.distributions = {**trial.distributions, param_name: distribution}

    def set_trial_state_values(self, trial_id: int, state: TrialState, values: Sequence[float] | None = None) -> bool:
        self.trials[trial_id].state = state
        if values is not None:
            self.trials[trial_id].values = list(values)
        return True

    def set_trial_intermediate_value(self, trial_id: int, step: int, intermediate_value: float) -> None:
        self.trials[trial_id].intermediate_values[step] = intermediate_value

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        self.trials[trial_id].system_attrs = {**self.trials[trial_id].system_attrs, key: value}

    def set_trial_user_attr(self, trial_id: int, key: str, value: Any) -> None:
        self.trials[trial_id].set_user_attr(key, value)

    # --- the one study -------------------------------------------------------------------------

    def create_new_study(self, directions: Sequence[StudyDirection], study_name: str | None = None) -> int:
        return STUDY_ID

    def delete_study(self, study_id: int) -> None:
        self.trials.clear()

    def get_study_id_from_name(self, study_name: str) -> int:
        return STUDY_ID

    def get_study_name_from_id(self, study_id: int) -> str:
        return STUDY_NAME

    def get_study_directions(self, study_id: int) -> list[StudyDirection]:
        return self._directions

    def get_study_user_attrs(self, study_id: int) -> dict[str, Any]:
        return {}

    def get_study_system_attrs(self, study_id: int) -> dict[str, Any]:
        return self._system_attrs

    def set_study_user_attr(self, study_id: int, key: str, value: Any) -> None:
        raise NotImplementedError("shoal keeps no user attributes in Optuna")

    def set_study_system_attr(self, study_id: int, key: str, value: Any) -> None:
        self._system_attrs = {**self._system_attrs, key: value}

    def get_all_studies(self) -> list[FrozenStudy]:
        return [
            FrozenStudy(
                study_name=STUDY_NAME,
                direction=None,
                directions=self._directions,
                user_attrs={},
                system_attrs=self._system_attrs,
                study_id=STUDY_ID,
            )
        ]
