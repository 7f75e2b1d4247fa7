"""From a recipe to what is measured while it trains: fixed pairs, dictionaries and held-out text."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, SettingsError
from interlace.data.parallel import ParallelCorpus
from interlace.objectives import Resources
from interlace.objectives._lexicons import Dictionary
from interlace.tasks._files import FileQuery, find
from interlace.tasks.retrieval import Retrieval
from interlace.training.diagnostics import (
    MEASURES,
    OF_PAIRS,
    DiagnosticProbes,
    DiagnosticsCallback,
    ProbePairs,
    diagnose,
    first_batches,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from interlace.data import Pairs
    from interlace.experiments import Recipe
    from interlace.experiments.prepare import Materials
    from interlace.models.families import Traits
    from interlace.objectives._lexicons import Dictionaries
    from interlace.training.diagnostics import HeldOut
    from interlace.training.loop import Training

log = logging.getLogger(__name__)

FEWEST = 8  # pairs: fewer tell nothing, and CKA is not defined for less than four
MOST_SUBWORDS = 4  # of a dictionary's words: longer ones are spelt in letters that all words share (as in `align_mlm`)
_FROM = {
    "dev": "of its held-out files",
    "task": "of the dev split of evaluate.tasks.retrieval",
    "train": "at the end of its training text, which the model may have seen: name others in corpora.GROUP.dev",
}


def diagnosing(
    recipe: Recipe,
    materials: Materials,
    training: Training,
    held_out: Sequence[HeldOut],
    record: Callable[[dict[str, Any]], None],
) -> list[DiagnosticsCallback]:
    """The observer that the recipe asks for, on the main process; none where it asks for none.

    Raises:
        SettingsError: something is to be measured that the recipe has no data for; names the key that gives it.
    """
    settings, accelerator = recipe.train.diagnostics, training.accelerator
    if not settings.every:
        return []
    backbone = accelerator.unwrap_model(training.model).backbone
    learnt = {source.objective: source.prepared.dictionaries for source in training.mixture.sources}
    probes = probes_of(recipe, materials, backbone.traits, held_out, learnt)
    if not accelerator.is_main_process:
        return []
    return [
        DiagnosticsCallback(
            measure=lambda: diagnose(backbone, probes, accelerator.device),
            every=settings.every,
            last=recipe.train.steps,
            record=record,
            on=probes.on,
        )
    ]


def probes_of(
    recipe: Recipe,
    materials: Materials,
    traits: Traits,
    held_out: Sequence[HeldOut],
    learnt: dict[str, Dictionaries | None],
) -> DiagnosticProbes:
    """What the recipe's diagnostics look at; raises as `diagnosing` does."""
    settings = recipe.train.diagnostics
    wanted = frozenset(settings.measures or MEASURES)
    retrieval = _retrieval(recipe)
    pairs = tuple(_pairs(recipe, materials, traits, retrieval)) if wanted & set(OF_PAIRS) else ()
    dictionaries = _dictionaries(recipe, materials, traits) if "alignment" in wanted else {}
    text = [first_batches(corpus, settings.tokens) for corpus in held_out] if "accuracy" in wanted else []
    there = {
        "alignment": bool(dictionaries) or any(one is not None for one in learnt.values()),
        **dict.fromkeys(OF_PAIRS, bool(pairs)),
        "accuracy": bool(text),
    }
    measured = _measurable(wanted, there, named=bool(settings.measures))
    for rows in pairs:
        log.info("diagnostics: %s on %d pairs %s", rows.name, len(rows.pairs), _FROM[rows.origin])
    debiased = settings.cka == "debiased"
    return DiagnosticProbes(materials.vocab, retrieval, measured, pairs, dictionaries, learnt, text, debiased)


def _measurable(wanted: frozenset[str], there: dict[str, bool], *, named: bool) -> frozenset[str]:
    """What there is data for; all that was asked for by name, and at least one, must be."""
    pairs = "translations: name held-out ones in corpora.GROUP.dev, or the files of evaluate.tasks.retrieval"
    cures = {
        "alignment": "dictionary: name one in evaluate.dictionary",
        **dict.fromkeys(OF_PAIRS, pairs),
        "accuracy": "held-out text: name some in corpora.GROUP.dev",
    }
    measured = frozenset(name for name in wanted if there[name])
    for name in (name for name in MEASURES if name in wanted - measured):
        if named or not measured:
            raise SettingsError(f"train.diagnostics: {name} cannot be measured: the recipe has no {cures[name]}")
        log.info("diagnostics: %s is not measured: the recipe has no %s", name, cures[name])
    return measured


