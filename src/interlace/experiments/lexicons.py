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
from interlace.core.files import must_exist
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
    settings, key, pairs = _request(workspace.recipe, name, corpora)
    if settings.files is not None:
        paths = _dictionary_paths(settings, key, workspace.root, pairs)
        return {pair: Lexicon.read(path) for pair, path in paths.items()}
    if settings.vectors is not None:
        return _induced_lexicons(settings, key, pairs)
    return _counted_lexicons(workspace, settings, key, pairs)


def check_dictionaries(recipe: Recipe, name: str, root: Root) -> None:
    """Raise the error of `lexicons_of` about files of dictionaries or vectors that are missing, without reading any."""
    if "lexicon" not in recipe.objective(name).needs:
        return
    corpora: list[str] = []
    for label in recipe.objectives[name].corpora or recipe.corpora:
        group = recipe.corpora.get(label)
        corpora += [label] if group is None else group.trained
    settings, key, pairs = _request(recipe, name, corpora)
    if settings.files is not None:
        _dictionary_paths(settings, key, root, pairs)
    elif settings.vectors is not None:
        _pairs_with_vectors(settings, key, pairs)


def vector_dictionaries(recipe: Recipe, pattern: str, root: Root) -> dict[LanguagePair, Path]:
    """Return the dictionaries of `embeddings.dictionary` by language pair, in either direction; at least one."""
    pairs = list(combinations(recipe.languages, 2))
    return _existing_files("embeddings.dictionary", pattern, root, pairs)


def _request(
    recipe: Recipe, name: str, corpora: Sequence[str]
) -> tuple[Dictionary, str, list[LanguagePair]]:
    """Return an objective's settings of dictionaries, their key, and the language pairs.

    The pairs are those of the settings, or all with a language of the corpora.
    """
    settings: Dictionary = getattr(recipe.objective(name), "dictionary", Dictionary())
    key = f"objectives.{name}.dictionary"
    if not settings.pairs:
        languages: set[str] = set()
        for corpus in corpora:
            languages |= set(corpus.rpartition(":")[2].split("-"))
        wanted = [pair for pair in combinations(recipe.languages, 2) if languages & set(pair)]
        return settings, key, wanted
    pairs: list[LanguagePair] = []
    for pair in settings.pairs:
        source, target = pair.split("-")
        for language in (source, target):
            if language not in recipe.languages:
                hint = did_you_mean(language, recipe.languages)
                raise SettingsError(f"{key}.pairs: no language {language!r}{hint}")
        pairs.append((source, target))
    return settings, key, pairs


# ---- from files ----


def _dictionary_paths(
    settings: Dictionary, key: str, root: Root, pairs: Sequence[LanguagePair]
) -> dict[LanguagePair, Path]:
    """Return the files of either direction; those of `dictionary.pairs` are required."""
    pattern = str(settings.files)
    if len(pairs) > 1 and "{" not in pattern:
        raise SettingsError(
            f"{key}.files: {pattern!r} is one file for {len(pairs)} language pairs; set {key}.pairs, or use "
            "{source} and {target} in the pattern"
        )
    if not settings.pairs:
        return _existing_files(f"{key}.files", pattern, root, pairs)
    paths: dict[LanguagePair, Path] = {}
    for source, target in pairs:
        path = root / pattern.format(source=source, target=target)
        try:
            paths[source, target] = must_exist(path, "dictionary")
        except DataError as error:
            raise DataError(f"{key}.files: {error}") from None
    return paths


def _existing_files(
    key: str, pattern: str, root: Root, pairs: Sequence[LanguagePair]
) -> dict[LanguagePair, Path]:
    """Return the existing file of each pair, in either direction; raise a DataError if there are none."""
    paths: dict[LanguagePair, Path] = {}
    searched: list[str] = []
    for pair in pairs:
        for source, target in (pair, pair[::-1]):
            path = root / pattern.format(source=source, target=target)
            searched.append(str(path))
            if path.is_file():
                paths[source, target] = path
                break
    if not paths:
        raise DataError(f"{key}: no such file; looked for {', '.join(searched[:3])}")
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
    folder = Path(str(settings.vectors))
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
    if not usable or (settings.pairs and len(usable) < len(pairs)):
        raise DataError(
            f"{key}.vectors: {folder} has word vectors of {languages or 'no language'}, but those of two languages "
            "are needed: learn them by `interlace pretrain` with a recipe that has [embeddings]"
        )
    return usable


# ---- from word alignments ----


def _counted_lexicons(
    workspace: Workspace, settings: Dictionary, key: str, pairs: Sequence[LanguagePair]
) -> dict[LanguagePair, Lexicon]:
    """Count mutually best translations in the alignments of the recipe's parallel corpora."""
    counted: dict[LanguagePair, list[Lexicon]] = {}
    for name in workspace.train:
        source, _, target = workspace.names[name].corpus.partition("-")
        is_reversed = (target, source) in pairs
        if not is_reversed and (source, target) not in pairs:
            continue
        lexicon = CountedLexicon(workspace.alignments(name), settings.min_count).get()
        if is_reversed:
            counted.setdefault((target, source), []).append(lexicon.reversed())
        else:
            counted.setdefault((source, target), []).append(lexicon)
    lexicons: dict[LanguagePair, Lexicon] = {}
    for pair in pairs:
        parts = counted.get(pair, [])
        lexicon = parts[0] if len(parts) == 1 else _joined(parts)
        if len(lexicon):
            lexicons[pair] = lexicon
        elif settings.pairs:
            raise DataError(
                f"{key}: no entry of {pair[0]}-{pair[1]} could be counted from parallel text; add such text to "
                f"[corpora], lower {key}.min_count, or set {key}.files"
            )
    if not lexicons:
        raise DataError(
            f"{key}: no entry could be counted from parallel text; add a group with 'pairs' to [corpora], lower "
            f"{key}.min_count, or set {key}.files"
        )
    return lexicons


def _joined(lexicons: Sequence[Lexicon]) -> Lexicon:
    """Return the entries of several lexicons as one."""
    return Lexicon.of(lexicon[entry] for lexicon in lexicons for entry in range(len(lexicon)))
