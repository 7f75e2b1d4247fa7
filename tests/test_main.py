"""What the `interlace` command makes of errors."""

import errno

import pytest

import interlace.cli
from interlace.__main__ import main


def fails_with(error):
    def run():
        raise error

    return lambda: run


def test_system_errors_print_one_line(monkeypatch, capsys):
    error = OSError(errno.ENOSPC, "No space left on device", "runs/x/metrics.jsonl")
    monkeypatch.setattr(interlace.cli, "application", fails_with(error))
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr().err.strip() == "error: runs/x/metrics.jsonl: No space left on device"


def test_bugs_keep_their_traceback(monkeypatch):
    monkeypatch.setattr(interlace.cli, "application", fails_with(OSError("no number")))
    with pytest.raises(OSError, match="no number"):
        main()
