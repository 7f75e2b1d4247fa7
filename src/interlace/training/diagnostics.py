"""How the languages of a model come together while it trains: cheap probes on fixed rows, measured now and then.

Nothing is trained, nothing is drawn and dropout is off, so a run ends with the same weights with and without them.

    alignment/en-de        % of words whose nearest neighbour in the input table is a translation (ALIGN-MLM, 5)
    align_mlm/train/p@1    the same of the entries an objective learns from, and of `held-out` ones
    retrieval/en-de        % of English sentences whose nearest German one is their translation (XTREME's Tatoeba)
    gap/en-de              mean cosine of translations minus that of all other combinations
    cka/en-de/2            linear CKA of the two sides after layer 2; 0: the embeddings (Kornblith et al. 2019)
    accuracy/de            % of masked subwords guessed right, on the text that perplexity is measured on

Means over corpora are called `retrieval/mean`, `cka/mean/2` and so on.

How often a model's first guess is right, on the fixed batches that perplexity is measured on.

Legend: N predictions, V vocabulary, H width.

What the vectors of translations tell of a model: how alike the two sides are, by arithmetic alone.

Legend: n translations, H width; row i of one side translates row i of the other.

Held-out perplexity by language: fixed rows, fixed masks, every run and step alike.

The unit is said everywhere. Of a model that reads both ways it is per masked subword, under uniform 15 % masking that
always shows the mask (XLM's evaluation); it compares runs that share a vocabulary. Of a causal model it is per subword,
and per word and in bits a character besides: XLM's table 4 does not say which it shows (requirements X6). The end of a
sentence is predicted, so it counts as a word and as a character. Unknown subwords are neither predicted nor counted.
Of a translation model it is per subword of the right translation and its end, each after those before it, by direction.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from interlace.objectives.common.dictionaries import dictionary_scores
from interlace.objectives.common.seq2seq import Seq2SeqObjective
from interlace.tasks.common.likelihood import HeldOutBatches, hold_out, perplexity, summed_loss
from interlace.tasks.common.vectors import layer_vectors
from interlace.tasks.retrieval import both_ways

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from interlace.data import Pairs
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Objective
    from interlace.objectives.common.dictionaries import Dictionaries
    from interlace.tasks.retrieval import Retrieval
    from interlace.training.loop import TrainingStep


KIND = "diagnosis"  # of a line in `metrics.jsonl`


OF_PAIRS = ("retrieval", "gap", "cka")


MEASURES = ("alignment", *OF_PAIRS, "accuracy")


@dataclass(frozen=True)
class ProbePairs:
    """Translations that are measured on.

    origin: where they come from: "dev" (a corpus's held-out files), "task" (a task's dev split), or "train": the last
        of the training text, which the model may have seen.
    """

    pairs: Pairs
    origin: str

    @property
    def name(self) -> str:
        """Both languages, such as `en-de`."""
        return f"{self.pairs.source.language}-{self.pairs.target.language}"


@dataclass(frozen=True)
class DiagnosticProbes:
    """All that is looked at, made once before training.

    retrieval: says which layer's vectors are compared, and how sentences are read.
    dictionaries: of two languages, by their name. learnt: those of objectives, trained on and held out.
    held_out: the fixed batches of each language.
    wanted: names out of `MEASURES`.
    """

    vocab: Vocab
    retrieval: Retrieval
    wanted: frozenset[str] = frozenset(MEASURES)
    pairs: tuple[ProbePairs, ...] = ()
    dictionaries: Mapping[str, Dictionaries] = field(default_factory=dict)
    learnt: Mapping[str, Dictionaries | None] = field(default_factory=dict)
    held_out: Sequence[HeldOutBatches] = ()
    debiased: bool = True

    @property
    def on(self) -> dict[str, dict[str, Any]]:
        """What each two languages were measured on, for the record."""
        return {rows.name: {"pairs": len(rows.pairs), "from": rows.origin} for rows in self.pairs}


def diagnose(backbone: Backbone, probes: DiagnosticProbes, device: torch.device) -> dict[str, float]:
    """The scores, rounded, by the names above."""
    found: dict[str, float] = {}
    if "alignment" in probes.wanted:
        scores = dictionary_scores(backbone, probes.dictionaries)
        found |= {f"alignment/{name}": scores[f"{name}/train/p@1"] for name in probes.dictionaries}
    for rows in probes.pairs:
        found |= _pair_scores(backbone, probes, rows)
    if "accuracy" in probes.wanted:
        found |= accuracies(backbone, probes.held_out, device)
    found |= _means(found)
    if "alignment" in probes.wanted:
        found |= dictionary_scores(backbone, probes.learnt)
    return {name: round(value, 5) for name, value in found.items()}


def _pair_scores(backbone: Backbone, probes: DiagnosticProbes, rows: ProbePairs) -> dict[str, float]:
    """What is wanted of one pair of languages, from one pass over each side."""
    settings, pairs, wanted = probes.retrieval, rows.pairs, probes.wanted
    layers = int(backbone.model.config.num_hidden_layers)
    compared = settings.layer_of(layers)
    taken = range(layers + 1) if "cka" in wanted else (compared,)
    source, target = (
        layer_vectors(
            backbone,
            probes.vocab,
            side,
            layers=taken,
            max_length=settings.max_length,
            tokens_per_batch=settings.tokens_per_batch,
            language_ids=settings.language_ids,
        )
        for side in (pairs.source, pairs.target)
    )
    found: dict[str, float] = {}
    one, other = (settings.normalized(side[taken.index(compared)]) for side in (source, target))
    if "retrieval" in wanted:
        scores = both_ways(one, other, pairs)
        found[f"retrieval/{rows.name}"] = scores["p@1 into target"]
        found[f"retrieval/{pairs.target.language}-{pairs.source.language}"] = scores["p@1 into source"]
    if "gap" in wanted:
        found[f"gap/{rows.name}"] = cosine_gap(one, other)
    if "cka" in wanted:
        for layer in taken:
            cka = linear_cka(source[layer], target[layer], debiased=probes.debiased)
            found[f"cka/{rows.name}/{layer}"] = cka
    return found


def _means(scores: Mapping[str, float]) -> dict[str, float]:
    """The mean over corpora of each score."""
    values: dict[str, list[float]] = {}
    for name, score in scores.items():
        measure, _, *layer = name.split("/")
        values.setdefault("/".join([measure, "mean", *layer]), []).append(score)
    return {name: float(np.mean(found)) for name, found in values.items()}


@dataclass
class DiagnosticsCallback:
    """An observer that records what `measure` returns: before the first step, every so often and after the last.

    on: what pairs are measured on, stored with every line.
    """

    measure: Callable[[], dict[str, float]]
    every: int
    last: int
    record: Callable[[dict[str, Any]], None]
    on: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, step: TrainingStep) -> None:
        """Measure where it is time."""
        if step.index % self.every == 0 or step.index == self.last:
            self._measure(step.index)

    def begin(self) -> None:
        """Measure the model that training starts from: of a checkpoint it is what there is to gain on."""
        self._measure(0)

    def _measure(self, step: int) -> None:
        start = time.perf_counter()
        scores = self.measure()
        seconds = round(time.perf_counter() - start, 4)
        self.record({"kind": KIND, "step": step, "scores": scores, "on": dict(self.on), "seconds": seconds})


MOST_LOGITS = 1 << 24  # scores held at a time: 64 MiB


def first_batches(held_out: HeldOutBatches, tokens: int) -> HeldOutBatches:
    """The first batches, up to so many subwords and at least one batch; no mask changes."""
    before = accumulate((batch.tokens for batch in held_out.batches), initial=0)
    batches = [batch for batch, seen in zip(held_out.batches, before, strict=False) if not seen or seen < tokens]
    return replace(held_out, batches=batches)


def accuracies(backbone: Backbone, held_out: Iterable[HeldOutBatches], device: torch.device) -> dict[str, float]:
    """`accuracy/XX` in percent for each corpus; named as its perplexity is, so `causal_accuracy/XX` beside masks."""
    was_training = backbone.training
    backbone.eval()
    with torch.inference_mode():
        found = {
            f"{corpus.name.replace('perplexity', 'accuracy')}/{corpus.corpus}": _accuracy(backbone, corpus, device)
            for corpus in held_out
        }
    backbone.train(was_training)
    return found


def _accuracy(backbone: Backbone, corpus: HeldOutBatches, device: torch.device) -> float:
    right, count = torch.zeros((), dtype=torch.int64, device=device), 0
    for batch in (batch.to(device) for batch in corpus.batches):
        states = _states(backbone, corpus.objective, batch)
        right += (_guesses(backbone, states) == batch.labels).sum()
        count += len(states)
    return 100 * int(right) / max(count, 1)


def _states(backbone: Backbone, objective: Objective, batch: Batch) -> Tensor:
    """(N, H) what the labels are predicted from."""
    if isinstance(objective, Seq2SeqObjective):
        return objective.decoder_states(backbone, batch.inputs, batch)
    causal = True if objective.architecture == "causal" else None
    return backbone.encode(batch.inputs, causal=causal)[batch.at]


def _guesses(backbone: Backbone, states: Tensor) -> Tensor:
    """(N,) the likeliest subword of each, in parts: a causal model predicts too much for one table of scores."""
    parts: Sequence[Tensor] = torch.split(states, max(1, MOST_LOGITS // backbone.vocab_size))
    return torch.cat([backbone.logits(part).argmax(dim=1) for part in parts])


def cosine_gap(source: NDArray[np.float32], target: NDArray[np.float32]) -> float:
    """Mean cosine of translations minus that of all other combinations, from n rows of length 1 a side.

    All n(n - 1) combinations count, not a sample: the sum over them is a product of two sums. 0: a translation is no
    nearer than any other sentence; a model whose vectors all point one way has 0 too, whatever its cosines.
    """
    own = float((source * target).sum(dtype=np.float64))
    every = float(source.sum(axis=0, dtype=np.float64) @ target.sum(axis=0, dtype=np.float64))
    count = len(source)
    return own / count - (every - own) / (count * (count - 1))


def linear_cka(source: NDArray[np.float32], target: NDArray[np.float32], *, debiased: bool = True) -> float:
    """Linear centred kernel alignment of (n, H) rows, n at least 4 (Kornblith et al. 2019, section 3).

    1: the two sides are the same up to a rotation and one scale; 0: unrelated. As published it nears 1 for any two
    sides with fewer rows than components. Debiased, by the estimator of HSIC of Song et al. (2012) as Nguyen et al.
    (2021) put it in its place, unrelated sides have 0 on the average, whatever n.

    Returns:
        At most 1; debiased it may be a little below 0. 0 where all rows of a side are equal.
    """
    inner = _debiased if debiased else _plain
    one, other = (_gram(side) for side in (source, target))
    square = inner(one, one) * inner(other, other)
    return inner(one, other) / float(np.sqrt(square)) if square > 0 else 0.0


def _gram(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """(n, n) inner products of the rows about their mean; scaled, so that small states do not underflow."""
    rows = rows - rows.mean(axis=0, dtype=np.float64)
    norm = float(np.linalg.norm(rows))
    rows = rows / norm if norm > _NOTHING else np.zeros_like(rows)
    return np.asarray(rows @ rows.T)


_NOTHING = 1e-12


def _plain(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float((one * other).sum())


def _debiased(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Song et al. (2012): what a row has in common with itself is left out."""
    n = len(one)
    one, other = (gram - np.diag(np.diag(gram)) for gram in (one, other))
    sums = one.sum(axis=0), other.sum(axis=0)
    alone = sums[0].sum() * sums[1].sum() / ((n - 1) * (n - 2))
    return float((_plain(one, other) + alone - 2 * (sums[0] @ sums[1]) / (n - 2)) / (n * (n - 3)))


