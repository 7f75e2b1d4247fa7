"""Child processes of a study: `python -m interlace` with a log, in groups that can be stopped together."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import FrameType

GRACE = 20.0  # seconds that a stopped child has to write what it must
_LAST = 8192  # bytes of a log that are looked at for its last line


class Children:
    """Starts commands of ours, and stops all that run. Safe to use from several threads."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self.stopped = False
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def run(self, arguments: Sequence[str], log: Path, more: dict[str, str]) -> tuple[int | None, str]:
        """Run `interlace ARGUMENTS` to its end.

        Args:
            arguments: the command and its options.
            log: both outputs are appended to it.
            more: environment variables of this child.

        Returns:
            The exit code (None: it was stopped, or never started because all were) and, of one that failed, the last
            line that it wrote.
        """
        with log.open("ab") as file:
            begin = file.tell() + file.write(f"$ interlace {shlex.join(arguments)}\n".encode())
            file.flush()
            child = self._start(arguments, file.fileno(), more)
            if child is None:
                return None, ""
            code = child.wait()
        with self._lock:
            self._running.discard(child)
        if self.stopped:
            return None, ""
        return code, "" if code == 0 else _why(code, _last_line(log, begin))

    def _start(self, arguments: Sequence[str], output: int, more: dict[str, str]) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self.stopped:
                return None
            child = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-m", "interlace", *arguments],
                env={**self.environment, **more},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches us alone, and we pass it on once
            )
            self._running.add(child)
            return child

    def stop(self) -> None:
        """Interrupt all children as Ctrl-C does; those that do not end in time are killed."""
        with self._lock:
            self.stopped = True
            running = list(self._running)
        _signal_all(running, signal.SIGINT)
        timer = threading.Timer(GRACE, _signal_all, [running, signal.SIGKILL])
        timer.start()
        try:
            for child in running:
                child.wait()
        finally:
            timer.cancel()


def _signal_all(children: Sequence[subprocess.Popen[bytes]], number: signal.Signals) -> None:
    for child in children:
        if child.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, number)


def _last_line(log: Path, begin: int) -> str:
    """The last line with something on it that was written after `begin`."""
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(begin, file.tell() - _LAST))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _why(code: int, line: str) -> str:
    if code >= 0:
        return line or f"exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    hint = "; was memory short?" if name == "SIGKILL" else ""
    return f"killed by {name}{hint}" + (f"; its last line: {line}" if line else "")


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Let a polite kill, and a closed terminal, end a study as Ctrl-C does; only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    old = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
