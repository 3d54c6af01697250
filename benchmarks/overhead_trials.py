"""The training functions that `benchmarks.overhead` times. They do nothing, or sleep."""

import time

import shoal
from shoal.spaces import Configuration

EPOCHS = 9
EPOCH_S = 0.2


def noop(config: Configuration) -> float:
    """Nothing at all; the value is the wall clock at the first line of user code."""
    return time.time()


def report_often(trial: shoal.Trial) -> None:
    """Reports as fast as the answers come; each report carries how long the one before took, call to obeyed verdict."""
    before: float | None = None
    for _ in trial.epochs(400):
        now = time.perf_counter()
        took_ms = 0.0 if before is None else (now - before) * 1e3
        before = now
        trial.report(took_ms=took_ms)


def score(x: float, step: int) -> float:
    """A learning curve without noise: the real run and its simulation see the same one."""
    return 1.0 - (x - 0.3) ** 2 - 1.0 / (step + 1)


def sleep_epochs(trial: shoal.Trial) -> None:
    """Up to 9 epochs of 0.2 s, with a checkpoint that a pause can resume from."""
    for epoch in trial.epochs(EPOCHS):
        time.sleep(EPOCH_S)
        trial.save({"epoch": epoch})
        trial.report(score=score(trial.config.x, epoch + 1))
