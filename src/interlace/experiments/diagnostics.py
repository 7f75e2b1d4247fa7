"""The data of cross-lingual diagnostics: fixed pairs, dictionaries and held-out text; samples for reports."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, SettingsError
from interlace.data.corpus import ParallelCorpus
from interlace.objectives.common.dictionaries import Dictionary
from interlace.tasks.common.files import FileQuery, find_file
from interlace.tasks.retrieval import Retrieval
from interlace.text.lines import read_lines
from interlace.training.diagnostics import (
    MEASURES,
    PAIR_MEASURES,
    DiagnosticProbes,
    DiagnosticsCallback,
    ProbePairs,
    diagnose,
    first_batches,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from interlace.core.ragged import Ragged
    from interlace.data import Pairs
    from interlace.data.alignments import WordAlignments
    from interlace.experiments.prepare import AnyCorpus, Materials
    from interlace.experiments.recipe import Recipe
    from interlace.models.families import Traits
    from interlace.objectives.common.dictionaries import Dictionaries
    from interlace.tasks.common.likelihood import HeldOutBatches
    from interlace.training.loop import Training

log = logging.getLogger(__name__)
MIN_PAIRS = 8  # CKA needs at least four
MAX_TOKENS = 4  # of a dictionary word, as in `align_mlm`: longer words are spelled in shared letters
_ORIGINS = {
    "dev": "of its held-out files",
    "task": "of the dev split of evaluate.tasks.retrieval",
    "train": "at the end of its training text, which the model may have read: set corpora.GROUP.dev",
}


def diagnostics_callbacks(
    recipe: Recipe,
    materials: Materials,
    training: Training,
    held_out: Sequence[HeldOutBatches],
    record: Callable[[dict[str, Any]], None],
) -> list[DiagnosticsCallback]:
    """Return the callback of `train.diagnostics` on the main process, if it is switched on.

    Raises:
        SettingsError: the recipe has no data for a measure; names the key that adds it.
    """
    settings, accelerator = recipe.train.diagnostics, training.accelerator
    if not settings.every:
        return []
    backbone = accelerator.unwrap_model(training.model).backbone
    learned = {source.objective: source.prepared.dictionaries for source in training.mixture.sources}
    probes = probes_of(recipe, materials, backbone.traits, held_out, learned)
    if not accelerator.is_main_process:
        return []
    return [
        DiagnosticsCallback(
            measure=lambda: diagnose(backbone, probes, accelerator.device),
            every=settings.every,
            last=recipe.train.steps,
            record=record,
            origins=probes.origins,
        )
    ]


def probes_of(
    recipe: Recipe,
    materials: Materials,
    traits: Traits,
    held_out: Sequence[HeldOutBatches],
    learned: dict[str, Dictionaries | None],
) -> DiagnosticProbes:
    """Return the data of the recipe's diagnostics; raise as `diagnostics_callbacks`."""
    settings = recipe.train.diagnostics
    wanted = frozenset(settings.measures or MEASURES)
    retrieval = _retrieval(recipe)
    pairs = tuple(_pairs(recipe, materials, traits, retrieval)) if wanted & set(PAIR_MEASURES) else ()
    dictionaries = _dictionaries(recipe, materials) if "alignment" in wanted else {}
    text = [first_batches(corpus, settings.tokens) for corpus in held_out] if "accuracy" in wanted else []
    there = {
        "alignment": bool(dictionaries) or any(one is not None for one in learned.values()),
        **dict.fromkeys(PAIR_MEASURES, bool(pairs)),
        "accuracy": bool(text),
    }
    measured = _measurable(wanted, there, named=bool(settings.measures))
    for rows in pairs:
        log.info("diagnostics: %s on %d pairs %s", rows.name, len(rows.pairs), _ORIGINS[rows.origin])
    debiased = settings.cka == "debiased"
    return DiagnosticProbes(materials.vocab, retrieval, measured, pairs, dictionaries, learned, text, debiased)


def _measurable(wanted: frozenset[str], there: dict[str, bool], *, named: bool) -> frozenset[str]:
    """Return the measures with data; explicitly `named` ones, and at least one, are required."""
    pairs = "sentence pairs: set corpora.GROUP.dev, or evaluate.tasks.retrieval.files"
    cures = {
        "alignment": "dictionary: set evaluate.dictionary",
        **dict.fromkeys(PAIR_MEASURES, pairs),
        "accuracy": "held-out text: set corpora.GROUP.dev",
    }
    measured = frozenset(name for name in wanted if there[name])
    for name in (name for name in MEASURES if name in wanted - measured):
        if named or not measured:
            raise SettingsError(f"train.diagnostics: {name} cannot be measured: the recipe has no {cures[name]}")
        log.info("diagnostics: %s is not measured: the recipe has no %s", name, cures[name])
    return measured


def _retrieval(recipe: Recipe) -> Retrieval:
    """Return the recipe's retrieval task, with batches no larger than those of training."""
    task = recipe.evaluate.task("retrieval")
    task = task if isinstance(task, Retrieval) else Retrieval()
    limit = min(task.tokens_per_batch, recipe.train.tokens_per_batch)
    return task.model_copy(update={"tokens_per_batch": limit})


def _pairs(recipe: Recipe, materials: Materials, traits: Traits, task: Retrieval) -> Iterator[ProbePairs]:
    """Yield pairs per language pair: held-out ones, else those of the task, else the last training pairs."""
    limit, seen = recipe.train.diagnostics.pairs, set()
    for origin, pairs in _candidates(recipe, materials, task, limit):
        languages = frozenset((pairs.source.language, pairs.target.language))
        known = not traits.languages or languages <= set(traits.languages)
        chosen = _filled(pairs)
        if languages in seen or not known or len(chosen) < MIN_PAIRS:
            continue
        seen.add(languages)
        yield ProbePairs(chosen, origin)


