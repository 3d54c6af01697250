"""A policy that writes configurations token by token, and the three ways to train it. Imports torch.

Autoregressive over the decisions of the unrolled space: a recurrent cell reads what was decided and gives the logits of
the next decision; options that rules exclude are masked. It runs on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from ...spaces.encodings import TokenEncoding
from ...spaces.encodings.tokens import Token

WIDTH = 64
"""Of the recurrent state: a NAS-Bench-201 cell has 6 decisions, a large space some tens."""
CLIP = 0.2
"""How far PPO lets a probability move in one ask (Schulman et al. 2017, section 3)."""
PPO_EPOCHS = 4


@contextmanager
def torch_on_one_thread() -> Iterator[None]:
    """A context in which torch uses one thread: the cores belong to the trials."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class Policy(nn.Module):
    """Logits of the next decision from the tokens so far.

    Args:
        encoding: of the space.
        seed: of the initial weights. The last layer starts at zero, so an untrained policy draws uniformly.
    """

    def __init__(self, encoding: TokenEncoding, seed: int) -> None:
        super().__init__()
        self.encoding = encoding
        offsets = np.concatenate([[0], np.cumsum(encoding.options)])
        self._offsets = [int(offset) for offset in offsets[:-1]]
        self._embedding = nn.Embedding(int(offsets[-1]) + 1, WIDTH)
        self._places = nn.Embedding(max(len(encoding.options), 1), WIDTH)
        self._cell = nn.GRUCell(WIDTH, WIDTH)
        self._heads = nn.ModuleList(nn.Linear(WIDTH, count) for count in encoding.options)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.normal_(0.0, 1.0 / np.sqrt(WIDTH), generator=generator)
            for head in self._heads:
                for parameter in head.parameters():
                    parameter.zero_()

    def write(self, rng: np.random.Generator) -> list[Token]:
        """A configuration drawn from the policy, as tokens."""
        tokens: list[Token] = []
        state = torch.zeros(1, WIDTH)
        start = self._embedding.num_embeddings - 1
        last = torch.tensor([start])

        def choose(position: int, mask: Sequence[bool]) -> int:
            nonlocal state, last
            with torch.no_grad():
                state = self._cell(self._embedding(last) + self._places(torch.tensor([position])), state)
                logits = self._heads[position](state)[0].double()
            logits[~torch.tensor(mask)] = -torch.inf
            chances = torch.softmax(logits, dim=0).numpy()
            option = int(rng.choice(len(chances), p=chances / chances.sum()))
            last = torch.tensor([self._offsets[position] + option])
            tokens.append((position, option))
            return option

        self.encoding.write(choose)
        return tokens

    def log_chances(self, written: Sequence[Sequence[Token]]) -> tuple[Tensor, Tensor]:
        """Log-probability and entropy of every configuration. Shapes (configurations,).

        Masks are left out: an excluded option has no token to learn from, and its logit does no harm.
        """
        count = len(written)
        chances, entropies = torch.zeros(count), torch.zeros(count)
        state = torch.zeros(count, WIDTH)
        last = torch.full((count,), self._embedding.num_embeddings - 1)
        for step in range(max((len(tokens) for tokens in written), default=0)):
            going = [row for row, tokens in enumerate(written) if len(tokens) > step]
            positions = torch.tensor([written[row][step][0] for row in going])
            options = torch.tensor([written[row][step][1] for row in going])
            rows = torch.tensor(going)
            moved = self._cell(self._embedding(last[rows]) + self._places(positions), state[rows])
            state = state.index_copy(0, rows, moved)
            gained, spread = torch.zeros(len(going)), torch.zeros(len(going))
            for position in sorted(set(positions.tolist())):
                here = torch.nonzero(positions == position)[:, 0]
                logs = torch.log_softmax(self._heads[position](moved[here]), dim=1)
                gained = gained.index_copy(0, here, logs.gather(1, options[here, None])[:, 0])
                spread = spread.index_copy(0, here, -(logs.exp() * logs).sum(dim=1))
            chances = chances.index_add(0, rows, gained)
            entropies = entropies.index_add(0, rows, spread)
            offsets = torch.tensor([self._offsets[position] for position in positions.tolist()])
            last = last.index_copy(0, rows, offsets + options)
        return chances, entropies


class Trainer:
    """Trains a policy on batches of rewarded configurations."""

    def __init__(self, policy: Policy, *, algorithm: str, learning_rate: float, entropy: float, likelihood_steps: int):
        self._policy = policy
        self._algorithm = algorithm
        self._entropy = entropy
        self._likelihood_steps = likelihood_steps
        self._optimizer = torch.optim.Adam(policy.parameters(), lr=learning_rate)

    def learn(
        self, written: Sequence[Sequence[Token]], advantages: np.ndarray, queue: Sequence[Sequence[Token]]
    ) -> None:
        """One batch: configurations, how much better than expected each was, and the best ones so far.

        `queue` is for priority-queue training alone: its likelihood is raised.
        """
        better = torch.tensor(advantages, dtype=torch.float32)
        if self._algorithm == "ppo":
            before = self._policy.log_chances(written)[0].detach()
            for _ in range(PPO_EPOCHS):
                chances, entropies = self._policy.log_chances(written)
                ratio = torch.exp(chances - before)
                gain = torch.minimum(ratio * better, ratio.clamp(1 - CLIP, 1 + CLIP) * better)
                self._step(-gain.mean() - self._entropy * entropies.mean())
            return
        chances, entropies = self._policy.log_chances(written)
        self._step(-(chances * better).mean() - self._entropy * entropies.mean())
        if self._algorithm == "pqt":
            for _ in range(self._likelihood_steps):
                chances, entropies = self._policy.log_chances(queue)
                self._step(-chances.mean() - self._entropy * entropies.mean())

    def _step(self, loss: Tensor) -> None:
        self._optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(self._policy.parameters(), 1.0)
        self._optimizer.step()
