"""Text as a tokenizer that is to grow sees it: kinds of word with their counts, and how it cuts them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.data._extension_kinds import BLANKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenizers import Encoding, Tokenizer

    from interlace.data._extension_kinds import Kind

Cut = Counter[tuple[int, ...]]

_BEFORE = "a "  # so that a word is cut as inside a line
_MANY = 100_000  # words that are encoded at once


@dataclass(frozen=True)
class WordKinds:
    """What stands between blanks in a text, and how often."""

    counts: Counter[str]

    def encoded(self, tokenizer: Tokenizer) -> Iterator[tuple[str, int, Encoding]]:
        """Each word with its count and its subwords, after those of another word."""
        words = list(self.counts)
        for first in range(0, len(words), _MANY):
            chunk = words[first : first + _MANY]
            found = tokenizer.encode_batch([_BEFORE + word for word in chunk], add_special_tokens=False)
            for word, encoding in zip(chunk, found, strict=True):
                yield word, self.counts[word], encoding

    def cut(self, tokenizer: Tokenizer, kind: Kind, special: set[int]) -> Cut:
        """Runs of subwords that may be joined, and how often each is met."""
        runs: Cut = Counter()
        for _, count, encoding in self.encoded(tokenizer):
            for run in _runs(encoding, kind, special):
                runs[run] += count
        return runs


def word_kinds(drawn: list[tuple[str, list[str], int]]) -> WordKinds:
    """The kinds of word of sampled lines."""
    counts: Counter[str] = Counter()
    for _, lines, copies in drawn:
        found = Counter(word for line in lines for word in line.split())
        for word, count in found.items():
            counts[word] += copies * count
    return WordKinds(counts)


def unknown_characters(tokenizer: Tokenizer, kind: Kind, types: WordKinds) -> list[tuple[str, int]]:
    """Letters that no subword spells, the most frequent first."""
    if kind.by_bytes:
        return []
    normalizer = tokenizer.normalizer
    unknown = kind.unknown
    found: Counter[str] = Counter()
    for word, count, encoding in types.encoded(tokenizer):
        if unknown in encoding.ids or any(kind.is_byte(number) for number in encoding.ids):
            for character in normalizer.normalize_str(word) if normalizer is not None else word:
                if kind.is_letter(character) and not all(kind.has(form) for form in kind.forms(character)):
                    found[character] += count
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def _runs(encoding: Encoding, kind: Kind, special: set[int]) -> Iterator[tuple[int, ...]]:
    """Subwords of one piece of text that the tokenizer cuts by itself; a blank begins another one."""
    run: list[int] = []
    last = None
    for number, owner, (_, end) in zip(encoding.ids, encoding.word_ids, encoding.offsets, strict=True):
        if end <= 1:  # of the word before
            continue
        apart = number in special or number in kind.added or kind.is_byte(number)
        if run and (apart or owner != last or kind.names[number][0] in BLANKS):
            yield tuple(run)
            run = []
        if not apart:
            run.append(number)
        last = owner
    if run:
        yield tuple(run)
