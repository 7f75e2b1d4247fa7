"""Do translations stand next to each other in the input table? P@1 by cosine (ALIGN-MLM, section 5).

The score looks at the table alone, and at what language embeddings add to it: no context, nothing trained.
Words are taken as they are written inside a sentence (after a blank), since that is how pre-training met most of them.
ALIGN-MLM's languages share no subword; real ones do, and a word that both write alike is one row, nearest to itself
before any learning. So by default a word's own row is no candidate, and words whose translations are all written alike
are not asked; `identical` changes that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.neighbors import ranks, unit
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.objectives import BoolOrAuto, language_id, resolve_language_ids
from interlace.scores.examples import Examples, identity_of
from interlace.tasks._dictionary import read_entries
from interlace.tasks._distinct import numbered
from interlace.tasks._files import FileQuery, Files, find, find_parts
from interlace.tasks._learnt import DictionaryTask, Learnt
from interlace.tasks._outcomes import Measured
from interlace.tasks._subwords import subwords_of
from interlace.tasks._words import means, spellable

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.tasks._learnt import Parts


@dataclass(frozen=True)
class Entries(Pairs):
    """A dictionary, an entry a row; its words, and what training has read of them.

    met: (r,) the subwords that the target language's text is written with, where these are candidates; sorted.
    """

    words: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    learnt: Learnt = field(default_factory=Learnt)
    met: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))


class EmbeddingAlignment(DictionaryTask):
    """Percent of dictionary words whose nearest row in the input table is one of their translations.

    Where training has read a part of the dictionary, the score is over the words that it has not.
    """

    metric: ClassVar[str] = "p@1"
    also: ClassVar[tuple[str, ...]] = ("coverage", "held out")

    source: str = Field(
        "en", description="The language of the words asked; translations are in the language asked for."
    )
    files: Files = Field(
        "dict/{source}-{target}.txt",
        description="Dictionaries under the data root in MUSE's form (source, blank or tab, target; a pair a line).",
    )
    candidates: Literal["dictionary", "text", "vocabulary"] = Field(
        "dictionary",
        description="Rows searched: all target words of the dictionary; with them every ordinary subword that `text` "
        "is written with (ALIGN-MLM: the target language's vocabulary); or every ordinary subword of both languages.",
    )
    text: Files = Field(
        "text/train.{language}.txt",
        description="With candidates = 'text': text of the target language, lines or CoNLL-U by suffix.",
    )
    pieces: Literal["single", "mean"] = Field(
        "single", description="Words of several subwords: left out (ALIGN-MLM), or the mean of their rows."
    )
    identical: bool = Field(False, description="Also ask words whose translation is written alike (the same row).")
    language_ids: BoolOrAuto = Field(
        "auto",
        description="Add each side's language embedding to its rows, as the model does (ALIGN-MLM's script, for XLM); "
        "'auto': where the model has one for both.",
    )

    def model_post_init(self, _context: Any) -> None:
        """Text and vocabulary hold rows, not means of rows."""
        if self.candidates != "dictionary" and self.pieces == "mean":
            message = f"candidates = {self.candidates!r} needs pieces = 'single'"
            raise ValueError(message)

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Entries:
        """A row a dictionary entry: the subwords of the word and of its translation as inside a sentence."""
        asked = FileQuery("embedding_alignment", split, language, root, self.source)
        words = read_entries(find(self.files, asked))
        source, target = _words(words[0], self.source, vocab), _words(words[1], language, vocab)
        met = subwords_of(find_parts(self.text, asked) if self.candidates == "text" else [], language, vocab)
        return Entries(source, target, words=words, learnt=self.learnt_of(asked), met=met)

    def read_files(self, split: str, language: str, root: Path) -> list[Path]:
        """The dictionary, what was learnt of it, and the text, where its subwords are candidates."""
        asked = FileQuery("embedding_alignment", split, language, root, self.source)
        text = find_parts(self.text, asked) if self.candidates == "text" else []
        return [*super().read_files(split, language, root), *(part.path for part in text)]

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Entries) -> Measured:
        """`p@1` over the words asked, and `coverage`, the share of the dictionary's source words that were asked.

        Where training has read some of them, `p@1` is over those it has not, `held out` is their share, and `p@1, all`
        and `p@1, seen` are over all and over those it has read.

        Raises:
            DataError: not one word can be asked.
        """
        sources, targets = examples.source.ids, examples.target.ids
        words, _ = numbered(sources)
        source_fits, target_fits = (
            spellable(rows, vocab, single=self.pieces == "single") for rows in (sources, targets)
        )
        usable = source_fits & target_fits & (self.identical | ~_alike(sources, targets))
        if not usable.any():
            raise DataError(
                f"embedding_alignment: none of the {len(examples)} entries from {examples.source.language!r} to "
                f"{examples.target.language!r} can be asked: a word has several subwords, or is written alike in both "
                "languages; set pieces = 'mean' or identical = true"
            )
        table = backbone.input_embeddings.detach().float().cpu().numpy()
        rows = self._rows(targets.take(np.flatnonzero(target_fits)), examples.met, vocab)
        kept = np.flatnonzero(usable)
        sides = self._language_vectors(backbone, examples)
        found = self._hits(table, sides, rows, sources.take(kept), targets.take(kept))
        spelt = [[side[entry] for entry in kept] for side in examples.words]
        parts = examples.learnt.parts(numbered(sources.take(kept))[0], *spelt)
        where = f"embedding_alignment, {examples.source.language}-{examples.target.language}"
        scores = parts.scores(where, lambda some: {"p@1": 100 * float(found[some].mean())})
        each = _outcomes(words, words[kept], found, parts)
        identity = identity_of(*examples.words, *examples.learnt.among(*examples.words))
        return Measured({**scores, "coverage": 100 * len(found) / len(np.unique(words))}, Examples(*each, identity))

    def _rows(self, targets: Ragged, met: NDArray[np.int32], vocab: Vocab) -> Ragged:
        """The candidates: a row each of subwords whose mean is its vector."""
        if self.candidates == "dictionary":
            return targets.take(numbered(targets)[1])
        rows = vocab.regular_ids.astype(np.int32)
        if self.candidates == "text":
            rows = rows[np.isin(rows, met) | np.isin(rows, targets.flat)]
        return Ragged.from_lengths(rows, np.ones(len(rows), np.int64))

    def _language_vectors(self, backbone: Backbone, examples: Entries) -> tuple[NDArray[np.float32], ...]:
        """(H,) what is added to the rows of the words asked, and to those of the candidates.

        Raises:
            SettingsError: they are asked for, and the model has none.
        """
        languages = (examples.source.language, examples.target.language)
        wanted = resolve_language_ids(self.language_ids, backbone.traits, "embedding_alignment")
        known = backbone.traits.languages
        if not wanted or (self.language_ids == "auto" and not known.keys() >= set(languages)):
            return (np.zeros(backbone.width, np.float32),) * 2
        vectors = backbone.language_embeddings.detach().float().cpu().numpy()
        return tuple(vectors[language_id(backbone.traits, language)] for language in languages)

    def _hits(
        self,
        table: NDArray[np.float32],
        sides: tuple[NDArray[np.float32], ...],
        rows: Ragged,
        sources: Ragged,
        targets: Ragged,
    ) -> NDArray[np.bool_]:
        """A truth value a distinct source word: is one of its targets nearest?"""
        numbers, first = numbered(sources)
        asked = sources.take(first)
        place = {row.tobytes(): number for number, row in enumerate(rows)}
        right = np.array([place[row.tobytes()] for row in targets], np.int64)
        entries = np.unique(np.stack([numbers, right], axis=1), axis=0)
        gold = Ragged.from_lengths(entries[:, 1], np.bincount(entries[:, 0]))
        own = [[place[key]] if (key := row.tobytes()) in place else [] for row in asked]
        barred = None if self.identical else Ragged.of(own, np.int64)
        queries, near = (unit(means(table, words) + side) for words, side in zip((asked, rows), sides, strict=True))
        places = ranks(queries, near, gold, barred=barred)
        return np.asarray(places == 1)


def _outcomes(
    words: NDArray[np.int64], asked: NDArray[np.int64], hits: NDArray[np.bool_], parts: Parts
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score and weight of each of the dictionary's source words; those that do not count weigh nothing.

    words: the number of the word of each entry. asked: those of the entries asked. hits: (n,) a truth value each.
    """
    counted = parts.counted
    order = np.unique(asked, return_index=True)[1]  # a word's first entry, as the words asked are numbered
    there = asked[np.sort(order)][counted]
    score, weight = np.zeros(int(words.max()) + 1), np.zeros(int(words.max()) + 1)
    score[there], weight[there] = hits[counted], 1
    return score, weight


def _words(words: list[str], language: str, vocab: Vocab) -> Sentences:
    ids = vocab.encode_words(words)
    ids = Ragged(ids.values.astype(np.int32), ids.offsets)
    return Sentences(ids, Ragged(np.zeros(len(ids.values), np.int32), ids.offsets), language)


def _alike(sources: Ragged, targets: Ragged) -> NDArray[np.bool_]:
    pairs = zip(sources, targets, strict=True)
    return np.array([source.tobytes() == target.tobytes() for source, target in pairs], np.bool_)
