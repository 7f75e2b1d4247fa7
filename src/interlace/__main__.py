"""`python -m interlace` and the `interlace` command."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path


def _is_busy() -> bool:
    """Whether other programs run on half of the cores just now, in each of three looks; False where nobody can tell."""
    for pause in (0.0, 0.005, 0.005):  # an idle machine is known at the first look, without waiting
        time.sleep(pause)
        try:
            loads = Path("/proc/loadavg").read_text(encoding="ascii")
        except OSError:
            return False
        others = int(loads.split()[3].partition("/")[0]) - 1  # this process is one of those that run
        if others * 2 < (os.cpu_count() or 1):
            return False
    return True


def main() -> None:
    """Run the command line; a user's mistake ends with its message and exit code 2, never a traceback."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    if "GOMP_SPINCOUNT" not in os.environ:
        # Threads that spin a while before they sleep halve a step on an idle machine, and double it beside others.
        os.environ.setdefault(*(("OMP_WAIT_POLICY", "PASSIVE") if _is_busy() else ("GOMP_SPINCOUNT", "20000")))
    from interlace.cli import application, note_to_stderr, notes
    from interlace.core.errors import InterlaceError

    note_to_stderr()
    try:
        application()()
    except InterlaceError as error:
        notes.print(f"[bold]error:[/] {_plain(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        notes.print("stopped; the same command goes on from the last checkpoint", highlight=False)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
    except OSError as error:  # the disk is full, a folder may not be written; without a number it is our own bug
        if error.errno is None:
            raise
        where = f"{error.filename}: " if error.filename else ""
        notes.print(f"[bold]error:[/] {_plain(where + str(error.strerror))}", highlight=False, soft_wrap=True)
        sys.exit(2)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


if __name__ == "__main__":
    main()
