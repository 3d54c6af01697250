"""Readable paths: `layers[2].width`, `optimizer.momentum`.

A parameter that two options of a `Choice` define differently carries the tag: `optimizer[sgd].lr`.
"""

import re
from collections.abc import Iterable

from ..errors import SpaceError

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]|(\[[^\]]*\])")
_TAG = re.compile(r"\[[^\d\-\]][^\]]*\]")


def path_text(steps: Iterable[str | int]) -> str:
    """`("layers", 2, "width")` as `layers[2].width`."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def parsed_path(path: str) -> tuple[str | int, ...]:
    """The steps of a path; tags are dropped, for the configuration has only one option active.

    >>> parsed_path("layers[2].op[conv].width")
    ('layers', 2, 'op', 'width')

    Raises:
        SpaceError: it is not a path.
    """
    steps: list[str | int] = []
    end = 0
    for match in _STEP.finditer(path):
        if match.start() != end:
            break
        end = match.end()
        if match[1] is not None:
            steps.append(match[1])
        elif match[2] is not None:
            steps.append(int(match[2]))
    if end != len(path):
        raise SpaceError(f"{path!r} is not a path.", "Write it like 'layers[2].width' or 'optimizer.momentum'.")
    return tuple(steps)


def related(path: str, other: str) -> bool:
    """Whether one of two paths is the other or lies below it, tags aside."""
    short, long = sorted((_TAG.sub("", path), _TAG.sub("", other)), key=len)
    return short == long or short == "" or (long.startswith(short) and long[len(short)] in ".[")


def joined(prefix: str, path: str) -> str:
    """`path` below `prefix`."""
    return path if not prefix else prefix if not path else f"{prefix}{'' if path[0] == '[' else '.'}{path}"
