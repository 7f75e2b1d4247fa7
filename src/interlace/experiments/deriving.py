"""Derived languages of recipes: which files a recipe needs of them, and the data root that holds them.

A derived file has the path at which the recipe's patterns look for it: that of the original with the other language
filled in. Translations, alignments and dictionaries are derived from the training text. The folder of each language is
cached by all that it depends on: the content of the original files, how they are read, normalized and tokenized, which
rows count, the transformations with their seed, and the code.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.core.errors import DataError, InterlaceError, SettingsError
from interlace.core.files import must_exist
from interlace.core.settings import Settings
from interlace.data.cache import cached, content_key
from interlace.data.vocab import Vocab
from interlace.derived import Chain
from interlace.derived.common.folder import (
    Derivation,
    DerivedDictionary,
    DerivedFile,
    DerivedTranslations,
    FolderFile,
    OriginalFiles,
    write_folder,
)
from interlace.experiments.corpora import code_hash, corpora_with, filters_of, plugin_hash, side_texts, words_key
from interlace.experiments.recipe import CorpusGroup, Recipe
from interlace.experiments.sections import AlignSettings, files_of, names_of
from interlace.readers import READERS
from interlace.tasks import Task
from interlace.tasks.common.dictionaries import DictionaryTask
from interlace.tasks.common.files import FileQuery, MissingDataError, expected_files
from interlace.text import Text

log = logging.getLogger(__name__)

_CODE = ("derived", "readers", "text", "alignment", "data/filters")
_OWN_PATTERNS = "give translations their own patterns with {pair}, as in 'parallel/train.{pair}.{source}'"


def with_derived(recipe: Recipe, root: Path) -> Path:
    """Write the derived languages of a recipe where they are not cached, and return a data root that holds them.

    It is a folder of links: to the derived files, and to everything in the original data root.
    Raise a DataError if an original file is missing, or a file exists at the path of a derived one.
    """
    root = root.resolve()
    links: dict[str, Path] = {}
    for name, wanted in derived_files(recipe, root).items():
        for file in wanted:
            _check_sources(file, name)
        folder = cached("derived", _key(recipe, root, name, wanted), partial(_write, recipe, root, name, wanted))
        links |= {output: folder / output for file in wanted for output in file.outputs}
    folders = {os.fspath(parent) for output in links for parent in Path(output).parents}  # with derived files
    for place in filter(Path.is_dir, (root / folder for folder in folders)):
        for entry in sorted(place.iterdir()):
            path = os.path.relpath(entry, root)
            if path not in folders and os.access(entry, os.R_OK) and (entry.is_file() or entry.is_dir()):
                links[path] = entry

    def link(into: Path) -> None:
        for path, original in links.items():
            (into / "data" / path).parent.mkdir(parents=True, exist_ok=True)
            (into / "data" / path).symlink_to(original)

    return cached("data-root", {"links": {path: str(original) for path, original in links.items()}}, link) / "data"


def derived_key(recipe: Recipe, root: Path) -> dict[str, Any]:
    """Return what derived languages depend on besides the original files: settings and transformations."""
    return {
        name: {**language.dump(), "transformations": _described_chain(recipe, root, name)}
        for name, language in recipe.derived.items()
    }


def derived_problems(recipe: Recipe) -> list[str]:
    """Return messages about what would prevent derived languages from being written, without reading any text.

    For the toy corpus, which is generated on demand, only its languages are checked.
    """
    problems: dict[str, None] = {}

    if recipe.toy is not None:
        for name, language in recipe.derived.items():
            with _noting(problems):
                language.check_files(name)
            if language.of not in recipe.toy.languages:
                there = ", ".join(recipe.toy.languages)
                problems[f"derived.{name}.of: the toy corpus has {there}, not {language.of!r}"] = None
        return list(problems)
    root = recipe.root.resolve()
    if recipe.derived and "$" in root.name and not root.is_dir():  # otherwise every file would be reported
        return [f"data_root = {recipe.data_root!r}: the environment variable is not set"]
    for name, language in recipe.derived.items():
        with _noting(problems):
            language.located(root, name)
    found: dict[str, list[FolderFile]] = {}
    with _noting(problems):
        found = derived_files(recipe, root)
    for name, wanted in found.items():
        for file in wanted:
            with _noting(problems):
                _check_sources(file, name)
        if not wanted:
            problems[f"derived.{name}: not used by any corpus, task or dictionary"] = None
    return list(problems)


@contextmanager
def _noting(problems: dict[str, None]) -> Iterator[None]:
    """Add the message of an error to `problems`."""
    try:
        yield
    except InterlaceError as error:
        problems[str(error)] = None


def _write(recipe: Recipe, root: Path, name: str, wanted: list[FolderFile], into: Path) -> None:
    language = recipe.derived[name]
    chain = language.located(root, name)
    derivation = Derivation(name, language.of, chain, language.seed, recipe.word_tokenizer, recipe.normalization)
    log.info("deriving %s: %d files", name, len(wanted))
    try:
        write_folder(derivation, wanted, into)
    except DataError as error:
        raise DataError(f"derived.{name}, {error}") from None


def _key(recipe: Recipe, root: Path, name: str, wanted: list[FolderFile]) -> dict[str, Any]:
    language, described = recipe.derived[name], list[Any]()
    for file in wanted:
        sources = [
            [_described(each.reader), [_described(rule) for rule in each.filters], [*map(content_key, each.paths)]]
            for each in file.sources
        ]
        share = [file.share, file.swapped] if isinstance(file, DerivedTranslations) else None
        described.append([type(file).__name__, file.outputs, sources, share])
    return {
        "files": described,
        "language": name,
        "of": language.of,
        "transformations": _described_chain(recipe, root, name),
        "seed": language.seed,
        "word_tokenizer": words_key(recipe, [language.of]),
        "normalization": recipe.normalization.dump(),
        "version": code_hash(*_CODE),
    }


def _described_chain(recipe: Recipe, root: Path, name: str) -> list[Any]:
    """Return the transformations, with the content of their files."""
    return [
        _described(one, **{
            field: [content_key(path) for path in ([value] if isinstance(value, Path) else value)]
            for field, value in files_of(one)
        })
        for one in recipe.derived[name].located(root, name).transformations
    ]  # fmt: skip


def _described(entry: Settings, **content: Any) -> list[Any]:
    """Return a registry entry by module and settings, and the content of a plugin's file."""
    return [type(entry).__module__, {**entry.dump(), **content}, plugin_hash(type(entry))]


