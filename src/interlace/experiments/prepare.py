"""Prepare the data of a recipe: the data root, the vocabulary and the corpora, all cached."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from interlace.core.errors import DataError, RunError
from interlace.core.progress import Progress, no_progress
from interlace.data.build import build_corpus, join_parts
from interlace.data.cache import cache_folder, cached, content_key, folder_of, writable_cache_folder
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.extension import extend_vocab
from interlace.data.vocab import Extension, Vocab
from interlace.experiments.corpora import (
    align_corpus,
    corpora_with,
    filters_of,
    needs,
    plugin_hash,
    side_texts,
    text_key,
    with_alignments,
    word_tokenizer_note,
    word_tokenizer_of,
    words_key,
)
from interlace.experiments.recipe import CorpusGroup, Recipe, tokenizer_of
from interlace.experiments.sections import VocabSettings
from interlace.models.token_embeddings import check_vectors
from interlace.readers import is_hub
from interlace.text.lines import FileLines
from interlace.toy import toy_version, write_toy
from interlace.toy.languages import LANGUAGES

if TYPE_CHECKING:
    from interlace.experiments.deriving import DerivedSubwords

log = logging.getLogger(__name__)
PART_ROWS = 50_000  # lines of a part that a worker builds
_ATTEMPTS = 5  # to finish tasks of killed workers
GENERATED_VERSION = 1  # of the text of toy corpus and derived languages, in keys of scores; raised when it changes

AnyCorpus = Corpus | ParallelCorpus


@dataclass(frozen=True)
class Materials:
    """The prepared data of a recipe: the vocabulary, corpora by name, the corpus names of each group.

    derived: which subwords each derived language shares with the original.
    """

    root: Path
    vocab: Vocab
    train: dict[str, AnyCorpus]
    dev: dict[str, AnyCorpus]
    groups: dict[str, list[str]]
    derived: dict[str, DerivedSubwords]

    @cached_property
    def readable(self) -> dict[str, AnyCorpus]:
        """All that an objective may read, by name: the training corpora, then the sides of parallel ones."""
        return {**self.train, **sides_of(self.train)}


def sides_of(corpora: Mapping[str, AnyCorpus]) -> dict[str, Corpus]:
    """Return both sides of each parallel corpus as `CORPUS:LANGUAGE`, such as `en-de:en`, without copying."""
    return {
        f"{name}:{side.language}": side
        for name, corpus in corpora.items()
        if isinstance(corpus, ParallelCorpus)
        for side in corpus.sides
    }


def prepare(recipe: Recipe, vocab: Vocab | None = None, *, dev: bool = True) -> Materials:
    """Load the data of a recipe from the cache, or build it.

    vocab: the recipe's; default: loaded or learned. dev: include held-out text.
    Raise a DataError if the data root is missing, or a reader cannot read a file.
    """
    root = data_root(recipe)
    if note := word_tokenizer_note(recipe, root):
        log.info("%s", note)
    vocab = vocab or prepare_vocab(recipe)
    train: dict[str, AnyCorpus] = {}
    held_out: dict[str, AnyCorpus] = {}
    groups: dict[str, list[str]] = {}
    for key, (name, corpus) in _corpus_names(recipe, dev=dev).items():
        group = recipe.corpora[name]
        groups.setdefault(name, []).append(key)
        if group.train:
            train[key] = built = _Source(recipe, group, corpus, "train", root, vocab).built()
            if isinstance(built, ParallelCorpus) and (wanted := needs(recipe, name, key)):
                train[key] = with_alignments(recipe, group, corpus, root, built, wanted)
        if group.dev and dev:
            held_out[key] = _Source(recipe, group, corpus, "dev", root, vocab).built()
    derived: dict[str, DerivedSubwords] = {}
    if recipe.derived:
        from interlace.experiments.deriving import derived_subwords

        derived = derived_subwords(recipe, vocab, root)
    return Materials(root, vocab, train, held_out, groups, derived)


def _corpus_names(recipe: Recipe, *, dev: bool) -> dict[str, tuple[str, str]]:
    """Return group and corpus by corpus name: `en-de`, or `GROUP:en-de` where a group before has text of that name."""
    names: dict[str, tuple[str, str]] = {}
    used: set[str] = set()
    for group, settings in recipe.corpora.items():
        for corpus in (*settings.languages, *settings.pairs):
            name = f"{group}:{corpus}" if corpus in used else corpus
            names[name] = (group, corpus)
            if settings.train or (settings.dev and dev):
                used.add(name)
    return names


def corpus_files(recipe: Recipe, *splits: str) -> list[Path]:
    """Return the files of the corpora, except derived text and data sets of the hub; they may be missing."""
    named = [
        file
        for group in recipe.corpora.values()
        for corpus in (*group.languages, *group.pairs)
        if not recipe.derived.keys() & set(corpus.split("-"))
        for split in splits
        for file in group.files(split, corpus, recipe.root)
        if not is_hub(file)
    ]
    return list(dict.fromkeys(named))


def prepare_vocab(recipe: Recipe) -> Vocab:
    """Return the vocabulary of a recipe; raise as `prepare`."""
    vocab = _vocab(recipe, data_root(recipe)).with_normalization(recipe.normalization)
    return vocab.with_target_languages(recipe.languages) if recipe.seq2seq else vocab


def data_root(recipe: Recipe) -> Path:
    """Return the folder that the recipe's paths are relative to; write toy corpus and derived languages if needed."""
    root = original_root(recipe)
    if not recipe.derived:
        return root
    from interlace.experiments.deriving import with_derived

    return with_derived(recipe, root)


