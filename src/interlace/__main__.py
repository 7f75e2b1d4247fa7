"""`python -m interlace` and the `interlace` command."""

import os
import sys
import time
from pathlib import Path


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


def main() -> None:
    """Run the command line; user errors print a message and exit with code 2."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    if "GOMP_SPINCOUNT" not in os.environ:
        # Spinning threads halve the time of a step on an idle machine, and double it on a busy one.
        os.environ.setdefault(*(("OMP_WAIT_POLICY", "PASSIVE") if _is_busy() else ("GOMP_SPINCOUNT", "20000")))
    from interlace.cli import application, note_to_stderr, notes
    from interlace.core.errors import InterlaceError

    note_to_stderr()
    try:
        application()()
    except InterlaceError as error:
        from interlace.experiments.download import download_hint

        text = f"{error}{download_hint(str(error))}"
        notes.print(f"[bold]error:[/] {_plain(text)}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        notes.print("stopped; rerun the same command to resume", highlight=False)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
    except OSError as error:  # disk full or folder not writable; without errno it is a bug
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
