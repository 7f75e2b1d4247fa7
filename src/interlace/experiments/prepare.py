"""From a recipe to what training works on: the data root, the vocabulary, the corpora; all of it cached."""

from __future__ import annotations

import logging
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError
from interlace.data.build import build_corpus
from interlace.data.cache import cached, content_key
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.extension import extend_vocab
from interlace.data.vocab import Extension, Vocab
from interlace.experiments.deriving import derived_key, with_derived
from interlace.experiments.recipe import tokenizer_of
from interlace.experiments.sections import VocabSettings
from interlace.experiments.training_text import filters_of, text_key, training_lines, training_pairs, words_key
from interlace.experiments.word_alignment import beside, needs
from interlace.models.token_embeddings import check_vectors
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from interlace.toy import toy_version, write_toy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from interlace.experiments.recipe import CorpusGroup, Recipe

log = logging.getLogger(__name__)

AnyCorpus = Corpus | ParallelCorpus
Groups = dict[str, "CorpusGroup"]


@dataclass(frozen=True)
class Materials:
    """What a recipe's data comes to: corpora by name, and the names of each group's."""

    root: Path
    vocab: Vocab
    train: dict[str, AnyCorpus]
    dev: dict[str, AnyCorpus]
    groups: dict[str, list[str]]

    @cached_property
    def readable(self) -> dict[str, AnyCorpus]:
        """All that an objective may read, by name: the training corpora, and after them the sides of translations."""
        return {**self.train, **sides_of(self.train)}


def sides_of(corpora: Mapping[str, AnyCorpus]) -> dict[str, Corpus]:
    """Both sides of each corpus of translations as `CORPUS:LANGUAGE`, such as `en-de:en`: views, nothing is copied."""
    return {
        f"{name}:{side.language}": side
        for name, corpus in corpora.items()
        if isinstance(corpus, ParallelCorpus)
        for side in corpus.sides
    }


def prepare(recipe: Recipe, *, dev: bool = True) -> Materials:
    """Everything from the cache, built where it is not there yet; without `dev` no held-out text.

    Raises:
        DataError: the data root is missing or a file is not as its reader expects.
    """
    root = data_root(recipe)
    vocab = _vocab(recipe, root).with_normalization(recipe.normalization)
    vocab = vocab.with_target_languages(recipe.languages) if recipe.seq2seq else vocab
    train: dict[str, AnyCorpus] = {}
    held_out: dict[str, AnyCorpus] = {}
    groups: dict[str, list[str]] = {}
    for name, group in recipe.corpora.items():
        groups[name] = []
        for corpus in [*group.languages, *group.pairs]:
            key = f"{name}:{corpus}" if corpus in train or corpus in held_out else corpus
            groups[name].append(key)
            if group.train:
                train[key] = built = _corpus(recipe, group, corpus, "train", root, vocab)
                if isinstance(built, ParallelCorpus) and (wanted := needs(recipe, name, key)):
                    train[key] = beside(recipe, group, corpus, root, built, wanted)
            if group.dev and dev:
                held_out[key] = _corpus(recipe, group, corpus, "dev", root, vocab)
    return Materials(root, vocab, train, held_out, groups)


def data_root(recipe: Recipe) -> Path:
    """The folder that the recipe's paths stand under; derived languages and the toy corpus are made where asked for.

    Raises:
        DataError: there is none, or a file that derived languages need is missing.
    """
    root = _root(recipe)
    return with_derived(recipe, root) if recipe.derived else root


def data_key(recipe: Recipe) -> Any:
    """What names a recipe's data in keys of scores, but for the content of its files, which a run is done with."""
    original = [recipe.toy.dump(), toy_version()] if recipe.toy else str(_root(recipe))
    return [original, derived_key(recipe, _root(recipe))] if recipe.derived else original


def _root(recipe: Recipe) -> Path:
    """Where original text stands."""
    if recipe.toy is not None:
        toy = recipe.toy

        def build(into: Path) -> None:
            log.info("writing the toy corpus in %s", ", ".join(toy.languages))
            write_toy(toy, into)

        return cached("toy", {**toy.dump(), "version": toy_version()}, build)
    if recipe.data_root is None:
        raise DataError(f"recipe {recipe.name!r} has no data: give --set data_root=FOLDER, or a [toy] section")
    found = os.path.expandvars(recipe.data_root)
    root = Path(found).expanduser()
    if not found or not root.is_dir():
        named = re.findall(r"\$\{?(\w+)", recipe.data_root)
        hint = f"; set the environment variable {' and '.join(named)}" if named else ""
        raise DataError(f"data_root {found!r} is no folder{hint}")
    return root


def _vocab(recipe: Recipe, root: Path) -> Vocab:
    start = tokenizer_of(recipe)
    if start is None:
        return _learnt(recipe, root)
    if start == recipe.model.vectors:
        check_vectors(recipe.model)  # what is wrong with them says more than that no tokenizer lies beside them
    vocab = Vocab.load(start)
    if recipe.vocab.size not in {VocabSettings().size, vocab.size}:
        log.warning(
            "vocab.size = %s is not read: the %s subwords are those of %s; vocab.extend adds some",
            f"{recipe.vocab.size:,}", f"{vocab.size:,}", start,
        )  # fmt: skip
    return _extended(recipe, root, vocab) if recipe.vocab.extend else vocab


