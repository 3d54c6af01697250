"""`--trials 100 --set early_stopping.max_epochs=9`: a study's settings changed from the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from ...errors import SpecError
from ...search.spec import Json, StudySpec, priority_class


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Where a setting of `Study(...)` lives in the spec, and what it may be."""

    path: tuple[str, ...]
    types: tuple[type, ...]
    optional: bool = False


WHOLE, REAL, TEXT, TRUTH = (int,), (int, float), (str,), (bool,)

FIELDS: dict[str, Field] = {
    "name": Field(path=("name",), types=TEXT),
    "seed": Field(path=("seed",), types=WHOLE),
    "priority": Field(path=("priority",), types=(int, str)),
    "weight": Field(path=("weight",), types=REAL),
    "trials": Field(path=("budget", "trials"), types=WHOLE, optional=True),
    "max_failures": Field(path=("budget", "max_failures"), types=WHOLE, optional=True),
    "trial_time_limit_s": Field(path=("budget", "trial_time_limit_s"), types=REAL, optional=True),
    "time_limit_s": Field(path=("budget", "study_time_limit_s"), types=REAL, optional=True),
    "gpu_hours": Field(path=("budget", "gpu_hours"), types=REAL, optional=True),
    "strategy": Field(path=("strategy", "name"), types=TEXT),
    "early_stopping": Field(path=("early_stopping", "name"), types=TEXT),
    "min_workers": Field(path=("resources", "min_workers"), types=WHOLE),
    "max_workers": Field(path=("resources", "max_workers"), types=WHOLE),
    "gpus_per_worker": Field(path=("resources", "gpus_per_worker"), types=(str, int, float)),
    "cpus_per_worker": Field(path=("resources", "cpus_per_worker"), types=(str, int)),
    "memory_gib": Field(path=("resources", "memory_gib"), types=REAL, optional=True),
    "gpu_memory_gib": Field(path=("resources", "gpu_memory_gib"), types=REAL, optional=True),
    "threads_per_worker": Field(path=("resources", "threads_per_worker"), types=WHOLE),
    "shards": Field(path=("shards",), types=WHOLE, optional=True),
    "reuse_workers": Field(path=("reuse_workers",), types=TRUTH),
    "reproducible": Field(path=("reproducible",), types=WHOLE, optional=True),
    "value": Field(path=("value_from",), types=TEXT),
    "duplicates": Field(path=("duplicates",), types=TEXT),
}

CHOSEN = ("strategy", "early_stopping")
WORDS = {"value": ("last", "best"), "duplicates": ("reuse", "replicate", "reject")}


def overridden(spec: StudySpec, changes: Mapping[str, Json]) -> StudySpec:
    """`spec` with these settings changed.

    Args:
        changes: values by the names of `Study(...)`; `strategy.OPTION` and `early_stopping.OPTION` reach their options.
            Another strategy or rule starts without the options of the former one.

    Raises:
        SpecError: an unknown name (did you mean), a value of the wrong type, or one that the study does not allow.
    """
    from ...search import early_stopping, strategies

    body = json.loads(json.dumps(spec.to_json()))
    for name, value in sorted(changes.items(), key=lambda item: "." in item[0]):
        head, dot, option = name.partition(".")
        if dot and head in CHOSEN and option:
            body[head]["options"][option] = value
            continue
        field = _field(name)
        if value is None and field.types == TEXT:
            value = "none"  # the name of the rule that stops nothing
        _check_type(name, field, value)
        place = body
        for key in field.path[:-1]:
            place = place[key]
        place[field.path[-1]] = _stored(name, value)
        if head in CHOSEN:
            body[head]["options"] = {}
    changed = StudySpec.from_json(body)
    strategies.check(changed.strategy, has_space=changed.space is not None, objectives=changed.objectives)
    early_stopping.check_rule(changed.early_stopping, changed.objectives)
    return changed


def read_changes(words: list[str]) -> dict[str, Json]:
    """`NAME=VALUE` words as values: numbers, true, false, none; everything else is text.

    Raises:
        SpecError: a word without "=".

    >>> read_changes(["trials=100", "strategy=tpe", "max_failures=none", "reuse_workers=true"])
    {'trials': 100, 'strategy': 'tpe', 'max_failures': None, 'reuse_workers': True}
    """
    changes: dict[str, Json] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise SpecError(f"{word!r} is not NAME=VALUE.", "Write e.g. max_failures=5, without blanks.")
        plain = {"none": "null", "None": "null", "True": "true", "False": "false"}.get(text, text)
        try:
            changes[name] = json.loads(plain)
        except json.JSONDecodeError:
            changes[name] = text
    return changes


def _stored(name: str, value: Json) -> Json:
    """The value as the spec has it."""
    if name == "priority":
        return priority_class(value)
    return str(value) if name in ("gpus_per_worker", "cpus_per_worker") else value


def _field(name: str) -> Field:
    field = FIELDS.get(name)
    if field is None:
        head, dot, option = name.partition(".")
        close = get_close_matches(head, CHOSEN if dot else FIELDS, n=1)
        rest = f".{option or 'OPTION'}" if dot else ""
        hint = f"Did you mean {close[0]}{rest}?" if close else f"Known: {', '.join(FIELDS)}."
        raise SpecError(f"setting {name!r} is unknown.", hint)
    return field


def _check_type(name: str, field: Field, value: Json) -> None:
    if value is None and field.optional:
        return
    fits = isinstance(value, field.types) and (isinstance(value, bool) == (field.types == TRUTH))
    if not fits:
        kinds = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
        wanted = " or ".join(kinds[t] for t in field.types) + (" or none" if field.optional else "")
        raise SpecError(f"{name}={value!r} is not {wanted}.", f"Give {name} {wanted}.")
    allowed = WORDS.get(name)
    if allowed is not None and value not in allowed:
        raise SpecError(f"{name}={value!r} is unknown.", f"Use {' or '.join(allowed)}.")
