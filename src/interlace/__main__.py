"""`python -m interlace` and the `interlace` command."""

import errno
import io
import os
import re
import signal
import sys
import time
from pathlib import Path
from tempfile import gettempdir
from threading import Thread
from typing import Any


def _is_busy() -> bool:
    """Return whether other programs use half of the cores in three samples; False if unknown."""
    for pause in (0.0, 0.005, 0.005):  # the first sample of an idle machine suffices
        time.sleep(pause)
        try:
            loads = Path("/proc/loadavg").read_text(encoding="ascii")
        except OSError:
            return False
        running = int(loads.split()[3].partition("/")[0]) - 1  # without this process
        if running * 2 < (os.cpu_count() or 1):
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
    kinds = {"stdin": None, "stdout": _StandardOutput, "stderr": _StandardError}
    for name, kind in kinds.items():
        stream = getattr(sys, name)
        mode = "w" if kind else "r"
        if stream is None:  # closed; a file that is opened now must not take its number
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
            continue
        if isinstance(stream, io.TextIOWrapper) and "utf" not in stream.encoding.lower():
            stream.reconfigure(errors="backslashreplace" if kind else "strict")
        # other types are of a test, or of a console of Windows
        if kind and type(stream) is io.TextIOWrapper and _is_file(stream):
            setattr(sys, name, _text_stream(kind, stream))


def _is_file(stream: io.TextIOWrapper) -> bool:
    """Return whether a stream writes bytes to a file; the one of a console of Windows writes characters."""
    return isinstance(getattr(stream.buffer, "raw", stream.buffer), io.FileIO)


def _text_stream(kind: type[io.FileIO], stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """Return a text stream that writes to the file of another one through a `FileIO` of that kind."""
    file = kind(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        # the former with `python -u`
        file if stream.write_through else io.BufferedWriter(file),
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def main() -> None:
    """Run the command line; user errors print a message and exit with code 2."""
    try:
        _prepare_streams()
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
        _choose_waiting()
        from interlace.cli import log_to_stderr, run_command

        log_to_stderr()
        if any(name.startswith("HF_") for name in os.environ):
            from interlace.core.hub import check_variables

            check_variables()
        check_processes()
        if os.environ.pop("INTERLACE_END_WITH_STDIN", ""):
            Thread(target=_end_with_stdin, daemon=True).start()
        code = run_command(sys.argv[1:])
        sys.stdout.flush()
    except BaseException as error:
        code = exit_code(error)
        if code is None:
            raise
    sys.exit(code)


def _choose_waiting() -> None:
    """Let waiting threads spin if the machine is idle: it halves the time of a step there, and doubles it else."""
    if "GOMP_SPINCOUNT" in os.environ:
        return
    if _is_busy():
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    else:
        os.environ["GOMP_SPINCOUNT"] = "20000"


def _end_with_stdin() -> None:
    """End this process, and its group if it leads one, when a study closes its standard input or is gone.

    A process that handles SIGTERM, which saves a checkpoint, gets that; others are interrupted, unless they ignore it.
    """
    from interlace.core.system import end_group

    while os.read(0, 1):
        pass
    gentle = signal.SIGTERM
    if not callable(signal.getsignal(signal.SIGTERM)) and callable(
        signal.getsignal(signal.SIGINT)
    ):
        gentle = signal.SIGINT
    end_group(gentle, 60)  # a library may swallow the gentle one


def exit_code(error: BaseException) -> int | None:
    """Print what an error means for the user, and return the exit code; None if a traceback is to be printed.

    User errors have the code 2, an interrupted command 130. What may be a bug of ours says so.
    """
    if os.environ.get("INTERLACE_TRACEBACK"):
        return None
    if isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemExit) and error.code == 130
    ):
        # of torchrun's processes; our console may be half imported
        if os.environ.get("RANK", "0") == "0":
            sys.stderr.write("interrupted; rerun the same command to resume what it saved\n")
        return 130
    from rich.markup import escape

    from interlace.cli import notes
    from interlace.core.display import block, message
    from interlace.core.errors import InterlaceError, LostProcessError

    text = explanation(error)
    if text is None:
        return None
    if (
        notes.quiet
        and isinstance(error, InterlaceError)
        and not isinstance(error, LostProcessError)
    ):
        # mostly the first process has the same error and ends this one by torchrun
        time.sleep(_FIRST)
    notes.quiet = False
    if text:
        notes.print(
            f"[bold]error:[/] {escape(block(message(text)))}", highlight=False, soft_wrap=True
        )
    return 2


_FIRST = 5.0  # seconds in which the first process can report an error of all processes, and finish what it writes
_NO_MEMORY = re.compile(
    "MemoryError|OutOfMemory|out of memory|not enough memory|can't allocate memory|bad_alloc"
)
_LIBRARIES = {
    "json",
    "tomllib",
    "pyarrow",
    "safetensors",
    "tokenizers",
    "transformers",
    "huggingface_hub",
    "zipfile",
}
_LIBRARIES |= {"pyo3_runtime"}  # where a library in Rust panics


def explanation(error: BaseException) -> str | None:
    """Return the message of an error for the user, empty after the help that Typer prints; None for a bug of ours."""
    from interlace.core.errors import InterlaceError

    if isinstance(error, InterlaceError):
        return str(error)
    if hasattr(error, "format_message"):  # of Typer
        return _option_error(error)
    # disk full or folder not writable
    if isinstance(error, OSError) and error.errno is not None:
        return _system_error(error)
    name = type(error).__name__
    if isinstance(error, MemoryError | RuntimeError) and _NO_MEMORY.search(f"{name}: {error}"):
        return f"out of memory; lower the size of the model, of batches or of the vocabulary ({_headline(error)})"
    package = type(error).__module__.partition(".")[0].removesuffix("_rust")
    if (
        isinstance(error, RecursionError | UnicodeError | OverflowError)
        or package in _LIBRARIES
    ):
        return f"unexpected {_headline(error)} (a bug or a damaged file; INTERLACE_TRACEBACK=1 shows where)"
    return None


def _option_error(error: Any) -> str:
    text: str = error.format_message()
    is_unknown = hasattr(error, "possibilities")
    if is_unknown and any("--set" in parameter.opts for parameter in error.ctx.command.params):
        text += f"\nA setting is changed by --set {error.option_name.lstrip('-')}=VALUE."
    return f"{text}\nSee `{error.ctx.command_path} --help`." if text and error.ctx else text


def _system_error(error: OSError) -> str:
    if error.filename:
        return f"{error.filename}: {error.strerror}"
    if error.errno == errno.ENOSPC:
        return f"{error.strerror}; is standard output's disk or {gettempdir()} full?"
    return str(error.strerror)


def _headline(error: BaseException) -> str:
    """Return the type of an error and the first line of its message."""
    name = type(error).__name__
    lines = str(error).strip().splitlines()
    if lines:
        return f"{name}: {lines[0][:300]}"
    return name


def check_processes() -> None:
    """Check the environment that `torchrun` sets; raise a SettingsError if it is incomplete or no number."""
    from interlace.core.errors import SettingsError

    count = os.environ.get("WORLD_SIZE", "1")
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
        if not os.environ.get(name, "1").isdigit():
            raise SettingsError(
                f"{name}={os.environ[name]!r} in the environment: expected a number, set by torchrun"
            )
    if int(count) > 1 and not {"RANK", "MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys():
        raise SettingsError(
            f"WORLD_SIZE={count} in the environment without RANK, MASTER_ADDR and MASTER_PORT: start "
            "several processes with torchrun, or unset it"
        )


if __name__ == "__main__":
    main()
