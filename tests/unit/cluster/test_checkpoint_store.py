"""Trials' folders on shared storage: on a disk and in an object store, by the same calls."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.errors import PoolError
from shoal.trial_runner.cluster.checkpoint_store import CheckpointStore, marks_of
from shoal.trial_runner.logs import trial_dir


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CheckpointStore]:
    from fsspec.implementations.memory import MemoryFileSystem

    yield CheckpointStore(f"file://{tmp_path / 'shared'}" if request.param == "file" else "memory://bucket/shoal")
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def checkpoint(folder: Path, epoch: int, step: int | None = None) -> None:
    """A file that looks like a checkpoint as far as the store looks."""
    file = folder / "checkpoints" / f"epoch-{epoch:08d}.ckpt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'magic\n{{"step": {epoch if step is None else step}}}\nbytes of epoch {epoch}')


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_trial_goes_on_at_another_node(store: CheckpointStore, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    checkpoint(here, 1)
    checkpoint(here, 2)
    (here / "log.txt").write_text("first node\n")
    (here / "checkpoints" / "mine").mkdir()
    (here / "checkpoints" / "mine" / "notes.bin").write_bytes(b"\x00\x01")
    store.save("s", 7, 1, here, None, settled=True)
    assert store.fetch("s", 7, there, before=2, reported_step=2) == 1
    assert names(there) == names(here)
    assert (there / "checkpoints" / "mine" / "notes.bin").read_bytes() == b"\x00\x01"
    assert (there / "log.txt").read_text() == "first node\n"


def test_what_the_journal_knows_no_report_of_is_made_again(store: CheckpointStore, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for epoch in (3, 4, 5):
        checkpoint(here, epoch)
    store.save("s", 0, 1, here, None, settled=True)
    store.fetch("s", 0, there, before=2, reported_step=4)
    assert names(there) == ["checkpoints/epoch-00000003.ckpt", "checkpoints/epoch-00000004.ckpt"]


def test_a_node_that_wakes_up_late_cannot_write(store: CheckpointStore, tmp_path: Path) -> None:
    old, new, later = tmp_path / "old", tmp_path / "new", tmp_path / "later"
    checkpoint(old, 1)
    known = store.save("s", 0, 1, old, None, settled=False)
    store.fetch("s", 0, new, before=2, reported_step=1)
    checkpoint(new, 2)
    store.save("s", 0, 2, new, None, settled=False)
    checkpoint(old, 9)
    store.save("s", 0, 1, old, known, settled=True)
    assert store.fetch("s", 0, later, before=3) == 2
    assert names(later) == ["checkpoints/epoch-00000001.ckpt", "checkpoints/epoch-00000002.ckpt"]


def test_a_generation_that_began_and_wrote_nothing_hides_none(store: CheckpointStore, tmp_path: Path) -> None:
    """It has what it began with."""
    first, second, third = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    checkpoint(first, 1)
    store.save("s", 0, 1, first, None, settled=True)
    store.fetch("s", 0, second, before=2, reported_step=1)
    store.save("s", 0, 2, second, None, settled=False)
    assert store.fetch("s", 0, third, before=3, reported_step=1) == 2
    assert names(third) == ["checkpoints/epoch-00000001.ckpt"]


def test_only_changes_travel_and_what_was_dropped_is_dropped(store: CheckpointStore, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    checkpoint(here, 1)
    known = store.save("s", 0, 1, here, None, settled=False)
    assert store.save("s", 0, 1, here, known, settled=False) == known
    checkpoint(here, 2)
    (here / "checkpoints" / "epoch-00000001.ckpt").unlink()
    store.save("s", 0, 1, here, known, settled=True)
    store.fetch("s", 0, there)
    assert names(there) == ["checkpoints/epoch-00000002.ckpt"]


def test_a_folder_that_holds_something_else_is_emptied_first(store: CheckpointStore, tmp_path: Path) -> None:
    stale = tmp_path / "stale"
    checkpoint(stale, 9)
    assert store.fetch("s", 0, stale, before=1) is None
    assert names(stale) == []


def test_files_being_written_wait_until_they_are_left_alone(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1)
    mine = tmp_path / "checkpoints" / "mine.bin"
    mine.write_bytes(b"half of it")
    (tmp_path / "checkpoints" / ".draft").write_bytes(b"")
    assert list(marks_of(tmp_path, settled=False)) == ["checkpoints/epoch-00000001.ckpt"]
    assert list(marks_of(tmp_path, settled=True)) == ["checkpoints/epoch-00000001.ckpt", "checkpoints/mine.bin"]
    os.utime(mine, (1.0, 1.0))
    assert "checkpoints/mine.bin" in marks_of(tmp_path, settled=False)


def test_a_probe_is_seen(store: CheckpointStore) -> None:
    assert not store.sees("probe")
    store.write("probe", b"")
    assert store.sees("probe")
    store.remove("probe")
    store.remove("probe")
    assert not store.sees("probe")


def test_what_is_no_storage_is_said(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match="nonsense"):
        CheckpointStore("nonsense://bucket")
    (tmp_path / "file").write_text("")
    with pytest.raises(PoolError, match="cannot be written"):
        CheckpointStore(f"file://{tmp_path / 'file' / 'below'}").write("probe", b"")


def test_the_layout_is_that_of_a_data_directory(tmp_path: Path) -> None:
    """So that `shoal logs` finds the log."""
    folder = tmp_path / "node"
    folder.mkdir()
    (folder / "log.txt").write_text("hello\n")
    CheckpointStore(f"file://{tmp_path / 'data'}").save("digits", 7, 1, folder, None, settled=True)
    assert (trial_dir(tmp_path / "data" / "studies" / "digits", 7) / "log.txt").read_text() == "hello\n"
