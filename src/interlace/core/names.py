"""Validated names that become parts of file names: languages, language pairs, corpora, tasks, systems of studies.

Settings declare them as `LanguageName`, `PairName` or `Name`, so that an untrusted recipe cannot write outside the
output folder. Code that writes a file under such a name takes the path from `file_in`, which also rejects unsafe names
from a checkpoint's configuration, a data file or Python.
"""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from interlace.core.errors import DataError

_MAX_LENGTH = 100  # characters; file systems take 255 bytes, and suffixes follow
_LANGUAGE = re.compile(r"\w+")
_DIRECTION = re.compile(r"\w+(-\w+)*")
_PAIR = re.compile(r"\w+-\w+")
_NAME = re.compile(r"\w[\w.+-]*")
_EXPECTED_LANGUAGE = "a language is letters, digits and '_', such as 'en' or 'zh_tw'"


def check_single_language(name: str) -> str:
    """Return the name of a language unchanged; raise a ValueError if it is invalid, such as one with '-'."""
    return _matching(_LANGUAGE, name, _EXPECTED_LANGUAGE)


def check_language(name: str) -> str:
    """Return the name of a language, or a direction such as `en-de`, unchanged; raise a ValueError if it is invalid."""
    return _matching(_DIRECTION, name, _EXPECTED_LANGUAGE)


def check_pair(name: str) -> str:
    """Return the name of a pair of languages unchanged; raise a ValueError if the name is invalid."""
    return _matching(_PAIR, name, "a pair is two languages joined by '-', such as 'en-de'")


def check_name(name: str) -> str:
    """Return a name unchanged; raise a ValueError unless it is letters, digits, _ and, not at its start, . + -."""
    return _matching(_NAME, name, "a name is letters, digits and . + - _, such as 'held-out'")


SingleLanguage = Annotated[str, AfterValidator(check_single_language)]
LanguageName = Annotated[str, AfterValidator(check_language)]
PairName = Annotated[str, AfterValidator(check_pair)]
Name = Annotated[str, AfterValidator(check_name)]


def file_in(folder: Path, name: str) -> Path:
    """Return the path of a file or folder directly inside a folder; raise a DataError for a path elsewhere."""
    if not name or name in {".", ".."} or set(name) & {"/", "\\", "\0"}:
        raise DataError(
            f"{name!r} cannot be the name of a file in {folder}: expected a name without '/' or '\\'"
        )
    return folder / name


def _matching(pattern: re.Pattern[str], name: str, expected: str) -> str:
    if pattern.fullmatch(name) and len(name) <= _MAX_LENGTH:
        return name
    raise ValueError(f"{expected}; it becomes a part of file names, found {name!r}")
