"""Flag over environment over shoal.toml over the user's configuration over default."""

from pathlib import Path

import pytest

from shoal.errors import SpecError
from shoal.service.cli.settings import Settings


def settings(tmp_path: Path, *, project: str = "", user: str = "", **env: str) -> Settings:
    (tmp_path / "home" / "shoal").mkdir(parents=True)
    (tmp_path / "home" / "shoal" / "config.toml").write_text(user)
    (tmp_path / "shoal.toml").write_text(project)
    return Settings.read({"XDG_CONFIG_HOME": str(tmp_path / "home"), **env}, tmp_path)


def test_precedence(tmp_path: Path) -> None:
    layers = settings(tmp_path, project='data = "p"\nlogical_gpus = 2', user='data = "u"\nplain = true', SHOAL_DATA="e")
    assert layers.resolve("data", "f").value == "f"
    assert layers.resolve("data", "f").origin == "flag --data"
    assert layers.resolve("data").value == "e"
    assert layers.resolve("data").origin == "SHOAL_DATA (environment)"
    assert layers.resolve("logical_gpus").value == 2
    assert layers.resolve("logical_gpus").origin == "./shoal.toml"
    assert layers.resolve("plain").value is True
    assert layers.resolve("plain").origin.endswith("config.toml")
    assert layers.resolve("output").origin == "default"


def test_environment_is_read_as_the_type(tmp_path: Path) -> None:
    layers = settings(tmp_path, SHOAL_LOGICAL_GPUS="8", SHOAL_PLAIN="yes")
    assert layers.resolve("logical_gpus").value == 8
    assert layers.resolve("plain").value is True


@pytest.mark.parametrize(
    ("project", "env", "cause"),
    [
        ('dta = "x"', {}, "'dta' is unknown"),
        ("data = 3", {}, "data = 3 is not a text"),
        ("data = ", {}, "cannot be read"),
        ('output = "xml"', {}, "'xml' is not allowed"),
        ("logical_gpus = true", {}, "not a whole number"),
        ("", {"SHOAL_LOGICAL_GPUS": "many"}, "SHOAL_LOGICAL_GPUS"),
        ("", {"SHOAL_PLAIN": "perhaps"}, "true or false"),
    ],
)
def test_bad_settings(tmp_path: Path, project: str, env: dict[str, str], cause: str) -> None:
    with pytest.raises(SpecError) as caught:
        settings(tmp_path, project=project, **env)
    assert cause in caught.value.cause
    assert caught.value.remedy


def test_unknown_setting_has_a_guess(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"Did you mean data\?"):
        settings(tmp_path, project='dta = "x"')
