"""Tasks answered by the surrogates of YAHPO Gym: LCBench, and rbv2's xgboost and rpart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.spaces import Categorical, Choice, Configuration, Float, Int, Node, Space

from .data import document, session
from .tables import reference
from .task import Task

NUMERIC = {
    "lcbench": [
        *("epoch", "batch_size", "learning_rate", "momentum", "weight_decay", "num_layers", "max_units", "max_dropout")
    ],
    "rbv2_xgboost": [
        *("nrounds", "eta", "gamma", "lambda", "alpha", "subsample", "max_depth", "min_child_weight"),
        *("colsample_bytree", "colsample_bylevel", "rate_drop", "skip_drop", "trainsize", "repl"),
    ],
    "rbv2_rpart": ["cp", "maxdepth", "minbucket", "minsplit", "trainsize", "repl"],
}
CATEGORICAL = {
    "lcbench": ["OpenML_task_id"],
    "rbv2_xgboost": ["task_id", "booster", "num.impute.selected.cpo"],
    "rbv2_rpart": ["task_id", "num.impute.selected.cpo"],
}
FULL_FIDELITY = {
    "lcbench": {"epoch": 52.0},
    "rbv2_xgboost": {"trainsize": 1.0, "repl": 10.0},
    "rbv2_rpart": {"trainsize": 1.0, "repl": 10.0},
}
ABSENT = "#na#"


def space_of(scenario: str) -> Space:
    """The scenario's space at full fidelity; what depends on a category becomes an option of a `Choice`."""
    described = document(f"yahpo/{scenario}/config_space.json")
    left_out = {CATEGORICAL[scenario][0], *FULL_FIDELITY[scenario]}
    parents: dict[str, tuple[str, list[str]]] = {}
    for condition in described["conditions"]:
        values = condition.get("values", [condition.get("value")])
        parents[condition["child"]] = condition["parent"], values
    listed = {h["name"]: h for h in described["hyperparameters"] if h["name"] not in left_out}
    children: dict[str, dict[str, dict[str, Node]]] = defaultdict(lambda: defaultdict(dict))
    for name, (parent, values) in parents.items():
        for value in values:
            children[parent][value][plain(name)] = domain_of(listed[name])
    nodes: dict[str, Node] = {}
    for name, hyperparameter in listed.items():
        if name in children:
            options = {value: Space(**children[name][value]) for value in hyperparameter["choices"]}
            nodes[plain(name)] = Choice(**options)
        elif name not in parents:
            nodes[plain(name)] = domain_of(hyperparameter)
    return Space(**nodes)


def domain_of(hyperparameter: Mapping[str, Any]) -> Node:
    """A leaf domain from its description."""
    if hyperparameter["type"] == "categorical":
        return Categorical(hyperparameter["choices"])
    make: Any = Float if hyperparameter["type"] == "uniform_float" else Int
    node: Node = make(hyperparameter["lower"], hyperparameter["upper"], log=hyperparameter["log"])
    return node


def plain(name: str) -> str:
    """A parameter's name without dots."""
    return name.replace(".", "_")


def predictions(scenario: str, instance: str, values: Mapping[str, Any], *, column: int) -> float:
    """One output of the surrogate for one configuration, its values by plain name."""
    codes = document(f"yahpo/{scenario}/encoding.json")
    first, *others = CATEGORICAL[scenario]
    chosen = {first: instance, **{name: values.get(plain(name), ABSENT) for name in others}}
    categories = np.array([[codes[name].get(chosen[name]) for name in CATEGORICAL[scenario]]], dtype=np.int32)
    fidelity = FULL_FIDELITY[scenario]
    numbers = [[fidelity.get(name, values.get(plain(name), 0.0)) for name in NUMERIC[scenario]]]
    model = session(scenario)
    inputs = [tensor.name for tensor in model.get_inputs()]
    outputs = model.run(None, {inputs[0]: categories, inputs[1]: np.array(numbers, dtype=np.float32)})[0]
    return float(outputs[0, column])


def by_name(config: Configuration) -> dict[str, Any]:
    """The values of a configuration by the last part of their path: `booster.eta` is `eta`."""
    return {path.rsplit(".", 1)[-1]: value for path, value in config.flat().items()}


def lcbench(instance: str) -> Task:
    """Neural networks on an OpenML data set; the loss is 100 minus the validation accuracy."""

    def true(config: Configuration) -> float:
        return 100.0 - predictions("lcbench", instance, by_name(config), column=1)

    return surrogate(f"lcbench_{instance}", space_of("lcbench"), true)


def xgboost(instance: str) -> Task:
    """Boosted trees on an OpenML data set; the loss is 1 minus the accuracy."""

    def true(config: Configuration) -> float:
        return 1.0 - predictions("rbv2_xgboost", instance, by_name(config), column=0)

    return surrogate(f"xgb_{instance}", space_of("rbv2_xgboost"), true)


def cash(instance: str) -> Task:
    """Which learner, and its parameters: two levels of choices. The loss is 1 minus the accuracy."""
    space = Space(learner=Choice(rpart=space_of("rbv2_rpart"), xgboost=space_of("rbv2_xgboost")))

    def true(config: Configuration) -> float:
        return 1.0 - predictions(f"rbv2_{config['learner'].choice}", instance, by_name(config), column=0)

    return surrogate(f"cash_{instance}", space, true)


def surrogate(name: str, space: Space, true: Any) -> Task:
    """A task without noise."""
    best, median = reference(name)
    return Task(name=name, space=space, noisy=lambda config, rng: true(config), true=true, best=best, median=median)
