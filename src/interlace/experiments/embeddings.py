"""Learn the word or token vectors of a recipe from the same corpora, normalization, words and filters as a model.

Words are cached in a file per language, because methods read them several times; tokens come from the corpora that a
model reads. An interrupted run starts over but reuses the cached text.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, SettingsError
from interlace.core.files import atomic_folder
from interlace.core.json_files import JsonObject, write_json
from interlace.core.progress import Progress, no_progress
from interlace.data.artifacts import Artifact
from interlace.data.corpus import Corpus
from interlace.data.corpus_text import CorpusText
from interlace.embeddings import SUBWORDS, EmbeddingSources, WordVectors
from interlace.embeddings.concat import Interleaved
from interlace.experiments.inputs import check_inputs
from interlace.experiments.lexicons import vector_dictionaries
from interlace.experiments.mixing import dictionary_text, write_dictionaries
from interlace.experiments.recipe import Recipe
from interlace.experiments.run import Run
from interlace.experiments.run_record import environment
from interlace.experiments.score_store import folder_key
from interlace.experiments.sections import EmbeddingSettings
from interlace.experiments.workspace import Workspace
from interlace.objectives.common.dictionaries import (
    DictionaryPart,
    split_dictionary,
)
from interlace.text import LanguagePair
from interlace.text.lines import read_lines, writing
from interlace.training.run_folder import RUN, locked

log = logging.getLogger(__name__)


def learn_vectors(recipe: Recipe, into: Path, progress: Progress = no_progress) -> Path:
    """Learn the vectors of the recipe's `[embeddings]` in the folder `into`; return its `vectors/`.

    Token vectors are stored with their tokenizer. Raise a RunError if the folder is in use or another recipe's.
    """
    settings = recipe.embeddings
    if settings is None:
        raise SettingsError(
            f"recipe {recipe.name!r} has no [embeddings], and learns no word vectors"
        )
    with locked(into):
        run = Run(into)
        run.claim(recipe)
        if run.is_finished:
            run.check_export(run.vectors_folder)
            log.info("%s is finished; nothing to do", into)
            return run.vectors_folder
        check_inputs(recipe)
        workspace = Workspace(recipe)
        dictionaries = _dictionaries(workspace, settings, into)
        sources = replace(_sources(workspace, settings), dictionaries=dictionaries)
        begun = time.perf_counter()
        learned = settings.method().fit(sources, recipe.seed, progress)
        vectors = list(learned.vectors.values())
        with atomic_folder(run.vectors_folder) as folder:
            for of_language in vectors:
                of_language.save(folder)
            if settings.units == "subwords":
                workspace.vocab.save_files(folder)
        about = {
            "name": recipe.name,
            **environment(torch.device("cpu")),
            "parameters": sum(of_language.vectors.size for of_language in vectors),
            "embeddings": learned.about,
            "model_key": folder_key(run.vectors_folder),
            "seconds": {"training": round(time.perf_counter() - begun, 3)},
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        write_json(into / RUN, about)
    return run.vectors_folder


def _dictionaries(
    workspace: Workspace, settings: EmbeddingSettings, into: Path
) -> dict[LanguagePair, Lexicon]:
    """Return the training entries of all dictionaries by language pair; write all entries into the run's folder."""
    recipe = workspace.recipe
    texts = {}
    trained = {}
    paths = vector_dictionaries(settings, recipe.languages, workspace.root)
    for languages, path in paths.items():
        lexicon = Lexicon.read(path)
        split = split_dictionary(lexicon, languages, settings.dictionary_share, recipe.seed)
        texts[f"embeddings.{split.name}"] = dictionary_text(split)
        is_trained = split.parts == DictionaryPart.TRAIN
        trained[languages] = split.lexicon.select(is_trained)
    write_dictionaries(texts, recipe, into)
    return trained


def _sources(workspace: Workspace, settings: EmbeddingSettings) -> EmbeddingSources:
    """Return texts or vectors by language, or the text of all languages in tokens."""
    languages = workspace.recipe.languages
    if settings.vectors is not None:
        vectors = {}
        for language in languages:
            path = workspace.root / settings.vectors.format(language=language)
            vectors[language] = WordVectors.read(path, language, settings.method().max_words)
        return EmbeddingSources(vectors=vectors)
    if settings.units == "subwords":
        return EmbeddingSources(texts={SUBWORDS: token_lines(workspace)})
    texts = {language: _words(workspace, language) for language in languages}
    return EmbeddingSources(texts=texts)


@dataclass(frozen=True)
class _Lines:
    """Lines of words or tokens; can be read several times."""

    read: Callable[[], Iterator[list[str]]]

    def __iter__(self) -> Iterator[list[str]]:
        return self.read()


@dataclass(frozen=True, eq=False)
class CorpusWords(Artifact[Path]):
    """The training text of a language in words, from all corpora, without lines that filters drop."""

    kind = "words"

    language: str
    texts: Sequence[CorpusText]

    def __str__(self) -> str:
        return f"the words of {self.language}"

    @cached_property
    def key(self) -> JsonObject:
        """The language and the texts."""
        return {"language": self.language, "text": [text.key for text in self.texts]}

    def build(self, folder: Path) -> None:
        """Write a line of words, separated by blanks, for each line that has any."""
        with writing(folder / "words.txt") as write:
            for text in self.texts:
                for chunk in text.side(self.language):
                    lines = (chunk.tokens(line) for line in range(len(chunk)))
                    write(" ".join(words) for words in lines if words)

    def open(self, folder: Path) -> Path:
        """Return the file of the words."""
        return folder / "words.txt"


def _words(workspace: Workspace, language: str) -> _Lines:
    groups = workspace.recipe.corpora.values()
    path = CorpusWords(language, list(workspace.texts.in_language(language, groups))).get()
    if not path.stat().st_size:
        raise DataError(
            f"recipe {workspace.recipe.name!r}: the training text of {language!r} has no words"
        )
    return _Lines(lambda: (line.split(" ") for line in read_lines(path)))


def token_lines(workspace: Workspace) -> Iterable[Sequence[str]]:
    """Return the training text in tokens of the vocabulary, languages interleaved evenly, for several readings."""
    vocab = workspace.vocab
    names = np.full(vocab.size, "", object)  # by id
    for name, number in vocab.tokenizer.get_vocab(with_added_tokens=True).items():
        names[number] = name
    texts: dict[str, _Lines] = {}
    for language in workspace.recipe.languages:
        corpora = []
        for corpus in workspace.readable.values():
            if isinstance(corpus, Corpus) and corpus.language == language:
                corpora.append(corpus)
        if not corpora:
            raise DataError(
                f"recipe {workspace.recipe.name!r}: no training text of {language!r}"
            )
        texts[language] = _Lines(partial(_tokens, corpora, names))
    return Interleaved(texts)


def _tokens(corpora: list[Corpus], names: NDArray[np.object_]) -> Iterator[list[str]]:
    """Yield the lines of corpora in tokens, 8192 converted at a time."""
    for corpus in corpora:
        for start in range(0, len(corpus), 8192):
            stop = min(start + 8192, len(corpus))
            chunk = corpus.take(np.arange(start, stop))
            for ids in chunk.ids:
                yield names[ids].tolist()
