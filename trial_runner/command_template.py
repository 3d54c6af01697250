"""The command line of a `shoal.Command` trial: placeholders replaced, quoted for the shell.

`{lr}` and `{optimizer.momentum}` are values of the configuration by path; `{trial}`, `{seed}` and `{checkpoint_dir}`
the trial's own; `{{` and `}}` are braces. A parameter that is not active in this configuration becomes an empty word.
"""

from __future__ import annotations

import shlex
import string
from collections.abc import Mapping

from .messages import Json


def fill(template: str, values: Mapping[str, Json]) -> str:
    """The shell command for one configuration.

    >>> fill("train --lr {lr} --name {name} --awk '{{print}}'", {"lr": 0.1, "name": "two words; rm"})
    "train --lr 0.1 --name 'two words; rm' --awk '{print}'"
    >>> fill("train --momentum {optimizer.momentum}", {"optimizer": "adam"})
    "train --momentum ''"
    >>> fill("train --lr {lr:.2e}", {"lr": 0.0123})
    'train --lr 1.23e-02'
    """
    parts: list[str] = []
    for text, name, form, _ in string.Formatter().parse(template):
        parts.append(text)
        if name is not None:
            value = values.get(name, "")
            parts.append(shlex.quote(format(value, form) if form else str(value)))
    return "".join(parts)
