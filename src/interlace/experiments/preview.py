"""Preview an objective: the batches that it builds from one sentence and its translation.

Without a given vocabulary every word is a token.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import sorted_links
from interlace.alignment.pharaoh import parse_pharaoh
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs, Sentences
from interlace.data.tokenizer_training import ROLES, word_level_tokenizer
from interlace.data.vocab import Vocab
from interlace.models.families import Traits
from interlace.objectives import Batch, Objective, Resources
from interlace.text import LanguagePair, TextPairs
from interlace.text.columns import TextColumns

MAX_LENGTH = 512

# Further words of the vocabulary, so that random replacements are words.
_OTHER_WORDS = (
    "sea house garden small buys bread yesterday Meer Haus Garten kleine kauft Brot gestern"
)


@dataclass(frozen=True)
class PreviewPair:
    """A sentence, its translation, and their word alignment in Pharaoh format."""

    source: str = "today the old doctor reads three letters"
    target: str = "heute liest der alte Arzt drei Briefe"
    links: str = "0-0 1-2 2-3 3-4 4-1 5-5 6-6"
    languages: LanguagePair = ("en", "de")
    word_tokenizer: str = "whitespace"

    def words(self) -> tuple[list[str], list[str]]:
        """Return the words of both sides; raise a DataError if a side has none."""
        texts = self._texts()
        return texts.source.tokens(0), texts.target.tokens(0)

    def linked(self) -> list[tuple[str, str]]:
        """Return the aligned words; raise a DataError if a link is malformed or out of range."""
        source, target = self.words()
        words = []
        for i, j in self._links().flat.tolist():
            if i >= len(source) or j >= len(target):
                raise DataError(
                    f"links: {i}-{j} is out of range; the sentences have {len(source)} and "
                    f"{len(target)} words, counted from 0"
                )
            words.append((source[i], target[j]))
        return words

    def vocab(self) -> Vocab:
        """Return a vocabulary of the words of both sentences and a few others."""
        source, target = self.words()
        return Vocab(
            word_level_tokenizer([*source, *target, *_OTHER_WORDS.split()]), ROLES, {}, "words"
        )

    def pairs(self, vocab: Vocab, rows: int = 1, *, with_phrases: bool = True) -> Pairs:
        """Return the pair `rows` times, with its alignment, and the phrases extracted from it."""
        self.linked()
        texts = self._texts()
        links = self._links()
        confidence = Ragged(np.ones(len(links.flat), np.float32), links.offsets)
        source = vocab.encode_text(texts.source)
        target = vocab.encode_text(texts.target)
        lines = (TextColumns.of(texts.source), TextColumns.of(texts.target))
        pair = Pairs(source, target, links, confidence=confidence, text=lines)
        if with_phrases:
            pair = _with_phrases(pair, WordPairs.of([texts]), links, confidence)
        return pair.take(np.zeros(rows, np.int64))

    def batches(
        self,
        objective: Objective,
        vocab: Vocab,
        *,
        rows: int = 1,
        seed: int = 0,
        embeddings: bool = False,
    ) -> dict[str, Batch]:
        """Return batches by corpus: one of the pair, or one per language if the objective reads single sentences.

        rows: how often the pair is repeated in a batch. embeddings: with language embeddings.
        """
        pairs = self.pairs(vocab, rows, with_phrases="phrases" in objective.needs)
        languages: dict[str, int] = {}
        if embeddings:
            languages = {language: number for number, language in enumerate(self.languages)}
        traits = Traits(
            "bert",
            MAX_LENGTH,
            languages,
            "token_type_ids" if embeddings else None,
        )
        ids = np.concatenate([pairs.source.ids.flat, pairs.target.ids.flat])
        frequencies = np.bincount(ids, minlength=vocab.size)
        lexicon = Lexicon.of((source, target, 1.0) for source, target in self.linked())
        resources = Resources(
            vocab,
            traits,
            frequencies,
            seed,
            {self.languages: lexicon},
        )
        prepared = objective.prepare(resources)
        examples: dict[str, Pairs | Sentences] = {"-".join(self.languages): pairs}
        if objective.reads is not Pairs:
            examples = {side.language: side for side in (pairs.source, pairs.target)}
        batches = {}
        for number, (name, rows_of_corpus) in enumerate(examples.items()):
            rng = generator(Purpose.BATCH, seed, 1, number)
            batches[name] = objective.batch(rows_of_corpus, prepared, 1, rng)
        return batches

    def _texts(self) -> TextPairs:
        texts = TextPairs.of(
            [self.source],
            [self.target],
            self.languages,
            self.word_tokenizer,
        )
        for side in (texts.source, texts.target):
            if not len(side.words.flat):
                raise DataError(
                    f"the sentence in {side.language!r} has no words: {side.lines[0]!r}"
                )
        return texts

    def _links(self) -> Ragged:
        columns = parse_pharaoh([self.links], "links")
        return sorted_links(columns.rows, columns.links, 1)


def _with_phrases(pair: Pairs, words: WordPairs, links: Ragged, confidence: Ragged) -> Pairs:
    """Return the pair with its phrases."""
    from interlace.alignment.phrase_counts import count_phrases
    from interlace.alignment.phrase_rules import TableRules
    from interlace.data.alignments import PhraseStore, WordAlignments

    rules = TableRules()
    table = count_phrases(words, links, rules)
    with TemporaryDirectory() as folder:
        aligned = WordAlignments.write(Path(folder, "links"), [(words, links, confidence.flat)])
        store = PhraseStore.write(Path(folder, "phrases"), aligned, table, rules)
        phrases, scores = store.take([0])
        known = store.known([0])
    return replace(pair, phrases=phrases, scores=scores, known=known)
