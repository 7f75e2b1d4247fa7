"""The dictionaries of a recipe's objectives: read from files, counted from alignments or induced from word vectors.

The split into training and held-out entries is written into the run's folder, an entry per line: source,
target, part (see `DictionaryPart`) and status (see `EntryStatus`). A resumed run must have the same split.
"""

from __future__ import annotations

import logging
import shutil
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, RunError, SettingsError, did_you_mean
from interlace.core.names import file_in
from interlace.data.cache import cached
from interlace.data.corpus import ParallelCorpus
from interlace.embeddings import WordVectors, induce_lexicon, languages_in
from interlace.experiments.word_alignment import align_corpus, version
from interlace.objectives.common.dictionaries import Dictionary, DictionaryPart, EntryStatus
from interlace.tasks.common.dictionaries import DICTIONARIES
from interlace.text.lines import read_lines, write_lines
from interlace.training import checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from interlace.experiments.prepare import Materials
    from interlace.experiments.recipe import CorpusGroup, Recipe
    from interlace.objectives import Objective
    from interlace.objectives.common.dictionaries import DictionarySplit
    from interlace.training.mixture import Mixture

log = logging.getLogger(__name__)
_HEADER = "source\ttarget\tpart\tstatus"
_Pair = tuple[str, str]


def lexicons_of(
    recipe: Recipe, name: str, objective: Objective, corpora: list[str], materials: Materials
) -> dict[_Pair, Lexicon]:
    """Return the dictionaries that an objective learns from, by language pair; empty if it needs none.

    Without `dictionary.pairs`: all language pairs of the recipe with a language of the objective's corpora, if there is
    a file or a parallel corpus.

    Raises:
        DataError: there is no dictionary, one of `dictionary.pairs` is missing, or a file is malformed.
        SettingsError: `dictionary.pairs` names an unknown language.
    """
    if "lexicon" not in objective.needs:
        return {}
    settings: Dictionary = getattr(objective, "dictionary", Dictionary())
    where = f"objectives.{name}.dictionary"
    wanted = _pairs(recipe, settings, where, corpora)
    if settings.files is not None:
        return _read(settings, where, materials.root, wanted)
    if settings.vectors is not None:
        return _induced(settings, where, Path(settings.vectors), wanted)
    return _counted(recipe, settings, where, materials, wanted)


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


def _read(settings: Dictionary, where: str, root: Path, wanted: list[_Pair]) -> dict[_Pair, Lexicon]:
    """Read files of either direction; those of `dictionary.pairs` are required."""
    pattern = settings.files or ""
    if len(wanted) > 1 and pattern == pattern.format(source="", target=""):
        raise SettingsError(
            f"{where}.files: {pattern!r} is one file for {len(wanted)} language pairs; set {where}.pairs, or use "
            "{source} and {target} in the pattern"
        )
    found: dict[_Pair, Lexicon] = {}
    for source, target in wanted:
        pairs = [(source, target)] if settings.pairs else [(source, target), (target, source)]
        paths = {pair: root / pattern.format(source=pair[0], target=pair[1]) for pair in pairs}
        there = next((pair for pair, path in paths.items() if path.is_file()), None)
        if there is not None:
            found[there] = Lexicon.read(paths[there])
        elif settings.pairs:
            raise DataError(f"{where}: no dictionary {paths[source, target]}")
    if not found:
        searched = ", ".join(str(root / pattern.format(source=source, target=target)) for source, target in wanted[:3])
        raise DataError(f"{where}: no dictionary found; looked for {searched or 'none: the recipe has one language'}")
    return found


def _induced(settings: Dictionary, where: str, folder: Path, wanted: list[_Pair]) -> dict[_Pair, Lexicon]:
    """Induce dictionaries of mutual nearest neighbors; languages of `dictionary.pairs` are required."""
    folder = folder / "vectors" if (folder / "vectors").is_dir() else folder
    there = languages_in(folder)
    if missing := [pair for pair in wanted if settings.pairs and not {*pair} <= {*there}]:
        raise DataError(f"{where}: {folder} has no vectors of {' and '.join(missing[0])}; it has {there or 'none'}")
    usable = [pair for pair in wanted if {*pair} <= {*there}]
    if not usable:
        raise DataError(
            f"{where}: {folder} has word vectors of {there or 'no language'}; two languages of the recipe are needed: "
            "learn them by `interlace pretrain` with a recipe that has [embeddings]"
        )
    vectors = {language: WordVectors.load(folder, language) for pair in usable for language in pair}
    found = {
        (source, target): induce_lexicon(vectors[source], vectors[target], max_words=settings.max_words)
        for source, target in usable
    }
    for (source, target), lexicon in found.items():
        log.info("%s-%s: %d mutual nearest neighbors in %s", source, target, len(lexicon), folder)
    return found


