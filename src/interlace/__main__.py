"""`python -m interlace` and the `interlace` command."""

import contextlib
import errno
import io
import os
import re
import signal
import sys
import time
import traceback
from pathlib import Path
from tempfile import gettempdir
from threading import Thread, Timer
from typing import Any


def _is_busy() -> bool:
    """Return whether other programs use half of the cores in three samples; False if unknown."""
    for pause in (0.0, 0.005, 0.005):  # the first sample of an idle machine suffices
        time.sleep(pause)
        try:
            loads = Path("/proc/loadavg").read_text(encoding="ascii")
        except OSError:
            return False
        others = int(loads.split()[3].partition("/")[0]) - 1  # without this process
        if others * 2 < (os.cpu_count() or 1):
            return False
    return True


class _StandardError(io.FileIO):
    """Standard error that drops what cannot be written, such as after its reader has ended, so that commands go on."""

    def write(self, data: Any, /) -> int:
        """Write data; return the number of bytes, also of those that are dropped."""
        try:
            return super().write(data)
        except OSError:
            return len(data)


class _StandardOutput(io.FileIO):
    """Standard output that ends the command with exit code 141, as SIGPIPE does, after its reader has ended."""

    def write(self, data: Any, /) -> int:
        """Write data; return the number of bytes. After an error, what is left to write at exit is dropped."""
        try:
            return super().write(data)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if isinstance(error, BrokenPipeError):
                raise SystemExit(141) from None
            raise


