"""What is read out of what a program prints."""

import math

import pytest

from shoal.trial_runner.command_output import Steps, metrics_in


@pytest.mark.parametrize(
    ("line", "metrics"),
    [
        ("Score=-7.5e-05", {"Score": -7.5e-05}),
        ("metric=888.33", {"metric": 888.33}),
        ("epoch 3: loss=1.2e+32, accuracy = 0.5", {"loss": 1.2e32, "accuracy": 0.5}),
        ("gain=-inf bound=Infinity", {"gain": -math.inf, "bound": math.inf}),
        ("a=+3 b=.5 c=5.", {"a": 3.0, "b": 0.5, "c": 5.0}),
        ('{"val_loss": 0.5, "epoch": 2, "ok": true, "name": "x", "sub": {"a": 1}}', {"val_loss": 0.5, "epoch": 2.0}),
        ("{'val_loss': 0.5}", {}),
        ("loading model v=1.2.3 file=3.csv", {}),
        ("100%|####| lr=0.1, acc=97%", {"lr": 0.1}),
        ("nothing here", {}),
        ("", {}),
        ("==== a==1", {}),
    ],
)
def test_values_are_read_as_they_are_written(line: str, metrics: dict[str, float]) -> None:
    """T69: -7.5e-05, 888.33, 1.2e+32 and nan are parsed as written."""
    assert metrics_in(line) == metrics


def test_nan_is_a_value() -> None:
    """T69."""
    assert math.isnan(metrics_in("loss=nan")["loss"])
    assert math.isnan(metrics_in('{"loss": NaN}')["loss"])


def test_steps_follow_the_programs_own_count_or_ours() -> None:
    counted = Steps()
    assert [counted.of({}) for _ in range(3)] == [1, 2, 3]
    from_one = Steps()
    assert [from_one.of({"step": n}) for n in (1.0, 2.0, 5.0)] == [1, 2, 5]
    from_zero = Steps()
    assert [from_zero.of({"epoch": n}) for n in (0.0, 1.0, 2.0)] == [1, 2, 3]
    fractions = Steps()
    assert fractions.of({"epoch": 0.25}) == 1
    assert Steps().of({"step": math.nan}) == 1
