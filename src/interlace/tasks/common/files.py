"""Files of a task: patterns of paths under the data root, filled in by split and language, and the text in them."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from glob import escape, glob
from itertools import combinations, product
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator

from interlace.core.data_root import Root, folders_of
from interlace.core.errors import DataError, did_you_mean
from interlace.core.files import must_not_be_special
from interlace.data import Sentences
from interlace.data.filters import on_all_sides, sides
from interlace.readers import READERS, is_hub
from interlace.readers.common.files import check_pattern
from interlace.readers.common.hub import HubAddress
from interlace.text import Text, TextPairs
from interlace.text.codes import three_letters, two_letters

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab

SPLITS = (
    "train",
    "dev",
    "test",
    "translated",
)  # translated: test text translated into the source language
THREE_LETTER = {
    "language3": "language",
    "source3": "source",
    "target3": "target",
}  # placeholder -> its language
PLACEHOLDERS = ("split", "language", "source", "target", "context", "question", *THREE_LETTER)
MAX_LISTED = 12  # languages named in an error

_MAX_ROWS = 1 << 40
_ROWS = re.compile(r"\[(-?\d*):(-?\d*)\]$")
_KIND_NAMES = {Text: "sentences", TextPairs: "pairs"}
_LANGUAGE_PLACEHOLDERS = (("target", "target3"), ("context", "question"), ("language", "language3"))

FilePatterns = str | list[str] | dict[str, str | list[str]]
ReaderSettings = dict[str, Any] | str
T = TypeVar("T", Text, TextPairs)
Chunks = list[tuple[Path, T]]
"""Text, each chunk with the file that it comes from."""

log = logging.getLogger(__name__)


class MissingDataError(DataError):
    """A file does not exist, or no pattern names one."""


@dataclass(frozen=True)
class _RowPattern:
    """A pattern of paths such as `train.tsv[:2000]`, split into the path and the rows."""

    path: str
    rows: slice | None

    @classmethod
    def parse(cls, pattern: str) -> _RowPattern:
        match = _ROWS.search(pattern)
        if match is None:
            return cls(pattern, None)
        start, stop = (int(bound) if bound else None for bound in match.groups())
        return cls(pattern[: match.start()], slice(start, stop))


def _flatten(files: Any) -> Any:
    """Join nested keys: TOML reads an unquoted `train.en = ..` as a table inside a table."""
    if not isinstance(files, dict):
        return files
    flat: dict[str, Any] = {}
    for key, value in files.items():
        items = {key: value}
        if isinstance(value, dict):
            items = {f"{key}.{name}": item for name, item in value.items()}
        if duplicates := flat.keys() & items.keys():
            raise ValueError(f"{min(duplicates)!r} is given twice")
        flat |= items
    return flat


def _check(files: FilePatterns) -> FilePatterns:
    """Reject unknown splits, unknown placeholders, empty lists, and rows that two splits share."""
    if not isinstance(files, dict):
        if not files:
            raise ValueError("the list of files is empty")
        _check_patterns(files)
        return files
    for key, patterns in files.items():
        split = key.partition(".")[0]
        if split not in SPLITS:
            hint = did_you_mean(split, SPLITS)
            raise ValueError(
                f"{key!r}: expected a split, or a split and a language such as 'test.de'{hint}"
            )
        if not patterns:
            raise ValueError(f"{key!r} names no file")
        _check_patterns(patterns)
    _reject_shared_rows(files)
    return files


def _check_patterns(patterns: str | list[str]) -> None:
    for pattern in _as_list(patterns):
        path = check_pattern(_RowPattern.parse(pattern).path, PLACEHOLDERS)
        if is_hub(path):
            HubAddress.parse(path)


@dataclass(frozen=True)
class _UsedRows:
    """Rows of a file that a key of a table of patterns names; start, stop: as if the file had `_MAX_ROWS`."""

    key: str
    path: str
    start: int
    stop: int

    def overlaps(self, other: _UsedRows) -> bool:
        """Return whether another key has some of these rows."""
        same_file = self.key != other.key and self.path == other.path
        return same_file and max(self.start, other.start) < min(self.stop, other.stop)


def _reject_shared_rows(files: dict[str, str | list[str]]) -> None:
    """Reject rows of one file in two splits of a language.

    Bounds counted from the end only overlap with bounds counted from the end: the number of rows is unknown here.
    """
    languages = {key.partition(".")[2] for key in files}  # "": all others
    for language in languages:
        for first, second in combinations(_used_rows(files, language), 2):
            if first.overlaps(second):
                raise ValueError(
                    f"{first.key!r} and {second.key!r} both hold rows of {first.path}; use '[:1000]' and '[1000:]'"
                )


def _used_rows(files: dict[str, str | list[str]], language: str) -> list[_UsedRows]:
    """Return what the splits of a language read."""
    used = []
    for split in ("train", "dev", "test"):
        key = f"{split}.{language}"
        if key not in files:
            key = split
        for text in _as_list(files.get(key, [])):
            filled = text.replace("{split}", split)
            if language:
                filled = filled.replace("{language}", language)
            pattern = _RowPattern.parse(filled)
            start, stop, _ = (pattern.rows or slice(None)).indices(_MAX_ROWS)
            used.append(_UsedRows(key, pattern.path, start, stop))
    return used


def _as_list(patterns: str | list[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else patterns


def require_split(files: FilePatterns) -> None:
    """Raise ValueError for a pattern that names the same file in every split."""
    if isinstance(files, dict):
        return
    for pattern in _as_list(files):
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
reader `dataset` reads it."""


