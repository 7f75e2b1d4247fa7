"""Evaluation during training: held-out perplexity, translation scores for early stopping, cross-lingual diagnostics.

Also samples for reports: word alignments, and the words of the embedding plot.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from accelerate.utils import gather_object
from numpy.typing import NDArray
from safetensors.numpy import save_file

from interlace.alignment.lexicon import Lexicon, read_translations
from interlace.core.data_root import Root
from interlace.core.errors import DataError, SettingsError
from interlace.core.files import atomic, must_exist
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.corpus_text import AnyCorpus
from interlace.data.packing import Streams
from interlace.experiments.recipe import STOPPING_TASKS, Recipe, directions, max_source_lengths
from interlace.experiments.workspace import Workspace, sides_of
from interlace.objectives import Objective, Resources
from interlace.objectives.clm import Clm
from interlace.objectives.common.dictionaries import Dictionaries, Dictionary
from interlace.objectives.denoise import Denoise
from interlace.objectives.mlm import Mlm
from interlace.objectives.translation import Translation
from interlace.tasks.common.files import FileQuery, find_file
from interlace.tasks.common.likelihood import HeldOutBatches, hold_out
from interlace.tasks.retrieval import Retrieval
from interlace.training.diagnostics import (
    DiagnosticProbes,
    DiagnosticsCallback,
    ProbePairs,
    diagnose,
)

if TYPE_CHECKING:
    from accelerate import Accelerator

    from interlace.data import Pairs
    from interlace.data.vocab import Vocab
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
    max_length = max((recipe.objective(name).max_length for name in recipe.objectives), default=256)
    architectures = {recipe.objective(name).architecture for name in recipe.objectives}
    found = list(_on_pairs(workspace, traits, max_length))
    if not found and (measured := _sentence_objective(recipe, max_length)) is not None:
        prepared = measured.prepare(Resources(workspace.vocab, traits))
        for name, corpus in _monolingual(workspace).items():
            rows = _short_rows(
                corpus.lengths, corpus.lengths, measured.max_length, recipe.train.evaluate_tokens
            )
            if len(rows):
                found.append(hold_out(name, corpus.take(rows), measured, prepared, MAIN))
    # Running text: masked, causal, or both. The first of translation, masked and causal perplexity is `perplexity`.
    if not architectures or "masked" in architectures:
        score = f"masked_{MAIN}" if "seq2seq" in architectures else MAIN
        found += _on_text(workspace, traits, Mlm(max_length=max_length), score)
    if "causal" in architectures:
        score = MAIN if architectures == {"causal"} else f"causal_{MAIN}"
        found += _on_text(workspace, traits, Clm(max_length=max_length), score)
    return found


def _on_text(
    workspace: Workspace, traits: Traits, measured: Objective, score: str
) -> Iterator[HeldOutBatches]:
    """Yield full sequences of each language's text."""
    max_length = measured.max_length
    prepared = measured.prepare(Resources(workspace.vocab, traits))
    for name, corpus in _monolingual(workspace).items():
        streams = Streams(corpus, max_length - 2, workspace.vocab.end)
        if not len(streams) and name not in workspace.dev:
            log.info(
                "perplexity: the held-out text of %r is shorter than one sequence of %d tokens",
                name,
                max_length,
            )
            continue
        limit = max(1, workspace.recipe.train.evaluate_tokens // max_length)
        rows = streams.take(np.arange(min(len(streams), limit)))
        yield hold_out(name, rows, measured, prepared, score)


def _on_pairs(workspace: Workspace, traits: Traits, max_length: int) -> Iterator[HeldOutBatches]:
    """Yield the held-out pairs of each learned direction, named `en-de`, `de-en`."""
    recipe = workspace.recipe
    learned = directions(recipe)
    for name, corpus in workspace.dev.items():
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
                log.info(
                    "perplexity: all held-out rows of %r are longer than %d tokens",
                    name,
                    max_length - 2,
                )
                continue
            measured = Translation(
                directions="backward" if backward else "forward", max_length=max_length
            )
            prepared = measured.prepare(Resources(workspace.vocab, traits))
            if group:
                label = f"{group}:{source}-{target}"
            else:
                label = f"{source}-{target}"
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
    alone = {
        name: corpus
        for name, corpus in workspace.dev.items()
        if not isinstance(corpus, ParallelCorpus)
    }
    return alone or sides_of(workspace.dev)


def _short_rows(
    source: NDArray[np.int32], target: NDArray[np.int32], max_length: int, tokens: int
) -> NDArray[np.int64]:
    """Return the first rows within `max_length`, up to `tokens` tokens and at least one row, sorted by length."""
    fits = np.flatnonzero((source <= max_length - 2) & (target <= max_length - 2))
    lengths = (source + target)[fits].astype(np.int64) + 4
    rows = fits[np.cumsum(lengths) - lengths < tokens]
    return rows[np.argsort((source + target)[rows], kind="stable")]


def dev_scores(
    workspace: Workspace, accelerator: Accelerator
) -> Callable[[Backbone], dict[str, float]]:
    """Return a function that scores greedy translations of dev text, as the recipe's early stopping needs them.

    By BLEU (as XLM's code) or BLEU of round trips (Lample et al. 2018a), for each learned direction on lines of up to
    `evaluate_tokens` source tokens, and their mean: `bleu/XX-YY`, `round-trip/XX-YY`. All processes translate their own
    lines and return the same scores. Beam search, tokenized BLEU and round trips besides BLEU are left to `interlace
    evaluate`.
    """
    recipe = workspace.recipe
    by = recipe.train.stop_by
    learned = max_source_lengths(recipe)
    task: Any = recipe.evaluate.task(STOPPING_TASKS[by])
    search = task.search.model_copy(update={"beam": 1})
    if by == "bleu":
        quick = {"round_trip": False, "word_tokenizer": "whitespace"}
    else:
        quick = {}
    task = task.with_trained_lengths(learned).model_copy(update={"search": search, **quick})
    sets = {name: task.examples("dev", name, workspace.vocab, workspace.root) for name in learned}
    for name, lines in sets.items():
        count = int(
            (np.cumsum(lines.lengths) - lines.lengths < recipe.train.evaluate_tokens).sum()
        )  # at least one
        sets[name] = lines.part(slice(count))

    def score(backbone: Backbone) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, lines in sets.items():
            mine = lines.part(slice(accelerator.process_index, None, accelerator.num_processes))
            made = gather_object(
                [task.measure(backbone, workspace.vocab, mine).outcomes if len(mine) else None]
            )
            known = [examples for examples in made if examples is not None]
            found[name] = float(
                known[0].value(np.sum([examples.columns.sum(axis=1) for examples in known], axis=0))
            )
        found["mean"] = fmean(found.values())
        return {f"{by}/{name}": round(value, 3) for name, value in found.items()}

    return score


def diagnostics_callbacks(
    workspace: Workspace,
    training: Training,
    record: Callable[[dict[str, Any]], None],
) -> list[DiagnosticsCallback]:
    """Return the callback of `train.diagnostics`, if it is switched on; the main process measures."""
    recipe = workspace.recipe
    settings = recipe.train.diagnostics
    accelerator = training.accelerator
    if not settings.every:
        return []
    backbone = accelerator.unwrap_model(training.model).backbone
    learned = {
        source.objective: source.prepared.dictionaries for source in training.mixture.sources
    }
    probes = probes_of(workspace, backbone.traits, learned)

    def measure() -> dict[str, float]:
        if accelerator.is_main_process:
            return diagnose(backbone, probes)
        return {}

    return [
        DiagnosticsCallback(
            measure=measure,
            every=settings.every,
            last=recipe.train.steps,
            record=record,
            origins=probes.origins,
        )
    ]


def probes_of(
    workspace: Workspace, traits: Traits, learned: dict[str, Dictionaries | None]
) -> DiagnosticProbes:
    """Return the data of the recipe's diagnostics; raise a SettingsError if it has none."""
    recipe = workspace.recipe
    task = recipe.evaluate.task("retrieval")
    retrieval = task if isinstance(task, Retrieval) else Retrieval()
    limit = min(
        retrieval.tokens_per_batch, recipe.train.micro_batch_tokens
    )  # no larger batches than in training
    retrieval = retrieval.model_copy(update={"tokens_per_batch": limit})
    pairs = tuple(_pairs(workspace, traits, retrieval))
    dictionaries = _dictionaries(workspace)
    has_words = bool(dictionaries) or any(dictionary is not None for dictionary in learned.values())
    no_words = "no dictionary: set evaluate.dictionary"
    no_pairs = "no sentence pairs: set corpora.GROUP.dev, or evaluate.tasks.retrieval.files"
    if not has_words and not pairs:
        raise SettingsError(f"train.diagnostics: the recipe has {no_words}; and {no_pairs}")
    if not has_words:
        log.info("diagnostics: word translation is not measured: the recipe has %s", no_words)
    if not pairs:
        log.info("diagnostics: retrieval is not measured: the recipe has %s", no_pairs)
    for rows in pairs:
        if rows.origin == "train":
            log.info(
                "diagnostics: %s on training text, which the model may have read: set corpora.GROUP.dev",
                rows.name,
            )
    return DiagnosticProbes(workspace.vocab, retrieval, pairs, dictionaries, learned)


def _pairs(workspace: Workspace, traits: Traits, task: Retrieval) -> Iterator[ProbePairs]:
    """Yield pairs per language pair: held-out ones, else those of the task, else the last training pairs."""
    limit = workspace.recipe.train.diagnostics.pairs
    seen = set()
    for origin, pairs in _candidates(workspace, task, limit):
        languages = frozenset((pairs.source.language, pairs.target.language))
        known = not traits.languages or languages <= set(traits.languages)
        chosen = pairs.take(np.flatnonzero((pairs.source.lengths > 0) & (pairs.target.lengths > 0)))
        if languages not in seen and known and len(chosen) >= 8:  # fewer say little
            seen.add(languages)
            yield ProbePairs(chosen, origin)


def _candidates(workspace: Workspace, task: Retrieval, limit: int) -> Iterator[tuple[str, Pairs]]:
    recipe = workspace.recipe
    for corpus in workspace.dev.values():
        if isinstance(corpus, ParallelCorpus):
            yield "dev", corpus.take(_evenly(len(corpus), limit))
    for language in recipe.languages if "retrieval" in recipe.evaluate.tasks else ():
        if language != task.source and _has_own_dev(task, language, workspace.root):
            pairs = task.examples("dev", language, workspace.vocab, workspace.root)
            yield "task", pairs.take(_evenly(len(pairs), limit))
    for corpus in workspace.train.values():
        if isinstance(corpus, ParallelCorpus):
            plain = ParallelCorpus(corpus.folder, corpus.meta, corpus.vocab)  # without alignments
            yield "train", plain.take(np.arange(max(0, len(corpus) - limit), len(corpus)))


def _evenly(count: int, limit: int) -> NDArray[np.int64]:
    """Return up to `limit` rows, evenly spaced."""
    return np.arange(min(count, limit)) * count // max(min(count, limit), 1)


def _has_own_dev(task: Retrieval, language: str, root: Root) -> bool:
    """Return whether the task has a dev split of a language that is not its test set."""
    found: list[Path | None] = []
    for split in ("dev", "test"):
        try:
            found.append(
                find_file(task.files, FileQuery("retrieval", split, language, root, task.source))
            )
        except DataError:
            found.append(None)
    return found[0] is not None and found[0] != found[1]


def _dictionaries(workspace: Workspace) -> dict[str, Dictionaries]:
    """Return the evaluation's dictionaries from the source language; log those that the vocabulary cannot represent."""
    recipe = workspace.recipe
    pattern = recipe.evaluate.dictionary
    source = recipe.evaluate.source
    found: dict[str, Dictionaries] = {}
    for target in recipe.languages if pattern is not None else ():
        if target == source:
            continue
        path = workspace.root / str(pattern).format(source=source, target=target)
        if not path.is_file():
            log.info("diagnostics: evaluate.dictionary: %s: no such file", path)
            continue
        lexicon = Lexicon.read(path)
        try:
            found[f"{source}-{target}"] = (
                Dictionary().prepare(  # longer words are spelled in shared letters
                    {(source, target): lexicon},
                    workspace.vocab,
                    "evaluate.dictionary",
                    seed=0,
                    max_tokens=4,
                )
            )
        except DataError as error:
            log.info("diagnostics: %s", error)
    return found


MAX_CONCEPTS = 24  # of the embedding plot


def sample_alignments(corpora: Mapping[str, AnyCorpus], pairs: int = 2) -> list[dict[str, Any]]:
    """Return words, links and confidences of the first pairs of medium length of each aligned corpus."""
    samples = []
    for name, corpus in corpora.items():
        if isinstance(corpus, ParallelCorpus):
            aligned = corpus.alignments
        else:
            aligned = None
        if aligned is None:
            continue
        source, target = aligned.words(np.arange(min(len(aligned), 1000)))
        lengths = np.stack([source.lengths, target.lengths])
        off = (np.maximum(5 - lengths, 0) + np.maximum(lengths - 14, 0)).sum(
            axis=0
        )  # from 5 to 14 words a side
        rows = np.sort(np.argsort(off, kind="stable")[:pairs])
        links = aligned.take(rows)
        samples += [
            {
                "corpus": name,
                "source": [aligned.types[0][word] for word in source[row]],
                "target": [aligned.types[1][word] for word in target[row]],
                "links": links.links[number].tolist(),
                "confidence": [round(sure, 3) for sure in links.confidence[number].tolist()],
            }
            for number, row in enumerate(rows.tolist())
        ]
    return samples


def concepts(recipe: Recipe, root: Root) -> list[dict[str, str]]:
    """Return up to `MAX_CONCEPTS` source words with translations in all languages, evenly spaced, to plot.

    There are none if a dictionary is missing: only the plot needs it.
    """
    pattern = recipe.evaluate.dictionary
    source = recipe.evaluate.source
    others = [language for language in recipe.languages if language != source]
    if pattern is None or not others:
        return []
    if missing_concepts(recipe, root):
        return []
    tables: dict[str, dict[str, str]] = {target: {} for target in others}
    for target, table in tables.items():
        for word, translation, _ in read_translations(
            root / pattern.format(source=source, target=target)
        ):
            table.setdefault(word, translation)
    shared = [word for word in tables[others[0]] if all(word in table for table in tables.values())]
    places = (
        np.linspace(0, len(shared) - 1, min(MAX_CONCEPTS, len(shared)))
        .round()
        .astype(np.int64)
        .tolist()
    )
    chosen = [shared[place] for place in places]
    return [
        {source: word, **{target: tables[target][word] for target in others}} for word in chosen
    ]


def missing_concepts(recipe: Recipe, root: Root) -> list[str]:
    """Return a message for each missing dictionary of the embedding plot."""
    pattern = recipe.evaluate.dictionary
    source = recipe.evaluate.source
    messages: list[str] = []
    for target in recipe.languages:
        if pattern is None or target == source:
            continue
        try:
            must_exist(root / pattern.format(source=source, target=target), "dictionary")
        except DataError as error:
            messages.append(f"evaluate.dictionary: {error}")
    return messages


def concept_vectors(
    backbone: Backbone, vocab: Vocab, concepts: list[dict[str, str]]
) -> NDArray[np.float32]:
    """Return (words, H) vectors of all words, each the mean of the input embeddings of its tokens in a sentence."""
    table = backbone.input_embeddings.detach().float().cpu().numpy()
    ids = vocab.encode_words([word for entry in concepts for word in entry.values()])
    means = [
        table[row].mean(axis=0) if len(row) else np.zeros(table.shape[1], np.float32) for row in ids
    ]
    if means:
        return np.stack(means)
    return np.zeros((0, table.shape[1]), np.float32)


def write_words(
    path: Path,
    concepts: list[dict[str, str]],
    before: NDArray[np.float32],
    after: NDArray[np.float32],
) -> None:
    """Write the concepts' words with their vectors before and after training (ALM, figure 4; WEAM, figure 2)."""
    with atomic(path) as partial:
        save_file(
            {"before": before, "after": after},
            partial,
            {"concepts": json.dumps(concepts, ensure_ascii=False)},
        )
