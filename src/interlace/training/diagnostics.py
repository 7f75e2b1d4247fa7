"""How the languages of a model come together while it trains: cheap probes on fixed rows, measured now and then.

Nothing is trained, nothing is drawn and dropout is off, so a run ends with the same weights with and without them.

    alignment/en-de        % of words whose nearest neighbour in the input table is a translation (ALIGN-MLM, 5)
    align_mlm/drawn/p@1    the same of the entries an objective learns from, and of `held-out` ones
    retrieval/en-de        % of English sentences whose nearest German one is their translation (XTREME's Tatoeba)
    gap/en-de              mean cosine of translations minus that of all other combinations
    cka/en-de/2            linear CKA of the two sides after layer 2; 0: the embeddings (Kornblith et al. 2019)
    accuracy/de            % of masked subwords guessed right, on the text that perplexity is measured on

Means over corpora are called `retrieval/mean`, `cka/mean/2` and so on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.objectives._lexicon_scores import dictionary_scores
from interlace.tasks._vectors import layer_vectors
from interlace.tasks.retrieval import both_ways
from interlace.training._diagnostics_accuracy import accuracies
from interlace.training._diagnostics_vectors import cosine_gap, linear_cka

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import torch

    from interlace.data import Pairs
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.objectives._lexicons import Dictionaries
    from interlace.tasks.retrieval import Retrieval
    from interlace.training.loop import Step
    from interlace.training.perplexity import HeldOut

KIND = "diagnosis"  # of a line in `metrics.jsonl`
OF_PAIRS = ("retrieval", "gap", "cka")
MEASURES = ("alignment", *OF_PAIRS, "accuracy")


@dataclass(frozen=True)
class PairRows:
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
class Probes:
    """All that is looked at, made once before training.

    retrieval: says which layer's vectors are compared, and how sentences are read.
    dictionaries: of two languages, by their name. learnt: those of objectives, drawn and held out.
    held_out: the fixed batches of each language.
    wanted: names out of `MEASURES`.
    """

    vocab: Vocab
    retrieval: Retrieval
    wanted: frozenset[str] = frozenset(MEASURES)
    pairs: tuple[PairRows, ...] = ()
    dictionaries: Mapping[str, Dictionaries] = field(default_factory=dict)
    learnt: Mapping[str, Dictionaries | None] = field(default_factory=dict)
    held_out: Sequence[HeldOut] = ()
    debiased: bool = True

    @property
    def on(self) -> dict[str, dict[str, Any]]:
        """What each two languages were measured on, for the record."""
        return {rows.name: {"pairs": len(rows.pairs), "from": rows.origin} for rows in self.pairs}


def diagnose(backbone: Backbone, probes: Probes, device: torch.device) -> dict[str, float]:
    """The scores, rounded, by the names above."""
    found: dict[str, float] = {}
    if "alignment" in probes.wanted:
        scores = dictionary_scores(backbone, probes.dictionaries)
        found |= {f"alignment/{name}": scores[f"{name}/drawn/p@1"] for name in probes.dictionaries}
    for rows in probes.pairs:
        found |= _pair_scores(backbone, probes, rows)
    if "accuracy" in probes.wanted:
        found |= accuracies(backbone, probes.held_out, device)
    found |= _means(found)
    if "alignment" in probes.wanted:
        found |= dictionary_scores(backbone, probes.learnt)
    return {name: round(value, 5) for name, value in found.items()}


def _pair_scores(backbone: Backbone, probes: Probes, rows: PairRows) -> dict[str, float]:
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
    one, other = (settings.compared(side[taken.index(compared)]) for side in (source, target))
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
class Diagnostics:
    """An observer that records what `measure` returns: before the first step, every so often and after the last.

    on: what pairs are measured on, stored with every line.
    """

    measure: Callable[[], dict[str, float]]
    every: int
    last: int
    record: Callable[[dict[str, Any]], None]
    on: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, step: Step) -> None:
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
