"""Calls of a function in a child process, for libraries that some input makes crash, hang or fill the memory."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from interlace.core.errors import LostProcessError
from interlace.core.system import limit_memory

_MAX_MEMORY = 4 << 30  # bytes of address space of the child process
_MAX_WAIT = 30  # seconds by the clock, for each of computing
_READY = "ready"


def guarded_results(
    function: Callable[[Any], Any], arguments: Sequence[Any], seconds: float
) -> list[Any]:
    """Return the results of calls of a function of a module, up to the first call that has none.

    Arguments and results are values of JSON. A call has no result if it raises an error, crashes the process, needs
    more than 4 GB, or computes for more than `seconds`. Computing does not depend on how busy the machine is; the clock
    limits all calls together, to 30 times as long, because a function may also wait. macOS may not limit memory, and
    Windows limits only the clock.
    """
    module = function.__module__
    name = function.__qualname__
    code = f"from {module} import {name}; from interlace.core.guarded import serve; serve({name}, {seconds})"
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # each takes address space
    modules = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        output = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-P", "-c", code],
            input="".join(f"{json.dumps(argument)}\n" for argument in arguments).encode(),
            stdout=subprocess.PIPE,
            process_group=0,  # Ctrl-C reaches the parent process alone, which ends this one
            env={**os.environ, **threads, **modules},
            timeout=_MAX_WAIT * seconds * max(len(arguments), 1),
            check=False,
        ).stdout
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
    ready, *lines = output.decode("ascii").split("\n")
    if ready != _READY:
        raise LostProcessError(
            "a child process of Python cannot be started; see its error above"
        )
    return [json.loads(line) for line in lines[:-1]]  # the last one is empty or incomplete


def serve(function: Callable[[Any], Any], seconds: float) -> None:
    """Write a line with the result of each call, whose argument is a line of standard input."""
    limit_memory(_MAX_MEMORY)
    answers = os.fdopen(os.dup(1), "w", encoding="ascii", newline="\n")
    os.dup2(2, 1)  # of what a library prints
    answers.write(f"{_READY}\n")
    answers.flush()
    for argument in sys.stdin:
        if hasattr(signal, "setitimer"):
            # ends this process, also in compiled code
            signal.setitimer(signal.ITIMER_PROF, seconds)
        answers.write(f"{json.dumps(function(json.loads(argument)))}\n")
        answers.flush()
