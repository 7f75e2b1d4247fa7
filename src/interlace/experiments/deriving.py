"""Derived languages of recipes: which files a recipe needs of them, and the folder in which they are written.

A derived file has the path at which the recipe's patterns look for it: that of the original with the other language
filled in. Translations, alignments and dictionaries are derived from the training text. Each language's folder is
cached by all that it depends on: the content of the original files, how they are read, normalized and tokenized, which
rows count, the transformations with their seed, and the code.
"""

from __future__ import annotations

import inspect
import logging
import os
from functools import cache, partial
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError, InterlaceError, SettingsError
from interlace.core.files import must_exist
from interlace.data.cache import cached, content_key
from interlace.derived.common.folder import (
    Derivation,
    DerivedDictionary,
    DerivedFile,
    DerivedTranslations,
    FolderFile,
    OriginalFiles,
    write_folder,
)
from interlace.experiments.derived import files_of
from interlace.experiments.sections import AlignSettings, names_of
from interlace.experiments.training_text import filters_of, words_key
from interlace.readers import READERS
from interlace.tasks.common.dictionaries import DictionaryTask
from interlace.tasks.common.files import FileQuery, MissingDataError, expected_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from interlace.core.settings import Settings
    from interlace.derived import Transformation
    from interlace.experiments.recipe import CorpusGroup, Recipe
    from interlace.tasks import Task

log = logging.getLogger(__name__)

_SPLITS = ("train", "dev", "test")
_CODE = ("derived", "readers", "text", "alignment", "data/filters")
_OWN_PATTERNS = "give translations their own patterns with {pair}, as in 'parallel/train.{pair}.{source}'"


class DataRoot(type(Path())):  # type: ignore[misc]
    """The data root of a recipe, in which paths of derived files lead to the folders in which they were written.

    derived: path relative to the root -> file.
    """

    derived: Mapping[str, Path] = {}

    @classmethod
    def of(cls, root: Path, derived: Mapping[str, Path]) -> DataRoot:
        """Return a data root with derived files."""
        made = cls(root)
        made.derived = derived
        return made

    def __truediv__(self, key: str | os.PathLike[str]) -> Path:
        """Return the path of a file or folder in the data root."""
        path = Path(str(self), key)
        return self.derived.get(os.path.relpath(path, self), path) if self.derived else path

    def __reduce__(self) -> Any:
        """Keep the derived files in copies."""
        return DataRoot.of, (Path(str(self)), self.derived)


def with_derived(recipe: Recipe, root: Path) -> Path:
    """Write the derived languages of a recipe where they are not cached, and return the data root with their files.

    Raises:
        DataError: an original file is missing, or a file exists at the path of a derived one.
        SettingsError: a pattern of the recipe does not name a file for each language.
    """
    root = root.resolve()
    found: dict[str, Path] = {}
    for name, wanted in derived_files(recipe, root).items():
        for file in wanted:
            _check_sources(file, name)
        folder = cached("derived", _key(recipe, root, name, wanted), partial(_write, recipe, root, name, wanted))
        found |= {output: folder / output for file in wanted for output in file.outputs}
    return DataRoot.of(root, found)


def derived_key(recipe: Recipe, root: Path) -> list[Any]:
    """Return what derived languages depend on besides the original files: settings, transformations and their code.

    Raises:
        DataError: a file that a transformation reads is missing.
    """
    sections = {
        name: {**language.dump(), "transformations": _described_chain(recipe, root, name)}
        for name, language in recipe.derived.items()
    }
    return [sections, _code_hash("derived")]


def derived_problems(recipe: Recipe) -> list[str]:
    """Return messages about what would prevent derived languages from being written, without reading any text.

    For the toy corpus, which is generated on demand, only its languages are checked.
    """
    if not recipe.derived:
        return []
    if recipe.toy is not None:
        return list(dict.fromkeys(_toy_problems(recipe, recipe.toy.languages)))
    root = Path(os.path.expandvars(recipe.data_root or ".")).expanduser().resolve()
    if "$" in root.name and not root.is_dir():  # otherwise every file would be reported
        return [f"data_root = {recipe.data_root!r}: the environment variable is not set"]
    return list(dict.fromkeys(_file_problems(recipe, root)))


def _toy_problems(recipe: Recipe, languages: list[str]) -> Iterator[str]:
    for name, language in recipe.derived.items():
        yield from _message(partial(language.check_files, name))
        if language.of not in languages:
            yield f"derived.{name}.of: the toy corpus has {', '.join(languages)}, not {language.of!r}"


def _file_problems(recipe: Recipe, root: Path) -> Iterator[str]:
    for name, language in recipe.derived.items():
        yield from _message(partial(language.located, root, name))
    try:
        wanted = derived_files(recipe, root)
    except InterlaceError as error:
        yield str(error)
        return
    for name, its_files in wanted.items():
        for file in its_files:
            yield from _message(partial(_check_sources, file, name))
        if not its_files:
            yield f"derived.{name}: not used by any corpus, task or dictionary"


