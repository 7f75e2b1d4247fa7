"""Which files a recipe wants of its derived languages, and what each of them is made of.

A file of a derived language stands where the recipe's patterns look for it: that of the language it is made of, with
the other name filled in. Translations, links and dictionaries are made of the training text.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError, SettingsError
from interlace.experiments._text import filters_of
from interlace.experiments.sections import AlignSettings, names_of
from interlace.readers import READERS
from interlace.tasks.common.dictionaries import DictionaryTask
from interlace.tasks.common.files import FileQuery, MissingDataError, expected_files
from interlace.text.lines import must_exist

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.data.filters import Filter
    from interlace.experiments.recipe import CorpusGroup, Recipe
    from interlace.readers import Reader
    from interlace.tasks import Task

_SPLITS = ("train", "dev", "test")
_OWN_PATTERNS = "give translations patterns of their own with {pair} in them, as in 'parallel/train.{pair}.{source}'"


@dataclass(frozen=True)
class Source:
    """Files of the original language, what reads them (or some of their rows), and the filters that rows must pass."""

    reader: Reader
    paths: tuple[Path, ...]
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True)
class Same:
    """A file in the derived language, in the form of the original."""

    language: str
    path: Path
    source: Source

    @property
    def sources(self) -> tuple[Source, ...]:
        """What it is made of."""
        return (self.source,)

    @property
    def made(self) -> tuple[Path, ...]:
        """What is written."""
        return (self.path,)


@dataclass(frozen=True)
class Sides:
    """Translations: the original's lines, the derived language's, and the links between their words."""

    language: str
    path: Path  # of the derived side
    original: Path
    links: Path | None
    turned: bool  # whether the derived language is the source of the pair
    sources: tuple[Source, ...]
    share: float

    @property
    def made(self) -> tuple[Path, ...]:
        """What is written."""
        return tuple(path for path in (self.original, self.path, self.links) if path is not None)


@dataclass(frozen=True)
class Words:
    """The dictionary: each word of the training text and what became of it."""

    language: str
    path: Path
    sources: tuple[Source, ...]

    @property
    def made(self) -> tuple[Path, ...]:
        """What is written."""
        return (self.path,)


Wanted = Same | Sides | Words


def wanted_files(recipe: Recipe, root: Path) -> list[Wanted]:
    """Every file that is to be made, each once.

    Raises:
        SettingsError: a pattern names one file for both languages, or two different files are to be made at one place.
        DataError: a file to be made is there already.
    """
    found: list[Wanted] = []
    makers: dict[Path, Wanted] = {}
    for name in recipe.derived:
        for one in [*_texts(recipe, name, root), *_tasks(recipe, name, root), *_dictionaries(recipe, name, root)]:
            for path in one.made:
                if path.exists():
                    hint = _OWN_PATTERNS if isinstance(one, Sides) else "take another name or leave it out"
                    raise DataError(f"derived.{name}: {path} is there already; {hint}")
                if not _is_one(one, makers.setdefault(path, one)):
                    what = f"two different files are to be made at {path}"
                    raise SettingsError(f"derived.{name}: {what}; {_OWN_PATTERNS}")
            if makers[one.path] is one:
                found.append(one)
    return found


def must_have_sources(wanted: Wanted) -> None:
    """Refuse what is to be made of files that are not there.

    Raises:
        DataError: names the first.
    """
    for source in wanted.sources:
        for path in source.paths:
            must_exist(path, f"file for derived.{wanted.language} to be made of")


def _is_one(one: Wanted, other: Wanted) -> bool:
    """Whether two that are wanted at one place are the same file; who reads it makes no difference."""
    if isinstance(one, Same) and isinstance(other, Same):
        return (one.language, one.source.paths) == (other.language, other.source.paths)
    return one == other


# ---- training text ----


def _texts(recipe: Recipe, name: str, root: Path) -> Iterator[Wanted]:
    for label, group in recipe.corpora.items():
        for split in ("train", "dev"):
            if name in group.languages:
                told = {root / own: root / original for own, original in recipe.derived[name].files.items()}
                own, theirs = (group.files(split, language, root) for language in (name, recipe.derived[name].of))
                for path, usual in zip(own, theirs, strict=True):
                    original = told.get(path, usual)
                    where = f"corpora.{label}.{split}"
                    yield Same(name, _another(path, original, where), Source(READERS.build(group.reader), (original,)))
            for pair in group.pairs:
                if name in pair.split("-") and getattr(group, split):
                    yield _sides(recipe, name, group, pair, split, root)


def _another(path: Path, original: Path, where: str) -> Path:
    if path == original:
        raise SettingsError(
            f"{where}: {str(path)!r} is one file for both languages; put {{language}} into its name, or name the file "
            "that is to be made by itself"
        )
    return path


def _sides(recipe: Recipe, name: str, group: CorpusGroup, pair: str, split: str, root: Path) -> Sides:
    derived, turned = recipe.derived[name], pair.split("-", maxsplit=1)[0] == name
    files = group.files(split, pair, root)
    if len(set(files)) != 2:
        raise SettingsError(
            f"the pair {pair!r}: translations with a derived language stand in a file a side, as the reader 'lines' "
            f"reads them; found {len(set(files))} in '{split}'"
        )
    sources = _training(recipe, name, root, split)
    if not sources:
        raise SettingsError(
            f"the pair {pair!r}: no group of [corpora] has {split} text in {derived.of!r} for it to be made of"
        )
    original, own = files[::-1] if turned else files
    share = derived.parallel if split == "train" else 1.0
    links = _links(recipe, pair, root) if split == "train" else None
    return Sides(name, own, original, links, turned, sources, share)


def _training(recipe: Recipe, name: str, root: Path, split: str = "train") -> tuple[Source, ...]:
    """The text of the original language that corpora of a split hold, group by group."""
    of, filters = recipe.derived[name].of, tuple(filters_of(recipe, split))
    groups = [group for group in recipe.corpora.values() if of in group.languages and getattr(group, split)]
    return tuple(Source(group.reading(split), tuple(group.files(split, of, root)), filters) for group in groups)


def _links(recipe: Recipe, pair: str, root: Path) -> Path | None:
    """Where the recipe's aligner looks for links, if it reads them."""
    aligner = (recipe.align or AlignSettings()).aligner(names_of(pair))
    path = getattr(aligner, "links", "") if "links" in aligner.files else ""
    return root / path if path else None


