"""Choice, Repeat, Space: paths, the walk and its inverse, sizes, validation."""

import cloudpickle
import numpy as np
import pytest

from shoal.errors import SpaceError
from shoal.spaces import Categorical, Choice, Decision, Float, Int, Ordinal, Repeat, Space

SPACE = Space(
    lr=Float(1e-4, 1e-1, log=True),
    optimizer=Choice(
        sgd=Space(momentum=Float(0, 0.99), nesterov=Categorical([True, False])),
        adam=Space(beta2=Float(0.9, 0.9999)),
        adagrad=None,
    ),
    layers=Repeat(Space(width=Int(16, 256, log=True), op=Categorical(["conv", "pool"])), 1, 3),
    widths=Repeat(Int(1, 4), 0, 2),
    head=Space(depth=Ordinal([1, 2, 4])),
)


def test_paths_are_readable_and_every_unrolled_decision_is_listed_once() -> None:
    paths = [decision.path for decision in SPACE.all_decisions()]
    assert paths == [
        "lr", "optimizer", "optimizer.momentum", "optimizer.nesterov", "optimizer.beta2",
        "layers", "layers[0].width", "layers[0].op", "layers[1].width", "layers[1].op",
        "layers[2].width", "layers[2].op", "widths", "widths[0]", "widths[1]", "head.depth",
    ]  # fmt: skip


def test_build_asks_only_active_decisions_in_order_and_decisions_of_is_its_inverse() -> None:
    asked: list[Decision] = []

    def decide(decision: Decision) -> object:
        asked.append(decision)
        return {"optimizer": "adam", "layers": 2, "widths": 0}.get(decision.path, decision.domain.from_unit(0.5))

    config = SPACE.build(decide)
    paths = ["lr", "optimizer", "optimizer.beta2", "layers", "layers[0].width", "layers[0].op"]
    assert [d.path for d in asked] == [*paths, "layers[1].width", "layers[1].op", "widths", "head.depth"]
    decided = SPACE.decisions_of(config)
    assert [d for d, _ in decided] == asked
    answers = {d.path: value for d, value in decided}
    assert SPACE.build(lambda d: answers[d.path]) == config
    assert config.flat() == answers


def test_a_configuration_reads_like_the_space_was_written() -> None:
    config = SPACE.validate(
        {
            "lr": 0.01,
            "optimizer": {"sgd": {"momentum": 0.9, "nesterov": False}},
            "layers": [{"width": 16, "op": "conv"}, {"width": 32, "op": "pool"}],
            "widths": [1],
            "head": {"depth": 4},
        }
    )
    assert config.optimizer == "sgd" and config.optimizer.choice == "sgd" and str(config.optimizer) == "sgd"
    assert config.optimizer != "adam" and config.optimizer in {"sgd"}
    assert config.optimizer.momentum == config["optimizer"]["momentum"] == config["optimizer.momentum"] == 0.9
    assert config.layers[1].width == config["layers[1].width"] == 32 and len(config.layers) == 2
    assert config.widths == (1,) and config.head.depth == 4
    assert repr(config.optimizer) == "sgd(momentum=0.9, nesterov=False)"
    assert dict(config)["lr"] == 0.01 and list(config) == ["lr", "optimizer", "layers", "widths", "head"]
    with pytest.raises(AttributeError, match="Did you mean 'momentum'"):
        _ = config.optimizer.momentun
    with pytest.raises(AttributeError, match="immutable"):
        config.lr = 0.2
    with pytest.raises(KeyError):
        _ = config["layers[7].width"]
    assert SPACE.configuration(config.to_json()) == config and SPACE.from_flat(config.flat()) == config
    assert cloudpickle.loads(cloudpickle.dumps(config)) == config and hash(config) == hash(SPACE.validate(config))
    assert cloudpickle.loads(cloudpickle.dumps(config.optimizer)) == config.optimizer


def test_one_name_defined_differently_in_two_options_is_told_apart_by_the_tag() -> None:
    space = Space(
        o=Choice(
            sgd=Space(lr=Float(0.1, 1), decay=Float(0, 1)),
            adam=Space(lr=Float(1e-4, 1e-2, log=True), decay=Float(0, 1)),
        )
    )
    paths = [decision.path for decision in space.all_decisions()]
    assert paths == ["o", "o[sgd].lr", "o.decay", "o[adam].lr"]
    config = space.from_flat({"o": "adam", "o[adam].lr": 1e-3, "o.decay": 0.5})
    assert config.o.lr == 1e-3 and config["o[adam].lr"] == 1e-3
    assert config.flat() == {"o": "adam", "o[adam].lr": 1e-3, "o.decay": 0.5}


def test_sizes_are_exact_integers() -> None:
    inner = Space(a=Int(1, 10), b=Categorical([1, 2, 3]))
    assert inner.size() == 30
    assert Space(c=Choice(x=inner, y=None, z=Space(d=Ordinal([1, 2])))).size() == 33
    assert Space(r=Repeat(inner, 0, 40)).size() == sum(30**k for k in range(41))
    assert SPACE.size() is None and Space().size() == 1


def test_the_grid_lists_every_configuration_once_in_a_fixed_order() -> None:
    space = Space(
        c=Choice(x=Space(a=Int(1, 3)), y=None),
        r=Repeat(Space(b=Categorical(["p", "q"])), 0, 2),
        f=Float(0, 1, step=0.5),
    )
    keys = [config.key() for config in space.grid(1)]
    assert len(keys) == len(set(keys)) == space.size() == space.count(10_000) == 4 * 7 * 3
    assert keys == [config.key() for config in space.grid(1)]
    assert space.count(83) is None and Space(f=Float(0, 1)).count(10) is None
    assert [config.f for config in Space(f=Float(1e-2, 1, log=True)).grid(3)] == [0.01, 0.1, 1.0]
    with pytest.raises(SpaceError, match="points_per_float"):
        space.grid(0)


