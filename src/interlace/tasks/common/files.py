"""Files of a task: patterns of paths under the data root, filled in by split and language, and the text in them."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from interlace.readers import READERS, check_pattern, is_hub
from interlace.readers.dataset import HubAddress
from interlace.text import Text, TextPairs
from interlace.text.codes import three_letters, two_letters

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab

SPLITS = ("train", "dev", "test", "translated")  # translated: test text translated into the source language
THREE_LETTER = {"language3": "language", "source3": "source", "target3": "target"}  # placeholder -> its language
PLACEHOLDERS = ("split", "language", "source", "target", "context", "question", *THREE_LETTER)
MAX_LISTED = 12  # languages named in an error

_MAX_ROWS = 1 << 40
_KIND_NAMES = {Text: "sentences", TextPairs: "pairs"}

FilePatterns = str | list[str] | dict[str, str | list[str]]
ReaderSettings = dict[str, Any] | str
T = TypeVar("T", Text, TextPairs)
Chunks = list[tuple[Path, T]]
"""Text, each chunk with the file that it comes from."""

log = logging.getLogger(__name__)


class MissingDataError(DataError):
    """A file does not exist, or no pattern names one."""


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
                filled = pattern.replace("{split}", split).replace("{language}", language or "{language}")
                path, rows = _split_rows(filled)
                used.append((key, path, (rows or slice(None)).indices(_MAX_ROWS)))
        for (key, path, (start, stop, _)), (other, other_path, (begin, end, _)) in combinations(used, 2):
            if key != other and path == other_path and max(start, begin) < min(stop, end):
                raise ValueError(f"{key!r} and {other!r} both hold rows of {path}; use '[:1000]' and '[1000:]'")


def _split_rows(pattern: str) -> tuple[str, slice | None]:
    """Split `train.tsv[:2000]` into the path and the rows."""
    match = re.search(r"\[(-?\d*):(-?\d*)\]$", pattern)
    if match is None:
        return pattern, None
    start, stop = (int(bound) if bound else None for bound in match.groups())
    return pattern[: match.start()], slice(start, stop)


def _as_list(patterns: str | list[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else patterns


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
reader `dataset` reads it."""


@dataclass(frozen=True)
class FilePart:
    """A file or a Hub data set, or some of its rows, counted as the reader returns them."""

    path: Path
    rows: slice | None = None


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
        names = {"split": self.split, "source": self.source, "target": self.language}
        return {**names, "context": context, "question": question or self.language}

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
        raise DataError(f"{query.task}: expected one whole file without rows '[a:b]', found {parts[0].path} ..")
    return parts[0].path


def find_parts(files: FilePatterns, query: FileQuery, language: str | None = None) -> list[FilePart]:
    """Return the files, or rows of files, in order.

    Raises:
        MissingDataError: a file is missing; it lists the languages that have one.
        DataError: two patterns lead to the same file, whose rows would count twice.
    """
    parts: list[FilePart] = []
    for pattern, rows in map(_split_rows, _patterns(files, query)):
        paths = list(_candidate_paths(pattern, query, query.language if language is None else language))
        path = paths[0] if is_hub(pattern) else next(filter(Path.is_file, paths), None)
        if path is None:
            for candidate in paths:
                must_not_be_special(candidate)
            folder = folders_of(query.root)[-1]
            if folder.is_dir():
                others = languages_with(pattern, query) | (_own_languages(files, query.split) - {query.language})
                reason = _listed(others, query.split)
            else:
                reason = f"; the data root {folder} is no folder"
            raise MissingDataError(f"{query.missing}: there is no file {paths[0]}{reason}")
        for part in parts:
            if part.path == path and (rows is None or part.rows is None or rows == part.rows):
                raise DataError(f"{query.missing}: {path} is named twice; each of its rows would count twice")
        parts.append(FilePart(path, rows))
    return parts


def expected_files(files: FilePatterns, query: FileQuery, language: str | None = None) -> list[Path]:
    """Return whole files, present or not, without Hub data sets; raise a MissingDataError if none is named.

    language: of the side of a pair; None: the one that is scored.
    """
    found = []
    for pattern, _ in map(_split_rows, _patterns(files, query)):
        if not is_hub(pattern):
            paths = list(_candidate_paths(pattern, query, query.language if language is None else language))
            found.append(next(filter(Path.is_file, paths), paths[0]))
    return found


def translated_files(files: FilePatterns, language: str, source: str) -> FilePatterns:
    """Return patterns of translated test text as the source's test set; raise a MissingDataError if there are none."""
    values = {"{split}": "translated", "{language}": language, "{language3}": three_letters(language)[0]}
    patterns = _patterns(files, FileQuery("translate-test", "translated", language, Path()))
    for placeholder, value in values.items():
        patterns = [pattern.replace(placeholder, value) for pattern in patterns]
    return {f"test.{source}": patterns}


