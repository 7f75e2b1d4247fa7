"""New subwords for a tokenizer that exists, learnt from the text it is to read; the old ones keep their ids.

Joining goes on where the tokenizer stopped (Purason et al. 2025, "Teaching Old Tokenizers New Words", who continue BPE;
here WordPiece and Unigram too), so no new subword is out of reach. Each kind takes it into its own model:

- BPE: merges after all of its own. Text is first cut as before, then joined further, so this is exact.
- WordPiece: pieces. The longest piece that fits is taken, so a new one is used where it is longer.
- Unigram: pieces with a score, that of its two parts and how much likelier than chance they stand together. The
  likeliest cut of a word is taken, so a new piece is used where it makes a word likelier.

In all three a word in which no new subword is used has the ids it had. Characters that the tokenizer could not spell
come first. A tokenizer of whole words (WordLevel) is refused. Tokens "added" beside a model, as transformers'
`add_tokens` does, would match inside other words and before normalisation, and change the ids of old text; they are
not used here.

Legend: N new subwords.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data._continued_merges import continued
from interlace.data._extension_kinds import kind_of
from interlace.data._extension_text import unknown_characters, word_kinds
from interlace.data._kinds import sampled_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from interlace.data._continued_merges import Merge
    from interlace.data._extension_kinds import Kind
    from interlace.data.vocab import Vocab

FILE = "extension.json"
SAMPLE_LINES = 500_000


@dataclass(frozen=True)
class Extension:
    """What a vocabulary has beyond the one it extends.

    base: size of that one; the new subwords have the ids from there on.
    pieces: N rows, the old ids that spelt each new subword; none where the old ones could not.
    """

    base: int
    pieces: Ragged

    @property
    def size(self) -> int:
        """Of the extended vocabulary."""
        return self.base + len(self.pieces)

    def save(self, folder: Path) -> None:
        """Write it beside the extended tokenizer."""
        data = {"base": self.base, "pieces": [row.tolist() for row in self.pieces]}
        (folder / FILE).write_text(json.dumps(data) + "\n", encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> Extension:
        """What `save` wrote."""
        data = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return cls(int(data["base"]), Ragged.of(data["pieces"], dtype=np.int32))


def extended(
    vocab: Vocab,
    lines_by_language: Mapping[str, Iterable[str]],
    number: int,
    *,
    least: int = 1,
    alpha: float = 0.5,
    seed: int = 0,
    sample_lines: int = SAMPLE_LINES,
) -> Vocab:
    """The vocabulary with up to `number` more subwords of letters, which its `extension` tells of.

    Lines are sampled over languages as in `Vocab.learn`. Numbers and punctuation are left to the old subwords.

    Args:
        vocab: what to extend; its ids stay.
        lines_by_language: text, a stream of lines a language.
        number: N at most; little text may give fewer.
        least: times a subword must be met in that text: what is rarer would hardly be trained.
        alpha: exponent of language sampling.
        seed: of that sampling.
        sample_lines: most lines of a language that are held in memory.

    Raises:
        DataError: a language has no line, the tokenizer is of a kind that cannot grow, or the text gives nothing new.
    """
    drawn = sampled_lines(lines_by_language, alpha, sample_lines, seed)
    state = json.loads(vocab.tokenizer.to_str())
    kind = kind_of(state, vocab.name)
    growth = _Growth(kind, vocab)
    _learn(growth, vocab, drawn, number, least)
    if not growth.pieces:
        raise DataError(
            f"{vocab.name}: no new subword is met {least} times in this text; lower vocab.extend_min_count or leave "
            f"vocab.extend out"
        )
    extension = Extension(vocab.size, Ragged.of(growth.pieces, dtype=np.int32))
    return vocab.with_tokenizer(_checked(vocab, kind, growth), extension)


class _Growth:
    """New subwords as they are found: names and ids, and what spelt each of them before."""

    def __init__(self, kind: Kind, vocab: Vocab) -> None:
        self.kind = kind
        self.base = vocab.size
        self.pieces: list[tuple[int, ...]] = []

    def add(self, name: str, pieces: tuple[int, ...], merge: Merge | None = None) -> None:
        """Take a new subword in, spelt by `pieces` so far."""
        self.kind.add(name, self.base + len(self.pieces), merge)
        self.pieces.append(pieces)

    def spelling(self, number: int) -> tuple[int, ...]:
        """The old ids of a subword, old or new."""
        return (number,) if number < self.base else self.pieces[number - self.base]

    def join(self, left: int, right: int) -> int | None:
        """A new subword of two, or None where it must not be or is there already."""
        name = self.kind.joined(left, right)
        if name is None or self.kind.has(name):
            return None
        return self.base + len(self.pieces)


def _learn(growth: _Growth, vocab: Vocab, drawn: list[tuple[str, list[str], int]], number: int, least: int) -> None:
    """Characters that could not be spelt, then pairs of subwords that stand together."""
    tokenizer = vocab.tokenizer
    types = word_kinds(drawn)
    for character, count in unknown_characters(tokenizer, growth.kind, types):
        if count >= least:
            for name in growth.kind.forms(character):
                if len(growth.pieces) < number and not growth.kind.has(name):
                    growth.add(name, ())
    if growth.pieces:
        tokenizer = Tokenizer.from_str(growth.kind.text())
    words = types.cut(tokenizer, growth.kind, special=set(vocab.special_ids.tolist()))
    room = number - len(growth.pieces)
    for merge in islice(continued([*words], [*words.values()], growth.join, least), room):
        spelling = growth.spelling(merge.left) + growth.spelling(merge.right)
        growth.add(str(growth.kind.joined(merge.left, merge.right)), spelling, merge)


def _checked(vocab: Vocab, kind: Kind, growth: _Growth) -> Tokenizer:
    """The grown tokenizer, in which every id is where it should be."""
    tokenizer = Tokenizer.from_str(kind.text())
    old = vocab.tokenizer.get_vocab(with_added_tokens=True)
    moved = [token for token, number in old.items() if tokenizer.token_to_id(token) != number]
    if moved or tokenizer.get_vocab_size() < len(old) + len(growth.pieces):
        raise DataError(
            f"{vocab.name}: this tokenizer cannot be extended: the id of {moved[:1] or 'a new subword'} moves"
        )
    return tokenizer
