"""Held-out evaluation during training: perplexity on fixed rows, and translation scores for early stopping."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from accelerate.utils import gather_object

from interlace.data.corpus import ParallelCorpus
from interlace.data.packing import Streams
from interlace.experiments.prepare import sides_of
from interlace.experiments.recipe import STOPPING_TASKS, directions, max_source_lengths
from interlace.objectives import Resources
from interlace.objectives.clm import Clm
from interlace.objectives.denoise import Denoise
from interlace.objectives.mlm import Mlm
from interlace.objectives.translation import Translation
from interlace.tasks.common.likelihood import HeldOutBatches, hold_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accelerate import Accelerator

    from interlace.data.corpus import Corpus
    from interlace.data.vocab import Vocab
    from interlace.experiments.prepare import Materials
    from interlace.experiments.recipe import Recipe
    from interlace.models.backbone import Backbone
    from interlace.models.families import Traits
    from interlace.objectives import Objective
    from interlace.tasks.common.translation import SourceLines, TranslationTask

log = logging.getLogger(__name__)
MAIN = "perplexity"  # the score of early stopping


def held_out(recipe: Recipe, materials: Materials, traits: Traits) -> list[HeldOutBatches]:
    """Return the evaluation batches of every language with held-out text, in the form of the run's objectives.

    They depend on the objectives only by their kind and maximum length. If all held-out text is parallel, each side is
    evaluated. A translation model is evaluated on held-out pairs in its learned directions; without any, on its other
    sequence-to-sequence objective: denoising or MASS.
    """
    max_length = max((recipe.objective(name).max_length for name in recipe.objectives), default=256)
    architectures = {recipe.objective(name).architecture for name in recipe.objectives}
    found = list(_on_pairs(recipe, materials, traits, max_length))
    if not found and (measured := _sentence_objective(recipe, max_length)) is not None:
        found = list(_on_sentences(recipe, materials, traits, measured))
    for score, measured in _text_objectives(architectures, max_length).items():
        found += _on_text(recipe, materials, traits, measured, score)
    return found


def _text_objectives(architectures: set[str], max_length: int) -> dict[str, Objective]:
    """Return the objectives of perplexity on running text by score name: masked, causal, or both.

    The first of translation, masked and causal perplexity that a run has is called `perplexity`.
    """
    measured: dict[str, Objective] = {}
    if not architectures or "masked" in architectures:
        measured[f"masked_{MAIN}" if "seq2seq" in architectures else MAIN] = Mlm(max_length=max_length)
    if "causal" in architectures:
        measured[MAIN if architectures == {"causal"} else f"causal_{MAIN}"] = Clm(max_length=max_length)
    return measured


def _on_text(
    recipe: Recipe, materials: Materials, traits: Traits, measured: Objective, score: str
) -> Iterator[HeldOutBatches]:
    """Yield full sequences of each language's text."""
    max_length, prepared = measured.max_length, measured.prepare(Resources(materials.vocab, traits))
    for name, corpus in _monolingual(materials).items():
        streams = Streams(corpus, max_length - 2, materials.vocab.end)
        if not len(streams) and name not in materials.dev:
            log.info("perplexity: the held-out text of %r is shorter than one sequence of %d tokens", name, max_length)
            continue
        limit = max(1, recipe.train.evaluate_tokens // max_length)
        rows = streams.take(np.arange(min(len(streams), limit)))
        yield hold_out(name, rows, measured, prepared, score)


def _on_pairs(recipe: Recipe, materials: Materials, traits: Traits, max_length: int) -> Iterator[HeldOutBatches]:
    """Yield the held-out pairs of each learned direction, named `en-de`, `de-en`."""
    learned = directions(recipe)
    for name, corpus in materials.dev.items():
        if not isinstance(corpus, ParallelCorpus):
            continue
        group, _, _ = name.rpartition(":")
        for backward in (False, True):
            source, target = corpus.languages[::-1] if backward else corpus.languages
            if (source, target) not in learned:
                continue
            first, second = corpus.side_lengths
            rows = _short_rows(first, second, max_length, recipe.train.evaluate_tokens)
            if not len(rows):
                log.info("perplexity: all held-out rows of %r are longer than %d tokens", name, max_length - 2)
                continue
            measured = Translation(directions="backward" if backward else "forward", max_length=max_length)
            prepared = measured.prepare(Resources(materials.vocab, traits))
            label = f"{group}:{source}-{target}" if group else f"{source}-{target}"
            yield hold_out(label, corpus.take(rows), measured, prepared, MAIN)


def _sentence_objective(recipe: Recipe, max_length: int) -> Objective | None:
    """Return the objective that evaluates a translation model on monolingual sentences, if it has one.

    MASS alone is evaluated on fragments of sentences without code-switching. Back-translation is evaluated by
    denoising, because its own input depends on the model.
    """
    if recipe.objectives.keys() & {"denoise", "back_translation"}:
        return Denoise(max_length=max_length)
    if "mass" in recipe.objectives:
        return recipe.objective("mass").model_copy(update={"code_switched": False})
    return None


def _on_sentences(
    recipe: Recipe, materials: Materials, traits: Traits, measured: Objective
) -> Iterator[HeldOutBatches]:
    """Yield each language's sentences."""
    prepared = measured.prepare(Resources(materials.vocab, traits))
    for name, corpus in _monolingual(materials).items():
        rows = _short_rows(corpus.lengths, corpus.lengths, measured.max_length, recipe.train.evaluate_tokens)
        if len(rows):
            yield hold_out(name, corpus.take(rows), measured, prepared, MAIN)


def _monolingual(materials: Materials) -> dict[str, Corpus]:
    """Return monolingual held-out text, or the sides of parallel text if there is none."""
    alone = {name: corpus for name, corpus in materials.dev.items() if not isinstance(corpus, ParallelCorpus)}
    return alone or sides_of(materials.dev)


def _short_rows(
    source: np.ndarray[tuple[int], np.dtype[np.int32]],
    target: np.ndarray[tuple[int], np.dtype[np.int32]],
    max_length: int,
    tokens: int,
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the first rows within `max_length`, up to `tokens` tokens and at least one row, sorted by length."""
    fits = np.flatnonzero((source <= max_length - 2) & (target <= max_length - 2))
    lengths = (source + target)[fits].astype(np.int64) + 4
    rows = fits[np.cumsum(lengths) - lengths < tokens]
    return rows[np.argsort((source + target)[rows], kind="stable")]


@dataclass(frozen=True)
class DevScores:
    """Scores greedy translations of dev text, by BLEU (as XLM's code) or BLEU of round trips (Lample et al. 2018a).

    All processes translate their own lines and return the same score.

    by: a key of `STOPPING_TASKS`. sets: lines by direction, such as `en-de`.
    """

    by: str
    task: TranslationTask
    vocab: Vocab
    sets: Mapping[str, SourceLines]
    accelerator: Accelerator

    def __call__(self, backbone: Backbone) -> dict[str, float]:
        """`bleu/XX-YY`, or `round-trip/XX-YY`, for each direction, and the mean."""
        found = {name: self._score(backbone, lines) for name, lines in self.sets.items()}
        return {
            f"{self.by}/{name}": round(value, 3) for name, value in {**found, "mean": fmean(found.values())}.items()
        }

    def _score(self, backbone: Backbone, lines: SourceLines) -> float:
        """Return the score of all lines from the counts of all processes."""
        mine = lines.part(slice(self.accelerator.process_index, None, self.accelerator.num_processes))
        measured: Any = self.task.measure(backbone, self.vocab, mine) if len(mine) else None
        made = gather_object([None if measured is None else measured.outcomes])
        known = [examples for examples in made if examples is not None]
        return float(known[0].value(np.sum([examples.columns.sum(axis=1) for examples in known], axis=0)))


def dev_scores(recipe: Recipe, materials: Materials, accelerator: Accelerator) -> DevScores:
    """Return the scorer of a recipe: all learned directions, with lines of up to `evaluate_tokens` source tokens.

    Beam search, tokenized BLEU and round trips besides BLEU are left to `interlace evaluate`.

    Raises:
        DataError: the dev text of a direction is missing.
    """
    by, learned = recipe.train.stop_by, max_source_lengths(recipe)
    task: Any = recipe.evaluate.task(STOPPING_TASKS[by])
    search = task.search.model_copy(update={"beam": 1, "n_best": 1, "sample": False})
    quick = {"round_trip": False, "word_tokenizer": "whitespace"} if by == "bleu" else {}
    task = task.with_trained_lengths(learned).model_copy(update={"search": search, **quick})
    sets = {name: task.examples("dev", name, materials.vocab, materials.root) for name in learned}
    first = {name: lines.part(slice(_count(lines, recipe))) for name, lines in sets.items()}
    return DevScores(by, task, materials.vocab, first, accelerator)


def _count(lines: SourceLines, recipe: Recipe) -> int:
    """Return the number of first lines to score, at least one."""
    return int((np.cumsum(lines.lengths) - lines.lengths < recipe.train.evaluate_tokens).sum())
