"""To and from Optuna and ConfigSpace: what would be lost is refused."""

import sys
from types import SimpleNamespace
from typing import Any

import optuna
import pytest

from shoal.errors import SpaceError
from shoal.spaces import Categorical, Choice, Constant, Float, Int, Ordinal, Repeat, Space, forbid
from shoal.spaces.exchange import from_optuna, suggest, to_configspace, to_optuna

FLAT = Space(
    lr=Float(1e-4, 1e-1, log=True), n=Int(2, 10, step=2), f=Float(0, 1, step=0.25), c=Categorical(["a", None, True])
)
TREE = Space(
    lr=Float(0, 1),
    kind=Constant("x"),
    one=Int(3, 3),
    grid=Float(0, 1, step=0.5),
    odd=Categorical([True, 1, [2]]),
    o=Choice(sgd=Space(lr=Float(0, 1), m=Int(1, 2)), adam=Space(lr=Float(0, 2)), none=None),
    layers=Repeat(Space(width=Ordinal([16, 32])), 1, 3),
)


def test_a_flat_space_goes_to_optuna_and_back() -> None:
    distributions = to_optuna(FLAT)
    assert distributions["n"] == optuna.distributions.IntDistribution(2, 10, step=2)
    assert from_optuna(distributions) == FLAT
    with pytest.raises(SpaceError, match="not a Python identifier"):
        from_optuna({"learning rate": optuna.distributions.FloatDistribution(0, 1)})


def test_what_a_dictionary_of_distributions_cannot_say_is_refused() -> None:
    with pytest.raises(SpaceError) as error:
        to_optuna(TREE)
    for part in ("not always active", "the order of layers[0].width", "the types of the values of odd"):
        assert part in error.value.cause
    assert set(to_optuna(TREE, lossy="allow")) == {decision.path for decision in TREE.all_decisions()}
    with pytest.raises(SpaceError, match="the rules"):
        to_optuna(Space(a=Int(1, 2), b=Int(1, 2), rules=[forbid(lambda s: s.a == s.b)]))
    with pytest.raises(SpaceError, match="the prior of a"):
        to_optuna(Space(a=Int(1, 9, prior=3)))
    with pytest.raises(SpaceError, match="neither"):
        to_optuna(FLAT, lossy="maybe")  # type: ignore[arg-type]


def test_suggesting_through_a_trial_loses_nothing() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(20):
        trial = study.ask()
        config = suggest(TREE, trial)
        assert TREE.validate(config) == config and config.kind == "x"
        assert set(trial.params) == set(config.flat())
        study.tell(trial, config.lr)


def test_configspace_gets_conditions_for_options_and_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls as ConfigSpace 1.2 takes them, on a library that only writes them down."""
    added: list[Any] = []

    def recorded(kind: str) -> Any:
        return lambda *args, **more: SimpleNamespace(kind=kind, name=args[0], args=args[1:], **more)

    kinds = (
        "CategoricalHyperparameter", "OrdinalHyperparameter", "UniformFloatHyperparameter", "AndConjunction",
        "UniformIntegerHyperparameter", "EqualsCondition", "GreaterThanCondition", "Constant",
    )  # fmt: skip
    library = SimpleNamespace(**{kind: recorded(kind) for kind in kinds})
    library.ConfigurationSpace = lambda: SimpleNamespace(add=added.append)
    monkeypatch.setitem(sys.modules, "ConfigSpace", library)
    to_configspace(TREE)
    names = {item.name: item.kind for item in added if isinstance(item.name, str)}
    assert names["o"] == "CategoricalHyperparameter" and names["o[adam].lr"] == "UniformFloatHyperparameter"
    assert names["layers[2].width"] == names["grid"] == "OrdinalHyperparameter" and names["one"] == "Constant"
    conditions = {item.name.name: (item.kind, item.args[0].name, item.args[1]) for item in added if "Cond" in item.kind}
    assert conditions["o[adam].lr"] == ("EqualsCondition", "o", "adam")
    assert (
        conditions["layers[1].width"] == ("GreaterThanCondition", "layers", 1) and "layers[0].width" not in conditions
    )
    with pytest.raises(SpaceError, match="lost would be: the rules"):
        to_configspace(Space(a=Int(1, 2), b=Int(1, 2), rules=[forbid(lambda s: s.a == s.b)]))


def test_a_missing_configspace_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ConfigSpace", None)
    with pytest.raises(SpaceError, match="pip install ConfigSpace"):
        to_configspace(FLAT)
