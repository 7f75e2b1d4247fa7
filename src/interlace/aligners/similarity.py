"""Alignment by the similarity of contextual vectors from any encoder, without training.

Jalili Sabet et al. (2020, SimAlign) align words that are each other's most similar, Dou & Neubig (2021, awesome-align)
words whose probability is high in both directions. Both find layer 8 of 12 best with multilingual BERT.

Sentence encoders such as E5 are anisotropic: the cosines of all words lie near 1, and few dimensions decide them. So
vectors are standardized by default: each dimension has mean 0 and variance 1 over the text of its language (as Timkey &
van Schijndel 2021, "All Bark and No Bite").

Words are aligned if any of their subwords are, as in both papers.

Layer and standards are chosen in float32 on every machine. The text is then encoded in bfloat16 where the processor has
it, so links near the threshold may differ between machines (error rates on seven gold sets by at most 0.06 points).

Legend: B pairs; I source and J target units (subwords) of the longest; H width. `real` (B, I, J) is true where
both units exist.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from pydantic import Field

from interlace.aligners import Aligner, Alignments, FittedAligner
from interlace.aligners.common.inputs import check_usable
from interlace.alignment import CHUNK, WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import SettingsError
from interlace.core.finite import check_finite
from interlace.core.progress import Progress
from interlace.core.ragged import FloatArray, IntArray, Ragged
from interlace.core.settings import Settings
from interlace.data import Pairs, Sentences
from interlace.data.layout import SPECIALS
from interlace.models.settings import layer_number

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone, Tensors

log = logging.getLogger(__name__)

_SAMPLE = 100  # pairs whose vectors are measured: more hardly change the alignments
_SAMPLE_GROUPS = 1  # at most, so that the states of all layers of long pairs fit in memory
_BATCHES = 8  # in a group of pairs, each side of which is sorted by length
ALPHA = 0.9  # of 'itermax' (Jalili Sabet et al. 2020)
ITERATIONS = 2  # the same
_CONSTANT = 1e-6  # deviation, relative to the mean, below which a dimension does not vary


class SimilaritySettings(Settings):
    """Settings shared by this aligner and the task `word_alignment`."""

    layer: int | None = Field(
        None,
        description="Layer whose states are compared: 0 embeddings, -1 the last; none: at two thirds (8 of 12).",
    )
    threshold: float = Field(
        0.001,
        gt=0,
        lt=1,
        description="Minimum probability in each direction for 'softmax' (Dou & Neubig 2021: 0.001).",
    )
    max_length: int = Field(
        512,
        ge=8,
        description="Maximum length in subword tokens, at most the model's own; longer sentences are truncated.",
    )
    tokens_per_batch: int = Field(
        2048, ge=16, description="Tokens per batch, padding included."
    )


class Similarity(SimilaritySettings, Aligner):
    """Aligns words by the similarity of contextual word or subword vectors."""

    can_save = False

    layer: int | None = Field(
        None,
        description="Layer whose states are compared: 0 embeddings, -1 the last; none: the one with most mutually "
        "nearest subwords in the first 100 pairs, or, without `standardize`, at two thirds (8 of 12).",
    )
    start: str = Field(
        "bert-base-multilingual-cased",
        description="The encoder: a checkpoint folder or a name on the Hub.",
    )
    method: Literal["softmax", "argmax", "itermax"] = Field(
        "softmax",
        description="'softmax': probability above the threshold in both directions (Dou & Neubig 2021, section 2.1); "
        "'argmax': mutual most similar; 'itermax': argmax repeated (Jalili Sabet et al. 2020, section 2.2).",
    )
    standardize: bool = Field(
        True,
        description="Give each dimension mean 0 and variance 1 over the words of a language, from the first 100 "
        "pairs; 'softmax' is then over cosines divided by `temperature`. false: vectors and dot products as they are "
        "(both papers; with threshold = 0.001).",
    )
    temperature: float = Field(
        0.01, gt=0, description="Divisor of cosines for 'softmax' of standardized vectors."
    )
    threshold: float = Field(
        0.25,
        gt=0,
        lt=1,
        description="Minimum probability in each direction for 'softmax' (Dou & Neubig 2021: 0.001).",
    )
    device: str = Field(
        "auto",
        description="Device of the encoder: 'cpu', 'cuda:0'; 'auto': a GPU if available.",
    )

    def fit(
        self,
        pairs: WordPairs,
        priors: Lexicon | None = None,
        progress: Progress | None = None,  # noqa: ARG002
    ) -> FittedSimilarity:
        """Load the encoder, choose the layer by the first pairs, and standardize by them; priors are not used."""
        from interlace.data.vocab import Vocab

        check_usable(pairs, self.name)
        if priors is not None:
            log.warning("similarity: word translations are not used; ignoring the priors")
        vocab = Vocab.load(self.start)
        backbone = self.load_backbone(vocab)
        layer = self._layer(backbone)
        if self.layer is not None or not self.standardize:
            truncate_layers(backbone, layer)
        fitted = self._fitted(backbone, vocab, layer)
        standards = None
        if self.standardize:
            # in float32: the shares of neighboring layers may differ by less than bfloat16 rounds
            sample = fitted.encode_sample(pairs.slice(0, min(len(pairs), _SAMPLE)))
            if self.layer is None:
                layer = sample.best_layer()
            standards = sample.standards(layer)
        encoder = replace(
            fitted.encoder,
            backbone=truncate_layers(backbone, layer),
            layer=layer,
            half=uses_half(backbone),
        )
        return FittedSimilarity(self, encoder, standards)

    def load_backbone(self, vocab: Vocab) -> Backbone:
        """Return the encoder on its device; raise a SettingsError if that cannot be used."""
        import torch

        from interlace.models.build import load

        backbone = load(self.start, vocab)
        for note in backbone.notes:
            log.info("%s", note)
        device = self.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            return backbone.to(torch.device(device)).eval()
        except (RuntimeError, AssertionError) as error:
            # torch asserts that it was compiled for the device
            reason = str(error).partition("\n")[0]
            raise SettingsError(
                f"similarity: device = {self.device!r} cannot be used: {reason}"
            ) from error

    def with_backbone(self, backbone: Backbone, vocab: Vocab) -> FittedSimilarity:
        """Use a loaded backbone as it is; raise a SettingsError if it lacks the layer or language embeddings."""
        return self._fitted(backbone, vocab, self._layer(backbone))

    def _fitted(self, backbone: Backbone, vocab: Vocab, layer: int) -> FittedSimilarity:
        feed_languages = backbone.traits.feeds_languages("auto", "similarity")
        max_length = min(self.max_length, backbone.traits.max_length)
        return FittedSimilarity(
            self,
            WordEncoder(
                backbone, vocab, layer, max_length, feed_languages, self.tokens_per_batch
            ),
        )

    def _layer(self, backbone: Backbone) -> int:
        """Return the index of the layer, counted from the embeddings (0)."""
        return layer_number(
            "similarity: layer", self.layer, int(backbone.model.config.num_hidden_layers)
        )


@dataclass(frozen=True)
class FittedSimilarity(FittedAligner):
    """An encoder with the settings of alignment."""

    aligner: Similarity
    encoder: WordEncoder
    # of both sides; None: vectors as they are
    standards: tuple[Standard, Standard] | None = None

    def encode_sample(self, pairs: WordPairs) -> LayerSample:
        """Return the states of all layers of the pairs, or of a group of the longest."""
        layers = int(self.encoder.backbone.model.config.num_hidden_layers)
        sample = LayerSample(self.encoder.backbone.width, layers, [])
        for batch in islice(self._groups(pairs), _SAMPLE_GROUPS):
            sides = (self.encoder.layers(batch.source), self.encoder.layers(batch.target))
            sample.batches.append(sides)
        return sample

    def align(self, pairs: WordPairs) -> Alignments:
        """Align every pair; words beyond the maximum length get no links, with a warning."""
        return Alignments.concatenate(
            [self._align_chunk(chunk) for chunk in pairs.chunks(CHUNK)]
        )

    def _align_chunk(self, pairs: WordPairs) -> Alignments:
        rows = [np.zeros((0, 3), np.int64)]
        confidence = [np.zeros(0, np.float32)]
        for batch in self._groups(pairs):
            batch_rows, batch_confidence = self._link(batch)
            rows.append(batch_rows)
            confidence.append(batch_confidence)
        return _alignments(np.concatenate(rows), np.concatenate(confidence), len(pairs))

    def _groups(self, pairs: WordPairs) -> Iterator[_Batch]:
        """Yield the subwords of pairs of similar lengths; pairs without subwords on a side are not."""
        from interlace.data.sampling import batches_by_length

        subwords = subwords_of(pairs, self.encoder.vocab)
        source = subwords.source
        target = subwords.target
        rows = np.flatnonzero((source.lengths > 0) & (target.lengths > 0))
        if not len(rows):
            return
        longer = np.maximum(source.lengths, target.lengths)[rows]
        max_subwords = self.encoder.max_length - 2
        is_cut = longer > max_subwords
        if is_cut.any():
            message = "similarity: %d pairs are longer than %d subwords; words beyond get no links (first: pair %d)"
            first = int(rows[is_cut.argmax()] + pairs.first) + 1
            log.warning(message, int(is_cut.sum()), max_subwords, first)
        lengths = np.minimum(longer, max_subwords)
        max_tokens = _BATCHES * self.aligner.tokens_per_batch
        for indices in batches_by_length(lengths, max_tokens, len(rows)):
            batch_rows = rows[indices]
            yield _Batch(source.take(batch_rows), target.take(batch_rows), batch_rows)

    def _link(self, batch: _Batch) -> tuple[IntArray, FloatArray]:
        """(k, 3) row, source word and target word of each aligned pair of units, and its confidence."""
        import torch

        with torch.inference_mode():
            source = self.encoder.units(batch.source)
            target = self.encoder.units(batch.target)
            if self.standards is not None:
                source = self.standards[0].of(source)
                target = self.standards[1].of(target)
            is_linked, confidence = self._align_units(source, target)
            row, i, j = is_linked.nonzero(as_tuple=True)
            source_words = source.words[row, i]
            target_words = target.words[row, j]
            links = torch.stack([row, source_words, target_words], dim=1).cpu().numpy()
        links[:, 0] = batch.rows[links[:, 0]]
        return links, confidence[is_linked].cpu().numpy()

    def _align_units(self, source: Units, target: Units) -> tuple[Tensor, Tensor]:
        """(B, I, J) which units are aligned, and their confidence."""
        settings = self.aligner
        real = source.real[:, :, None] & target.real[:, None, :]
        if settings.method == "softmax":
            if self.standards is None:
                products = source.vectors @ target.vectors.transpose(1, 2)
            else:
                products = _cosines(source.vectors, target.vectors) / settings.temperature
            return softmax(products, real, settings.threshold)
        alike = cosines(source.vectors, target.vectors)
        if settings.method == "itermax":
            return itermax(alike, real), alike
        return argmax(alike, real), alike


class _Batch(NamedTuple):
    """The subwords of some pairs, and their (n,) rows."""

    source: Sentences
    target: Sentences
    rows: IntArray


def subwords_of(pairs: WordPairs, vocab: Vocab) -> Pairs:
    """Return the subwords of both sides, each with its word."""
    from interlace.text.running import running_text

    source_text = running_text(pairs.source, pairs.source_types)
    target_text = running_text(pairs.target, pairs.target_types)
    source_language, target_language = pairs.languages
    return Pairs(
        vocab.encode_words_apart(source_text.text(source_language)),
        vocab.encode_words_apart(target_text.text(target_language)),
    )


def _alignments(links: IntArray, confidence: FloatArray, rows: int) -> Alignments:
    """Build alignments from (k, 3) row, source word, target word; duplicates keep the highest confidence."""
    distinct, numbers = np.unique(links, axis=0, return_inverse=True)
    best = np.zeros(len(distinct), np.float32)
    np.maximum.at(best, numbers.reshape(-1), confidence)
    lengths = np.bincount(distinct[:, 0], minlength=rows)
    word_pairs = Ragged.from_lengths(distinct[:, 1:].astype(np.int32), lengths)
    smallest = np.finfo(np.float32).tiny
    return Alignments(word_pairs, np.clip(best, smallest, 1, dtype=np.float32))


# ---- contextual vectors ----


@dataclass(frozen=True)
class Units:
    """The units to align: subwords with their words.

    vectors: (B, U, H) float32. words: (B, U) the word of each unit, -1 for padding.
    """

    vectors: Tensor
    words: Tensor

    @property
    def real(self) -> Tensor:
        """(B, U) whether a position holds a unit."""
        return self.words >= 0


@dataclass(frozen=True)
class Standard:
    """The mean and standard deviation of each dimension over the vectors of a language, (H,) each."""

    mean: Tensor
    deviation: Tensor

    def of(self, units: Units) -> Units:
        """Return units with standardized vectors."""
        return Units(self.scale(units.vectors), units.words)

    def scale(self, vectors: Tensor) -> Tensor:
        """Return (..., H) standardized vectors."""
        return (vectors - self.mean.to(vectors.device)) / self.deviation.to(vectors.device)


def standards_array(fitted: FittedSimilarity) -> FloatArray:
    """(2, 2, H) mean and deviation of the vectors of the source and of the target; empty without standards."""
    rows = []
    for standard in fitted.standards or ():
        rows.append([standard.mean.numpy(), standard.deviation.numpy()])
    return np.array(rows, np.float32)


class Moments:
    """Sums of vectors and of their squares, from which their mean and deviation follow."""

    def __init__(self, width: int) -> None:
        import torch

        self._count = 0
        self._sums = torch.zeros(2, width, dtype=torch.float64)

    def add(self, units: Units) -> None:
        """Add the vectors of units."""
        exact = units.vectors[units.real].double().cpu()  # (n, H)
        self._count += len(exact)
        self._sums[0] += exact.sum(0)
        self._sums[1] += exact.square().sum(0)

    def standard(self) -> Standard:
        """Return mean and deviation; a dimension that does not vary keeps its scale."""
        import torch

        mean, mean_square = self._sums / max(self._count, 1)
        deviation = (mean_square - mean.square()).clamp(min=0).sqrt()
        varies = deviation > _CONSTANT * (mean.abs() + 1)
        deviation = torch.where(varies, deviation, torch.ones_like(deviation))
        return Standard(mean.float(), deviation.float())


@dataclass(frozen=True)
class LayerSample:
    """The states of all layers of some pairs, from the embeddings.

    width: of the states. layers: without the embeddings. batches: of both sides, the units of each layer.
    """

    width: int
    layers: int
    batches: list[tuple[list[Units], list[Units]]]

    def standards(self, layer: int) -> tuple[Standard, Standard]:
        """Return the mean and deviation of the vectors of each side."""
        moments = (Moments(self.width), Moments(self.width))
        for batch in self.batches:
            for side in (0, 1):
                moments[side].add(batch[side][layer])
        return moments[0].standard(), moments[1].standard()

    def best_layer(self) -> int:
        """Return the layer with the highest share of mutually nearest subwords, which needs no gold alignments."""
        shares = [self.mutual_share(layer) for layer in range(self.layers + 1)]
        layer = int(np.argmax(shares))
        message = "similarity: layer %d: %.1f %% of the subwords are mutually nearest"
        log.info(message, layer, 100 * shares[layer])
        return layer

    def mutual_share(self, layer: int) -> float:
        """Return the share of the subwords of the shorter side whose nearest subword is nearest to them, too.

        Vectors are standardized.
        """
        standards = self.standards(layer)
        mutual = 0
        possible = 0
        for source_layers, target_layers in self.batches:
            source = standards[0].of(source_layers[layer])
            target = standards[1].of(target_layers[layer])
            real = source.real[:, :, None] & target.real[:, None, :]
            links = argmax(_cosines(source.vectors, target.vectors), real)
            mutual += int(links.sum())
            shorter = source.real.sum(1).minimum(target.real.sum(1))
            possible += int(shorter.sum())
        return mutual / max(possible, 1)


def uses_half(backbone: Backbone) -> bool:
    """Return whether a backbone on this device should multiply in bfloat16."""
    return backbone.device.type == "cpu" and has_fast_bfloat16()


def has_fast_bfloat16() -> bool:
    """Return whether the processor multiplies bfloat16 natively, about four times as fast as float32."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


