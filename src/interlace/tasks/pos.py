"""Part-of-speech tagging with the universal tags (Universal Dependencies; XTREME).

Every gold word that occurs in the line is scored. Words of contractions that do not (German `am` = an + dem: the second
one) are not predicted, and `left out` is their share; programs that read a treebank's words in place of its text do
predict them: 1.6 % of German's PUD, 2.4 % of French's.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, did_you_mean
from interlace.readers.conllu import LEFT_OUT
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import Scale, Scores, Tuning
from interlace.tasks.common.classification import TaggingTask
from interlace.tasks.common.files import Files, ReaderSettings, find_parts, log_notes

if TYPE_CHECKING:
    from interlace.data import LabeledExamples
    from interlace.data.vocab import Vocab

TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
_NUMBERS = {tag: number for number, tag in enumerate(TAGS)} | {"_": -1, "": -1}


class Pos(TaggingTask):
    """Accuracy over words, in percent; a word beyond the maximum sequence length is wrong."""

    metric: ClassVar[str] = "accuracy"
    same_scale: ClassVar[tuple[str, ...]] = ()
    other_scales: ClassVar[dict[str, Scale]] = dict.fromkeys(("unread", "left out"), ("%", False))
    tag_kind: ClassVar[str] = "pos"

    files: Files = Field(
        "pos/{split}.{language}.conllu",
        description="CoNLL-U files under the data root: a pattern, or patterns by split or 'test.de'.",
    )
    reader: ReaderSettings = Field("conllu", description="Reader of the files; must return tags of kind 'pos'.")
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(epochs=10), description="How the task is fine-tuned (ALIGN-MLM: 10 epochs)."
    )

    @property
    def classes(self) -> tuple[str, ...]:
        """The universal tags."""
        return TAGS

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> LabeledExamples:
        """Encode sentences with a tag per word; words without a tag (`_`) are counted and not scored."""
        query = self.query(split, language, root)
        chunks = self.clean_chunks(query)
        examples, path = self.encode(chunks, vocab, _NUMBERS), chunks[0][0]
        tags: Any = examples.tags
        log_notes(self.name, path, {"words without a tag, not scored": int((tags.flat < 0).sum())})
        if (tags.flat < 0).all():
            raise DataError(f"{self.name}: {path}: no word has a tag")
        if any(part.rows for part in find_parts(self.files, query)):
            return examples  # readers count by file, so `left_out` is unknown for some rows of one
        return replace(examples, left_out=sum(chunk.notes.get(LEFT_OUT, 0) for _, chunk in chunks))

    def score(self, examples: LabeledExamples, predictions: Any) -> Scores:
        """Return `accuracy`, and `unread`, the share of words beyond the maximum length, which are wrong.

        With whole files also `left out`, the share of gold words that do not occur in the text.
        """
        gold: Any = examples.tags
        scored = gold.flat >= 0
        hits = (predictions.flat == gold.flat) & scored
        metrics = {
            "accuracy": 100 * float(hits[scored].mean()),
            "unread": 100 * float((predictions.flat[scored] < 0).mean()),
        }
        if examples.left_out is not None:
            metrics["left out"] = 100 * examples.left_out / (examples.left_out + int(scored.sum()))
        score, weight = (np.bincount(gold.rows(), words, len(gold)).astype(np.float64) for words in (hits, scored))
        return Scores(metrics, Examples(score, weight, identity_of(gold.lengths, gold.flat)))

    def explain_unknown(self, tag: str) -> str:
        """Return the nearest universal tag."""
        return f"{tag!r} is no universal tag{did_you_mean(tag.upper(), TAGS)}"
