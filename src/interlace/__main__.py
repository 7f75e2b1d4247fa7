"""`python -m interlace` and the `interlace` command."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; a user's mistake ends with its message and exit code 2, never a traceback."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin make a step 3 times as slow beside others
    from interlace.cli import application, note_to_stderr, notes
    from interlace.errors import InterlaceError

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
