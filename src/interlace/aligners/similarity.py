"""Words linked whose contextual vectors are alike, from any encoder; nothing is trained_on.

Jalili Sabet et al. (2020, SimAlign) link words that are each other's most similar, Dou & Neubig (2021, awesome-align)
words whose probability is high in both directions. Both find layer 8 of 12 best with multilingual BERT.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.aligners import Aligner, Alignments, FittedAligner
from interlace.aligners._usable import check_usable
from interlace.alignment import CHUNK
from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from interlace.aligners._similarity_vectors import Encoder, Units
    from interlace.alignment import WordPairs
    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress
    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

log = logging.getLogger(__name__)


class Likeness(Settings):
    """What is asked of whoever links words by an encoder's vectors: this aligner, and the task `word_alignment`."""

    layer: int | None = Field(
        None, description="Layer whose states are taken: 0 embeddings, -1 the last; none: two thirds up (both: 8/12)."
    )
    pooling: Literal["any", "mean"] = Field(
        "any",
        description="'any': words are linked if any of their subwords are (both papers); 'mean': words are compared by "
        "the mean of their subwords' vectors.",
    )
    threshold: float = Field(
        0.001, gt=0, lt=1, description="Least probability each way of 'softmax' (Dou & Neubig 2021: 0.001)."
    )
    alpha: float = Field(
        0.9, ge=0, le=1, description="Factor of 'itermax' where one word is linked (Jalili Sabet et al. 2020: 0.9)."
    )
    iterations: int = Field(2, ge=1, description="Rounds of 'itermax' (Jalili Sabet et al. 2020: 2).")
    distortion: float = Field(
        0.0,
        ge=0,
        le=1,
        description="How far standing off the diagonal lowers similarity; not for 'softmax' (2.3 there).",
    )
    max_length: int = Field(512, ge=8, description="Longest row in subwords, at most the model's own; more is cut off.")
    tokens_per_batch: int = Field(8192, ge=16, description="Padded subwords of the longer side in a batch.")
    language_ids: bool | Literal["auto"] = Field(
        "auto", description="Feed language ids; 'auto': where the model has embeddings."
    )


class Similarity(Likeness, Aligner):
    """Links from the similarity of contextual word or subword vectors."""

    can_save: ClassVar[bool] = False

    start: str = Field(
        "bert-base-multilingual-cased", description="The encoder: a checkpoint's folder or its name on the hub."
    )
    method: Literal["softmax", "argmax", "itermax", "match"] = Field(
        "softmax",
        description="'softmax': probability above the threshold in both directions (Dou & Neubig 2021, section 2.1); "
        "'argmax': each other's most similar; 'itermax': argmax repeated; 'match': the best one-to-one assignment "
        "(Jalili Sabet et al. 2020, section 2.2).",
    )
    device: str = Field("auto", description="Where the encoder runs: 'cpu', 'cuda:0'; 'auto': a GPU if there is one.")

    def fit(self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None) -> FittedAligner:  # noqa: ARG002
        """Open the encoder; the pairs are only checked, and priors not used.

        Raises:
            DataError: no pair has words on both sides, or `start` has no usable tokenizer.
            CheckpointError: `start` is no checkpoint that can be a backbone.
            SettingsError: a layer or a device that is not there, or settings that exclude each other.
        """
        check_usable(pairs, self.name)
        self._must_fit_together()
        if priors is not None:
            log.warning("similarity: an encoder has no use for word translations; the priors are left out")
        return Similar(self, self._encoder())

    def around(self, backbone: Backbone, vocab: Vocab) -> Similar:
        """Ready to link by a backbone that is open already, which is read as it is, where it is.

        Raises:
            SettingsError: a layer that is not there, or settings that exclude each other.
        """
        self._must_fit_together()
        return Similar(self, self._read(backbone, vocab, self._layer(int(backbone.model.config.num_hidden_layers))))

    def _must_fit_together(self) -> None:
        if self.distortion and self.method == "softmax":
            raise SettingsError("similarity: distortion lowers similarities, which 'softmax' has none of; set it to 0")

    def _encoder(self) -> Encoder:
        from interlace.aligners._similarity_vectors import shortened
        from interlace.data.vocab import Vocab
        from interlace.models.build import load

        vocab = Vocab.load(self.start)
        backbone = load(self.start, vocab)
        for note in backbone.notes:
            log.info("%s", note)
        layer = self._layer(int(backbone.model.config.num_hidden_layers))
        return self._read(shortened(backbone, layer).to(self._device()).eval(), vocab, layer)

    def _read(self, backbone: Backbone, vocab: Vocab, layer: int) -> Encoder:
        from interlace.aligners._similarity_vectors import Encoder

        longest = min(self.max_length, backbone.traits.max_length)
        return Encoder(backbone, vocab, layer, longest, self._feeds_languages(backbone))

    def _layer(self, layers: int) -> int:
        """The layer counted from the embeddings (0)."""
        if self.layer is None:
            return round(2 * layers / 3)
        if not -layers - 1 <= self.layer <= layers:
            raise SettingsError(f"similarity: layer = {self.layer}, but {self.start} has the layers 0 to {layers}")
        return self.layer % (layers + 1)

    def _device(self) -> Any:
        import torch

        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            return torch.empty(0, device=self.device).device
        except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for the device
            reason = str(error).partition("\n")[0]
            raise SettingsError(f"similarity: device = {self.device!r} cannot be used: {reason}") from error

    def _feeds_languages(self, backbone: Backbone) -> bool:
        has = backbone.traits.language_input is not None and bool(backbone.traits.languages)
        if self.language_ids is True and not has:
            raise SettingsError(
                f"similarity: language_ids = true, but {self.start} has no language embeddings; use 'auto'"
            )
        return has if self.language_ids == "auto" else self.language_ids


