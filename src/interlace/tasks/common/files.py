"""Files of a task: patterns of paths under the data root, filled in by split and language, and the text in them."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from pydantic import AfterValidator

from interlace.core.data_root import Root
from interlace.core.errors import DataError, did_you_mean
from interlace.core.files import must_not_be_special
from interlace.core.json_files import JsonObject
from interlace.data import Sentences
from interlace.data.filters import sides
from interlace.readers import READERS, is_hub
from interlace.readers.common.files import check_pattern
from interlace.readers.common.hub import HubAddress
from interlace.text import Text, TextPairs
from interlace.text.codes import three_letters

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab

SPLITS = ("train", "dev", "test", "translated")  # translated: test text in the source language
# placeholder of a three-letter code -> that of its language
THREE_LETTER = {"language3": "language", "source3": "source", "target3": "target"}
PLACEHOLDERS = ("split", "language", "source", "target", "context", "question", *THREE_LETTER)

_ROWS = re.compile(r"\[(-?\d*):(-?\d*)\]$")
_KIND_NAMES = {Text: "sentences", TextPairs: "pairs"}

FilePatterns = str | list[str] | dict[str, str | list[str]]
ReaderSettings = JsonObject | str
T = TypeVar("T", Text, TextPairs)
Chunks = list[tuple[Path, T]]
"""Text, each chunk with the file that it comes from."""

log = logging.getLogger(__name__)


class MissingDataError(DataError):
    """A file does not exist, or no pattern names one."""


def _split_rows(pattern: str) -> tuple[str, slice | None]:
    """Return the path and the rows of a pattern such as `train.tsv[:2000]`."""
    match = _ROWS.search(pattern)
    if match is None:
        return pattern, None
    start, stop = (int(bound) if bound else None for bound in match.groups())
    return pattern[: match.start()], slice(start, stop)


def _check(files: FilePatterns) -> FilePatterns:
    """Reject unknown splits and placeholders, and empty lists."""
    if not isinstance(files, dict):
        files_by_key = {"files": files}
    else:
        files_by_key = files
        for key in files:
            split = key.partition(".")[0]
            if split not in SPLITS:
                hint = did_you_mean(split, SPLITS)
                raise ValueError(
                    f"{key!r}: expected a split, or a split and a language such as 'test.de'{hint}"
                )
    for key, patterns in files_by_key.items():
        if not patterns:
            raise ValueError(f"{key!r} names no file")
        for pattern in _as_list(patterns):
            path = check_pattern(_split_rows(pattern)[0], PLACEHOLDERS)
            if is_hub(path):
                HubAddress.parse(path)
    return files


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


Files = Annotated[FilePatterns, AfterValidator(_check)]
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
                f"{self.task}: source and target are both {self.language!r}; name other targets by --languages, or set "
                "another source"
            )
        return self


def find_file(files: FilePatterns, query: FileQuery, language: str | None = None) -> Path:
    """Return the one whole file, of a pair of the side in `language`; else raise a DataError."""
    parts = find_parts(files, query, language)
    if len(parts) > 1 or parts[0].rows:
        raise DataError(
            f"{query.task}: expected one whole file without rows '[a:b]', found {parts[0].path} .."
        )
    return parts[0].path


def find_parts(
    files: FilePatterns,
    query: FileQuery,
    language: str | None = None,
) -> list[FilePart]:
    """Return the files, or rows of files, in order.

    language: of the side of a pair; None: the one that is scored.

    Raises:
        MissingDataError: a file is missing.
        DataError: two patterns lead to the same rows, which would count twice.
    """
    parts: list[FilePart] = []
    for pattern in _patterns(files, query):
        path, rows = _split_rows(pattern)
        part = FilePart(_existing_path(path, query, language or query.language), rows)
        if part in parts:
            raise DataError(
                f"{query.missing}: {part.path} is named twice; each of its rows would count twice"
            )
        parts.append(part)
    return parts


def _existing_path(pattern: str, query: FileQuery, language: str) -> Path:
    """Return the first file that a pattern names; a data set of the hub is not looked for.

    Placeholders such as `language3` stand for each of the three-letter codes that data sets use for the language.
    """
    languages = {**query.placeholders, "language": language}
    codes = {code: three_letters(code) for code in (language, query.source, query.language)}
    paths = []
    for three_letter_codes in product(*codes.values()):
        code_of = dict(zip(codes, three_letter_codes, strict=True))
        filled_in = dict(languages)
        for placeholder, of_two_letters in THREE_LETTER.items():
            filled_in[placeholder] = code_of[languages[of_two_letters]]
        name = pattern.format(**filled_in)
        if is_hub(name):
            return Path(str(HubAddress.parse(name).under(query.root)))
        paths.append(query.root / name)
    for path in paths:
        if path.is_file():
            return path
    for path in paths:
        must_not_be_special(path)
    raise MissingDataError(f"{query.missing}: there is no file {paths[0]}")


def translated_files(files: FilePatterns, language: str, source: str) -> FilePatterns:
    """Return patterns of translated test text as the source's test set; raise a MissingDataError if there are none."""
    query = FileQuery("translate-test", "translated", language, Path())
    filled = []
    for pattern in _patterns(files, query):
        path = pattern.replace("{split}", query.split).replace("{language}", language)
        filled.append(path.replace("{language3}", three_letters(language)[0]))
    return {f"test.{source}": filled}


