"""What is done on systems that lack something; `tests/test_systems.py` runs commands on one."""

import os
import signal
import sys

import psutil
import pytest

from interlace.core import system


def test_files_are_flushed_where_folders_cannot_be(tmp_path, monkeypatch):
    flushed = []
    path = tmp_path / "a"
    path.write_text("a")

    def flush(handle):
        os.write(handle, b"b")  # Windows flushes what is open for writing
        flushed.append(os.fstat(handle).st_ino)

    monkeypatch.delattr(os, "O_DIRECTORY")
    monkeypatch.setattr(os, "fsync", flush)
    system.sync(path)
    system.sync(tmp_path)
    assert flushed == [path.stat().st_ino]


def test_memory_is_known_without_the_module_resource(monkeypatch):
    resident = psutil.Process().memory_info().rss
    assert system.peak_resident_memory() >= 0.9 * resident
    monkeypatch.setitem(sys.modules, "resource", None)
    assert system.peak_resident_memory() == pytest.approx(resident, rel=0.1)


def test_limits_are_left_alone_without_the_module_resource(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    system.raise_open_files_limit()
    system.limit_memory(1)
    assert len(bytes(1 << 20)) == 1 << 20


def test_a_process_without_a_group_handles_the_signal_and_ends(monkeypatch):
    events = []

    def end(code):
        events.append(f"exit {code}")
        raise SystemExit

    monkeypatch.delattr(os, "killpg")
    monkeypatch.setattr(os, "_exit", end)
    handler = signal.signal(signal.SIGTERM, lambda *_: events.append("SIGTERM"))
    try:
        with pytest.raises(SystemExit):
            system.end_group(signal.SIGTERM, 0)
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert events == ["SIGTERM", "exit 1"]


def test_the_processor_has_a_name_without_proc(monkeypatch):
    def fail(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(system.Path, "read_text", fail)
    assert system.processor_name()
