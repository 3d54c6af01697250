"""A trial's parameters on one level, path by path, as the space orders them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from ...errors import SpaceError
from ...search.spec import Json
from ...search.study_data import StudyData
from ...search.trial_record import TrialRecord

if TYPE_CHECKING:
    from ...spaces import Space


def flat(state: StudyData, trial: TrialRecord) -> Mapping[str, Json]:
    """`{"lr": 0.1, "optimizer": "sgd", "optimizer.momentum": 0.9}`.

    What a define-by-run trial was suggested is flat already. A configuration of an older version of the space, which
    the present one does not have, is shown as it is nested.
    """
    if trial.config is None:
        return trial.flat
    return _flattened(json.dumps(state.spec.space), json.dumps(trial.config))


@lru_cache(maxsize=4)
def _space(body: str) -> Space:
    from ...spaces import Space  # numpy with it, which `shoal --help` does without

    return Space.from_json(json.loads(body))


@lru_cache(maxsize=1024)
def _flattened(space: str, config: str) -> Mapping[str, Json]:
    nested = json.loads(config)
    try:
        return _space(space).configuration(nested).flat()
    except SpaceError:
        return dict(nested)
