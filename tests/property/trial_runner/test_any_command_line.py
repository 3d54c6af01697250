"""Whatever a program is called with and whatever it prints."""

import shlex

from hypothesis import given
from hypothesis import strategies as st

from shoal.trial_runner.command_output import metrics_in
from shoal.trial_runner.command_template import fill


@given(st.floats(allow_nan=False))
def test_whatever_python_prints_is_read_back(value: float) -> None:
    """T69."""
    assert metrics_in(f"loss={value}") == {"loss": value}
    assert metrics_in(f"x={value!r}, y={value!r}") == {"x": value, "y": value}


@given(st.text(max_size=60))
def test_no_line_is_too_strange(line: str) -> None:
    assert all(isinstance(value, float) for value in metrics_in(line).values())


@given(st.text(max_size=40).filter(lambda text: "\0" not in text))
def test_any_value_is_one_word(value: str) -> None:
    assert shlex.split(fill("run {name} --end", {"name": value})) == ["run", value, "--end"]