_SAMPLED = 5000  # lines of each corpus, which take about 0.3 s


class DerivedSubwords(NamedTuple):
    """Percent of running subwords of a derived language that also occur in the original, and that are cut alike there.

    Lines are respelled in their order, so that moved words do not count as cut otherwise. Single blanks and special
    tokens do not count.
    """

    shared: float
    cut_alike: float

    @classmethod
    def of(cls, vocab: Vocab, pairs: Iterable[tuple[Text, Text]]) -> DerivedSubwords:
        """Compare original and respelled lines; at least one."""
        found = [[_subword_places(vocab, text) for text in pair] for pair in pairs]
        (theirs, _), (own, _) = (map(np.concatenate, zip(*side, strict=True)) for side in zip(*found, strict=True))
        alike = sum(np.isin(twins, places).sum() for (_, places), (_, twins) in found)
        return cls(*(round(100 * float(count) / len(own), 3) for count in (np.isin(own, theirs).sum(), alike)))

    def __str__(self) -> str:
        return f"{self.shared:.1f} % are shared, {self.cut_alike:.1f} % are cut alike"


def _subword_places(vocab: Vocab, text: Text) -> tuple[NDArray[Any], NDArray[Any]]:
    """(T,) id of each subword that is neither blank nor special, and its line, start and end as one number."""
    sentences, spans = vocab.encode_with_offsets(text)
    kept = ~vocab.surfaces.blank(sentences.ids.flat) & ~np.isin(sentences.ids.flat, vocab.special_ids)
    start, end = spans.flat[kept].T.astype(np.int64)
    return sentences.ids.flat[kept], (sentences.ids.rows()[kept] << 40) + (start << 20) + end


