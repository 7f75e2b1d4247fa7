"""Calls of a function in a child process, for libraries that some input makes crash, hang or fill the memory."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import IO, Any, Self, cast

from interlace.core.errors import LostProcessError

_MAX_MEMORY = 4 << 30  # bytes of address space of the child process
_SECONDS = 2.0  # of computing, for each call
_SECONDS_PER_CHARACTER = 20e-6  # further ones, of the arguments as JSON
_READY = "ready\n"


class LostCallError(Exception):
    """A call has no result: the function raised an error, crashed, or reached a limit."""


class GuardedFunction:
    """Calls a function of a module in a child process, which is started again after it was lost.

    Arguments and result are values of JSON. A call may take 4 GB and 2 seconds of computing, and 20 seconds more for
    each million characters of its arguments, however busy the machine is.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        module, name = function.__module__, function.__qualname__
        code = f"from {module} import {name}; from interlace.core.guarded import serve; serve({name})"
        self._command = [sys.executable, "-P", "-c", code]
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def __call__(self, *arguments: Any) -> Any:
        """Return the result of the function; raise a LostCallError if there is none."""
        child = self._child or self._start()
        answer = ""
        with contextlib.suppress(BrokenPipeError):
            requests = cast("IO[str]", child.stdin)
            requests.write(json.dumps(arguments) + "\n")
            requests.flush()
            answer = cast("IO[str]", child.stdout).readline()
        if not answer.endswith("\n"):
            self._end()
            raise LostCallError
        result = json.loads(answer)
        if result is None:
            raise LostCallError
        return result

    def _start(self) -> subprocess.Popen[str]:
        """Start the child process, which finds its modules where this one does."""
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # each takes address space
        child = subprocess.Popen(  # noqa: S603 - our own command
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="ascii",
            env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._child = child
        if cast("IO[str]", child.stdout).readline() != _READY:
            self._end()
            raise LostProcessError("a child process of Python cannot be started; see its error above")
        return child

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            with contextlib.suppress(BrokenPipeError):
                self._child.__exit__(None, None, None)
            self._child = None


def serve(function: Callable[..., Any]) -> None:
    """Call a function with each array of arguments, a line of standard input; print results, or null after an error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # of what a library prints
    answers.write(_READY)
    answers.flush()
    for line in os.fdopen(0, encoding="ascii"):
        # the signal ends the process, also within compiled code
        signal.setitimer(signal.ITIMER_PROF, _SECONDS + len(line) * _SECONDS_PER_CHARACTER)
        try:
            result = function(*json.loads(line))
        except Exception:  # noqa: BLE001 - any error of a library
            result = None
        answers.write(json.dumps(result) + "\n")
        answers.flush()