def data_key(recipe: Recipe) -> Any:
    """Return the identity of a recipe's data in keys of scores, except the contents of its files."""
    original: Any = str(original_root(recipe)) if recipe.toy is None else recipe.toy.dump()
    plugins = [plugin_hash(LANGUAGES.get(code)) for code in recipe.toy.languages] if recipe.toy else []
    if not recipe.derived:
        return [original, plugins, GENERATED_VERSION]
    from interlace.experiments.deriving import derived_key

    return [original, plugins, GENERATED_VERSION, derived_key(recipe, original_root(recipe))]


def original_root(recipe: Recipe) -> Path:
    """Return the data root without derived languages; write the toy corpus if needed."""
    if (toy := recipe.toy) is not None:

        def build(into: Path) -> None:
            log.info("writing the toy corpus in %s", ", ".join(toy.languages))
            write_toy(toy, into)

        return cached("toy", {**toy.dump(), "version": toy_version()}, build)
    recipe.check_data_root()
    given = str(recipe.data_root)
    found = os.path.expandvars(given)
    if not found or not recipe.root.is_dir():
        named = re.findall(r"\$\{?(\w+)", given)
        hint = f"; set the environment variable {' and '.join(named)}" if named else ""
        raise DataError(f"data_root {found!r} is not a folder{hint}")
    return recipe.root


def _vocab(recipe: Recipe, root: Path) -> Vocab:
    """Return the vocabulary: an existing one, extended if the recipe says so, or one learned from the training text."""
    settings, start = recipe.vocab, tokenizer_of(recipe)
    if start is not None:
        if start == recipe.model.vectors:
            check_vectors(recipe.model)  # its errors are clearer than that of a missing tokenizer
        vocab = Vocab.load(start)
        if settings.size not in {VocabSettings().size, vocab.size}:
            log.warning(
                "vocab.size = %s has no effect: %s has %s tokens; set vocab.extend to add tokens",
                f"{settings.size:,}", start, f"{vocab.size:,}",
            )  # fmt: skip
        return _extended(recipe, root, vocab) if settings.extend else vocab

    def build(into: Path) -> None:
        log.info("learning a vocabulary of %d tokens", settings.size)
        size, alpha, kind, seed = settings.size, settings.alpha, settings.kind, settings.seed
        Vocab.learn(_vocab_text(recipe, root), size=size, alpha=alpha, kind=kind, seed=seed).save(into)

    return Vocab.load(str(cached("vocab", _vocab_key(recipe, root), build)))


def _extended(recipe: Recipe, root: Path, vocab: Vocab) -> Vocab:
    settings = recipe.vocab
    extend, min_count = settings.extend, settings.extend_min_count

    def build(into: Path) -> None:
        log.info("learning %d new tokens for %s", extend, vocab.name)
        text, alpha, seed = _vocab_text(recipe, root), settings.alpha, settings.seed
        grown = extend_vocab(vocab, text, extend, min_count=min_count, alpha=alpha, seed=seed)
        grown.save(into)
        if grown.extension is not None:
            grown.extension.save(into)

    own = {"start": "", "size": 0, "kind": "", "base": vocab.fingerprint, "extend": [extend, min_count]}
    folder = cached("vocab", {**_vocab_key(recipe, root), **own}, build)
    extension = Extension.open(folder)
    if len(extension.pieces) < extend:
        log.info("the text gives %d new tokens, not %d", len(extension.pieces), extend)
    return vocab.with_tokenizer(Vocab.load(folder).tokenizer, extension)


