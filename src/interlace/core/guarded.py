"""Calls of a function in a child process, for libraries that some input makes crash, hang or fill the memory."""

import contextlib
import faulthandler
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Self, cast

from interlace.core.errors import LostProcessError

_MAX_MEMORY = 4 << 30  # bytes of address space of the child process
_SECONDS = 2.0  # of computing, for each call
_SECONDS_PER_CHARACTER = 20e-6  # further ones, of the arguments as JSON
_MAX_WAIT = 30  # seconds by the clock, for each of computing
_BATCH_CALLS = 1000  # that are sent together: each message wakes a process
_BATCH_CHARACTERS = 1 << 22
_READY = "ready\n"


class GuardedFunction:
    """Calls a function of a module in a child process, which is started again after it was lost.

    Arguments and result are values of JSON. A call may take 4 GB and `seconds` of computing, and 20 seconds more for
    each million characters of its arguments, however busy the machine is; and 30 times as long by the clock, as a
    function may also wait. Windows limits only the time by the clock. A call is lost if it is so twice, the second time
    alone.
    """

    def __init__(self, function: Callable[..., Any], seconds: float = _SECONDS) -> None:
        module = function.__module__
        name = function.__qualname__
        code = f"from {module} import {name}; from interlace.core.guarded import serve; serve({name}, {seconds})"
        self._command = [sys.executable, "-P", "-c", code]
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def map(self, calls: Iterable[Sequence[Any]]) -> Iterator[Any]:
        """Yield the result for each call's arguments, or None if there is none; many calls are sent together."""
        for requests in _batches(calls):
            for answer in self._answers(requests):
                yield json.loads(answer)

    def _answers(self, requests: list[str]) -> list[str]:
        """Return the answer to each request: null if the process is lost when it is sent alone.

        After a loss all are sent alone: others may be lost with it, and what ended the process may be no request.
        """
        answers: list[str] = []
        alone = False
        while len(answers) < len(requests):
            sent = requests[len(answers) :]
            if alone:
                sent = sent[:1]
            received = self._ask(sent)
            answers += received
            if len(received) < len(sent):
                self._end()
                if alone:
                    answers.append("null")
                alone = True
        return answers

    def _ask(self, requests: list[str]) -> list[str]:
        """Return the answers to requests, or to the first of them if the child process is lost."""
        child = self._child or self._start()
        answers = []
        with contextlib.suppress(BrokenPipeError):
            stream = cast("IO[str]", child.stdin)
            stream.write("\n".join([*requests, "", ""]))
            stream.flush()
            for _ in requests:
                answer = cast("IO[str]", child.stdout).readline()
                if not answer.endswith("\n"):
                    break
                answers.append(answer)
        return answers

    def _start(self) -> subprocess.Popen[str]:
        """Start the child process, which finds its modules where this one does."""
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # each takes address space
        child = subprocess.Popen(  # noqa: S603 - our own command
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="ascii",
            process_group=0,  # Ctrl-C reaches the parent process alone, which ends this one
            env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._child = child
        if cast("IO[str]", child.stdout).readline() != _READY:
            self._end()
            raise LostProcessError(
                "a child process of Python cannot be started; see its error above"
            )
        return child

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            with contextlib.suppress(BrokenPipeError):
                self._child.__exit__(None, None, None)
            self._child = None


def _batches(calls: Iterable[Sequence[Any]]) -> Iterator[list[str]]:
    """Yield the arguments of many calls at a time, as JSON."""
    batch: list[str] = []
    characters = 0
    for arguments in calls:
        batch.append(json.dumps(arguments))
        characters += len(batch[-1])
        if len(batch) == _BATCH_CALLS or characters >= _BATCH_CHARACTERS:
            yield batch
            batch = []
            characters = 0
    if batch:
        yield batch


def serve(function: Callable[..., Any], seconds: float) -> None:
    """Answer batches of requests from standard input, a line each and an empty one at the end.

    A request is an array of arguments; its answer is a line with the result, or null after an error.
    """
    _limit_memory()
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # of what a library prints
    answers.write(_READY)
    answers.flush()
    lines = os.fdopen(0, encoding="ascii")
    while requests := _read_batch(lines):
        for request in requests:
            _limit_time(seconds + len(request) * _SECONDS_PER_CHARACTER)
            try:
                result = function(*json.loads(request))
            except Exception:  # noqa: BLE001 - any error of a library
                result = None
            answers.write(json.dumps(result) + "\n")
        _limit_time(0)
        answers.flush()


def _read_batch(lines: IO[str]) -> list[str]:
    """Return the lines before the next empty one; none at the end of the input."""
    batch: list[str] = []
    for line in lines:
        if line == "\n":
            return batch
        batch.append(line)
    return []


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))


def _limit_time(seconds: float) -> None:
    """End this process after so much computing, or 30 times as long by the clock; 0: never.

    The signals, or the thread of faulthandler, end it also within compiled code.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, seconds * _MAX_WAIT)
        return
    faulthandler.cancel_dump_traceback_later()  # Windows
    if seconds:
        faulthandler.dump_traceback_later(seconds * _MAX_WAIT, exit=True)
