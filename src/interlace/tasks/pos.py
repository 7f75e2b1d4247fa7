"""Part-of-speech tagging with the universal tags, zero-shot from the source language (Universal Dependencies; XTREME).

Every gold word that stands in the line is scored by itself, the way treebanks count words. Words of contractions that
stand nowhere in it (German `am` = an + dem: the second one) are not asked; scores tell their share (`left out`), which
programs that read a treebank's words in place of its text do ask: 1.6 % of German's PUD, 2.4 % of French's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, did_you_mean
from interlace.data import LabeledExamples
from interlace.objectives import BoolOrAuto
from interlace.readers.conllu import LEFT_OUT
from interlace.tasks import Scale, Task, Tuning
from interlace.tasks._apart import decontaminate
from interlace.tasks._files import FileQuery, Files, find_parts
from interlace.tasks._read import log_notes
from interlace.tasks._tagged import Chunks, encode_tagged, read_tagged, tag_ids
from interlace.tasks._tagging import Tagger

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data.vocab import Vocab
    from interlace.tasks import Predictions
    from interlace.text import Text

TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
_UNTAGGED = ("_", "")
_NUMBERS = {tag: number for number, tag in enumerate(TAGS)} | dict.fromkeys(_UNTAGGED, -1)


class Pos(Task):
    """Accuracy over words, in percent; a word cut off beyond the longest row is wrong."""

    metric: ClassVar[str] = "accuracy"
    also: ClassVar[tuple[str, ...]] = ()
    others: ClassVar[dict[str, Scale]] = dict.fromkeys(("unread", "left out"), ("%", False))

    files: Files = Field(
        "pos/{split}.{language}.conllu",
        description="CoNLL-U files under the data root: a pattern, or patterns by split or 'test.de'.",
    )
    reader: dict[str, Any] | str = Field("conllu", description="What reads the files; must give tags of kind 'pos'.")
    max_length: int = Field(256, ge=8, description="Longest row in subwords, at most the model's own (XTREME: 128).")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of the state dropped before the linear layer.")
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(epochs=10), description="How the task is fine-tuned (ALIGN-MLM: 10 epochs)."
    )

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> LabeledExamples:
        """Sentences with a tag a word; words without a tag (`_`) are counted and not scored."""
        asked = FileQuery("pos", split, language, root)
        chunks = decontaminate(self, asked, read_tagged(self.files, asked, self.reader, "pos"))
        tags = tag_ids(asked, chunks, "pos", _NUMBERS, _strange)
        path = chunks[0][0]
        log_notes("pos", path, [{"words without a tag, not scored": int((tags.flat < 0).sum())}])
        if (tags.flat < 0).all():
            raise DataError(f"pos: {path}: no word has a tag")
        return LabeledExamples(encode_tagged(chunks, vocab), tags=tags, left_out=self._left_out(asked, chunks))

    def _left_out(self, asked: FileQuery, chunks: Chunks) -> int | None:
        """Readers count them by the file, so that of some rows of a file nobody knows."""
        whole = not any(part.rows for part in find_parts(self.files, asked))
        return sum(chunk.notes.get(LEFT_OUT, 0) for _, chunk in chunks) if whole else None

    def texts(self, split: str, language: str, root: Path) -> list[Text]:
        """The sentences."""
        return [
            chunk for _, chunk in read_tagged(self.files, FileQuery("pos", split, language, root), self.reader, "pos")
        ]

    @property
    def classes(self) -> tuple[str, ...]:
        """The universal tags."""
        return TAGS

    def learner(self) -> Tagger:
        """A tagger of 17 tags."""
        return Tagger(
            classes=len(TAGS), dropout=self.dropout, max_length=self.max_length, language_ids=self.language_ids
        )

    def score(self, examples: Any, predictions: Predictions, gold: Predictions) -> dict[str, float]:
        """`accuracy`, and `unread`, the share of words that have no prediction and are therefore wrong.

        Also `left out`, the share of all gold words that are not asked since they stand nowhere in the text, where
        whole files are scored.
        """
        found, right = (np.asarray(side.flat) for side in (predictions, gold))
        scored = right >= 0
        scores = {
            "accuracy": 100 * float((found == right)[scored].mean()),
            "unread": 100 * float((found[scored] < 0).mean()),
        }
        lost = examples.left_out
        return scores if lost is None else {**scores, "left out": 100 * lost / (lost + int(scored.sum()))}


def _strange(tag: str) -> str:
    return f"{tag!r} is no universal tag{did_you_mean(tag.upper(), TAGS)}"
