"""Build the mixture of a recipe: a source of batches for each objective and corpus, and the dictionaries of objectives.

Dictionaries are read from files, counted from alignments or induced from word vectors. Their split into training and
held-out entries is written into the run's folder, an entry per line: source, target, part (see `DictionaryPart`) and
status (see `EntryStatus`). A resumed run must have the same split.
"""

import logging
import shutil
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, RunError, SettingsError, did_you_mean
from interlace.core.names import file_in
from interlace.data import Pairs
from interlace.data.cache import cached
from interlace.data.corpus import ParallelCorpus
from interlace.data.layout import SPECIALS
from interlace.data.packing import PackedSentences, Streams
from interlace.data.sampling import BucketPlan, StreamPlan
from interlace.embeddings import WordVectors, induce_lexicon, languages_in
from interlace.experiments.corpora import align_corpus, code_hash
from interlace.experiments.prepare import Materials, sides_of
from interlace.experiments.recipe import CorpusGroup, Recipe
from interlace.experiments.records import run_of, starting_points
from interlace.models.families import Traits
from interlace.objectives import Objective, Resources
from interlace.objectives.common.dictionaries import Dictionary, DictionaryPart, DictionarySplit, EntryStatus
from interlace.tasks.common.dictionaries import DICTIONARIES
from interlace.text.lines import read_lines, write_lines
from interlace.training import checkpoint
from interlace.training.mixture import BatchPlan, BucketedBatches, Mixture, MixtureSource, StreamedBatches

log = logging.getLogger(__name__)


def with_limited_lengths(recipe: Recipe, traits: Traits, level: int = logging.INFO) -> Recipe:
    """Return the recipe with default `max_length`s limited to the model's; reject a larger one that is set."""
    entries, limit = dict(recipe.objectives), traits.max_length
    for name, entry in entries.items():
        if (default := recipe.objective(name).max_length) <= limit:
            continue
        if "max_length" in entry.settings:
            raise SettingsError(
                f"recipe {recipe.name!r}: objectives.{name}.max_length = {default}, but the model's maximum is {limit} "
                f"tokens; set it to {limit} or less"
            )
        log.log(level, "objectives.%s.max_length: %d, the model's maximum, instead of %d", name, limit, default)
        entries[name] = entry.model_copy(update={"settings": {**entry.settings, "max_length": limit}})
    return recipe.model_copy(update={"objectives": entries})


def build_mixture(recipe: Recipe, materials: Materials, traits: Traits) -> Mixture:
    """Return a source for every objective and each of its corpora, with language shares q ~ p^alpha."""
    sources: list[MixtureSource] = []
    for name in recipe.objectives:
        try:
            sources += _sources(recipe, name, materials, traits)
        except (SettingsError, DataError) as error:
            raise type(error)(f"recipe {recipe.name!r}, [objectives.{name}]: {error}") from error
    train = recipe.train
    alpha, alternate, max_passes = train.language_alpha, train.alternate, train.max_passes
    return Mixture(sources, recipe.seed, alpha=alpha, alternate=alternate, max_passes=max_passes)


def _sources(recipe: Recipe, name: str, materials: Materials, traits: Traits) -> Iterator[MixtureSource]:
    entry, objective = recipe.objectives[name], recipe.objective(name)
    corpora = _corpora_of(objective, entry.corpora, materials)
    prepared = objective.prepare(_resources(recipe, name, objective, corpora, materials, traits))
    for note in prepared.dictionaries.notes if prepared.dictionaries is not None else ():
        log.info("%s", note)
    for corpus in corpora:
        data: Any = materials.readable[corpus]
        size = float(data.lengths.sum() if recipe.train.sampling_unit == "tokens" else len(data))
        plan = _plan(recipe, objective, materials, corpus, list(materials.readable).index(corpus))
        yield MixtureSource(name, corpus, objective, prepared, plan, size, entry.weight, entry.loss_weight)