def _patterns(files: FilePatterns, query: FileQuery) -> list[str]:
    """Return the patterns of a split and language."""
    if not isinstance(files, dict):
        return _as_list(files)
    pair = f"{query.split}.{query.source}-{query.language}"
    for key in (pair, f"{query.split}.{query.language}", query.split):
        if key in files:
            return _as_list(files[key])
    raise MissingDataError(
        f"{query.missing}: 'files' names none, only those of {', '.join(files)}"
    )


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
    if rows[0] != rows[-1]:
        raise DataError(
            f"{task}: the sides must correspond: expected as many files of both, and the same rows of them"
        )
    text: Chunks[T] = []
    for parts in zip(*sides, strict=True):
        paths = list(dict.fromkeys(part.path for part in parts))
        chunks = _read_rows(task, reader, languages, kind, paths, parts[0].rows)
        text += [(paths[0], chunk) for chunk in chunks]
    return text


def _read_rows(
    task: str,
    reader: ReaderSettings,
    languages: list[str],
    kind: type[T],
    paths: list[Path],
    rows: slice | None,
) -> list[T]:
    """Return the selected rows of a file, or of the files of both sides."""
    name = reader if isinstance(reader, str) else reader.get("name")
    if name != "dataset" and any(map(is_hub, paths)):
        reader = "dataset"
    limit = _rows_to_read(rows)
    row_count = 0
    chunks: list[Any] = []
    for chunk in READERS.build(reader, f"{task}.reader").read_chunks(paths, languages):
        if not isinstance(chunk, kind):
            actual = _KIND_NAMES[type(chunk)]
            expected = _KIND_NAMES[kind]
            raise DataError(
                f"{task}: {paths[-1]}: the reader gives {actual}, not {expected}; set another 'reader'"
            )
        chunks.append(chunk)
        row_count += len(chunk)
        if limit is not None and row_count >= limit:
            break
    log_notes(task, paths[-1], *(chunk.notes for chunk in chunks))
    if rows is None:
        return chunks
    selected = _selected(chunks, rows)
    if not selected:
        raise DataError(f"{task}: {paths[0]} has no rows {rows.start}:{rows.stop}")
    return selected


def _rows_to_read(rows: slice | None) -> int | None:
    """Return how many rows hold the selected ones; None: all, since a bound counts from the end."""
    if rows is None or rows.stop is None or min(rows.start or 0, rows.stop) < 0:
        return None
    return int(rows.stop)


def _selected(chunks: list[T], rows: slice) -> list[T]:
    """Return the selected rows of all chunks."""
    ends = np.cumsum([len(chunk) for chunk in chunks])
    is_selected = np.zeros(ends[-1], np.bool_)
    is_selected[rows] = True
    selected = []
    for chunk, mask in zip(chunks, np.split(is_selected, ends[:-1]), strict=True):
        if mask.any():
            selected.append(chunk.where(mask))
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
    query: FileQuery,
    chunks: Chunks[T],
    held_out: Iterable[Text | TextPairs],
) -> Chunks[T]:
    """Remove the rows of which a text occurs in held-out text, and log how many; raise a DataError if none is left.

    Texts are compared without case and with normalized white space.
    """
    held_out_lines: set[str] = set()
    for chunk in held_out:
        for side in sides(chunk):
            held_out_lines.update(map(_normalized, side.lines))
    kept: Chunks[T] = []
    dropped = 0
    for path, chunk in chunks:
        rows = zip(*(side.lines for side in sides(chunk)), strict=True)
        mask = np.array(
            [held_out_lines.isdisjoint(map(_normalized, row)) for row in rows], np.bool_
        )
        dropped += int((~mask).sum())
        if mask.any():
            kept.append((path, chunk.where(mask)))
    if not kept:
        raise DataError(
            f"{query.task}: all {dropped} {query.split} rows in {query.language!r} share a held-out text"
        )
    log_notes(
        query.task,
        chunks[0][0],
        {f"{query.split} rows with a held-out text left out": dropped},
    )
    return kept


def _normalized(line: str) -> str:
    return " ".join(line.casefold().split())
