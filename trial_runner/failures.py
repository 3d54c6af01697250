"""What went wrong in user code, as a failure kind and one line.

The whole traceback is in the trial's log; this is what tables and `shoal explain` show.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

LINE_CHARS = 300  # a table's row; a pydantic or torch message can be many kilobytes

OUT_OF_MEMORY_TEXTS = ("out of memory", "can't allocate memory", "cannot allocate memory")


def one_line(error: BaseException) -> str:
    """`Kind: message`, cut to a line.

    >>> one_line(ValueError("bad\\nvalue"))
    'ValueError: bad value'
    >>> one_line(KeyboardInterrupt())
    'KeyboardInterrupt'
    """
    text = " ".join(str(error).split())
    line = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return line if len(line) <= LINE_CHARS else line[: LINE_CHARS - 1] + "…"


def classify(error: BaseException) -> str:
    """The failure kind: OOM or BUG.

    >>> classify(MemoryError()), classify(ValueError("x"))
    ('OOM', 'BUG')
    """
    if isinstance(error, MemoryError):
        return "OOM"
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(error, torch.OutOfMemoryError):
        return "OOM"
    text = str(error).lower()
    if isinstance(error, RuntimeError | OSError) and any(mark in text for mark in OUT_OF_MEMORY_TEXTS):
        return "OOM"
    return "BUG"


def with_place(error: BaseException, code_dir: str) -> str:
    """The line of `one_line` and where it came from: the innermost frame in the user's own code, else the innermost.

    "ValueError: lr is 0 (train.py:12)"
    """
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<frozen")]
    own = [frame for frame in frames if code_dir and frame.filename.startswith(code_dir)]
    if not frames or isinstance(error, SyntaxError):  # a SyntaxError names its place itself
        return one_line(error)
    place = (own or frames)[-1]
    return f"{one_line(error)} ({Path(place.filename).name}:{place.lineno})"
