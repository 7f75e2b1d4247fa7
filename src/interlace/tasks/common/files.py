"""Locate the files of a task: patterns of paths under the data root, filled in by split and language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from interlace.core.errors import DataError, did_you_mean
from interlace.readers.hub import HubAddress, is_hub
from interlace.text.codes import three_letters, two_letters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SPLITS = ("train", "dev", "test", "translated")  # translated: test text translated into the source language
THREE_LETTER = {"language3": "language", "source3": "source", "target3": "target"}  # placeholder -> its language
PLACEHOLDERS = ("split", "language", "source", "target", "context", "question", *THREE_LETTER)
MAX_LISTED = 12  # languages named in an error

_MAX_ROWS = 1 << 40
_ROWS = re.compile(r"\[(-?\d*):(-?\d*)\]$")

FilePatterns = str | list[str] | dict[str, str | list[str]]


class MissingDataError(DataError):
    """A file does not exist, or no pattern names one."""


# ---- patterns as a setting ----


def _flatten(files: Any) -> Any:
    """Join nested keys: TOML reads an unquoted `train.en = ..` as a table inside a table."""
    if not isinstance(files, dict):
        return files
    flat: dict[str, Any] = {}
    for key, value in files.items():
        items = {f"{key}.{name}": item for name, item in value.items()} if isinstance(value, dict) else {key: value}
        if duplicates := flat.keys() & items.keys():
            raise ValueError(f"{min(duplicates)!r} is given twice")
        flat |= items
    return flat


def _check(files: FilePatterns) -> FilePatterns:
    """Reject unknown splits, unknown placeholders, empty lists, and rows that two splits share."""
    for key, patterns in files.items() if isinstance(files, dict) else [("", files)]:
        split = key.partition(".")[0]
        if isinstance(files, dict) and split not in SPLITS:
            hint = did_you_mean(split, SPLITS)
            raise ValueError(f"{key!r}: expected a split, or a split and a language such as 'test.de'{hint}")
        if not patterns:
            raise ValueError(f"{key!r} names no file" if key else "the list of files is empty")
        for pattern in _as_list(patterns):
            path = check_pattern(_split_rows(pattern)[0], PLACEHOLDERS)
            if is_hub(path):
                HubAddress.parse(path)
    if isinstance(files, dict):
        _reject_shared_rows(files)
    return files


def _reject_shared_rows(files: dict[str, str | list[str]]) -> None:
    """Reject rows of one file in two splits of a language.

    Bounds counted from the end only overlap with bounds counted from the end: the number of rows is unknown here.
    """
    for language in {key.partition(".")[2] for key in files}:  # "": all other languages
        used = []
        for split in SPLITS[:3]:
            key = f"{split}.{language}" if f"{split}.{language}" in files else split
            for pattern in _as_list(files.get(key, [])):
                path, rows = _split_rows(
                    pattern.replace("{split}", split).replace("{language}", language or "{language}")
                )
                used.append((key, path, rows or slice(None)))
        for (key, path, rows), (other_key, other_path, other_rows) in combinations(used, 2):
            if key != other_key and path == other_path and _overlap(rows, other_rows):
                raise ValueError(f"{key!r} and {other_key!r} both hold rows of {path}; use '[:1000]' and '[1000:]'")


def _overlap(first: slice, second: slice) -> bool:
    (start, stop, _), (other_start, other_stop, _) = first.indices(_MAX_ROWS), second.indices(_MAX_ROWS)
    return max(start, other_start) < min(stop, other_stop)


def _split_rows(pattern: str) -> tuple[str, slice | None]:
    """Split `train.tsv[:2000]` into the path and the rows."""
    match = _ROWS.search(pattern)
    if match is None:
        return pattern, None
    start, stop = (int(bound) if bound else None for bound in match.groups())
    return pattern[: match.start()], slice(start, stop)


def _as_list(patterns: str | list[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else patterns


def check_pattern(pattern: str, placeholders: Iterable[str]) -> str:
    """Return the pattern unchanged, or raise ValueError for a placeholder that is not in `placeholders`."""
    try:
        names = [name for _, name, _, _ in Formatter().parse(pattern) if name is not None]
    except ValueError as error:
        raise ValueError(f"{pattern!r} is not a pattern of a path: {error}") from None
    for name in names:
        if name not in placeholders:
            raise ValueError(f"{pattern!r}: unknown placeholder {{{name}}}{did_you_mean(name, placeholders)}")
    return pattern


def require_split(files: FilePatterns) -> None:
    """Raise ValueError for a pattern that names the same file in every split."""
    for pattern in () if isinstance(files, dict) else _as_list(files):
        if "{split}" not in pattern:
            raise ValueError(
                f"files: {pattern!r} is the same file for train, dev and test; put {{split}} into it, or give a table "
                'of patterns, such as {train = "a.tsv[200:]", test = "a.tsv[:200]", ..}'
            )


Files = Annotated[FilePatterns, BeforeValidator(_flatten), AfterValidator(_check)]
"""One pattern for all files, or a table of patterns whose keys are a split (`"test"`) or a split and a language
(`"test.de"`, which takes precedence). Placeholders: `{split}`, `{language}`; for pairs `{source}` and `{target}`; for
questions in another language than their passages `{context}` and `{question}`; `{language3}`, `{source3}` and
`{target3}` are three-letter codes. The files of a list are read one after another. Rows behind a pattern,
`dev.tsv[:2000]`, select a part of a file. `hub:facebook/xnli/de/test` names a data set of the Hugging Face Hub, its
configuration and split, optionally with `@REVISION`; a folder `facebook/xnli` under the data root takes precedence. The
reader `hub` reads it."""


# ---- finding files ----


@dataclass(frozen=True)
class FilePart:
    """A file or a Hub data set, or some of its rows, counted as the reader returns them."""

    path: Path
    rows: slice | None = None


@dataclass(frozen=True)
class FileQuery:
    """Which file a task needs.

    language: the language that is scored; of a pair, the target. source: of a pair, the other language.
    """

    task: str
    split: str
    language: str
    root: Path
    source: str = ""

    @property
    def context(self) -> str:
        """The language of passages: the first of `en-de`."""
        return self.language.partition("-")[0]

    @property
    def question(self) -> str:
        """The language of questions: the second of `en-de`, or the only one."""
        return self.language.partition("-")[2] or self.language

    @property
    def placeholders(self) -> dict[str, str]:
        """Values of all placeholders but the language."""
        names = {"split": self.split, "source": self.source, "target": self.language}
        return {**names, "context": self.context, "question": self.question}

    @property
    def missing(self) -> str:
        """The beginning of an error about missing data."""
        pair = f" with source {self.source!r}" if self.source else ""
        return f"{self.task}: no {self.split} data in {self.language!r}{pair}"


def find_file(files: FilePatterns, query: FileQuery, language: str | None = None) -> Path:
    """Return the one whole file that `files` names; of a pair, for the side in `language`.

    Raises:
        DataError: no such file (lists the languages that have one), several files, or rows of one.
    """
    parts = find_parts(files, query, language)
    if len(parts) > 1 or parts[0].rows:
        raise DataError(f"{query.task}: expected one whole file without rows '[a:b]', found {parts[0].path} ..")
    return parts[0].path


def find_parts(files: FilePatterns, query: FileQuery, language: str | None = None) -> list[FilePart]:
    """Return the files, or rows of files, that `files` names, in its order.

    Raises:
        MissingDataError: no such file; lists the languages that have one.
    """
    language = query.language if language is None else language
    parts = []
    for pattern_and_rows in _patterns(files, query):
        pattern, rows = _split_rows(pattern_and_rows)
        paths = list(_candidate_paths(pattern, query, language))
        path = paths[0] if is_hub(pattern) else next(filter(Path.is_file, paths), None)
        if path is None:
            raise MissingDataError(f"{query.missing}: there is no file {paths[0]}{_available(files, pattern, query)}")
        parts.append(FilePart(path, rows))
    return parts


def find_sides(files: FilePatterns, query: FileQuery) -> list[Path]:
    """Return the files that `files` names; of a pair, those of the target, then those of the source."""
    return [part.path for side in (query.language, query.source) if side for part in find_parts(files, query, side)]


def expected_files(files: FilePatterns, query: FileQuery) -> list[Path]:
    """Return the whole files that `files` names, whether they exist or not, without Hub data sets.

    Raises:
        MissingDataError: it names none for this split and language.
    """
    found = []
    for pattern in (_split_rows(pattern)[0] for pattern in _patterns(files, query)):
        if not is_hub(pattern):
            paths = list(_candidate_paths(pattern, query, query.language))
            found.append(next(filter(Path.is_file, paths), paths[0]))
    return found


def translated_files(files: FilePatterns, language: str, source: str) -> FilePatterns:
    """Return the patterns that read the translated test text of a language as the test text of the source language.

    Raises:
        MissingDataError: the files name no translation.
    """
    values = {"{split}": "translated", "{language}": language, "{language3}": three_letters(language)[0]}
    patterns = _patterns(files, FileQuery("translate-test", "translated", language, Path()))
    for placeholder, value in values.items():
        patterns = [pattern.replace(placeholder, value) for pattern in patterns]
    return {f"test.{source}": patterns}


def languages_with(pattern: str, query: FileQuery) -> set[str]:
    """Return the languages that have files, such as `en-de` where passages and questions differ."""
    names = [name for _, name, _, _ in Formatter().parse(pattern) if name is not None]
    kinds = (["target", "target3"], ["context", "question"])
    wanted = next((kind for kind in kinds if set(kind) & set(names)), ["language", "language3"])
    wanted = [name for name in wanted if name in names]
    if not wanted:
        return set()
    fixed = {"split": query.split, "source": query.source, "source3": three_letters(query.source)[0]}
    glob, regex = "", ""
    for text, name, _, _ in Formatter().parse(pattern):
        glob, regex = glob + text, regex + re.escape(text)
        if name is not None:
            glob += fixed.get(name, "*")
            regex += re.escape(fixed[name]) if name in fixed else _group(name, regex)
    matches = (re.fullmatch(regex, path.relative_to(query.root).as_posix()) for path in query.root.glob(glob))
    return {
        "-".join(dict.fromkeys(two_letters(match[name]) if name in THREE_LETTER else match[name] for name in wanted))
        for match in matches
        if match
    }


def _group(name: str, regex: str) -> str:
    """Return the regular expression of a placeholder, which has the same value everywhere."""
    return f"(?P={name})" if f"(?P<{name}>" in regex else f"(?P<{name}>[^/.]+)"


def _candidate_paths(pattern: str, query: FileQuery, language: str) -> Iterator[Path]:
    """Yield the path with each of the three-letter codes of its languages."""
    names = {**query.placeholders, "language": language}
    codes = {name: three_letters(name) for name in (language, query.source, query.language)}
    for choice in product(*codes.values()):
        three = dict(zip(codes, choice, strict=True))
        path = pattern.format(**names, **{key: three[names[of]] for key, of in THREE_LETTER.items()})
        yield Path(str(HubAddress.parse(path).under(query.root))) if is_hub(path) else query.root / path


def _patterns(files: FilePatterns, query: FileQuery) -> list[str]:
    if not isinstance(files, dict):
        return _as_list(files)
    pair = f"{query.split}.{query.source}-{query.language}"
    for key in (pair, f"{query.split}.{query.language}", query.split):
        if key in files:
            return _as_list(files[key])
    listed = _listed(_own_languages(files, query.split), query.split)
    raise MissingDataError(f"{query.missing}: 'files' names none{listed}")


def _available(files: FilePatterns, pattern: str, query: FileQuery) -> str:
    """Return the end of an error: the languages that have data."""
    if not query.root.is_dir():
        return f"; the data root {query.root} is no folder"
    own = _own_languages(files, query.split) - {query.language}
    return _listed(languages_with(pattern, query) | own, query.split)


def _own_languages(files: FilePatterns, split: str) -> set[str]:
    """Return the languages that have an entry of their own in a table."""
    return {key.partition(".")[2] for key in files if key.startswith(f"{split}.")} if isinstance(files, dict) else set()


def _listed(languages: set[str], split: str) -> str:
    names = sorted(languages)
    if not names:
        return "; there is none in any language"
    return f"; there is {split} data in: {', '.join(names[:MAX_LISTED])}{', ...' if len(names) > MAX_LISTED else ''}"