def _learnt(recipe: Recipe, root: Path) -> Vocab:
    settings = recipe.vocab
    languages, key = _vocab_text(recipe, root)

    def build(into: Path) -> None:
        log.info("learning %d subwords", settings.size)
        size, alpha, kind, seed = settings.size, settings.alpha, settings.kind, settings.seed
        Vocab.learn(languages(), size=size, alpha=alpha, kind=kind, seed=seed).save(into)

    return Vocab.load(str(cached("vocab", key, build)))


def _extended(recipe: Recipe, root: Path, vocab: Vocab) -> Vocab:
    settings = recipe.vocab
    languages, key = _vocab_text(recipe, root)

    def build(into: Path) -> None:
        log.info("learning %d more subwords for %s", settings.extend, vocab.name)
        grown = extend_vocab(
            vocab,
            languages(),
            settings.extend,
            min_count=settings.extend_min_count,
            alpha=settings.alpha,
            seed=settings.seed,
        )
        grown.save(into)
        if grown.extension is not None:
            grown.extension.save(into)

    more = {"base": vocab.fingerprint, "extend": [settings.extend, settings.extend_min_count]}
    folder = cached("vocab", {**key, "start": "", "size": 0, "kind": "", **more}, build)
    extension = Extension.open(folder)
    if len(extension.pieces) < settings.extend:
        log.info("the text gives %d new subwords, not %d", len(extension.pieces), settings.extend)
    return vocab.with_tokenizer(Vocab.load(folder).tokenizer, extension)


def _vocab_text(recipe: Recipe, root: Path) -> tuple[Callable[[], dict[str, Iterator[str]]], dict[str, Any]]:
    """Streams of the lines a vocabulary is learnt from, a language each, and all that it then depends on."""
    settings = recipe.vocab
    groups = {name: group for name, group in recipe.corpora.items() if not settings.corpora or name in settings.corpora}
    languages = [language for language in recipe.languages if any(_sides(groups, language))]
    key = {
        **settings.learning(),
        "corpora": {},
        "normalization": recipe.normalization.dump(),
        "text": {language: _files(groups, language, root) for language in languages},
    }
    if recipe.filters:
        key["filters"] = [list(item) for item in recipe.filters.items()]
        key["words"] = words_key(recipe, languages)
    return lambda: {language: _lines(recipe, groups, language, root) for language in languages}, key


def _sides(groups: Groups, language: str) -> Iterator[tuple[CorpusGroup, str, int]]:
    """Where a language's training text stands: group, corpus, and which side of it."""
    for group in groups.values():
        for corpus in group.trained:
            parts = corpus.split("-")
            if language in parts:
                yield group, corpus, parts.index(language)


def _files(groups: Groups, language: str, root: Path) -> list[Any]:
    """All that a language's training text depends on: contents, reader and side of each corpus."""
    found = []
    for group, corpus, position in _sides(groups, language):
        files = [content_key(path) for path in group.files("train", corpus, root)]
        found.append([group.reader, *group.part().values(), position, files])
    return found


def _lines(recipe: Recipe, groups: Groups, language: str, root: Path) -> Iterator[str]:
    """The language's training lines from every corpus it stands in; those that filters drop are not learnt from."""
    for group, corpus, position in _sides(groups, language):
        if recipe.filters:
            yield from _kept_lines(recipe, group, corpus, position, root)
            continue
        reader: Any = group.reading()
        for chunk in reader.read_chunks(group.files("train", corpus, root), corpus.split("-")):
            side = chunk if "-" not in corpus else (chunk.source, chunk.target)[position]
            yield from recipe.normalization.lines(side.lines, side.language)


def _kept_lines(recipe: Recipe, group: CorpusGroup, corpus: str, position: int, root: Path) -> Iterator[str]:
    """The lines of one side of a corpus that pass the filters: words have to be found for that."""
    if "-" not in corpus:
        sides = training_lines(recipe, group, corpus, root)
    else:
        sides = ((pair.source, pair.target)[position] for pair in training_pairs(recipe, group, corpus, root))
    for side in sides:
        yield from side.where(side.words.lengths > 0).lines


def _corpus(recipe: Recipe, group: CorpusGroup, corpus: str, split: str, root: Path, vocab: Vocab) -> AnyCorpus:
    paths = group.files(split, corpus, root)
    key = {**text_key(recipe, group, corpus, split, root), "vocab": vocab.fingerprint}

    def build(into: Path) -> None:
        log.info("building the corpus %s (%s)", corpus, split)
        reader = group.reading(split)
        word_tokenizer, filters = WORD_TOKENIZERS.build(recipe.word_tokenizer), filters_of(recipe, split)
        build_corpus(reader, paths, corpus.split("-"), vocab, word_tokenizer, recipe.normalization, into, filters)

    folder = cached("corpus", key, build)
    return ParallelCorpus.open(folder, vocab) if "-" in corpus else Corpus.open(folder, vocab)
