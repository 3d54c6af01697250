"""From `lr=0.1 optimizer=adam` to a configuration of the study's space."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ...errors import SpaceError, SpecError
from ...search.spec import Json

if TYPE_CHECKING:
    from ...spaces import Configuration, Decision, Space

DRAWS = 200
"""How often the parameters that were left out are drawn again when a rule refuses the whole."""


def pairs(words: Sequence[str]) -> dict[str, str]:
    """Split NAME=VALUE words.

    Raises:
        SpecError: a word without "=", or a name twice.
    """
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise SpecError(f"{word!r} is not NAME=VALUE.", "Write e.g. lr=0.1 optimizer=adam.")
        if name in found:
            raise SpecError(f"{name} is given twice.", "Give each parameter once.")
        found[name] = value
    return found


def completed(space: Space, given: Mapping[str, str]) -> Configuration:
    """The configuration with the given values; parameters that were left out are drawn at random, repeatably.

    Raises:
        SpecError: a name or value that the space does not have, or rules that no draw satisfies.
    """
    import numpy as np

    known = {decision.path: decision for decision in space.all_decisions()}
    for path in given:
        if path not in known:
            close = get_close_matches(path, known, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(known)}."
            raise SpecError(f"parameter {path!r} is not in the space.", hint)
    values = {path: read_value(known[path], text) for path, text in given.items()}
    rng = np.random.default_rng(int(key_of(dict(given))[:15], 16))
    broken: list[str] = []
    for _ in range(DRAWS):
        used: set[str] = set()

        def decide(decision: Decision, used: set[str] = used) -> Json:
            used.add(decision.path)
            if decision.path in values:
                return values[decision.path]
            return decision.domain.sample(rng)

        config = space.build(decide)
        idle = [path for path in values if path not in used]
        broken = space.violations(config)
        if not idle and not broken:
            return config
        if idle:
            broken = [f"{path} is not active in it" for path in idle]
    raise SpecError(f"no configuration with {dict(given)} is valid: {broken[0]}.", "Change or add values.")


def read_value(decision: Decision, text: str) -> Json:
    """`text` as a value of the decision's domain: as written in Python or JSON, or the name of a choice.

    Raises:
        SpecError: the domain does not have it.
    """
    domain = decision.domain
    listed = getattr(domain, "values", None)
    if listed is not None:
        for texts in (lambda v: (repr(v),), lambda v: (str(v), _json(v))):  # "1" is the number where both are listed
            for value in listed:
                if text in texts(value):
                    return value
    else:
        for read in (int, float):
            try:
                number = read(text)
            except ValueError:
                continue
            try:
                if domain.contains(number):
                    return number
            except SpaceError:
                continue
    raise SpecError(f"{decision.path}={text} is not in {domain}.", "Give a value that the space has.")


def free_form(given: Mapping[str, str]) -> dict[str, Json]:
    """Values for a study without a declared space: JSON where it is JSON, else text."""
    values: dict[str, Json] = {}
    for name, text in given.items():
        try:
            values[name] = json.loads(text)
        except json.JSONDecodeError:
            values[name] = text
    return values


def key_of(config: Json) -> str:
    """The same configuration has the same key, so that a repeated request counts once."""
    return hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode()).hexdigest()


def _json(value: Json) -> str | None:
    try:
        return json.dumps(value)
    except TypeError:
        return None
