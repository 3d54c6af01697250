"""Files that hold a trial's state: whole or not at all, and never a program."""

import os
import pickle
from collections import Counter, OrderedDict, deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from shoal.errors import TrialError
from shoal.trial_runner.checkpoints import CheckpointFolder
from shoal.trial_runner.plain_state import from_plain, to_plain
from shoal.trial_runner.tensor_bytes import describe, from_bytes, to_bytes


def write(folder: CheckpointFolder, epoch: int, value: float | None = None, user: bytes | None = None) -> Path:
    tensors: list[torch.Tensor] = []
    state = to_plain({"w": torch.full((3,), float(epoch)), "epoch": epoch}, "test", tensors)
    return folder.write(state, tensors, user, epoch=epoch, loop=0, loop_epoch=epoch, step=epoch, value=value)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, direction="maximize", durable=True)
    write(folder, 3, 0.5, b"user")
    found, damage = folder.newest()
    assert found is not None and damage == []
    assert (found.header.epoch, found.header.value, found.user) == (3, 0.5, b"user")
    assert torch.equal(found.state["w"], torch.full((3,), 3.0))
    assert [path.name for path in tmp_path.iterdir()] == ["epoch-00000003.ckpt"]


def test_nothing_there(tmp_path: Path) -> None:
    assert CheckpointFolder(tmp_path / "none", direction="minimize").newest() == (None, [])


@pytest.mark.parametrize(("direction", "kept"), [("maximize", [2, 4, 5]), ("minimize", [1, 4, 5])])
def test_the_last_two_and_the_best_are_kept(direction: str, kept: list[int], tmp_path: Path) -> None:
    """T77: reports .66, .778, .66: the checkpoint of .778 stays."""
    folder = CheckpointFolder(tmp_path, direction=direction)
    for epoch, value in enumerate([0.66, 0.778, float("nan"), None, 0.66], start=1):
        write(folder, epoch, value)
    assert folder.kept() == kept


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign", "header"])
def test_damage_falls_back(damage: str, tmp_path: Path) -> None:
    """T49: the newest readable one wins."""
    folder = CheckpointFolder(tmp_path, direction="maximize")
    write(folder, 1)
    path = write(folder, 2)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    magic = whole[: whole.index(b"\n") + 1]
    damaged = {
        "cut": whole[:-5], "flipped": bytes(flipped), "empty": b"", "foreign": b"PK\x03\x04", "header": magic + b"{}\n",
    }  # fmt: skip
    path.write_bytes(damaged[damage])
    found, reasons = folder.newest()
    assert found is not None and found.header.epoch == 1
    assert len(reasons) == 1 and reasons[0].startswith("epoch-00000002.ckpt: ")
    write(folder, 3, 0.5)  # and the damaged one is in nobody's way
    assert folder.newest()[0].header.epoch == 3  # type: ignore[union-attr]


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = CheckpointFolder(tmp_path, direction="maximize")
    write(folder, 1)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(TrialError, match="No space left") as caught:
        write(folder, 2)
    assert "disk space" in caught.value.remedy
    monkeypatch.undo()
    assert folder.kept() == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["epoch-00000001.ckpt"]


class Trap:
    """Creates a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_reading_runs_nothing(tmp_path: Path) -> None:
    """T80: a pickle among what the user saved stays bytes; one in the state is refused when it is saved."""
    sprung = tmp_path / "sprung"
    folder = CheckpointFolder(tmp_path / "c", direction="maximize")
    write(folder, 1, user=pickle.dumps(Trap(sprung)))
    found, _ = folder.newest()
    assert found is not None and isinstance(found.user, bytes)
    assert not sprung.exists()
    with pytest.raises(TrialError, match="state of scheduler holds a Trap"):
        to_plain({"x": [Trap(sprung)]}, "scheduler", [])


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6).reshape(2, 3).T, torch.tensor(2.5), torch.empty(0, 3), torch.tensor([True, False]),
        torch.randn(5).bfloat16(), torch.randn(2, 2, dtype=torch.complex64), torch.tensor([float("nan"), -0.0]),
        torch.randn(1, 2, 3, 4).to(memory_format=torch.channels_last), torch.nn.Parameter(torch.ones(2)),
    ],
    ids=lambda tensor: f"{tensor.dtype}-{tuple(tensor.shape)}",
)  # fmt: skip
def test_tensors_round_trip_to_the_bit(tensor: torch.Tensor) -> None:
    odd = torch.zeros(3, dtype=torch.uint8)  # so that what follows is not aligned
    _, back = from_bytes(describe([odd, tensor]), bytes(to_bytes(odd)) + bytes(to_bytes(tensor)))
    assert (back.dtype, back.shape, back.requires_grad) == (tensor.dtype, tensor.shape, False)
    assert bytes(to_bytes(back)) == bytes(to_bytes(tensor))


def test_sparse_tensors_are_refused() -> None:
    with pytest.raises(TrialError, match="holds a Tensor"):
        to_plain({"x": torch.eye(3).to_sparse()}, "model", [])


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, 2.5, "text", b"bytes", [1, [2]], (1, (2, "x")), {"a": {"b": 1}}, {1: "x", (2, 3): None}, {1, 2},
        frozenset("ab"), OrderedDict(b=1, a=2), Counter("aab"), deque([1, 2], maxlen=3), np.float32(0.1),
        np.arange(6).reshape(2, 3), float("inf"), {"$shoal": "tuple"},
    ],
    ids=repr,
)  # fmt: skip
def test_plain_state_round_trips_with_its_types(value: Any) -> None:
    import json

    back = from_plain(json.loads(json.dumps(to_plain(value, "test", []))))
    assert type(back) is type(value)
    assert repr(back) == repr(value)
