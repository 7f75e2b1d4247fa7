"""Span extraction: the first and last subword of an answer in a passage (Devlin et al. 2019, section 4.2).

    sequence  <s> who reads ? </s> on monday anna reads letters </s>
    first                                    *
    last                                     *

Only subwords of the passage compete, and of them those that spell more than a blank. A window without the answer points
at the sequence's first token. Of all pairs of a first and a last subword at most `max_answer` long, the best are found
exactly, not among the best few firsts and lasts.

Legend: B windows, L longest sequence, A longest answer, K spans kept of each window; q questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.encoding import subwords_in_span
from interlace.data.layout import pair_layout
from interlace.data.questions import Questions, Windows, cut_windows
from interlace.objectives import Batch, Prepared, Term
from interlace.tasks import HeadSettings, TaskHead
from interlace.tasks.common.reading import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from interlace.core.randomness import Generator
    from interlace.data.layout import Layout
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.text import Text, TextPairs

SPAN = np.dtype([("start", np.int32), ("end", np.int32), ("score", np.float32)])
"""A predicted answer. Of a window: its first and last subword in the piece of the passage. Of a question: its half-open
characters in the passage. An empty one has start and end -1 and the score -inf. Best scores come first."""


class SpanSettings(HeadSettings):
    """Settings of span extraction, with the defaults of Devlin et al.'s code."""

    max_length: int = Field(384, ge=16, description="Maximum sequence length in tokens (BERT's code: 384).")
    max_question: int = Field(
        64, ge=1, description="Maximum question length in tokens, at most half a sequence; truncated (code: 64)."
    )
    stride: int = Field(128, ge=1, description="Tokens from the beginning of a window to that of the next (code: 128).")
    max_answer: int = Field(30, ge=1, description="Maximum length of predicted answers in tokens (code: 30).")
    n_best: int = Field(20, ge=1, description="Answers kept of each window and of each question (code: 20).")
    dropout: float = Field(0.0, ge=0, lt=1, description="Dropout probability before the linear layer (code: 0).")


