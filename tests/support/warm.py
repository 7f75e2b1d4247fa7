"""A `python` whose processes need not import torch and transformers again, which takes seconds each time.

A server imports them once and forks for each command, so that what runs is a process of its own: it has arguments,
folder, environment, streams and signals of its own, and may be killed. The fixture `python` gives a program that stands
in the place of `sys.executable`; it knows `-m MODULE` and `-c CODE`. Nothing of ours is imported before the fork.

Forked processes order their sets alike, as separate ones do not, so a test about being the same in two processes
starts one of them by `sys.executable`.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import traceback
import types
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = """
accelerate jinja2 numba pyarrow.ipc pydantic rich.console safetensors.torch scipy.stats sklearn.decomposition
sklearn.manifold tokenizers torch.distributed.run torch.nn.functional transformers.models.auto.modeling_auto
transformers.models.bert.modeling_bert transformers.models.modernbert.modeling_modernbert
transformers.models.roberta.modeling_roberta typer
"""
# What stands in the place of `python`. It imports next to nothing, and dies as the process dies that it stands for.
CLIENT = """\
#!{python} -IS
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    told = json.dumps({{"arguments": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}})
    socket.send_fds(server, [len(told.encode()).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(told.encode())
    answers = server.makefile("r")
    process = int(answers.readline())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: os.kill(process, number))
    code = int(answers.readline() or -signal.SIGKILL)
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


@contextmanager
def warm_python() -> Iterator[str]:
    """The path of a program that stands in the place of `python` as long as the context is open."""
    # short: the name of a socket has at most 107 bytes
    with TemporaryDirectory(prefix="warm") as folder:
        program, address = Path(folder, "python"), str(Path(folder, "socket"))
        program.write_text(
            CLIENT.format(python=sys.executable, address=address), encoding="utf-8"
        )
        command = Path(folder, "interlace")  # for scripts that look along PATH
        command.write_text(f'#!/bin/sh\nexec {program} -m interlace "$@"\n', encoding="utf-8")
        for path in (program, command):
            path.chmod(0o755)
        environment = os.environ | {
            "OMP_NUM_THREADS": "1",
            "JE_ARROW_MALLOC_CONF": "background_thread:false",
        }
        with subprocess.Popen(
            [sys.executable, __file__, address], env=environment, stdout=subprocess.PIPE
        ) as server:
            if server.stdout is None or not server.stdout.readline():
                message = "the server of processes did not start"
                raise RuntimeError(message)
            try:
                yield str(program)
            finally:
                server.terminate()


def main() -> None:
    """Serve until killed, in one process; do what a command asks for, in every other."""
    for name in PACKAGES.split():
        import_module(name)
    _fill_caches()
    if (tasks := Path("/proc/self/task")).is_dir() and len(list(tasks.iterdir())) > 1:
        message = "a fork would lose all threads but one, and what they hold"
        raise RuntimeError(message)
    gc.collect()
    gc.freeze()  # pages that are never written are never copied
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[1])
        listening.listen()
        print("ready", flush=True)  # noqa: T201 - for whoever started us
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            connection, _ = listening.accept()
            if os.fork() == 0:
                break
            connection.close()
    os._exit(_ended(_serve(connection)))


def _fill_caches() -> None:
    """Build what numba and transformers build once in each process, at its first kernel and its first saved model."""
    from numba.core.registry import cpu_target
    from transformers.conversion_mapping import get_checkpoint_conversion_mapping

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    get_checkpoint_conversion_mapping("bert")  # type: ignore[no-untyped-call]


def _serve(connection: socket.socket) -> dict[str, Any]:
    """What the client asks for, in the process that shall do it; another one stays behind to tell how that ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as asked:
        told: dict[str, Any] = json.loads(asked.read(int.from_bytes(size, "big")))
    process = os.fork()
    if process == 0:
        connection.close()
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
            os.close(stream)
        return told
    for stream in streams:
        os.close(stream)
    with suppress(BrokenPipeError):
        connection.sendall(f"{process}\n".encode())
    threading.Thread(target=_end_with, args=(connection, process), daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with suppress(BrokenPipeError):
        connection.sendall(f"{code}\n".encode())
    os._exit(0)


def _end_with(client: socket.socket, process: int) -> None:
    """Kill the process when what stands for it was killed."""
    with suppress(OSError):
        if not client.recv(1):
            os.kill(process, signal.SIGKILL)


def _ended(told: dict[str, Any]) -> int:
    """Do it to the end, and give the exit code. Taking modules down would copy all that a fork shares."""
    code: int | str = 0
    try:
        _run(told)
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # noqa: BLE001 - as `python` does
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # as multiprocessing ends its forks
    atexit._run_exitfuncs()
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    if isinstance(code, str):
        print(code, file=sys.stderr)  # noqa: T201 - as `python` does
        return 1
    return code


def _run(told: dict[str, Any]) -> None:
    """What `python ARGUMENTS` does."""
    os.environ.clear()
    os.environ.update(told["environment"])
    os.chdir(told["folder"])
    options, rest = [], list(told["arguments"])
    while rest[0] not in {"-m", "-c"}:
        options.append(rest.pop(0))  # -u and the like
    how, what, *rest = rest
    sys.path[0] = "" if how == "-c" else told["folder"]
    sys.path[1:1] = filter(None, told["environment"].get("PYTHONPATH", "").split(os.pathsep))
    sys.argv[:] = [how, *rest]
    if how == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.modules["__main__"] = module = types.ModuleType("__main__")
        exec(compile(textwrap.dedent(what), "<string>", "exec"), module.__dict__)  # noqa: S102 - as `python -c` does


if __name__ == "__main__":
    main()
