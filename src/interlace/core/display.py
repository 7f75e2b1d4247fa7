r"""Make text of data, files and servers safe to show: no terminal escapes, no secrets, of bounded length.

`InterlaceError` and the log pass their messages through `message`; the consoles of the command line
pass all that they print through `visible`.
"""

import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

MAX_MESSAGE = 4000  # characters of a message; its end, with the remedy, is kept
_END = 1000
_NOTE = 40  # characters of the note in place of the middle
_MAX_LISTED = 20
_MAX_NAME = 200
_HIDDEN = "***"
_MIN_SECRET = 6  # characters; shorter ones occur in words
# C0 except tab and newline, DEL and C1, marks and overrides of direction, separators of lines, lone surrogates.
_CONTROL = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
_USER_OF_ADDRESS = re.compile(r"(?<=://)[^\s/?#]+@")
_PASSWORD = re.compile(r"://[^\s/?#:]*:([^\s/?#]+)@")
# tokens of the hub have some 34 letters and digits; a name such as `hf_checkpoints` is none
_TOKEN = re.compile(r"(?<=bearer )[^\s'\"]+|\bhf_[a-z0-9]{20,}", re.IGNORECASE)


_shown_names: dict[str, str] = {}  # of temporary files


def show_as(path: str, name: str) -> None:
    """Let messages name a temporary file by what it is a copy of."""
    _shown_names[path] = name


def message(text: str) -> str:
    """Return the text of a message as it may be shown: without secrets, not too long, control characters visible."""
    for path, name in _shown_names.items():
        text = text.replace(path, name)
    shown = visible(without_secrets(text))  # escapes are longer than what they stand for
    if len(shown) <= MAX_MESSAGE:
        return shown
    return shortened(shown, MAX_MESSAGE - _NOTE)


class VisibleRecord(logging.LogRecord):
    """A line of the log, of any library, that cannot control the terminal or pass for several lines."""

    def getMessage(self) -> str:  # noqa: N802 - the name in `logging`
        """Return the message as it may be shown."""
        return block(message(super().getMessage()))


def timed_lines() -> logging.Handler:
    """Return a handler that writes log lines with their time to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    return handler


def block(text: str) -> str:
    """Return a text whose further lines are indented, so that none can pass for a message of its own."""
    return text.rstrip("\n").replace("\n", "\n    ")


def visible(text: str) -> str:
    r"""Return text with control characters and marks of direction as escapes, which are valid in JSON above U+001F.

    >>> visible("a\x1b[31m\u202eb\n")
    'a\\x1b[31m\\u202eb\n'
    """
    return _CONTROL.sub(lambda match: escaped(match[0]), text)


def escaped(character: str) -> str:
    r"""Return the escape of a character.

    >>> print(escaped("\x1b"), escaped("\u2028"), escaped("\U000e0001"))
    \x1b \u2028 \U000e0001
    """
    code = ord(character)
    if code < 0x20:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def is_utf8(text: str) -> bool:
    """Return whether text, such as the name of a file, can be written as UTF-8."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def without_secrets(text: str) -> str:
    """Return text without tokens of the hub, and without users and passwords of addresses.

    >>> without_secrets("https://ada:secret@example.org/x refuses Bearer abc")
    'https://***@example.org/x refuses Bearer ***'
    """
    for secret in _secrets():
        text = text.replace(secret, _HIDDEN)
    return _TOKEN.sub(_HIDDEN, _USER_OF_ADDRESS.sub(f"{_HIDDEN}@", text))


def _secrets() -> Iterator[str]:
    """Yield the token of the hub, and the passwords of addresses in the environment, such as that of a proxy."""
    secrets = [os.environ.get("HF_TOKEN"), os.environ.get("HUGGING_FACE_HUB_TOKEN")]
    if "huggingface_hub" in sys.modules:
        from huggingface_hub import get_token

        with suppress(OSError, ValueError):
            secrets.append(get_token())
    for value in os.environ.values():
        secrets += _PASSWORD.findall(value)
    for secret in filter(None, secrets):
        if len(secret.strip()) >= _MIN_SECRET:
            yield secret.strip()


def shortened(text: str, length: int) -> str:
    """Return text of at most about `length` characters, its middle left out.

    >>> shortened("x" * 100, 20)
    'xxxxxxxxxxxxxxx ... (80 characters) ... xxxxx'
    """
    if len(text) <= length:
        return text
    end = min(_END, length // 4)
    return f"{text[: length - end]} ... ({len(text) - length:,} characters) ... {text[-end:]}"


def listed(names: Iterable[object]) -> str:
    """Return the first names, comma-separated, and how many more there are; long names are shortened.

    >>> listed(range(25))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 5 more'
    """
    remaining = iter(names)
    text = ", ".join(shortened(str(name), _MAX_NAME) for name in islice(remaining, _MAX_LISTED))
    omitted = sum(1 for _ in remaining)
    return f"{text} and {omitted:,} more" if omitted else text
