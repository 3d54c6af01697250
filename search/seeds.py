"""Every seed derives from the study's: SHA-256 of a readable text, cut to 63 bits.

The texts are part of the journal's format: changing one changes what every old study would do on resume.

>>> trial_seed(0, 7) == trial_seed(0, 7) != trial_seed(0, 8)
True
"""

from __future__ import annotations

import hashlib


def trial_seed(study_seed: int, number: int) -> int:
    """The seed that trial `number` trains with."""
    return _seed(f"trial/{study_seed}/{number}")


def ask_seed(study_seed: int, ask: int) -> int:
    """The seed that the strategy answers ask number `ask` with."""
    return _seed(f"ask/{study_seed}/{ask}")


def suggest_seed(study_seed: int, number: int, path: str) -> int:
    """Define by run: the seed for the value of `path` in trial `number`."""
    return _seed(f"suggest/{study_seed}/{number}/{path}")


def _seed(text: str) -> int:
    digest = hashlib.sha256(f"shoal/{text}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
