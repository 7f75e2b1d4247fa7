"""What readers share: chunks, how many paths and languages they take, and words placed in a line."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import interlace.readers as room
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text import Text, TextPairs
from interlace.text.scripts import is_unspaced

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")

Tagged = tuple[str, list[tuple[int, int]], list[str]]  # a line, its words, their tags


def chunks_of(items: Iterable[T]) -> Iterator[list[T]]:
    """Lists of at most `CHUNK` items. One item is read ahead, so that the last list comes after all of the file."""
    items = iter(items)
    ahead = list(islice(items, 1))
    while ahead:
        chunk = [*ahead, *islice(items, room.CHUNK - 1)]
        ahead = list(islice(items, 1))
        yield chunk


def one_language(kind: str, paths: Sequence[Path], languages: Sequence[str]) -> str:
    """The only language of a format that knows just one; at least one path."""
    if len(languages) != 1:
        raise DataError(f"the reader {kind!r} reads one language, found {len(languages)}: {', '.join(languages)}")
    if not paths:
        raise DataError(f"the reader {kind!r} needs at least one file, found none")
    return languages[0]


def plain_text(
    lines: list[str],
    language: str,
    word_tokenizer: str,
    labels: list[str] | None = None,
    notes: Counter[str] | None = None,
) -> Text:
    """Lines with the words that a word tokenizer finds."""
    return replace(Text.of(lines, language, word_tokenizer), labels=labels, notes=dict(notes or {}))


def plain_pairs(
    sides: tuple[list[str], list[str]],
    languages: tuple[str, str],
    word_tokenizer: str,
    labels: list[str] | None = None,
    notes: Counter[str] | None = None,
) -> TextPairs:
    """Two sides with the words that a word tokenizer finds."""
    source, target = (
        plain_text(lines, language, word_tokenizer) for lines, language in zip(sides, languages, strict=True)
    )
    return TextPairs(source, target, labels=labels, notes=dict(notes or {}))


def tagged_text(sentences: list[Tagged], language: str, kind: str, word_tokenizer: str, notes: Counter[str]) -> Text:
    """Sentences whose words and tags the file itself gives."""
    words = Ragged.of([words for _, words, _ in sentences], width=2)
    tags = {kind: [tags for _, _, tags in sentences]}
    return Text(language, [line for line, _, _ in sentences], words, word_tokenizer, tags=tags, notes=dict(notes))


def joined(tokens: Sequence[str], *, blanks: bool | None = None) -> tuple[str, list[tuple[int, int]]]:
    """A line of tokens and where each stands; tokens must not begin or end with white space.

    blanks: True puts one between all, False none; None leaves it out beside a character of an unspaced script.
    """
    line, spans = "", []
    for token in tokens:
        if line and (blanks if blanks is not None else not (_close(line[-1]) or _close(token[0]))):
            line += " "
        spans.append((len(line), len(line) + len(token)))
        line += token
    return line, spans


def _close(character: str) -> bool:
    """Whether no blank stands beside this character: unspaced scripts and their punctuation."""
    return is_unspaced(character) or "\u3000" <= character <= "\u303f" or "\uff00" <= character <= "\uffef"