def derived_subwords(recipe: Recipe, vocab: Vocab, root: Path) -> dict[str, DerivedSubwords]:
    """Measure the subwords of each derived language; warn unless they are those of a copied vocabulary.

    The paper copies it (Tang et al. 2022). There is no warning if a setting or transformation shares words.
    """
    found: dict[str, DerivedSubwords] = {}
    for name, language in recipe.derived.items():
        chain = language.located(root, name)
        spelling = Chain(transformations=tuple(one for one in chain.transformations if not one.moves_words))
        texts = [
            text.where((np.arange(len(text)) < _SAMPLED) & (text.words.lengths > 0))
            for group, corpus, side in corpora_with(recipe.corpora.values(), language.of)
            if corpus == language.of
            for text in islice(side_texts(recipe, group, corpus, side, root), 1)
        ]
        if not texts:
            continue
        found[name] = DerivedSubwords.of(vocab, ((text, spelling.apply(text, language.seed).text) for text in texts))
        if not chain.shares_words and str(found[name]) != str(DerivedSubwords(0, 100)):
            log.warning(
                "derived.%s: of its running subwords, %s; a copy of the vocabulary of %r has 0 and 100 %%, as one of "
                "kind 'bpe' learned from both has with to = 'script'", name, found[name], language.of,
            )  # fmt: skip
    return found


def derived_files(recipe: Recipe, root: Path) -> dict[str, list[FolderFile]]:
    """Return the files of each derived language that a recipe reads, each once; reject conflicting paths."""
    owners: dict[str, tuple[str, FolderFile]] = {}
    found: dict[str, list[FolderFile]] = {}
    for name in recipe.derived:
        wanted = [*_texts(recipe, name, root), *_tasks(recipe, name, root), *_dictionaries(recipe, name, root)]
        found[name] = []
        for file in wanted:
            for output in file.outputs:
                if output.startswith(".."):
                    raise DataError(f"{output}: files of derived languages must be under the data root {root}")
                if (root / output).exists():
                    translations = isinstance(file, DerivedTranslations)
                    hint = _OWN_PATTERNS if translations else "use another name or leave it out"
                    raise DataError(f"derived.{name}: {root / output} exists already; {hint}")
                if not _are_same((name, file), owners.setdefault(output, (name, file))):
                    what = f"two different files are to be written at {root / output}"
                    raise SettingsError(f"derived.{name}: {what}; {_OWN_PATTERNS}")
            if owners[file.path][1] is file:
                found[name].append(file)
    return found


def _check_sources(file: FolderFile, name: str) -> None:
    for source in file.sources:
        for path in source.paths:
            must_exist(path, f"original file of derived.{name}")


def _are_same(one: tuple[str, FolderFile], other: tuple[str, FolderFile]) -> bool:
    """Whether two files at one path are the same; their readers may differ."""
    (language, file), (other_language, other_file) = one, other
    if isinstance(file, DerivedFile) and isinstance(other_file, DerivedFile):
        return (language, file.source.paths) == (other_language, other_file.source.paths)
    return one == other


def _texts(recipe: Recipe, name: str, root: Path) -> Iterator[FolderFile]:
    derived = recipe.derived[name]
    originals = {root / own: root / original for own, original in derived.files.items()}
    for label, group in recipe.corpora.items():
        for split in ("train", "dev"):
            if name in group.languages:
                own, theirs = (group.files(split, language, root) for language in (name, derived.of))
                for path, default in zip(own, theirs, strict=True):
                    original = originals.get(path, default)
                    yield _file(path, original, READERS.build(group.reader), root, f"corpora.{label}.{split}")
            for pair in group.pairs:
                if name in pair.split("-") and getattr(group, split):
                    yield _translations(recipe, name, group, pair, split, root)


