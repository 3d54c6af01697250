"""shoal's strategies in a plain Optuna loop."""

import pickle
import subprocess
import sys
from typing import Any

import optuna
import pytest

import shoal
from shoal.errors import SpecError
from shoal.optuna import BayesianSampler, EvolutionSampler, PortfolioSampler, RandomForestSampler, ReinforcementSampler

EAGER: dict[type[Any], dict[str, Any]] = {
    RandomForestSampler: {"n_startup_trials": 4, "n_trees": 10},
    BayesianSampler: {"n_startup_trials": 4},
    EvolutionSampler: {"population": 4},
    ReinforcementSampler: {"n_startup_trials": 4, "batch": 2, "likelihood_steps": 2},
    PortfolioSampler: {"n_startup_trials": 4},
}


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def conditional(trial: optuna.Trial) -> float:
    """Two levels of conditions, names with dots and blanks, categories of three types; some are pruned, some fail."""
    kind = trial.suggest_categorical("kind", ["sgd", None, True])
    loss = 0.1 * abs(trial.suggest_int("n layers", 1, 9, step=2) - 5)
    rate = trial.suggest_float("lr.rate", 1e-5, 1.0, log=True)
    if kind == "sgd":
        loss += abs(trial.suggest_float("momentum", 0.0, 1.0) - 0.7)
        if trial.suggest_categorical("nesterov", [True, False]):
            loss += trial.suggest_float("damping", 0.0, 0.5, step=0.25)
    trial.report(loss, 1)
    if trial.number % 5 == 3:
        raise optuna.TrialPruned
    if trial.number % 7 == 5:
        raise ValueError("a trial that fails")
    return loss + rate


def optimised(sampler: optuna.samplers.BaseSampler, n_trials: int = 14) -> optuna.Study:
    study = optuna.create_study(sampler=sampler)
    study.optimize(conditional, n_trials=n_trials, catch=(ValueError,))
    return study


@pytest.mark.slow
@pytest.mark.parametrize("sampler", EAGER)
def test_a_plain_loop_with_conditions_pruned_and_failed_trials(sampler: type[Any]):
    study = optimised(sampler(seed=3, **EAGER[sampler]))
    states = {str(trial.state.name) for trial in study.trials}
    assert states == {"COMPLETE", "PRUNED", "FAIL"}
    for trial in study.trials:
        assert trial.params.keys() == trial.distributions.keys()
        assert all(trial.distributions[name]._contains(trial.distributions[name].to_internal_repr(value))
                   for name, value in trial.params.items())  # fmt: skip
    again = optimised(sampler(seed=3, **EAGER[sampler]))
    assert [trial.params for trial in again.trials] == [trial.params for trial in study.trials]


@pytest.mark.slow
def test_it_learns():
    """Better than its own random start, by far: the model has seen which branch is good."""
    study = optimised(BayesianSampler(seed=0, n_startup_trials=8), n_trials=40)
    values = [trial.value for trial in study.trials if trial.value is not None]
    assert min(values) < 0.1 and min(values[-10:]) < min(values[:5])


def test_asked_and_told_with_open_trials():
    study = optuna.create_study(direction="maximize", sampler=RandomForestSampler(seed=1, n_startup_trials=2))
    open_trials = []
    for number in range(8):
        trial = study.ask()
        x = trial.suggest_float("x", 0.0, 1.0)
        open_trials.append((trial, x))
        if number >= 3:
            done, value = open_trials.pop(0)
            study.tell(done, -abs(value - 0.4))
    assert len({trial.params["x"] for trial in study.trials}) == 8


def test_several_objectives():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=EvolutionSampler(seed=1, population=4))
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), trial.suggest_int("n", 1, 5)), n_trials=12)
    assert study.best_trials


def test_a_range_that_changes_and_a_parameter_that_comes_late():
    def objective(trial: optuna.Trial) -> float:
        value = trial.suggest_float("x", 0.0, 1.0 + trial.number)
        return value + (trial.suggest_int("late", 1, 3) if trial.number > 6 else 0)

    study = optuna.create_study(sampler=BayesianSampler(seed=1, n_startup_trials=3))
    study.optimize(objective, n_trials=12)
    assert len(study.trials) == 12


def test_a_finite_space_may_end():
    study = optuna.create_study(sampler=RandomForestSampler(seed=1, n_startup_trials=2))
    study.optimize(lambda trial: float(trial.suggest_int("n", 1, 3)), n_trials=6)
    assert {trial.params["n"] for trial in study.trials} == {1, 2, 3}


def test_wrong_options_are_refused():
    with pytest.raises(SpecError, match="has no option 'trees'"):
        RandomForestSampler(trees=3)
    for seed in ("one", -1, 2**32, True):
        with pytest.raises(SpecError, match="is not a whole number in"):
            RandomForestSampler(seed=seed)


def numbers(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0.0, 1.0) + trial.suggest_int("n", 1, 5)


def test_one_sampler_may_serve_several_threads():
    study = optuna.create_study(sampler=RandomForestSampler(seed=1, n_startup_trials=3, n_trees=5))
    study.optimize(numbers, n_trials=24, n_jobs=3)
    assert len(study.trials) == 24 and all(trial.state.is_finished() for trial in study.trials)


def test_one_sampler_may_serve_several_studies_and_be_pickled():
    used, fresh = (RandomForestSampler(seed=1, n_startup_trials=3, n_trees=5) for _ in range(2))
    optuna.create_study(sampler=used, study_name="first").optimize(numbers, n_trials=10)
    found = []
    for sampler in (pickle.loads(pickle.dumps(used)), fresh):
        study = optuna.create_study(sampler=sampler, study_name="second")
        study.enqueue_trial({"x": 0.5, "n": 3})  # Optuna tells of a parameter only when it is asked for
        study.optimize(numbers, n_trials=8)
        found.append([trial.params for trial in study.trials])
    assert found[0] == found[1], "what it has seen of the first study is not taken for this one's"


def test_importing_shoal_loads_no_optuna():
    code = "import sys, shoal; assert not {'optuna', 'torch'} & sys.modules.keys(); shoal.optuna; print('ok')"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "ok\n", done.stderr
    assert shoal.optuna.RandomForestSampler is RandomForestSampler