def _retrieval(recipe: Recipe) -> Retrieval:
    """How sentences are compared: as the recipe's own task does, in batches no larger than those of training."""
    task = recipe.evaluate.task("retrieval")
    task = task if isinstance(task, Retrieval) else Retrieval()
    most = min(task.tokens_per_batch, recipe.train.tokens_per_batch)
    return task.model_copy(update={"tokens_per_batch": most})


# ---- translations ----


def _pairs(recipe: Recipe, materials: Materials, traits: Traits, task: Retrieval) -> Iterator[ProbePairs]:
    """Of each two languages the first that there is: held-out pairs, those of the task, the last that are learnt."""
    most, seen = recipe.train.diagnostics.pairs, set()
    for origin, pairs in _candidates(recipe, materials, task, most):
        languages = frozenset((pairs.source.language, pairs.target.language))
        known = not traits.languages or languages <= set(traits.languages)
        chosen = _filled(pairs)
        if languages in seen or not known or len(chosen) < FEWEST:
            continue
        seen.add(languages)
        yield ProbePairs(chosen, origin)


def _candidates(recipe: Recipe, materials: Materials, task: Retrieval, most: int) -> Iterator[tuple[str, Pairs]]:
    for corpus in materials.dev.values():
        if isinstance(corpus, ParallelCorpus):
            yield "dev", corpus.take(_evenly(len(corpus), most))
    if "retrieval" in recipe.evaluate.tasks:
        for language in recipe.languages:
            if (pairs := _of_task(task, language, materials)) is not None:
                yield "task", pairs.take(_evenly(len(pairs), most))
    for corpus in materials.train.values():
        if isinstance(corpus, ParallelCorpus):
            yield "train", _plain(corpus).take(np.arange(max(0, len(corpus) - most), len(corpus)))


def _evenly(count: int, most: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """So many rows or all there are, evenly over the corpus."""
    return np.arange(min(count, most)) * count // max(min(count, most), 1)


def _of_task(task: Retrieval, language: str, materials: Materials) -> Pairs | None:
    """The dev split beside the task's source; None where there is none, or where it is the test set as well."""
    if language == task.source:
        return None
    dev, test = (_file(task, split, language, materials.root) for split in ("dev", "test"))
    return None if dev in (None, test) else task.examples("dev", language, materials.vocab, materials.root)


def _file(task: Retrieval, split: str, language: str, root: Path) -> Path | None:
    try:
        return find(task.files, FileQuery("retrieval", split, language, root, task.source))
    except DataError:
        return None


def _plain(corpus: ParallelCorpus) -> ParallelCorpus:
    """The corpus without what was laid beside it: links are not looked at."""
    return ParallelCorpus(corpus.folder, corpus.meta, corpus.vocab)


def _filled(pairs: Pairs) -> Pairs:
    """The pairs with text on both sides."""
    return pairs.take(np.flatnonzero((pairs.source.lengths > 0) & (pairs.target.lengths > 0)))


# ---- words ----


def _dictionaries(recipe: Recipe, materials: Materials, traits: Traits) -> dict[str, Dictionaries]:
    """The evaluation's word lists from the source language, whole; those that the vocabulary cannot spell are told."""
    pattern, source = recipe.evaluate.dictionary, recipe.evaluate.source
    found: dict[str, Dictionaries] = {}
    for target in recipe.languages if pattern is not None else ():
        if target == source:
            continue
        lexicon = Lexicon.read(materials.root / str(pattern).format(source=source, target=target))
        resources = Resources(materials.vocab, traits, lexicons={(source, target): lexicon})
        try:
            found[f"{source}-{target}"] = Dictionary().prepare(resources, "evaluate.dictionary", most=MOST_SUBWORDS)
        except DataError as error:
            log.info("diagnostics: %s", error)
    return found
