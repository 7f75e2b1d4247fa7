"""Build the mixture of a recipe: a source of batches for each objective and corpus, and the dictionaries of objectives.

Dictionaries are read from files, counted from alignments or induced from word vectors. Their split into training and
held-out entries is written into the run's folder, an entry per line: source, target, part (see `DictionaryPart`) and
status (see `EntryStatus`).
"""

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from interlace.core.errors import CheckpointError, DataError, SettingsError
from interlace.core.files import must_exist
from interlace.core.names import file_in
from interlace.core.ragged import IntArray
from interlace.data import Pairs
from interlace.data.corpus import ParallelCorpus
from interlace.data.layout import SPECIALS
from interlace.data.packing import PackedSentences, Streams
from interlace.data.sampling import BucketPlan, PackedPlan, StreamPlan
from interlace.experiments.lexicons import lexicons_of
from interlace.experiments.recipe import Recipe
from interlace.experiments.run import Run, starting_points
from interlace.experiments.workspace import Workspace, sides_of
from interlace.models.families import Family, Traits
from interlace.objectives import Objective, Prepared, Resources
from interlace.objectives.common.dictionaries import (
    DictionaryPart,
    DictionarySplit,
    EntryStatus,
)
from interlace.tasks.common.dictionaries import DICTIONARIES
from interlace.training.mixture import (
    BatchPlan,
    BucketedBatches,
    Mixture,
    MixtureSource,
    StreamedBatches,
)

log = logging.getLogger(__name__)


def with_limited_lengths(recipe: Recipe, traits: Traits) -> Recipe:
    """Return the recipe with default `max_length`s limited to the model's; reject a larger one that is set."""
    limit = traits.max_length
    entries = dict(recipe.objectives)
    for name, entry in recipe.objectives.items():
        max_length = recipe.objective(name).max_length
        if max_length <= limit:
            continue
        key = f"objectives.{name}.max_length"
        if "max_length" in entry.settings:
            raise SettingsError(
                f"recipe {recipe.name!r}: {key} = {max_length}, but the model's maximum is {limit} tokens; set it to "
                f"{limit} or less"
            )
        log.info("%s: %d, the model's maximum, not %d", key, limit, max_length)
        settings = {**entry.settings, "max_length": limit}
        entries[name] = entry.model_copy(update={"settings": settings})
    return recipe.model_copy(update={"objectives": entries})


def check_objectives(recipe: Recipe, family: Family) -> None:
    """Raise a SettingsError if an objective trains an encoder, and the model is a published encoder-decoder."""
    if not family.encoder_decoder:
        return
    for name in recipe.objectives:
        if recipe.objective(name).architecture != "seq2seq":
            raise SettingsError(
                f"recipe {recipe.name!r}: objectives.{name} trains an encoder, but the start is an encoder-decoder of "
                f"the {family.name} family, which translation, back_translation, denoise and mass train; start from an "
                "encoder"
            )


def build_mixture(workspace: Workspace, traits: Traits, *, packed: bool = False) -> Mixture:
    """Return a source for every objective and each of its corpora, with language shares q ~ p^alpha.

    packed: whether batches are packed rows, where their objective can read such.
    """
    recipe = workspace.recipe
    sources: list[MixtureSource] = []
    for name in recipe.objectives:
        try:
            sources += _sources(workspace, name, traits, packed=packed)
        except (SettingsError, DataError, CheckpointError) as error:
            raise type(error)(
                f"recipe {recipe.name!r}, [objectives.{name}]: {error}"
            ) from error
    train = recipe.train
    return Mixture(sources, recipe.seed, alpha=train.language_alpha, alternate=train.alternate)


def _sources(
    workspace: Workspace, name: str, traits: Traits, *, packed: bool
) -> Iterator[MixtureSource]:
    recipe = workspace.recipe
    entry = recipe.objectives[name]
    objective = recipe.objective(name)
    corpora = _corpora_of(workspace, objective, entry.corpora)
    frequencies = None
    if objective.needs_frequencies:
        frequencies = _frequencies(workspace, corpora)
    resources = Resources(
        vocab=workspace.vocab,
        traits=traits,
        frequencies=frequencies,
        seed=recipe.seed,
        lexicons=lexicons_of(workspace, name, corpora),
        languages=tuple(recipe.languages),
    )
    prepared = objective.prepare(resources)
    if prepared.dictionaries is not None:
        for split in prepared.dictionaries.splits:
            log.info("%s: %s", name, split.note())
    readable = list(workspace.readable)
    for corpus in corpora:
        data = workspace.readable[corpus]
        number = readable.index(corpus)
        packing = prepared if packed and objective.packs else None
        plan = _plan(workspace, objective, corpus, number, packing)
        yield MixtureSource(
            objective=name,
            corpus=corpus,
            learner=objective,
            prepared=prepared,
            plan=plan,
            size=float(len(data)),
            weight=entry.weight,
            loss_weight=entry.loss_weight,
        )


