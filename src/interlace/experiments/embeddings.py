"""Run a recipe of word vectors: the same corpora, normalisation, words and filters as a model would learn from.

The words of each language go through a file in the cache, a line a line with blanks between, because methods read
them again and again; subwords come out of the very corpora that a model reads. A killed run starts anew; what it had
made of the text is found again.
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
from interlace.experiments.run_state import claim, finished
from interlace.experiments.training_text import text_key, training_lines, training_pairs
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
    from interlace.experiments.recipe import CorpusGroup, Recipe
    from interlace.experiments.sections import EmbeddingSettings
    from interlace.tasks import Task
    from interlace.text import Text

log = logging.getLogger(__name__)


def learn_vectors(recipe: Recipe, into: Path, progress: Progress | None = None) -> Path:
    """Learn the word vectors that the recipe's `[embeddings]` say, into the folder `into`; returns its `vectors/`.

    Vectors of subwords stand there beside their tokenizer.

    Raises:
        RunError: the folder is in use, or holds a run of another recipe.
        SettingsError, DataError: the recipe asks for what cannot be.
        MissingDependencyError: vectors are to be learnt from text, and gensim is not installed.
    """
    settings = recipe.embeddings
    if settings is None:
        raise SettingsError(f"recipe {recipe.name!r} has no [embeddings], so there are no word vectors to learn")
    with locked(into):
        claim(recipe, into)
        if finished(into):
            log.info("%s is finished; nothing to do", into)
            return into / VECTORS
        start = time.perf_counter()
        drawn = _drawn(recipe, settings)
        write_dictionaries({f"embeddings.{one.name}": one for one in drawn}, into)
        sources, vocab = _sources(recipe, settings)
        sources = replace(sources, dictionaries={one.languages: _learnt(one) for one in drawn})
        prepared = time.perf_counter()
        learnt = settings.method().fit(sources, recipe.seed, progress or no_progress)
        with atomic_folder(into / VECTORS) as folder:
            for vectors in learnt.vectors.values():
                vectors.save(folder)
            if vocab is not None:
                vocab.save_files(folder)
        seconds = {"data": prepared - start, "training": time.perf_counter() - prepared}
        write_json(into / RUN, _described(recipe, learnt, seconds))
    return into / VECTORS


def _described(recipe: Recipe, learnt: CrossLingualVectors, seconds: dict[str, float]) -> dict[str, Any]:
    """The content of `run.json`."""
    import torch

    from interlace.experiments.lineage import environment

    vectors = learnt.vectors.values()
    return {
        "name": recipe.name,
        **environment(torch.device("cpu")),
        "parameters": sum(own.vectors.size for own in vectors),
        "words": {own.language: len(own) for own in vectors},
        "width": next(iter(vectors)).width,
        "embeddings": learnt.about,
        "seconds": {stage: round(spent, 3) for stage, spent in seconds.items()},
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def static_vectors(folder: str, tasks: Mapping[str, Task]) -> dict[str, WordVectors] | None:
    """The word vectors of a folder, by language; None where it holds none, so that it should hold a model.

    Raises:
        DataError: a task needs a model that reads sentences; says which do not.
    """
    languages = languages_in(folder) if not (Path(folder) / "config.json").exists() else []
    if not any((Path(folder) / f"{language}.words").is_file() for language in languages):
        return None
    for name, task in tasks.items():
        if not task.static_vectors:
            able = ", ".join(other for other in TASKS.names() if TASKS.get(other).static_vectors)
            raise DataError(f"{name}: needs a model that reads sentences, but {folder} holds word vectors, for {able}")
    return {language: WordVectors.load(folder, language) for language in languages}


def _sources(recipe: Recipe, settings: EmbeddingSettings) -> tuple[EmbeddingSources, Vocab | None]:
    """Texts or vectors by language; or the text of all in subwords, and the vocabulary."""
    root = data_root(recipe)
    if settings.vectors is not None:
        paths = {language: root / settings.vectors.format(language=language) for language in recipe.languages}
        most = settings.method().max_words
        return EmbeddingSources(vectors={of: WordVectors.read(path, of, most) for of, path in paths.items()}), None
    if not recipe.corpora:
        raise SettingsError(
            f"recipe {recipe.name!r} has no [corpora] to learn word vectors from; or name files of vectors in "
            "embeddings.vectors"
        )
    if settings.units == "subwords":
        vocab, lines = subwords_of(recipe)
        return EmbeddingSources(texts={SUBWORDS: lines}), vocab
    return EmbeddingSources(texts={language: _words(recipe, language, root) for language in recipe.languages}), None


def _drawn(recipe: Recipe, settings: EmbeddingSettings) -> list[DictionarySplit]:
    """The dictionaries between any two languages, in one direction or the other, and what is learnt from of each.

    Raises:
        DataError: some were asked for, and there is none at all.
    """
    if settings.dictionary is None:
        return []
    root, found, looked = data_root(recipe), list[DictionarySplit](), list[Path]()
    for pair in combinations(recipe.languages, 2):
        ways = {way: root / settings.dictionary.format(source=way[0], target=way[1]) for way in (pair, pair[::-1])}
        looked += ways.values()
        there = next((way for way, path in ways.items() if path.is_file()), None)
        if there is not None:
            found.append(split_dictionary(Lexicon.read(ways[there]), there, settings.dictionary_share, recipe.seed))
    if not found:
        places = ", ".join(map(str, looked[:3])) or "none: the recipe has one language"
        raise DataError(f"embeddings.dictionary: no dictionary is there; looked for {places}")
    return found


def _learnt(drawn: DictionarySplit) -> Lexicon:
    """The entries that are learnt from."""
    kept = drawn.parts == DictionaryPart.TRAIN
    return replace(drawn.lexicon, entries=drawn.lexicon.entries[kept], counts=drawn.lexicon.counts[kept])


@dataclass(frozen=True)
class _Words:
    """Lines of words in a file, with blanks between; read again as often as a method asks."""

    path: Path

    def __iter__(self) -> Iterator[list[str]]:
        return (line.split(" ") for line in read_lines(self.path))


def _words(recipe: Recipe, language: str, root: Path) -> _Words:
    """All training text of a language, from every corpus it stands in; lines that filters drop are left out."""
    parts = list(_parts(recipe, language))
    key = {
        "language": language,
        "text": [[place, text_key(recipe, group, corpus, "train", root)] for group, corpus, place in parts],
    }

    def build(into: Path) -> None:
        log.info("finding the words of %s", language)
        texts = chain.from_iterable(_texts(recipe, group, corpus, place, root) for group, corpus, place in parts)
        with writing(into / "words.txt") as write:
            for text in texts:
                lines = (text.tokens(line) for line in range(len(text)))
                write(" ".join(words) for words in lines if words)

    path = cached("words", key, build) / "words.txt"
    if not path.stat().st_size:
        raise DataError(f"recipe {recipe.name!r}: the training text of {language!r} holds no word")
    return _Words(path)


def _parts(recipe: Recipe, language: str) -> Iterator[tuple[CorpusGroup, str, int]]:
    """Where a language's text stands: group, corpus, and which side of it."""
    for group in recipe.corpora.values():
        for corpus in group.trained:
            if language in (sides := corpus.split("-")):
                yield group, corpus, sides.index(language)


