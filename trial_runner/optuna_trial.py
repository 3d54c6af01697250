"""Optuna's `trial` for objectives that were written for Optuna: `objective(trial)` runs here unchanged.

Suggestions are asked from the study one by one (define by run); reports go to its stopping rule. Deviations:
- Optuna counts steps from 0, shoal counts finished epochs: step s is reported as s + 1.
- A step that does not rise is ignored with a warning (Optuna ignores repeated ones and accepts falling ones).
- User attributes live as long as the objective runs; metrics that should be kept are reported.
- `suggest_uniform`, `suggest_loguniform` and `suggest_discrete_uniform`, which Optuna removes in 6.0, are refused;
  so are constraints.
"""

from __future__ import annotations

import datetime
import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import StrategyError, TrialError
from ..spaces import Categorical, Domain, Float, Int
from .group import SoloGroup
from .metrics import as_number
from .reports import Reports, TrialLink

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Json = Any  # a JSON value: the one named boundary where the type is open
Value = Any  # a parameter's value, the user's: hence open

_WHOLE = 1e-8  # how far (high - low) / step may be from an integer: float literals carry ~1e-16


class OptunaTrial:
    """What a plain Optuna objective is given.

    Attributes:
        number: the trial's number in its study, from 0.
        direction: "maximize" or "minimize".
        params: the values suggested so far, by name.
        user_attrs: what `set_user_attr` was given.
        datetime_start: when this run of the trial began.

    Args:
        link: the wire to the node.
        metric: the objective's name, under which values are reported.
        suggested: answers (JSON) that an earlier run of this trial was given.
        reported_step: the last step that the study knows from an earlier run of this trial.
    """

    def __init__(
        self,
        *,
        number: int,
        link: TrialLink,
        metric: str,
        direction: str,
        suggested: Mapping[str, Json],
        reported_step: int = 0,
    ) -> None:
        self.number = number
        self.direction = direction
        self.params: dict[str, Value] = {}
        self.user_attrs: dict[str, Any] = {}
        self.datetime_start = datetime.datetime.now()
        self._link = link
        self._metric = metric
        self._suggested = dict(suggested)
        self._domains: dict[str, Domain] = {}
        self._reports = Reports(link, SoloGroup(), metric=metric, reported_step=reported_step)
        self._pruned = False
        if "optuna" in sys.modules:  # isinstance(trial, BaseTrial) matters only to code that has imported it
            from optuna.trial import BaseTrial

            BaseTrial.register(OptunaTrial)

    # --- suggestions -----------------------------------------------------------------------------

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        """A number in [low, high]; with `step` the highest multiple of it at or below `high` is the end."""
        if step is not None and step > 0 and math.isfinite(high - low):
            steps = math.floor((high - low) / step + _WHOLE)
            if steps >= 0 and abs((high - low) / step - steps) > _WHOLE:
                high = self._lowered(name, high, float(Decimal(repr(low)) + steps * Decimal(repr(step))))
        return float(self._suggest(name, Float(low, high, step=step, log=log)))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """An integer in [low, high]; with `step` the highest multiple of it at or below `high` is the end."""
        if step > 1 and low <= high and (high - low) % step:
            high = self._lowered(name, high, high - (high - low) % step)
        return int(self._suggest(name, Int(low, high, step=None if step == 1 else step, log=log)))

    def suggest_categorical(self, name: str, choices: Sequence[Value]) -> Value:
        """One of the choices."""
        return self._suggest(name, Categorical(choices))

    def suggest_uniform(self, name: str, low: float, high: float) -> NoReturn:
        """Refused: use `suggest_float`."""
        raise _deprecated("suggest_uniform", f"suggest_float({name!r}, {low}, {high})")

    def suggest_loguniform(self, name: str, low: float, high: float) -> NoReturn:
        """Refused: use `suggest_float(..., log=True)`."""
        raise _deprecated("suggest_loguniform", f"suggest_float({name!r}, {low}, {high}, log=True)")

    def suggest_discrete_uniform(self, name: str, low: float, high: float, q: float) -> NoReturn:
        """Refused: use `suggest_float(..., step=q)`."""
        raise _deprecated("suggest_discrete_uniform", f"suggest_float({name!r}, {low}, {high}, step={q})")

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The domains asked for so far, as Optuna's distributions."""
        return {name: _distribution(domain) for name, domain in self._domains.items()}

    # --- reports ---------------------------------------------------------------------------------

    def report(self, value: float, step: int) -> None:
        """Tell the study the objective's value at `step`, from 0.

        Raises:
            TrialError: the value is not a number, or the step not an integer from 0.
        """
        number = as_number(self._metric, value)
        if isinstance(step, bool) or not hasattr(step, "__index__") or step.__index__() < 0:
            raise TrialError(f"step {step!r} is not an integer from 0.", "Count epochs: trial.report(value, epoch).")
        self._reports.record(step.__index__() + 1, {self._metric: number}, can_pause=False)

    def should_prune(self) -> bool:
        """Does the study want this trial to stop? Waits for its answer to the last report."""
        self._pruned = self._pruned or self._reports.order(can_pause=False) is not None
        return self._pruned

    # --- attributes ------------------------------------------------------------------------------

    def set_user_attr(self, key: str, value: Any) -> None:
        """Note something, for the objective's own use."""
        self.user_attrs[key] = value

    @property
    def constraints(self) -> dict[str, float]:
        """None are supported."""
        return {}

    def set_constraint(self, key: str, value: float) -> NoReturn:
        """Refused."""
        raise TrialError(
            f"set_constraint({key!r}, ...): constraints on results are not supported.",
            "Return a bad value where the constraint is broken.",
        )

    # --- inside ----------------------------------------------------------------------------------

    def _suggest(self, name: str, domain: Domain) -> Value:
        known = self._domains.get(name)
        if known is not None:
            _check_same(name, known, domain)
            return self.params[name]
        if name in self._suggested:
            answer = self._suggested[name]
        else:
            self._link.send("suggest", path=name, domain=domain.to_json())
            message = self._link.receive("suggestion")
            if message["error"]:
                raise StrategyError(f"no value for {name!r}: {message['error']}")
            answer = message["value"]
        value = domain.parse(answer, name)
        self._domains[name] = domain
        self.params[name] = value
        return value

    def _lowered(self, name: str, high: Any, reachable: Any) -> Any:
        self._reports.warn(
            f"range {name}",
            f"{name}: high={high} is not low plus a whole number of steps; {reachable} is used instead.",
        )
        return reachable


