"""Alignment by an encoder that is trained on the text to be aligned, and by `gibbs`, without gold alignments.

`gibbs` counts which words of this text translate each other; a multilingual encoder knows words and contexts from other
text. They make about equally many errors, but different ones, so they teach each other: the encoder is trained on the
links that both together expect (`aligners.common.self_alignment`), then `gibbs` again with the lexicon of the encoder's
links as a prior. Links are those whose mean confidence of both exceeds a threshold.

Dou & Neubig (2021, section 2.2) train an encoder on its own links.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from pydantic import Field

from interlace.aligners import (
    Aligner,
    Alignments,
    FittedAligner,
    StoredAlignments,
    checked_array,
)
from interlace.aligners.common.inputs import cells_of, check_trainable, without_unusable_text
from interlace.aligners.gibbs import FittedGibbs, Gibbs
from interlace.aligners.self_trained.settings import TrainingSettings
from interlace.aligners.similarity import (
    FittedSimilarity,
    Similarity,
    Standard,
    standards_array,
    subwords_of,
    uses_half,
)
from interlace.alignment import WordPairs
from interlace.alignment.agreement import agreement
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import select_links
from interlace.core.progress import Progress, no_progress
from interlace.core.ragged import Arrays, IntArray, Ragged
from interlace.core.randomness import Purpose, generator

log = logging.getLogger(__name__)

ENCODER = "encoder"  # folder of the encoder in that of a saved aligner
# names of arrays: the number of the encoder's layer; (2, 2, H) mean and deviation of the vectors of both sides
_LAYER = "layer"
_STANDARDS = "standards"
_MIN_CONFIDENCE = 0.05  # of the links that are averaged
_PRIOR = 0.1  # links of a prior for each of the encoder: an encoder that does not know the languages changes little
_MIN_AGREEMENT = 0.4  # F1 of the links of both; by chance it is some 0.2
_FEW_PAIRS = 100  # smaller texts were not measured


class SelfTrained(TrainingSettings, Aligner):
    """Aligns words by an encoder that is trained on the text, together with `gibbs`."""

    layer: int | None = Field(
        None,
        description="Layer whose states are compared: 0 embeddings, -1 the last; none: the one with most mutually "
        "nearest subwords in the first pairs. Layers above it are removed.",
    )
    threshold: float = Field(
        0.35,
        gt=_MIN_CONFIDENCE,
        lt=1,
        description="Minimum mean confidence of the encoder and `gibbs`.",
    )
    max_length: int = Field(
        512,
        ge=8,
        description="Maximum length in subword tokens, at most the model's own; longer sentences are truncated.",
    )
    device: str = Field(
        "auto",
        description="Device of the encoder: 'cpu', 'cuda:0'; 'auto': a GPU if available.",
    )

    def fit(
        self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None
    ) -> FittedSelfTrained:
        """Train `gibbs`, the encoder, on a sample of a large text, and `gibbs` again; resume a killed training.

        priors: of `gibbs`, then besides the encoder's links.

        Raises:
            DataError: no pair has words on both sides, or all such are too long.
            SettingsError: the encoder lacks the layer or the device, or the cache cannot be written.
        """
        from interlace.aligners.self_trained.training import EncoderTraining, TrainedWeights

        check_trainable(pairs, self.name)
        similarity = self._similarity(self.start, self.layer).fit(pairs)
        rows = self._training_rows(pairs)
        gibbs = self._gibbs().fit(pairs, priors, progress)
        links = _take_links(_align_training_pairs(gibbs, pairs), rows)
        source = pairs.source.take(rows)
        target = pairs.target.take(rows)
        sample = subwords_of(
            replace(pairs, source=source, target=target), similarity.encoder.vocab
        )
        training = EncoderTraining(self, similarity, sample, links)
        training.load(TrainedWeights(training, progress or no_progress).get())

        of_encoder = similarity.align(without_unusable_text(pairs))
        gibbs = self._gibbs().fit(pairs, self._lexicon(pairs, of_encoder, priors), progress)
        of_gibbs = _align_training_pairs(gibbs, pairs)
        self._warn_of_disagreement(of_encoder, of_gibbs)
        alignments = average([of_encoder, of_gibbs], self.threshold)
        stored = StoredAlignments.of(self, pairs, alignments.links, alignments.confidence)
        return FittedSelfTrained(self, similarity, gibbs, stored)

    def restore(
        self,
        arrays: Arrays,
        source_types: list[str],
        target_types: list[str],
        folder: Path,
    ) -> FittedSelfTrained:
        """Rebuild a model from what `arrays` and `types` returned, and the encoder in its folder."""
        import torch

        from interlace.data.vocab import Vocab

        gibbs = self._gibbs().restore(arrays, source_types, target_types, folder)
        layer = checked_array(arrays, _LAYER, np.int32, (1,), self.name, low=0)
        start = str(folder / ENCODER)
        similarity = self._similarity(start, int(layer[0]))
        vocab = Vocab.load(start)
        backbone = similarity.load_backbone(vocab)
        fitted = similarity.with_backbone(backbone, vocab)
        shape = (2, 2, backbone.width)
        rows = checked_array(arrays, _STANDARDS, np.float32, shape, self.name, low=-np.inf)
        source = Standard(*torch.from_numpy(rows[0]).unbind())
        target = Standard(*torch.from_numpy(rows[1]).unbind())
        fitted = replace(
            fitted,
            encoder=replace(fitted.encoder, half=uses_half(backbone)),
            standards=(source, target),
        )
        return FittedSelfTrained(self, fitted, gibbs)

    def _similarity(self, start: str, layer: int | None) -> Similarity:
        return Similarity(
            start=start,
            layer=layer,
            temperature=self.temperature,
            threshold=_MIN_CONFIDENCE,
            max_length=self.max_length,
            device=self.device,
        )

    def _gibbs(self) -> Gibbs:
        return Gibbs(threshold=_MIN_CONFIDENCE, seed=self.seed)

    def _training_rows(self, pairs: WordPairs) -> IntArray:
        """Return the rows that the encoder is trained on, ascending: all usable ones, or what the updates read."""
        usable = np.flatnonzero(cells_of(pairs))
        if len(usable) < _FEW_PAIRS:
            message = "%s: only %d pairs to train on; errors were measured with %d and more"
            log.warning(message, self.name, len(usable), _FEW_PAIRS)
        rows = generator(Purpose.ALIGN, self.seed).permutation(usable)
        longer = np.maximum(pairs.source.lengths, pairs.target.lengths)[rows]
        tokens_before = np.cumsum(longer) - longer
        rows = np.sort(rows[tokens_before < self.updates * self.tokens_per_update])
        if len(rows) < len(usable):
            message = (
                "%s: the encoder is trained on %d of %d pairs, as many as its updates read"
            )
            log.info(message, self.name, len(rows), len(usable))
        return rows

    def _lexicon(
        self, pairs: WordPairs, alignments: Alignments, priors: Lexicon | None
    ) -> Lexicon:
        """Return how often words are linked, together with the entries of priors."""
        is_sure = alignments.confidence > self.threshold
        lexicon = Lexicon.count(pairs, select_links(alignments.links, is_sure))
        lexicon = replace(lexicon, counts=_PRIOR * lexicon.counts)
        return lexicon if priors is None else Lexicon.of(chain(lexicon, priors))

    def _warn_of_disagreement(self, of_encoder: Alignments, of_gibbs: Alignments) -> None:
        """Warn of an encoder whose links are not those of `gibbs`."""
        encoder_links = average([of_encoder], self.threshold).links
        gibbs_links = average([of_gibbs], self.threshold).links
        share = agreement(encoder_links, gibbs_links, gibbs_links).f1
        if share < _MIN_AGREEMENT:
            message = "%s: %s and `gibbs` agree in %.0f %% of their links; the encoder may not know the languages"
            log.warning(message, self.name, self.start, 100 * share)


@dataclass(frozen=True)
class FittedSelfTrained(FittedAligner):
    """A trained encoder and a trained `gibbs`, and the links of their training pairs."""

    aligner: SelfTrained
    similarity: FittedSimilarity
    gibbs: FittedGibbs
    stored: StoredAlignments | None = None

    def align(self, pairs: WordPairs) -> Alignments:
        """Align any pairs by both, or by the encoder alone if they are in other languages than the training text."""
        parts = [self.similarity.align(without_unusable_text(pairs))]
        if self.trained_on is None or self.trained_on.may_be_in_languages_of(pairs):
            parts.append(self.gibbs.align(pairs))
        else:
            message = "%s: aligning %s by the encoder alone; `gibbs` was trained on %s"
            languages = "-".join(pairs.languages)
            log.warning(
                message, self.aligner.name, languages, "-".join(self.trained_on.languages)
            )
        return average(parts, self.aligner.threshold)

    def align_training_pairs(self, pairs: WordPairs) -> Alignments:
        """Return the links that were found in training; else align as new pairs."""
        return self.align(pairs) if self.stored is None else self.stored.align(pairs)

    def arrays(self) -> Arrays:
        """Return the parameters of `gibbs`, and the layer and the standards of the encoder."""
        layer = np.array([self.similarity.encoder.layer], np.int32)
        standards = standards_array(self.similarity)
        return {**self.gibbs.arrays(), _LAYER: layer, _STANDARDS: standards}

    def types(self) -> tuple[list[str], list[str]]:
        """Return the spellings that the arrays of `gibbs` refer to."""
        return self.gibbs.types()

    def save_files(self, folder: Path) -> None:
        """Write the encoder as an ordinary checkpoint."""
        encoder = self.similarity.encoder
        encoder.backbone.save_pretrained(folder / ENCODER, encoder.vocab)


def average(parts: Sequence[Alignments], threshold: float) -> Alignments:
    """Return the links whose mean confidence exceeds a threshold; that of a link that a part lacks is 0 there."""
    width = 1
    for part in parts:
        width = max(width, int(part.links.flat.max(initial=0)) + 1)
    part_keys = []
    part_confidence = []
    for part in parts:
        source, target = part.links.flat.astype(np.int64).T
        part_keys.append((part.links.rows() * width + source) * width + target)
        part_confidence.append(part.confidence)
    all_keys = np.concatenate(part_keys)
    keys, numbers = np.unique(all_keys, return_inverse=True)
    sums = np.bincount(numbers, np.concatenate(part_confidence), len(keys))
    means = sums / len(parts)
    is_kept = means > threshold
    words, target = np.divmod(keys[is_kept], width)
    rows, source = np.divmod(words, width)
    links = np.stack([source, target], axis=1).astype(np.int32)
    lengths = np.bincount(rows, minlength=len(parts[0]))
    return Alignments(Ragged.from_lengths(links, lengths), means[is_kept].astype(np.float32))


def _take_links(alignments: Alignments, rows: IntArray) -> Alignments:
    confidence = Ragged(alignments.confidence, alignments.links.offsets)
    return Alignments(alignments.links.take(rows), confidence.take(rows).flat)


def _align_training_pairs(fitted: FittedAligner, pairs: WordPairs) -> Alignments:
    chunks = [fitted.align_training_pairs(chunk) for chunk in pairs.chunks()]
    return Alignments.concatenate(chunks)
