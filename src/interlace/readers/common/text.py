"""What several readers share: chunks of lines as `Text` and `TextPairs`, tagged tokens, tab-separated tables."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from interlace import readers
from interlace.core.display import listed
from interlace.core.errors import DataError, did_you_mean
from interlace.core.ragged import Ragged
from interlace.readers import Reader, TokenizingReader
from interlace.text import Text, TextPairs
from interlace.text.lines import read_lines
from interlace.text.scripts import is_unspaced

T = TypeVar("T")

_OUTSIDE = "O"
_STEP = 100  # items whose length is taken together
_CHUNK_CHARACTERS = 1 << 22  # of a chunk of long lines
_MAX_TOKENS = 100_000  # of a sentence


class RowReader(TokenizingReader):
    """A reader of rows: a text for each language, and perhaps a label.

    With labels, rows of one language may have two texts, too.
    """

    @property
    def has_labels(self) -> bool:
        """Whether rows end with a label."""
        return False

    @abstractmethod
    def rows(
        self, languages: list[str], path: Path, notes: Counter[str]
    ) -> Iterator[Sequence[str]]:
        """Yield the cells of each row of a file; notes: counts corrections and omissions."""

    def read_chunks(
        self, paths: list[Path], languages: list[str]
    ) -> Iterator[Text | TextPairs]:
        """Read one file after another; two languages are those of source and target."""

        def text_of(chunk: list[Sequence[str]]) -> Any:
            sides = columns_of(chunk)
            labels = sides.pop() if self.has_labels else None
            return plain(sides, (languages[0], languages[-1]), self.word_tokenizer, labels)

        yield from texts_of(self, paths, languages, partial(self.rows, languages), text_of)


@dataclass
class TaggedLine:
    """A line, the spans of its words, and their tags."""

    line: str
    spans: list[tuple[int, int]]
    tags: list[str]


def check_files(reader: Reader, paths: Sequence[Path], languages: Sequence[str]) -> None:
    """Raise a DataError unless there are files, and a number of languages that a reader takes."""
    if not paths or len(languages) not in reader.language_counts:
        numbers = " or ".join(map(str, reader.language_counts))
        raise DataError(
            f"the reader {reader.name!r} takes files of {numbers} languages; found {len(paths)} files for "
            f"{len(languages)} languages ({', '.join(languages)})"
        )


def texts_of(
    reader: Reader,
    paths: Sequence[Path],
    languages: Sequence[str],
    rows: Callable[[Path, Counter[str]], Iterable[T]],
    text_of: Callable[[list[T]], Any],
) -> Iterator[Any]:
    """Yield the text of chunks of the rows of all files, each with what `rows` counted since the chunk before."""
    check_files(reader, paths, languages)
    notes: Counter[str] = Counter()
    is_empty = True
    for chunk in chunks_of(row for path in paths for row in rows(path, notes)):
        is_empty = False
        yield replace(text_of(chunk), notes=dict(notes))
        notes.clear()
    if is_empty:
        raise DataError(
            f"{listed(paths)}: no sentence, pair or question in {' and '.join(languages)}"
        )


def chunks_of(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield lists of at most `CHUNK` items, and of few that are long."""
    remaining = iter(items)
    step = min(_STEP, readers.CHUNK)
    chunk: list[T] = []
    chunk_length = 0
    while part := list(islice(remaining, step)):
        length = _characters(part)
        is_full = (
            len(chunk) + len(part) > readers.CHUNK or chunk_length + length > _CHUNK_CHARACTERS
        )
        if chunk and is_full:
            yield chunk
            chunk = []
            chunk_length = 0
        if length > _CHUNK_CHARACTERS:
            yield from ([item] for item in part)
        else:
            chunk += part
            chunk_length += length
    if chunk:
        yield chunk


