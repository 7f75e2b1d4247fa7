"""Where a task's files stand: patterns of paths under the data root, by split and language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BeforeValidator

from interlace.core.errors import DataError, did_you_mean
from interlace.readers.hub import HubAddress, is_hub
from interlace.tasks._file_tables import flat
from interlace.text.codes import three_letters, two_letters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SPLITS = ("train", "dev", "test", "translated")  # the last: test text in the source language
THREE = {"language3": "language", "source3": "source", "target3": "target"}  # the same in three letters
FILLED = ("split", "language", "source", "target", "context", "question", *THREE)
_LEARNT = SPLITS[:3]
_LONG = 1 << 40  # rows, more than any file has
SHOWN = 12  # names listed in a message
_ROWS = re.compile(r"\[(-?\d*):(-?\d*)\]$")


class MissingDataError(DataError):
    """There is no such file, or none is named."""


Named = str | list[str] | dict[str, str | list[str]]


def _check(files: Named) -> Named:
    """Refuse what could never name a file: an unknown split, or a placeholder that nothing fills in."""
    for key, patterns in files.items() if isinstance(files, dict) else [("", files)]:
        split = key.partition(".")[0]
        if isinstance(files, dict) and split not in SPLITS:
            message = f"{key!r} should be a split, or a split and a language such as 'test.de'"
            raise ValueError(message + did_you_mean(split, SPLITS))
        if not patterns:
            message = f"{key!r} names no file" if key else "a list of files names none"
            raise ValueError(message)
        for pattern in [patterns] if isinstance(patterns, str) else patterns:
            plain = check_pattern(_sliced(pattern)[0], FILLED)
            if is_hub(plain):
                HubAddress.parse(plain)
    if isinstance(files, dict):
        _refuse_shared(files)
    return files


def _refuse_shared(files: dict[str, str | list[str]]) -> None:
    """Refuse rows of one file that stand in two splits of one language: what is learnt or chosen on is not scored on.

    Bounds from the end are met only by bounds from the end: how many rows there are is not known here.
    """
    for language in {key.partition(".")[2] for key in files}:  # "": all others
        taken = []
        for split in _LEARNT:
            key = f"{split}.{language}" if f"{split}.{language}" in files else split
            for pattern in _listing(files.get(key, [])):
                plain, rows = _sliced(pattern.replace("{split}", split).replace("{language}", language or "{language}"))
                taken.append((key, plain, rows or slice(None)))
        for (one, path, rows), (other, also, others) in combinations(taken, 2):
            if one != other and path == also and _meet(rows, others):
                message = f"{one!r} and {other!r} both hold rows of {path}; part them, as '[:1000]' and '[1000:]'"
                raise ValueError(message)


def _meet(one: slice, other: slice) -> bool:
    """Whether rows of a long file are in both."""
    (first, last, _), (begin, end, _) = one.indices(_LONG), other.indices(_LONG)
    return max(first, begin) < min(last, end)


def _sliced(pattern: str) -> tuple[str, slice | None]:
    """The pattern without the rows behind it, and the rows: `train.tsv[:2000]` are the first 2,000."""
    match = _ROWS.search(pattern)
    if match is None:
        return pattern, None
    first, last = (int(bound) if bound else None for bound in match.groups())
    return pattern[: match.start()], slice(first, last)


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


Files = Annotated[Named, BeforeValidator(flat), AfterValidator(_check)]
"""One pattern for all files, or a table of patterns whose keys are a split (`"test"`) or one language's part of it
(`"test.de"`, which goes first). Filled in: `{split}`, `{language}`, for pairs `{source}` and `{target}`, and for
questions in another language than their passages `{context}` and `{question}`. `{language3}`, `{source3}` and
`{target3}` are their codes of three letters, which many data sets use. A list of patterns is read one after another;
rows behind a pattern, `dev.tsv[:2000]`, take a part of what the file holds. In place of a path,
`hub:facebook/xnli/de/test` names a data set of the Hugging Face hub, its configuration and split, `@REVISION` behind
them if need be; what stands under the data root as `facebook/xnli` is taken from there. The reader `hub` reads it."""


@dataclass(frozen=True)
class Part:
    """A file or a data set of the hub, or some rows of it, counted as the reader hands them over."""

    path: Path
    rows: slice | None = None


@dataclass(frozen=True)
class FileQuery:
    """Which file is wanted. `of` is the language the task was asked for; of a pair, it is the target."""

    task: str
    split: str
    of: str
    root: Path
    source: str = ""

    @property
    def context(self) -> str:
        """The language of passages: the first of `en-de`."""
        return self.of.partition("-")[0]

    @property
    def question(self) -> str:
        """The language of questions: the second of `en-de`, or the only one."""
        return self.of.partition("-")[2] or self.of

    @property
    def filled(self) -> dict[str, str]:
        """What placeholders stand for, but for the language."""
        names = {"split": self.split, "source": self.source, "target": self.of}
        return {**names, "context": self.context, "question": self.question}

    @property
    def missing(self) -> str:
        """The beginning of a message that it is not there."""
        beside = f" beside {self.source!r}" if self.source else ""
        return f"{self.task}: no {self.split} data in {self.of!r}{beside}"


def find(files: Named, asked: FileQuery, language: str | None = None) -> Path:
    """The one whole file that `files` names, for one side of a pair that of `language`.

    Raises:
        DataError: there is none (says for which languages there is), or several, or rows of one.
    """
    parts = find_parts(files, asked, language)
    if len(parts) > 1 or parts[0].rows:
        raise DataError(f"{asked.task}: one whole file is needed here, without rows '[a:b]', found {parts[0].path} ..")
    return parts[0].path


def find_parts(files: Named, asked: FileQuery, language: str | None = None) -> list[Part]:
    """The files that `files` names, or the rows of them that it asks for, in its order.

    Raises:
        DataError: there is none; says for which languages there is.
    """
    language = asked.of if language is None else language
    parts = []
    for sliced in _patterns(files, asked):
        pattern, rows = _sliced(sliced)
        paths = list(_paths(pattern, asked, language))
        path = paths[0] if is_hub(pattern) else next(filter(Path.is_file, paths), None)
        if path is None:
            raise MissingDataError(f"{asked.missing}: there is no file {paths[0]}{_instead(files, pattern, asked)}")
        parts.append(Part(path, rows))
    return parts


def find_sides(files: Named, asked: FileQuery) -> list[Path]:
    """The files that `files` names, of a pair those of both sides, the target's first; they may be the same.

    Raises:
        DataError: as `find_parts`.
    """
    return [part.path for side in (asked.of, asked.source) if side for part in find_parts(files, asked, side)]


def named(files: Named, asked: FileQuery) -> list[Path]:
    """The whole files that `files` names, whether they are there or not; data sets of the hub are left out.

    Raises:
        MissingDataError: it names none for this split and language.
    """
    found = []
    for pattern in (_sliced(sliced)[0] for sliced in _patterns(files, asked)):
        if not is_hub(pattern):
            paths = list(_paths(pattern, asked, asked.of))
            found.append(next(filter(Path.is_file, paths), paths[0]))
    return found


def _paths(pattern: str, asked: FileQuery, language: str) -> Iterator[Path]:
    """Where a file may stand: with each of the three-letter codes that its languages are known by."""
    names = {**asked.filled, "language": language}
    known = {name: three_letters(name) for name in (language, asked.source, asked.of)}
    for codes in product(*known.values()):
        three = dict(zip(known, codes, strict=True))
        filled = pattern.format(**names, **{key: three[names[of]] for key, of in THREE.items()})
        yield Path(str(HubAddress.parse(filled).under(asked.root))) if is_hub(filled) else asked.root / filled


def translated(files: Named, language: str, source: str) -> Named:
    """Where the translation of one language's test text into the source language stands, as the source's test text.

    Raises:
        DataError: the files name no such translation.
    """
    asked = FileQuery("translate-test", "translated", language, Path())
    filled = {"{split}": "translated", "{language}": language, "{language3}": three_letters(language)[0]}
    patterns = _patterns(files, asked)
    for name, value in filled.items():
        patterns = [pattern.replace(name, value) for pattern in patterns]
    return {f"test.{source}": patterns}


def _patterns(files: Named, asked: FileQuery) -> list[str]:
    if isinstance(files, dict):
        pair = f"{asked.split}.{asked.source}-{asked.of}"
        for key in (pair, f"{asked.split}.{asked.of}", asked.split):
            if key in files:
                return _listing(files[key])
        others = _listed(_named(files, asked.split), asked.split)
        raise MissingDataError(f"{asked.missing}: 'files' names none{others}")
    return _listing(files)


def _listing(patterns: str | list[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else patterns


def _instead(files: Named, pattern: str, asked: FileQuery) -> str:
    """For which languages there is data, as the end of a message."""
    if not asked.root.is_dir():
        return f"; the data root {asked.root} is no folder"
    return _listed(languages_with(pattern, asked) | _named(files, asked.split) - {asked.of}, asked.split)


def _named(files: Named, split: str) -> set[str]:
    """Languages that have a file of their own in a table."""
    return {key.partition(".")[2] for key in files if key.startswith(f"{split}.")} if isinstance(files, dict) else set()


def _listed(languages: set[str], split: str) -> str:
    names = sorted(languages)
    if not names:
        return "; there is none in any language"
    return f"; there is {split} data in: {', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''}"


def languages_with(pattern: str, asked: FileQuery) -> set[str]:
    """Languages for which the pattern names files that exist; `en-de` where those of passages and questions differ."""
    names = [name for _, name, _, _ in Formatter().parse(pattern) if name is not None]
    kinds = (["target", "target3"], ["context", "question"])
    free = next((kind for kind in kinds if set(kind) & set(names)), ["language", "language3"])
    free = [name for name in free if name in names]
    if not free:
        return set()
    fixed = {"split": asked.split, "source": asked.source, "source3": three_letters(asked.source)[0]}
    glob, regex = "", ""
    for text, name, _, _ in Formatter().parse(pattern):
        glob, regex = glob + text, regex + re.escape(text)
        if name is not None:
            glob += fixed.get(name, "*")
            regex += re.escape(fixed[name]) if name in fixed else _group(name, regex)
    matches = (re.fullmatch(regex, path.relative_to(asked.root).as_posix()) for path in asked.root.glob(glob))
    return {"-".join(dict.fromkeys(_code(name, match[name]) for name in free)) for match in matches if match}


def _code(name: str, found: str) -> str:
    """The language that stands in the place of a name, as recipes know it."""
    return two_letters(found) if name in THREE else found


def _group(name: str, before: str) -> str:
    """What may stand for a placeholder; the same in all its places."""
    return f"(?P={name})" if f"(?P<{name}>" in before else f"(?P<{name}>[^/.]+)"
