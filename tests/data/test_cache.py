import errno
import json
import os
import re
import shutil
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from threading import Thread

import pytest

from interlace.core import files
from interlace.core.errors import DataError, SettingsError
from interlace.data import cache
from interlace.data.cache import cache_folder, cached, content_key


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _build(calls):
    def build(into):
        calls.append(into)
        (into / "data.txt").write_text("built")

    return build


def test_builds_an_entry_once(folder, monkeypatch):
    calls, hashed, digest = [], [], cache._digest
    monkeypatch.setattr(cache, "_digest", lambda path: (hashed.append(path), digest(path))[1])
    first = cached("thing", {"a": 1, "b": [1, "ä"]}, _build(calls))
    second = cached("thing", {"b": [1, "ä"], "a": 1}, _build(calls))
    assert first == second
    assert first.parent == folder / "thing"
    assert len(calls) == 1
    assert sorted(path.name for path in hashed) == [
        "data.txt",
        "key.json",
    ]  # each once, though files are checked
    assert (first / "data.txt").read_text() == "built"
    assert json.loads((first / "key.json").read_text())["b"] == [1, "ä"]
    calls = []
    places = {cached("thing", {"a": value}, _build(calls)) for value in (1, 2, "1")}
    places.add(cached("other", {"a": 1}, _build(calls)))
    monkeypatch.setattr(cache, "FORMAT", 99)
    places.add(cached("thing", {"a": 1}, _build(calls)))
    assert len(places) == len(calls) == 5


def test_a_failed_build_leaves_nothing(folder):
    def build(into):
        (into / "half").write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cached("thing", {}, build)
    assert [
        path.name for path in (folder / "thing").iterdir() if not path.name.endswith(".lock")
    ] == []
    calls = []
    cached("thing", {}, _build(calls))
    assert len(calls) == 1


@pytest.mark.parametrize("moment", ["while it is built", "while it is checked"])
def test_an_entry_that_is_deleted_is_named_and_built_again(folder, monkeypatch, moment):
    def build(into):
        (into / "data.txt").write_text("built")
        if moment == "while it is built":
            shutil.rmtree(folder)

    if moment == "while it is checked":
        monkeypatch.setattr(cache, "_known", lambda *_: shutil.rmtree(folder))
    with pytest.raises(DataError, match=r"deleted while|no such file of the cache"):
        cached("thing", {}, build)
    monkeypatch.undo()
    monkeypatch.setenv("INTERLACE_CACHE", str(folder))
    assert (cached("thing", {}, _build([])) / "data.txt").read_text() == "built"


def test_leftovers_of_a_killed_build_are_removed(folder):
    name = cached("thing", {}, _build([])).name
    (folder / "thing" / name).rename(folder / "thing" / f".{name}.{2**30}-{files._HOST}-ab.partial")
    (
        folder
        / "thing"
        / f"..{name}.{2**30}-{files._HOST}-ab.partial.{2**30}-{files._HOST}-cd.partial.partial"
    ).mkdir()
    files._cleaned.clear()
    cached("thing", {}, _build([]))
    assert sorted(path.name for path in (folder / "thing").iterdir()) == [f".{name}.lock", name]


def test_content_key_depends_on_contents_alone_and_is_stored(tmp_path, monkeypatch):
    for name, text in (("a", "same"), ("b", "same"), ("c", "other")):
        (tmp_path / name).write_text(text)
    path, first = tmp_path / "a", content_key(tmp_path / "a")
    assert first == content_key(tmp_path / "b") != content_key(tmp_path / "c")
    again = blake2b(b"taken again")
    monkeypatch.setattr(cache, "file_digest", lambda *_: again)
    assert content_key(path) == first
    path.write_text("two")
    os.utime(path, ns=(1, 1))
    assert content_key(path) == again.hexdigest()
    (tmp_path / "train.en").touch()
    with pytest.raises(DataError, match=r"did you mean 'train\.en'"):
        content_key(tmp_path / "train.eb")


@pytest.mark.skipif(sys.platform == "darwin", reason="another folder there")
def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("INTERLACE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "interlace"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "interlace"


def test_two_processes_build_an_entry_once(tmp_path):
    code = """
import sys, time
from pathlib import Path
from threading import Thread
from interlace.data.cache import cached
def build(into):
    with open(sys.argv[1], "a") as log:
        log.write("built\\n")
    time.sleep(0.3)
    (into / "data").write_text("whole")
print((cached("thing", {"shared": True}, build) / "data").read_text())
"""
    log = tmp_path / "log"
    command = [sys.executable, "-c", code, str(log)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in processes] == ["whole\n", "whole\n"]
    assert log.read_text() == "built\n"


def test_an_edit_that_keeps_size_and_time_is_noticed(tmp_path):
    path = tmp_path / "a"
    path.write_text("one")
    first, times = content_key(path), path.stat()
    path.write_text("two")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert content_key(path) != first


def test_a_damaged_digest_and_a_cache_that_takes_no_files_are_passed_over(tmp_path, folder):
    path = tmp_path / "a"
    path.write_text("one")
    first = content_key(path)
    for memo in (folder / "digests").iterdir():
        memo.write_bytes(b"\xff[" * 1000)
    assert content_key(path) == first
    for memo in list((folder / "digests").iterdir()):
        memo.unlink()
        memo.mkdir()  # cannot be replaced, also by root
    assert content_key(path) == first


@pytest.mark.parametrize("spoil", [lambda file: file.write_text("bXilt"), Path.unlink])
def test_a_changed_file_of_an_entry_is_named(folder, spoil):
    entry = cached("thing", {}, _build([]))
    times = (entry / "data.txt").stat()
    cached("thing", {}, _build([]))
    spoil(entry / "data.txt")
    if (entry / "data.txt").exists():
        os.utime(entry / "data.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(
        DataError, match=r"data\.txt: .*(remove its folder to build it again|no such file)"
    ):
        cached("thing", {}, _build([]))


def overwrite(path):
    times = path.stat()
    with path.open("r+b") as file:
        file.write(b"new")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))


