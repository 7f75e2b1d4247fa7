"""What a run is measured on while it learns: fixed rows of its held-out text, read as its objectives read."""

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
MAIN = "perplexity"  # the name of what early stopping looks at


def held_out(recipe: Recipe, materials: Materials, traits: Traits) -> list[HeldOutBatches]:
    """The evaluation rows of every language with held-out text, read as the run's objectives read.

    But for that and the longest row they do not depend on the objectives. Where all held-out text is translations, each
    side is measured; those were held out for more than that, so a side too short for one row is only told of.

    A translation model is measured by the translations that are held out, each in the directions that it learns; where
    there are none, by what else it learns to write: noised sentences, or hidden fragments.
    """
    longest = max((recipe.objective(name).max_length for name in recipe.objectives), default=256)
    ways = {recipe.objective(name).architecture for name in recipe.objectives}
    found = list(_translated(recipe, materials, traits, longest))
    if not found and (measured := _written(recipe, longest)) is not None:
        found = list(_restored(recipe, materials, traits, measured))
    for score, measured in _measured(ways, longest).items():
        found += _running(recipe, materials, traits, measured, score)
    return found


def _measured(ways: set[str], longest: int) -> dict[str, Objective]:
    """Name of the perplexity -> what it measures of running text: masks, what comes next, or both if both are learnt.

    The first thing that a run learns is called perplexity alone: to translate, then to fill masks, then to go on.
    """
    measured: dict[str, Objective] = {}
    if not ways or "masked" in ways:
        measured[f"masked_{MAIN}" if "seq2seq" in ways else MAIN] = Mlm(max_length=longest)
    if "causal" in ways:
        measured[MAIN if ways == {"causal"} else f"causal_{MAIN}"] = Clm(max_length=longest)
    return measured


def _running(
    recipe: Recipe, materials: Materials, traits: Traits, measured: Objective, score: str
) -> Iterator[HeldOutBatches]:
    """Full rows of each language's text."""
    longest, prepared = measured.max_length, measured.prepare(Resources(materials.vocab, traits))
    for name, corpus in _texts(materials).items():
        streams = Streams(corpus, longest - 2, materials.vocab.end)
        if not len(streams) and name not in materials.dev:
            log.info("perplexity: the held-out text of %r does not fill one row of %d subwords", name, longest)
            continue
        most = max(1, recipe.train.evaluate_tokens // longest)
        rows = streams.take(np.arange(min(len(streams), most)))
        yield hold_out(name, rows, measured, prepared, score)


def _translated(recipe: Recipe, materials: Materials, traits: Traits, longest: int) -> Iterator[HeldOutBatches]:
    """The held-out translations in each direction that is learnt, under its name: `en-de`, `de-en`."""
    learnt = directions(recipe)
    for name, corpus in materials.dev.items():
        if not isinstance(corpus, ParallelCorpus):
            continue
        group, _, _ = name.rpartition(":")
        for backward in (False, True):
            source, target = corpus.languages[::-1] if backward else corpus.languages
            if (source, target) not in learnt:
                continue
            rows = _first(*corpus.side_lengths, longest, recipe.train.evaluate_tokens)
            if not len(rows):
                log.info("perplexity: no held-out row of %r is as short as %d subwords", name, longest - 2)
                continue
            measured = Translation(directions="backward" if backward else "forward", max_length=longest)
            prepared = measured.prepare(Resources(materials.vocab, traits))
            label = f"{group}:{source}-{target}" if group else f"{source}-{target}"
            yield hold_out(label, corpus.take(rows), measured, prepared, MAIN)


def _written(recipe: Recipe, longest: int) -> Objective | None:
    """What measures a model by sentences of one language, which it writes after reading something else.

    A run of fragments alone writes no whole sentence, so it is measured by fragments, of sentences as they
    are. Back-translation is measured by noise: what it reads itself hangs on the model.
    """
    if recipe.objectives.keys() & {"denoise", "back_translation"}:
        return Denoise(max_length=longest)
    if "mass" in recipe.objectives:
        return recipe.objective("mass").model_copy(update={"code_switched": False})
    return None


def _restored(recipe: Recipe, materials: Materials, traits: Traits, measured: Objective) -> Iterator[HeldOutBatches]:
    """Each language's sentences, to be written as `measured` asks for it."""
    prepared = measured.prepare(Resources(materials.vocab, traits))
    for name, corpus in _texts(materials).items():
        rows = _first(corpus.lengths, corpus.lengths, measured.max_length, recipe.train.evaluate_tokens)
        if len(rows):
            yield hold_out(name, corpus.take(rows), measured, prepared, MAIN)


def _texts(materials: Materials) -> dict[str, Corpus]:
    """Held-out text of one language: that which stands alone, or the sides of translations."""
    alone = {name: corpus for name, corpus in materials.dev.items() if not isinstance(corpus, ParallelCorpus)}
    return alone or sides_of(materials.dev)


def _first(
    source: np.ndarray[tuple[int], np.dtype[np.int32]],
    target: np.ndarray[tuple[int], np.dtype[np.int32]],
    longest: int,
    tokens: int,
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The first rows that fit, as many as hold `tokens` subwords and at least one; short ones first."""
    fits = np.flatnonzero((source <= longest - 2) & (target <= longest - 2))
    lengths = (source + target)[fits].astype(np.int64) + 4
    rows = fits[np.cumsum(lengths) - lengths < tokens]
    return rows[np.argsort((source + target)[rows], kind="stable")]


# FROM scoring:
# A translation run scored while it learns: greedy translations of the dev text that one of its tasks names.
#
# By BLEU, as XLM's code stops unsupervised translation, or by BLEU of round trips, which needs no translations at all
# (Lample et al. 2018a). All processes translate, each its own lines, and all come to the same score.


@dataclass(frozen=True)
class DevScores:
    """Scores a model as it is.

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
        """Of all lines, from the counts that every process makes of its own."""
        mine = lines.part(slice(self.accelerator.process_index, None, self.accelerator.num_processes))
        measured: Any = self.task.measure(backbone, self.vocab, mine) if len(mine) else None
        made = gather_object([None if measured is None else measured.outcomes])
        known = [examples for examples in made if examples is not None]
        return float(known[0].value(np.sum([examples.columns.sum(axis=1) for examples in known], axis=0)))


def dev_scores(recipe: Recipe, materials: Materials, accelerator: Accelerator) -> DevScores:
    """The scorer of a recipe's run: in every direction that it learns, so many lines as `evaluate_tokens` hold.

    What only `interlace evaluate` is asked for is left out: beams, round trips beside BLEU and the words of tokenised
    BLEU.

    Raises:
        DataError: the dev text of a direction is not there.
    """
    by, learnt = recipe.train.stop_by, max_source_lengths(recipe)
    task: Any = recipe.evaluate.task(STOPPING_TASKS[by])
    search = task.search.model_copy(update={"beam": 1, "n_best": 1, "sample": False})
    quick = {"round_trip": False, "word_tokenizer": "whitespace"} if by == "bleu" else {}
    task = task.with_trained_lengths(learnt).model_copy(update={"search": search, **quick})
    sets = {name: task.examples("dev", name, materials.vocab, materials.root) for name in learnt}
    first = {name: lines.part(slice(_count(lines, recipe))) for name, lines in sets.items()}
    return DevScores(by, task, materials.vocab, first, accelerator)


def _count(lines: SourceLines, recipe: Recipe) -> int:
    """How many of the first lines are scored, at least one."""
    return int((np.cumsum(lines.lengths) - lines.lengths < recipe.train.evaluate_tokens).sum())
