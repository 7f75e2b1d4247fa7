"""Where a task's files stand: patterns of paths under the data root, by split and language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator

from interlace.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SPLITS = ("train", "dev", "test")
FILLED = ("split", "language", "source", "target")
SHOWN = 12  # names listed in a message


def _check(files: str | dict[str, str]) -> str | dict[str, str]:
    """Refuse what could never name a file: an unknown split, or a placeholder that nothing fills in."""
    for key, pattern in files.items() if isinstance(files, dict) else [("", files)]:
        split = key.partition(".")[0]
        if isinstance(files, dict) and split not in SPLITS:
            message = f"{key!r} should be a split, or a split and a language such as 'test.de'"
            raise ValueError(message + did_you_mean(split, SPLITS))
        check_pattern(pattern, FILLED)
    return files


def check_pattern(pattern: str, filled: Iterable[str]) -> str:
    """The pattern of a path unchanged, or a ValueError where it has a placeholder that is not in `filled`."""
    try:
        names = [name for _, name, _, _ in Formatter().parse(pattern) if name is not None]
    except ValueError as error:
        message = f"{pattern!r} is no pattern of a path: {error}"
        raise ValueError(message) from None
    for name in names:
        if name not in filled:
            message = f"{pattern!r}: nothing fills in {{{name}}}{did_you_mean(name, filled)}"
            raise ValueError(message)
    return pattern


Files = Annotated[str | dict[str, str], AfterValidator(_check)]
"""One pattern for all files, or a table of patterns whose keys are a split (`"test"`) or one language's part of it
(`"test.de"`, which goes first). Filled in: `{split}`, `{language}` and, for pairs, `{source}` and `{target}`."""


@dataclass(frozen=True)
class Asked:
    """Which file is wanted. `of` is the language the task was asked for; of a pair, it is the target."""

    task: str
    split: str
    of: str
    root: Path
    source: str = ""

    @property
    def missing(self) -> str:
        """The beginning of a message that it is not there."""
        beside = f" beside {self.source!r}" if self.source else ""
        return f"{self.task}: no {self.split} data in {self.of!r}{beside}"


def find(files: str | dict[str, str], asked: Asked, language: str | None = None) -> Path:
    """The file that `files` names, for one side of a pair that of `language`.

    Raises:
        DataError: there is none; says for which languages there is.
    """
    pattern = _pattern(files, asked)
    language = asked.of if language is None else language
    path = asked.root / pattern.format(split=asked.split, language=language, source=asked.source, target=asked.of)
    if path.is_file():
        return path
    raise DataError(f"{asked.missing}: there is no file {path}{_instead(files, pattern, asked)}")


def _pattern(files: str | dict[str, str], asked: Asked) -> str:
    if isinstance(files, str):
        return files
    for key in (f"{asked.split}.{asked.of}", asked.split):
        if key in files:
            return files[key]
    others = _listed(_named(files, asked.split), asked.split)
    raise DataError(f"{asked.missing}: 'files' names none{others}")


def _instead(files: str | dict[str, str], pattern: str, asked: Asked) -> str:
    """For which languages there is data, as the end of a message."""
    if not asked.root.is_dir():
        return f"; the data root {asked.root} is no folder"
    return _listed(languages_with(pattern, asked) | _named(files, asked.split) - {asked.of}, asked.split)


def _named(files: str | dict[str, str], split: str) -> set[str]:
    """Languages that have a file of their own in a table."""
    return {key.partition(".")[2] for key in files if key.startswith(f"{split}.")} if isinstance(files, dict) else set()


def _listed(languages: set[str], split: str) -> str:
    names = sorted(languages)
    if not names:
        return "; there is none in any language"
    return f"; there is {split} data in: {', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''}"


def languages_with(pattern: str, asked: Asked) -> set[str]:
    """Languages for which the pattern names files that exist."""
    free = "target" if "{target}" in pattern else "language"
    if f"{{{free}}}" not in pattern:
        return set()
    fixed = {"split": asked.split, "source": asked.source}
    glob, regex = "", ""
    for text, name, _, _ in Formatter().parse(pattern):
        glob, regex = glob + text, regex + re.escape(text)
        if name is not None:
            glob += fixed.get(name, "*")
            regex += re.escape(fixed[name]) if name in fixed else _group(name, regex)
    matches = (re.fullmatch(regex, path.relative_to(asked.root).as_posix()) for path in asked.root.glob(glob))
    return {match[free] for match in matches if match}


def _group(name: str, before: str) -> str:
    """What may stand for a placeholder; the same in all its places."""
    return f"(?P={name})" if f"(?P<{name}>" in before else f"(?P<{name}>[^/.]+)"