def _file(path: Path, original: Path, reader: Any, root: Path, where: str) -> DerivedFile:
    if path == original:
        raise SettingsError(
            f"{where}: {str(path)!r} is one file for both languages; put {{language}} into its name, or name the "
            "derived file explicitly"
        )
    return DerivedFile(os.path.relpath(path, root), OriginalFiles(reader, (original,)))


def _translations(
    recipe: Recipe, name: str, group: CorpusGroup, pair: str, split: str, root: Path
) -> DerivedTranslations:
    derived, swapped = recipe.derived[name], pair.split("-", maxsplit=1)[0] == name
    sides = [os.path.relpath(path, root) for path in group.files(split, pair, root)]
    if len(set(sides)) != 2:
        raise SettingsError(
            f"the pair {pair!r}: translations with a derived language need one file per side, as the reader 'lines' "
            f"reads them; found {len(set(sides))} in '{split}'"
        )
    sources = _training(recipe, name, root, split)
    if not sources:
        raise SettingsError(f"the pair {pair!r}: no group of [corpora] has {split} text in {derived.of!r}")
    original, own = sides[::-1] if swapped else sides
    if split != "train":
        return DerivedTranslations(own, original, "", swapped, sources)
    aligner = (recipe.align or AlignSettings()).aligner(names_of(pair))
    alignments: str = getattr(aligner, "links", "") if "links" in aligner.files else ""
    return DerivedTranslations(own, original, alignments, swapped, sources, derived.parallel)


def _training(recipe: Recipe, name: str, root: Path, split: str = "train") -> tuple[OriginalFiles, ...]:
    """Return the text of the original language in the corpora of a split, by group."""
    of, filters = recipe.derived[name].of, tuple(filters_of(recipe, split))
    groups = [group for group in recipe.corpora.values() if of in group.languages and getattr(group, split)]
    return tuple(OriginalFiles(group.reading(split), tuple(group.files(split, of, root)), filters) for group in groups)


def _tasks(recipe: Recipe, name: str, root: Path) -> Iterator[DerivedFile]:
    for label in recipe.evaluate.tasks:
        task = recipe.evaluate.task(label)
        if getattr(task, "reader", None) is not None and "source" not in type(task).model_fields:
            for split in ("train", "dev", "test"):
                yield from _task_files(task, label, split, name, recipe.derived[name].of, root)


def _task_files(task: Task, label: str, split: str, name: str, of: str, root: Path) -> Iterator[DerivedFile]:
    patterns: Any = task.files
    reader: Any = getattr(task, "reader", None)
    try:
        own, theirs = (expected_files(patterns, FileQuery(label, split, language, root)) for language in (name, of))
    except MissingDataError:
        return  # the task has no such split
    where = f"evaluate.tasks.{label}.files"
    if len(own) != len(theirs):
        raise SettingsError(f"{where}: {split} has {len(theirs)} files in {of!r}, but {len(own)} in {name!r}")
    for path, original in zip(own, theirs, strict=True):
        if original.is_file():
            yield _file(path, original, READERS.build(reader), root, where)


def _dictionaries(recipe: Recipe, name: str, root: Path) -> Iterator[DerivedDictionary]:
    of = recipe.derived[name].of
    for path in dict.fromkeys(_dictionary_paths(recipe, name, of, root)):
        sources = _training(recipe, name, root)
        if not sources:
            raise SettingsError(f"{path}: no group of [corpora] has text in {of!r} for a dictionary")
        yield DerivedDictionary(os.path.relpath(path, root), sources)


def _dictionary_paths(recipe: Recipe, name: str, of: str, root: Path) -> Iterator[Path]:
    settings = [getattr(recipe.objective(objective), "dictionary", None) for objective in recipe.objectives]
    for pattern in [recipe.evaluate.dictionary, *(getattr(one, "files", None) for one in settings)]:
        if pattern and {"source", "target"} <= {field for _, field, _, _ in Formatter().parse(pattern)}:
            yield root / pattern.format(source=of, target=name)
    for label in recipe.evaluate.tasks:
        task: Any = recipe.evaluate.task(label)
        if isinstance(task, DictionaryTask) and task.source == of:
            yield from expected_files(task.files, FileQuery(label, "test", name, root, of))