def _vocab_sources(recipe: Recipe) -> dict[str, list[tuple[CorpusGroup, str, int]]]:
    """Return group, corpus and side of the text that the vocabulary is learned from, by language."""
    chosen = recipe.vocab.corpora
    groups = [group for name, group in recipe.corpora.items() if not chosen or name in chosen]
    found = {language: list(corpora_with(groups, language)) for language in recipe.languages}
    return {language: sources for language, sources in found.items() if sources}


def _vocab_key(recipe: Recipe, root: Path) -> dict[str, Any]:
    """Return everything that a learned vocabulary depends on."""
    text: dict[str, list[Any]] = {}
    for language, sources in _vocab_sources(recipe).items():
        for group, corpus, side in sources:
            files = [content_key(path) for path in group.files("train", corpus, root)]
            text.setdefault(language, []).append([group.reader, *group.subset_key().values(), side, files])
    key = {**recipe.vocab.learning_key(), "corpora": {}, "normalization": recipe.normalization.dump(), "text": text}
    key |= {"version": 2}  # of what is learned from the same text
    if recipe.filters:
        words = words_key(recipe, list(text), root)
        key |= {"filters": [list(item) for item in recipe.filters.items()], "words": words}
    return key


def _vocab_text(recipe: Recipe, root: Path) -> dict[str, Iterator[str]]:
    return {language: _lines(recipe, sources, root) for language, sources in _vocab_sources(recipe).items()}


def _lines(recipe: Recipe, sources: list[tuple[CorpusGroup, str, int]], root: Path) -> Iterator[str]:
    """Yield a language's training lines from all corpora; without filters no words are needed, which is faster."""
    for group, corpus, side in sources:
        if recipe.filters:
            for text in side_texts(recipe, group, corpus, side, root):
                yield from text.where(text.words.lengths > 0).lines
            continue
        reader: Any = group.reading()
        for chunk in reader.read_chunks(group.files("train", corpus, root), corpus.split("-")):
            text = chunk if "-" not in corpus else (chunk.source, chunk.target)[side]
            yield from recipe.normalization.lines(text.lines, text.language)


