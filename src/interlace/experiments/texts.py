"""The text of a recipe's corpora, and the word tokenizer of all of them."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.data.corpus_text import CorpusText
from interlace.data.filters import build_filters, sides
from interlace.experiments.recipe import CorpusGroup, Recipe
from interlace.readers import READERS
from interlace.readers.common.tokenization import AUTO, word_tokenizer_for
from interlace.text import Text
from interlace.text.word_tokenizers import WORD_TOKENIZERS, WordTokenizer

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RecipeTexts:
    """The texts of a recipe's corpora below a data root."""

    recipe: Recipe
    root: Root

    def of(self, group: CorpusGroup, corpus: str, split: str = "train") -> CorpusText:
        """Return the text of a corpus, such as `de` or `en-de`; held-out text is not filtered."""
        if split == "train":
            filters = build_filters(self.recipe.filters)
        else:
            filters = []
        return CorpusText(
            languages=tuple(corpus.split("-")),
            files=tuple(group.files(split, corpus, self.root)),
            reader=group.reading(split),
            word_tokenizer=self.word_tokenizer,
            normalization=self.recipe.normalization,
            filters=tuple(filters),
        )

    def in_language(self, language: str, groups: Iterable[CorpusGroup]) -> Iterator[CorpusText]:
        """Yield the training texts of groups with a language, parallel ones included."""
        for group in groups:
            for corpus in group.trained:
                if language in corpus.split("-"):
                    yield self.of(group, corpus)

    @cached_property
    def word_tokenizer(self) -> WordTokenizer:
        """The recipe's word tokenizer; `auto` is chosen by the first rows of all training text.

        All text of a recipe has the same one, so that words of corpora, alignments and dictionaries agree. Derived text
        follows its originals.
        """
        if self.recipe.word_tokenizer != AUTO:
            return WORD_TOKENIZERS.build(self.recipe.word_tokenizer)
        names: set[str] = set()
        for label, corpus in self.recipe.corpora_in("train").values():
            if not self.recipe.derived.keys() & {*corpus.split("-")}:
                names.add(self._suitable_tokenizer(self.recipe.corpora[label], corpus))
        return WORD_TOKENIZERS.build("unicode" if "unicode" in names else "whitespace")

    def _suitable_tokenizer(self, group: CorpusGroup, corpus: str) -> str:
        """Return the name of the word tokenizer that suits the first rows of a corpus; empty if they cannot be read.

        Whoever reads the whole corpus reports such an error, with its place.
        """
        try:
            files = group.files("train", corpus, self.root)
            chunk = next(
                READERS.build(group.reader).read_chunks(files, corpus.split("-")), None
            )
        except DataError:
            return ""
        texts = [] if chunk is None else sides(chunk)
        return word_tokenizer_for(*(Text.of(text.lines, text.language) for text in texts))
