"""Measurements during training: held-out perplexity, and how well the languages of a model are aligned.

Nothing is trained or drawn, and dropout is off, so a run ends with the same weights with and without them.

Perplexity is measured on fixed sequences with fixed masks. Its unit depends on the model. Of a bidirectional
model it is per masked token, under 15 % masking that always shows the mask (XLM's evaluation); it compares runs with
the same vocabulary. Of a causal model it is per token, and also per word and in bits a character (XLM's table 4 does
not say which). The end of a sentence is predicted, so it counts as a word and as a character; unknown tokens are
neither predicted nor counted. Of a translation model it is per token of the reference and its end, by direction.

Diagnostics are

    alignment/en-de        % of words whose nearest neighbor in the input embeddings is a translation (ALIGN-MLM, 5)
    align_mlm/train/p@1    the same for dictionary entries of an objective, and for `held-out` ones
    retrieval/en-de        % of English sentences whose nearest German one is their translation (XTREME's Tatoeba)
    gap/en-de              mean cosine of translations minus that of all other combinations
    cka/en-de/2            linear CKA of the two sides after layer 2; 0: the embeddings (Kornblith et al. 2019)
    accuracy/de            % of masked tokens predicted correctly, on the text of perplexity

and their means over corpora, `retrieval/mean`, `cka/mean/2` and so on.

Legend: N predictions, V vocabulary, H width, n translations; row i of one side translates row i of the other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from interlace.objectives.common.dictionaries import Dictionaries, dictionary_scores
from interlace.objectives.common.seq2seq import Seq2SeqObjective
from interlace.tasks.common.likelihood import HeldOutBatches, perplexity, summed_loss
from interlace.tasks.common.vectors import layer_vectors
from interlace.tasks.retrieval import Retrieval, both_ways

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.data import Pairs
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.training.steps import TrainingStep

KIND = "diagnosis"  # of a line in `metrics.jsonl`
PAIR_MEASURES = ("retrieval", "gap", "cka")
MEASURES = ("alignment", *PAIR_MEASURES, "accuracy")
BITS = "bits_per_character"

MAX_SCORES = 1 << 24  # logits in memory at once
_ZERO = 1e-12


def perplexities(backbone: Backbone, held_out: list[HeldOutBatches], device: torch.device) -> dict[str, float]:
    """Return `perplexity/XX` for each corpus, `perplexity/mean` (arithmetic, as in XLM) and `perplexity/geometric`.

    A causal model also has `perplexity_per_word/XX` and `bits_per_character/XX`, which compare vocabularies. If masks
    are measured too, its perplexity per token is called `causal_perplexity/XX`.
    """
    was_training = backbone.training
    backbone.eval()
    found: dict[str, dict[str, float]] = {}
    with torch.inference_mode():
        for corpus in held_out:
            total, count = summed_loss(backbone, corpus, device)
            measured = {corpus.name: perplexity(total, count)}
            if corpus.words:
                measured["perplexity_per_word"] = perplexity(total, corpus.words)
            if corpus.characters:
                measured[BITS] = total / corpus.characters / math.log(2)
            for name, value in measured.items():
                found.setdefault(name, {})[corpus.corpus] = value
    backbone.train(was_training)
    scores: dict[str, float] = {}
    for name, by_corpus in found.items():
        values = list(by_corpus.values())
        scores |= {f"{name}/{corpus}": value for corpus, value in by_corpus.items()}
        scores[f"{name}/mean"] = float(np.mean(values))
        if name != BITS:
            scores[f"{name}/geometric"] = float(np.exp(np.mean(np.log(values))))
    return {key: round(value, 5) for key, value in scores.items()}


def first_batches(held_out: HeldOutBatches, tokens: int) -> HeldOutBatches:
    """Return the first batches, up to `tokens` and at least one; the masks stay the same."""
    before = accumulate((batch.tokens for batch in held_out.batches), initial=0)
    batches = [batch for batch, seen in zip(held_out.batches, before, strict=False) if not seen or seen < tokens]
    return replace(held_out, batches=batches)


def accuracies(backbone: Backbone, held_out: Iterable[HeldOutBatches], device: torch.device) -> dict[str, float]:
    """Return `accuracy/XX` in percent for each corpus, or `causal_accuracy/XX`, as perplexity is called."""
    was_training = backbone.training
    backbone.eval()
    found = {}
    with torch.inference_mode():
        for corpus in held_out:
            objective, name = corpus.objective, corpus.name.replace("perplexity", "accuracy")
            causal = True if objective.architecture == "causal" else None
            correct, count = torch.zeros((), dtype=torch.int64, device=device), 0
            for batch in (batch.to(device) for batch in corpus.batches):
                if isinstance(objective, Seq2SeqObjective):
                    states = objective.decoder_states(backbone, batch)
                else:
                    states = backbone.encode(batch.inputs, causal=causal)[batch.at]
                # in parts: a causal model has too many predictions for one
                parts: Sequence[Tensor] = torch.split(states, max(1, MAX_SCORES // backbone.vocab_size))
                best = torch.cat([backbone.logits(part).argmax(dim=1) for part in parts])
                correct += (best == batch.labels).sum()
                count += len(states)
            found[f"{name}/{corpus.corpus}"] = 100 * int(correct) / max(count, 1)
    backbone.train(was_training)
    return found


@dataclass(frozen=True)
class ProbePairs:
    """Translations to measure on.

    origin: "dev" (held-out files of a corpus), "task" (dev split of a task), or "train": the last of the training text,
        which the model may have seen.
    """

    pairs: Pairs
    origin: str

    @property
    def name(self) -> str:
        """Both languages, such as `en-de`."""
        return f"{self.pairs.source.language}-{self.pairs.target.language}"


@dataclass(frozen=True)
class DiagnosticProbes:
    """What diagnostics measure, prepared once before training.

    retrieval: chooses the compared layer and how sentences are read.
    dictionaries: by language pair. learned: of objectives, with training and held-out entries.
    held_out: fixed batches of each language.
    measures: a subset of `MEASURES`.
    """

    vocab: Vocab
    retrieval: Retrieval
    measures: frozenset[str] = frozenset(MEASURES)
    pairs: tuple[ProbePairs, ...] = ()
    dictionaries: Mapping[str, Dictionaries] = field(default_factory=dict)
    learned: Mapping[str, Dictionaries | None] = field(default_factory=dict)
    held_out: Sequence[HeldOutBatches] = ()
    debiased: bool = True

    @property
    def origins(self) -> dict[str, dict[str, Any]]:
        """Number and origin of the sentence pairs of each language pair, for the record."""
        return {rows.name: {"pairs": len(rows.pairs), "from": rows.origin} for rows in self.pairs}


def diagnose(backbone: Backbone, probes: DiagnosticProbes, device: torch.device) -> dict[str, float]:
    """Return the diagnostics, rounded."""
    found: dict[str, float] = {}
    if "alignment" in probes.measures:
        scores = dictionary_scores(backbone, probes.dictionaries)
        found |= {f"alignment/{name}": scores[f"{name}/train/p@1"] for name in probes.dictionaries}
    for rows in probes.pairs:
        found |= _pair_scores(backbone, probes, rows)
    if "accuracy" in probes.measures:
        found |= accuracies(backbone, probes.held_out, device)
    by_measure: dict[str, list[float]] = {}  # over corpora
    for name, score in found.items():
        measure, _, *layer = name.split("/")
        by_measure.setdefault("/".join([measure, "mean", *layer]), []).append(score)
    found |= {name: float(np.mean(values)) for name, values in by_measure.items()}
    if "alignment" in probes.measures:
        found |= dictionary_scores(backbone, probes.learned)
    return {name: round(value, 5) for name, value in found.items()}


def _pair_scores(backbone: Backbone, probes: DiagnosticProbes, rows: ProbePairs) -> dict[str, float]:
    """Return the measures of one language pair, from one pass over each side."""
    settings, pairs, measures = probes.retrieval, rows.pairs, probes.measures
    layers = int(backbone.model.config.num_hidden_layers)
    compared = settings.layer_of(layers)
    taken = range(layers + 1) if "cka" in measures else (compared,)
    source, target = (
        layer_vectors(backbone, probes.vocab, side, taken, settings.limits) for side in (pairs.source, pairs.target)
    )
    found: dict[str, float] = {}
    one, other = (settings.normalized(side[taken.index(compared)]) for side in (source, target))
    if "retrieval" in measures:
        scores = both_ways(one, other, pairs)
        found[f"retrieval/{rows.name}"] = scores["p@1 into target"]
        found[f"retrieval/{pairs.target.language}-{pairs.source.language}"] = scores["p@1 into source"]
    if "gap" in measures:
        found[f"gap/{rows.name}"] = cosine_gap(one, other)
    if "cka" in measures:
        for layer in taken:
            found[f"cka/{rows.name}/{layer}"] = linear_cka(source[layer], target[layer], debiased=probes.debiased)
    return found


def cosine_gap(source: NDArray[np.float32], target: NDArray[np.float32]) -> float:
    """Return the mean cosine of n translations minus that of all other combinations, from normalized (n, H) rows.

    All n(n - 1) combinations count: their sum is a product of two sums. 0: a translation is no nearer than any other
    sentence, as in a model whose vectors all have one direction.
    """
    own = float((source * target).sum(dtype=np.float64))
    every = float(source.sum(axis=0, dtype=np.float64) @ target.sum(axis=0, dtype=np.float64))
    count = len(source)
    return own / count - (every - own) / (count * (count - 1))


def linear_cka(source: NDArray[np.float32], target: NDArray[np.float32], *, debiased: bool = True) -> float:
    """Return the linear centered kernel alignment of (n, H) rows, n at least 4 (Kornblith et al. 2019, section 3).

    1: the sides are the same up to rotation and scale; 0: unrelated, or a side's rows are equal. As published it nears
    1 for any two sides with fewer rows than components. Debiased, by the HSIC estimator of Song et al. (2012) as in
    Nguyen et al. (2021), unrelated sides have 0 on average for any n, and values may be slightly below 0.
    """
    grams = []  # (n, n) inner products of the centered rows, scaled so that small states do not underflow
    for side in (source, target):
        rows = side - side.mean(axis=0, dtype=np.float64)
        norm = float(np.linalg.norm(rows))
        rows = rows / norm if norm > _ZERO else np.zeros_like(rows)
        grams.append(rows @ rows.T)
    one, other = grams
    square = _hsic(one, one, debiased=debiased) * _hsic(other, other, debiased=debiased)
    return _hsic(one, other, debiased=debiased) / float(np.sqrt(square)) if square > 0 else 0.0


def _hsic(one: NDArray[np.float64], other: NDArray[np.float64], *, debiased: bool) -> float:
    """Return the sum of products of both matrices; debiased, without those of a row with itself (Song et al. 2012)."""
    if not debiased:
        return float((one * other).sum())
    n = len(one)
    one, other = (gram - np.diag(np.diag(gram)) for gram in (one, other))
    sums = one.sum(axis=0), other.sum(axis=0)
    alone = sums[0].sum() * sums[1].sum() / ((n - 1) * (n - 2))
    return float((float((one * other).sum()) + alone - 2 * (sums[0] @ sums[1]) / (n - 2)) / (n * (n - 3)))


@dataclass
class DiagnosticsCallback:
    """Records what `measure` returns before the first step, every `every` steps and after the last.

    origins: see `DiagnosticProbes.origins`; stored with every record.
    """

    measure: Callable[[], dict[str, float]]
    every: int
    last: int
    record: Callable[[dict[str, Any]], None]
    origins: Mapping[str, Any] = field(default_factory=dict)

    def due(self, step: int) -> bool:
        """Return whether the weights of a step are measured."""
        return step % self.every == 0 or step == self.last

    def __call__(self, step: TrainingStep) -> None:
        """Measure if it is due."""
        if self.due(step.index):
            self._measure(step.index)

    def begin(self) -> None:
        """Measure the initial model."""
        self._measure(0)

    def _measure(self, step: int) -> None:
        start = time.perf_counter()
        scores = self.measure()
        seconds = round(time.perf_counter() - start, 4)
        self.record({"kind": KIND, "step": step, "scores": scores, "on": dict(self.origins), "seconds": seconds})