def _deprecated(method: str, instead: str) -> TrialError:
    return TrialError(f"trial.{method} is deprecated by Optuna and not supported.", f"Use trial.{instead}.")


def _check_same(name: str, known: Domain, domain: Domain) -> None:
    """As Optuna does: another kind is an error, another range of the same kind a warning, and the first one stays.

    Raises:
        ValueError: the kinds differ, or the choices.
    """
    if known.to_json() == domain.to_json():
        return
    if type(known) is not type(domain):
        raise ValueError(
            f"{name!r} was suggested as {known!r} before and cannot become {domain!r}. Use another name for it."
        )
    if isinstance(known, Categorical):
        raise ValueError(f"the choices of {name!r} were {known!r} before and cannot change. Use another name for it.")
    warnings.warn(
        f"{name!r} was suggested from {known!r} before; its value then is used, and {domain!r} ignored.",
        RuntimeWarning,
        stacklevel=4,
    )


def _distribution(domain: Domain) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(domain, Float):
        return FloatDistribution(domain.low, domain.high, log=domain.log, step=domain.step)
    if isinstance(domain, Int):
        return IntDistribution(domain.low, domain.high, log=domain.log, step=domain.step or 1)
    assert isinstance(domain, Categorical)
    return CategoricalDistribution(domain.values)
