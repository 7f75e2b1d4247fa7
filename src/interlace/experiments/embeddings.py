"""Learn the word or token vectors of a recipe from the same corpora, normalization, words and filters as a model.

Words are cached in a file per language, because methods read them several times; tokens come from the corpora that a
model reads. An interrupted run starts over but reuses the cached text.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, SettingsError
from interlace.core.files import atomic_folder
from interlace.core.progress import no_progress
from interlace.data.cache import cached
from interlace.data.corpus import Corpus
from interlace.embeddings import SUBWORDS, EmbeddingSources, WordVectors, languages_in
from interlace.embeddings.concat import Interleaved
from interlace.experiments.dictionaries import write_dictionaries
from interlace.experiments.prepare import data_root, prepare
from interlace.experiments.run_state import claim_folder, is_finished
from interlace.experiments.training_text import corpora_with, side_texts, text_key
from interlace.objectives.common.dictionaries import DictionaryPart, DictionarySplit, split_dictionary
from interlace.tasks import TASKS
from interlace.text.lines import read_lines, writing
from interlace.training.run_folder import RUN, VECTORS, locked, write_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.core.progress import Progress
    from interlace.data.vocab import Vocab
    from interlace.embeddings import CrossLingualVectors
    from interlace.experiments.recipe import Recipe
    from interlace.experiments.sections import EmbeddingSettings
    from interlace.tasks import Task

log = logging.getLogger(__name__)
_ROWS = 8192  # lines converted to tokens at a time


def learn_vectors(recipe: Recipe, into: Path, progress: Progress | None = None) -> Path:
    """Learn the vectors of the recipe's `[embeddings]` in the folder `into`; return its `vectors/`.

    Token vectors are stored with their tokenizer.

    Raises:
        RunError: the folder is in use, or holds a run of another recipe.
        SettingsError, DataError: the recipe or its data is invalid.
        MissingDependencyError: learning from text needs gensim.
    """
    settings = recipe.embeddings
    if settings is None:
        raise SettingsError(f"recipe {recipe.name!r} has no [embeddings], and learns no word vectors")
    with locked(into):
        claim_folder(recipe, into)
        if is_finished(into):
            log.info("%s is finished; nothing to do", into)
            return into / VECTORS
        start = time.perf_counter()
        splits = _dictionaries(recipe, settings)
        write_dictionaries({f"embeddings.{one.name}": one for one in splits}, into)
        sources, vocab = _sources(recipe, settings)
        sources = replace(sources, dictionaries={one.languages: _training_entries(one) for one in splits})
        prepared = time.perf_counter()
        learned = settings.method().fit(sources, recipe.seed, progress or no_progress)
        with atomic_folder(into / VECTORS) as folder:
            for vectors in learned.vectors.values():
                vectors.save(folder)
            if vocab is not None:
                vocab.save_files(folder)
        seconds = {"data": prepared - start, "training": time.perf_counter() - prepared}
        write_json(into / RUN, _run_record(recipe, learned, seconds))
    return into / VECTORS


def _run_record(recipe: Recipe, learned: CrossLingualVectors, seconds: dict[str, float]) -> dict[str, Any]:
    """The content of `run.json`."""
    import torch

    from interlace.experiments.run_record import environment

    vectors = learned.vectors.values()
    return {
        "name": recipe.name,
        **environment(torch.device("cpu")),
        "parameters": sum(own.vectors.size for own in vectors),
        "words": {own.language: len(own) for own in vectors},
        "width": next(iter(vectors)).width,
        "embeddings": learned.about,
        "seconds": {stage: round(spent, 3) for stage, spent in seconds.items()},
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def static_vectors(folder: str, tasks: Mapping[str, Task]) -> dict[str, WordVectors] | None:
    """Return the word vectors of a folder by language; None if it has none.

    Raises:
        DataError: a task needs a model; names the tasks that word vectors suffice for.
    """
    languages = languages_in(folder) if not (Path(folder) / "config.json").exists() else []
    if not any((Path(folder) / f"{language}.words").is_file() for language in languages):
        return None
    for name, task in tasks.items():
        if not task.static_vectors:
            able = ", ".join(other for other in TASKS.names() if TASKS.get(other).static_vectors)
            raise DataError(f"{name}: needs a model, but {folder} holds word vectors; tasks for word vectors: {able}")
    return {language: WordVectors.load(folder, language) for language in languages}


def _sources(recipe: Recipe, settings: EmbeddingSettings) -> tuple[EmbeddingSources, Vocab | None]:
    """Return texts or vectors by language; or the text of all languages in tokens, and the vocabulary."""
    root = data_root(recipe)
    if settings.vectors is not None:
        paths = {language: root / settings.vectors.format(language=language) for language in recipe.languages}
        limit = settings.method().max_words
        return EmbeddingSources(vectors={of: WordVectors.read(path, of, limit) for of, path in paths.items()}), None
    if not recipe.corpora:
        raise SettingsError(
            f"recipe {recipe.name!r} has no [corpora] to learn word vectors from; add them, or set embeddings.vectors"
        )
    if settings.units == "subwords":
        vocab, lines = token_lines(recipe)
        return EmbeddingSources(texts={SUBWORDS: lines}), vocab
    return EmbeddingSources(texts={language: _words(recipe, language, root) for language in recipe.languages}), None


def _dictionaries(recipe: Recipe, settings: EmbeddingSettings) -> list[DictionarySplit]:
    """Return the dictionaries of all language pairs, in either direction, split into training entries and others.

    Raises:
        DataError: `embeddings.dictionary` matches no file.
    """
    if settings.dictionary is None:
        return []
    root, found, searched = data_root(recipe), list[DictionarySplit](), list[Path]()
    for pair in combinations(recipe.languages, 2):
        ways = {way: root / settings.dictionary.format(source=way[0], target=way[1]) for way in (pair, pair[::-1])}
        searched += ways.values()
        there = next((way for way, path in ways.items() if path.is_file()), None)
        if there is not None:
            found.append(split_dictionary(Lexicon.read(ways[there]), there, settings.dictionary_share, recipe.seed))
    if not found:
        places = ", ".join(map(str, searched[:3])) or "none: the recipe has one language"
        raise DataError(f"embeddings.dictionary: no such file; looked for {places}")
    return found


def _training_entries(split: DictionarySplit) -> Lexicon:
    """Return the training entries."""
    kept = split.parts == DictionaryPart.TRAIN
    return replace(split.lexicon, entries=split.lexicon.entries[kept], counts=split.lexicon.counts[kept])


@dataclass(frozen=True)
class _Words:
    """Lines of space-separated words in a file; can be read several times."""

    path: Path

    def __iter__(self) -> Iterator[list[str]]:
        return (line.split(" ") for line in read_lines(self.path))


def _words(recipe: Recipe, language: str, root: Path) -> _Words:
    """Return the training text of a language from all corpora, without lines that filters drop."""
    parts = list(corpora_with(recipe.corpora.values(), language))
    key = {
        "language": language,
        "text": [[place, text_key(recipe, group, corpus, "train", root)] for group, corpus, place in parts],
    }

    def build(into: Path) -> None:
        log.info("tokenizing the words of %s", language)
        texts = chain.from_iterable(side_texts(recipe, group, corpus, place, root) for group, corpus, place in parts)
        with writing(into / "words.txt") as write:
            for text in texts:
                lines = (text.tokens(line) for line in range(len(text)))
                write(" ".join(words) for words in lines if words)

    path = cached("words", key, build) / "words.txt"
    if not path.stat().st_size:
        raise DataError(f"recipe {recipe.name!r}: the training text of {language!r} has no words")
    return _Words(path)


def token_lines(recipe: Recipe) -> tuple[Vocab, Iterable[Sequence[str]]]:
    """Return the recipe's vocabulary, and the lines of all languages in its tokens, which can be read several times.

    Languages are interleaved evenly.

    Raises:
        DataError: a language has no training text; or as `prepare`.
    """
    materials = prepare(recipe, dev=False)
    corpora = [corpus for corpus in materials.readable.values() if isinstance(corpus, Corpus)]
    names = _names(materials.vocab)
    texts = {
        language: _TokenLines([corpus for corpus in corpora if corpus.language == language], names)
        for language in recipe.languages
    }
    if empty := [language for language, text in texts.items() if not text.corpora]:
        raise DataError(f"recipe {recipe.name!r}: no training text of {empty[0]!r}")
    return materials.vocab, Interleaved(texts)


def _names(vocab: Vocab) -> NDArray[np.object_]:
    """Return (V,) tokens by id."""
    names = np.full(vocab.size, "", object)
    for name, number in vocab.tokenizer.get_vocab(with_added_tokens=True).items():
        names[number] = name
    return names


class _TokenLines:
    """The lines of some corpora in tokens; can be read several times."""

    def __init__(self, corpora: list[Corpus], names: NDArray[np.object_]) -> None:
        self.corpora = corpora
        self._names = names

    def __iter__(self) -> Iterator[list[str]]:
        for corpus in self.corpora:
            for start in range(0, len(corpus), _ROWS):
                ids = corpus.take(np.arange(start, min(start + _ROWS, len(corpus)))).ids
                tokens = self._names[ids.values].tolist()
                yield from (tokens[first:last] for first, last in pairwise(ids.offsets.tolist()))
