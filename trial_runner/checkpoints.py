"""A trial's checkpoints on disk.

One file an epoch, `epoch-00000009.ckpt`, written beside its final name and renamed, so that a reader sees a whole file
or none. The first line carries the SHA-256 of the rest; a file that fails it, for whatever reason, is passed over for
the next older one. Then one line of JSON (`CheckpointHeader`), then three sections of bytes:

- `state`: models, optimizers, registered objects, random generators, as JSON (`plain_state.py`). Reading it
  executes nothing.
- `tensors`: the values of their tensors (`tensor_bytes.py`).
- `user`: what `trial.save` was given, pickled. Only `trial.load()`, called by the user's code, unpickles it.

The last two are kept, and that of the best reported value.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import TrialError
from .plain_state import State, from_plain
from .tensor_bytes import describe, from_bytes, to_bytes

if TYPE_CHECKING:
    import torch

NEWEST_KEPT = 2
"""The last one, and the one before it should the last be damaged."""

_MAGIC = "shoal-checkpoint 1"
_NAME = re.compile(r"epoch-(\d{8,})\.ckpt")


class Unreadable(Exception):
    """The file is cut short, damaged, or no checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointHeader:
    """Where the trial was: `epoch` finished epochs (the step, in loops without epochs), `loop_epoch` of them in the
    `trial.epochs` loop number `loop`; the last reported `step`, and the objective's `value` then (None: not reported,
    or not finite). `split`: its batches had so many times the usual number of shards."""

    epoch: int
    loop: int
    loop_epoch: int
    step: int
    value: float | None
    state_bytes: int
    tensor_bytes: int
    user_bytes: int | None
    split: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint that was read and found whole; `user` is still pickled, None when nothing was saved."""

    header: CheckpointHeader
    state: State
    user: bytes | None

    @property
    def running(self) -> State:
        """What the epoch that was under way had come to (`RunningEpoch.capture`); None between two epochs."""
        return self.state.get("running")


class CheckpointFolder:
    """The checkpoints of one trial.

    Args:
        path: created with the first checkpoint.
        direction: "maximize" or "minimize": which value is the best one.
        split: checkpoints with another one are none of this trial's: V changes results. None: with any.
        durable: also wait for the disk (fsync). Without it a power cut, not a crash, may cost the newest ones.
    """

    def __init__(
        self, path: Path, *, direction: str, split: int | None = None, durable: bool = False
    ) -> None:
        self.path = path
        self._sign = -1.0 if direction == "maximize" else 1.0
        self._split = split
        self._durable = durable
        self._values: dict[int, float | None] | None = None
        """Value by epoch of what is on disk, read once: reading every header again cost half of each write."""

    def write(
        self,
        state: State,
        tensors: Sequence[torch.Tensor],
        user: bytes | None,
        *,
        epoch: int,
        loop: int,
        loop_epoch: int,
        step: int,
        value: float | None,
    ) -> Path:
        """Write one and drop those that are no longer kept; `state` and `tensors` are what `to_plain` makes.

        Raises:
            TrialError: the file cannot be written (the older ones are untouched).
        """
        state_body = json.dumps([state, describe(tensors)]).encode()
        values = [to_bytes(tensor) for tensor in tensors]
        header = CheckpointHeader(
            epoch=epoch,
            loop=loop,
            loop_epoch=loop_epoch,
            step=step,
            value=value if value is not None and math.isfinite(value) else None,
            state_bytes=len(state_body),
            tensor_bytes=sum(map(len, values)),
            user_bytes=None if user is None else len(user),
            split=self._split or 1,
        )
        head = json.dumps({name: getattr(header, name) for name in header.__slots__}).encode() + b"\n"
        parts: list[bytes | memoryview] = [head, state_body, *values, user or b""]
        digest = hashlib.sha256()
        for part in parts:
            digest.update(part)
        final = self._file(epoch)
        draft = final.with_name(f".{final.name}.{os.getpid()}")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with draft.open("wb") as file:
                file.write(f"{_MAGIC} {digest.hexdigest()}\n".encode())
                file.writelines(parts)
                if self._durable:
                    file.flush()
                    os.fsync(file.fileno())
            draft.replace(final)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise TrialError(
                f"checkpoint {final} cannot be written: {error.strerror}.",
                "Free disk space, or fix the folder's permissions.",
            ) from error
        self._drop_old(epoch, header.value)
        return final

    def newest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest readable checkpoint (None: there is none), and what is wrong with newer ones."""
        damage: list[str] = []
        for path in reversed(self._files()):
            try:
                if self._split in (None, _read_header(path)[1].split):
                    return _read(path), damage
            except (Unreadable, OSError) as error:
                damage.append(f"{path.name}: {error}")
        return None, damage

    def kept(self) -> list[int]:
        """The epochs on disk, rising."""
        return [_epoch(path) for path in self._files()]

    def _best_of(self, values: Mapping[int, float | None]) -> int | None:
        scored = [(self._sign * value, epoch) for epoch, value in values.items() if value is not None]
        return min(scored)[1] if scored else None

    def _read_values(self) -> dict[int, float | None]:
        """Value by epoch; None without one, also where a header cannot be read."""
        values: dict[int, float | None] = {}
        for path in self._files():
            try:
                values[_epoch(path)] = _read_header(path)[1].value
            except (Unreadable, OSError):
                values[_epoch(path)] = None
        return values

    def _file(self, epoch: int) -> Path:
        return self.path / f"epoch-{epoch:08d}.ckpt"

    def _files(self) -> list[Path]:
        if not self.path.is_dir():
            return []
        return sorted((p for p in self.path.iterdir() if _NAME.fullmatch(p.name)), key=_epoch)

    def _drop_old(self, epoch: int, value: float | None) -> None:
        """`epoch` was just written with `value`."""
        if self._values is None:
            self._values = self._read_values()
        self._values[epoch] = value
        best = self._best_of(self._values)
        for old in sorted(self._values)[:-NEWEST_KEPT]:
            if old != best:
                self._file(old).unlink(missing_ok=True)
                del self._values[old]


def _epoch(path: Path) -> int:
    found = _NAME.fullmatch(path.name)
    assert found is not None
    return int(found[1])


def _read_header(path: Path) -> tuple[str, CheckpointHeader, int]:
    """Digest, header, and where the digested bytes start."""
    with path.open("rb") as file:
        first = file.readline()
        magic, _, digest = first.decode(errors="replace").strip().rpartition(" ")
        if magic != _MAGIC:
            raise Unreadable("not a checkpoint of this format")
        try:
            header = CheckpointHeader(**json.loads(file.readline()))
        except (ValueError, TypeError) as error:
            raise Unreadable("its header is damaged") from error
    return digest, header, len(first)


def _read(path: Path) -> Checkpoint:
    digest, header, start = _read_header(path)
    body = path.read_bytes()[start:]
    if hashlib.sha256(body).hexdigest() != digest:
        raise Unreadable("its digest does not match its bytes")
    at = body.index(b"\n") + 1
    sections = []
    for size in (header.state_bytes, header.tensor_bytes, header.user_bytes or 0):
        sections.append(body[at : at + size])
        at += size
    state, described = json.loads(sections[0])
    user = None if header.user_bytes is None else sections[2]
    return Checkpoint(header=header, state=from_plain(state, from_bytes(described, sections[1])), user=user)
