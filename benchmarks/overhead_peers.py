"""The same figures of Optuna in this process and of Ray Tune, where they have the notion."""

from __future__ import annotations

import contextlib
import importlib.util
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from . import overhead_trials as trials

REPORTS = 400


def measure_peers() -> dict[str, Any]:
    ray = importlib.util.find_spec("ray")
    return {
        "optuna": optuna_figures(),
        "ray_tune": ray_figures() if ray else "not measured: ray is not installed (pip install 'shoal[peers]')",
    }


def optuna_figures() -> dict[str, float | None]:
    """Optuna in memory, random sampler; trials are function calls in this process, so starting one costs no process."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def new_study(pruner: optuna.pruners.BasePruner | None = None) -> optuna.Study:
        return optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0), pruner=pruner)

    study = new_study()
    starts_ms = []
    for _ in range(40):
        before = time.perf_counter()
        trial = study.ask()
        trial.suggest_float("x", 0.0, 1.0)
        starts_ms.append((time.perf_counter() - before) * 1e3)
        study.tell(trial, 0.0)

    before = time.perf_counter()
    new_study().optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2000)
    per_s = 2000 / (time.perf_counter() - before)

    trial = new_study(optuna.pruners.SuccessiveHalvingPruner()).ask()
    reports_ms = []
    for step in range(REPORTS):
        before = time.perf_counter()
        trial.report(0.0, step)
        trial.should_prune()
        reports_ms.append((time.perf_counter() - before) * 1e3)

    epochs = 0

    def sleep_epochs(trial: optuna.Trial) -> float:
        nonlocal epochs
        x = trial.suggest_float("x", 0.0, 1.0)
        for step in range(1, trials.EPOCHS + 1):
            time.sleep(trials.EPOCH_S)
            epochs += 1
            trial.report(trials.score(x, step), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return trials.score(x, trials.EPOCHS)

    before = time.perf_counter()
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3)
    new_study(pruner).optimize(sleep_epochs, n_trials=64, n_jobs=8)
    wall_s = time.perf_counter() - before
    return {
        "start_ms_p50": round(statistics.median(starts_ms), 4),
        "noop_trials_per_s": None,  # it starts no processes
        "noop_trials_per_s_reused": round(per_s, 4),
        "report_ms_p50": round(statistics.median(reports_ms), 4),
        "asha64_over_simulated": None,  # it has no simulation
        "asha64_over_area": round(wall_s / (epochs * trials.EPOCH_S / 8), 4),
    }


def ray_figures() -> dict[str, float | None]:
    """Ray Tune with its own ASHA (stopping form) on a local cluster of 8 CPUs; its tables go to stderr."""
    with _ray() as folder:
        per_s, over_area = _noop_per_s(folder), _asha64_over_area(folder)
    return {
        "start_ms_p50": None,  # not observable from outside
        "noop_trials_per_s": round(per_s, 4),
        "noop_trials_per_s_reused": None,
        "report_ms_p50": None,
        "asha64_over_simulated": None,
        "asha64_over_area": round(over_area, 4),
    }


def ray_asha64_over_area() -> float:
    """The last of `ray_figures` alone."""
    with _ray() as folder:
        return round(_asha64_over_area(folder), 4)


@contextlib.contextmanager
def _ray() -> Iterator[str]:
    """A local cluster of 8 CPUs, and a folder for results."""
    import ray

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        ray.init(address="local", num_cpus=8, include_dashboard=False, log_to_driver=False)
        try:
            yield folder
        finally:
            ray.shutdown()


def _noop_per_s(folder: str) -> float:
    from ray import tune

    def noop(config: dict[str, float]) -> None:
        tune.report({"value": time.time()})

    before = time.perf_counter()
    kept = tune.RunConfig(storage_path=folder)
    space = {"x": tune.uniform(0.0, 1.0)}
    tune.Tuner(noop, param_space=space, tune_config=tune.TuneConfig(num_samples=64), run_config=kept).fit()
    return 64 / (time.perf_counter() - before)


def _asha64_over_area(folder: str) -> float:
    from ray import tune

    def sleep_epochs(config: dict[str, float]) -> None:
        for step in range(1, trials.EPOCHS + 1):
            time.sleep(trials.EPOCH_S)
            tune.report({"score": trials.score(config["x"], step)})

    asha = tune.schedulers.ASHAScheduler(
        metric="score", mode="max", max_t=trials.EPOCHS, grace_period=1, reduction_factor=3
    )
    before = time.perf_counter()
    results = tune.Tuner(
        sleep_epochs,
        param_space={"x": tune.uniform(0.0, 1.0)},
        tune_config=tune.TuneConfig(num_samples=64, scheduler=asha),
        run_config=tune.RunConfig(storage_path=folder),
    ).fit()
    wall_s = time.perf_counter() - before
    epochs = sum((result.metrics or {}).get("training_iteration", 0) for result in results)
    return wall_s / (epochs * trials.EPOCH_S / 8)