class SpanExtractor(SpanSettings, TaskHead):
    """A linear layer of two outputs on the last state of each subword."""

    reads: ClassVar[type] = Questions
    term: ClassVar[str] = "answer"

    def sequences(self, examples: Questions, prepared: Prepared) -> Windows:
        """Return windows of passages, as long as this model can read."""
        length = self.sequence_length(prepared) - 2 - len(prepared.vocab.separator_ids)
        return cut_windows(examples, length, self.max_question, self.stride)

    def batch(self, examples: Windows, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Predict first and last subword of every window: labels are (B, 2) columns; nothing is random."""
        pairs = examples.examples
        layout = pair_layout(pairs, prepared.vocab, self.sequence_length(prepared))
        begins = 1 + len(prepared.vocab.separator_ids) + pairs.source.lengths
        rows = np.arange(len(examples))
        return Batch(
            inputs=self.encoder_inputs(layout, (pairs.source.language, pairs.target.language), prepared),
            at=(rows, np.zeros_like(rows)),
            labels=np.where(examples.spans >= 0, examples.spans + begins[:, None], 0),
            counts={self.term: float(len(rows))},
            tokens=layout.tokens,
            extra={"open": _open(layout, begins, pairs.target.lengths, prepared.vocab), "begins": begins},
        )

    def features(self, backbone: Backbone, batch: Batch) -> Tensor:
        """Return the (B, L, H) states of all subwords."""
        return self.states(backbone, batch)

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Return the sum over windows of the mean of two cross-entropies, of the first subword and of the last."""
        from torch.nn.functional import cross_entropy

        first, last = self._span_logits(backbone, heads, batch, empty=True)
        total = cross_entropy(first, batch.labels[:, 0], reduction="sum")
        total = total + cross_entropy(last, batch.labels[:, 1], reduction="sum")
        return {self.term: Term(total / 2)}

    def predict(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> NDArray[Any]:
        """Return the (B, K) best spans of each window by the sum of both logits."""
        import torch

        with torch.inference_mode():
            first, last = self._span_logits(backbone, heads, batch, empty=False)
            padded = torch.nn.functional.pad(last, (0, self.max_answer - 1), value=-torch.inf)
            both = first[:, :, None] + padded.unfold(1, self.max_answer, 1)  # (B, L, A)
            scores, places = both.flatten(1).topk(min(self.n_best, both[0].numel()))
        found = self.empty_predictions(len(places))
        start = (places // self.max_answer).cpu().numpy()
        kept = found[:, : places.shape[1]]  # a view
        kept["score"] = scores.cpu().numpy()
        kept["start"] = start - batch.extra["begins"].cpu().numpy()[:, None]
        kept["end"] = kept["start"] + (places % self.max_answer).cpu().numpy()
        empty = np.isneginf(found["score"])
        found["start"][empty] = found["end"][empty] = -1
        return found

    def _span_logits(
        self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch, *, empty: bool
    ) -> tuple[Tensor, Tensor]:
        """Two of (B, L): how well each subword begins and ends the answer; -inf outside the passage.

        empty: allow the sequence's first token, which means that there is no answer.
        """
        import torch

        open_ = batch.extra["open"]
        if empty:
            open_ = open_.clone()
            open_[:, 0] = True
        logits = self.logits(backbone, heads, batch)  # (B, L, 2)
        first, last = logits.masked_fill(~open_[:, :, None], -torch.inf).unbind(dim=-1)
        return first, last

    def notes(self, examples: Windows, prepared: Prepared) -> list[str]:  # noqa: ARG002 - known before the layout
        """Return how many windows there are, and how many answers no window holds as a whole."""
        questions = len(np.unique(examples.owners))
        lost = questions - len(np.unique(examples.owners[examples.spans[:, 0] >= 0]))
        remarks = [f"{questions} questions are read in {len(examples)} windows"] if len(examples) > questions else []
        if lost:
            remarks.append(f"{lost} of {questions} answers do not fit into a window and are not trained on")
        return remarks

    def class_columns(self, sequences: Windows) -> list[NDArray[np.integer]]:
        """Return where in the window the answer begins and ends, or that it does not."""
        return [sequences.spans[:, side] + 1 for side in (0, 1)]

    def empty_predictions(self, count: int) -> NDArray[Any]:
        """Return (count, K) empty spans."""
        found = np.empty((count, self.n_best), SPAN)
        found["start"], found["end"], found["score"] = -1, -1, -np.inf
        return found

    def gold(self, examples: Questions) -> NDArray[Any]:
        """Return `gold_spans`."""
        return gold_spans(examples)

    def merge(self, examples: Questions, sequences: Windows, found: NDArray[Any]) -> NDArray[Any]:
        """Return the (q, K) best answers of each question from all its windows.

        Equal characters count once, with their best score: two windows may hold them, and the bytes of one letter may
        be several subwords.
        """
        window, rank = np.nonzero(found["start"] >= 0)
        spans, owners = found[window, rank], sequences.owners[window]
        subwords = np.stack([spans["start"], spans["end"]], axis=1) + sequences.firsts[window][:, None]
        characters = _characters(examples, examples.owners[owners], subwords)
        order = _best_of_equal(owners, characters, spans["score"])
        order = order[np.lexsort((*characters[order].T[::-1], -spans["score"][order], owners[order]))]
        counts = np.bincount(owners[order], minlength=len(examples))
        places = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        order, places = order[places < self.n_best], places[places < self.n_best]
        best = self.empty_predictions(len(examples))
        at = (owners[order], places)
        best["start"][at], best["end"][at] = characters[order].T
        best["score"][at] = spans["score"][order]
        return best


def gold_spans(questions: Questions) -> NDArray[Any]:
    """Return the (q, 1) characters of one right answer of each question; empty if it is not in its passage."""
    found = np.zeros((len(questions), 1), SPAN)
    found["start"], found["end"] = (
        side[:, None] for side in _characters(questions, questions.owners, questions.spans).T
    )
    return found


def encode_questions(chunks: Sequence[TextPairs], vocab: Vocab) -> Questions:
    """Encode all questions in their order, and each passage once.

    Raises:
        DataError: the pairs have no answers, such as translations.
    """
    answers = [row for chunk in chunks for row in chunk.answers or []]
    places = [place for chunk in chunks for place in chunk.source.answers or []]
    count = sum(map(len, chunks))
    if not len(answers) == len(places) == count:
        raise DataError("the reader gives pairs without answers; set another 'reader', such as 'squad'")
    numbers: dict[str, int] = {}
    parts = [vocab.encode_with_offsets(new) for chunk in chunks if len(new := _new_lines(chunk.source, numbers))]
    characters = Ragged.concatenate([spans for _, spans in parts])
    owners = np.array([numbers[line] for chunk in chunks for line in chunk.source.lines], np.int64)
    return Questions(
        questions=encode((chunk.target for chunk in chunks), vocab),
        passages=Sentences.concatenate([sentences for sentences, _ in parts]),
        owners=owners,
        spans=subwords_in_span(characters, owners, np.array(places, np.int32).reshape(-1, 2)),
        characters=characters,
        texts=list(numbers),
        answers=answers,
        ids=[key for chunk in chunks for key in chunk.ids or [""] * len(chunk)],
    )


def _new_lines(text: Text, numbers: dict[str, int]) -> Text:
    """Return the lines that are not in `numbers` yet, each once, and number them."""
    new = np.zeros(len(text), np.bool_)
    for row, line in enumerate(text.lines):
        if line not in numbers:
            numbers[line] = len(numbers)
            new[row] = True
    return text.where(new)


def _open(layout: Layout, begins: NDArray[Any], lengths: NDArray[Any], vocab: Vocab) -> NDArray[np.bool_]:
    """(B, L) where an answer may begin and end: `lengths` columns from `begins` on, without mere blanks."""
    columns = np.arange(layout.ids.shape[1])
    inside = (columns >= begins[:, None]) & (columns < (begins + lengths)[:, None])
    inside[inside] = np.diff(vocab.surfaces.spelled.offsets)[layout.ids[inside]] > 0
    return np.asarray(inside)


def _best_of_equal(owners: NDArray[Any], characters: NDArray[Any], score: NDArray[Any]) -> NDArray[Any]:
    """Return the index of the best of equal spans of each owner; spans without a character are left out."""
    order = np.lexsort((-score, characters[:, 1], characters[:, 0], owners))
    order = order[characters[order, 0] < characters[order, 1]]
    keys = np.concatenate([owners[:, None], characters], axis=1)[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return np.asarray(order[new])


def _characters(questions: Questions, passages: NDArray[Any], spans: NDArray[Any]) -> NDArray[np.int32]:
    """(n, 2) the characters of a span of subwords of each given passage; (-1, -1) for an empty one."""
    there = spans[:, 0] >= 0
    places = questions.characters.offsets[passages[there]][:, None] + spans[there]
    values = questions.characters.values
    found = np.full(spans.shape, -1, np.int32)
    found[there] = np.stack([values[places[:, 0], 0], values[places[:, 1], 1]], axis=1)
    return found