def _texts(recipe: Recipe, group: CorpusGroup, corpus: str, place: int, root: Path) -> Iterator[Text]:
    if "-" not in corpus:
        return training_lines(recipe, group, corpus, root)
    return ((pair.source, pair.target)[place] for pair in training_pairs(recipe, group, corpus, root))


# FROM _embedding_subwords:
# The text of all languages as lines of subwords, as a model reads it: what vectors of subwords are learnt from.


_ROWS = 8192  # lines that are spelt at a time


def subwords_of(recipe: Recipe) -> tuple[Vocab, Iterable[Sequence[str]]]:
    """The recipe's vocabulary, and the lines of all languages in its subwords, which can be read again.

    Lines come out of the corpora that a model of the same text and vocabulary learns from, each language spread evenly
    over the whole.

    Raises:
        DataError: a language has no training text, or what `prepare` finds wrong.
    """
    materials = prepare(recipe, dev=False)
    corpora = [corpus for corpus in materials.readable.values() if isinstance(corpus, Corpus)]
    names = _names(materials.vocab)
    texts = {
        language: _Spelt([corpus for corpus in corpora if corpus.language == language], names)
        for language in recipe.languages
    }
    if silent := [language for language, text in texts.items() if not text.corpora]:
        raise DataError(f"recipe {recipe.name!r}: there is no training text of {silent[0]!r}")
    return materials.vocab, Interleaved(texts)


def _names(vocab: Vocab) -> NDArray[np.object_]:
    """(V,) what the tokenizer calls each id; ids without a name do not come in text."""
    names = np.full(vocab.size, "", object)
    for name, number in vocab.tokenizer.get_vocab(with_added_tokens=True).items():
        names[number] = name
    return names


class _Spelt:
    """The lines of some corpora in subwords; unlike a generator, it can be read again."""

    def __init__(self, corpora: list[Corpus], names: NDArray[np.object_]) -> None:
        self.corpora = corpora
        self._names = names

    def __iter__(self) -> Iterator[list[str]]:
        for corpus in self.corpora:
            for start in range(0, len(corpus), _ROWS):
                ids = corpus.take(np.arange(start, min(start + _ROWS, len(corpus)))).ids
                spelt = self._names[ids.values].tolist()
                yield from (spelt[first:last] for first, last in pairwise(ids.offsets.tolist()))
