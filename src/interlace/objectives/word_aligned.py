"""Aligned contextual vectors (Cao et al. 2020): linked words are drawn together, one language stays where it began.

links     old - alte   doctor - Arzt   reads - liest
before    <s> the old doctor reads </s>     <s> der alte Arzt liest </s>
after     the same, each sentence by itself; "Arzt" moves towards "doctor", "doctor" stays near what it was at first
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.layout import SPECIALS, sentence_layout
from interlace.objectives import (
    Batch,
    BoolOrAuto,
    Objective,
    Prepared,
    Preview,
    Term,
    encoder_inputs,
    pieces,
    placed,
    resolve_language_ids,
    tokens_by_language,
)
from interlace.objectives._exchange import Pooling, linked_words, links_of, one_to_one, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from interlace.core.randomness import Generator
    from interlace.data.layout import Layout
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.objectives import Resources
    from interlace.objectives._exchange import Words
    from interlace.objectives._preview import Cells

BOTH, START = "both", "start"


@dataclass(frozen=True)
class PreparedWordAligned(Prepared):
    """Adds whether language ids are fed."""

    language_ids: bool


class WordAligned(Objective):
    """Squared distance of the vectors of linked words, and of one language's words to those of the start model.

    Reads: pairs with word links; the two sides are rows of their own, encoded in one pass.
    Relations: `weam` aligns contextual states with embeddings, this one contextual states with each other.
    Terms: `word_aligned`, a mean over links; `start`, a mean over the words of the language that is held.
    Heads: a frozen copy of the start's encoder, so memory grows by its weights (0.7 GB for mBERT) and a step by one
        pass without gradients over the rows that are held.
    Nothing is masked or drawn: a batch is a function of its examples.
    """

    reads = Pairs
    term: ClassVar[str] = "word_aligned"
    stochastic = False
    needs: ClassVar[frozenset[str]] = frozenset({"links"})

    links: Literal["one_to_one", "all"] = Field(
        "one_to_one",
        description="Links that are the one best of both words, or all (Cao et al. 2020, section 3: one-to-one).",
    )
    weights: Literal["none", "confidence"] = Field(
        "none", description="Weight of a link: 1 (Cao et al. 2020), or the aligner's probability of it."
    )
    subword: Pooling = Field(
        "last", description="What stands for a word: its last subword (Cao et al. 2020), its first, or their mean."
    )
    distance: Literal["mean", "sum"] = Field(
        "mean",
        description="Squared differences over the width of a vector: their mean, so that models of any width and other "
        "objectives beside it compare, or their sum (Cao et al. 2020, section 3.3, literally).",
    )
    hold: str = Field(
        "en", description="Language whose words stay near the start model (Cao et al. 2020: English), or 'both' sides."
    )
    hold_weight: float = Field(
        1.0, ge=0, description="Weight of that distance (Cao et al. 2020: 1); 0 keeps no copy of the start model."
    )
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")

    def prepare(self, resources: Resources) -> PreparedWordAligned:
        """Resolve the switch; a model that cannot do what is asked is refused."""
        language_ids = resolve_language_ids(self.language_ids, resources.traits, "word_aligned")
        return PreparedWordAligned(resources.vocab, resources.traits, language_ids)

    def pair_costs(self, source: NDArray[Any], target: NDArray[Any]) -> NDArray[Any]:
        """As two rows of a batch, both padded to the longer."""
        costs: NDArray[Any] = np.minimum(np.maximum(source, target) + SPECIALS, self.max_length)
        return 2 * costs

    def batch(self, examples: Pairs, prepared: PreparedWordAligned, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Rows of the language that is held, then rows of the other; number their words and look up their links.

        Raises:
            DataError: the pairs have no links, or no confidence where that is asked for.
            SettingsError: neither side is in the language that is held.
        """
        first = self._first(examples)
        sides = (examples.target, examples.source) if first else (examples.source, examples.target)
        layout = _stacked(sides, prepared.vocab, self.max_length)
        words = words_of(layout, self.subword)
        one, other, weights = self._links(examples, words, first)
        languages = (sides[0].language, sides[1].language)
        counts = {self.term: float(weights.sum())}
        extra = {"one": one, "other": other, "link_weights": weights, **_sums(words)}
        if self.hold_weight:
            rows = len(examples) * (2 if self.hold == BOTH else 1)
            held = words.until(rows)
            counts[START] = len(held.heads)
            extra |= {f"{START}_{name}": array for name, array in _sums(held).items()}
        return Batch(
            inputs=encoder_inputs(layout, prepared.traits, languages, language_ids=prepared.language_ids),
            at=(words.heads[one] // layout.ids.shape[1], words.heads[one] % layout.ids.shape[1]),
            labels=layout.ids.reshape(-1)[words.heads[other]],
            counts=counts,
            tokens=layout.tokens,
            extra=extra,
            languages=tokens_by_language(layout, languages),
        )

    def modules(self, backbone: Backbone) -> nn.ModuleDict:
        """The frozen start, where words are held to it."""
        from torch import nn

        from interlace.objectives._exchange_modules import Start

        return nn.ModuleDict({START: Start(backbone)} if self.hold_weight else {})

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Distances of linked words, and of held words to the start's."""
        extra = batch.extra
        vectors = _pooled(backbone.encode(batch.inputs), extra)  # (words, H)
        apart = self._distance(vectors[extra["one"]], vectors[extra["other"]])
        terms = {self.term: Term((apart * extra["link_weights"]).sum())}
        if self.hold_weight:
            start: Any = heads[START]
            rows = len(batch.inputs["input_ids"]) // (1 if self.hold == BOTH else 2)
            states = start.encode({name: array[:rows] for name, array in batch.inputs.items()})
            before = _pooled(states, extra, f"{START}_")
            drift = self._distance(vectors[: len(before)], before)
            terms[START] = Term(drift.sum(), self.hold_weight)
        return terms

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """Of linked words the other one, both ways; and which words stay near the vectors the start gives them."""
        ids, heads = batch.inputs["input_ids"], batch.extra["heads"]
        rows, columns = np.divmod(batch.extra.get(f"{START}_heads", heads[:0]), ids.shape[1])
        return Preview({"drawn to": _drawn(batch, vocab), "held": placed(rows, columns, ["start"] * len(rows))})

    def _first(self, pairs: Pairs) -> int:
        """The side whose rows come first: the one that is held."""
        languages = [pairs.source.language, pairs.target.language]
        if self.hold == BOTH or not self.hold_weight:
            return 0
        if self.hold not in languages:
            raise SettingsError(
                f"word_aligned: hold = {self.hold!r}, but the pairs are {' and '.join(languages)}"
                f"{did_you_mean(self.hold, [*languages, BOTH])}"
            )
        return languages.index(self.hold)

    def _links(
        self, pairs: Pairs, words: Words, first: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """(links,) the word of the first side, that of the second, and the weight of each link."""
        links = links_of(pairs, "word_aligned")
        if self.weights == "confidence" and pairs.confidence is None:
            raise DataError(
                "word_aligned: weights = 'confidence', but these links have none; link with an aligner that gives it, "
                "or set weights = 'none'"
            )
        one, other = linked_words(words, links, first)
        keep = (one >= 0) & (other >= 0)
        if self.links == "one_to_one":
            keep &= one_to_one(links, pairs.confidence)
        sure = pairs.confidence.flat if self.weights == "confidence" and pairs.confidence else np.ones(len(keep))
        return one[keep], other[keep], sure[keep].astype(np.float32)

    def _distance(self, one: Tensor, other: Tensor) -> Tensor:
        """(n,) squared distances of (n, H) vectors."""
        squares = (one - other).square()
        return squares.mean(dim=1) if self.distance == "mean" else squares.sum(dim=1)


def _drawn(batch: Batch, vocab: Vocab) -> Cells:
    """The words that each linked word is drawn to."""
    ids = batch.inputs["input_ids"]
    rows, columns = np.divmod(batch.extra["heads"], ids.shape[1])
    words = pieces(vocab, ids[rows, columns])
    one, other = batch.extra["one"], batch.extra["other"]
    near: dict[int, list[str]] = {}
    for mine, theirs in zip([*one.tolist(), *other.tolist()], [*other.tolist(), *one.tolist()], strict=True):
        near.setdefault(mine, []).append(words[theirs])
    at = np.array(list(near), np.int64)
    return placed(rows[at], columns[at], ["+".join(others) for others in near.values()])


def _stacked(sides: tuple[Sentences, Sentences], vocab: Vocab, max_length: int) -> Layout:
    """2B rows, each sentence by itself; those of the second side are marked as such."""
    ids, words = (
        Ragged.concatenate([getattr(sentences, column) for sentences in sides]) for column in ("ids", "words")
    )
    layout = sentence_layout(Sentences(ids, words, sides[0].language), vocab, max_length)
    second = (np.arange(len(ids)) >= len(sides[0])).astype(np.int8)
    return replace(layout, sides=second[:, None] * layout.real)


def _sums(words: Words) -> dict[str, NDArray[Any]]:
    return {"places": words.places, "to": words.to, "weights": words.weights, "heads": words.heads}


def _pooled(states: Tensor, extra: dict[str, Any], prefix: str = "") -> Tensor:
    """(words, H) float32 vectors of words."""
    from interlace.objectives._exchange_modules import gathered

    places, to, weights, heads = (extra[prefix + name] for name in ("places", "to", "weights", "heads"))
    return gathered(states, places, to, weights, len(heads))
