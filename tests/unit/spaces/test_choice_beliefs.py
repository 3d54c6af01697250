"""`default=` and `prior=` of a `Choice`: which option is tried first, and how firmly it is believed in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal.errors import SpaceError
from shoal.search.strategies.cube import UnitCube
from shoal.spaces import Choice, Float, Int, Space, require
from shoal.spaces.encodings import ForestEncoding, GpEncoding, TokenEncoding
from shoal.spaces.exchange import to_configspace, to_optuna


class SGD(Space):
    momentum = Float(0.0, 0.99, default=0.9)


class Adam(Space):
    beta2 = Float(0.9, 0.999)


def optimizer(**beliefs: Any) -> Choice:
    return Choice(SGD, Adam, adagrad=None, **beliefs)


SPACE = Space(lr=Float(1e-4, 1.0, log=True), optimizer=optimizer(default="Adam", prior="high"))


def test_the_default_option_is_tried_first() -> None:
    first = SPACE.default()
    assert first is not None and first.optimizer == "Adam" and 0.9 < first.optimizer.beta2 < 0.999
    assert Space(optimizer=optimizer(default=Adam)).default() == Space(optimizer=optimizer(default="Adam")).default()
    inner = Space(optimizer=optimizer()).default()
    assert inner is not None and inner.optimizer == "SGD", "without one it is the first option"
    assert Space(op=Choice(a=None, b=None)).default() is None


@pytest.mark.parametrize(("prior", "share"), [(None, 1 / 3), ("low", 0.5), ("medium", 2 / 3), ("high", 5 / 6)])
def test_the_believed_option_gets_its_share_of_the_draws(prior: Any, share: float) -> None:
    space = Space(optimizer=optimizer(default="adagrad", **({} if prior is None else {"prior": prior})))
    rng = np.random.default_rng(0)
    drawn = [space.sample(rng).optimizer.choice for _ in range(2000)]
    assert drawn.count("adagrad") / 2000 == pytest.approx(share, abs=0.03)
    assert set(drawn) == {"SGD", "Adam", "adagrad"}


def test_a_belief_survives_json_and_text() -> None:
    assert Space.from_json(SPACE.to_json()) == SPACE != Space(lr=SPACE.nodes["lr"], optimizer=optimizer())
    assert "default='Adam', prior='high'" in repr(SPACE)
    assert "default" not in optimizer().to_json() and "prior" not in optimizer(default="SGD").to_json()


def test_models_see_the_unbent_choice_and_the_belief_beside_it() -> None:
    cube, plain = UnitCube(SPACE), UnitCube(Space(lr=SPACE.nodes["lr"], optimizer=optimizer()))
    rng = np.random.default_rng(1)
    rows = cube.draw(rng, 600)
    tags = [cube.decode(row).optimizer.choice for row in rows]
    assert 0.75 < tags[::2].count("Adam") / 300 < 0.92 and 0.2 < tags[1::2].count("Adam") / 300 < 0.45
    assert [plain.decode(row).optimizer.choice for row in rows] == tags
    believed = cube.log_prior(rows)
    assert np.allclose(believed[[tag == "Adam" for tag in tags]], 0.0)
    assert np.all(believed[[tag != "Adam" for tag in tags]] < -2.0), "a tenth of its share"
    configs = [SPACE.sample(rng) for _ in range(20)]
    assert [cube.decode(row).optimizer for row in cube.encode(configs, rng)] == [c.optimizer for c in configs]


@pytest.mark.parametrize("encoding", [ForestEncoding, GpEncoding, TokenEncoding])
def test_encodings_keep_the_option(encoding: type[Any]) -> None:
    rng = np.random.default_rng(2)
    configs = [SPACE.sample(rng) for _ in range(20)]
    made = encoding(SPACE)
    if encoding is TokenEncoding:
        decoded = [made.decode(made.encode(config)) for config in configs]
    else:
        decoded = [made.decode(row) for row in made.encode(configs)]
    assert [config.optimizer.choice for config in decoded] == [config.optimizer.choice for config in configs]


def test_rules_move_a_choice_without_a_default_and_refuse_a_forbidden_one() -> None:
    rules = [require(lambda s: s.op != "a")]
    open_space = Space(op=Choice(a=None, b=None), n=Int(1, 3, default=2), rules=rules)
    first = open_space.default()
    assert first is not None and first.op == "b"
    with pytest.raises(SpaceError, match="is forbidden by"):
        Space(op=Choice(a=None, b=None, default="a"), rules=rules)


def test_an_option_may_be_called_default_or_prior() -> None:
    choice = Choice(default=Space(x=Float(0, 1)), prior=None)
    assert list(choice.options) == ["default", "prior"] and not choice.has_defaults()
    assert Space.from_json(Space(c=choice).to_json()) == Space(c=choice)
    half = Choice(prior=None, other=None, default="prior")
    assert list(half.options) == ["prior", "other"] and half.tags.initial() == "prior"
    assert Space.from_json(Space(c=half).to_json()) == Space(c=half)


@pytest.mark.parametrize(
    ("beliefs", "cause", "remedy"),
    [
        ({"default": "adm"}, "the default 'adm' is not an option; allowed: 'SGD', 'Adam'", "Choose an option"),
        ({"default": "SDG"}, "Did you mean 'SGD'?", "Choose an option"),
        ({"prior": "high"}, "prior='high' says how good the default is believed to be", "Give default="),
        ({"default": "SGD", "prior": "strong"}, "Choice: prior='strong' is no strength", "'low', 'medium' or 'high'"),
        ({"default": "SGD", "prior": 0.5}, "option 'prior' is 0.5, not a Space or None", "Give prior='low', 'medium'"),
        ({"default": 1}, "option 'default' is 1, not a Space or None", "default='sgd'"),
    ],
)
def test_a_belief_that_cannot_be_is_refused(beliefs: Any, cause: str, remedy: str) -> None:
    with pytest.raises(SpaceError) as caught:
        optimizer(**beliefs)
    assert cause in caught.value.cause and remedy in caught.value.remedy


def test_exports_name_the_belief_they_would_lose() -> None:
    for export in (to_configspace, to_optuna):
        with pytest.raises(SpaceError, match="the prior of optimizer"):
            export(SPACE)