@dataclass(frozen=True)
class _Source:
    """The text of one corpus in a split, and the vocabulary that encodes it."""

    recipe: Recipe
    group: CorpusGroup
    corpus: str
    split: str
    root: Path
    vocab: Vocab

    @cached_property
    def key(self) -> dict[str, Any]:
        """All that the corpus depends on."""
        text = text_key(self.recipe, self.group, self.corpus, self.split, self.root)
        return {**text, "vocab": self.vocab.fingerprint}

    @cached_property
    def folder(self) -> Path:
        """The corpus in the cache; it exists if it was built."""
        return folder_of("corpus", self.key)

    def built(self, parts: Sequence[list[FileLines]] = ()) -> AnyCorpus:
        """Return the corpus from the cache, or build it; from its parts if there are any."""
        kind = ParallelCorpus if "-" in self.corpus else Corpus

        def build(into: Path) -> None:
            log.info("building the corpus %s (%s)", self.corpus, self.split)
            if parts:
                join_parts([self.part(part) for part in parts], kind, self.vocab, into)
            else:
                self._build(self.group.files(self.split, self.corpus, self.root), into)

        return kind.open(cached("corpus", self.key, build), self.vocab)

    def cut(self) -> list[list[FileLines]]:
        """Return the parts of the corpus; none if it is in the cache already or can only be built as a whole."""
        if self.folder.is_dir() or any(rule.compares_rows for rule in filters_of(self.recipe, self.split)):
            return []
        files = self.group.files(self.split, self.corpus, self.root)
        return self.group.reading(self.split).cut(files, self.corpus.split("-"), PART_ROWS)

    def part(self, part: list[FileLines]) -> Path:
        """Return the folder of a part from the cache, or build it."""
        lines = [str(part[0].path), [[each.start, each.end] for each in part]]
        return cached(self._parts, {**self.key, "part": lines}, lambda into: self._build(part, into))

    def locked_parts(self) -> FileLock:
        """Acquire and return the lock of the parts; wait for another preparation of the same corpus."""
        folder = writable_cache_folder() / self._parts
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.with_name(f".{folder.name}.lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            log.info("waiting for another process that prepares %s (%s)", self.corpus, self.split)
            lock.acquire()
        return lock

    def remove_parts(self) -> None:
        """Remove the parts from the cache, also those that a killed preparation left; the caller holds their lock."""
        shutil.rmtree(cache_folder() / self._parts, ignore_errors=True)

    @property
    def _parts(self) -> str:
        return f"corpus-parts/{self.folder.name}"

    def _build(self, paths: list[Path] | list[FileLines], into: Path) -> None:
        reader, normalization = self.group.reading(self.split), self.recipe.normalization
        word_tokenizer = word_tokenizer_of(self.recipe, self.root)
        rules, languages = filters_of(self.recipe, self.split), self.corpus.split("-")
        build_corpus(reader, paths, languages, self.vocab, word_tokenizer, normalization, into, rules)


# ---- by several workers ----


def prepare_with(recipe: Recipe, workers: Callable[[], Executor], progress: Progress = no_progress) -> Materials:
    """Prepare the data of a recipe by the workers of an executor; the result is that of `prepare`, byte for byte.

    Training text in plain files is cut into parts of `PART_ROWS` lines, which are filtered, tokenized and encoded apart
    from each other, unless a filter compares rows. Other corpora, and the word alignments and phrases of each corpus,
    are tasks as a whole. What is finished is in the cache, so the same call resumes a killed one. Workers need the
    same files and the same cache folder.

    workers: opens an executor; opened again after a worker was killed, to repeat the tasks that were running, and if
    that happens again and again, a RunError is raised.
    """
    root, dumped = data_root(recipe), json.dumps(recipe.dump())
    vocab, names = prepare_vocab(recipe), _corpus_names(recipe, dev=True)
    corpora = {
        (name, split): _Source(recipe, recipe.corpora[group], corpus, split, root, vocab)
        for split in ("train", "dev")
        for name, (group, corpus) in names.items()
        if corpus in recipe.corpora[group].corpora_in(split)
    }
    parallel = [each for each in corpora if each[1] == "train" and "-" in names[each[0]][1]]
    aligned = [each for each in parallel if needs(recipe, names[each[0]][0], each[0])]
    tasks: list[Any] = [("align", *each, None) for each in aligned]
    with ExitStack() as held:
        for source in sorted({one.folder: one for one in corpora.values()}.values(), key=lambda one: one.folder):
            held.callback(source.locked_parts().release)
        parts = {each: source.cut() for each, source in corpora.items()}
        tasks += [("build", *each, part) for each, cut in parts.items() for part in [*cut, *([] if cut else [None])]]
        _run_all(dumped, tasks, workers, progress)
        for each, cut in parts.items():
            corpora[each].built(cut)
            corpora[each].remove_parts()
    _run_all(dumped, [("annotate", *each, None) for each in aligned], workers, progress)
    return prepare(recipe, vocab)


def _run_all(dumped: str, tasks: list[Any], workers: Callable[[], Executor], progress: Progress) -> None:
    """Run tasks to their end; those of killed workers again."""
    left = dict(enumerate(tasks))
    lost = (BrokenExecutor, *([sys.modules["distributed"].KilledWorker] if "distributed" in sys.modules else []))
    for _ in range(_ATTEMPTS if tasks else 0):
        with workers() as executor:
            running = {executor.submit(run_task, dumped, *task): number for number, task in left.items()}
            try:
                for future in as_completed(running):
                    future.result()
                    del left[running[future]]
                    progress("preparing", len(tasks) - len(left), len(tasks))
            except lost:
                log.warning("a worker was killed; running its task again")
                continue
            except BaseException:
                for future in running:
                    future.cancel()
                raise
        return
    if left:
        raise RunError(f"workers were killed {_ATTEMPTS} times, possibly for lack of memory; use fewer workers")


def run_task(dumped: str, what: str, name: str, split: str, part: list[FileLines] | None) -> None:
    """Do one task of `prepare_with` in a worker; its result is in the cache.

    dumped: the recipe as JSON. what: `build` the corpus, or a part of it; `align` its words; `annotate` it with what
        the objectives need.
    """
    recipe, root, vocab = _opened(dumped)
    named, corpus = _corpus_names(recipe, dev=True)[name]
    group = recipe.corpora[named]
    source = _Source(recipe, group, corpus, split, root, vocab)
    if what == "align":
        align_corpus(recipe, group, corpus, root)
    elif part is not None:
        source.part(part)
    elif isinstance(built := source.built(), ParallelCorpus) and what == "annotate":
        with_alignments(recipe, group, corpus, root, built, needs(recipe, named, name))


@lru_cache(maxsize=1)
def _opened(dumped: str) -> tuple[Recipe, Path, Vocab]:
    recipe = Recipe.read(json.loads(dumped))
    root = data_root(recipe)
    return recipe, root, prepare_vocab(recipe)