def _corpora_of(objective: Objective, wanted: list[str], materials: Materials) -> list[str]:
    """Return the names of an objective's corpora: those of its settings, else all that it can read.

    Monolingual objectives read both sides of parallel text; by default only if there is no other text.
    """
    chosen = [corpus for group in wanted for corpus in materials.groups.get(group, [group])] or list(materials.train)
    sides = {name: list(sides_of({name: materials.readable[name]})) for name in chosen}
    if objective.reads is Pairs:
        return [name for name in chosen if sides[name]]
    alone = [name for name in chosen if not sides[name]]
    if alone and not wanted:
        return alone
    return list(dict.fromkeys(read for name in chosen for read in sides[name] or [name]))


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
    budget = recipe.train.micro_batch_tokens
    max_length = objective.packed_length()
    if max_length is not None:
        data = PackedSentences(data, max_length, materials.vocab.end, _fitting(objective, corpus, data, max_length))
    elif objective.streams and not isinstance(data, ParallelCorpus):
        streams = Streams(data, objective.max_length - 2, materials.vocab.end)
        if len(streams) == 0:
            raise DataError(
                f"corpus {corpus!r} has too little text for one sequence of {objective.max_length} tokens; lower "
                f"objectives.{objective.name}.max_length, or add text"
            )
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
        raise DataError(f"{about}; raise objectives.{objective.name}.max_length")
    log.info("%s: skipping long rows: %s", objective.name, about)
    return np.flatnonzero(fits)


_Pair = tuple[str, str]


def lexicons_of(
    recipe: Recipe, name: str, objective: Objective, corpora: list[str], materials: Materials
) -> dict[_Pair, Lexicon]:
    """Return the dictionaries that an objective learns from, by language pair; empty if it needs none.

    Without `dictionary.pairs`: all language pairs of the recipe with a language of the objective's corpora, if there is
    a file or a parallel corpus. Raise a DataError if a dictionary is missing or malformed.
    """
    if "lexicon" not in objective.needs:
        return {}
    settings: Dictionary = getattr(objective, "dictionary", Dictionary())
    where = f"objectives.{name}.dictionary"
    wanted = _pairs(recipe, settings, where, corpora)
    if settings.files is not None:
        paths = _dictionary_paths(settings, where, materials.root, wanted)
        return {pair: Lexicon.read(path) for pair, path in paths.items()}
    if settings.vectors is not None:
        return _induced(settings, where, _vectors_in(settings.vectors), wanted)
    return _counted(recipe, settings, where, materials, wanted)


def check_dictionaries(recipe: Recipe, name: str, root: Path) -> None:
    """Raise the error of `lexicons_of` about files of dictionaries or vectors that are missing, without reading any."""
    objective = recipe.objective(name)
    if "lexicon" not in objective.needs:
        return
    settings: Dictionary = getattr(objective, "dictionary", Dictionary())
    where = f"objectives.{name}.dictionary"
    corpora: list[str] = []
    for label in recipe.objectives[name].corpora or recipe.corpora:
        group = recipe.corpora.get(label)
        corpora += [label] if group is None else group.trained
    wanted = _pairs(recipe, settings, where, corpora)
    if settings.files is not None:
        _dictionary_paths(settings, where, root, wanted)
    elif settings.vectors is not None:
        _pairs_with_vectors(settings, where, _vectors_in(settings.vectors), wanted)


def _pairs(recipe: Recipe, settings: Dictionary, where: str, corpora: list[str]) -> list[_Pair]:
    """Return the language pairs of dictionaries."""
    languages = recipe.languages
    if settings.pairs:
        for language in [language for pair in settings.pairs for language in pair.split("-")]:
            if language not in languages:
                raise SettingsError(f"{where}.pairs: no language {language!r}{did_you_mean(language, languages)}")
        return [(source, target) for source, target in (pair.split("-") for pair in settings.pairs)]
    read = {language for corpus in corpora for language in corpus.rpartition(":")[2].split("-")}
    return [pair for pair in combinations(languages, 2) if read & set(pair)]


