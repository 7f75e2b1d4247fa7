"""The dictionaries of a recipe: read from files, counted from word alignments, or induced from word vectors."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

from interlace.alignment.lexicon import Lexicon
from interlace.core.data_root import Root
from interlace.core.errors import DataError, SettingsError
from interlace.core.json_files import JsonObject
from interlace.data.artifacts import Artifact
from interlace.data.cache import code_hash
from interlace.embeddings import WordVectors, induce_lexicon, languages_in
from interlace.experiments.alignments import CorpusAlignments
from interlace.experiments.recipe import Recipe
from interlace.experiments.sections import EmbeddingSettings
from interlace.experiments.workspace import Workspace
from interlace.objectives.common.dictionaries import Dictionary
from interlace.text import LanguagePair

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class CountedLexicon(Artifact[Lexicon]):
    """The mutually best translations in the word alignments of a corpus."""

    kind = "lexicon"

    alignments: CorpusAlignments
    min_count: float

    def __str__(self) -> str:
        return f"a dictionary of {self.alignments.text}"

    @cached_property
    def key(self) -> JsonObject:
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
        words, links = self.alignments.get().whole(spool=folder.parent)
        counted = Lexicon.count(words, links.links)
        counted.mutual().at_least(self.min_count).words().write(folder / "lexicon.tsv")

    def open(self, folder: Path) -> Lexicon:
        """Read the entries."""
        path = folder / "lexicon.tsv"
        if path.stat().st_size:
            return Lexicon.read(path)
        return Lexicon.of([])


def lexicons_of(
    workspace: Workspace, name: str, corpora: Sequence[str]
) -> dict[LanguagePair, Lexicon]:
    """Return the dictionaries that an objective learns from, by language pair; empty if it needs none.

    They are those of all language pairs of the recipe with a language of the objective's corpora, if there is a file,
    word vectors or a parallel corpus.

    Raises:
        DataError: there is no dictionary, or one is malformed.
    """
    recipe = workspace.recipe
    settings = _settings_of(recipe, name)
    if settings is None:
        return {}
    languages: set[str] = set()
    for name_of_corpus in corpora:
        corpus = name_of_corpus.rpartition(":")[2]
        languages |= set(corpus.split("-"))
    pairs = [pair for pair in combinations(recipe.languages, 2) if languages & set(pair)]
    key = f"objectives.{name}.dictionary"
    if settings.files is not None:
        lexicons = {}
        paths = dictionary_files(f"{key}.files", settings.files, workspace.root, pairs)
        for pair, path in paths.items():
            lexicons[pair] = Lexicon.read(path)
        return lexicons
    if settings.vectors is not None:
        return _induced_lexicons(settings, key, pairs)
    return _counted_lexicons(workspace, settings, key, pairs)


def check_dictionary(recipe: Recipe, name: str, root: Root) -> None:
    """Raise a DataError if an objective's files of dictionaries or vectors are missing."""
    settings = _settings_of(recipe, name)
    pairs = list(combinations(recipe.languages, 2))
    key = f"objectives.{name}.dictionary"
    if settings is None:
        return
    if settings.files is not None:
        dictionary_files(f"{key}.files", settings.files, root, pairs)
    elif settings.vectors is not None:
        _pairs_with_vectors(settings, key, pairs)


def dictionary_files(
    key: str, pattern: str, root: Root, pairs: Sequence[LanguagePair]
) -> dict[LanguagePair, Path]:
    """Return the existing file of each pair, in either direction; raise a DataError if there are none."""
    if len(pairs) > 1 and "{" not in pattern:
        raise SettingsError(
            f"{key}: {pattern!r} is one file for {len(pairs)} language pairs; use {{source}} and {{target}} in it"
        )
    paths = {}
    searched = []
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


def vector_dictionaries(
    settings: EmbeddingSettings, languages: Sequence[str], root: Root
) -> dict[LanguagePair, Path]:
    """Return the dictionaries that word vectors are learned from; empty if they need none."""
    if settings.dictionary is None:
        return {}
    pairs = list(combinations(languages, 2))
    return dictionary_files("embeddings.dictionary", settings.dictionary, root, pairs)


def _settings_of(recipe: Recipe, name: str) -> Dictionary | None:
    """Return an objective's settings of dictionaries; None if it needs none."""
    objective = recipe.objective(name)
    if "lexicon" not in objective.needs:
        return None
    return getattr(objective, "dictionary", Dictionary())


def _induced_lexicons(
    settings: Dictionary, key: str, pairs: Sequence[LanguagePair]
) -> dict[LanguagePair, Lexicon]:
    """Induce dictionaries of mutual nearest neighbors from word vectors."""
    folder = _vector_folder(settings)
    lexicons = {}
    for source, target in _pairs_with_vectors(settings, key, pairs):
        lexicon = induce_lexicon(
            WordVectors.load(folder, source),
            WordVectors.load(folder, target),
            max_words=settings.max_words,
        )
        log.info(
            "%s-%s: %d mutual nearest neighbors in %s", source, target, len(lexicon), folder
        )
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
    """Return the pairs with word vectors of both languages; raise a DataError if there are none."""
    folder = _vector_folder(settings)
    languages = languages_in(folder)
    usable = [pair for pair in pairs if set(pair) <= set(languages)]
    if not usable:
        raise DataError(
            f"{key}.vectors: {folder} has word vectors of {languages or 'no language'}, but those of two languages "
            "are needed: learn them by `interlace pretrain` with a recipe that has [embeddings]"
        )
    return usable


def _counted_lexicons(
    workspace: Workspace, settings: Dictionary, key: str, pairs: Sequence[LanguagePair]
) -> dict[LanguagePair, Lexicon]:
    """Count mutually best translations in the alignments of the recipe's parallel corpora."""
    lexicons: dict[LanguagePair, Lexicon] = {}
    for name in workspace.train:
        source, _, target = workspace.names[name].corpus.partition("-")
        is_reversed = (target, source) in pairs
        if not is_reversed and (source, target) not in pairs:
            continue
        lexicon = CountedLexicon(workspace.alignments(name), settings.min_count).get()
        pair = (source, target)
        if is_reversed:
            lexicon = lexicon.reversed()
            pair = (target, source)
        if pair in lexicons:
            lexicon = Lexicon.of([*lexicons[pair], *lexicon])
        if len(lexicon):
            lexicons[pair] = lexicon
    if not lexicons:
        raise DataError(
            f"{key}: no entry could be counted from parallel text; add a group with 'pairs' to [corpora], lower "
            f"{key}.min_count, or set {key}.files"
        )
    return lexicons
