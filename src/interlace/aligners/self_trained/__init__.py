"""Alignment by `gibbs` with the evidence of an encoder that is trained on the text, without gold alignments.

`gibbs` counts which words of this text translate each other, and knows where translations stand; a multilingual encoder
knows words and contexts from other text. A link's probability is the product of both: each sampler of `gibbs` weighs a
candidate also by the encoder's confidence. In this way 100 pairs suffice, from which `gibbs` alone learns little.

The encoder is then trained on the links that both together expect (`aligners.common.self_alignment`), and `gibbs` again
with its evidence. Dou & Neubig (2021, section 2.2) train an encoder on its own links. Links are those that both
directions prefer, and those of one direction beside them (`grow`), which multiword translations need.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from interlace.aligners import Aligner, Alignments, FittedAligner, checked_array
from interlace.aligners.common.inputs import cells_of, check_trainable, without_unusable_text
from interlace.aligners.gibbs import FittedGibbs, Gibbs
from interlace.aligners.gibbs.model import MIN_EVIDENCE
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
from interlace.core.ragged import Arrays
from interlace.core.randomness import Purpose, generator

log = logging.getLogger(__name__)

ENCODER = "encoder"  # folder of the encoder in that of a saved aligner
# names of arrays: the number of the encoder's layer; (2, 2, H) mean and deviation of the vectors of both sides
_LAYER = "layer"
_STANDARDS = "standards"
_MIN_CONFIDENCE = 0.05  # of the links that the encoder is trained on
_SURE = 0.35  # confidence of the encoder's links that are compared with those of `gibbs`
_MIN_AGREEMENT = 0.3  # F1 of the links of both; that of random vectors is below 0.1, of known languages 0.47 to 0.72
_FEW_PAIRS = 100  # smaller texts were not measured


class SelfTrained(TrainingSettings, Aligner):
    """Aligns words by `gibbs` together with an encoder that is trained on the text."""

    layer: int | None = Field(
        None,
        description="Layer whose states are compared: 0 embeddings, -1 the last; none: the one with most mutually "
        "nearest subwords in the first pairs. Layers above it are removed.",
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
        """Train `gibbs` and the encoder on a sample of the text, then `gibbs` on all; resume a killed training.

        priors: of `gibbs`.

        Raises:
            DataError: no pair has words on both sides, or all such are too long.
            SettingsError: the encoder lacks the layer or the device, or the cache cannot be written.
        """
        from interlace.aligners.self_trained.training import EncoderTraining, TrainedWeights

        check_trainable(pairs, self.name)
        similarity = self._similarity(self.start, self.layer).fit(pairs)
        sample = self._sample(pairs)
        evidence = similarity.align(sample)
        alone = self._gibbs("grow").fit(sample, priors, progress)
        self._warn_of_disagreement(evidence, alone.align_training_pairs(sample))
        teacher = self._gibbs("posterior").fit(sample, priors, progress, evidence)
        links = FittedSelfTrained(self, similarity, teacher).align_training_pairs(sample)
        subwords = subwords_of(sample, similarity.encoder.vocab)
        training = EncoderTraining(self, similarity, subwords, links)
        training.load(TrainedWeights(training, progress or no_progress).get())

        evidence = similarity.align(without_unusable_text(pairs))
        gibbs = self._gibbs("grow").fit(pairs, priors, progress, evidence)
        return FittedSelfTrained(self, similarity, gibbs)

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

        gibbs = self._gibbs("grow").restore(arrays, source_types, target_types, folder)
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
            threshold=MIN_EVIDENCE,
            max_length=self.max_length,
            device=self.device,
        )

    def _gibbs(self, symmetrization: Literal["posterior", "grow"]) -> Gibbs:
        return Gibbs(symmetrization=symmetrization, threshold=_MIN_CONFIDENCE, seed=self.seed)

    def _sample(self, pairs: WordPairs) -> WordPairs:
        """Return the pairs that the encoder is trained on, in order: all usable ones, or what the updates read."""
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
        source = pairs.source.take(rows)
        target = pairs.target.take(rows)
        return replace(pairs, source=source, target=target, first=0)

    def _warn_of_disagreement(self, evidence: Alignments, of_gibbs: Alignments) -> None:
        """Warn of an encoder whose links are not those of `gibbs` alone: it would mislead it."""
        encoder_links = select_links(evidence.links, evidence.confidence > _SURE)
        share = agreement(encoder_links, of_gibbs.links, of_gibbs.links).f1
        if share < _MIN_AGREEMENT:
            message = (
                "%s: %s and `gibbs` agree in only %.0f %% of their links; if the encoder does not know the languages, "
                "`gibbs` alone makes fewer errors"
            )
            log.warning(message, self.name, self.start, 100 * share)


@dataclass(frozen=True)
class FittedSelfTrained(FittedAligner):
    """A trained encoder and a trained `gibbs`, with the links of its training pairs."""

    aligner: SelfTrained
    similarity: FittedSimilarity
    gibbs: FittedGibbs

    def align(self, pairs: WordPairs) -> Alignments:
        """Align any pairs by both; words that the training text lacks, by the encoder and by position."""
        return self.gibbs.align(pairs, self.similarity.align(without_unusable_text(pairs)))

    def align_training_pairs(self, pairs: WordPairs) -> Alignments:
        """Return the links that were found in training; else align as new pairs."""
        if self.gibbs.stored is None:
            return self.align(pairs)
        return self.gibbs.stored.align(pairs)

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
