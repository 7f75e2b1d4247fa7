"""Chunks of lines as `Text` and `TextPairs`, tokens joined to a line, and IOB2 tags."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeVar

from interlace import readers
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text import Text, TextPairs
from interlace.text.scripts import is_unspaced

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")

TaggedLine = tuple[str, list[tuple[int, int]], list[str]]  # a line, the spans of its words, their tags
Join = Literal["auto", "space", "none"]
_OUTSIDE = "O"


def chunks_of(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield lists of at most `CHUNK` items; one item is read ahead, so the last list comes after the end of file."""
    items = iter(items)
    ahead = list(islice(items, 1))
    while ahead:
        chunk = [*ahead, *islice(items, readers.CHUNK - 1)]
        ahead = list(islice(items, 1))
        yield chunk


def one_language(reader: str, paths: Sequence[Path], languages: Sequence[str]) -> str:
    """Return the language of a monolingual format; raise a DataError unless there is one language and a file."""
    if len(languages) != 1:
        raise DataError(f"the reader {reader!r} reads one language, found {len(languages)}: {', '.join(languages)}")
    if not paths:
        raise DataError(f"the reader {reader!r} needs at least one file, found none")
    return languages[0]


def plain_text(
    lines: list[str],
    language: str,
    word_tokenizer: str,
    labels: list[str] | None = None,
    notes: Counter[str] | None = None,
) -> Text:
    """Return lines with the words that a word tokenizer finds."""
    return replace(Text.of(lines, language, word_tokenizer), labels=labels, notes=dict(notes or {}))


def plain_pairs(
    sides: tuple[list[str], list[str]],
    languages: tuple[str, str],
    word_tokenizer: str,
    labels: list[str] | None = None,
    notes: Counter[str] | None = None,
) -> TextPairs:
    """Return two sides with the words that a word tokenizer finds."""
    source, target = (
        plain_text(lines, language, word_tokenizer) for lines, language in zip(sides, languages, strict=True)
    )
    return TextPairs(source, target, labels=labels, notes=dict(notes or {}))


def tagged_text(
    sentences: list[TaggedLine], language: str, kind: str, word_tokenizer: str, notes: Counter[str]
) -> Text:
    """Return sentences with the words and tags of the file."""
    words = Ragged.of([words for _, words, _ in sentences], width=2)
    tags = {kind: [tags for _, _, tags in sentences]}
    return Text(language, [line for line, _, _ in sentences], words, word_tokenizer, tags=tags, notes=dict(notes))


def join_tokens(tokens: Sequence[str], join: Join = "auto") -> tuple[str, list[tuple[int, int]]]:
    """Return a line of tokens and their spans; tokens have no white space at their ends.

    join: what separates tokens; `auto`: a space, except next to a character of an unspaced script.
    """
    line, spans = "", []
    for token in tokens:
        if line and (join == "space" or (join == "auto" and not (_is_unspaced(line[-1]) or _is_unspaced(token[0])))):
            line += " "
        spans.append((len(line), len(line) + len(token)))
        line += token
    return line, spans


def is_iob(tag: str) -> bool:
    """Whether a tag is O, B-TYPE or I-TYPE."""
    return tag == _OUTSIDE or (tag[:2] in {"B-", "I-"} and bool(tag[2:]))


def repaired_iob(tags: Iterable[str], notes: Counter[str]) -> list[str]:
    """Return IOB2 tags of a sentence: an `I-` that does not continue an entity of its type becomes `B-`, counted."""
    repaired: list[str] = []
    for tag in tags:
        before = repaired[-1] if repaired else _OUTSIDE
        if tag.startswith("I-") and before[2:] != tag[2:]:
            notes["I- without B- changed to B-"] += 1
            repaired.append("B-" + tag[2:])
        else:
            repaired.append(tag)
    return repaired


def one_line(text: str, notes: Counter[str]) -> str:
    """Return text with line feeds replaced by spaces, counted; character positions do not change."""
    if "\n" not in text:
        return text
    notes["line feeds read as spaces"] += text.count("\n")
    return text.replace("\n", " ")


def _is_unspaced(character: str) -> bool:
    """Whether a character belongs to an unspaced script or its punctuation."""
    return is_unspaced(character) or "\u3000" <= character <= "\u303f" or "\uff00" <= character <= "\uffef"
