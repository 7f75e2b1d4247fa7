"""The text of all languages as lines of subwords, as a model reads it: what vectors of subwords are learnt from."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError
from interlace.data.corpus import Corpus
from interlace.embeddings.concat import Mixed
from interlace.experiments.prepare import prepare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.experiments import Recipe

_ROWS = 8192  # lines that are spelt at a time


def subwords_of(recipe: Recipe) -> tuple[Vocab, Iterable[Sequence[str]]]:
    """The recipe's vocabulary, and the lines of all languages in its subwords, which can be read again.

    Lines come out of the corpora that a model of the same text and vocabulary learns from, each language spread evenly
    over the whole.

    Raises:
        DataError: a language has no training text, or what `prepare` finds wrong.
    """
    materials = prepare(recipe, dev=False)
    corpora = [corpus for corpus in materials.readable.values() if isinstance(corpus, Corpus)]
    names = _names(materials.vocab)
    texts = {
        language: _Spelt([corpus for corpus in corpora if corpus.language == language], names)
        for language in recipe.languages
    }
    if silent := [language for language, text in texts.items() if not text.corpora]:
        raise DataError(f"recipe {recipe.name!r}: there is no training text of {silent[0]!r}")
    return materials.vocab, Mixed(texts)


def _names(vocab: Vocab) -> NDArray[np.object_]:
    """(V,) what the tokenizer calls each id; ids without a name do not come in text."""
    names = np.full(vocab.size, "", object)
    for name, number in vocab.tokenizer.get_vocab(with_added_tokens=True).items():
        names[number] = name
    return names


class _Spelt:
    """The lines of some corpora in subwords; unlike a generator, it can be read again."""

    def __init__(self, corpora: list[Corpus], names: NDArray[np.object_]) -> None:
        self.corpora = corpora
        self._names = names

    def __iter__(self) -> Iterator[list[str]]:
        for corpus in self.corpora:
            for start in range(0, len(corpus), _ROWS):
                ids = corpus.take(np.arange(start, min(start + _ROWS, len(corpus)))).ids
                spelt = self._names[ids.values].tolist()
                yield from (spelt[first:last] for first, last in pairwise(ids.offsets.tolist()))
