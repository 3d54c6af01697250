"""Random numbers that depend on where in the training they are drawn, never on who draws them."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

RngState = dict[str, Any]  # what random, numpy and torch hand out: the one named boundary where the type is open


def derive_seed(*key: int | str) -> int:
    """A seed in [0, 2^63) for one place, e.g. (trial seed, epoch, step, shard); neighbouring keys give unrelated seeds.

    >>> derive_seed(7, "shuffle", 0)
    5552907251462430995
    """
    digest = hashlib.sha256("/".join(map(str, key)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def seed_all(seed: int) -> None:
    """Seed `random`, and numpy and torch (with the devices in use) where they are loaded."""
    random.seed(seed)
    if "numpy" in sys.modules:
        import numpy as np

        np.random.seed(seed & 0xFFFFFFFF)
    if "torch" in sys.modules:
        import torch

        # not torch.manual_seed: without CUDA it queues a stack trace a call, for ever
        torch.default_generator.manual_seed(seed)
        if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.manual_seed_all(seed)


def rng_state() -> RngState:
    """The state of every generator that `seed_all` seeds."""
    state: RngState = {"python": random.getstate()}
    if "numpy" in sys.modules:
        import numpy as np

        state["numpy"] = np.random.get_state()
    if "torch" in sys.modules:
        import torch

        state["torch"] = torch.get_rng_state()
        if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set_rng_state(state: RngState) -> None:
    """Continue where `rng_state` was taken."""
    random.setstate(state["python"])
    if "numpy" in state:
        import numpy as np

        np.random.set_state(state["numpy"])
    if "torch" in state:
        import torch

        torch.set_rng_state(state["torch"])
        if "cuda" in state and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(state["cuda"])


@contextmanager
def preserved_rng() -> Iterator[None]:
    """What happens inside leaves no trace in the generators."""
    state = rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
