"""Objectives written for Optuna, run here."""

import warnings
from typing import Any

import optuna
import pytest

from shoal.errors import SpaceError, StrategyError, TrialError
from shoal.tests.models.trial.trial_rig import ScriptedLink
from shoal.trial_runner.optuna_trial import OptunaTrial


def asked(
    suggestions: dict[str, Any] | None = None, verdicts: dict[int, str] | None = None, **more: Any
) -> tuple[OptunaTrial, ScriptedLink]:
    link = ScriptedLink(verdicts, suggestions)
    options = {"number": 4, "metric": "value", "direction": "minimize", "suggested": {}} | more
    return OptunaTrial(link=link, **options), link


def test_an_ordinary_objective() -> None:
    def objective(trial: optuna.trial.BaseTrial) -> float:
        assert isinstance(trial, optuna.trial.BaseTrial)
        lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
        layers = trial.suggest_int("n layers", 1, 3)
        widths = [trial.suggest_int(f"width_{i}", 16, 64, step=16) for i in range(layers)]
        kind = trial.suggest_categorical("kind", ["a", None, 3])
        trial.set_user_attr("note", [1])
        assert trial.user_attrs == {"note": [1]}
        return lr * sum(widths) + (kind is None)

    values = {"lr": 0.01, "n layers": 2, "width_0": 16, "width_1": 64, "kind": None}
    trial, link = asked(values)
    assert objective(trial) == 0.01 * 80 + 1  # type: ignore[arg-type]
    assert trial.params == values
    assert trial.number == 4
    assert [fields["path"] for fields in link.all("suggest")] == list(values)
    assert link.all("suggest")[0]["domain"] == {"type": "float", "low": 1e-5, "high": 0.1, "log": True}


def test_every_abstract_method_is_there() -> None:
    trial, _ = asked()
    missing = [name for name in optuna.trial.BaseTrial.__abstractmethods__ if not hasattr(trial, name)]
    assert missing == []


def test_asked_once_a_name() -> None:
    trial, link = asked({"x": 0.5})
    assert trial.suggest_float("x", 0, 1) == trial.suggest_float("x", 0, 1) == 0.5
    assert len(link.all("suggest")) == 1


def test_answers_of_an_earlier_run_are_not_asked_again() -> None:
    trial, link = asked(suggested={"x": 3, "sizes": {"$tuple": [1, 2]}})
    assert trial.suggest_int("x", 1, 5) == 3
    assert trial.suggest_categorical("sizes", [(1, 2), [1, 2]]) == (1, 2)
    assert link.sent == []


def test_the_same_name_with_another_range() -> None:
    """Optuna's own behaviour: a warning for a range, an error for a kind or for other choices."""
    trial, _ = asked({"x": 0.5, "c": "a"})
    trial.suggest_float("x", 0, 1)
    with pytest.warns(RuntimeWarning, match="'x' was suggested from"):
        assert trial.suggest_float("x", 0, 2) == 0.5
    with pytest.raises(ValueError, match="cannot become"):
        trial.suggest_int("x", 0, 1)
    trial.suggest_categorical("c", ["a", "b"])
    with pytest.raises(ValueError, match="choices of 'c'"):
        trial.suggest_categorical("c", ["a", "b", "c"])


def test_ranges_that_steps_do_not_reach_are_lowered() -> None:
    """T01: 0.8 to 1.0 by 0.1 keeps its end although (1 - .8) / .1 is 1.9999; 0 to 10 by 3 ends at 9."""
    trial, link = asked({"a": 1.0, "b": 9, "c": 0.5})
    trial.suggest_float("a", 0.8, 1.0, step=0.1)
    trial.suggest_int("b", 0, 10, step=3)
    trial.suggest_float("c", 0.0, 0.6, step=0.25)
    assert [fields["domain"]["high"] for fields in link.all("suggest")] == [1.0, 9, 0.5]
    assert len(link.warnings()) == 2


def test_one_value_ranges() -> None:
    """T16: low = high is a range of one value."""
    trial, _ = asked({"x": 1.0, "n": 2})
    assert (trial.suggest_float("x", 1, 1), trial.suggest_int("n", 2, 2)) == (1.0, 2)


@pytest.mark.parametrize("high", [0.5, float("nan")])
def test_impossible_ranges(high: float) -> None:
    trial, link = asked()
    with pytest.raises(SpaceError):
        trial.suggest_float("x", 1.0, high)
    assert link.sent == []


def test_a_strategy_without_an_answer() -> None:
    trial, _ = asked()
    with pytest.raises(StrategyError, match="no value for 'x': nothing is scripted"):
        trial.suggest_float("x", 0, 1)


@pytest.mark.parametrize(
    ("method", "arguments", "instead"),
    [
        ("suggest_uniform", ("x", 0, 1), "suggest_float('x', 0, 1)"),
        ("suggest_loguniform", ("x", 1, 2), "log=True"),
        ("suggest_discrete_uniform", ("x", 0, 1, 0.1), "step=0.1"),
    ],
)
def test_deprecated_suggestions(method: str, arguments: tuple[Any, ...], instead: str) -> None:
    trial, _ = asked()
    with pytest.raises(TrialError) as caught:
        getattr(trial, method)(*arguments)
    assert instead in caught.value.remedy


def test_reports_and_pruning() -> None:
    """Optuna's step 0 is shoal's step 1; the answer to the last report decides."""
    trial, link = asked(verdicts={3: "stop"})
    pruned = []
    for step in range(4):
        trial.report(1.0 / (step + 1), step)
        if trial.should_prune():
            pruned.append(step)
            break
    assert pruned == [2]
    assert trial.should_prune()
    assert link.reports() == [(1, {"value": 1.0}), (2, {"value": 0.5}), (3, {"value": 1.0 / 3.0})]
    assert not any(fields["can_pause"] for fields in link.all("report"))


def test_should_prune_without_a_report() -> None:
    assert asked()[0].should_prune() is False


def test_rerun_reports_are_not_sent_again() -> None:
    trial, link = asked(reported_step=2)
    for step in range(3):
        trial.report(step, step)
        assert not trial.should_prune()
    assert [step for step, _ in link.reports()] == [3]


@pytest.mark.parametrize(("value", "step"), [("0.5", 0), (None, 0), (0.5, -1), (0.5, 1.5)])
def test_wrong_reports(value: Any, step: Any) -> None:
    with pytest.raises(TrialError):
        asked()[0].report(value, step)


def test_distributions() -> None:
    trial, _ = asked({"x": 0.5, "n": 2, "c": "a"})
    trial.suggest_float("x", 0.1, 1, log=True)
    trial.suggest_int("n", 1, 3)
    trial.suggest_categorical("c", ["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert trial.distributions == {
            "x": optuna.distributions.FloatDistribution(0.1, 1, log=True),
            "n": optuna.distributions.IntDistribution(1, 3),
            "c": optuna.distributions.CategoricalDistribution(["a", "b"]),
        }