def columns_of(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return the columns of rows of equal length."""
    return list(map(list, zip(*rows, strict=True)))


def _characters(items: Sequence[Any]) -> int:
    """Return the length of all text in items: texts, sequences of texts, or objects of texts."""
    if isinstance(items[0], str):
        return sum(map(len, items))
    if not isinstance(items[0], tuple | list):
        items = [vars(item).values() for item in items]
    return sum(map(len, chain.from_iterable(items)))


def sentences_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line number and the lines of each sentence; a line is a token, an empty one ends the sentence."""
    lines: list[str] = []
    for number, line in enumerate(chain(read_lines(path), [""]), 1):
        if line.strip(" \t"):
            lines.append(line)
        elif lines:
            yield number - len(lines), lines
            lines = []
        if len(lines) > _MAX_TOKENS:
            raise DataError(
                f"{path}, line {number}: a sentence of more than {_MAX_TOKENS:,} tokens; an empty line ends one"
            )


def plain(
    sides: Sequence[list[str]],
    languages: Sequence[str],
    word_tokenizer: str,
    labels: list[str] | None = None,
) -> Any:
    """Return the lines of one side as `Text`, of two as `TextPairs`, with the words that a word tokenizer finds."""
    source = Text.of(sides[0], languages[0], word_tokenizer)
    if len(sides) == 1:
        return replace(source, labels=labels)
    return TextPairs(source, Text.of(sides[1], languages[1], word_tokenizer), labels=labels)


def tagged_text(
    sentences: Sequence[TaggedLine], language: str, kind: str, word_tokenizer: str
) -> Text:
    """Return sentences with the words and tags of the file."""
    return Text(
        language=language,
        lines=[sentence.line for sentence in sentences],
        words=Ragged.of([sentence.spans for sentence in sentences], width=2),
        word_tokenizer=word_tokenizer,
        tags={kind: [sentence.tags for sentence in sentences]},
    )


def join_tokens(tokens: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Return a line of tokens and their spans; tokens have no white space at their ends.

    They are separated by a space, except next to a character of an unspaced script.
    """
    line = ""
    spans = []
    for token in tokens:
        if line and not _is_unspaced(line[-1]) and not _is_unspaced(token[0]):
            line += " "
        start = len(line)
        line += token
        spans.append((start, len(line)))
    return line, spans


def is_iob(tag: str) -> bool:
    """Whether a tag is O, B-TYPE or I-TYPE."""
    return tag == _OUTSIDE or (tag[:2] in {"B-", "I-"} and bool(tag[2:]))


def repaired_iob(tags: Iterable[str], notes: Counter[str]) -> list[str]:
    """Return IOB2 tags of a sentence: an `I-` that does not continue an entity of its type becomes `B-`, counted."""
    repaired: list[str] = []
    previous = _OUTSIDE
    for tag in tags:
        if tag.startswith("I-") and previous[2:] != tag[2:]:
            repaired.append("B-" + tag[2:])
            notes["I- without B- changed to B-"] += 1
        else:
            repaired.append(tag)
        previous = tag
    return repaired


def one_line(text: str, notes: Counter[str]) -> str:
    """Return text with line feeds replaced by spaces, counted; character positions do not change."""
    if "\n" not in text:
        return text
    notes["line feeds read as spaces"] += text.count("\n")
    return text.replace("\n", " ")


def _is_unspaced(character: str) -> bool:
    """Whether a character belongs to an unspaced script or its punctuation."""
    return (
        is_unspaced(character)
        or "\u3000" <= character <= "\u303f"
        or "\uff00" <= character <= "\uffef"
    )


def tsv_rows(
    path: Path,
    columns: Sequence[str | int | tuple[str, ...]],
    header: bool = True,
    optional: str = "",
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and selected cells of each line of a table without quoting: a quote is an ordinary character.

    columns: a name, a number from 0, or several names of which the first that the header has is read.
    optional: the name of a further column; its cells are empty if the header does not have it.
    """
    lines = enumerate(read_lines(path), 1)
    names: list[str] = []
    if header:
        names = next(lines)[1].split("\t")
    numbers = [_column_number(path, column, names) for column in columns]
    width = max(*numbers, len(names) - 1) + 1
    if optional in names:
        numbers.append(_column_number(path, optional, names))
    elif optional:
        numbers.append(width)
    for line_number, line in lines:
        cells = line.split("\t")
        if len(cells) >= width:
            cells.insert(width, "")
            yield line_number, [cells[number] for number in numbers]
        elif line.strip():  # an empty line at the end of a file is none
            raise DataError(
                f"{path}, line {line_number}: {len(cells)} tab-separated columns, expected {width}"
            )


def must_be_unique(used: Iterable[str], names: Sequence[str], path: Path) -> None:
    """Raise a DataError if several columns of a table have the name of one that is read."""
    repeated = [name for name in dict.fromkeys(used) if names.count(name) > 1]
    if repeated:
        raise DataError(
            f"{path}: several columns are named {listed(map(repr, repeated))}; rename or remove them"
        )


def _column_number(path: Path, column: str | int | tuple[str, ...], names: list[str]) -> int:
    """Return the number of a column of a table; `names` are empty if it has no header."""
    if isinstance(column, int):
        if names and column >= len(names):
            raise DataError(
                f"{path}: there is no column {column}; the header names {len(names)}"
            )
        return column
    choices = (column,) if isinstance(column, str) else column
    for name in choices:
        if name in names:
            must_be_unique([name], names, path)
            return names.index(name)
    hint = did_you_mean(choices[0], names)
    raise DataError(f"{path}: the header has no column {' or '.join(map(repr, choices))}{hint}")