@dataclass(frozen=True)
class WordEncoder:
    """A backbone and the layer whose states are used.

    layer: 0 is the embeddings. feed_languages: whether language ids are passed.
    tokens_per_batch: padding included. half: whether the backbone multiplies in bfloat16; its states stay in float32.
    """

    backbone: Backbone
    vocab: Vocab
    layer: int
    max_length: int
    feed_languages: bool
    tokens_per_batch: int
    half: bool = False

    def units(self, sentences: Sentences) -> Units:
        """Return the subwords of each sentence, truncated to `max_length`."""
        return self._encode(sentences, lambda inputs: [self.states(inputs)])[0]

    def states(self, inputs: Tensors) -> Tensor:
        """Return the (B, L, H) states of the layer."""
        if self.layer == self.backbone.model.config.num_hidden_layers:
            return self.backbone.encode(inputs)
        return self.backbone.hidden_states(inputs)[self.layer]

    def layers(self, sentences: Sentences) -> list[Units]:
        """Return the subwords of each sentence with the states of each layer, from the embeddings."""
        return self._encode(sentences, self.backbone.hidden_states)

    def _encode(
        self, sentences: Sentences, states_of: Callable[[Tensors], Sequence[Tensor]]
    ) -> list[Units]:
        """Return the subwords with each of the states; sentences of like length are encoded together."""
        import torch

        from interlace.data.sampling import batches_by_length

        lengths = np.minimum(sentences.lengths, self.max_length - SPECIALS)
        shape = (len(lengths), int(lengths.max()) + SPECIALS)
        words = torch.full(shape, -1, dtype=torch.int32, device=self.backbone.device)
        vectors: list[Tensor] = []
        for rows in batches_by_length(lengths, self.tokens_per_batch, len(lengths)):
            inputs, batch_words = self._inputs(sentences.take(rows))
            with self._computing():
                states = states_of(inputs)
            length = batch_words.shape[1]
            words[rows, :length] = batch_words
            for number, batch_vectors in enumerate(states):
                _check_finite(batch_vectors)
                if number == len(vectors):
                    vectors.append(
                        batch_vectors.new_zeros(
                            *shape, batch_vectors.shape[2], dtype=torch.float32
                        )
                    )
                vectors[number][rows, :length] = batch_vectors.float()
        return [Units(whole, words) for whole in vectors]

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Compute without gradients, in the precision that is fast."""
        import torch

        with torch.inference_mode(), ExitStack() as contexts:
            if self.half:
                contexts.enter_context(torch.autocast("cpu", torch.bfloat16))
            yield

    def _inputs(self, sentences: Sentences) -> tuple[Tensors, Tensor]:
        """Return the inputs of the model, and (B, U) the word of each subword."""
        import torch

        from interlace.data.layout import sentence_layout

        layout = sentence_layout(sentences, self.vocab, self.max_length)
        arrays = self.backbone.traits.encoder_inputs(
            layout, (sentences.language,), language_ids=self.feed_languages
        )
        device = self.backbone.device
        inputs = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
        return inputs, torch.from_numpy(layout.words).to(device)


def _check_finite(states: Tensor) -> None:
    """Check states; NaN has no neighbors, and would align no words without a word."""
    if not states.sum().isfinite():
        check_finite(states.float().cpu().numpy(), "sentences' vectors")


def truncate_layers(backbone: Backbone, layer: int) -> Backbone:
    """Remove the layers above `layer`, a third of the work, where that changes no state.

    Not for ModernBERT, whose last layer is followed by a norm, nor for XLM, whose layers are in several lists.
    """
    layers = getattr(getattr(backbone.model.base_model, "encoder", None), "layer", None)
    count = max(layer, 1)  # without any, transformers returns no states of layers
    if layers is not None and count < len(layers):
        backbone.model.base_model.encoder.layer = layers[:count]
        backbone.model.config.num_hidden_layers = count
    return backbone


# ---- from similarities of units to links ----


def cosines(source: Tensor, target: Tensor) -> Tensor:
    """(B, I, J) cosine of (B, I, H) and (B, J, H), scaled to 0 to 1 (Jalili Sabet et al. 2020, section 2.1)."""
    return ((1 + _cosines(source, target)) / 2).clamp(0, 1)


def _cosines(source: Tensor, target: Tensor) -> Tensor:
    from torch.nn.functional import normalize

    return normalize(source, dim=2) @ normalize(target, dim=2).transpose(1, 2)


def argmax(similarity: Tensor, real: Tensor) -> Tensor:
    """(B, I, J) whether two units are mutually most similar (the same, section 2.2); ties go to the first."""
    import torch

    hidden = similarity.masked_fill(~real, -torch.inf)
    of_source = hidden.argmax(2)  # (B, I)
    of_target = hidden.argmax(1)  # (B, J)
    mutual = of_target.gather(1, of_source) == torch.arange(real.shape[1], device=real.device)
    return torch.zeros_like(real).scatter_(2, of_source[:, :, None], mutual[:, :, None]) & real


def itermax(similarity: Tensor, real: Tensor) -> Tensor:
    """Repeat argmax without pairs of aligned units, and times ALPHA if one unit is aligned (the same, section 2.2).

    The authors' program also stops if all units of a side are aligned or a side has at most two units, which the paper
    does not mention and which is not done here.
    """
    linked = argmax(similarity, real)
    for _ in range(ITERATIONS - 1):
        source = linked.any(2, keepdim=True)
        target = linked.any(1, keepdim=True)
        discounted = similarity * (1 - (1 - ALPHA) * (source | target))
        linked |= argmax(discounted, real & ~(source & target))
    return linked


def softmax(products: Tensor, real: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Return where the probabilities of both directions exceed the threshold, and their geometric mean.

    Each direction is a softmax over dot products (Dou & Neubig 2021, section 2.1).
    """
    import torch

    hidden = products.masked_fill(~real, torch.finfo(products.dtype).min)
    forward = hidden.softmax(2)
    backward = hidden.softmax(1)
    linked = (forward > threshold) & (backward > threshold) & real
    return linked, (forward * backward).sqrt()
