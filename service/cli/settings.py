"""Settings of the command line and where each came from.

Precedence: flag > environment (`SHOAL_DATA`, ...) > `./shoal.toml` > the user's configuration > default.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from ...errors import SpecError

Value = str | int | bool | None

DEFAULTS: dict[str, Value] = {
    "data": ".shoal", "journal": "", "output": "table", "logical_gpus": None, "plain": False, "ray": "", "store": "",
}
TYPES: dict[str, type] = {
    "data": str, "journal": str, "output": str, "logical_gpus": int, "plain": bool, "ray": str, "store": str,
}
WITHOUT_FLAG = frozenset({"journal"})
"""An address may hold a password, and everybody on the machine can read the words of a command."""

ALLOWED: dict[str, tuple[str, ...]] = {"output": ("table", "json", "csv")}
TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting's value and the place that decided it."""

    name: str
    value: Value
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything but the flags, read once; `layers` from the strongest to the weakest."""

    layers: tuple[tuple[str, Mapping[str, Value]], ...]

    @classmethod
    def read(cls, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Settings:
        """Read the environment, `shoal.toml` in `cwd` and the user's configuration.

        Raises:
            SpecError: an unknown setting (did you mean), a wrong type, or a file that is not TOML.
        """
        env = os.environ if env is None else env
        project = (cwd or Path.cwd()) / "shoal.toml"
        config_home = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME", "~")).expanduser() / ".config")
        user = config_home / "shoal" / "config.toml"
        return cls(
            layers=(
                ("environment", _from_environment(env)),
                ("./shoal.toml", _from_file(project)),
                (str(user), _from_file(user)),
                ("default", DEFAULTS),
            )
        )

    def resolve(self, name: str, flag: Value = None) -> Setting:
        """The setting's value: the flag's when given, else the strongest layer's that has one."""
        if flag is not None:
            return Setting(name=name, value=checked(name, flag, "the flag"), origin=f"flag --{name.replace('_', '-')}")
        for origin, layer in self.layers:
            if name in layer:
                where = f"{variable(name)} ({origin})" if origin == "environment" else origin
                return Setting(name=name, value=layer[name], origin=where)
        raise AssertionError(f"setting {name} has no default")


def variable(name: str) -> str:
    """The environment variable of a setting.

    >>> variable("logical_gpus")
    'SHOAL_LOGICAL_GPUS'
    """
    return "SHOAL_" + name.upper()


def checked(name: str, value: object, where: str) -> Value:
    """`value` if it is of the setting's type and among what is allowed.

    Raises:
        SpecError: it is not.
    """
    wanted = TYPES[name]
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise SpecError(f"{where}: {name} = {value!r} is not {_article(wanted)}.", f"Give {name} {_article(wanted)}.")
    allowed = ALLOWED.get(name)
    if allowed and value not in allowed:
        raise SpecError(f"{where}: {name} = {value!r} is not allowed.", f"Use {', '.join(allowed)}.")
    assert isinstance(value, str | int)
    return value


def _article(wanted: type) -> str:
    return {str: "a text", int: "a whole number", bool: "true or false"}[wanted]


def _from_environment(env: Mapping[str, str]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, wanted in TYPES.items():
        text = env.get(variable(name))
        if not text:
            continue
        value: object = text
        if wanted is int and text.lstrip("-").isdigit():
            value = int(text)
        elif wanted is bool:
            value = TRUTH.get(text.lower(), text)
        found[name] = checked(name, value, variable(name))
    return found


def _from_file(path: Path) -> dict[str, Value]:
    if not path.is_file():
        return {}
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SpecError(f"{path} cannot be read: {error}.", "Correct the file, or remove it.") from error
    for name in body:
        if name not in DEFAULTS:
            close = get_close_matches(name, DEFAULTS, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(DEFAULTS)}."
            raise SpecError(f"{path}: setting {name!r} is unknown.", hint)
    return {name: checked(name, value, str(path)) for name, value in body.items()}
