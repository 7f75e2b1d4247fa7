"""Word translation from input embeddings: P@1 by cosine (ALIGN-MLM, section 5). Nothing is trained.

The score looks at the input embeddings alone, and at what language embeddings add to them, without context. Words are
taken as written inside a sentence (after a blank), as pre-training met most of them. ALIGN-MLM's languages share no
subword. Real languages do, and a word that both spell alike is one row, nearest to itself before any training. So a
word's own row is no candidate, and words whose translations are all spelled alike are left out. Words of several
subwords are skipped, as in ALIGN-MLM.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.core.neighbors import ranks, unit
from interlace.core.ragged import (
    AnyArray,
    BoolArray,
    IntArray,
    IntegerArray,
    Ragged,
    distinct_rows,
)
from interlace.data import Pairs
from interlace.readers import READERS
from interlace.tasks import Scores
from interlace.tasks.common.dictionaries import (
    DictionaryTask,
    TrainingEntries,
    Translations,
    read_entries,
)
from interlace.tasks.common.files import FileQuery, Files, find_file, find_parts
from interlace.tasks.common.vectors import single_words, spellable

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


@dataclass(frozen=True)
class EncodedEntries(Pairs):
    """Words and their translations as subwords and as strings, and words of entries that were trained on.

    shared: (n,) whether an embedding row of an entry is in one that was trained on.
    text_ids: (r,) the sorted subwords of the target language's text, if these are candidates.
    """

    words: Translations = field(kw_only=True)
    trained: TrainingEntries = field(kw_only=True)
    shared: BoolArray = field(kw_only=True)
    text_ids: IntegerArray = field(kw_only=True)

    @property
    def name(self) -> str:
        """Both languages."""
        return f"{self.source.language}-{self.target.language}"


class EmbeddingAlignment(DictionaryTask):
    """Percentage of dictionary words whose nearest input embedding is that of a translation.

    Words that were trained on do not count in the main metric.
    """

    metric = "p@1"
    further_metrics = ("coverage", "held out")
    scoring_version = 2

    candidates: Literal["dictionary", "text"] = Field(
        "dictionary",
        description="Candidates: all target words of the dictionary; with them every ordinary subword of `text` "
        "(ALIGN-MLM: the target language's vocabulary).",
    )
    text: Files = Field(
        "text/train.{language}.txt",
        description="With candidates = 'text': text of the target language, lines or CoNLL-U by suffix.",
    )

    def read_files(self, split: str, language: str, root: Root) -> list[Path]:
        """Return the dictionary, and the text of candidates."""
        paths = super().read_files(split, language, root)
        if self.candidates == "text":
            paths += [
                part.path for part in find_parts(self.text, self.query(split, language, root))
            ]
        return paths

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> EncodedEntries:
        """Encode entries as inside a sentence; raise a DataError for no dictionary, or rows of a text."""
        query = self.query(split, language, root)
        words = read_entries(find_file(self.files, query))
        source = single_words(vocab.encode_words(words.source), self.source)
        target = single_words(vocab.encode_words(words.target), language)
        trained = self.training_entries(query)
        text_ids: IntegerArray = np.zeros(0, np.int64)
        if self.candidates == "text":
            text_ids = self._text_ids(query, vocab)
        return EncodedEntries(
            source,
            target,
            words=words,
            trained=trained,
            shared=trained.shares_rows(vocab, source.ids, target.ids),
            text_ids=text_ids,
        )

    def _text_ids(self, query: FileQuery, vocab: Vocab) -> IntegerArray:
        """Return the sorted subwords of the target language's text."""
        in_text = np.zeros(vocab.size, np.bool_)
        for part in find_parts(self.text, query):
            if part.rows:
                raise DataError(
                    f"{part.path}: the subwords of a language are counted in whole files; remove the rows"
                )
            reader: Any = READERS.build(
                "conllu" if ".conllu" in part.path.suffixes else "lines"
            )
            for sentences in vocab.encode_texts(
                reader.read_chunks([part.path], [query.language])
            ):
                in_text[sentences.ids.flat] = True
        return np.flatnonzero(in_text)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: EncodedEntries) -> Scores:
        """Return `p@1`, and `coverage`, the share of the dictionary's source words that were looked up.

        If some were trained on, `p@1` is over held-out words, `held out` is their share, and `p@1, all` and `p@1, seen`
        are over all and over those trained on. Raise a DataError if no word can be looked up.
        """
        sources = examples.source.ids
        targets = examples.target.ids
        target_fits = spellable(targets, vocab, single=True)
        alike = [np.array_equal(*pair) for pair in zip(sources, targets, strict=True)]
        source_fits = spellable(sources, vocab, single=True)
        is_usable = source_fits & target_fits & ~np.array(alike, np.bool_)
        kept = np.flatnonzero(is_usable)
        if not len(kept):
            raise DataError(
                f"{self.name}: none of the {len(examples)} entries from {examples.source.language!r} to "
                f"{examples.target.language!r} can be looked up: a word has several subwords, or is spelled alike in "
                "both languages"
            )
        target_ids = targets.take(np.flatnonzero(target_fits)).flat
        text_ids = np.intersect1d(examples.text_ids, vocab.regular_ids)
        candidates = np.union1d(target_ids, text_ids)  # (k,) sorted
        hits = self._hits(backbone, examples, candidates, kept)  # (n,) of distinct source words

        def metrics_of(chosen: BoolArray) -> dict[str, float]:
            return {"p@1": 100 * float(hits[chosen].mean())}

        kept_numbers, first_entries = distinct_rows(sources.take(kept))
        groups = examples.trained.groups(
            examples.words.take(kept),
            kept_numbers,
            examples.shared[kept],
        )
        metrics = groups.metrics(f"{self.name}, {examples.name}", metrics_of)
        source_numbers, _ = distinct_rows(sources)  # (m,) the source word of each entry
        metrics["coverage"] = 100 * len(hits) / len(np.unique(source_numbers))
        identity = examples.trained.identity(examples.words, examples.shared)
        outcomes = groups.outcomes(source_numbers, kept[first_entries], hits, identity)
        return Scores(
            metrics, outcomes, details={"candidates": {self.candidates: len(candidates)}}
        )

    def _hits(
        self,
        backbone: Backbone,
        examples: EncodedEntries,
        candidates: IntegerArray,
        kept: IntArray,
    ) -> BoolArray:
        """(n,) whether a translation is nearest to each distinct source word of the kept entries.

        candidates: (k,) sorted subwords.
        """
        sources = examples.source.ids.take(kept)  # rows of one subword
        numbers, firsts = distinct_rows(sources)
        words = sources.flat[firsts]  # (n,)
        translations = np.searchsorted(candidates, examples.target.ids.take(kept).flat)
        gold_pairs = np.stack([numbers, translations], axis=1)
        gold = np.unique(gold_pairs, axis=0)
        is_candidate = np.isin(words, candidates)
        own_candidates = np.searchsorted(candidates, words[is_candidate])
        table = backbone.input_embeddings.detach().float().cpu().numpy()
        source_vector, target_vector = self._language_vectors(backbone, examples)
        queries = unit(table[words] + source_vector)
        best_ranks = ranks(
            queries,
            unit(table[candidates] + target_vector),
            Ragged.from_lengths(gold[:, 1], np.bincount(gold[:, 0])),
            excluded=Ragged.from_lengths(own_candidates, is_candidate),
        )
        return best_ranks == 1

    def _language_vectors(
        self,
        backbone: Backbone,
        examples: EncodedEntries,
    ) -> tuple[AnyArray, AnyArray]:
        """(H,) what is added to the rows of source words, and to those of candidates: what the model adds, if known."""
        languages = (examples.source.language, examples.target.language)
        traits = backbone.traits
        if not traits.has_languages or not traits.languages.keys() >= set(languages):
            nothing = np.zeros(backbone.width, np.float32)
            return nothing, nothing
        vectors = backbone.language_embeddings.detach().float().cpu().numpy()
        source, target = (vectors[traits.language_id(language)] for language in languages)
        return source, target