def _counted(
    recipe: Recipe, settings: Dictionary, where: str, materials: Materials, wanted: list[_Pair]
) -> dict[_Pair, Lexicon]:
    """Count mutually best translations in the alignments of the recipe's parallel corpora."""
    found: dict[_Pair, list[Lexicon]] = {}
    for group, corpus in _parallel(recipe, materials):
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
    lexicons = {pair: _joined(parts) for pair, parts in found.items()}
    lexicons = {pair: lexicon for pair, lexicon in lexicons.items() if len(lexicon)}
    if not lexicons:
        cure = f"lower {where}.min_count" if found else "add a group with 'pairs' to [corpora]"
        raise DataError(f"{where}: no entry could be counted from parallel text; {cure}, or set {where}.files")
    return lexicons


def _parallel(recipe: Recipe, materials: Materials) -> Iterator[tuple[CorpusGroup, str]]:
    for name, group in recipe.corpora.items():
        for corpus, key in zip([*group.languages, *group.pairs], materials.groups[name], strict=True):
            if isinstance(materials.train.get(key), ParallelCorpus):
                yield group, corpus


def _count(recipe: Recipe, settings: Dictionary, group: CorpusGroup, corpus: str, root: Path) -> Lexicon:
    """Count the entries of one corpus, or load them from the cache."""
    aligned = align_corpus(recipe, group, corpus, root)

    def build(into: Path) -> None:
        log.info("counting a dictionary of %s", corpus)
        with TemporaryDirectory(dir=into) as spool:
            words, found = aligned.whole(Path(spool))
            counted = Lexicon.count(words, found.links)
        counted.mutual().at_least(settings.min_count).words().write(into / "lexicon.tsv")

    key = {"links": aligned.folder.name, "min_count": settings.min_count, "version": version()}
    path = cached("lexicon", key, build) / "lexicon.tsv"
    return Lexicon.read(path) if path.stat().st_size else Lexicon.of([])


def _joined(lexicons: list[Lexicon]) -> Lexicon:
    if len(lexicons) == 1:
        return lexicons[0]
    return Lexicon.of(lexicon[entry] for lexicon in lexicons for entry in range(len(lexicon)))


def store_dictionaries(mixture: Mixture, into: Path) -> None:
    """Write the dictionary splits of all objectives into the run's folder; check those of a resumed run.

    Raises:
        RunError: a split differs from the stored one.
    """
    splits = _named(mixture)
    files = {path: [_HEADER, *_lines(one)] for path, one in _files(splits, into).items()}
    if checkpoint.steps_in(into / "checkpoints"):
        for path, lines in files.items():
            if not path.exists() or list(read_lines(path)) != lines:
                raise RunError(
                    f"{path}: the entries have changed since the run started; restore the dictionary (or the text "
                    "it is counted from), or choose another folder"
                )
        return
    write_dictionaries(splits, into)


def write_dictionaries(splits: Mapping[str, DictionarySplit], into: Path) -> None:
    """Replace the dictionaries in the run's folder; names are those of files."""
    shutil.rmtree(into / DICTIONARIES, ignore_errors=True)
    for path, one in _files(splits, into).items():
        path.parent.mkdir(exist_ok=True)
        write_lines(path, [_HEADER, *_lines(one)])


def _files(splits: Mapping[str, DictionarySplit], into: Path) -> dict[Path, DictionarySplit]:
    return {file_in(into / DICTIONARIES, f"{name}.tsv"): one for name, one in splits.items()}


def _named(mixture: Mixture) -> dict[str, DictionarySplit]:
    """Return the splits by objective and languages."""
    return {
        f"{source.objective}.{split.name}": split
        for source in mixture.sources
        if source.prepared.dictionaries is not None
        for split in source.prepared.dictionaries.splits
    }


def _lines(split: DictionarySplit) -> Iterator[str]:
    parts = [part.name.lower().replace("_", "-") for part in DictionaryPart]
    statuses = [status.name.lower().replace("_", "-") for status in EntryStatus]
    known = split.statuses if split.statuses is not None else [EntryStatus.USED] * len(split.parts)
    for entry, (part, status) in enumerate(zip(split.parts, known, strict=True)):
        source, target, _ = split.lexicon[entry]
        yield f"{source}\t{target}\t{parts[part]}\t{statuses[status]}"
