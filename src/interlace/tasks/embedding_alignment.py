"""Word translation from input embeddings: P@1 by cosine (ALIGN-MLM, section 5). Nothing is trained.

The score looks at the input embeddings alone, and at what language embeddings add to them, without context. Words are
taken as written inside a sentence (after a blank), as pre-training met most of them. ALIGN-MLM's languages share no
subword. Real languages do, and a word that both spell alike is one row, nearest to itself before any training. So by
default a word's own row is no candidate, and words whose translations are all spelled alike are left out; `identical`
changes that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.core.neighbors import ranks, unit
from interlace.core.ragged import Ragged, distinct_rows
from interlace.data import Pairs
from interlace.objectives import BoolOrAuto
from interlace.readers import READERS
from interlace.tasks import Scores
from interlace.tasks.common.dictionaries import DictionaryTask, TrainingEntries, read_entries
from interlace.tasks.common.files import Files, find_file, find_parts
from interlace.tasks.common.vectors import mean_rows, single_words, spellable

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


@dataclass(frozen=True)
class EncodedEntries(Pairs):
    """Words and their translations as subwords and as strings, and words of entries that were trained on.

    shared: (n,) whether an embedding row of an entry is in one that was trained on.
    text_ids: (r,) the sorted subwords of the target language's text, if these are candidates.
    """

    words: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    trained: TrainingEntries = field(default_factory=TrainingEntries)
    shared: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    text_ids: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))


class EmbeddingAlignment(DictionaryTask):
    """Percentage of dictionary words whose nearest input embedding is that of a translation.

    Words that were trained on do not count in the main metric.
    """

    metric: ClassVar[str] = "p@1"
    scoring_version: ClassVar[int] = 2
    same_scale: ClassVar[tuple[str, ...]] = ("coverage", "held out")
    text_in: ClassVar[Literal["target", "both"]] = "target"

    candidates: Literal["dictionary", "text", "vocabulary"] = Field(
        "dictionary",
        description="Candidates: all target words of the dictionary; with them every ordinary subword of `text` "
        "(ALIGN-MLM: the target language's vocabulary); or every ordinary subword of both languages.",
    )
    text: Files = Field(
        "text/train.{language}.txt",
        description="With candidates = 'text': text of the target language, lines or CoNLL-U by suffix.",
    )
    multi_subword: Literal["skip", "mean"] = Field(
        "skip", description="Words of several subwords: skipped (ALIGN-MLM), or the mean of their embeddings."
    )
    identical: bool = Field(False, description="Include words whose translation is spelled alike (the same embedding).")
    language_ids: BoolOrAuto = Field(
        "auto",
        description="Add each side's language embedding to its rows, as the model does (ALIGN-MLM's script, for XLM); "
        "'auto': if the model has one for both.",
    )

    def model_post_init(self, _context: Any) -> None:
        """Candidates from text or vocabulary are single rows."""
        if self.candidates != "dictionary" and self.multi_subword == "mean":
            raise ValueError(f"candidates = {self.candidates!r} needs multi_subword = 'skip'")

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> EncodedEntries:
        """Encode entries as inside a sentence; raise a DataError for no dictionary, or rows of a text."""
        query = self.query(split, language, root)
        words = read_entries(find_file(self.files, query))
        source, target = (
            single_words(vocab.encode_words(side), of) for side, of in zip(words, (self.source, language), strict=True)
        )
        in_text = np.zeros(vocab.size, np.bool_)
        for part in find_parts(self.text, query) if self.candidates == "text" else []:
            if part.rows:
                raise DataError(f"{part.path}: the subwords of a language are counted in whole files; remove the rows")
            reader: Any = READERS.build("conllu" if ".conllu" in part.path.suffixes else "lines")
            for sentences in vocab.encode_texts(reader.read_chunks([part.path], [language])):
                in_text[sentences.ids.flat] = True
        ids = np.flatnonzero(in_text).astype(np.int32)
        trained = self.training_entries(query)
        shared = trained.shares_rows(vocab, source.ids, target.ids)
        return EncodedEntries(source, target, words=words, trained=trained, shared=shared, text_ids=ids)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: EncodedEntries) -> Scores:
        """Return `p@1`, and `coverage`, the share of the dictionary's source words that were looked up.

        If some were trained on, `p@1` is over held-out words, `held out` is their share, and `p@1, all` and `p@1, seen`
        are over all and over those trained on. Raise a DataError if no word can be looked up.
        """
        sources, targets = examples.source.ids, examples.target.ids
        numbers, _ = distinct_rows(sources)
        source_fits, target_fits = (
            spellable(rows, vocab, single=self.multi_subword == "skip") for rows in (sources, targets)
        )
        alike = [source.tobytes() == target.tobytes() for source, target in zip(sources, targets, strict=True)]
        usable = source_fits & target_fits & (self.identical | ~np.array(alike, np.bool_))
        if not usable.any():
            raise DataError(
                f"{self.name}: none of the {len(examples)} entries from {examples.source.language!r} to "
                f"{examples.target.language!r} can be looked up: a word has several subwords, or is spelled alike in "
                "both languages; set multi_subword = 'mean' or identical = true"
            )
        fitting, ids = targets.take(np.flatnonzero(target_fits)), vocab.regular_ids.astype(np.int32)
        if self.candidates == "text":
            ids = ids[np.isin(ids, examples.text_ids) | np.isin(ids, fitting.flat)]
        if self.candidates == "dictionary":
            candidates = fitting.take(distinct_rows(fitting)[1])
        else:
            candidates = Ragged.from_lengths(ids, np.ones(len(ids), np.int64))
        kept = np.flatnonzero(usable)
        hits = self._hits(backbone, examples, candidates, kept)
        spelled = [[side[entry] for entry in kept] for side in examples.words]
        kept_numbers, firsts = distinct_rows(sources.take(kept))
        groups = examples.trained.groups(kept_numbers, examples.shared[kept], *spelled)
        where = f"{self.name}, {examples.source.language}-{examples.target.language}"
        metrics = groups.metrics(where, lambda some: {"p@1": 100 * float(hits[some].mean())})
        identity = examples.trained.identity(*examples.words, examples.shared)
        outcomes = groups.outcomes(numbers, kept[firsts], hits, identity)
        details = {"candidates": {self.candidates: len(candidates)}}
        coverage = 100 * len(hits) / len(np.unique(numbers))
        return Scores({**metrics, "coverage": coverage}, outcomes, details=details)

    def _hits(
        self, backbone: Backbone, examples: EncodedEntries, candidates: Ragged, kept: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """(n,) whether a translation is nearest to each distinct source word of the kept entries."""
        sources, targets = examples.source.ids.take(kept), examples.target.ids.take(kept)
        numbers, first = distinct_rows(sources)
        words = sources.take(first)
        place = {row.tobytes(): number for number, row in enumerate(candidates)}
        right = np.array([place[row.tobytes()] for row in targets], np.int64)
        entries = np.unique(np.stack([numbers, right], axis=1), axis=0)
        gold = Ragged.from_lengths(entries[:, 1], np.bincount(entries[:, 0]))
        own = [[place[key]] if (key := row.tobytes()) in place else [] for row in words]
        barred = None if self.identical else Ragged.of(own, np.int64)
        table = backbone.input_embeddings.detach().float().cpu().numpy()
        added = self._language_vectors(backbone, examples)
        queries, near = (
            unit(mean_rows(table, rows) + side) for rows, side in zip((words, candidates), added, strict=True)
        )
        return np.asarray(ranks(queries, near, gold, excluded=barred) == 1)

    def _language_vectors(self, backbone: Backbone, examples: EncodedEntries) -> tuple[NDArray[np.float32], ...]:
        """(H,) what is added to the rows of source words, and to those of candidates."""
        languages = (examples.source.language, examples.target.language)
        wanted = backbone.traits.feeds_languages(self.language_ids, self.name)
        known = backbone.traits.languages
        if not wanted or (self.language_ids == "auto" and not known.keys() >= set(languages)):
            return (np.zeros(backbone.width, np.float32),) * 2
        vectors = backbone.language_embeddings.detach().float().cpu().numpy()
        return tuple(vectors[backbone.traits.language_id(language)] for language in languages)
