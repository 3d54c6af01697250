"""The training code of `benchmarks.live_scheduling`: a tiny model whose steps sleep as long as a large one would train.

Every trial's learning curve, epoch time and speed-up are functions of its configuration, so that the simulator can be
given the very same trials.
"""

import time
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

import shoal
from shoal.spaces import Float, Space

SPACE = Space(final=Float(0.0, 1.0), pace=Float(0.0, 1.0), cost=Float(0.0, 1.0))
EPOCHS = 27
EPOCH_S = 10.0
"""Mean seconds of an epoch on one worker. Long enough that 16 workers on two cores keep up: a step of theirs takes
some 20 ms of processor time and sleeps for 0.3 s at least."""

STEPS = 4
BATCH = 256
SPEEDUPS = (1.0, 1.88, 3.3, 5.2)
"""Of 1, 2, 4 and 8 workers: what image classifiers reach at a fixed global batch on one node."""


def value(config: Any, epoch: int) -> float:
    """Validation error after `epoch` epochs; curves cross, so that early ranks are not final."""
    return 0.1 + 0.3 * float(config["final"]) + 0.5 * float(epoch) ** -(0.5 + float(config["pace"]))


def epoch_s(config: Any) -> float:
    """Seconds of an epoch on one worker."""
    return EPOCH_S * (0.6 + 0.8 * float(config["cost"]))


def train(trial: shoal.Trial) -> None:
    """27 epochs of `STEPS` steps each, on as many workers as the trial is given."""
    x = torch.zeros(BATCH * STEPS, 4)
    y = torch.zeros(len(x), dtype=torch.long)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = trial.prepare(model, optimizer, (x, y), batch_size=BATCH)

    def loss_fn(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, int]:
        return F.cross_entropy(model(x), y, reduction="sum"), len(y)

    step_s = epoch_s(trial.config) / STEPS
    for epoch in trial.epochs(EPOCHS):
        for batch in loader:
            time.sleep(step_s / SPEEDUPS[trial.world_size.bit_length() - 1])
            optimizer.zero_grad()
            trial.backward(loss_fn, batch)
            optimizer.step()
        trial.report(error=value(trial.config, epoch + 1))
