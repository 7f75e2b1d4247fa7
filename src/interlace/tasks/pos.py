"""Part-of-speech tagging with the universal tags (Universal Dependencies; XTREME).

Every gold word that occurs in the line is scored. Words of contractions that do not (German `am` = an + dem: the second
one) are counted in the log and not predicted; programs that read a treebank's words in place of its text do predict
them: 1.6 % of German's PUD, 2.4 % of French's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import DataError, did_you_mean
from interlace.core.ragged import Int32Array, IntArray
from interlace.data import LabeledExamples
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import Scores, Tuning
from interlace.tasks.common.classification import TaggingTask
from interlace.tasks.common.files import Files, ReaderSettings, log_notes

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab

TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
_NUMBERS = {tag: number for number, tag in enumerate(TAGS)} | {"_": -1, "": -1}


class Pos(TaggingTask):
    """Accuracy over words, and F1 of seqeval, in percent; a word beyond the maximum sequence length is wrong."""

    metric = "accuracy"
    scoring_version = 2
    further_metrics = ("f1",)
    tag_kind = "pos"

    files: Files = Field(
        "pos/{split}.{language}.conllu",
        description="CoNLL-U files under the data root: a pattern, or patterns by split or 'test.de'.",
    )
    reader: ReaderSettings = Field(
        "conllu",
        description="Reader of the files; must return tags of kind 'pos'.",
    )
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(epochs=10),
        description="How the task is fine-tuned (ALIGN-MLM: 10 epochs).",
    )

    @property
    def classes(self) -> tuple[str, ...]:
        """The universal tags."""
        return TAGS

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> LabeledExamples:
        """Encode sentences with a tag per word; words without a tag (`_`) are counted and not scored."""
        chunks = self.clean_chunks(self.query(split, language, root))
        path = chunks[0][0]
        examples = self.encode(chunks, vocab, _NUMBERS)
        tags: Any = examples.tags
        log_notes(
            self.name, path, {"words without a tag, not scored": int((tags.flat < 0).sum())}
        )
        if (tags.flat < 0).all():
            raise DataError(f"{self.name}: {path}: no word has a tag")
        return examples

    def score(self, examples: LabeledExamples, predictions: Any) -> Scores:
        """Return `accuracy`, `f1`, and the shares of words without a prediction, which are wrong.

        `f1` equals seqeval's `f1_score` of the tags, which ALIGN-MLM's and XTREME's code prints; seqeval takes runs of
        equal tags for entities.
        """
        gold: Any = examples.tags
        is_scored = gold.flat >= 0
        hits = (predictions.flat == gold.flat) & is_scored
        sentences = gold.rows()  # (W,) the sentence of each word
        scored_sentences = sentences[is_scored]
        predicted = _chunks(predictions.flat[is_scored], scored_sentences)
        expected = _chunks(gold.flat[is_scored], scored_sentences)
        common = len(np.intersect1d(predicted, expected))
        metrics = {
            "accuracy": 100 * float(hits[is_scored].mean()),
            "f1": 200 * common / max(len(predicted) + len(expected), 1),
            **self.unread(predictions, is_scored),
        }
        score = np.bincount(sentences, hits, len(gold)).astype(np.float64)
        weight = np.bincount(sentences, is_scored, len(gold)).astype(np.float64)
        return Scores(metrics, Examples(score, weight, identity_of(gold.lengths, gold.flat)))

    def explain_unknown(self, tag: str) -> str:
        """Return the nearest universal tag."""
        return f"{tag!r} is no universal tag{did_you_mean(tag.upper(), TAGS)}"


_SINGLE = np.array([tag.startswith("S") for tag in TAGS])
_LAST_WITH_REST = {tag[1:]: number for number, tag in enumerate(TAGS)}
# one number for all tags with the same rest
_TYPES = np.array([_LAST_WITH_REST[tag[1:]] for tag in TAGS])
_OUTSIDE = _TYPES[TAGS.index("X")]  # seqeval's O has an empty rest, too


def _chunks(tags: Int32Array, rows: IntArray) -> IntArray:
    """Return the entities that seqeval 1.2.2 finds in n tags, as a number for each type, first and last word.

    seqeval reads the first letter as IOBES and the rest as the type, and all sentences as one row with O between.
    So SYM and SCONJ (S) always begin an entity, CCONJ and SCONJ are one type, and X has the type of O.

    tags: -1 for words without a prediction, which are O. rows: the sentence of each.
    """
    sentence_ends = np.flatnonzero(np.diff(rows, append=-1)) + 1
    tags = np.insert(tags, sentence_ends, -1)
    is_tag = tags >= 0
    types = np.where(is_tag, _TYPES[tags], _OUTSIDE)
    is_single = is_tag & _SINGLE[tags]
    type_begins = np.diff(types, prepend=-1) != 0
    type_ends = np.append(type_begins[1:], True)
    begins = is_single | (is_tag & type_begins)
    ends = is_single | (is_tag & type_ends)  # the O at the end ends X, too
    begin_so_far = np.maximum.accumulate(np.where(begins, np.arange(len(tags)), 0))
    last = np.flatnonzero(ends)
    spans = begin_so_far[last] * len(tags) + last
    return np.asarray(spans * len(TAGS) + types[last], np.int64)