def test_the_grid_of_an_enormous_space_starts_at_once() -> None:
    space = Space(**{f"n{i}": Int(0, 10**30) for i in range(50)})
    grid = space.grid(10)
    first, second = next(grid), next(grid)
    assert first.n49 == 0 and second.n49 == 1 and space.size() == (10**30 + 1) ** 50


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"lr": 5.0}, "lr = 5.0 (float) is not allowed; allowed: a number from 0.0001 to 0.1"),
        ({"lr": "0.1"}, "lr = '0.1' (str)"),
        ({"learning": 1}, "'learning' is not a parameter"),
        ({"headd": {}}, "Did you mean 'head'?"),
        ({"optimizer": {"adm": {}}}, "Did you mean 'adam'?"),
        ({"optimizer": {"adam": {}}}, "optimizer.beta2 is missing"),
        ({"optimizer": {"adagrad": {"x": 1}}}, "has no parameters"),
        ({"optimizer": 3}, "optimizer = 3 is not a choice"),
        ({"layers": []}, "layers: got 0 elements; allowed: a list of 1 to 3"),
        ({"layers": [{"width": 1, "op": "conv"}]}, "layers[0].width = 1 (int)"),
        ({"head": 1}, "head = 1 is not a mapping"),
    ],
)
def test_validation_names_path_value_and_what_is_allowed(change: dict[str, object], named: str) -> None:
    right = {
        "lr": 0.01,
        "optimizer": "adagrad",
        "layers": [{"width": 16, "op": "conv"}],
        "widths": [],
        "head": {"depth": 1},
    }
    SPACE.validate(right)
    with pytest.raises(SpaceError) as error:
        SPACE.validate({**right, **change})
    assert named in error.value.cause and error.value.remedy


def test_flat_values_that_do_not_fit_are_refused() -> None:
    space = Space(a=Int(1, 3), o=Choice(x=Space(b=Int(1, 2)), y=None))
    with pytest.raises(SpaceError, match=r"o\.b is missing"):
        space.from_flat({"a": 1, "o": "x"})
    with pytest.raises(SpaceError, match="not an active parameter"):
        space.from_flat({"a": 1, "o": "y", "o.b": 1})
    with pytest.raises(SpaceError, match="a = 9"):
        space.build(lambda decision: {"a": 9, "o": "y"}[decision.path])


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Space(lr=0.1), "'lr' is 0.1 (float), not a domain"),
        (lambda: Space(**{"my lr": Int(1, 2)}), "'my lr' is not a Python identifier"),
        (lambda: Space(_lr=Int(1, 2)), "starts with '_'"),
        (lambda: Space(keys=Int(1, 2)), "'keys' is a name that configurations use"),
        (lambda: Space(rules=Int(1, 2)), "not a list of rules"),
        (lambda: Space(rules=[print]), "is not a rule"),
        (lambda: Choice(), "no options"),
        (lambda: Choice(a=Int(1, 2)), "option 'a'"),
        (lambda: Repeat(3, 1, 2), "is not a space"),  # type: ignore[arg-type]
        (lambda: Repeat(Int(1, 2), 2, 1), "low is above high"),
        (lambda: Repeat(Int(1, 2), -1, 1), "0 <= min"),
        (lambda: Space.from_json({"type": "spce"}), "Did you mean 'space'?"),
        (lambda: Space.from_json({"type": "space"}), "damaged"),
        (lambda: Space.from_json([]), "not a node"),
        (lambda: Space.from_json(Int(1, 2).to_json()), "not a space"),
    ],
)
def test_impossible_definitions_name_the_parameter_and_a_remedy(make: object, named: str) -> None:
    with pytest.raises(SpaceError) as error:
        make()  # type: ignore[operator]
    assert named in error.value.cause and error.value.remedy


def test_defaults() -> None:
    assert Space(a=Int(1, 3)).default() is None
    space = Space(
        a=Int(1, 9, default=7),
        b=Float(0, 1),
        o=Choice(x=Space(c=Categorical(["p", "q"])), y=None),
        r=Repeat(Int(1, 3), 1, 3),
    )
    default = space.default()
    assert default is not None
    assert default.flat() == {"a": 7, "b": 0.5, "o": "x", "o.c": "p", "r": 2, "r[0]": 2, "r[1]": 2}


def test_T09_configurations_of_an_older_version_are_read_where_they_still_fit() -> None:
    old = Space(width=Categorical([64, 128]), lr=Float(0.1, 1))
    wider = Space(width=Categorical([64, 128, 256]), lr=Float(0.01, 1))
    narrower = Space(width=Categorical([64]), lr=Float(0.1, 1))
    stored = old.from_flat({"width": 128, "lr": 0.5}).to_json()
    assert wider.validate(stored).width == 128
    with pytest.raises(SpaceError, match="width = 128"):
        narrower.validate(stored)


def test_T20_equal_seeds_give_equal_configurations_and_different_ones_different() -> None:
    drawn = [SPACE.sample(np.random.default_rng(7)) for _ in range(2)]
    assert drawn[0] == drawn[1]
    eight = {SPACE.sample(np.random.default_rng([7, worker])).key() for worker in range(8)}
    assert len(eight) == 8
