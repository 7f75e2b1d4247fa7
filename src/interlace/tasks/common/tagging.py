"""Token classification: a class for each word, from its first subword (Devlin et al. 2019, section 5.3).

    sequence  <s> the doc tors read let ters </s>
    at             *   *       *    *                predict: DET NOUN VERB NOUN

A word beyond the maximum sequence length has no prediction (-1) and counts as wrong.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlace.core.errors import DataError, did_you_mean
from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.layout import sentence_layout
from interlace.objectives import Batch
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import FineTuneTask, TaskHead
from interlace.tasks.common.files import find_parts
from interlace.tasks.common.reading import ReaderSettings, read_parts
from interlace.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.core.randomness import Generator
    from interlace.data import LabeledExamples
    from interlace.data.layout import Layout
    from interlace.data.vocab import Vocab
    from interlace.objectives import Prepared
    from interlace.tasks.common.files import FileQuery
    from interlace.tasks.common.reading import Chunks

_MAX_WORDS = 40  # words of a sentence shown in samples


class Tagger(TaskHead):
    """Dropout and a linear layer on the last state of each word's first subword."""

    term: ClassVar[str] = "tagging"

    def batch(self, examples: LabeledExamples, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Predict the tag of every word that has one and fits into the sequence; nothing is random."""
        sentences: Any = examples.examples
        layout = sentence_layout(sentences, prepared.vocab, self.sequence_length(prepared))
        rows, columns = np.nonzero(first_subwords(layout))
        words = layout.words[rows, columns]
        labels = _tags_at(examples.tags, rows, words)
        known = labels >= 0
        return Batch(
            inputs=self.encoder_inputs(layout, (sentences.language,), prepared),
            at=(rows[known], columns[known]),
            labels=labels[known].astype(np.int64),
            counts={self.term: float(known.sum())},
            tokens=layout.tokens,
            extra={"words": words[known]},
        )


class TaggingTask(FineTuneTask):
    """Base of tasks that assign a tag to each word."""

    tag_kind: ClassVar[str]  # the key of the tags in the text that the reader returns

    reader: ReaderSettings

    def head(self) -> Tagger:
        """Return a tagger of the classes."""
        return self.build_head(Tagger, classes=len(self.classes))

    def read_chunks(self, query: FileQuery) -> Chunks[Text]:
        """Read all sentences of the files.

        Raises:
            DataError: a file is missing, or the reader returns no tags of this kind.
        """
        chunks = [
            (part.path, chunk)
            for part in find_parts(self.files, query)
            for chunk in read_parts(query.task, self.reader, [part], [query.language], Text)
        ]
        for path, chunk in chunks:
            if self.tag_kind not in chunk.tags:
                hint = did_you_mean(self.tag_kind, chunk.tags)
                raise DataError(f"{query.task}: {path}: the reader found no tags of kind {self.tag_kind!r}{hint}")
        return chunks

    def tag_ids(self, chunks: Chunks[Text], numbers: Mapping[str, int]) -> Ragged:
        """Return the number of each word's tag, a row per sentence.

        Raises:
            DataError: an unknown tag, with its file, sentence and word.
        """
        return Ragged.concatenate([self._numbered(path, chunk, numbers) for path, chunk in chunks])

    def _numbered(self, path: Path, text: Text, numbers: Mapping[str, int]) -> Ragged:
        rows = text.tags[self.tag_kind]
        for line, row in enumerate(rows):
            for word, tag in enumerate(row):
                if tag not in numbers:
                    place = f"sentence {text.lines[line]!r}, word {text.tokens(line)[word]!r}"
                    raise DataError(f"{self.name}: {path}: {place}: {self.explain_unknown(tag)}")
        return Ragged.of([[numbers[tag] for tag in row] for row in rows])

    @abstractmethod
    def explain_unknown(self, tag: str) -> str:
        """Return the error about an unknown tag."""

    def samples(
        self, vocab: Vocab, examples: LabeledExamples, predictions: Ragged, rows: NDArray[np.int64]
    ) -> list[dict[str, Any]]:
        """Return some sentences as words, with the words that got a wrong tag."""
        return [self._sample(vocab, examples, predictions, row) for row in rows.tolist()]

    def _sample(self, vocab: Vocab, examples: LabeledExamples, predictions: Ragged, row: int) -> dict[str, Any]:
        sentences: Any = examples.examples
        tags: Any = examples.tags
        names = [*self.classes, "none"]  # -1 is the last
        ids, owners, gold, found = sentences.ids[row], sentences.words[row], tags[row], predictions[row]
        words = [vocab.decode(ids[owners == word]) for word in range(min(len(gold), _MAX_WORDS))]
        wrong = [
            {"word": word, "gold": names[int(gold[word])], "predicted": names[int(found[word])]}
            for word in range(len(words))
            if gold[word] >= 0 and gold[word] != found[word]
        ]
        return {"texts": [" ".join(words)], "words": words, "wrong": wrong}


def encode_tagged(chunks: Chunks[Text], vocab: Vocab) -> Any:
    """Encode all sentences so that no subword belongs to two words."""
    return Sentences.concatenate([vocab.encode_words_apart(chunk) for _, chunk in chunks])


def hits_by_sentence(predictions: Ragged, gold: Ragged) -> Examples:
    """Return the right and all scored words of each sentence."""
    scored = gold.flat >= 0
    hits = (predictions.flat == gold.flat) & scored
    score, weight = (
        np.bincount(gold.rows(), words, minlength=len(gold)).astype(np.float64) for words in (hits, scored)
    )
    return outcomes_of(score, weight, gold)


def outcomes_of(score: NDArray[np.float64], weight: NDArray[np.float64], gold: Ragged) -> Examples:
    """Return the outcome of each sentence, identified by the gold tags."""
    return Examples(score, weight, identity_of(gold.lengths, gold.flat))


def first_subwords(layout: Layout) -> NDArray[np.bool_]:
    """(B, L) true where a word begins."""
    begins = layout.content.copy()
    begins[:, 1:] &= layout.words[:, 1:] != layout.words[:, :-1]
    return begins


def _tags_at(tags: Ragged | None, rows: NDArray[Any], words: NDArray[Any]) -> NDArray[np.int32]:
    """(N,) the tags of the given words of the given rows."""
    if tags is None:
        raise DataError("tagging: these examples have no tags")
    if len(rows) and (words >= tags.lengths[rows]).any():
        row = int(rows[words >= tags.lengths[rows]][0])
        raise DataError(
            f"tagging: row {row} has words beyond its {tags.lengths[row]} tags; "
            "tags and subwords must come from the same word tokenizer"
        )
    return np.asarray(tags.values[tags.offsets[rows] + words], np.int32)
