"""Measurements during training: held-out perplexity, and how well the languages of a model are aligned.

Nothing is trained or drawn, and dropout is off, so a run ends with the same weights with and without them.

Perplexity is measured on fixed sequences with fixed masks. Its unit depends on the model. Of a bidirectional
model it is per masked token, under 15 % masking that always shows the mask (XLM's evaluation); it compares runs with
the same vocabulary. Of a causal model it is per token, and also per word and in bits a character (XLM's table 4 does
not say which). The end of a sentence is predicted, so it counts as a word and as a character; unknown tokens are
neither predicted nor counted. Of a translation model it is per token of the reference and its end, by direction.

Diagnostics are

    retrieval/en-de        % of English sentences whose nearest German one is their translation (XTREME's Tatoeba)
    gap/en-de              mean cosine of translations minus that of all other combinations

and their means over corpora, `retrieval/mean` and so on.

Legend: N predictions, V vocabulary, H width, n translations; row i of one side translates row i of the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from interlace.core.json_files import JsonObject
from interlace.core.neighbors import unit
from interlace.core.ragged import FloatArray
from interlace.models.backbone import eval_mode
from interlace.tasks.common.likelihood import HeldOutBatches, perplexity, summed_loss
from interlace.tasks.retrieval import Retrieval, both_ways

if TYPE_CHECKING:
    from interlace.data import Pairs
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.training.steps import TrainingStep

KIND = "diagnosis"  # of a line in `metrics.jsonl`


def perplexities(
    backbone: Backbone, held_out: list[HeldOutBatches], device: torch.device
) -> dict[str, float]:
    """Return `perplexity/XX` for each corpus, and `perplexity/mean` (arithmetic, as in XLM).

    If masks are measured too, the perplexity of a causal model is called `causal_perplexity/XX`.
    """
    by_measure: dict[str, dict[str, float]] = {}  # measure -> corpus -> value
    with torch.inference_mode(), eval_mode(backbone):
        for corpus in held_out:
            total, count = summed_loss(backbone, corpus, device)
            by_measure.setdefault(corpus.name, {})[corpus.corpus] = perplexity(total, count)
    scores: dict[str, float] = {}
    for name, by_corpus in by_measure.items():
        for corpus_name, value in by_corpus.items():
            scores[f"{name}/{corpus_name}"] = value
        scores[f"{name}/mean"] = float(np.mean(list(by_corpus.values())))
    return {key: round(value, 5) for key, value in scores.items()}


@dataclass(frozen=True)
class DiagnosticProbes:
    """What diagnostics measure, prepared once before training.

    retrieval: chooses the compared layer and how sentences are read.
    """

    vocab: Vocab
    retrieval: Retrieval
    pairs: tuple[Pairs, ...]


def diagnose(backbone: Backbone, probes: DiagnosticProbes) -> dict[str, float]:
    """Return the diagnostics, rounded."""
    scores: dict[str, float] = {}
    for pairs in probes.pairs:
        scores |= _pair_scores(backbone, probes, pairs)
    by_measure: dict[str, list[float]] = {}  # over corpora
    for name, score in scores.items():
        by_measure.setdefault(name.partition("/")[0], []).append(score)
    for measure, values in by_measure.items():
        scores[f"{measure}/mean"] = float(np.mean(values))
    return {name: round(value, 5) for name, value in scores.items()}


def _pair_scores(
    backbone: Backbone, probes: DiagnosticProbes, pairs: Pairs
) -> dict[str, float]:
    """Return the measures of one language pair, from one pass over each side."""
    settings = probes.retrieval
    source = unit(settings.vectors(backbone, probes.vocab, pairs.source))
    target = unit(settings.vectors(backbone, probes.vocab, pairs.target))
    scores = both_ways(source, target, pairs)
    name = f"{pairs.source.language}-{pairs.target.language}"
    return {
        f"retrieval/{name}": scores["p@1 into target"],
        f"retrieval/{pairs.target.language}-{pairs.source.language}": scores["p@1 into source"],
        f"gap/{name}": cosine_gap(source, target),
    }


def cosine_gap(source: FloatArray, target: FloatArray) -> float:
    """Return the mean cosine of n translations minus that of all other combinations, from normalized (n, H) rows.

    All n(n - 1) combinations count: their sum is a product of two sums. 0: a translation is no nearer than any other
    sentence, as in a model whose vectors all have one direction.
    """
    of_translations = float((source * target).sum(dtype=np.float64))
    of_all = float(source.sum(axis=0, dtype=np.float64) @ target.sum(axis=0, dtype=np.float64))
    count = len(source)
    return of_translations / count - (of_all - of_translations) / (count * (count - 1))


@dataclass
class DiagnosticsCallback:
    """Records what `measure` returns before the first step, every `every` steps and after the last."""

    measure: Callable[[], dict[str, float]]
    every: int
    last: int
    record: Callable[[JsonObject], None]

    def due(self, step: int) -> bool:
        """Return whether the weights of a step are measured."""
        return step % self.every == 0 or step == self.last

    def __call__(self, step: TrainingStep) -> None:
        """Measure if it is due."""
        if self.due(step.index):
            self.measure_at(step.index)

    def measure_at(self, step: int) -> None:
        """Measure and record the weights after a step; 0 for the initial model."""
        start = time.perf_counter()
        scores = self.measure()
        seconds = round(time.perf_counter() - start, 4)
        self.record({"kind": KIND, "step": step, "scores": scores, "seconds": seconds})
