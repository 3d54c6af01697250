"""Conditions that define-by-run trials reveal."""

from shoal.search.strategies.inferred_space import inferred_space
from shoal.spaces import Categorical, Choice, Float, Int

DOMAINS = {
    "optimizer": Categorical(range(3)),
    "momentum": Float(0.0, 1.0),
    "nesterov": Categorical(range(2)),
    "damping": Float(0.0, 1.0),
    "any name!": Int(1, 9),
}


def trial(optimizer: int, nesterov: int | None = None, **more: float) -> dict[str, float]:
    params: dict[str, float] = {"optimizer": optimizer, "any name!": 4, **more}
    return params if nesterov is None else {**params, "nesterov": nesterov}


TRIALS = [
    trial(0, momentum=0.1, nesterov=0),
    trial(0, momentum=0.2, nesterov=1, damping=0.3),
    trial(1),
    trial(2),
    trial(0, momentum=0.7, nesterov=1, damping=0.4),
]


def test_branches_of_branches_are_found():
    inferred = inferred_space(DOMAINS, TRIALS)
    optimizer = inferred.space.nodes[f"p{inferred.names.index('optimizer')}"]
    assert isinstance(optimizer, Choice)
    paths = [decision.path for decision in inferred.space.all_decisions()]
    places = {name: index for index, name in enumerate(inferred.names)}
    assert f"p{places['optimizer']}.p{places['momentum']}" in paths
    assert f"p{places['optimizer']}.p{places['nesterov']}.p{places['damping']}" in paths
    assert len(paths) == len(DOMAINS)


def test_a_trial_comes_back_as_it_was():
    inferred = inferred_space(DOMAINS, TRIALS)
    for params in TRIALS:
        assert inferred.params(inferred.configuration(params)) == params


def test_what_no_category_explains_is_a_parameter_of_its_own():
    domains = {"x": Float(0.0, 1.0), "sometimes": Float(0.0, 4.0)}
    inferred = inferred_space(domains, [{"x": 0.1}, {"x": 0.2, "sometimes": 1.0}])
    assert inferred.params(inferred.configuration({"x": 0.5})) == {"x": 0.5, "sometimes": 2.0}