def languages_with(pattern: str, query: FileQuery) -> set[str]:
    """Return the languages that have files, such as `en-de` where passages and questions differ."""
    fields = [(text, name) for text, name, _, _ in Formatter().parse(pattern)]
    kinds = (["target", "target3"], ["context", "question"], ["language", "language3"])
    named = {name for _, name in fields}
    wanted = next(filter(None, ([name for name in kind if name in named] for kind in kinds)), None)
    if not wanted:
        return set()
    fixed = {"split": query.split, "source": query.source, "source3": three_letters(query.source)[0]}
    wild, regex = "", ""
    for text, name in fields:
        wild, regex = wild + escape(text), regex + re.escape(text)
        if name is None:
            continue
        wild += fixed.get(name, "*")
        if name in fixed:
            regex += re.escape(fixed[name])
        else:  # a placeholder has the same value everywhere
            regex += f"(?P={name})" if f"(?P<{name}>" in regex else f"(?P<{name}>[^/.]+)"
    languages = set()
    for folder in folders_of(query.root):
        for path in glob(wild, root_dir=folder):  # noqa: PTH207 - also absolute
            match = re.fullmatch(regex, path)
            if match:
                codes = [two_letters(match[name]) if name in THREE_LETTER else match[name] for name in wanted]
                languages.add("-".join(dict.fromkeys(codes)))
    return languages


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


def _own_languages(files: FilePatterns, split: str) -> set[str]:
    """Return the languages that have an entry of their own in a table."""
    return {key.partition(".")[2] for key in files if key.startswith(f"{split}.")} if isinstance(files, dict) else set()


def _listed(languages: set[str], split: str) -> str:
    """Return the end of an error: the languages that have data."""
    if not languages:
        return "; there is none in any language"
    names = sorted(languages)
    return f"; there is {split} data in: {', '.join(names[:MAX_LISTED])}{', ...' if len(names) > MAX_LISTED else ''}"


def read_text(
    task: str, reader: ReaderSettings, languages: list[str], kind: type[T], *sides: Sequence[FilePart]
) -> Chunks[T]:
    """Read the selected rows of files one after another; those of both sides must be equally many.

    sides: the files; for pairs whose sides are in separate files those of each side. The reader `dataset` reads data
    sets of the hub whatever `reader` is, since others are for files.
    """
    rows = [[part.rows for part in side] for side in sides]
    if rows[1:] and rows[0] != rows[1]:
        raise DataError(f"{task}: the sides must correspond: expected as many files of both, and the same rows of them")
    found: Chunks[T] = []
    for parts in zip(*sides, strict=True):
        paths = list(dict.fromkeys(part.path for part in parts))
        chunks = _read_rows(task, reader, languages, kind, paths, parts[0].rows)
        if parts[0].rows:
            ends = np.cumsum([len(chunk) for chunk in chunks])
            mask = np.zeros(ends[-1], np.bool_)
            mask[parts[0].rows] = True
            masks = zip(chunks, np.split(mask, ends[:-1]), strict=True)
            chunks = [chunk.where(chosen) for chunk, chosen in masks if chosen.any()]
            if not chunks:
                bounds = (parts[0].rows.start, parts[0].rows.stop)
                listed = ":".join("" if bound is None else str(bound) for bound in bounds)
                raise DataError(f"{task}: {paths[0]} has no rows [{listed}]")
        found += [(paths[0], chunk) for chunk in chunks]
    return found


def _read_rows(
    task: str, reader: ReaderSettings, languages: list[str], kind: type[T], paths: list[Path], rows: slice | None
) -> list[T]:
    """Read all chunks of the files; chunks behind the given rows are not read unless a bound counts from the end."""
    start, stop = (rows.start or 0, rows.stop) if rows else (0, None)
    name = reader if isinstance(reader, str) else reader.get("name")
    build: Any = READERS.build("dataset" if name != "dataset" and any(map(is_hub, paths)) else reader, f"{task}.reader")
    chunks: list[Any] = []
    for chunk in build.read_chunks(paths, languages):
        if not isinstance(chunk, kind):
            found, expected = _KIND_NAMES[type(chunk)], _KIND_NAMES[kind]
            raise DataError(f"{task}: {paths[-1]}: the reader gives {found}, expected {expected}; set another 'reader'")
        chunks.append(chunk)
        if stop is not None and min(start, stop) >= 0 and sum(map(len, chunks)) >= stop:
            break
    log_notes(task, paths[-1], *(chunk.notes for chunk in chunks))
    return chunks


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


def drop_shared_texts(query: FileQuery, chunks: Chunks[T], held_out: Iterable[Text | TextPairs]) -> Chunks[T]:
    """Remove the rows of which a text occurs in held-out text, and log how many; raise a DataError if none is left.

    Texts are compared without case and with normalized white space.
    """

    def key(line: str) -> str:
        return " ".join(line.casefold().split())

    known = {key(line) for chunk in held_out for side in sides(chunk) for line in side.lines}

    def is_new(side: Text) -> NDArray[np.bool_]:
        return np.array([key(line) not in known for line in side.lines], np.bool_)

    masks = [on_all_sides(chunk, is_new) for _, chunk in chunks]
    kept: Any = [(path, chunk.where(mask)) for (path, chunk), mask in zip(chunks, masks, strict=True) if mask.any()]
    dropped = sum(int((~mask).sum()) for mask in masks)
    if not kept:
        raise DataError(f"{query.task}: all {dropped} {query.split} rows in {query.language!r} share a held-out text")
    if dropped:
        log.info(
            "%s: %s: removed %d of %d %s rows that share a text with held-out rows",
            query.task, chunks[0][0], dropped, sum(map(len, masks)), query.split,
        )  # fmt: skip
    return list(kept)