def replace_by_another(path):
    times = path.stat()
    (path.parent / "other").write_text("new\n")
    os.utime(path.parent / "other", ns=(times.st_atime_ns, times.st_mtime_ns))
    (path.parent / "other").replace(path)


def append(path):
    times = path.stat()
    with path.open("a") as file:
        file.write("more\n")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def point_elsewhere(path):
    (path.parent / "elsewhere").write_text("new\n")
    path.unlink()
    path.symlink_to(path.parent / "elsewhere")


@pytest.mark.parametrize(
    "change", [overwrite, replace_by_another, append, point_elsewhere, Path.unlink]
)
@pytest.mark.parametrize("known", [False, True])
def test_no_entry_is_made_of_a_file_that_changes_meanwhile(folder, tmp_path, change, known):
    (tmp_path / "text").write_text("old\n")
    (tmp_path / "train.en").symlink_to(tmp_path / "text")
    path = tmp_path / ("train.en" if change == point_elsewhere else "text")
    if known:  # its hash was stored by a command before
        content_key(path)

    def build(into):
        (into / "data.txt").write_text(path.read_text())
        change(path)

    for key in ({"files": [[content_key(path)]]}, {"text": {"en": content_key(path)}}):
        with pytest.raises(
            DataError, match=rf"{path}: (changed while the command read it|deleted while)"
        ):
            cached("thing", key, build)
        assert not list((folder / "thing").glob("*/data.txt"))
        path.unlink(missing_ok=True)
        path.write_text("old\n")


def test_an_entry_may_be_made_while_other_files_change(tmp_path):
    for name in ("read", "other"):
        (tmp_path / name).write_text(name)

    def build(into):
        (tmp_path / "other").write_text("changed")
        (tmp_path / "read").touch()
        os.utime(tmp_path / "read", ns=times)

    content_key(tmp_path / "other")
    times = (tmp_path / "read").stat().st_atime_ns, (tmp_path / "read").stat().st_mtime_ns
    assert cached("thing", {"files": content_key(tmp_path / "read")}, build).is_dir()
    (tmp_path / "read").write_text("later")
    assert cached("thing", {"files": content_key(tmp_path / "read")}, _build([])).is_dir()


def test_without_locks_of_the_file_system_a_warning_says_so(folder, monkeypatch, caplog):
    def flock(_, operation):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr("fcntl.flock", flock)
    error = errno.ENOLCK  # of NFS
    assert (cached("thing", {}, _build([])) / "data.txt").is_file()
    assert "No locks available; let no other process write there" in caplog.text
    error = errno.EIO
    with pytest.raises(DataError, match=r"\.lock: cannot be locked: Input/output error"):
        cached("thing", {"a": 1}, _build([]))


def test_a_cache_without_a_home_folder_is_an_error(monkeypatch):
    monkeypatch.delenv("INTERLACE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: Path("~unknown-user").expanduser())
    with pytest.raises(SettingsError, match="INTERLACE_CACHE="):
        cache.cache_folder()


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("~nobody-of-this-name", "no home folder is known"),
        ("{folder}/file", "file is not a folder"),
        ("{folder}/file/cache", "file is not a folder"),
        ("/proc/cache", "no file can be created in /proc"),
    ],
)
def test_a_cache_that_cannot_be_written_is_named_by_its_variable(tmp_path, monkeypatch, name, part):
    (tmp_path / "file").write_text("mine")
    value = name.format(folder=tmp_path)
    monkeypatch.setenv("INTERLACE_CACHE", value)
    with pytest.raises(SettingsError, match=rf"INTERLACE_CACHE='{re.escape(value)}'.*{part}"):
        cached("thing", {}, _build([]))


def test_an_entry_is_read_from_a_cache_that_cannot_be_written(folder, monkeypatch):
    entry = cached("thing", {}, _build([]))
    monkeypatch.setattr(cache, "write_fault", lambda _: "a read-only file system")
    assert cached("thing", {}, _build([])) == entry
    with pytest.raises(SettingsError, match="a read-only file system"):
        cached("thing", {"other": 1}, _build([]))


def test_waiting_for_another_process_names_it(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(files, "SILENT_WAIT", 0.05)
    lock = tmp_path / "thing.lock"
    waited = Thread(target=lambda: files.file_lock(lock).__enter__())
    with files.file_lock(lock):
        waited.start()
        waited.join(0.5)
        assert waited.is_alive()
    waited.join(10)
    assert not waited.is_alive()
    [message] = [record.getMessage() for record in caplog.records]
    assert re.search(
        rf"thing\.lock: waiting for process {os.getpid()} of .+ since \d{{4}}-\d\d-\d\d \d\d:",
        message,
    )
