"""Evaluation during training: held-out perplexity, translation scores for early stopping, cross-lingual diagnostics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list

from interlace.core.errors import SettingsError
from interlace.core.ragged import Int32Array, IntArray
from interlace.data import Pairs, Sentences
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.packing import Streams
from interlace.experiments.recipe import max_source_lengths, resolve_task
from interlace.experiments.workspace import Workspace, sides_of
from interlace.objectives import Objective, Resources
from interlace.objectives.clm import Clm
from interlace.objectives.denoise import Denoise
from interlace.objectives.mlm import Mlm
from interlace.objectives.translation import Translation
from interlace.tasks.common.likelihood import HeldOutBatches, hold_out
from interlace.tasks.common.translation import SourceLines, TranslationTask
from interlace.training.diagnostics import DiagnosticProbes, perplexities

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.models.families import Traits

MAIN = "perplexity"  # the score of early stopping


class HeldOutRows(NamedTuple):
    """Rows to evaluate, what evaluates them, and what their perplexity is called."""

    corpus: str
    rows: Sentences | Pairs
    objective: Objective
    score: str = MAIN


def held_out(workspace: Workspace, traits: Traits) -> list[HeldOutBatches]:
    """Return the evaluation batches of every language with held-out text, in the form of the run's objectives.

    They depend on the objectives only by their kind and maximum length. If all held-out text is parallel, each side is
    evaluated. A translation model is evaluated on held-out pairs in its learned directions; without any, on its other
    sequence-to-sequence objective: denoising or MASS.
    """
    recipe = workspace.recipe
    objectives = [recipe.objective(name) for name in recipe.objectives]
    max_length = max(objective.max_length for objective in objectives)
    architectures = {objective.architecture for objective in objectives}
    held_out_rows = list(_pairs(workspace, max_length))
    if not held_out_rows:
        held_out_rows += _sentences(workspace, max_length)
    # Running text: masked, causal, or both. The first of translation, masked and causal perplexity is `perplexity`.
    if "masked" in architectures:
        score = MAIN
        if "seq2seq" in architectures:
            score = f"masked_{MAIN}"
        masked = Mlm(max_length=max_length)
        held_out_rows += _sequences(workspace, masked, score)
    if "causal" in architectures:
        score = MAIN
        if architectures != {"causal"}:
            score = f"causal_{MAIN}"
        causal = Clm(max_length=max_length)
        held_out_rows += _sequences(workspace, causal, score)
    batches = []
    resources = Resources(workspace.vocab, traits)
    for corpus, rows, objective, score in held_out_rows:
        prepared = objective.prepare(resources)
        batches.append(hold_out(corpus, rows, objective, prepared, score))
    return batches


def _sequences(workspace: Workspace, objective: Objective, score: str) -> Iterator[HeldOutRows]:
    """Yield full sequences of each language's text; parallel text may be too short for one."""
    tokens = workspace.recipe.train.evaluate_tokens
    length = objective.max_length
    limit = max(1, tokens // length)
    for name, corpus in _monolingual(workspace).items():
        streams = Streams(corpus, length - 2, workspace.vocab.end)
        if len(streams) or name in workspace.dev:
            count = min(len(streams), limit)
            rows = streams.take(np.arange(count))
            yield HeldOutRows(name, rows, objective, score)


def _sentences(workspace: Workspace, max_length: int) -> Iterator[HeldOutRows]:
    """Yield sentences of each language's text for a translation model that has an objective of sentences.

    Back-translation is evaluated by denoising, because its own input depends on the model.
    """
    recipe = workspace.recipe
    objective: Objective
    if recipe.objectives.keys() & {"denoise", "back_translation"}:
        objective = Denoise(max_length=max_length)
    elif "mass" in recipe.objectives:
        objective = recipe.objective("mass")
    else:
        return
    limit = recipe.train.evaluate_tokens
    for name, corpus in _monolingual(workspace).items():
        rows = _short_rows([corpus.lengths, corpus.lengths], objective.max_length, limit)
        yield HeldOutRows(name, corpus.take(rows), objective)


def _pairs(workspace: Workspace, max_length: int) -> Iterator[HeldOutRows]:
    """Yield the held-out pairs of each learned direction, named `en-de`, `de-en`."""
    recipe = workspace.recipe
    learned = max_source_lengths(recipe)
    for name, corpus in workspace.dev.items():
        if not isinstance(corpus, ParallelCorpus):
            continue
        group, colon, _ = name.rpartition(":")
        source, target = corpus.languages
        rows = _short_rows(corpus.side_lengths, max_length, recipe.train.evaluate_tokens)
        for which, direction in (
            ("forward", f"{source}-{target}"),
            ("backward", f"{target}-{source}"),
        ):
            if direction in learned:
                objective = Translation(directions=which, max_length=max_length)
                label = f"{group}{colon}{direction}"
                yield HeldOutRows(label, corpus.take(rows), objective)


def _monolingual(workspace: Workspace) -> dict[str, Corpus]:
    """Return monolingual held-out text, or the sides of parallel text if there is none."""
    monolingual = {}
    for name, corpus in workspace.dev.items():
        if not isinstance(corpus, ParallelCorpus):
            monolingual[name] = corpus
    return monolingual or sides_of(workspace.dev)


def _short_rows(side_lengths: Sequence[Int32Array], max_length: int, tokens: int) -> IntArray:
    """Return the first rows within `max_length`, up to `tokens` tokens and at least one row, sorted by length."""
    lengths = np.stack(side_lengths)  # (sides, rows)
    totals: IntArray = lengths.sum(axis=0, dtype=np.int64)
    fits = np.flatnonzero(lengths.max(axis=0) <= max_length - 2)
    costs = totals[fits] + 4
    costs_before = np.cumsum(costs) - costs
    rows = fits[costs_before < tokens]
    order = np.argsort(totals[rows], kind="stable")
    return rows[order]


@dataclass(frozen=True)
class DevTranslations:
    """Scores greedy translations of dev text by BLEU (as XLM's code), for early stopping.

    For each learned direction on lines of up to `evaluate_tokens` source tokens. Beam search, tokenized BLEU and round
    trips are left to `interlace evaluate`.
    """

    task: TranslationTask
    vocab: Vocab
    lines: Mapping[str, SourceLines]

    @classmethod
    def of(cls, workspace: Workspace) -> DevTranslations:
        """Read the dev text of the task `mt`."""
        recipe = workspace.recipe
        task: Any = resolve_task(recipe, "mt")
        changes = {
            "search": task.search.model_copy(update={"beam": 1}),
            "round_trip": False,
            "word_tokenizer": "whitespace",
        }
        task = task.model_copy(update=changes)
        dev_sets: dict[str, SourceLines] = {}
        for name in max_source_lengths(recipe):
            lines = task.examples("dev", name, workspace.vocab, workspace.root)
            tokens_before = np.cumsum(lines.lengths) - lines.lengths
            count = int((tokens_before < recipe.train.evaluate_tokens).sum())  # at least one
            dev_sets[name] = lines.part(slice(count))
        return cls(task, workspace.vocab, dev_sets)

    def scores(self, backbone: Backbone) -> dict[str, float]:
        """Return `bleu/XX-YY` of each direction, and their mean."""
        scores = {}
        for name, lines in self.lines.items():
            outcomes: Any = self.task.measure(backbone, self.vocab, lines).outcomes
            scores[f"bleu/{name}"] = outcomes.total
        scores["bleu/mean"] = fmean(scores.values())
        return {name: round(score, 3) for name, score in scores.items()}


@dataclass(frozen=True)
class HeldOutScores:
    """Measures the perplexity of held-out text and, for early stopping by it, the BLEU of translations.

    Each process measures everything; all take the scores of the first one, to stop at the same step.
    """

    backbone: Backbone
    batches: list[HeldOutBatches]
    translations: DevTranslations | None
    accelerator: Accelerator

    def __call__(self) -> dict[str, float]:
        """Return the scores by name."""
        scores = perplexities(self.backbone, self.batches, self.accelerator.device)
        if self.translations is not None:
            with self.accelerator.autocast():
                scores |= self.translations.scores(self.backbone)
        of_all_processes = broadcast_object_list([scores])
        return dict(of_all_processes[0])


def diagnostic_probes(workspace: Workspace) -> DiagnosticProbes:
    """Return the data of the recipe's diagnostics; raise a SettingsError if it has none."""
    recipe = workspace.recipe
    task: Any = resolve_task(recipe, "retrieval")
    # no larger batches than in training
    limit = min(task.tokens_per_batch, recipe.train.micro_batch_tokens)
    retrieval = task.model_copy(update={"tokens_per_batch": limit})
    if "retrieval" not in recipe.evaluate.tasks:
        raise SettingsError(
            "train.diagnostics: nothing to measure; set [evaluate.tasks.retrieval] with files of a dev split"
        )
    probes = []
    for language in recipe.languages:
        if language != recipe.evaluate.source:
            pairs = task.examples("dev", language, workspace.vocab, workspace.root)
            probes.append(_probe_rows(pairs, recipe.train.diagnostics.pairs))
    return DiagnosticProbes(workspace.vocab, retrieval, tuple(probes))


def _probe_rows(pairs: Pairs, limit: int) -> Pairs:
    """Return up to `limit` pairs, evenly spaced, without those that have an empty side."""
    count = min(len(pairs), limit)
    numbers = np.arange(count) * len(pairs) // max(count, 1)
    rows = pairs.take(numbers)
    has_text = (rows.source.lengths > 0) & (rows.target.lengths > 0)
    return rows.take(np.flatnonzero(has_text))