def _message(check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except InterlaceError as error:
        yield str(error)


# ---- writing and caching ----


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
    language = recipe.derived[name]
    return {
        "files": [_described_file(file) for file in wanted],
        "language": name,
        "of": language.of,
        "transformations": _described_chain(recipe, root, name),
        "seed": language.seed,
        "word_tokenizer": words_key(recipe, [language.of]),
        "normalization": recipe.normalization.dump(),
        "version": _code_hash(*_CODE),
    }


def _described_file(file: FolderFile) -> list[Any]:
    sources = [
        [_described(source.reader), [_described(rule) for rule in source.filters], [*map(content_key, source.paths)]]
        for source in file.sources
    ]
    share = [file.share, file.swapped] if isinstance(file, DerivedTranslations) else None
    return [type(file).__name__, file.outputs, sources, share]


def _described_chain(recipe: Recipe, root: Path, name: str) -> list[Any]:
    return [_described_files(one) for one in recipe.derived[name].located(root, name).transformations]


def _described_files(transformation: Transformation) -> list[Any]:
    """Return a transformation with the content of its files."""
    content = {
        name: [content_key(path) for path in ([value] if isinstance(value, Path) else value)]
        for name, value in files_of(transformation)
    }
    return _described(transformation, **content)


def _described(entry: Settings, **content: Any) -> list[Any]:
    """Return a registry entry by module and settings, and the content of a plugin's file."""
    kind = type(entry)
    code = "" if kind.__module__.startswith("interlace.") else content_key(Path(inspect.getfile(kind)))
    return [kind.__module__, {**entry.dump(), **content}, code]


@cache
def _code_hash(*places: str) -> str:
    """Return a hash of the code in subpackages."""
    digest = blake2b(digest_size=8)
    home = Path(str(files("interlace")))
    for place in places:
        for path in sorted((home / place).rglob("*.py")):
            digest.update(str(path.relative_to(home)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


# ---- which files ----


def derived_files(recipe: Recipe, root: Path) -> dict[str, list[FolderFile]]:
    """Return the files of each derived language that a recipe reads, each once.

    Raises:
        SettingsError: a pattern names one file for both languages, or two different files have one path.
        DataError: a file exists already, or is outside of the data root.
    """
    owners: dict[str, tuple[str, FolderFile]] = {}
    found: dict[str, list[FolderFile]] = {}
    for name in recipe.derived:
        wanted = [*_texts(recipe, name, root), *_tasks(recipe, name, root), *_dictionaries(recipe, name, root)]
        found[name] = []
        for file in wanted:
            for output in file.outputs:
                _check_output(output, file, name, root)
                if not _are_same((name, file), owners.setdefault(output, (name, file))):
                    what = f"two different files are to be written at {root / output}"
                    raise SettingsError(f"derived.{name}: {what}; {_OWN_PATTERNS}")
            if owners[file.path][1] is file:
                found[name].append(file)
    return found


def _check_output(output: str, file: FolderFile, name: str, root: Path) -> None:
    if output.startswith(".."):
        raise DataError(f"{output}: files of derived languages must be under the data root {root}")
    if (root / output).exists():
        hint = _OWN_PATTERNS if isinstance(file, DerivedTranslations) else "use another name or leave it out"
        raise DataError(f"derived.{name}: {root / output} exists already; {hint}")


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
    train = split == "train"
    alignments = _alignments(recipe, pair) if train else ""
    return DerivedTranslations(own, original, alignments, swapped, sources, derived.parallel if train else 1.0)


def _training(recipe: Recipe, name: str, root: Path, split: str = "train") -> tuple[OriginalFiles, ...]:
    """Return the text of the original language in the corpora of a split, by group."""
    of, filters = recipe.derived[name].of, tuple(filters_of(recipe, split))
    groups = [group for group in recipe.corpora.values() if of in group.languages and getattr(group, split)]
    return tuple(OriginalFiles(group.reading(split), tuple(group.files(split, of, root)), filters) for group in groups)


def _alignments(recipe: Recipe, pair: str) -> str:
    """Return the file from which the recipe's aligner reads alignments; empty if it reads none."""
    aligner = (recipe.align or AlignSettings()).aligner(names_of(pair))
    path: str = getattr(aligner, "links", "") if "links" in aligner.files else ""
    return path


def _tasks(recipe: Recipe, name: str, root: Path) -> Iterator[DerivedFile]:
    for label in recipe.evaluate.tasks:
        task = recipe.evaluate.task(label)
        if getattr(task, "reader", None) is not None and "source" not in type(task).model_fields:
            for split in _SPLITS:
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
