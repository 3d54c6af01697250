"""NAME=VALUE words become configurations of the study's space."""

import pytest

from shoal.errors import SpecError
from shoal.service.cli.enqueueing import completed, free_form, pairs
from shoal.spaces import Categorical, Choice, Float, Int, Ordinal, Repeat, Space

SPACE = Space(
    lr=Float(1e-4, 1e-1, log=True),
    batch=Ordinal([32, 64]),
    flag=Categorical([True, None, "none"]),
    optimizer=Choice(sgd=Space(momentum=Float(0.0, 0.9)), adam=None),
    layers=Repeat(Space(width=Int(1, 8)), 1, 3),
)


def test_given_values_are_kept_and_the_rest_is_drawn() -> None:
    given = {"lr": "0.01", "batch": "64", "optimizer": "sgd", "layers": "2", "layers[1].width": "8", "flag": "True"}
    config = completed(SPACE, given)
    assert config.lr == 0.01 and config.batch == 64 and config.flag is True
    assert config.optimizer == "sgd" and len(config.layers) == 2 and config.layers[1].width == 8
    assert 1 <= config.layers[0].width <= 8


def test_the_same_words_give_the_same_configuration() -> None:
    assert completed(SPACE, {"lr": "0.01"}) == completed(SPACE, {"lr": "0.01"})


@pytest.mark.parametrize(
    ("word", "cause", "remedy"),
    [
        ("lrr=0.1", "'lrr' is not in the space", "Did you mean lr?"),
        ("lr=7", "lr=7", "has"),
        ("lr=fast", "lr=fast", "has"),
        ("batch=33", "batch=33", "has"),
        ("optimizer=adagrad", "optimizer=adagrad", "has"),
        ("layers=9", "layers=9", "has"),
    ],
)
def test_bad_values(word: str, cause: str, remedy: str) -> None:
    with pytest.raises(SpecError) as caught:
        completed(SPACE, pairs([word]))
    assert cause in caught.value.cause and remedy in caught.value.remedy


def test_inactive_parameters_are_refused() -> None:
    with pytest.raises(SpecError, match="not active"):
        completed(SPACE, {"optimizer": "adam", "optimizer.momentum": "0.5"})


def test_words() -> None:
    assert pairs(["a=1", "b=x=y"]) == {"a": "1", "b": "x=y"}
    for words in (["a"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(SpecError):
            pairs(words)
    assert free_form({"lr": "0.1", "name": "adam"}) == {"lr": 0.1, "name": "adam"}