# ---- tasks ----


def _tasks(recipe: Recipe, name: str, root: Path) -> Iterator[Same]:
    for label in recipe.evaluate.tasks:
        task = recipe.evaluate.task(label)
        if getattr(task, "reader", None) is not None and "source" not in type(task).model_fields:
            for split in _SPLITS:
                yield from _split(task, label, split, name, recipe.derived[name].of, root)


def _split(task: Task, label: str, split: str, name: str, of: str, root: Path) -> Iterator[Same]:
    files: Any = task.files
    reader: Any = getattr(task, "reader", None)
    try:
        own, theirs = (expected_files(files, FileQuery(label, split, language, root)) for language in (name, of))
    except MissingDataError:
        return  # a task may do without a split
    where = f"evaluate.tasks.{label}.files"
    if len(own) != len(theirs):
        raise SettingsError(f"{where}: {split} has {len(theirs)} files in {of!r}, but {len(own)} in {name!r}")
    for path, original in zip(own, theirs, strict=True):
        if original.is_file():
            yield Same(name, _another(path, original, where), Source(READERS.build(reader), (original,)))


# ---- dictionaries ----


def _dictionaries(recipe: Recipe, name: str, root: Path) -> Iterator[Words]:
    of = recipe.derived[name].of
    for path in dict.fromkeys(_named_dictionaries(recipe, name, of, root)):
        sources = _training(recipe, name, root)
        if not sources:
            raise SettingsError(f"{path}: no group of [corpora] has text in {of!r} for a dictionary to be made of")
        yield Words(name, path, sources)


def _named_dictionaries(recipe: Recipe, name: str, of: str, root: Path) -> Iterator[Path]:
    learnt = [getattr(recipe.objective(objective), "dictionary", None) for objective in recipe.objectives]
    for pattern in [recipe.evaluate.dictionary, *(getattr(dictionary, "files", None) for dictionary in learnt)]:
        if pattern and {"source", "target"} <= {field for _, field, _, _ in Formatter().parse(pattern)}:
            yield root / pattern.format(source=of, target=name)
    for label in recipe.evaluate.tasks:
        task: Any = recipe.evaluate.task(label)
        if isinstance(task, DictionaryTask) and task.source == of:
            yield from expected_files(task.files, FileQuery(label, "test", name, root, of))
