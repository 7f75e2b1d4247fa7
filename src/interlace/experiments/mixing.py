"""Build the mixture of a recipe: a source of batches for each objective and corpus."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError, SettingsError
from interlace.data import Pairs
from interlace.data.corpus import ParallelCorpus
from interlace.data.layout import SPECIALS
from interlace.data.packing import PackedSentences, Streams
from interlace.data.sampling import BucketPlan, StreamPlan
from interlace.experiments.dictionaries import lexicons_of
from interlace.experiments.prepare import sides_of
from interlace.objectives import Resources
from interlace.training.mixture import BucketedBatches, Mixture, MixtureSource, StreamedBatches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.experiments.prepare import Materials
    from interlace.experiments.recipe import Recipe
    from interlace.models.families import Traits
    from interlace.objectives import Objective
    from interlace.training.mixture import BatchPlan

log = logging.getLogger(__name__)


def build_mixture(recipe: Recipe, materials: Materials, traits: Traits) -> Mixture:
    """Return a source for every objective and each of its corpora, with language shares q ~ p^alpha."""
    sources = []
    for name, entry in recipe.objectives.items():
        objective = recipe.objective(name)
        if objective.max_length > traits.max_length:
            raise SettingsError(
                f"objectives.{name}.max_length = {objective.max_length}, but the model's maximum is "
                f"{traits.max_length} tokens"
            )
        corpora = _corpora_of(objective, entry.corpora, materials)
        prepared = objective.prepare(_resources(recipe, name, objective, corpora, materials, traits))
        for note in prepared.dictionaries.notes if prepared.dictionaries is not None else ():
            log.info("%s", note)
        for corpus, size in zip(corpora, _counts(recipe, corpora, materials), strict=True):
            number = list(materials.readable).index(corpus)
            plan = _plan(recipe, objective, materials, corpus, number)
            source = MixtureSource(
                name, corpus, objective, prepared, plan, float(size), entry.weight, objective.batch_uses
            )
            sources.append(source)
    train = recipe.train
    alpha, alternate, max_passes = train.language_alpha, train.alternate, train.max_passes
    return Mixture(sources, recipe.seed, alpha=alpha, alternate=alternate, max_passes=max_passes)


def _corpora_of(objective: Objective, wanted: list[str], materials: Materials) -> list[str]:
    """Return the names of an objective's corpora: those of its settings, else all that it can read.

    Monolingual objectives read both sides of parallel text; by default only if there is no other text.
    """
    chosen = [corpus for group in wanted for corpus in materials.groups.get(group, [group])] or list(materials.train)
    pairs = [name for name in chosen if isinstance(materials.readable[name], ParallelCorpus)]
    if objective.reads is not Pairs:
        alone = [name for name in chosen if name not in pairs]
        return _with_sides(chosen, materials) if wanted or not alone else alone
    return pairs


def _with_sides(names: list[str], materials: Materials) -> list[str]:
    """Replace parallel corpora by both sides; return each name once."""
    sides = {name: list(sides_of({name: materials.readable[name]})) for name in names}
    return list(dict.fromkeys(read for name in names for read in sides[name] or [name]))


def _counts(recipe: Recipe, corpora: list[str], materials: Materials) -> NDArray[Any]:
    tokens = recipe.train.sampling_unit == "tokens"
    sizes = [materials.readable[corpus] for corpus in corpora]
    return np.array([corpus.lengths.sum() if tokens else len(corpus) for corpus in sizes], dtype=np.float64)


def _resources(
    recipe: Recipe, name: str, objective: Objective, corpora: list[str], materials: Materials, traits: Traits
) -> Resources:
    frequencies = None
    if objective.needs_frequencies:
        frequencies = np.zeros(materials.vocab.size, np.int64)
        for corpus in corpora:
            frequencies += materials.readable[corpus].frequencies(materials.vocab.size)
    lexicons = lexicons_of(recipe, name, objective, corpora, materials)
    return Resources(materials.vocab, traits, frequencies, recipe.seed, lexicons, tuple(recipe.languages))


def _plan(recipe: Recipe, objective: Objective, materials: Materials, corpus: str, number: int) -> BatchPlan:
    data: Any = materials.readable[corpus]
    budget = recipe.train.tokens_per_batch
    max_length = objective.packed_length(materials.vocab)
    if max_length is not None:
        data = PackedSentences(data, max_length, materials.vocab.end, _fitting(objective, corpus, data, max_length))
    elif objective.streams and not isinstance(data, ParallelCorpus):
        streams = Streams(data, objective.max_length - 2, materials.vocab.end)
        if len(streams) == 0:
            raise DataError(f"corpus {corpus!r} has fewer than {objective.max_length} tokens")
        return StreamedBatches(streams, StreamPlan(len(streams), budget, objective.max_length, recipe.seed, number))
    rows = _fitting(objective, corpus, data, objective.max_length - SPECIALS) if objective.drops_long else None
    sides = data.side_lengths if rows is None else [side[rows] for side in data.side_lengths]
    costs = objective.pair_costs(*sides) if len(sides) == 2 else objective.sentence_costs(*sides)
    return BucketedBatches(data, BucketPlan(costs, budget, seed=recipe.seed, corpus=number), rows)


def _fitting(objective: Objective, corpus: str, data: Any, max_length: int) -> NDArray[np.int64] | None:
    """Return the rows whose sides all have at most `max_length` tokens; None: all rows."""
    fits = np.logical_and.reduce([side <= max_length for side in data.side_lengths])
    if fits.all():
        return None
    about = f"{len(fits) - fits.sum():,} of {len(fits):,} rows of {corpus!r} are longer than {max_length} tokens"
    if not fits.any():
        raise DataError(f"{about}; raise {objective.term}.max_length")
    log.info("%s: skipping long rows: %s", objective.term, about)
    return np.flatnonzero(fits)