@dataclass(frozen=True)
class FilePart:
    """A file or a Hub data set, or some of its rows, counted as the reader returns them."""

    path: Path
    rows: slice | None = None

    def repeats(self, other: FilePart) -> bool:
        """Return whether another part surely has rows of this one."""
        return self.path == other.path and (
            self.rows is None or other.rows is None or self.rows == other.rows
        )


@dataclass(frozen=True)
class FileQuery:
    """Which file a task needs; language: that is scored; of a pair the target. source: the other one of a pair."""

    task: str
    split: str
    language: str
    root: Root
    source: str = ""

    @property
    def placeholders(self) -> dict[str, str]:
        """Values of all placeholders but the language; passages and questions are in the languages of `en-de`."""
        context, _, question = self.language.partition("-")
        return {
            "split": self.split,
            "source": self.source,
            "target": self.language,
            "context": context,
            "question": question or self.language,
        }

    @property
    def missing(self) -> str:
        """The beginning of an error about missing data."""
        pair = f" with source {self.source!r}" if self.source else ""
        return f"{self.task}: no {self.split} data in {self.language!r}{pair}"

    def require_pair(self) -> FileQuery:
        """Return the query itself; raise DataError if source and target are the same language."""
        if self.source == self.language:
            raise DataError(
                f"{self.task}: source and target are both {self.language!r}; set another source or leave it out"
            )
        return self


def find_file(files: FilePatterns, query: FileQuery, language: str | None = None) -> Path:
    """Return the one whole file, of a pair of the side in `language`; else raise a DataError, with languages."""
    parts = find_parts(files, query, language)
    if len(parts) > 1 or parts[0].rows:
        raise DataError(
            f"{query.task}: expected one whole file without rows '[a:b]', found {parts[0].path} .."
        )
    return parts[0].path


def find_parts(
    files: FilePatterns, query: FileQuery, language: str | None = None
) -> list[FilePart]:
    """Return the files, or rows of files, in order.

    language: of the side of a pair; None: the one that is scored.

    Raises:
        MissingDataError: a file is missing; it lists the languages that have one.
        DataError: two patterns lead to the same file, whose rows would count twice.
    """
    parts: list[FilePart] = []
    for pattern in _patterns(files, query):
        path = _existing_path(files, pattern.path, query, language)
        part = FilePart(path, pattern.rows)
        if any(part.repeats(earlier) for earlier in parts):
            raise DataError(
                f"{query.missing}: {path} is named twice; each of its rows would count twice"
            )
        parts.append(part)
    return parts


def _existing_path(
    files: FilePatterns, pattern: str, query: FileQuery, language: str | None
) -> Path:
    paths = _candidate_paths(pattern, query, language)
    path = paths[0] if is_hub(pattern) else _first_file(paths)
    if path is None:
        raise _missing_file(files, pattern, query, paths)
    return path


