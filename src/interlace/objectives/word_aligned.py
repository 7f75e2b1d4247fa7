"""Alignment of contextual word vectors (Cao et al. 2020): aligned words are pulled together, one language is fixed.

alignments  old - alte   doctor - Arzt   reads - liest
before      <s> the old doctor reads </s>     <s> der alte Arzt liest </s>
after       the same, each sentence by itself; "Arzt" moves towards "doctor", "doctor" stays near its initial vector

Legend: B pairs, L tokens of the longest sentence, M words of the longest sentence, P gathered tokens, H width. A place
is an index into the flattened batch: row * L + column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.ragged import Ragged
from interlace.core.randomness import Generator
from interlace.data import Pairs, Sentences
from interlace.data.layout import SPECIALS, Layout, sentence_layout
from interlace.objectives import Batch, Objective, Prepared, Preview, Term, place_texts, token_texts

if TYPE_CHECKING:
    from torch import Tensor, nn

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

Pooling = Literal["last", "first", "mean"]
BOTH = "both"
ANCHOR = "anchor"


class WordAligned(Objective):
    """Squared distance of aligned words, and of the anchor language's words to their initial vectors.

    Reads: pairs with word alignments; the two sides are separate sequences, encoded in one pass.
    Relations: `weam` aligns contextual states with embeddings, this one contextual states with each other.
    Terms: `word_aligned`, a mean over links; `anchor`, a mean over the words of the anchor language.
    Heads: a frozen copy of the initial encoder, so memory grows by its weights (0.7 GB for mBERT) and a step by one
        pass without gradients over the anchored sentences.
    Nothing is masked or drawn: a batch is a function of its examples.
    """

    reads = Pairs
    term: ClassVar[str] = "word_aligned"
    needs: ClassVar[frozenset[str]] = frozenset({"links"})

    links: Literal["one_to_one", "all"] = Field(
        "one_to_one",
        description="Links that are the unique best of both words, or all (Cao et al. 2020, section 3: one-to-one).",
    )
    pooling: Pooling = Field(
        "last",
        description="Vector of a word: its last token (Cao et al. 2020), its first, or their mean.",
    )
    distance: Literal["mean", "sum"] = Field(
        "mean",
        description="Squared differences over the width of a vector: their mean, which is comparable between widths "
        "and objectives, or their sum (Cao et al. 2020, section 3.3, literally).",
    )
    anchor_language: str = Field(
        "en",
        description="Language whose words stay near the initial model (Cao et al. 2020: English), or 'both'.",
    )
    anchor_weight: float = Field(
        1.0,
        ge=0,
        description="Weight of `anchor` (Cao et al. 2020: 1); 0: no copy of the initial model.",
    )

    def pair_costs(self, source: NDArray[Any], target: NDArray[Any]) -> NDArray[Any]:
        """Return (n,) tokens of two sequences, each as long as the longer side."""
        costs: NDArray[Any] = np.minimum(np.maximum(source, target) + SPECIALS, self.max_length)
        return 2 * costs

    def batch(self, examples: Pairs, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Lay out the anchor language first, then the other; number words and look up their links.

        Raise a DataError if the pairs have no links, a SettingsError if neither side is in the anchor language.
        """
        first = self._first_side(examples.languages)
        if first:
            sides = (examples.target, examples.source)
        else:
            sides = (examples.source, examples.target)
        languages = (sides[0].language, sides[1].language)
        n = len(examples)
        layout = sentence_layout(Sentences.concatenate(sides), prepared.vocab, self.max_length)
        second = (np.arange(2 * n) >= n).astype(np.int8)
        layout = replace(layout, sides=second[:, None] * layout.real)
        words = batch_words(layout, self.pooling)
        one, other = self._links(examples, words, first)
        counts = {self.term: len(one)}
        arrays: dict[str, NDArray[Any]] = {
            name: getattr(words, name) for name in ("places", "to", "weights", "heads")
        }
        extra = {"one": one, "other": other, **arrays}
        if self.anchor_weight:
            if self.anchor_language == BOTH:
                anchored = words.numbers
            else:
                anchored = words.numbers[:n]
            count = int(anchored.max(initial=-1)) + 1
            pieces = int(np.searchsorted(words.to, count))
            counts[ANCHOR] = count
            for name, array in arrays.items():
                extra[f"{ANCHOR}_{name}"] = array[: count if name == "heads" else pieces]
        at = np.divmod(words.heads[one], layout.ids.shape[1])
        labels = layout.ids.reshape(-1)[words.heads[other]]
        batch = Batch.of(
            layout, languages, prepared, at=at, labels=labels, counts=counts, extra=extra
        )
        return replace(batch, sides=None)

    def modules(self, backbone: Backbone) -> nn.ModuleDict:
        """Return the frozen copy of the encoder, if words are anchored."""
        from torch import nn

        from interlace.objectives.common.losses import FrozenEncoder

        return nn.ModuleDict({ANCHOR: FrozenEncoder(backbone)} if self.anchor_weight else {})

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Return the distances of aligned words, and of anchored words to their initial vectors."""
        extra = batch.extra
        vectors = _word_vectors(backbone.encode(batch.inputs), extra)  # (words, H)
        apart = self._distance(vectors[extra["one"]], vectors[extra["other"]])
        terms = {self.term: Term(apart.sum())}
        if self.anchor_weight:
            frozen: Any = heads[ANCHOR]
            rows = len(batch.inputs["input_ids"]) // (1 if self.anchor_language == BOTH else 2)
            states = frozen.encode({name: array[:rows] for name, array in batch.inputs.items()})
            initial = _word_vectors(states, extra, f"{ANCHOR}_")
            drift = self._distance(vectors[: len(initial)], initial)
            terms[ANCHOR] = Term(drift.sum(), self.anchor_weight)
        return terms

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """Return the partners of aligned words, and which words are anchored."""
        ids = batch.inputs["input_ids"]
        extra = batch.extra
        rows, columns = np.divmod(extra["heads"], ids.shape[1])
        words = token_texts(vocab, ids[rows, columns])
        partners: dict[int, list[str]] = {}
        for mine, theirs in (("one", "other"), ("other", "one")):
            for word, partner in zip(extra[mine].tolist(), extra[theirs].tolist(), strict=True):
                partners.setdefault(word, []).append(words[partner])
        at = np.array(list(partners), np.int64)
        aligned = place_texts(
            rows[at], columns[at], ["+".join(others) for others in partners.values()]
        )
        count = len(extra.get(f"{ANCHOR}_heads", ()))
        return Preview(
            {
                "aligned to": aligned,
                "anchored": place_texts(rows[:count], columns[:count], ["initial"] * count),
            }
        )

    def _first_side(self, languages: tuple[str, str]) -> int:
        """Return the side whose sequences come first, the anchored one."""
        if self.anchor_language == BOTH or not self.anchor_weight:
            return 0
        if self.anchor_language not in languages:
            raise SettingsError(
                f"word_aligned: anchor_language = {self.anchor_language!r}, but the pairs are {' and '.join(languages)}"
                f"{did_you_mean(self.anchor_language, [*languages, BOTH])}"
            )
        return languages.index(self.anchor_language)

    def _links(
        self, pairs: Pairs, words: BatchWords, first: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (links,) the word of the first side, and that of the second."""
        links = require_links(pairs, "word_aligned")
        rows = links.rows()
        width = words.numbers.shape[1]
        found = []
        for block, side in enumerate((first, 1 - first)):
            place = links.flat[:, side]
            number = words.numbers[rows + block * len(links), np.minimum(place, width - 1)]
            found.append(np.where(place < width, number, -1))  # -1: truncated
        one, other = found
        keep = (one >= 0) & (other >= 0)
        if self.links == "one_to_one":
            keep &= one_to_one(links, pairs.confidence)
        return one[keep], other[keep]

    def _distance(self, one: Tensor, other: Tensor) -> Tensor:
        """Return (n,) squared distances of (n, H) vectors."""
        squares = (one - other).square()
        if self.distance == "mean":
            return squares.mean(dim=1)
        return squares.sum(dim=1)


