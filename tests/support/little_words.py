"""Vocabularies of a few words without a tokenizer, and sentences in them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples, Sentences
from little_rows import framed

if TYPE_CHECKING:
    from collections.abc import Sequence

SPECIALS = ("<pad>", "</s>", "<s>", "<mask>")


def sentences(
    ids: Sequence[Any], words: Sequence[Any] | None = None, language: str = "en"
) -> Sentences:
    """Return rows of these ids, each a word of its own if `words` does not say otherwise."""
    words = [list(range(len(row))) for row in ids] if words is None else words
    return Sentences(Ragged.of(ids), Ragged.of(words), language)


class LittleWords:
    """A vocabulary: special tokens, and words separated by blanks. `##` begins a token that continues a word.

    vocab: what objectives read of a `Vocab`. spelled: words of several tokens, for `encode_words`.
    """

    def __init__(
        self,
        words: str,
        specials: Sequence[str] = SPECIALS,
        spelled: dict[str, str] | None = None,
    ) -> None:
        self.words = [*specials, *words.split()]
        self.ids = {word: number for number, word in enumerate(self.words)}
        known = {word: [number] for word, number in self.ids.items()}
        known |= {
            word: [self.ids[token] for token in tokens.split()]
            for word, tokens in (spelled or {}).items()
        }
        self.vocab: Any = SimpleNamespace(
            pad=0, end=1, begin=2, frame=framed(2, 1), mask=3, has_mask=True, size=len(self.words), separator_ids=(1,),
            pair_layout="xlm",
            special_ids=np.arange(len(specials)), regular_ids=np.arange(len(specials), len(self.words)),
            target=lambda language: (self.ids[f"<2{language}>"],), save_files=lambda _: None,
            encode_words=lambda given: Ragged.of([known.get(word, [4, 5, 6]) for word in given]),
        )  # fmt: skip

    def sentences(self, lines: Sequence[str], language: str = "en") -> Sentences:
        """Return lines of tokens; `</s>` separates the sentences of a stream."""
        tokens = [line.split() for line in lines]
        ids = Ragged.of([[self.ids[token] for token in row] for row in tokens])
        owners = [
            number
            for row in tokens
            for number in np.cumsum([not token.startswith("##") for token in row]) - 1
        ]
        words = np.where(ids.flat == self.vocab.end, -1, np.array(owners, np.int32)).astype(
            np.int32
        )
        return Sentences(ids, Ragged(words, ids.offsets), language)

    def texts(self, ids: Any) -> list[str]:
        """Return rows of ids as lines, without padding."""
        return [" ".join(self.names(row[row != 0])) for row in np.asarray(ids)]

    def names(self, ids: Any) -> list[str]:
        """Return tokens by their names."""
        return [self.words[number] for number in np.asarray(ids).tolist()]


def tagged(tags: Ragged) -> LabeledExamples:
    """Return examples of tagged words, each of one subword."""
    words = Ragged(tags.columns().astype(np.int32), tags.offsets)
    return LabeledExamples(Sentences(words, words, "en"), tags=tags)
