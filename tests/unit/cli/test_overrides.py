"""`--trials`, `--strategy` and `--set` on a study's spec."""

import pytest

from shoal.errors import SpecError
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.service.cli.overrides import overridden, read_changes
from shoal.service.cli.running import free_name
from shoal.spaces import Float, Space


@pytest.fixture
def spec() -> StudySpec:
    return StudySpec(
        name="digits",
        space=Space(lr=Float(0.1, 1.0)).to_json(),
        objectives=(Objective(metric="accuracy", direction="maximize"),),
        entry=EntryPoint(kind="trial", module="m", function="f"),
        strategy=Chosen(name="tpe", options={}),
        early_stopping=Chosen(name="none"),
        budget=Budget(trials=30),
    )


def test_changes_reach_their_places(spec: StudySpec) -> None:
    words = ["time_limit_s=12.5", "max_workers=4", "gpus_per_worker=0.25", "value=best", "max_failures=none"]
    changed = overridden(spec, read_changes(words) | {"trials": 7, "seed": 3, "name": "other"})
    assert (changed.budget.trials, changed.budget.study_time_limit_s, changed.budget.max_failures) == (7, 12.5, None)
    assert (changed.resources.max_workers, changed.resources.gpus_per_worker) == (4, "0.25")
    assert (changed.seed, changed.name, changed.value_from) == (3, "other", "best")
    assert spec.budget.trials == 30


def test_another_strategy_drops_the_old_options(spec: StudySpec) -> None:
    changed = overridden(spec, {"strategy": "random"})
    assert changed.strategy == Chosen(name="random", options={})


def test_options_of_a_new_strategy_and_rule(spec: StudySpec) -> None:
    words = ["strategy.n_trees=80", "early_stopping=asha", "early_stopping.max_epochs=9"]
    changed = overridden(spec, read_changes(words) | {"strategy": "random_forest"})
    assert changed.strategy == Chosen(name="random_forest", options={"n_trees": 80})
    assert changed.early_stopping == Chosen(name="asha", options={"max_epochs": 9})


@pytest.mark.parametrize(
    ("words", "cause", "remedy"),
    [
        (["strategy=random_forest", "strategy.n_tree=80"], "no option 'n_tree'. Did you mean 'n_trees'?", "Allowed:"),
        (["strategy=random_forest", "strategy.n_trees=many"], "n_trees='many' is not an integer", "default is 60"),
        (["strategy=random_forest", "strategy.n_trees=1"], "n_trees=1 is not at least 2, at most 1000", "default"),
        (["strategy=random", "strategy.n=1"], "random has no option 'n'", "takes no options"),
        (["early_stopping=asha"], "asha needs max_epochs", "early_stopping.max_epochs=VALUE"),
        (["early_stopping=median", "early_stopping.metric=acuracy"], "Did you mean 'accuracy'?", "Use one of"),
    ],
)
def test_bad_options(spec: StudySpec, words: list[str], cause: str, remedy: str) -> None:
    with pytest.raises(SpecError) as caught:
        overridden(spec, read_changes(words))
    assert cause in caught.value.cause and remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("word", "cause", "remedy"),
    [
        ("trails=3", "'trails' is unknown", "trials"),
        ("trials=many", "trials='many' is not a whole number or none", ""),
        ("trials=0", "trials=0 is below 1", ""),
        ("trials=true", "is not a whole number", ""),
        ("strategy=tpee", "tpee", "tpe"),
        ("min_workers=3", "power of two", ""),
        ("reuse_workers=1", "true or false", ""),
        ("value=worst", "'worst' is unknown", "last or best"),
        ("optimizer.lr=3", "is unknown", ""),
    ],
)
def test_bad_changes(spec: StudySpec, word: str, cause: str, remedy: str) -> None:
    with pytest.raises(SpecError) as caught:
        overridden(spec, read_changes([word]))
    assert cause in caught.value.cause and remedy in caught.value.remedy and caught.value.remedy


def test_no_early_stopping(spec: StudySpec) -> None:
    assert overridden(spec, read_changes(["early_stopping=none"])).early_stopping.name == "none"


def test_word_without_equals() -> None:
    with pytest.raises(SpecError, match="NAME=VALUE"):
        read_changes(["trials"])


def test_free_names() -> None:
    assert free_name("digits", []) == "digits"
    assert free_name("digits", ["digits"]) == "digits-2"