def _dictionary_paths(settings: Dictionary, where: str, root: Path, wanted: list[_Pair]) -> dict[_Pair, Path]:
    """Return the files of either direction; those of `dictionary.pairs` are required."""
    pattern = settings.files or ""
    if len(wanted) > 1 and pattern == pattern.format(source="", target=""):
        raise SettingsError(
            f"{where}.files: {pattern!r} is one file for {len(wanted)} language pairs; set {where}.pairs, or use "
            "{source} and {target} in the pattern"
        )
    found: dict[_Pair, Path] = {}
    for source, target in wanted:
        pairs = [(source, target)] if settings.pairs else [(source, target), (target, source)]
        paths = {pair: root / pattern.format(source=pair[0], target=pair[1]) for pair in pairs}
        there = next((pair for pair, path in paths.items() if path.is_file()), None)
        if there is not None:
            found[there] = paths[there]
        elif settings.pairs:
            raise DataError(f"{where}.files: no dictionary {paths[source, target]}")
    if not found:
        searched = ", ".join(str(root / pattern.format(source=source, target=target)) for source, target in wanted[:3])
        raise DataError(
            f"{where}.files: no dictionary found; looked for {searched or 'none: the recipe has one language'}"
        )
    return found


def _induced(settings: Dictionary, where: str, folder: Path, wanted: list[_Pair]) -> dict[_Pair, Lexicon]:
    """Induce dictionaries of mutual nearest neighbors; languages of `dictionary.pairs` are required."""
    usable = _pairs_with_vectors(settings, where, folder, wanted)
    vectors = {language: WordVectors.load(folder, language) for pair in usable for language in pair}
    found = {
        (source, target): induce_lexicon(vectors[source], vectors[target], max_words=settings.max_words)
        for source, target in usable
    }
    for (source, target), lexicon in found.items():
        log.info("%s-%s: %d mutual nearest neighbors in %s", source, target, len(lexicon), folder)
    return found


def _vectors_in(folder: str) -> Path:
    """Return the folder of word vectors: the one in a run, or the folder itself."""
    vectors = Path(folder) / "vectors"
    return vectors if vectors.is_dir() else Path(folder)


def _pairs_with_vectors(settings: Dictionary, where: str, folder: Path, wanted: list[_Pair]) -> list[_Pair]:
    """Return the wanted pairs with word vectors of both languages; raise a DataError if there are too few."""
    there = languages_in(folder)
    usable = [pair for pair in wanted if {*pair} <= {*there}]
    missing = [pair for pair in wanted if pair not in usable]
    if settings.pairs and missing:
        languages = " and ".join(missing[0])
        raise DataError(f"{where}.vectors: {folder} has no vectors of {languages}; it has {there or 'none'}")
    if not usable:
        raise DataError(
            f"{where}.vectors: {folder} has word vectors of {there or 'no language'}; two languages of the recipe are "
            "needed: learn them by `interlace pretrain` with a recipe that has [embeddings]"
        )
    return usable