__all__ = ["BITS", "UNIT", "HeldOutBatches", "hold_out", "perplexities"]


# of `perplexity`, by how the model reads
UNIT = {"masked": "per masked subword", "causal": "per subword", "seq2seq": "per subword written"}


BITS = "bits_per_character"


def perplexities(backbone: Backbone, held_out: list[HeldOutBatches], device: torch.device) -> dict[str, float]:
    """`perplexity/XX` for each corpus, `perplexity/mean` (arithmetic, XLM's) and `perplexity/geometric`.

    A causal model is also measured as `perplexity_per_word/XX` and `bits_per_character/XX`, which compare vocabularies.
    Where masks are measured too, its perplexity per subword is called `causal_perplexity/XX`.
    """
    was_training = backbone.training
    backbone.eval()
    found: dict[str, dict[str, float]] = {}
    with torch.inference_mode():
        for corpus in held_out:
            for name, value in _measures(backbone, corpus, device).items():
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


def _measures(backbone: Backbone, corpus: HeldOutBatches, device: torch.device) -> dict[str, float]:
    total, count = summed_loss(backbone, corpus, device)
    found = {corpus.name: perplexity(total, count)}
    if corpus.words:
        found["perplexity_per_word"] = perplexity(total, corpus.words)
    if corpus.characters:
        found[BITS] = total / corpus.characters / math.log(2)
    return found
