"""What a trial's state was before every step, tensor by tensor, so that two runs can be compared.

One line a step in `trace-<rank>.jsonl`, beside the checkpoints: `{"epoch", "step", "state": {name: digest}}`. Written
for `shoal check --exact` only: it reads all the state in every step.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .plain_state import State, from_plain
from .trial_state import TrialState

Json = Any  # a JSON value: the one named boundary where the type is open


def trace_file(checkpoint_dir: Path, rank: int) -> Path:
    """Where a worker's trace is."""
    return checkpoint_dir / f"trace-{rank}.jsonl"


class Trace:
    """Writes one worker's trace."""

    def __init__(self, checkpoint_dir: Path, state: TrialState) -> None:
        self._folder = checkpoint_dir
        self._state = state

    def write(self, rank: int, epoch: int, step: int) -> None:
        """Add the state as it is before batch `step` (from 1) of `epoch` (from 0)."""
        tensors: list[Any] = []
        plain = self._state.capture(tensors)
        leaves = _leaves(from_plain(plain, tensors), "")
        state = {name.replace(".state_dict.", ".", 1): _digest(value) for name, value in leaves}
        with trace_file(self._folder, rank).open("a") as file:
            file.write(json.dumps({"epoch": epoch, "step": step, "state": state}) + "\n")


def read_trace(checkpoint_dir: Path, rank: int) -> dict[tuple[int, int], dict[str, str]]:
    """Digests by name, by (epoch, step); of a step that was written twice, the last."""
    file = trace_file(checkpoint_dir, rank)
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    whole = [json.loads(line) for line in lines if line.endswith("\n")]
    return {(line["epoch"], line["step"]): line["state"] for line in whole}


def _leaves(value: State, name: str) -> Iterator[tuple[str, State]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _leaves(item, f"{name}[{place}]")
    else:
        yield name, value


def _digest(value: State) -> str:
    if hasattr(value, "detach"):
        from .tensor_bytes import to_bytes

        return hashlib.sha256(to_bytes(value)).hexdigest()[:16]
    return repr(value)[:60]
