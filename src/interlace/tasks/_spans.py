"""A span of a passage that answers a question: its first and its last subword are predicted (Devlin et al. 2019, 4.2).

    row     <s> who reads ? </s> on monday anna reads letters </s>
    first                                  *
    last                                   *

Only subwords of the passage compete, and of them those that are more than a blank; a window that does not hold the
answer points at the row's first token, which no answer begins with. Of all pairs of a first and a last subword at most
`max_answer` long, the best are found exactly, not among the best few firsts and lasts.

Legend: B windows, L longest row, A longest answer, K spans kept of each window; q questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.data.layout import pair_layout
from interlace.data.questions import Questions, Windows, windows
from interlace.objectives import Batch, BoolOrAuto, Prepared, Resources, Term, encoder_inputs, resolve_language_ids
from interlace.tasks import TaskHead
from interlace.tasks._head import apply_head, make_head

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from interlace.core.randomness import Generator
    from interlace.data.layout import Layout
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

SPAN = np.dtype([("start", np.int32), ("end", np.int32), ("score", np.float32)])
"""A predicted answer. Of a window: its first and last subword in the piece. Of a question: its characters from `start`
up to `end` in the passage. Where there is none, start and end are -1 and the score is -inf; best scores come first."""


class Extractor(TaskHead):
    """A linear layer of two outputs on the last state of each subword."""

    reads: ClassVar[type] = Questions
    term: ClassVar[str] = "answer"

    max_length: int = Field(384, ge=16, description="Longest row in subwords (Devlin et al. 2019, code: 384).")
    max_question: int = Field(64, ge=1, description="Longest question in subwords; what is beyond is cut.")
    stride: int = Field(128, ge=1, description="Subwords from the beginning of a window to that of the next.")
    max_answer: int = Field(30, ge=1, description="Longest answer predicted, in subwords.")
    n_best: int = Field(20, ge=1, description="Answers kept of each window and of each question.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of the state dropped before the linear layer.")
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")

    def prepare(self, resources: Resources) -> Prepared:
        """Refuse language ids where the model has none."""
        resolve_language_ids(self.language_ids, resources.traits, "answers")
        return super().prepare(resources)

    def modules(self, backbone: Backbone) -> nn.ModuleDict:
        """The head."""
        return make_head(backbone.width, 2, self.dropout)

    def rows(self, examples: Questions, prepared: Prepared) -> Windows:
        """Windows as long as this model can read them."""
        room = self._longest(prepared) - 2 - len(prepared.vocab.separator_ids)
        return windows(examples, room, self.max_question, self.stride)

    def batch(self, examples: Windows, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Ask for first and last subword of every window: labels are (B, 2) columns; nothing is random."""
        pairs = examples.examples
        layout = pair_layout(pairs, prepared.vocab, self._longest(prepared))
        begins = 1 + len(prepared.vocab.separator_ids) + pairs.source.lengths
        rows = np.arange(len(examples))
        language_ids = resolve_language_ids(self.language_ids, prepared.traits, "answers")
        languages = (pairs.source.language, pairs.target.language)
        return Batch(
            inputs=encoder_inputs(layout, prepared.traits, languages, language_ids=language_ids),
            at=(rows, np.zeros_like(rows)),
            labels=np.where(examples.spans >= 0, examples.spans + begins[:, None], 0),
            counts={self.term: float(len(rows))},
            tokens=layout.tokens,
            extra={"open": _open(layout, begins, pairs.target.lengths, prepared.vocab), "begins": begins},
        )

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Sum over windows of the mean of two cross-entropies, of the first subword and of the last."""
        from torch.nn.functional import cross_entropy

        first, last = self._scores(backbone, heads, batch, none=True)
        total = cross_entropy(first, batch.labels[:, 0], reduction="sum")
        total = total + cross_entropy(last, batch.labels[:, 1], reduction="sum")
        return {self.term: Term(total / 2)}

    def predict(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> NDArray[Any]:
        """(B, K) the best spans of each window, the sum of two scores each."""
        import torch

        with torch.inference_mode():
            first, last = self._scores(backbone, heads, batch, none=False)
            padded = torch.nn.functional.pad(last, (0, self.max_answer - 1), value=-torch.inf)
            both = first[:, :, None] + padded.unfold(1, self.max_answer, 1)  # (B, L, A)
            scores, places = both.flatten(1).topk(min(self.n_best, both[0].numel()))
        found = self.nothing(len(places))
        start = (places // self.max_answer).cpu().numpy()
        kept = found[:, : places.shape[1]]  # a view
        kept["score"] = scores.cpu().numpy()
        kept["start"] = start - batch.extra["begins"].cpu().numpy()[:, None]
        kept["end"] = kept["start"] + (places % self.max_answer).cpu().numpy()
        none = np.isneginf(found["score"])
        found["start"][none] = found["end"][none] = -1
        return found

    def notes(self, examples: Windows, prepared: Prepared) -> list[str]:  # noqa: ARG002 - known before it is laid out
        """How passages are cut, and how many answers no window holds as a whole; in training every question has one."""
        asked = len(np.unique(examples.owners))
        lost = asked - len(np.unique(examples.owners[examples.spans[:, 0] >= 0]))
        told = [f"{asked} questions are read in {len(examples)} windows"] if len(examples) > asked else []
        if lost:
            told.append(f"{lost} of {asked} answers stand in no window as a whole, and are not learnt")
        return told

    def asked(self, rows: Windows) -> list[NDArray[np.integer]]:
        """Where in the piece the answer begins and ends, or that it stands elsewhere."""
        return [rows.spans[:, side] + 1 for side in (0, 1)]

    def nothing(self, count: int) -> NDArray[Any]:
        """(count, K) no span."""
        found = np.empty((count, self.n_best), SPAN)
        found["start"], found["end"], found["score"] = -1, -1, -np.inf
        return found

    def gold(self, examples: Questions) -> NDArray[Any]:
        """(q, 1) the place of one right answer of each question, in characters."""
        found = np.zeros((len(examples), 1), SPAN)
        found["start"], found["end"] = (
            side[:, None] for side in _characters(examples, examples.owners, examples.spans).T
        )
        return found

    def merged(self, examples: Questions, rows: Windows, found: NDArray[Any]) -> NDArray[Any]:
        """(q, K) the best answers of each question from all its windows.

        The same characters count once, with their best score: two windows may hold them, and a letter of several bytes
        may begin or end in each.
        """
        window, rank = np.nonzero(found["start"] >= 0)
        spans, owners = found[window, rank], rows.owners[window]
        subwords = np.stack([spans["start"], spans["end"]], axis=1) + rows.firsts[window][:, None]
        characters = _characters(examples, examples.owners[owners], subwords)
        order = _best_of_each(owners, characters, spans["score"])
        order = order[np.lexsort((*characters[order].T[::-1], -spans["score"][order], owners[order]))]
        counts = np.bincount(owners[order], minlength=len(examples))
        places = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        order, places = order[places < self.n_best], places[places < self.n_best]
        best = self.nothing(len(examples))
        at = (owners[order], places)
        best["start"][at], best["end"][at] = characters[order].T
        best["score"][at] = spans["score"][order]
        return best

    def _longest(self, prepared: Prepared) -> int:
        return min(self.max_length, prepared.traits.max_length)

    def _scores(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch, *, none: bool) -> tuple[Tensor, Tensor]:
        """Two of (B, L): how well each subword begins and ends the answer; -inf outside the passage.

        none: leave the row's first token open, too.
        """
        import torch

        scores = apply_head(heads, self.states(backbone, batch)).float()  # (B, L, 2)
        open_ = batch.extra["open"]
        if none:
            open_ = open_.clone()
            open_[:, 0] = True
        first, last = scores.masked_fill(~open_[:, :, None], -torch.inf).unbind(dim=-1)
        return first, last


def _open(layout: Layout, begins: NDArray[Any], lengths: NDArray[Any], vocab: Vocab) -> NDArray[np.bool_]:
    """(B, L) where an answer may begin and end: `lengths` columns from `begins` on, without mere blanks."""
    columns = np.arange(layout.ids.shape[1])
    inside = (columns >= begins[:, None]) & (columns < (begins + lengths)[:, None])
    inside[inside] = np.diff(vocab.surfaces.spelled.offsets)[layout.ids[inside]] > 0
    return np.asarray(inside)


def _best_of_each(owners: NDArray[Any], characters: NDArray[Any], score: NDArray[Any]) -> NDArray[Any]:
    """Which of equal spans of one owner has the best score; spans without a character are left out."""
    order = np.lexsort((-score, characters[:, 1], characters[:, 0], owners))
    order = order[characters[order, 0] < characters[order, 1]]
    keys = np.concatenate([owners[:, None], characters], axis=1)[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return np.asarray(order[new])


def _characters(questions: Questions, passages: NDArray[Any], spans: NDArray[Any]) -> NDArray[np.int32]:
    """(n, 2) the characters of a span of subwords of each named passage; (-1, -1) where there is none."""
    there = spans[:, 0] >= 0
    places = questions.characters.offsets[passages[there]][:, None] + spans[there]
    values = questions.characters.values
    found = np.full(spans.shape, -1, np.int32)
    found[there] = np.stack([values[places[:, 0], 0], values[places[:, 1], 1]], axis=1)
    return found
