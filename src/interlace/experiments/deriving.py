"""Derived languages of recipes: which files a recipe needs of them, and the data root that holds them.

A derived file has the path at which the recipe's patterns look for it: that of the original with the other language
filled in. Translations, alignments and dictionaries are derived from the training text. The folder of each language is
cached by all that it depends on: the content of the original files, how they are read, normalized and tokenized, which
rows count, the transformations with their seed, and the code.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from string import Formatter
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.core.errors import DataError, InterlaceError, SettingsError, did_you_mean
from interlace.core.files import must_exist
from interlace.core.settings import Settings
from interlace.data.cache import cached, code_hash, content_key, plugin_hash
from interlace.data.filters import build_filters
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
from interlace.experiments.recipe import CorpusGroup, Recipe
from interlace.experiments.sections import AlignSettings, files_of, names_of
from interlace.experiments.texts import RecipeTexts
from interlace.readers import READERS
from interlace.tasks.common.dictionaries import DictionaryTask
from interlace.tasks.common.files import FileQuery, MissingDataError, expected_files
from interlace.tasks.retrieval import Retrieval
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
    links = _with_neighbors(links, root)

    def link(into: Path) -> None:
        _link(links, into / "data")

    return cached("data-root", {"links": {path: str(original) for path, original in links.items()}}, link) / "data"


@contextmanager
def planned_root(recipe: Recipe, root: Path) -> Iterator[Path]:
    """Yield a data root as that of `with_derived`, but with empty files in place of derived ones.

    It shows which files a run will find. Raise as `derived_files`.
    """
    root = root.resolve()
    with TemporaryDirectory() as folder:
        empty = Path(folder) / "empty"
        empty.touch()
        links: dict[str, Path] = {}
        for files in derived_files(recipe, root).values():
            for file in files:
                links |= dict.fromkeys(file.outputs, empty)
        _link(_with_neighbors(links, root), Path(folder) / "data")
        yield Path(folder) / "data"


def _with_neighbors(derived: dict[str, Path], root: Path) -> dict[str, Path]:
    """Return derived files by their path under the data root, and everything else in the same folders and above."""
    links = dict(derived)
    folders = {os.fspath(parent) for output in derived for parent in Path(output).parents}  # with derived files
    for folder in filter(Path.is_dir, (root / name for name in folders)):
        for entry in sorted(folder.iterdir()):
            path = os.path.relpath(entry, root)
            if path not in folders and os.access(entry, os.R_OK) and (entry.is_file() or entry.is_dir()):
                links[path] = entry
    return links


def _link(links: Mapping[str, Path], into: Path) -> None:
    for path, original in links.items():
        (into / path).parent.mkdir(parents=True, exist_ok=True)
        (into / path).symlink_to(original)


def derived_key(recipe: Recipe, root: Path) -> dict[str, Any]:
    """Return what derived languages depend on besides the original files: settings and transformations."""
    return {
        name: {**language.dump(), "transformations": _described_chain(recipe, root, name)}
        for name, language in recipe.derived.items()
    }


def derived_problems(recipe: Recipe, root: Path) -> list[str]:
    """Return messages about what would prevent derived languages from being written, without reading any text."""
    problems: dict[str, None] = {}
    for name, language in recipe.derived.items():
        with _noting(problems):
            if recipe.toy is not None and language.of not in recipe.toy.languages:
                languages = ", ".join(recipe.toy.languages)
                raise DataError(f"derived.{name}.of: the toy corpus has {languages}, not {language.of!r}")
            language.located(root, name)
    if problems:
        return list(problems)
    files_of_language: dict[str, list[FolderFile]] = {}
    with _noting(problems):
        files_of_language = derived_files(recipe, root)
    for name, files in files_of_language.items():
        for file in files:
            with _noting(problems):
                _check_sources(file, name)
        if not files:
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
    words = RecipeTexts(recipe, root).word_tokenizer.name
    derivation = Derivation(name, language.of, chain, language.seed, words, recipe.normalization)
    log.info("deriving %s: %d files", name, len(wanted))
    try:
        write_folder(derivation, wanted, into)
    except DataError as error:
        raise DataError(f"derived.{name}, {error}") from None


def _key(recipe: Recipe, root: Path, name: str, wanted: list[FolderFile]) -> dict[str, Any]:
    language = recipe.derived[name]
    described = list[Any]()
    for file in wanted:
        sources = [
            [_described(each.reader), [_described(rule) for rule in each.filters], [*map(content_key, each.paths)]]
            for each in file.sources
        ]
        if isinstance(file, DerivedTranslations):
            share = [file.share, file.swapped]
        else:
            share = None
        described.append([type(file).__name__, file.outputs, sources, share])
    tokenizer = RecipeTexts(recipe, root).word_tokenizer
    return {
        "files": described,
        "language": name,
        "of": language.of,
        "transformations": _described_chain(recipe, root, name),
        "seed": language.seed,
        "word_tokenizer": [tokenizer.name, tokenizer.of(language.of).package_versions],
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


def derived_subwords(texts: RecipeTexts, vocab: Vocab) -> dict[str, DerivedSubwords]:
    """Measure the subwords of each derived language; warn unless they are those of a copied vocabulary.

    The paper copies it (Tang et al. 2022). There is no warning if a setting or transformation shares words.
    """
    recipe = texts.recipe
    found: dict[str, DerivedSubwords] = {}
    for name, language in recipe.derived.items():
        chain = language.located(texts.root, name)
        spelling = Chain(transformations=tuple(one for one in chain.transformations if not one.moves_words))
        samples: list[Text] = []
        for text in texts.in_language(language.of):
            if len(text.languages) == 1:
                samples += [
                    chunk.where((np.arange(len(chunk)) < _SAMPLED) & (chunk.words.lengths > 0))
                    for chunk in islice(text.side(language.of), 1)
                ]
        if not samples:
            continue
        respelled = (spelling.apply(sample, language.seed).text for sample in samples)
        found[name] = DerivedSubwords.of(vocab, zip(samples, respelled, strict=True))
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
        wanted = [
            *_texts(recipe, name, root),
            *_tasks(recipe, name, root),
            *_translated_tests(recipe, name, root),
            *_dictionaries(recipe, name, root),
        ]
        _check_named_files(recipe, name, wanted)
        found[name] = []
        for file in wanted:
            for output in file.outputs:
                if output.startswith(".."):
                    raise DataError(f"{output}: files of derived languages must be under the data root {root}")
                if (root / output).exists():
                    translations = isinstance(file, DerivedTranslations)
                    if translations:
                        hint = _OWN_PATTERNS
                    else:
                        hint = "use another name or leave it out"
                    raise DataError(f"derived.{name}: {root / output} exists already; {hint}")
                if not _are_same((name, file), owners.setdefault(output, (name, file))):
                    what = f"two different files are to be written at {root / output}"
                    raise SettingsError(f"derived.{name}: {what}; {_OWN_PATTERNS}")
            if owners[file.path][1] is file:
                found[name].append(file)
    return found


def _check_named_files(recipe: Recipe, name: str, wanted: Iterable[FolderFile]) -> None:
    """Raise a SettingsError for an entry of `files` in `[derived.NAME]` that nothing reads."""
    paths = [file.path for file in wanted]
    for path in recipe.derived[name].files:
        if os.path.normpath(path) not in paths:
            hint = did_you_mean(path, paths)
            raise SettingsError(f"derived.{name}.files: no corpus or task reads {path!r} in {name!r}{hint}")


def _check_sources(file: FolderFile, name: str) -> None:
    for source in file.sources:
        for path in source.paths:
            must_exist(path, f"original file of derived.{name}")


def _are_same(one: tuple[str, FolderFile], other: tuple[str, FolderFile]) -> bool:
    """Whether two files at one path are the same; their readers may differ."""
    (language, file) = one
    (other_language, other_file) = other
    if isinstance(file, DerivedFile) and isinstance(other_file, DerivedFile):
        return (language, file.source.paths) == (other_language, other_file.source.paths)
    return one == other


def _texts(recipe: Recipe, name: str, root: Path) -> Iterator[FolderFile]:
    derived = recipe.derived[name]
    originals = _named_originals(recipe, name, root)
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


def _named_originals(recipe: Recipe, name: str, root: Path) -> dict[Path, Path]:
    """Return derived path -> original path of the entries of `files` in `[derived.NAME]`."""
    return {root / own: root / original for own, original in recipe.derived[name].files.items()}


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
    derived = recipe.derived[name]
    swapped = pair.split("-", maxsplit=1)[0] == name
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
    alignments: str
    if "links" in aligner.files:
        alignments = getattr(aligner, "links", "")
    else:
        alignments = ""
    return DerivedTranslations(own, original, alignments, swapped, sources, derived.parallel)


def _training(recipe: Recipe, name: str, root: Path, split: str = "train") -> tuple[OriginalFiles, ...]:
    """Return the text of the original language in the corpora of a split, by group."""
    of = recipe.derived[name].of
    if split == "train":
        filters = tuple(build_filters(recipe.filters))
    else:
        filters = ()
    groups = [group for group in recipe.corpora.values() if of in group.languages and getattr(group, split)]
    return tuple(OriginalFiles(group.reading(split), tuple(group.files(split, of, root)), filters) for group in groups)


def _tasks(recipe: Recipe, name: str, root: Path) -> Iterator[DerivedFile]:
    for label in recipe.evaluate.tasks:
        task = recipe.evaluate.task(label)
        if getattr(task, "reader", None) is not None and "source" not in type(task).model_fields:
            for split in ("train", "dev", "test"):
                yield from _task_files(recipe, label, split, name, root)


def _task_files(recipe: Recipe, label: str, split: str, name: str, root: Path) -> Iterator[DerivedFile]:
    task = recipe.evaluate.task(label)
    of = recipe.derived[name].of
    originals = _named_originals(recipe, name, root)
    patterns: Any = task.files
    reader: Any = getattr(task, "reader", None)
    try:
        own, theirs = (expected_files(patterns, FileQuery(label, split, language, root)) for language in (name, of))
    except MissingDataError:
        return  # the task has no such split
    where = f"evaluate.tasks.{label}.files"
    if len(own) != len(theirs):
        raise SettingsError(f"{where}: {split} has {len(theirs)} files in {of!r}, but {len(own)} in {name!r}")
    for path, default in zip(own, theirs, strict=True):
        original = originals.get(path, default)
        if original.is_file():
            yield _file(path, original, READERS.build(reader), root, where)


def _translated_tests(recipe: Recipe, name: str, root: Path) -> Iterator[DerivedTranslations]:
    """Yield the test pairs of `retrieval` with the original language: its development text with the derived one's.

    A test set that has files already is left as it is, as is one with both sides in one file.
    """
    of = recipe.derived[name].of
    sources = _training(recipe, name, root, "dev")
    for label in recipe.evaluate.tasks:
        task = recipe.evaluate.task(label)
        if not isinstance(task, Retrieval) or task.source != of or not sources:
            continue
        if name not in (recipe.targets if task.targets is None else task.targets):
            continue
        query = FileQuery(label, "test", name, root, of)
        original = expected_files(task.files, query, of)
        own = expected_files(task.files, query, name)
        if len(original) != 1 or len(own) != 1 or original == own or (original[0].is_file() and own[0].is_file()):
            continue
        own_path = os.path.relpath(own[0], root)
        original_path = os.path.relpath(original[0], root)
        yield DerivedTranslations(own_path, original_path, "", swapped=False, sources=sources)


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
