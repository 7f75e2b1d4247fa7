"""What a run is measured on while it learns: fixed rows of its held-out text, read as its objectives read."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from interlace.data.packing import Streams
from interlace.data.parallel import ParallelCorpus
from interlace.experiments._directions import directions
from interlace.experiments.prepare import sides_of
from interlace.objectives import Resources
from interlace.objectives.clm import Clm
from interlace.objectives.denoise import Denoise
from interlace.objectives.mlm import Mlm
from interlace.objectives.translation import Translation
from interlace.training.diagnostics import HeldOut, hold_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.data.corpus import Corpus
    from interlace.experiments import Recipe
    from interlace.experiments.prepare import Materials
    from interlace.models.families import Traits
    from interlace.objectives import Objective

log = logging.getLogger(__name__)

MAIN = "perplexity"  # the name of what early stopping looks at


def held_out(recipe: Recipe, materials: Materials, traits: Traits) -> list[HeldOut]:
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
) -> Iterator[HeldOut]:
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


def _translated(recipe: Recipe, materials: Materials, traits: Traits, longest: int) -> Iterator[HeldOut]:
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
        return recipe.objective("mass").model_copy(update={"switched": False})
    return None


def _restored(recipe: Recipe, materials: Materials, traits: Traits, measured: Objective) -> Iterator[HeldOut]:
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
