"""The training code that `benchmarks.elastic` times: an MLP of one of two sizes, and the same loop in plain torch."""

import time
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

import shoal

BATCH = 256
STEPS = 16  # an epoch
FEATURES, CLASSES = 64, 10
WIDTHS = {"": (256, 256), "_17m": (4000, 4000)}  # 0.09 M and 16.3 M parameters


def model_of(size: str) -> nn.Sequential:
    first, second = WIDTHS[size]
    return nn.Sequential(
        nn.Linear(FEATURES, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU(), nn.Linear(second, CLASSES)
    )


def samples() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(BATCH * STEPS, FEATURES, generator=generator)
    return x, torch.randint(0, CLASSES, (len(x),), generator=generator)


def endless(trial: shoal.Trial) -> None:
    """Trains until it is killed; rank 0 writes down when each step was done (seconds, `time.monotonic`)."""
    size = "_17m" if trial.config.large else ""
    model = model_of(size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)
    done = None
    for _ in trial.epochs(1_000_000):
        for batch in loader:
            optimizer.zero_grad()
            trial.backward(lambda x, y: (F.cross_entropy(model(x), y, reduction="sum"), len(y)), batch)
            optimizer.step()
            if trial.rank == 0:
                done = done or (trial.checkpoint_dir / "steps.txt").open("a", buffering=1)
                print(time.monotonic(), file=done)


def exact_steps(trial: Any, size: str, epochs: int) -> list[float]:
    """Seconds of each step through `trial`."""
    model = model_of(size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = trial.prepare(model, optimizer, samples(), batch_size=BATCH)

    def loss_fn(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, int]:
        return F.cross_entropy(model(x), y, reduction="sum"), len(y)

    seconds = []
    for _ in trial.epochs(epochs):
        before = time.perf_counter()
        for batch in loader:
            optimizer.zero_grad()
            trial.backward(loss_fn, batch)
            optimizer.step()
            now = time.perf_counter()
            seconds.append(now - before)
            before = now
    return seconds


def plain_steps(size: str, epochs: int, *, rank: int = 0, workers: int = 1) -> list[float]:
    """Seconds of each step of the ordinary loop; of several workers, with torch's DistributedDataParallel."""
    model: nn.Module = model_of(size)
    if workers > 1:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = samples()
    part = BATCH // workers
    seconds = []
    for epoch in range(epochs):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        before = time.perf_counter()
        for step in range(STEPS):
            mine = order[step * BATCH + rank * part : step * BATCH + (rank + 1) * part]
            optimizer.zero_grad()
            F.cross_entropy(model(x[mine]), y[mine]).backward()
            optimizer.step()
            now = time.perf_counter()
            seconds.append(now - before)
            before = now
    return seconds