def _corpora_of(workspace: Workspace, objective: Objective, wanted: Sequence[str]) -> list[str]:
    """Return the names of an objective's corpora: those of its settings, else all that it can read.

    wanted: groups, corpora, and sides of corpora. Monolingual objectives read both sides of parallel text; by default
    only if there is no other text.
    """
    names = []
    for group_or_corpus in wanted or workspace.groups:
        names += workspace.groups.get(group_or_corpus, [group_or_corpus])
    names = [name for name in names if name in workspace.readable]
    parallel = [name for name in names if isinstance(workspace.readable[name], ParallelCorpus)]
    if objective.reads is Pairs:
        return parallel
    monolingual = [name for name in names if name not in parallel]
    if monolingual and not wanted:
        return monolingual
    read: list[str] = []
    for name in names:
        corpus = workspace.readable[name]
        read += sides_of({name: corpus}) or [name]
    return list(dict.fromkeys(read))


def _frequencies(workspace: Workspace, corpora: Sequence[str]) -> IntArray:
    """(V,) counts of each token in several corpora."""
    frequencies = np.zeros(workspace.vocab.size, np.int64)
    for corpus in corpora:
        frequencies += workspace.readable[corpus].frequencies(workspace.vocab.size)
    return frequencies


def _plan(
    workspace: Workspace,
    objective: Objective,
    corpus: str,
    number: int,
    packing: Prepared | None,
) -> BatchPlan:
    """Return the batches of an objective over one corpus, the one with this number among the readable ones.

    packing: what the objective prepared, if its batches are packed rows.
    """
    seed = workspace.recipe.seed
    end = workspace.vocab.end
    data: Any = workspace.readable[corpus]
    budget = workspace.recipe.train.micro_batch_tokens
    packed_length = objective.packed_length()
    if packed_length is not None:
        rows = _fitting(objective, corpus, data, packed_length)
        data = PackedSentences(data, packed_length, end, rows)
    elif objective.streams and not isinstance(data, ParallelCorpus):
        streams = Streams(data, objective.max_length - 2, end)
        if len(streams) == 0:
            raise DataError(
                f"corpus {corpus!r} has too little text for one sequence of {objective.max_length} tokens; lower "
                f"objectives.{objective.name}.max_length, or add text"
            )
        stream_plan = StreamPlan(len(streams), budget, objective.max_length, seed, number)
        return StreamedBatches(streams, stream_plan)
    rows = None
    lengths = data.side_lengths
    if objective.drops_long:
        rows = _fitting(objective, corpus, data, objective.max_length - SPECIALS)
    if rows is not None:
        lengths = [side[rows] for side in lengths]
    if packing is not None:
        tokens = objective.packed_tokens(packing, *lengths)
        budget = int(objective.packed_share * budget)
        return BucketedBatches(data, PackedPlan(tokens, budget, seed=seed, corpus=number), rows)
    if len(lengths) == 2:
        costs = objective.pair_costs(*lengths)
    else:
        costs = objective.sentence_costs(*lengths)
    plan = BucketPlan(costs, budget, seed=seed, corpus=number)
    return BucketedBatches(data, plan, rows)


def _fitting(objective: Objective, corpus: str, data: Any, max_length: int) -> IntArray | None:
    """Return the rows whose sides all have at most `max_length` tokens; None: all rows."""
    longer_side = np.stack(data.side_lengths).max(axis=0)  # (rows,)
    rows = np.flatnonzero(longer_side <= max_length)
    if len(rows) == len(data):
        return None
    dropped = len(data) - len(rows)
    about = (
        f"{dropped:,} of {len(data):,} rows of {corpus!r} are longer than {max_length} tokens"
    )
    if not len(rows):
        raise DataError(f"{about}; raise objectives.{objective.name}.max_length")
    log.info("%s: skipping long rows: %s", objective.name, about)
    return rows


def dictionary_texts(mixture: Mixture) -> dict[str, str]:
    """Return the dictionaries of all objectives as text, by `OBJECTIVE.SOURCE-TARGET`."""
    texts = {}
    for source in mixture.sources:
        if source.prepared.dictionaries is not None:
            for split in source.prepared.dictionaries.splits:
                texts[f"{source.objective}.{split.name}"] = dictionary_text(split)
    return texts


def dictionary_text(split: DictionarySplit) -> str:
    """Return the content of a dictionary's file: the languages, then an entry a line."""
    source_language, target_language = split.languages
    text = f"{source_language}\t{target_language}\tpart\tstatus\n"
    for entry, (source, target, _) in enumerate(split.lexicon):
        part = DictionaryPart(split.parts[entry]).name
        status = EntryStatus(split.statuses[entry]).name
        use = f"{part}\t{status}".lower().replace("_", "-")
        text += f"{source}\t{target}\t{use}\n"
    return text


def write_dictionaries(texts: Mapping[str, str], recipe: Recipe, into: Path) -> None:
    """Replace the dictionaries in the run's folder.

    Those of the runs that the model starts from are copied: their words were trained on, too.
    """
    texts = dict(texts)
    for number, start in enumerate(starting_points(recipe)):
        start_folder = Run.of_model(start).folder / DICTIONARIES
        for path in sorted(start_folder.glob("*.tsv")):
            name = f"start{number}.{path.stem}"
            texts[name] = must_exist(path).read_text("utf-8")
    folder = into / DICTIONARIES
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in texts.items():
        path = file_in(folder, f"{name}.tsv")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