def _first_file(paths: Sequence[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def _missing_file(
    files: FilePatterns, pattern: str, query: FileQuery, paths: Sequence[Path]
) -> MissingDataError:
    """Return the error about a file that does not exist; raise a DataError if there is a pipe or a broken link."""
    for path in paths:
        must_not_be_special(path)
    folder = folders_of(query.root)[-1]
    reason = f"; the data root {folder} is no folder"
    if folder.is_dir():
        own_languages = _own_languages(files, query.split) - {query.language}
        reason = _listed(languages_with(pattern, query) | own_languages, query.split)
    return MissingDataError(f"{query.missing}: there is no file {paths[0]}{reason}")


def translated_files(files: FilePatterns, language: str, source: str) -> FilePatterns:
    """Return patterns of translated test text as the source's test set; raise a MissingDataError if there are none."""
    query = FileQuery("translate-test", "translated", language, Path())
    filled = []
    for pattern in _texts(files, query):
        path = pattern.replace("{split}", query.split).replace("{language}", language)
        filled.append(path.replace("{language3}", three_letters(language)[0]))
    return {f"test.{source}": filled}


def languages_with(pattern: str, query: FileQuery) -> set[str]:
    """Return the languages that have files, such as `en-de` where passages and questions differ."""
    fields = [(text, name) for text, name, _, _ in Formatter().parse(pattern)]
    wanted = _language_placeholders({name for _, name in fields})
    if not wanted:
        return set()
    fixed = {
        "split": query.split,
        "source": query.source,
        "source3": three_letters(query.source)[0],
    }
    wild = ""  # for `glob`
    regex = ""  # with a group for each placeholder
    for text, name in fields:
        wild += escape(text)
        regex += re.escape(text)
        if name in fixed:
            wild += fixed[name]
            regex += re.escape(fixed[name])
        elif name is not None:
            wild += "*"
            is_repeated = f"(?P<{name}>" in regex  # a placeholder has the same value everywhere
            regex += f"(?P={name})" if is_repeated else f"(?P<{name}>[^/.]+)"
    languages = set()
    for folder in folders_of(query.root):
        for path in glob(wild, root_dir=folder):  # noqa: PTH207 - also absolute
            match = re.fullmatch(regex, path)
            if match:
                codes = [
                    two_letters(match[name]) if name in THREE_LETTER else match[name]
                    for name in wanted
                ]
                languages.add("-".join(dict.fromkeys(codes)))
    return languages


def _language_placeholders(names: set[str | None]) -> list[str]:
    """Return the placeholders of a pattern that tell its language."""
    for kind in _LANGUAGE_PLACEHOLDERS:
        if present := [name for name in kind if name in names]:
            return present
    return []


def _candidate_paths(pattern: str, query: FileQuery, language: str | None) -> list[Path]:
    """Return the path with each of the three-letter codes of its languages."""
    if language is None:
        language = query.language
    names = {**query.placeholders, "language": language}
    codes = {name: three_letters(name) for name in (language, query.source, query.language)}
    paths = []
    for choice in product(*codes.values()):
        code_of = dict(zip(codes, choice, strict=True))
        three_letter = {
            placeholder: code_of[names[name]] for placeholder, name in THREE_LETTER.items()
        }
        path = pattern.format(**names, **three_letter)
        if is_hub(path):
            paths.append(Path(str(HubAddress.parse(path).under(query.root))))
        else:
            paths.append(query.root / path)
    return paths


def _patterns(files: FilePatterns, query: FileQuery) -> list[_RowPattern]:
    return [_RowPattern.parse(text) for text in _texts(files, query)]


def _texts(files: FilePatterns, query: FileQuery) -> list[str]:
    """Return the patterns of a split and language as they are written."""
    if not isinstance(files, dict):
        return _as_list(files)
    pair = f"{query.split}.{query.source}-{query.language}"
    for key in (pair, f"{query.split}.{query.language}", query.split):
        if key in files:
            return _as_list(files[key])
    listed = _listed(_own_languages(files, query.split), query.split)
    raise MissingDataError(f"{query.missing}: 'files' names none{listed}")


def _own_languages(files: FilePatterns, split: str) -> set[str]:
    """Return the languages that have an entry of their own in a table."""
    if not isinstance(files, dict):
        return set()
    return {key.partition(".")[2] for key in files if key.startswith(f"{split}.")}


def _listed(languages: set[str], split: str) -> str:
    """Return the end of an error: the languages that have data."""
    if not languages:
        return "; there is none in any language"
    names = ", ".join(sorted(languages)[:MAX_LISTED])
    rest = ", ..." if len(languages) > MAX_LISTED else ""
    return f"; there is {split} data in: {names}{rest}"


def read_text(
    task: str,
    reader: ReaderSettings,
    languages: list[str],
    kind: type[T],
    *sides: Sequence[FilePart],
) -> Chunks[T]:
    """Read the selected rows of files one after another; those of both sides must be equally many.

    sides: the files; for pairs whose sides are in separate files those of each side. The reader `dataset` reads data
    sets of the hub whatever `reader` is, since others are for files.
    """
    rows = [[part.rows for part in side] for side in sides]
    if rows[1:] and rows[0] != rows[1]:
        raise DataError(
            f"{task}: the sides must correspond: expected as many files of both, and the same rows of them"
        )
    text: Chunks[T] = []
    for parts in zip(*sides, strict=True):
        paths = list(dict.fromkeys(part.path for part in parts))
        chunks = _read_files(
            task, reader, languages, kind, FilePart(paths[0], parts[0].rows), paths
        )
        text += [(paths[0], chunk) for chunk in chunks]
    return text


def _read_files(
    task: str,
    reader: ReaderSettings,
    languages: list[str],
    kind: type[T],
    part: FilePart,
    paths: list[Path],
) -> list[T]:
    """Return the rows of a part; paths: its file, or those of both sides."""
    name = reader if isinstance(reader, str) else reader.get("name")
    if name != "dataset" and any(map(is_hub, paths)):
        reader = "dataset"
    limit = _rows_to_read(part.rows)
    rows = 0
    chunks: list[Any] = []
    for chunk in READERS.build(reader, f"{task}.reader").read_chunks(paths, languages):
        if not isinstance(chunk, kind):
            actual = _KIND_NAMES[type(chunk)]
            expected = _KIND_NAMES[kind]
            raise DataError(
                f"{task}: {paths[-1]}: the reader gives {actual}, not {expected}; set another 'reader'"
            )
        chunks.append(chunk)
        rows += len(chunk)
        if limit is not None and rows >= limit:
            break
    log_notes(task, paths[-1], *(chunk.notes for chunk in chunks))
    if part.rows is None:
        return chunks
    return _select_rows(task, part, part.rows, chunks)


def _rows_to_read(rows: slice | None) -> int | None:
    """Return how many rows hold the selected ones; None: all, since a bound counts from the end."""
    if rows is None or rows.stop is None or min(rows.start or 0, rows.stop) < 0:
        return None
    return int(rows.stop)


def _select_rows(task: str, part: FilePart, rows: slice, chunks: list[T]) -> list[T]:
    """Return the selected rows of all chunks; raise a DataError if there is none."""
    ends = np.cumsum([len(chunk) for chunk in chunks])
    is_selected = np.zeros(ends[-1], np.bool_)
    is_selected[rows] = True
    selected = []
    for chunk, mask in zip(chunks, np.split(is_selected, ends[:-1]), strict=True):
        if mask.any():
            selected.append(chunk.where(mask))
    if not selected:
        start = "" if rows.start is None else rows.start
        stop = "" if rows.stop is None else rows.stop
        raise DataError(f"{task}: {part.path} has no rows [{start}:{stop}]")
    return selected


def log_notes(task: str, path: Path, *notes: Mapping[str, int]) -> None:
    """Log the summed counts of all chunks of a file."""
    total: Counter[str] = Counter()
    for counts in notes:
        total.update(counts)
    for what, count in sorted(total.items()):
        if count:
            log.info("%s: %s: %d %s", task, path, count, what)


def encode(texts: Iterable[Text], vocab: Vocab) -> Sentences:
    """Encode all chunks into one column."""
    return Sentences.concatenate(list(vocab.encode_texts(texts)))


def drop_shared_texts(
    query: FileQuery, chunks: Chunks[T], held_out: Iterable[Text | TextPairs]
) -> Chunks[T]:
    """Remove the rows of which a text occurs in held-out text, and log how many; raise a DataError if none is left.

    Texts are compared without case and with normalized white space.
    """
    known = set()
    for chunk in held_out:
        for side in sides(chunk):
            known |= {_normalized(line) for line in side.lines}

    def is_new(side: Text) -> NDArray[np.bool_]:
        return np.array([_normalized(line) not in known for line in side.lines], np.bool_)

    kept: Chunks[T] = []
    rows = 0
    dropped = 0
    for path, chunk in chunks:
        mask = on_all_sides(chunk, is_new)
        rows += len(mask)
        dropped += int((~mask).sum())
        if mask.any():
            kept.append((path, chunk.where(mask)))
    if not kept:
        raise DataError(
            f"{query.task}: all {dropped} {query.split} rows in {query.language!r} share a held-out text"
        )
    if dropped:
        message = "%s: %s: removed %d of %d %s rows that share a text with held-out rows"
        log.info(message, query.task, chunks[0][0], dropped, rows, query.split)
    return kept


def _normalized(line: str) -> str:
    return " ".join(line.casefold().split())