def _counted(
    recipe: Recipe, settings: Dictionary, where: str, materials: Materials, wanted: list[_Pair]
) -> dict[_Pair, Lexicon]:
    """Count mutually best translations in the alignments of the recipe's parallel corpora."""
    found: dict[_Pair, list[Lexicon]] = {}
    for name, group in recipe.corpora.items():
        for corpus, key in zip(group.trained, materials.groups[name], strict=False):  # groups without training: none
            if not isinstance(materials.train[key], ParallelCorpus):
                continue
            source, target = corpus.split("-")
            if (source, target) in wanted:
                found.setdefault((source, target), []).append(_count(recipe, settings, group, corpus, materials.root))
            elif (target, source) in wanted:
                lexicon = _count(recipe, settings, group, corpus, materials.root).reversed()
                found.setdefault((target, source), []).append(lexicon)
    if missing := [pair for pair in wanted if settings.pairs and pair not in found]:
        raise DataError(
            f"{where}: the recipe has no parallel text of {' and '.join(missing[0])} to count a dictionary from; "
            f"add it to [corpora], or set {where}.files"
        )
    lexicons = {
        pair: parts[0] if len(parts) == 1 else Lexicon.of(part[entry] for part in parts for entry in range(len(part)))
        for pair, parts in found.items()
    }
    lexicons = {pair: lexicon for pair, lexicon in lexicons.items() if len(lexicon)}
    if not lexicons:
        cure = f"lower {where}.min_count" if found else "add a group with 'pairs' to [corpora]"
        raise DataError(f"{where}: no entry could be counted from parallel text; {cure}, or set {where}.files")
    return lexicons


def _count(recipe: Recipe, settings: Dictionary, group: CorpusGroup, corpus: str, root: Path) -> Lexicon:
    """Count the entries of one corpus, or load them from the cache."""
    aligned = align_corpus(recipe, group, corpus, root)

    def build(into: Path) -> None:
        log.info("counting a dictionary of %s", corpus)
        with TemporaryDirectory(dir=into) as spool:
            words, found = aligned.whole(Path(spool))
            counted = Lexicon.count(words, found.links)
        counted.mutual().at_least(settings.min_count).words().write(into / "lexicon.tsv")

    key = {"links": aligned.folder.name, "min_count": settings.min_count, "version": code_hash("alignment")}
    path = cached("lexicon", key, build) / "lexicon.tsv"
    return Lexicon.read(path) if path.stat().st_size else Lexicon.of([])


def store_dictionaries(mixture: Mixture, recipe: Recipe, into: Path) -> None:
    """Write the dictionary splits of all objectives into the run's folder; raise a RunError if others are there.

    Those of the runs that the model starts from are copied: their words were trained on, too.
    """
    splits = {
        f"{source.objective}.{split.name}": split
        for source in mixture.sources
        if source.prepared.dictionaries is not None
        for split in source.prepared.dictionaries.splits
    }
    if not checkpoint.steps_in(into / "checkpoints"):
        write_dictionaries(splits, into)
        for number, start in enumerate(starting_points(recipe)):
            for path in sorted((run_of(start) / DICTIONARIES).glob("*.tsv")):
                (into / DICTIONARIES).mkdir(exist_ok=True)
                write_lines(into / DICTIONARIES / f"start{number}.{path.name}", read_lines(path))
        return
    for name, split in splits.items():
        path = file_in(into / DICTIONARIES, f"{name}.tsv")
        if not path.exists() or list(read_lines(path)) != list(_lines(split)):
            raise RunError(
                f"{path}: the entries have changed since the run started; restore the dictionary (or the text it is "
                "counted from), or choose another folder"
            )


def write_dictionaries(splits: Mapping[str, DictionarySplit], into: Path) -> None:
    """Replace the dictionaries in the run's folder; names are those of files."""
    shutil.rmtree(into / DICTIONARIES, ignore_errors=True)
    for name, split in splits.items():
        path = file_in(into / DICTIONARIES, f"{name}.tsv")
        path.parent.mkdir(exist_ok=True)
        write_lines(path, _lines(split))


def _lines(split: DictionarySplit) -> Iterator[str]:
    source_language, target_language = split.languages
    yield f"{source_language}\t{target_language}\tpart\tstatus"
    parts, statuses = ([one.name.lower().replace("_", "-") for one in kind] for kind in (DictionaryPart, EntryStatus))
    known = split.statuses if split.statuses is not None else [EntryStatus.USED] * len(split.parts)
    for entry, (part, status) in enumerate(zip(split.parts, known, strict=True)):
        source, target, _ = split.lexicon[entry]
        yield f"{source}\t{target}\t{parts[part]}\t{statuses[status]}"