@dataclass(frozen=True)
class Similar(FittedAligner):
    """An encoder that is ready to link pairs."""

    aligner: Similarity
    encoder: Encoder

    def align(self, pairs: WordPairs) -> Alignments:
        """Links of every pair; words beyond the longest row get none, which the log says."""
        return _gathered([self._align_chunk(chunk) for chunk in pairs.chunks(CHUNK)])

    def _align_chunk(self, pairs: WordPairs) -> Alignments:
        from interlace.data.sampling import BucketPlan

        source, target = self._encoded(pairs)
        rows = np.flatnonzero((source.lengths > 0) & (target.lengths > 0))
        if not len(rows):
            return _aligned(np.zeros((0, 3), np.int64), np.zeros(0, np.float32), len(pairs))
        longer = np.maximum(source.lengths, target.lengths)[rows]
        self._warn_of_cuts(longer, rows + pairs.first)
        budget, longest = self.aligner.tokens_per_batch, self.encoder.max_length
        plan = BucketPlan(longer, budget, overhead=2, max_length=longest)
        batches = (rows[plan.batch(number)[0]] for number in range(len(plan)))
        found = [self._link(source.take(batch), target.take(batch), batch) for batch in batches]
        places, confidence = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return _aligned(places, confidence, len(pairs))

    def _encoded(self, pairs: WordPairs) -> tuple[Sentences, Sentences]:
        from interlace.text.running import running_text

        sides = ((pairs.source, pairs.source_types), (pairs.target, pairs.target_types))
        texts = [
            running_text(*side, language, pairs.word_tokenizer)
            for side, language in zip(sides, pairs.languages, strict=True)
        ]
        source, target = (self.encoder.vocab.encode_words_apart(text) for text in texts)
        return source, target

    def _warn_of_cuts(self, subwords: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        longest = self.encoder.max_length - 2
        if (cut := subwords > longest).any():
            message = "similarity: %d pairs are longer than %d subwords; words beyond get no links (the first: pair %d)"
            log.warning(message, int(cut.sum()), longest, int(numbers[cut.argmax()]) + 1)

    def _link(
        self, source: Sentences, target: Sentences, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(k, 3) row, source word and target word of each linked pair of units, and its confidence."""
        import torch

        with torch.inference_mode():
            sides = [self.encoder.units(side) for side in (source, target)]
            if self.aligner.pooling == "mean":
                sides = [side.pooled() for side in sides]
            linked, confidence = self._linked(*sides)
            row, i, j = linked.nonzero(as_tuple=True)
            words = torch.stack([row, sides[0].words[row, i], sides[1].words[row, j]], dim=1).cpu().numpy()
            sure = confidence[linked].cpu().numpy()
        words[:, 0] = rows[words[:, 0]]
        return words, sure

    def _linked(self, source: Units, target: Units) -> tuple[Tensor, Tensor]:
        """(B, I, J) which units are linked, and how surely."""
        from interlace.aligners import _similarity_methods as methods

        settings = self.aligner
        real = source.real[:, :, None] & target.real[:, None, :]
        if settings.method == "softmax":
            products = source.vectors @ target.vectors.transpose(1, 2)
            return methods.softmax(products, real, settings.threshold)
        alike = methods.cosines(source.vectors, target.vectors)
        compared = methods.distorted(alike, source.real, target.real, settings.distortion)
        if settings.method == "itermax":
            return methods.itermax(compared, real, settings.alpha, settings.iterations), alike
        return (methods.argmax if settings.method == "argmax" else methods.match)(compared, real), alike


def _aligned(places: NDArray[np.int64], confidence: NDArray[np.float32], rows: int) -> Alignments:
    """Columns from (k, 3) row, source word, target word; of words linked by several subwords the surest counts."""
    order = np.lexsort((places[:, 2], places[:, 1], places[:, 0]))
    places, confidence = places[order], confidence[order]
    new = np.ones(len(places), np.bool_)
    new[1:] = (places[1:] != places[:-1]).any(axis=1)
    starts = np.flatnonzero(new)
    best = np.maximum.reduceat(confidence, starts) if len(starts) else confidence
    places = places[starts]
    links = Ragged.from_lengths(places[:, 1:].astype(np.int32), np.bincount(places[:, 0], minlength=rows))
    return Alignments(links, np.clip(best, np.finfo(np.float32).tiny, 1, dtype=np.float32))


def _gathered(parts: Sequence[Alignments]) -> Alignments:
    if not parts:
        return _aligned(np.zeros((0, 3), np.int64), np.zeros(0, np.float32), 0)
    return Alignments(
        Ragged.concatenate([part.links for part in parts]), np.concatenate([part.confidence for part in parts])
    )
