"""What happens around user code in one process: environment, logs, endings, imports."""

import os
from pathlib import Path

import pytest

from shoal.trial_runner.ending import ending_of
from shoal.trial_runner.failures import LINE_CHARS, classify, one_line, with_place
from shoal.trial_runner.logs import rotate_if_large
from shoal.trial_runner.preload import importable
from shoal.trial_runner.process_record import start_time
from shoal.trial_runner.study_setup import StudySetup, setup_file
from shoal.trial_runner.worker_environment import secrets_in, server_environment


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("HF_TOKEN", "x", True),
        ("WANDB_API_KEY", "x", True),
        ("AWS_SECRET_ACCESS_KEY", "x", True),
        ("PGPASSWORD", "x", True),
        ("STORAGE", "mysql+pymysql://user:pw@host:3306/db", True),
        ("PROXY", "http://proxy:3128/", False),
        ("STORAGE", "sqlite:///a@b.db", False),
        ("REPO", "https://user@host/x", False),
        ("PATH", "/usr/bin:/bin", False),
        ("KEYBOARD", "de", False),
    ],
)
def test_secrets_are_known_by_name_or_by_value(name: str, value: str, secret: bool) -> None:
    """T81."""
    assert secrets_in({name: value}) == ([name] if secret else [])


def test_a_person_can_let_a_token_through() -> None:
    environment, removed = server_environment({"A_TOKEN": "1", "B_TOKEN": "2", "SHOAL_KEEP_ENV": "B_TOKEN"})
    assert removed == ["A_TOKEN"]
    assert environment["B_TOKEN"] == "2" and environment["OMP_NUM_THREADS"] == "1"


def test_a_log_is_cut_and_its_older_pieces_move_up(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    assert not rotate_if_large(log)
    for text in ("a" * 20, "b" * 20, "c" * 20, "d" * 25):
        with log.open("a") as file:
            file.write(text)
        assert rotate_if_large(log, limit_bytes=10, kept=3)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["log.txt", "log.txt.1", "log.txt.2", "log.txt.3"]
    assert log.read_text() == ""
    assert (tmp_path / "log.txt.1").read_text() == "[15 bytes of output before this are not kept]\n" + "d" * 10
    assert (tmp_path / "log.txt.3").read_text().endswith("b" * 10)


def test_a_writer_goes_on_after_a_rotation(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    writer = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(writer, b"x" * 100)
    rotate_if_large(log, limit_bytes=50)
    os.write(writer, b"more")
    os.close(writer)
    assert log.read_text() == "more"


def test_a_small_log_stays(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("short")
    assert not rotate_if_large(tmp_path / "log.txt")
    assert [f.name for f in tmp_path.iterdir()] == ["log.txt"]


def test_a_failure_is_one_line_with_the_users_own_place(tmp_path: Path) -> None:
    source = tmp_path / "train.py"
    source.write_text("import json\ndef f():\n    json.loads('{')\n")
    names: dict[str, object] = {}
    exec(compile(source.read_text(), str(source), "exec"), names)
    with pytest.raises(ValueError) as caught:
        names["f"]()  # type: ignore[operator]
    assert with_place(caught.value, str(tmp_path)).endswith("(train.py:3)")
    assert "decoder.py" in with_place(caught.value, "")
    assert len(one_line(ValueError("x" * 5000))) == LINE_CHARS
    assert with_place(ValueError("never raised"), "") == "ValueError: never raised"


def test_a_full_disk_is_a_bug_and_memory_is_not() -> None:
    assert classify(OSError(28, "No space left on device")) == "BUG"
    assert classify(OSError(12, "Cannot allocate memory")) == "OOM"
    assert classify(ValueError("out of memory")) == "BUG"


def test_leaving_politely_is_completing() -> None:
    assert ending_of(SystemExit(), "").outcome == "completed"
    assert ending_of(SystemExit("went wrong"), "").failure == "BUG"


def test_a_setup_comes_back_as_it_was(tmp_path: Path) -> None:
    setup = StudySetup(
        study="s", entry={"kind": "objective", "module": "m", "function": "f", "command": ""}, space=None, code_dir="",
        study_dir=str(tmp_path / "studies" / "s"), threads=2, reuse_workers=True,
    )
    assert setup.write() == setup_file(tmp_path / "studies" / "s")
    assert StudySetup.read(setup_file(tmp_path / "studies" / "s")) == setup


def test_a_missing_import_is_not_the_servers_problem() -> None:
    assert importable("json.decoder")
    assert not importable("does_not_exist_anywhere") and not importable("does_not_exist_anywhere.sub")


def test_a_process_has_one_start_time() -> None:
    assert start_time(os.getpid()) == start_time(os.getpid()) is not None
    assert start_time(2**22 + 1) is None
