"""Cached entries: built once, whole, checked, and built again when a file that they depend on changes."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path

import pytest

from interlace.core import files
from interlace.core.errors import DataError, SettingsError
from interlace.core.files import cache_folder
from interlace.data import cache
from interlace.data.cache import cached, content_key


@pytest.fixture(autouse=True)
def folder(tmp_path, own_cache):
    return tmp_path / "cache"


class Build:
    """Writes `data.txt` and counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, into):
        self.calls += 1
        (into / "data.txt").write_text("built")


def test_builds_an_entry_once(folder, monkeypatch):
    build = Build()
    entry = cached("thing", {"a": 1, "b": [1, "ä"]}, build)
    assert cached("thing", {"b": [1, "ä"], "a": 1}, build) == entry
    assert (entry.parent, build.calls) == (folder / "thing", 1)
    assert json.loads((entry / "key.json").read_text())["b"] == [1, "ä"]
    build = Build()
    entries = {cached("thing", {"a": value}, build) for value in (1, 2, "1")}
    entries.add(cached("other", {"a": 1}, build))
    monkeypatch.setattr(cache, "FORMAT", 99)
    entries.add(cached("thing", {"a": 1}, build))
    assert len(entries) == build.calls == 5


def test_a_failed_build_leaves_nothing(folder):
    def build(into):
        (into / "half").write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cached("thing", {}, build)
    assert not [path for path in (folder / "thing").iterdir() if path.suffix != ".lock"]


def test_an_entry_that_is_deleted_while_it_is_built_is_named_and_built_again(folder):
    with pytest.raises(DataError, match="deleted while"):
        cached("thing", {}, lambda _: shutil.rmtree(folder))
    assert (cached("thing", {}, Build()) / "data.txt").read_text() == "built"


def test_content_key_depends_on_contents_alone_and_is_stored(tmp_path, monkeypatch):
    path, twin = tmp_path / "a", tmp_path / "b"
    for file in (path, twin):
        file.write_text("same")
    key = content_key(path)
    assert key == content_key(twin)
    again = blake2b(b"taken again")
    monkeypatch.setattr(cache, "file_digest", lambda *_: again)
    assert content_key(path) == key
    times = path.stat()
    path.write_text("SAME")  # an edit that keeps size and time
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert content_key(path) == again.hexdigest()


@pytest.mark.skipif(sys.platform == "darwin", reason="another folder there")
def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("INTERLACE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "interlace"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "interlace"
    monkeypatch.setattr(Path, "home", lambda: Path("~unknown-user").expanduser())
    with pytest.raises(SettingsError, match="INTERLACE_CACHE="):
        cache_folder()


SHARED = """
import sys, time
from interlace.data.cache import cached
def build(into):
    with open(sys.argv[1], "a") as log:
        log.write("built\\n")
    time.sleep(0.3)
    (into / "data").write_text("whole")
print((cached("thing", {"shared": True}, build) / "data").read_text())
"""


def test_two_processes_build_an_entry_once(tmp_path):
    command = [sys.executable, "-c", SHARED, str(tmp_path / "log")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in processes] == ["whole\n", "whole\n"]
    assert (tmp_path / "log").read_text() == "built\n"


def test_a_damaged_digest_is_passed_over(tmp_path, folder):
    path = tmp_path / "a"
    path.write_text("one")
    key = content_key(path)
    for memo in (folder / "digests").iterdir():
        memo.write_bytes(b"\xff[" * 1000)
    assert content_key(path) == key


def overwrite(path):
    with path.open("r+b") as file:
        file.write(b"new")


def replace_by_another(path):
    (path.parent / "other").write_text("new\n")
    (path.parent / "other").replace(path)


def point_elsewhere(path):
    path.unlink()
    (path.parent / "elsewhere").write_text("new\n")
    path.symlink_to(path.parent / "elsewhere")


CHANGES = [overwrite, replace_by_another, point_elsewhere, Path.unlink]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("known", [False, True])
def test_no_entry_is_made_of_a_file_that_changes_meanwhile(folder, tmp_path, change, known):
    (tmp_path / "text").write_text("old\n")
    (tmp_path / "train.en").symlink_to(tmp_path / "text")
    path = tmp_path / ("train.en" if change == point_elsewhere else "text")
    if known:  # its hash was stored by a command before
        content_key(path)

    def build(into):
        (into / "data.txt").write_text(path.read_text())
        times = path.stat()
        change(path)
        if path.exists() and change != overwrite:
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    with pytest.raises(DataError, match=f"{path}: (changed while|no such file)"):
        cached("thing", {"files": [{"en": content_key(path)}]}, build)
    assert not list((folder / "thing").glob("*/data.txt"))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("~nobody-of-this-name", "no home folder is known"),
        ("{folder}/file/cache", "file is not a folder"),
        ("/proc/cache", "no file can be created in /proc"),
    ],
)
def test_a_cache_that_cannot_be_written_is_named_by_its_variable(
    tmp_path, monkeypatch, name, part
):
    (tmp_path / "file").write_text("mine")
    value = name.format(folder=tmp_path)
    monkeypatch.setenv("INTERLACE_CACHE", value)
    with pytest.raises(SettingsError, match=rf"INTERLACE_CACHE='{re.escape(value)}'.*{part}"):
        cached("thing", {}, Build())


def test_an_entry_is_read_from_a_cache_that_cannot_be_written(monkeypatch):
    entry = cached("thing", {}, Build())
    monkeypatch.setattr(cache, "write_fault", lambda _: "a read-only file system")
    assert cached("thing", {}, Build()) == entry
    with pytest.raises(SettingsError, match="a read-only file system"):
        cached("thing", {"other": 1}, Build())


def test_leftovers_of_a_killed_build_are_removed(folder):
    name = cached("thing", {}, Build()).name
    suffix = f"{2**30}-{files._HOST}-ab.partial"
    (folder / "thing" / name).rename(folder / "thing" / f".{name}.{suffix}")
    (folder / "thing" / f"..{name}.{suffix}.{2**30}-{files._HOST}-cd.partial.partial").mkdir()
    files._cleaned.clear()
    cached("thing", {}, Build())
    assert sorted(path.name for path in (folder / "thing").iterdir()) == [f".{name}.lock", name]


def test_without_locks_of_the_file_system_a_warning_says_so(monkeypatch, caplog):
    def flock(_, operation):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr("fcntl.flock", flock)
    error = errno.ENOLCK  # of NFS
    cached("thing", {}, Build())
    assert "No locks available; let no other process write there" in caplog.text
    error = errno.EIO
    with pytest.raises(DataError, match=r"\.lock: cannot be locked: Input/output error"):
        cached("thing", {"a": 1}, Build())
