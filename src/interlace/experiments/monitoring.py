"""Evaluation during training: held-out perplexity, translation scores for early stopping, cross-lingual diagnostics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from accelerate.utils import gather_object
from numpy.typing import NDArray

from interlace.core.errors import SettingsError
from interlace.data import Pairs
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.packing import Streams
from interlace.experiments.recipe import (
    Recipe,
    directions,
    max_source_lengths,
    resolve_task,
)
from interlace.experiments.workspace import Workspace, sides_of
from interlace.objectives import Objective, Resources
from interlace.objectives.clm import Clm
from interlace.objectives.denoise import Denoise
from interlace.objectives.mlm import Mlm
from interlace.objectives.translation import Translation
from interlace.tasks.common.likelihood import HeldOutBatches, hold_out
from interlace.training.diagnostics import DiagnosticProbes, DiagnosticsCallback, diagnose

if TYPE_CHECKING:
    from accelerate import Accelerator

    from interlace.models.backbone import Backbone
    from interlace.models.families import Traits
    from interlace.training.loop import Training

log = logging.getLogger(__name__)
MAIN = "perplexity"  # the score of early stopping


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
    batches = list(_on_pairs(workspace, traits, max_length))
    sentence_objective = _sentence_objective(recipe, max_length)
    if not batches and sentence_objective is not None:
        batches += _on_sentences(workspace, traits, sentence_objective)
    # Running text: masked, causal, or both. The first of translation, masked and causal perplexity is `perplexity`.
    if "masked" in architectures:
        score = MAIN
        if "seq2seq" in architectures:
            score = f"masked_{MAIN}"
        batches += _on_text(workspace, traits, Mlm(max_length=max_length), score)
    if "causal" in architectures:
        score = MAIN
        if architectures & {"seq2seq", "masked"}:
            score = f"causal_{MAIN}"
        batches += _on_text(workspace, traits, Clm(max_length=max_length), score)
    return batches


def _on_text(
    workspace: Workspace, traits: Traits, measured: Objective, score: str
) -> Iterator[HeldOutBatches]:
    """Yield full sequences of each language's text; parallel text may be too short for one."""
    max_length = measured.max_length
    prepared = measured.prepare(Resources(workspace.vocab, traits))
    limit = max(1, workspace.recipe.train.evaluate_tokens // max_length)
    for name, corpus in _monolingual(workspace).items():
        streams = Streams(corpus, max_length - 2, workspace.vocab.end)
        if len(streams) or name in workspace.dev:
            rows = streams.take(np.arange(min(len(streams), limit)))
            yield hold_out(name, rows, measured, prepared, score)


def _on_sentences(
    workspace: Workspace, traits: Traits, measured: Objective
) -> Iterator[HeldOutBatches]:
    """Yield sentences of each language's text."""
    limit = workspace.recipe.train.evaluate_tokens
    prepared = measured.prepare(Resources(workspace.vocab, traits))
    for name, corpus in _monolingual(workspace).items():
        rows = _short_rows([corpus.lengths, corpus.lengths], measured.max_length, limit)
        yield hold_out(name, corpus.take(rows), measured, prepared, MAIN)


def _on_pairs(workspace: Workspace, traits: Traits, max_length: int) -> Iterator[HeldOutBatches]:
    """Yield the held-out pairs of each learned direction, named `en-de`, `de-en`."""
    recipe = workspace.recipe
    learned = directions(recipe)
    for name, corpus in workspace.dev.items():
        if not isinstance(corpus, ParallelCorpus):
            continue
        group, colon, _ = name.rpartition(":")
        rows = _short_rows(corpus.side_lengths, max_length, recipe.train.evaluate_tokens)
        for which in ("forward", "backward"):
            source, target = corpus.languages if which == "forward" else corpus.languages[::-1]
            if (source, target) in learned:
                measured = Translation(directions=which, max_length=max_length)
                prepared = measured.prepare(Resources(workspace.vocab, traits))
                label = f"{group}{colon}{source}-{target}"
                yield hold_out(label, corpus.take(rows), measured, prepared, MAIN)


def _sentence_objective(recipe: Recipe, max_length: int) -> Objective | None:
    """Return the objective that evaluates a translation model on monolingual sentences, if it has one.

    Back-translation is evaluated by denoising, because its own input depends on the model.
    """
    if recipe.objectives.keys() & {"denoise", "back_translation"}:
        return Denoise(max_length=max_length)
    if "mass" in recipe.objectives:
        return recipe.objective("mass")
    return None


def _monolingual(workspace: Workspace) -> dict[str, Corpus]:
    """Return monolingual held-out text, or the sides of parallel text if there is none."""
    monolingual: dict[str, Corpus] = {}
    for name, corpus in workspace.dev.items():
        if not isinstance(corpus, ParallelCorpus):
            monolingual[name] = corpus
    return monolingual or sides_of(workspace.dev)


def _short_rows(
    side_lengths: Sequence[NDArray[np.int32]], max_length: int, tokens: int
) -> NDArray[np.int64]:
    """Return the first rows within `max_length`, up to `tokens` tokens and at least one row, sorted by length."""
    lengths: NDArray[np.int64] = np.stack(side_lengths).sum(axis=0, dtype=np.int64)  # (rows,)
    fits = np.flatnonzero(np.stack(side_lengths).max(axis=0) <= max_length - 2)
    costs = lengths[fits] + 4
    rows = fits[np.cumsum(costs) - costs < tokens]
    return rows[np.argsort(lengths[rows], kind="stable")]


def dev_scores(
    workspace: Workspace, accelerator: Accelerator
) -> Callable[[Backbone], dict[str, float]]:
    """Return a function that scores greedy translations of dev text by BLEU (as XLM's code), for early stopping.

    For each learned direction on lines of up to `evaluate_tokens` source tokens, and their mean: `bleu/XX-YY`. All
    processes translate their own lines and return the same scores. Beam search, tokenized BLEU and round trips are left
    to `interlace evaluate`.
    """
    recipe = workspace.recipe
    task: Any = resolve_task(recipe, "mt")
    search = task.search.model_copy(update={"beam": 1})
    task = task.model_copy(
        update={"search": search, "round_trip": False, "word_tokenizer": "whitespace"}
    )
    dev_sets = {}
    for name in max_source_lengths(recipe):
        lines = task.examples("dev", name, workspace.vocab, workspace.root)
        is_read = np.cumsum(lines.lengths) - lines.lengths < recipe.train.evaluate_tokens
        dev_sets[name] = lines.part(slice(int(is_read.sum())))  # at least one

    def score(backbone: Backbone) -> dict[str, float]:
        scores: dict[str, float] = {}
        for name, lines in dev_sets.items():
            part = lines.part(slice(accelerator.process_index, None, accelerator.num_processes))
            outcomes = None
            if len(part):
                outcomes = task.measure(backbone, workspace.vocab, part).outcomes
            gathered = [part for part in gather_object([outcomes]) if part is not None]
            sums = np.sum([outcomes.columns.sum(axis=1) for outcomes in gathered], axis=0)
            scores[name] = float(gathered[0].value(sums))
        scores["mean"] = fmean(scores.values())
        return {f"bleu/{name}": round(value, 3) for name, value in scores.items()}

    return score


def diagnostics_callback(
    workspace: Workspace, training: Training, record: Callable[[dict[str, Any]], None]
) -> DiagnosticsCallback:
    """Return the callback of `train.diagnostics`; the main process measures."""
    recipe = workspace.recipe
    accelerator = training.accelerator
    backbone = accelerator.unwrap_model(training.model).backbone
    probes = _probes(workspace)

    def measure() -> dict[str, float]:
        return diagnose(backbone, probes) if accelerator.is_main_process else {}

    return DiagnosticsCallback(
        measure=measure,
        every=recipe.train.diagnostics.every,
        last=recipe.train.steps,
        record=record,
    )


def _probes(workspace: Workspace) -> DiagnosticProbes:
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
    pairs: list[Pairs] = []
    for language in recipe.languages:
        if language != recipe.evaluate.source:
            examples = task.examples("dev", language, workspace.vocab, workspace.root)
            pairs.append(_probe_rows(examples, recipe.train.diagnostics.pairs))
    return DiagnosticProbes(workspace.vocab, retrieval, tuple(pairs))


def _probe_rows(pairs: Pairs, limit: int) -> Pairs:
    """Return up to `limit` pairs, evenly spaced, without those that have an empty side."""
    count = min(len(pairs), limit)
    rows = pairs.take(np.arange(count) * len(pairs) // max(count, 1))
    return rows.take(np.flatnonzero((rows.source.lengths > 0) & (rows.target.lengths > 0)))
