"""The dictionaries of a recipe: read from files, counted from word alignments, or induced from word vectors."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from interlace.alignment.lexicon import Lexicon
from interlace.core.data_root import Root
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.data.artifacts import Artifact
from interlace.data.cache import code_hash
from interlace.embeddings import WordVectors, induce_lexicon, languages_in
from interlace.experiments.alignments import CorpusAlignments
from interlace.experiments.recipe import Recipe
from interlace.experiments.workspace import Workspace
from interlace.objectives import Objective
from interlace.objectives.common.dictionaries import Dictionary

log = logging.getLogger(__name__)

LanguagePair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class CountedLexicon(Artifact[Lexicon]):
    """The mutually best translations in the word alignments of a corpus."""

    kind: ClassVar[str] = "lexicon"

    alignments: CorpusAlignments
    min_count: float

    def __str__(self) -> str:
        return f"a dictionary of {self.alignments.text}"

    @cached_property
    def key(self) -> dict[str, Any]:
        """The alignments, the smallest count of an entry, and the code."""
        return {
            "alignments": self.alignments.id,
            "min_count": self.min_count,
            "version": code_hash("alignment"),
        }

    def needs(self) -> Sequence[CorpusAlignments]:
        """Return the alignments."""
        return (self.alignments,)

    def build(self, folder: Path) -> None:
        """Count the links, and write the entries."""
        with TemporaryDirectory(dir=folder) as spool:
            words, links = self.alignments.get().whole(Path(spool))
            counted = Lexicon.count(words, links.links)
        counted.mutual().at_least(self.min_count).words().write(folder / "lexicon.tsv")

    def open(self, folder: Path) -> Lexicon:
        """Read the entries."""
        path = folder / "lexicon.tsv"
        if path.stat().st_size:
            return Lexicon.read(path)
        return Lexicon.of([])


def lexicons_of(
    workspace: Workspace, name: str, objective: Objective, corpora: Sequence[str]
) -> dict[LanguagePair, Lexicon]:
    """Return the dictionaries that an objective learns from, by language pair; empty if it needs none.

    Without `dictionary.pairs`: all language pairs of the recipe with a language of the objective's corpora, if there is
    a file or a parallel corpus.

    Raises:
        DataError: a dictionary is missing or malformed.
    """
    if "lexicon" not in objective.needs:
        return {}
    settings: Dictionary = getattr(objective, "dictionary", Dictionary())
    key = f"objectives.{name}.dictionary"
    pairs = _wanted_pairs(workspace.recipe, settings, key, corpora)
    if settings.files is not None:
        paths = _dictionary_paths(settings, key, workspace.root, pairs)
        return {pair: Lexicon.read(path) for pair, path in paths.items()}
    if settings.vectors is not None:
        return _induced_lexicons(settings, key, pairs)
    return _counted_lexicons(workspace, settings, key, pairs)


def check_dictionaries(recipe: Recipe, name: str, root: Root) -> None:
    """Raise the error of `lexicons_of` about files of dictionaries or vectors that are missing, without reading any."""
    objective = recipe.objective(name)
    if "lexicon" not in objective.needs:
        return
    settings: Dictionary = getattr(objective, "dictionary", Dictionary())
    key = f"objectives.{name}.dictionary"
    corpora: list[str] = []
    for label in recipe.objectives[name].corpora or recipe.corpora:
        group = recipe.corpora.get(label)
        corpora += [label] if group is None else group.trained
    pairs = _wanted_pairs(recipe, settings, key, corpora)
    if settings.files is not None:
        _dictionary_paths(settings, key, root, pairs)
    elif settings.vectors is not None:
        _pairs_with_vectors(settings, key, pairs)


def vector_dictionaries(recipe: Recipe, pattern: str, root: Root) -> dict[LanguagePair, Path]:
    """Return the dictionaries of `embeddings.dictionary` by language pair, in either direction; at least one."""
    paths: dict[LanguagePair, Path] = {}
    searched: list[Path] = []
    for source, target in combinations(recipe.languages, 2):
        for pair in ((source, target), (target, source)):
            path = _path_of(pattern, root, pair)
            searched.append(path)
            if path.is_file():
                paths[pair] = path
                break
    if not paths:
        examples = ", ".join(map(str, searched[:3])) or "none: the recipe has one language"
        raise DataError(f"embeddings.dictionary: no such file; looked for {examples}")
    return paths


def _wanted_pairs(
    recipe: Recipe, settings: Dictionary, key: str, corpora: Sequence[str]
) -> list[LanguagePair]:
    """Return the language pairs of dictionaries: those of the settings, or all with a language of the corpora."""
    languages = recipe.languages
    if not settings.pairs:
        languages_read: set[str] = set()
        for corpus in corpora:
            languages_read |= set(corpus.rpartition(":")[2].split("-"))
        return [pair for pair in combinations(languages, 2) if languages_read & set(pair)]
    pairs: list[LanguagePair] = []
    for pair in settings.pairs:
        source, target = pair.split("-")
        for language in (source, target):
            if language not in languages:
                raise SettingsError(
                    f"{key}.pairs: no language {language!r}{did_you_mean(language, languages)}"
                )
        pairs.append((source, target))
    return pairs


# ---- from files ----


def _path_of(pattern: str, root: Root, pair: LanguagePair) -> Path:
    source, target = pair
    return root / pattern.format(source=source, target=target)


def _dictionary_paths(
    settings: Dictionary, key: str, root: Root, pairs: Sequence[LanguagePair]
) -> dict[LanguagePair, Path]:
    """Return the files of either direction; those of `dictionary.pairs` are required."""
    pattern = settings.files or ""
    if len(pairs) > 1 and pattern == pattern.format(source="", target=""):
        raise SettingsError(
            f"{key}.files: {pattern!r} is one file for {len(pairs)} language pairs; set {key}.pairs, or use "
            "{source} and {target} in the pattern"
        )
    paths: dict[LanguagePair, Path] = {}
    for source, target in pairs:
        if settings.pairs:
            directions = [(source, target)]
        else:
            directions = [(source, target), (target, source)]
        existing = [pair for pair in directions if _path_of(pattern, root, pair).is_file()]
        if existing:
            paths[existing[0]] = _path_of(pattern, root, existing[0])
        elif settings.pairs:
            raise DataError(
                f"{key}.files: no dictionary {_path_of(pattern, root, (source, target))}"
            )
    if not paths:
        searched = ", ".join(str(_path_of(pattern, root, pair)) for pair in pairs[:3])
        searched = searched or "none: the recipe has one language"
        raise DataError(f"{key}.files: no dictionary found; looked for {searched}")
    return paths


# ---- from word vectors ----


def _induced_lexicons(
    settings: Dictionary, key: str, pairs: Sequence[LanguagePair]
) -> dict[LanguagePair, Lexicon]:
    """Induce dictionaries of mutual nearest neighbors; languages of `dictionary.pairs` are required."""
    folder = _vector_folder(settings)
    lexicons: dict[LanguagePair, Lexicon] = {}
    vectors: dict[str, WordVectors] = {}
    for source, target in _pairs_with_vectors(settings, key, pairs):
        for language in (source, target):
            if language not in vectors:
                vectors[language] = WordVectors.load(folder, language)
        lexicon = induce_lexicon(vectors[source], vectors[target], max_words=settings.max_words)
        log.info("%s-%s: %d mutual nearest neighbors in %s", source, target, len(lexicon), folder)
        lexicons[source, target] = lexicon
    return lexicons


def _vector_folder(settings: Dictionary) -> Path:
    """Return the folder of word vectors: the one in a run, or the folder itself."""
    folder = Path(settings.vectors or "")
    if (folder / "vectors").is_dir():
        return folder / "vectors"
    return folder


def _pairs_with_vectors(
    settings: Dictionary, key: str, pairs: Sequence[LanguagePair]
) -> list[LanguagePair]:
    """Return the pairs with word vectors of both languages; raise a DataError if there are too few."""
    folder = _vector_folder(settings)
    languages = languages_in(folder)
    usable = [pair for pair in pairs if set(pair) <= set(languages)]
    missing = [pair for pair in pairs if pair not in usable]
    if settings.pairs and missing:
        raise DataError(
            f"{key}.vectors: {folder} has no vectors of {' and '.join(missing[0])}; it has {languages or 'none'}"
        )
    if not usable:
        raise DataError(
            f"{key}.vectors: {folder} has word vectors of {languages or 'no language'}; two languages of the recipe "
            "are needed: learn them by `interlace pretrain` with a recipe that has [embeddings]"
        )
    return usable


# ---- from word alignments ----


def _counted_lexicons(
    workspace: Workspace, settings: Dictionary, key: str, pairs: Sequence[LanguagePair]
) -> dict[LanguagePair, Lexicon]:
    """Count mutually best translations in the alignments of the recipe's parallel corpora."""
    parts: dict[LanguagePair, list[Lexicon]] = {}
    for name in workspace.train:
        source, _, target = workspace.names[name].corpus.partition("-")
        if (source, target) in pairs:
            lexicon = CountedLexicon(workspace.alignments(name), settings.min_count).get()
            parts.setdefault((source, target), []).append(lexicon)
        elif (target, source) in pairs:
            lexicon = CountedLexicon(workspace.alignments(name), settings.min_count).get()
            parts.setdefault((target, source), []).append(lexicon.reversed())
    missing = [pair for pair in pairs if pair not in parts]
    if settings.pairs and missing:
        raise DataError(
            f"{key}: the recipe has no parallel text of {' and '.join(missing[0])} to count a dictionary from; add it "
            f"to [corpora], or set {key}.files"
        )
    lexicons: dict[LanguagePair, Lexicon] = {}
    for pair, counted in parts.items():
        lexicon = _joined(counted)
        if len(lexicon):
            lexicons[pair] = lexicon
    if not lexicons:
        if parts:
            remedy = f"lower {key}.min_count"
        else:
            remedy = "add a group with 'pairs' to [corpora]"
        raise DataError(
            f"{key}: no entry could be counted from parallel text; {remedy}, or set {key}.files"
        )
    return lexicons


def _joined(lexicons: Sequence[Lexicon]) -> Lexicon:
    """Return the entries of several lexicons as one."""
    if len(lexicons) == 1:
        return lexicons[0]
    return Lexicon.of(lexicon[entry] for lexicon in lexicons for entry in range(len(lexicon)))