def _candidates(recipe: Recipe, materials: Materials, task: Retrieval, limit: int) -> Iterator[tuple[str, Pairs]]:
    for corpus in materials.dev.values():
        if isinstance(corpus, ParallelCorpus):
            yield "dev", corpus.take(_evenly(len(corpus), limit))
    if "retrieval" in recipe.evaluate.tasks:
        for language in recipe.languages:
            if (pairs := _of_task(task, language, materials)) is not None:
                yield "task", pairs.take(_evenly(len(pairs), limit))
    for corpus in materials.train.values():
        if isinstance(corpus, ParallelCorpus):
            yield "train", _plain(corpus).take(np.arange(max(0, len(corpus) - limit), len(corpus)))


def _evenly(count: int, limit: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return up to `limit` rows, evenly spaced."""
    return np.arange(min(count, limit)) * count // max(min(count, limit), 1)


def _of_task(task: Retrieval, language: str, materials: Materials) -> Pairs | None:
    """Return the dev split of a language with the task's source; None if it is missing or equals the test set."""
    if language == task.source:
        return None
    dev, test = (_file(task, split, language, materials.root) for split in ("dev", "test"))
    return None if dev in (None, test) else task.examples("dev", language, materials.vocab, materials.root)


def _file(task: Retrieval, split: str, language: str, root: Path) -> Path | None:
    try:
        return find_file(task.files, FileQuery("retrieval", split, language, root, task.source))
    except DataError:
        return None


def _plain(corpus: ParallelCorpus) -> ParallelCorpus:
    """Return the corpus without alignments."""
    return ParallelCorpus(corpus.folder, corpus.meta, corpus.vocab)


def _filled(pairs: Pairs) -> Pairs:
    """Return the pairs with text on both sides."""
    return pairs.take(np.flatnonzero((pairs.source.lengths > 0) & (pairs.target.lengths > 0)))


def _dictionaries(recipe: Recipe, materials: Materials) -> dict[str, Dictionaries]:
    """Return the evaluation's dictionaries from the source language; log those that the vocabulary cannot represent."""
    pattern, source = recipe.evaluate.dictionary, recipe.evaluate.source
    found: dict[str, Dictionaries] = {}
    for target in recipe.languages if pattern is not None else ():
        if target == source:
            continue
        lexicon = Lexicon.read(materials.root / str(pattern).format(source=source, target=target))
        try:
            found[f"{source}-{target}"] = Dictionary().prepare(
                {(source, target): lexicon}, materials.vocab, "evaluate.dictionary", seed=0, max_tokens=MAX_TOKENS
            )
        except DataError as error:
            log.info("diagnostics: %s", error)
    return found


_SAMPLED_FROM = 1000  # first pairs of a corpus
_MIN_WORDS, _MAX_WORDS = 5, 14  # per side of a sample
MAX_CONCEPTS = 24  # of the embedding plot


def sample_alignments(corpora: Mapping[str, AnyCorpus], pairs: int = 2) -> list[dict[str, Any]]:
    """Return words, links and confidences of the first pairs of medium length of each aligned corpus."""
    found = {
        name: corpus.alignments
        for name, corpus in corpora.items()
        if isinstance(corpus, ParallelCorpus) and corpus.alignments is not None
    }
    return [sample for name, aligned in found.items() for sample in _samples(name, aligned, pairs)]


def _samples(name: str, aligned: WordAlignments, pairs: int) -> list[dict[str, Any]]:
    source, target = aligned.words(np.arange(min(len(aligned), _SAMPLED_FROM)))
    rows = _chosen(source, target, pairs)
    links = aligned.take(rows)
    return [
        {
            "corpus": name,
            "source": [aligned.types[0][word] for word in source[row]],
            "target": [aligned.types[1][word] for word in target[row]],
            "links": links.links[number].tolist(),
            "confidence": [round(sure, 3) for sure in links.confidence[number].tolist()],
        }
        for number, row in enumerate(rows.tolist())
    ]


def _chosen(source: Ragged, target: Ragged, pairs: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the first rows of medium length, or those nearest to it."""
    lengths = np.stack([source.lengths, target.lengths])
    off = (np.maximum(_MIN_WORDS - lengths, 0) + np.maximum(lengths - _MAX_WORDS, 0)).sum(axis=0)
    return np.sort(np.argsort(off, kind="stable")[:pairs])


def concepts(recipe: Recipe, root: Path) -> list[dict[str, str]]:
    """Return up to `MAX_CONCEPTS` source words with translations in all languages, evenly spaced, to plot."""
    pattern, source = recipe.evaluate.dictionary, recipe.evaluate.source
    others = [language for language in recipe.languages if language != source]
    if pattern is None or not others:
        return []
    tables = {target: _table(root / pattern.format(source=source, target=target)) for target in others}
    shared = [word for word in tables[others[0]] if all(word in table for table in tables.values())]
    places = np.linspace(0, len(shared) - 1, min(MAX_CONCEPTS, len(shared))).round().astype(np.int64).tolist()
    chosen = [shared[place] for place in places]
    return [{source: word, **{target: tables[target][word] for target in others}} for word in chosen]


def _table(path: Path) -> dict[str, str]:
    """Read the first translation of each word; lines are `source<TAB or space>target`."""
    table: dict[str, str] = {}
    for line in read_lines(path):
        source, _, target = line.replace("\t", " ").partition(" ")
        if target.strip():
            table.setdefault(source, target.strip())
    return table