def _prepare_streams() -> None:
    """Open closed standard streams, end with the reader of standard output, and let standard error stop nothing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # closed; a file that is opened now must not take its number
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
            continue
        if isinstance(stream, io.TextIOWrapper) and "utf" not in stream.encoding.lower():
            stream.reconfigure(errors="strict" if mode == "r" else "backslashreplace")
        if type(stream) is not io.TextIOWrapper:  # of a test
            continue
        if name == "stderr":
            file = io.BufferedWriter(_StandardError(stream.fileno(), "w", closefd=False))
            sys.stderr = io.TextIOWrapper(file, stream.encoding, stream.errors, line_buffering=True)
        if name == "stdout":
            raw = _StandardOutput(stream.fileno(), "w", closefd=False)
            buffer = raw if stream.write_through else io.BufferedWriter(raw)  # the former with `python -u`
            sys.stdout = io.TextIOWrapper(
                buffer,
                stream.encoding,
                stream.errors,
                line_buffering=stream.line_buffering,
                write_through=stream.write_through,
            )


def _repeat_ignored_interrupt(ignored: Any) -> None:
    """Interrupt again, soon and outside of this hook, if Python ignored Ctrl-C, as it does in a `__del__`."""
    if ignored.exc_type is KeyboardInterrupt:
        Timer(0.01, os.kill, [os.getpid(), signal.SIGINT]).start()
    else:
        sys.__unraisablehook__(ignored)


def main() -> None:
    """Run the command line; user errors print a message and exit with code 2."""
    try:
        sys.unraisablehook = _repeat_ignored_interrupt
        _prepare_streams()
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
        if "GOMP_SPINCOUNT" not in os.environ:
            # Spinning threads halve the time of a step on an idle machine, and double it on a busy one.
            os.environ.setdefault(*(("OMP_WAIT_POLICY", "PASSIVE") if _is_busy() else ("GOMP_SPINCOUNT", "20000")))
        from interlace.cli import application, note_to_stderr
        from interlace.core.hub import check_variables

        note_to_stderr()
        check_variables()
        check_processes()
        if os.environ.pop("INTERLACE_END_WITH_STDIN", ""):
            Thread(target=_end_with_stdin, daemon=True).start()
        application()()
        sys.stdout.flush()
    except BaseException as error:
        if (code := exit_code(error)) is None:
            raise
        sys.exit(code)


def _end_with_stdin() -> None:
    """End this process, and its group if it leads one, when a study closes its standard input or is gone.

    A process that handles SIGTERM, which saves a checkpoint, gets that; others are interrupted, unless they ignore it.
    """
    while os.read(0, 1):
        pass
    first = signal.SIGTERM
    if not callable(signal.getsignal(signal.SIGTERM)) and callable(signal.getsignal(signal.SIGINT)):
        first = signal.SIGINT
    for number in (first, signal.SIGKILL):  # a library may swallow the first
        if os.getpgrp() == os.getpid():
            os.killpg(0, number)
        else:
            os.kill(os.getpid(), number)
        time.sleep(60)


def exit_code(error: BaseException) -> int | None:
    """Print what an error means for the user, and return the exit code; None if a traceback is to be printed.

    User errors have the code 2, an interrupted command 130. What may be a bug of ours says so.
    """
    if os.environ.get("INTERLACE_TRACEBACK"):
        return None
    if isinstance(error, KeyboardInterrupt) or (isinstance(error, SystemExit) and error.code == 130):
        if os.environ.get("RANK", "0") == "0":  # of torchrun's processes; our console may be half imported
            sys.stderr.write("interrupted; rerun the same command to resume what it saved\n")
        return 130
    from interlace.cli import notes
    from interlace.core.display import block, message
    from interlace.core.errors import InterlaceError, LostProcessError

    package = type(error).__module__.partition(".")[0].removesuffix("_rust")
    if isinstance(error, InterlaceError):
        text = str(error)
    elif isinstance(error, OSError) and error.errno is not None:  # disk full or folder not writable
        full = (
            f"; is standard output's disk or {gettempdir()} full?"
            if error.errno == errno.ENOSPC and not error.filename
            else ""
        )
        text = f"{error.filename}: {error.strerror}" if error.filename else f"{error.strerror}{full}"
    elif isinstance(error, MemoryError | RuntimeError) and _NO_MEMORY.search(f"{type(error).__name__}: {error}"):
        text = f"out of memory; lower the size of the model, of batches or of the vocabulary ({_first(error)})"
    elif isinstance(error, RecursionError | UnicodeError | OverflowError) or package in _LIBRARIES:
        file = _file_in_use(error)
        read = f", while it worked with {file}" if file else ""
        text = f"unexpected {_first(error)}{read} (a bug or a damaged file; INTERLACE_TRACEBACK=1 shows where)"
    else:
        return None
    if notes.quiet and isinstance(error, InterlaceError) and not isinstance(error, LostProcessError):
        time.sleep(_FIRST)  # mostly the first process has the same error and ends this one by torchrun
    notes.quiet = False
    notes.print(f"[bold]error:[/] {_plain(block(message(text)))}", highlight=False, soft_wrap=True)
    return 2


_FIRST = 5.0  # seconds in which the first process can report an error of all processes, and finish what it writes
_NO_MEMORY = re.compile("MemoryError|OutOfMemory|out of memory|not enough memory|can't allocate memory|bad_alloc")
_LIBRARIES = {"json", "tomllib", "pyarrow", "safetensors", "tokenizers", "transformers", "huggingface_hub", "zipfile"}
_LIBRARIES |= {"pyo3_runtime"}  # where a library in Rust panics


def _first(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def _file_in_use(error: BaseException) -> Path | None:
    """Return the existing file or folder that our innermost function with one used when the error was raised."""
    for frame, _ in reversed([*traceback.walk_tb(error.__traceback__)]):
        ours = frame.f_globals.get("__name__", "").startswith("interlace.")
        for value in reversed(frame.f_locals.values()) if ours else ():
            with contextlib.suppress(OSError):
                if isinstance(value, Path) and value.exists():
                    return value
    return None


def check_processes() -> None:
    """Check the environment that `torchrun` sets; raise a SettingsError if it is incomplete or no number."""
    from interlace.core.errors import SettingsError

    count = os.environ.get("WORLD_SIZE", "1")
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
        if not os.environ.get(name, "1").isdigit():
            raise SettingsError(f"{name}={os.environ[name]!r} in the environment: expected a number, set by torchrun")
    if int(count) > 1 and not {"RANK", "MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys():
        raise SettingsError(
            f"WORLD_SIZE={count} in the environment without RANK, MASTER_ADDR and MASTER_PORT: start "
            "several processes with torchrun, or unset it"
        )


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


if __name__ == "__main__":
    main()
