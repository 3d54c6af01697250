"""What `shoal.Study` accepts, refuses, and says."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.errors import SpaceError, SpecError
from shoal.service.entry import Command, entry_point
from shoal.service.study import fit_name
from shoal.spaces import Choice, Float, Int, Space

SPACE = Space(lr=Float(1e-4, 1e-1, log=True), optimizer=Choice(sgd=Space(momentum=Float(0.0, 0.99)), adam=None))


def train(trial: shoal.Trial) -> None:
    """Called by workers only."""


def objective(config: Any) -> float:
    return 0.0


def mapped(values: Mapping[str, Any]) -> float:
    return 0.0


def unclear(thing):  # type: ignore[no-untyped-def]  # the point of the test
    return 0.0


def optuna_style(trial: "optuna.Trial") -> float:  # type: ignore[name-defined]  # noqa: F821  # never evaluated
    return 0.0


def two(config: Any, other: int) -> float:
    return 0.0


def study(**settings: Any) -> shoal.Study:
    given: dict[str, Any] = {"space": SPACE, "train": objective, "maximize": "accuracy"}
    return shoal.Study(**(given | settings))


@pytest.mark.parametrize(
    ("function", "space", "kind"),
    [
        (train, SPACE, "trial"),
        (objective, SPACE, "objective"),
        (mapped, SPACE, "objective"),
        (optuna_style, None, "optuna"),
        (lambda trial: 0.0, SPACE, "trial"),
        (lambda trial: 0.0, None, "optuna"),
        (partial(two, other=1), SPACE, "objective"),
        (Command("python train.py --lr {lr} --momentum {optimizer.momentum}"), SPACE, "command"),
    ],
)
def test_the_kind_is_told_from_the_signature(function: Any, space: Any, kind: str) -> None:
    assert entry_point(function, space, None).kind == kind


def test_what_workers_cannot_import_is_pickled() -> None:
    def inner(config: Any) -> float:
        return 0.0

    assert entry_point(inner, SPACE, None).module == "__pickled__"
    assert entry_point(lambda config: 0.0, SPACE, None).module == "__pickled__"


@pytest.mark.parametrize(
    ("settings", "cause", "remedy"),
    [
        ({"maximize": None}, "no objective", "maximize='val_accuracy'"),
        ({"maximize": ["a", 3]}, "objective 3 is not a metric's name", "maximize="),
        ({"maximize": ["a", "a"]}, "objective: 'a' is given twice", "each once"),
        ({"minimize": "accuracy"}, "objective: 'accuracy' is given twice", "each once"),
        ({"strategy": "reinforce", "minimize": "loss"}, "Did you mean 'reinforcement'?", "Known:"),
        ({"strategy": "cmaes", "minimize": "loss"}, "takes one objective, and this study has 2", "'portfolio'"),
        ({"subject_to": "latency <= 5"}, "is not a mapping", "subject_to={"),
        ({"subject_to": {"latency_ms": 5}}, "'latency_ms' has 5, which is not a bound", "'<= 5'"),
        ({"subject_to": {"latency_ms": "< 5"}}, "'< 5', which is not a bound", "'<= 5'"),
        ({"subject_to": {"latency_ms": "<= five"}}, "the bound 'five', not a number", "'<= 5'"),
        ({"subject_to": {"latency_ms": "<= nan"}}, "bound nan of latency_ms is not a finite number", "Use one"),
        ({"subject_to": {"latency_ms": ["<= 5", "<= 6"]}}, "'latency_ms <=' is given twice", "each once"),
        ({"subject_to": {"latency ms": "<= 5"}}, "'latency ms' is not a name", "identifier"),
        ({"early_stopping": shoal.ASHA(max_epochs=9, metric="acuracy")}, "Did you mean 'accuracy'?", "one of"),
        ({"like": ""}, "like='' is not a study's name", "shoal ls"),
        ({"like": "digits", "space": None, "train": optuna_style}, "needs a declared space", "space="),
        ({"maximize": 3}, "objective 3 is not a metric's name", "maximize="),
        ({"strategy": "tpee"}, "Did you mean 'tpe'?", "Known:"),
        ({"strategy_options": {"nonsense": 1}}, "nonsense", ""),
        ({"early_stopping": "ash"}, "Did you mean 'asha'?", "Known:"),
        ({"early_stopping": 7}, "early_stopping=7", "ASHA"),
        ({"workers": 3}, "3 is not a power of two", "1, 2, 4"),
        ({"workers": (4, 1)}, "min above max", "workers=(1, 4)"),
        ({"workers": "two"}, "workers='two'", "workers=1"),
        ({"trials": 0}, "trials=0 is below 1", "1 or more"),
        ({"trials": 2.5}, "trials=2.5 is not a whole number", "1 or more"),
        ({"trials": None}, "no end", "trials=60"),
        ({"gpus_per_worker": 1.5}, "gpus_per_worker='1.5'", "0.25"),
        ({"cpus_per_worker": "many"}, "cpus_per_worker='many'", "auto"),
        ({"memory_gib": -1}, "memory_gib=-1", "GiB"),
        ({"trial_time_limit_s": 0}, "trial_time_limit_s=0", "seconds"),
        ({"trial_time_limit_s": "10"}, "trial_time_limit_s='10'", "seconds"),
        ({"time_limit_s": True}, "study_time_limit_s=True", "seconds"),
        ({"memory_gib": "4"}, "memory_gib='4'", "GiB"),
        ({"max_failures": 0}, "max_failures=0 is below 1", "1 or more"),
        ({"threads_per_worker": 1.5}, "threads_per_worker=1.5", "1 or more"),
        ({"shards": 0}, "shards=0 is below 1", "1 or more"),
        ({"priority": "urgent"}, "priority='urgent'", "whole number"),
        ({"reuse_workers": "yes"}, "reuse_workers='yes'", "one of them"),
        ({"workers": 1.5}, "workers=1.5", "workers=1"),
        ({"strategy": 3}, "strategy=3", "'random'"),
        ({"strategy_options": [1]}, "strategy_options=[1]", "strategy_options={"),
        ({"points_to_evaluate": None}, "points_to_evaluate=None", "points_to_evaluate=["),
        ({"points_to_evaluate": {"lr": 0.1}}, "is not a list", "points_to_evaluate=["),
        ({"points_to_evaluate": [3]}, "points_to_evaluate[0]: 3 is not a mapping", "points_to_evaluate=["),
        ({"points_to_evaluate": [{"lr": {1}}], "train": optuna_style, "space": None}, "of plain values", "=[{"),
        ({"seed": -1}, "seed=-1", "0 or more"),
        ({"seed": 1.5}, "seed=1.5 is not a whole number", "0 or more"),
        ({"seed": 2**63}, "outside [0, 2^63)", "smaller"),
        ({"name": "a b"}, "'a b' is not allowed", "letters"),
        ({"name": 3}, "name 3 is not allowed", "letters"),
        ({"value": "worst"}, "value='worst'", "'best'"),
        ({"duplicates": "keep"}, "duplicates='keep'", "'reuse'"),
        ({"space": None}, "no space", "Space("),
        ({"train": 3}, "train=3 is a int", "function"),
        ({"train": two}, "two(config, other) does not take exactly one argument", "functools.partial"),
        ({"train": unclear}, "not clear how to call it", "kind="),
        ({"train": train, "kind": "chief"}, "kind='chief'", "'objective'"),
        ({"train": optuna_style}, "a space is declared too", "Leave space out"),
        ({"train": Command("x --lr {lrr}")}, "{lrr} is not in the space", "Did you mean {lr}?"),
        ({"train": Command("x --lr {lr}"), "space": None}, "needs a space", "space="),
    ],
)
def test_mistakes_are_told_with_a_remedy(settings: Any, cause: str, remedy: str) -> None:
    with pytest.raises(SpecError) as caught:
        study(**settings)
    assert cause in caught.value.cause
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("template", ["", "x {", "x {}"])
def test_commands_that_make_no_sense(template: str) -> None:
    with pytest.raises(SpecError):
        Command(template)


def test_a_space_that_is_none() -> None:
    with pytest.raises(SpaceError, match=r"\(dict\) is not a space"):
        study(space={"lr": 1})


def test_an_enqueued_configuration_is_checked_at_once() -> None:
    with pytest.raises(SpaceError, match="lr"):
        study(points_to_evaluate=[{"lr": 5.0, "optimizer": "adam"}])
    assert len(study(points_to_evaluate=[{"lr": 0.01, "optimizer": "adam"}]).first_points) == 1


def test_a_study_is_plain_data() -> None:
    spec = study(early_stopping=shoal.ASHA(max_epochs=9), workers=(1, 4), gpus_per_worker=0.25).spec(code="c0de")
    assert type(spec).from_json(spec.to_json()) == spec
    assert spec.resources.gpus_per_worker == "0.25"
    assert (spec.resources.min_workers, spec.resources.max_workers) == (1, 4)
    assert spec.code == "c0de"


def test_a_given_name_is_kept_and_another_one_is_not() -> None:
    assert study(name="mine").spec(name="file").name == "mine"
    assert study().spec(name="file").name == "file"
    assert study().name == "test_study"
    assert fit_name("(!)") == "study"


def test_an_adapted_study_leaves_the_first_one_alone() -> None:
    first = study()
    spec = study(trials=5, name="other").spec()
    second = first.adapted(spec, file=Path(__file__))
    assert (first.spec().budget.trials, second.spec().budget.trials) == (60, 5)
    assert second.name == "other"


def test_int_parameters_survive_as_ints() -> None:
    made = shoal.Study(space=Space(n=Int(1, 4)), train=objective, minimize="loss", points_to_evaluate=[{"n": 3}])
    assert made.first_points[0][0] == {"n": 3}
