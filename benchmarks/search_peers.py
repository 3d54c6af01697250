"""SMAC3 behind our port, so that it runs on the same tasks in the same loop (extra `peers`)."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from typing import Any

from shoal.search.strategies.port import Pending, Proposal, Result
from shoal.spaces import Decision, Space
from shoal.spaces.exchange.configspace import to_configspace
from shoal.spaces.listed_domains import Listed
from shoal.spaces.values import decode_value

from .search_tasks import MissingDataError

_OPTION = re.compile(r"\[[A-Za-z_]\w*\]")
"""The option in a path, which ConfigSpace's names have more often than ours; of the active ones the rest is unique."""


class Smac:
    """SMAC3's facade for hyperparameters (random forest), in its default settings, by ask and tell.

    It is told that it has 100 trials, from which it derives the size of its initial design.
    """

    uses_history = True
    replays_asks = True

    def __init__(self, space: Space, seed: int, trials: int = 100) -> None:
        try:
            import smac
        except ImportError:
            raise MissingDataError("SMAC3 is not installed: pip install 'shoal[peers]'") from None
        self._space = space
        self._folder = tempfile.TemporaryDirectory(prefix="smac-")
        scenario = smac.Scenario(
            to_configspace(space, lossy="allow"), deterministic=True, n_trials=trials, seed=seed,
            output_directory=self._folder.name,
        )  # fmt: skip
        self._facade = smac.HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=False
        )
        self._asked: dict[int, Any] = {}

    def tell(self, results: Sequence[Result]) -> None:
        from smac.runhistory.dataclasses import TrialValue

        for result in results:
            if result.number in self._asked and result.values is not None:
                self._facade.tell(self._asked.pop(result.number), TrialValue(cost=result.values[0]))

    def ask(self, first_number: int, n: int, pending: Sequence[Pending], seed: int) -> list[Proposal]:
        proposals = []
        for number in range(first_number, first_number + n):
            asked = self._asked[number] = self._facade.ask()
            values = {_OPTION.sub("", name): value for name, value in dict(asked.config).items()}

            def decide(decision: Decision, values: dict[str, Any] = values) -> Any:
                return _value(decision, values[_OPTION.sub("", decision.path)])

            proposals.append(Proposal(config=self._space.build(decide), reason="smac"))
        return proposals


def _value(decision: Decision, value: Any) -> Any:
    """Our value of one of SMAC's, which may be a numpy scalar."""
    plain = value.item() if hasattr(value, "item") else value
    if decision.role == "tag":
        return plain
    if isinstance(decision.domain, Listed) and isinstance(plain, str):
        return decode_value(json.loads(plain))
    return decision.domain.coerce(plain)
