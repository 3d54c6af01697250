"""Population-based training: members train side by side; the weak take over the strong ones' weights and explore.

Source: Jaderberg et al. 2017, "Population Based Training of Neural Networks", Algorithm 1; exploit by truncation
selection, explore by perturbation or resampling (sections 3 and 4.1). A member trains one stretch of epochs after the
other, and each stretch is a trial: it starts from the last checkpoint of its `parent`, which is the member's own last
stretch, or after an exploit the donor's. So every trial has one configuration, and the journal has the lineage.

Deviations: what is perturbed by default is every continuous parameter and nothing else, since integers and choices
mostly shape the model, and the donor's weights would not fit another; resampling and perturbing are drawn parameter by
parameter, not for all at once; of several free members the one that has trained least goes first, so that a pool
smaller than the population keeps it together. As in the paper nobody waits for a generation: members are compared by
their last stretches, whatever their epochs. Outcome constraints come first in each comparison (Deb 2000).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...errors import SpecError
from ...spaces import Configuration, Space
from ..spec import Json, Objective, OutcomeConstraint
from .exploring import PERTURBED, explored, perturbable
from .options import check_fields
from .port import Pending, Proposal, Result
from .unseen import Unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationOptions:
    """The population."""

    population: int = field(default=8, metadata={"low": 2, "help": "members that train side by side"})
    interval_epochs: int = field(default=3, metadata={"low": 1, "help": "epochs of a stretch, between comparisons"})
    exploit_share: float = field(
        default=0.2, metadata={"above": 0, "high": 0.5, "help": "share that takes over, and share that is taken from"}
    )
    resample: float = field(
        default=0.25, metadata={"low": 0, "high": 1, "help": "chance that a parameter is drawn anew, not perturbed"}
    )
    perturb: str = field(
        default=PERTURBED, metadata={"help": "which parameters change: 'continuous', or paths such as 'lr,optimizer'"}
    )

    def __post_init__(self) -> None:
        check_fields(self, "population")


@dataclass(slots=True)
class Member:
    """One line of training.

    `last` is its last completed stretch and `epochs` where that ended; `loss` is that of its last stretch, completed or
    not (infinite when it failed), `excess` by how much that is outside of the outcome constraints. `is_open`: a stretch
    is under way. `is_done`: the training function has returned.
    """

    number: int
    last: Result | None = None
    epochs: int = 0
    loss: float = math.inf
    excess: float = 0.0
    is_open: bool = False
    is_done: bool = False

    @property
    def rank(self) -> tuple[float, float, int]:
        """Members in order: the fittest first."""
        return self.excess, self.loss, self.number


class Population:
    """Population-based training by ask and tell.

    A proposal depends on the told set, the pending ones, its number and the seed alone.
    """

    uses_history = True
    replays_asks = False

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        options: PopulationOptions,
        seed: int,
        constraints: Sequence[OutcomeConstraint] = (),
    ) -> None:
        if len(objectives) > 1:
            raise SpecError(
                f"strategy 'population' takes one objective, and this study has {len(objectives)}.",
                "Use strategy='evolution'.",
            )
        self._space = space
        self._objective = objectives[0]
        self._constraints = tuple(constraints)
        self._options = options
        self._seed = seed
        self._perturbed = perturbable(space, options.perturb)
        self._results: dict[int, Result] = {}
        self._unseen = Unseen(space)

    def tell(self, results: Sequence[Result]) -> None:
        self._results.update((result.number, result) for result in results if result.config is not None)
        self._unseen.note(result.config for result in results)

    def ask(self, first_number: int, n: int, pending: Sequence[Pending], seed: int) -> list[Proposal]:
        """As the port says; fewer than `n` while every member that may go on is under way."""
        self._unseen.note(trial.config for trial in pending)
        members = self._members(pending)
        proposals: list[Proposal] = []
        for number in range(first_number, first_number + n):
            if self._takes_nothing_over():
                break
            proposal = self._propose(members, np.random.default_rng((seed, number)))
            if proposal is None:
                break
            proposals.append(proposal)
        return proposals

    def _propose(self, members: dict[int, Member], rng: np.random.Generator) -> Proposal | None:
        """The next stretch of somebody; None: all are under way or done."""
        if len(members) < self._options.population:
            member = Member(len(members))
            proposal = self._founder(member, rng)
            if proposal is not None:
                members[member.number] = member
                return proposal
        free = [member for member in members.values() if not (member.is_open or member.is_done)]
        if not free:
            return None
        member = min(free, key=lambda one: (one.epochs, one.number))
        return self._next_stretch(member, members, rng)

    def _founder(self, member: Member, rng: np.random.Generator) -> Proposal | None:
        config = self._unseen.draw(lambda: self._space.sample(rng), rng)
        return None if config is None else self._stretch(member, config, None, 0, "starts at random")

    def _next_stretch(self, member: Member, members: Mapping[int, Member], rng: np.random.Generator) -> Proposal | None:
        with_loss = (one for one in members.values() if one.loss < math.inf)
        ranked = sorted(with_loss, key=lambda one: one.rank)
        count = max(1, round(self._options.exploit_share * len(members)))
        place = ranked.index(member) if member in ranked else len(members)
        top = [one for one in ranked[:count] if one is not member and not one.is_done]
        if place >= max(count, len(members) - count) and top:
            donor = top[int(rng.integers(len(top)))]
            assert donor.last is not None and donor.last.config is not None, "it has a loss"
            config, changes = explored(donor.last.config, self._perturbed, self._options.resample, rng)
            why = (
                f"is {self._standing(place, member, members)} and takes over member {donor.number} "
                f"(trial {donor.last.number}, {self._shown(donor)}); explores {changes}"
            )
            return self._stretch(member, config, donor.last, donor.epochs, why)
        if member.last is None:  # it has failed from the start, and nobody can help yet
            return self._founder(member, rng)
        assert member.last.config is not None
        why = f"is {self._standing(place, member, members)} and goes on"
        return self._stretch(member, member.last.config, member.last, member.epochs, why)

    def _stretch(
        self, member: Member, config: Configuration, parent: Result | None, epochs: int, why: str
    ) -> Proposal:
        member.is_open = True
        return Proposal(
            config=config,
            reason=f"member {member.number} {why}",
            attrs={"member": member.number, "parent": None if parent is None else parent.number},
            parent=None if parent is None else parent.number,
            until=epochs + self._options.interval_epochs,
        )

    def _standing(self, place: int, member: Member, members: Mapping[int, Member]) -> str:
        if place >= len(members) or member.loss == math.inf:
            return f"without a value, one of {len(members)}"
        return f"rank {place + 1} of {len(members)} ({self._shown(member)})"

    def _shown(self, member: Member) -> str:
        assert member.last is not None and member.last.values is not None
        outside = ", outside of the constraints" if member.excess > 0 else ""
        return f"{member.last.values[0]:.4g} after {member.epochs} epochs{outside}"

    def _members(self, pending: Sequence[Pending]) -> dict[int, Member]:
        """Everybody, from what was told and what is under way."""
        members: dict[int, Member] = {}
        for result in sorted(self._results.values(), key=lambda one: one.number):
            number = _member_of(result.attrs)
            if number is not None and result.state != "cancelled":
                self._take_in(members.setdefault(number, Member(number)), result)
        for trial in pending:
            number = _member_of(trial.attrs)
            if number is not None:
                members.setdefault(number, Member(number)).is_open = True
        full = min((member.epochs for member in members.values() if member.is_done), default=math.inf)
        for member in members.values():
            member.is_done = member.epochs >= full
        return members

    def _take_in(self, member: Member, result: Result) -> None:
        value = result.values[0] if result.values else math.nan
        if result.state != "completed" or not math.isfinite(value):
            member.loss = math.inf
            return
        parent = self._results.get(_parent_of(result.attrs))
        began, reached = (0 if parent is None else self._epochs_of(parent)), self._epochs_of(result)
        member.last, member.loss, member.epochs = result, self._objective.loss(value), reached
        outcomes = result.outcomes or (None,) * len(self._constraints)
        member.excess = sum(c.excess(outcome) for c, outcome in zip(self._constraints, outcomes, strict=True))
        member.is_done = reached < began + self._options.interval_epochs or (result.returned and bool(result.curve))

    def _epochs_of(self, result: Result) -> int:
        """Epochs behind a completed stretch, those of its ancestors included. A loop of one's own (ask and tell) that
        reports no curve is taken to have trained every stretch in full."""
        if result.curve:
            return result.curve[-1][0]
        parent = self._results.get(_parent_of(result.attrs))
        if parent is None:
            return self._options.interval_epochs
        return self._epochs_of(parent) + (0 if parent.curve else self._options.interval_epochs)

    def _takes_nothing_over(self) -> bool:
        """Has every attempt to start from another trial's state failed at once, a population's worth of them?"""
        children = [one for one in self._results.values() if _parent_of(one.attrs) >= 0 and one.state != "cancelled"]
        failed = [one for one in children if one.state == "failed" and not one.curve]
        return len(failed) == len(children) and len(failed) >= self._options.population


def _member_of(attrs: Json) -> int | None:
    return attrs.get("member") if isinstance(attrs, dict) else None


def _parent_of(attrs: Json) -> int:
    """The trial whose state it started from; -1: none."""
    parent = attrs.get("parent") if isinstance(attrs, dict) else None
    return -1 if parent is None else int(parent)