@dataclass(frozen=True)
class BatchWords:
    """Every word of a batch with its tokens, numbered by sequence and then by position.

    numbers: (2B, M) number of a sequence's word, -1 if no token of it is there.
    places: (P,) of the tokens that a word's vector is the mean of. to: (P,) ascending word number of each.
    weights: (P,) float32.
    heads: (words,) place of one token of each word: the pooled one, or the last for `mean`.
    """

    numbers: NDArray[np.int64]
    places: NDArray[np.int64]
    to: NDArray[np.int64]
    weights: NDArray[np.float32]
    heads: NDArray[np.int64]


def batch_words(layout: Layout, pooling: Pooling) -> BatchWords:
    """Return the words of a batch of single sentences."""
    places = np.flatnonzero(layout.content.reshape(-1))
    words = layout.words.reshape(-1)[places].astype(np.int64)
    rows = len(layout.ids)
    width = int(words.max(initial=0)) + 1
    pieces = np.bincount(
        places // max(layout.ids.shape[1], 1) * width + words, minlength=rows * width
    )
    there = pieces > 0
    numbers = np.where(there, np.cumsum(there) - 1, -1).reshape(rows, width)
    size = pieces[there]
    end = np.cumsum(size)
    heads = places[end - size if pooling == "first" else end - 1]
    owner = np.arange(len(size))
    if pooling != "mean":
        return BatchWords(numbers, heads, owner, np.ones(len(size), np.float32), heads)
    weights = np.repeat(1 / size, size).astype(np.float32)
    return BatchWords(numbers, places, np.repeat(owner, size), weights, heads)


def _word_vectors(states: Tensor, extra: dict[str, Any], prefix: str = "") -> Tensor:
    """Return (words, H) float32 vectors."""
    from interlace.objectives.common.losses import weighted_sums

    places, to, weights, heads = (
        extra[prefix + name] for name in ("places", "to", "weights", "heads")
    )
    return weighted_sums(states, places, to, weights, len(heads))


def require_links(pairs: Pairs, name: str) -> Ragged:
    """Return the word alignments of the pairs; raise a DataError that says how to get them."""
    if pairs.links is None:
        raise DataError(
            f"{name} needs word alignments, and these pairs have none; add a section [align] to the recipe, or open "
            "the corpus with ParallelCorpus.with_alignments"
        )
    return pairs.links


def one_to_one(links: Ragged, confidence: Ragged | None) -> NDArray[np.bool_]:
    """Return (total,) which links are the unique best, by confidence if given, of both their words."""
    rows = links.rows()
    flat = links.flat
    keep = np.ones(len(flat), np.bool_)
    for side in (0, 1):
        keys = rows * (int(flat[:, side].max(initial=0)) + 1) + flat[:, side]
        top = np.ones(len(keys), np.bool_)
        if confidence is not None:
            best = np.zeros(int(keys.max(initial=0)) + 1, confidence.flat.dtype)
            np.maximum.at(best, keys, confidence.flat)
            top = confidence.flat == best[keys]
        keep &= top & (np.bincount(keys[top], minlength=int(keys.max(initial=0)) + 1)[keys] == 1)
    return keep
