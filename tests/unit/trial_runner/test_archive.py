"""The frozen project: what is in it, what it is called, and that nothing else comes out of it."""

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from shoal.errors import CodeError
from shoal.trial_runner.archive import module_of, pack_pickled, pack_project, unpack
from shoal.trial_runner.project_files import MAX_FILE_BYTES, project_of


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_the_name_is_the_content(tmp_path: Path) -> None:
    files = {"study.py": "x = 1", "lib/a.py": "", "data/labels.csv": "1,2"}
    first = pack_project(write(tmp_path / "one", files) / "study.py", tmp_path / "out")
    os.utime(tmp_path / "one" / "study.py", (1, 1))
    again = pack_project(write(tmp_path / "elsewhere", files) / "study.py", tmp_path / "out2")
    assert (first.sha, first.module) == (again.sha, "study") and len(first.sha) == 64
    assert first.path.read_bytes() == again.path.read_bytes()
    changed = pack_project(write(tmp_path / "one", {"study.py": "x = 2"}) / "study.py", tmp_path / "out")
    assert changed.sha != first.sha


def test_moving_bytes_between_name_and_content_changes_the_name(tmp_path: Path) -> None:
    one = pack_project(write(tmp_path / "one", {"s.py": "", "ab": "c"}) / "s.py", tmp_path / "out")
    two = pack_project(write(tmp_path / "two", {"s.py": "", "a": "bc"}) / "s.py", tmp_path / "out")
    assert one.sha != two.sha


def test_what_is_unpacked_is_what_was_packed(tmp_path: Path) -> None:
    project = write(tmp_path / "project", {"study.py": "x = 'ü'", "lib/a.py": "a"})
    packed = pack_project(project / "study.py", tmp_path / "code")
    code_dir = unpack(packed.path, tmp_path / "code" / packed.sha)
    assert {f.relative_to(code_dir).as_posix() for f in code_dir.rglob("*.py")} == {"study.py", "lib/a.py"}
    assert (code_dir / "study.py").read_text() == "x = 'ü'"
    assert unpack(packed.path, code_dir) == code_dir
    assert sorted(p.name for p in (tmp_path / "code").iterdir()) == sorted([packed.sha, f"{packed.sha}.tar.gz"])


def test_environments_caches_and_ignored_files_stay_out(tmp_path: Path) -> None:
    project = write(
        tmp_path / "project",
        {
            "study.py": "", ".git/config": "", ".venv/lib.py": "", "__pycache__/study.pyc": "", ".shoal/journal.db": "",
            "node_modules/x.js": "", "my_env/pyvenv.cfg": "", "my_env/lib.py": "", "runs/one.txt": "", "notes.tmp": "",
            "my_data/journal.db": "", "my_data/code/x/study.py": "",
            ".gitignore": "# ours\nruns/\n*.tmp\na/b\n", "a/b": "kept: patterns with a slash are not read",
        },
    )
    assert set(project_of(project / "study.py").files) == {"study.py", ".gitignore", "a/b"}


def test_large_files_are_left_out_with_a_notice(tmp_path: Path) -> None:
    project = write(tmp_path / "project", {"study.py": ""})
    (project / "images.npy").write_bytes(b"\0" * (MAX_FILE_BYTES + 1))
    found = project_of(project / "study.py")
    assert set(found.files) == {"study.py"}
    assert "images.npy (5.0 MB)" in found.notices[0]


def test_links_are_followed_only_within_the_project(tmp_path: Path) -> None:
    write(tmp_path, {"secret.txt": "s"})
    project = write(tmp_path / "project", {"study.py": "", "real.txt": "r", "sub/x.txt": ""})
    (project / "out").symlink_to(tmp_path / "secret.txt")
    (project / "in").symlink_to(project / "real.txt")
    (project / "loop").symlink_to(project)
    (project / "broken").symlink_to(project / "nothing")
    assert set(project_of(project / "study.py").files) == {"study.py", "real.txt", "in", "sub/x.txt"}


def test_a_package_is_taken_from_above_its_top(tmp_path: Path) -> None:
    names = ("pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/study.py", "z.py")
    project = write(tmp_path / "project", dict.fromkeys(names, ""))
    assert module_of(project / "pkg" / "sub" / "study.py") == (project.resolve(), "pkg.sub.study")
    assert "z.py" in project_of(project / "pkg" / "sub" / "study.py").files


@pytest.mark.parametrize("name", ["my-study.py", "study.txt", "2fast.py"])
def test_a_file_that_cannot_be_imported_is_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: ""})
    with pytest.raises(CodeError, match="cannot be imported"):
        pack_project(tmp_path / name, tmp_path / "out")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CodeError, match="no such file"):
        pack_project(tmp_path / "study.py", tmp_path / "out")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = write(tmp_path / "project", {"study.py": "", "locked.py": ""})

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(CodeError, match=r"locked\.py cannot be read: Permission denied"):
        pack_project(project / "study.py", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["../evil.py", "/evil.py", "a/../../evil.py"])
def test_an_archive_cannot_write_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "x.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        entry = tarfile.TarInfo(name)
        entry.size = 1
        tar.addfile(entry, io.BytesIO(b"x"))
    with pytest.raises(CodeError, match="no plain file"):
        unpack(archive, tmp_path / "code" / "x")
    assert not list(tmp_path.rglob("evil.py")) and list((tmp_path / "code").iterdir()) == []


def test_an_archive_with_a_link_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "x.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        entry = tarfile.TarInfo("link")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(entry)
    with pytest.raises(CodeError, match="no plain file"):
        unpack(archive, tmp_path / "code" / "x")


@pytest.mark.parametrize("damage", ["cut", "text", "other content"])
def test_a_damaged_archive_is_refused_and_leaves_nothing(tmp_path: Path, damage: str) -> None:
    packed = pack_project(write(tmp_path / "project", {"study.py": "x = 1\n" * 999}) / "study.py", tmp_path / "out")
    content = packed.path.read_bytes()
    if damage == "cut":
        packed.path.write_bytes(content[: len(content) // 2])
    elif damage == "text":
        packed.path.write_text("not an archive")
    else:
        packed.path.write_bytes(gzip.compress(gzip.decompress(content).replace(b"x = 1", b"x = 2")))
    with pytest.raises(CodeError, match="damaged"):
        unpack(packed.path, tmp_path / "code" / packed.sha)
    assert list((tmp_path / "code").iterdir()) == []


def test_a_pickled_function_brings_its_script_along(tmp_path: Path) -> None:
    script = write(tmp_path / "project", {"my-script.py": "", "lib.py": ""}) / "my-script.py"
    alone = pack_pickled(b"pickle", tmp_path / "out")
    both = pack_pickled(b"pickle", tmp_path / "out", script)
    assert alone.module == both.module == "__pickled__" and alone.sha != both.sha
    code_dir = unpack(both.path, tmp_path / "code" / both.sha)
    assert sorted(f.name for f in code_dir.iterdir()) == ["__pickled__.pkl", "lib.py", "my-script.py"]


def test_a_folder_that_holds_more_than_a_project_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.trial_runner.project_files.MAX_PROJECT_FILES", 3)
    project = write(tmp_path / "home", {f"{n}.txt": "" for n in range(4)} | {"study.py": ""})
    with pytest.raises(CodeError, match=r"Put study\.py into a folder of its own"):
        project_of(project / "study.py")
