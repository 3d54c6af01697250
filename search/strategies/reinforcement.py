"""Reinforcement learning: a policy writes configurations, good ones make it write more like them.

Sources: Zoph and Le 2017, "Neural Architecture Search with Reinforcement Learning" (REINFORCE); Schulman et al. 2017
(PPO); Abolafia et al. 2018, "Neural Program Synthesis with Priority Queue Training" (`pqt`, the default).
Deviations: rewards are ranks among the trials so far, from -1 to 1, so scales and outliers do not matter; no
configuration twice; the first trials are random; what a bin stands for is drawn within it; `surrogate=True` lets a
forest choose among written and random configurations. What is outside of outcome constraints is rewarded less than
all that is inside, by how far (Deb 2000).

The learning rate is 0.01: with 0.05 the recurrent policy settled early (NAS-Bench-201 cifar100, 150 queries, four
seeds: mean regret .55 points; with 0.01 all four found the best cell).

The policy is trained anew from all results, in order of their numbers, whenever a batch is complete: equal results
give an equal policy, however the asks were cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...spaces import Configuration, Space
from ...spaces.encodings import TokenEncoding
from ..spec import Objective, OutcomeConstraint
from .cube import UnitCube
from .improvement import log_improvement
from .one_thread import one_thread
from .options import check_fields
from .port import Pending, Proposal, Result
from .random_forest import Forest
from .told import Told, standardised
from .unseen import Unseen

if TYPE_CHECKING:
    from .policy import Policy, Trainer

WRITTEN, DRAWN = 12, 12
"""Configurations that a surrogate chooses from: of the policy, and random ones. Without those a policy that settled on
a poor branch never hears of another (cash_1501, 50 trials: mean regret .39 without, .28 with them)."""
JITTER = 0.5
"""Half a bin: a number lies anywhere in its bin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReinforcementOptions:
    """The policy's training."""

    algorithm: str = field(
        default="pqt", metadata={"choices": ("pqt", "ppo", "reinforce"), "help": "how the policy is trained"}
    )
    surrogate: bool = field(
        default=True, metadata={"help": "a forest picks among 12 written and 12 random configurations"}
    )
    n_startup_trials: int = field(default=10, metadata={"low": 2, "help": "random trials before the policy"})
    batch: int = field(default=5, metadata={"low": 1, "help": "results between two updates"})
    learning_rate: float = field(default=0.01, metadata={"above": 0, "high": 1, "help": "of Adam"})
    entropy: float = field(default=0.3, metadata={"low": 0, "high": 10, "help": "weight of the entropy bonus"})
    queue: int = field(default=10, metadata={"low": 1, "help": "pqt: best trials whose likelihood is raised"})
    likelihood_steps: int = field(default=10, metadata={"low": 1, "high": 1000, "help": "pqt: their steps an update"})
    bins: int = field(default=16, metadata={"low": 2, "high": 256, "help": "bins of a continuous parameter"})

    def __post_init__(self) -> None:
        check_fields(self, "reinforcement")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Trials by number and place among the told, how much better than the others each was, and the best so far."""

    numbers: tuple[int, ...]
    places: tuple[int, ...]
    advantages: tuple[float, ...]
    best: tuple[int, ...]


class Reinforcement:
    """A trained policy by ask and tell.

    A proposal depends on the told set, the pending ones, its number and the seed alone.
    """

    uses_history = True
    replays_asks = False

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        options: ReinforcementOptions,
        seed: int,
        constraints: Sequence[OutcomeConstraint] = (),
    ) -> None:
        self._space = space
        self._options = options
        self._seed = seed
        self._told = Told(objectives, constraints)
        self._unseen = Unseen(space)
        self._encoding = TokenEncoding(space, bins=options.bins)
        self._cube = UnitCube(space)
        self._learned: list[Batch] = []
        self._policy: Policy | None = None
        self._trainer: Trainer | None = None

    def tell(self, results: Sequence[Result]) -> None:
        self._told.tell(results)
        self._unseen.note(result.config for result in results)

    def ask(self, first_number: int, n: int, pending: Sequence[Pending], seed: int) -> list[Proposal]:
        self._unseen.note(trial.config for trial in pending)
        losses = self._told.penalised(self._told.losses(np.random.default_rng(self._seed)))
        proposals: list[Proposal] = []
        for number in range(first_number, first_number + n):
            opened = len(losses) + len(pending) + len(proposals)
            if opened < self._options.n_startup_trials or len(losses) < 2:
                rng = np.random.default_rng((self._seed, number))
                config = self._unseen.draw(lambda rng=rng: self._space.sample(rng), rng)  # type: ignore[misc]
                reason = f"random start, {opened} of {self._options.n_startup_trials}"
            else:
                with one_thread(), _torch_on_one_thread():
                    config = self._written(losses, np.random.default_rng((seed, number)))
                reason = f"written by the policy after {len(losses)} results"
            if config is None:
                break
            self._unseen.note([config])
            proposals.append(Proposal(config=config, reason=reason))
        return proposals

    def _written(self, losses: np.ndarray, rng: np.random.Generator) -> Configuration | None:
        policy = self._trained(losses)

        def write() -> Configuration:
            return self._space.repair(self._jittered(self._encoding.decode(policy.write(rng)), rng), rng)

        if not self._options.surrogate:
            return self._unseen.draw(write, rng)
        candidates = [write() for _ in range(WRITTEN)] + [self._space.sample(rng) for _ in range(DRAWN)]
        unseen = [config for config in candidates if config in self._unseen]
        if not unseen:
            return self._unseen.draw(write, rng)
        rows = self._cube.encode((lesson.config for lesson in self._told.lessons()), rng)
        forest = Forest(self._cube, n_trees=60)
        belief = forest.fit(rows, standardised(losses, rank_share=forest.rank_share), rng)
        scores = log_improvement(*belief.moments(self._cube.encode(unseen, rng)), belief.best)
        return unseen[int(np.argmax(scores))]

    def _jittered(self, config: Configuration, rng: np.random.Generator) -> Configuration:
        """Continuous numbers moved within their bins."""
        decided = {decision.path: (decision, value) for decision, value in self._space.decisions_of(config)}
        flat = {path: value for path, (_, value) in decided.items()}
        for path, (decision, value) in decided.items():
            if decision.domain.size() is None:
                shift = rng.uniform(-JITTER, JITTER) / self._options.bins
                flat[path] = decision.domain.from_unit(min(max(decision.domain.to_unit(value) + shift, 0.0), 1.0))
        return self._space.from_flat(flat)

    def _trained(self, losses: np.ndarray) -> Policy:
        """The policy after every complete batch of the results; goes on from the last one where it can."""
        from .policy import Policy, Trainer  # imports torch

        batches = self._batches(losses)
        if self._policy is None or self._trainer is None or batches[: len(self._learned)] != self._learned:
            self._learned = []
            self._policy = Policy(self._encoding, self._seed % 2**63)
            self._trainer = Trainer(
                self._policy,
                algorithm=self._options.algorithm,
                learning_rate=self._options.learning_rate,
                entropy=self._options.entropy,
                likelihood_steps=self._options.likelihood_steps,
            )
        lessons = self._told.lessons()
        for batch in batches[len(self._learned) :]:
            tokens = [self._encoding.encode(lessons[place].config) for place in batch.places]
            queue = [self._encoding.encode(lessons[place].config) for place in batch.best]
            self._trainer.learn(tokens, np.array(batch.advantages), queue)
        self._learned = batches
        return self._policy

    def _batches(self, losses: np.ndarray) -> list[Batch]:
        """What the policy learns from, in order: a late result or a changed loss changes the batches from there on."""
        size = self._options.batch
        numbers = [lesson.number for lesson in self._told.lessons()]
        batches = []
        for first in range(0, len(losses) - size + 1, size):
            seen = losses[: first + size]
            own = seen[first:, None]
            worse = np.mean(seen[None, :] < own, axis=1) + 0.5 * np.mean(seen[None, :] == own, axis=1)
            batches.append(
                Batch(
                    numbers=tuple(numbers[first : first + size]),
                    places=tuple(range(first, first + size)),
                    advantages=tuple((1.0 - 2.0 * worse).tolist()),
                    best=tuple(np.argsort(seen, kind="stable")[: self._options.queue].tolist()),
                )
            )
        return batches


def _torch_on_one_thread() -> AbstractContextManager[None]:
    from .policy import torch_on_one_thread  # imports torch

    return torch_on_one_thread()
