"""The class front end: the same space, written as a class."""

import cloudpickle
import numpy as np
import pytest

from shoal.errors import SpaceError
from shoal.spaces import Architecture, Choice, Configuration, Constant, Float, Int, Repeat, Space, as_space, forbid


class SGD(Space):
    momentum: float = Float(0, 0.99)


class Adam(Space):
    beta2: float = Float(0.9, 0.9999)


class Train(Space):
    lr: float = Float(1e-4, 1e-1, log=True)
    size: int = Int(1, 3)
    optimizer: SGD | Adam = Choice(SGD, Adam)
    layers: tuple[SGD, ...] = Repeat(SGD, 1, 2)
    inner = SGD
    rules = (forbid(lambda s: (s.optimizer == "Adam") & (s.lr > 0.03)),)


FUNCTIONAL = Space(
    lr=Float(1e-4, 1e-1, log=True),
    size=Int(1, 3),
    optimizer=Choice(SGD=Space(momentum=Float(0, 0.99)), Adam=Space(beta2=Float(0.9, 0.9999))),
    layers=Repeat(Space(momentum=Float(0, 0.99)), 1, 2),
    inner=Space(momentum=Float(0, 0.99)),
    rules=[forbid(lambda s: (s.optimizer == "Adam") & (s.lr > 0.03))],
)


def test_a_class_is_the_same_space_as_the_call() -> None:
    assert Train() == FUNCTIONAL == as_space(Train)
    assert Space.from_json(Train().to_json()) == FUNCTIONAL
    assert Train().size() is None, "a parameter called `size` does not hide the method"
    config = Train().sample(np.random.default_rng(0))
    assert config.size in (1, 2, 3) and config.optimizer.choice in ("SGD", "Adam")
    assert cloudpickle.loads(cloudpickle.dumps(config)) == config


def test_subclasses_add_and_replace_and_keep_the_rules() -> None:
    class More(Train):
        lr = Constant(0.05)
        extra = Int(1, 2)

    space = More()
    assert list(space.nodes) == ["lr", "size", "optimizer", "layers", "inner", "extra"]
    assert len(space.rules) == 1
    assert {space.sample(np.random.default_rng(seed)).optimizer.choice for seed in range(20)} == {"SGD"}
    assert More(extra=Constant(7)).sample(np.random.default_rng(0)).extra == 7


def test_a_class_or_an_architecture_may_stand_where_a_space_can() -> None:
    class Tiny(Architecture):
        width = Int(1, 3)

        def build(self, config: Configuration, num_classes: int, **options: object) -> object:  # type: ignore[override]
            return config.width * num_classes

    space = Space(net=Tiny, train=Train, many=Repeat(Tiny(), 1, 2))
    config = space.sample(np.random.default_rng(0))
    assert config.net.width in (1, 2, 3) and config.net.space.architecture.entry_point.endswith("Tiny")
    assert Space.from_json(space.to_json()) == space
    assert as_space(Tiny(width=Constant(2))).size() == 1
    with pytest.raises(SpaceError, match="Did you mean 'width'"):
        _ = Tiny(widht=Int(1, 2)).space
    with pytest.raises(SpaceError, match="no member 'big'"):
        Tiny().point("big")


def test_what_is_not_a_space_is_refused() -> None:
    for value in (3, dict, "space"):
        with pytest.raises(SpaceError, match="is not a space"):
            as_space(value)
