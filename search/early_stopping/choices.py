"""What a study is given as `early_stopping=`: each rule's options, valid by construction.

ASHA's and Hyperband's reduction factor of 3 is that of Li et al. 2018; the first rung after one epoch suits epochs that
are long. The median rule's five peers are Optuna's number of startup trials.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import ClassVar, Literal

from ...errors import SpecError
from ..spec import Chosen
from ..strategies.options import check_fields

FORMS = ("promotion", "stopping")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChoice:
    """What all choices share: a registered name, and the `Chosen` that goes into the study's spec.

    `metric`: which of several objectives the rule looks at; None: the first; "all": rules that compare trials rank them
    over all objectives (`all_objectives.py`).
    """

    name: ClassVar[str]

    metric: str | None = field(
        default=None, metadata={"help": "the objective that is looked at, or 'all'; null: the first"}
    )

    def chosen(self) -> Chosen:
        """The rule as plain data."""
        options = asdict(self)
        if self.metric is None:
            del options["metric"]
        return Chosen(name=self.name, options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class ASHA(RuleChoice):
    """Asynchronous successive halving.

    Trials are compared after `min_epochs`, `min_epochs * reduction_factor`, ... epochs (the rungs below `max_epochs`),
    and only the best 1/`reduction_factor` of a rung go on.

    Raises:
        SpecError: an option outside what is allowed.
    """

    name: ClassVar[str] = "asha"

    max_epochs: int = field(metadata={"low": 1, "help": "epochs of a full training"})
    min_epochs: int = field(default=1, metadata={"low": 1, "help": "epochs before the first rung"})
    reduction_factor: int = field(default=3, metadata={"low": 2, "help": "one in how many goes on from a rung"})
    form: Literal["promotion", "stopping"] = field(
        default="promotion", metadata={"choices": FORMS, "help": "pause at rungs and resume the best, or stop for good"}
    )

    def __post_init__(self) -> None:
        check_fields(self, "ASHA")
        _check_epochs(self.max_epochs, self.min_epochs, "ASHA")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperband(RuleChoice):
    """ASHA in several brackets, which start to compare at different rungs (Li et al. 2018).

    A hedge against curves that cross: the last bracket trains everything in full.

    Raises:
        SpecError: an option outside what is allowed.
    """

    name: ClassVar[str] = "hyperband"

    max_epochs: int = field(metadata={"low": 1, "help": "epochs of a full training"})
    min_epochs: int = field(default=1, metadata={"low": 1, "help": "epochs before the first rung of bracket 0"})
    reduction_factor: int = field(default=3, metadata={"low": 2, "help": "one in how many goes on from a rung"})
    form: Literal["promotion", "stopping"] = field(
        default="promotion", metadata={"choices": FORMS, "help": "pause at rungs and resume the best, or stop for good"}
    )

    def __post_init__(self) -> None:
        check_fields(self, "Hyperband")
        _check_epochs(self.max_epochs, self.min_epochs, "Hyperband")


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeThaw(RuleChoice):
    """ASHA, and full trainings of the trials that a model of the curves favours.

    `full_share`: on five tasks three tenths and one tenth ended alike, and three tenths cost more at half of the budget
    (regret .29 and .27 with random configurations).

    Raises:
        SpecError: an option outside what is allowed.
    """

    name: ClassVar[str] = "freeze_thaw"

    max_epochs: int = field(metadata={"low": 1, "help": "epochs of a full training"})
    min_epochs: int = field(default=1, metadata={"low": 1, "help": "epochs before the first decision"})
    reduction_factor: int = field(default=3, metadata={"low": 2, "help": "one in how many goes on from a rung"})
    full_share: float = field(
        default=0.1, metadata={"low": 0, "high": 1, "help": "share of the epochs for full trainings of the best"}
    )

    def __post_init__(self) -> None:
        check_fields(self, "FreezeThaw")
        _check_epochs(self.max_epochs, self.min_epochs, "FreezeThaw")


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentile(RuleChoice):
    """Stops a trial whose best value so far is outside the best `keep_percent` of its peers' running averages.

    Raises:
        SpecError: an option outside what is allowed.
    """

    name: ClassVar[str] = "percentile"

    keep_percent: float = field(metadata={"above": 0, "high": 100, "help": "the share of peers that would go on"})
    min_peers: int = field(default=5, metadata={"low": 1, "help": "peers at a step, before anything is stopped"})
    warmup_epochs: int = field(default=1, metadata={"low": 0, "help": "epochs in which nothing is stopped"})
    interval_epochs: int = field(default=1, metadata={"low": 1, "help": "epochs between two comparisons"})

    def __post_init__(self) -> None:
        check_fields(self, "Percentile")


@dataclass(frozen=True, slots=True, kw_only=True)
class Median(RuleChoice):
    """Stops a trial whose best value so far is worse than the median of its peers' running averages.

    Raises:
        SpecError: an option outside what is allowed.
    """

    name: ClassVar[str] = "median"

    min_peers: int = field(default=5, metadata={"low": 1, "help": "peers at a step, before anything is stopped"})
    warmup_epochs: int = field(default=1, metadata={"low": 0, "help": "epochs in which nothing is stopped"})
    interval_epochs: int = field(default=1, metadata={"low": 1, "help": "epochs between two comparisons"})

    def __post_init__(self) -> None:
        check_fields(self, "Median")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience(RuleChoice):
    """Ends a trial that has not improved for some epochs; it counts as completed, for its curve has converged.

    Raises:
        SpecError: an option outside what is allowed.
    """

    name: ClassVar[str] = "patience"

    epochs: int = field(default=5, metadata={"low": 1, "help": "epochs without improvement"})
    min_delta: float = field(default=0.0, metadata={"low": 0, "help": "an improvement is more than this"})

    def __post_init__(self) -> None:
        check_fields(self, "Patience")


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold(RuleChoice):
    """Stops a trial whose value leaves [lower, upper] or is not finite.

    Raises:
        SpecError: an option outside what is allowed, or no bound at all.
    """

    name: ClassVar[str] = "threshold"

    lower: float | None = field(default=None, metadata={"help": "the least value allowed; null: none"})
    upper: float | None = field(default=None, metadata={"help": "the largest value allowed; null: none"})
    warmup_epochs: int = field(default=0, metadata={"low": 0, "help": "epochs in which nothing is stopped"})

    def __post_init__(self) -> None:
        check_fields(self, "Threshold")
        if self.lower is None and self.upper is None:
            raise SpecError("Threshold: neither lower nor upper is set.", "Set one, e.g. Threshold(upper=10.0).")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise SpecError(f"Threshold: lower={self.lower} is above upper={self.upper}.", "Swap them.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoStopping(RuleChoice):
    """Every trial runs to its own end."""

    name: ClassVar[str] = "none"


def _check_epochs(max_epochs: int, min_epochs: int, owner: str) -> None:
    if min_epochs > max_epochs:
        raise SpecError(f"{owner}: min_epochs={min_epochs} is above max_epochs={max_epochs}.", "Lower min_epochs.")
