"""The files of a derived language: one folder of the cache, in the places at which a recipe looks for them.

`[derived.NAME]` lists the files. A path of the recipe is looked up there first (`core.data_root`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import must_exist
from interlace.core.json_files import JsonObject
from interlace.core.settings import Settings
from interlace.data.artifacts import Artifact
from interlace.data.cache import code_hash, content_key, plugin_hash
from interlace.data.filters import Filter, build_filters
from interlace.derived import Chain, Transformation
from interlace.derived.common.folder import (
    Derivation,
    DerivedDictionary,
    DerivedFile,
    DerivedTranslations,
    FolderFile,
    OriginalFiles,
    outputs_of,
    write_folder,
)
from interlace.derived.common.formats import reader_name
from interlace.experiments.recipe import Recipe
from interlace.experiments.texts import RecipeTexts
from interlace.readers import READERS
from interlace.readers.common.files import find_files

log = logging.getLogger(__name__)

_CODE = ("derived", "readers", "text", "alignment", "data/filters")


class DerivedLanguageFiles(Artifact[Path]):
    """The files of one derived language of a recipe."""

    kind = "derived"

    def __init__(self, recipe: Recipe, root: Path, name: str) -> None:
        self.recipe = recipe
        self.root = root
        self.name = name
        self.settings = recipe.derived[name]

    def __str__(self) -> str:
        return f"the derived language {self.name!r}"

    @cached_property
    def key(self) -> JsonObject:
        """The original files with their readers and filters, the transformations with their files, and the code."""
        tokenizer = RecipeTexts(self.recipe, self.root).word_tokenizer
        return {
            "files": [_described_file(file) for file in self.files],
            "language": self.name,
            "of": self.settings.of,
            "transformations": described_chain(self.chain),
            "seed": self.settings.seed,
            "word_tokenizer": [
                tokenizer.name,
                tokenizer.of(self.settings.of).package_versions,
                plugin_hash(type(tokenizer)),
            ],
            "normalization": self.recipe.normalization.dump(),
            "version": code_hash(*_CODE),
        }

    def build(self, folder: Path) -> None:
        """Write all files."""
        settings = self.settings
        words = RecipeTexts(self.recipe, self.root).word_tokenizer.name
        derivation = Derivation(
            name=self.name,
            of=settings.of,
            transformations=self.chain,
            seed=settings.seed,
            word_tokenizer=words,
            normalization=self.recipe.normalization,
        )
        try:
            write_folder(derivation, self.files, folder)
        except DataError as error:
            raise DataError(f"derived.{self.name}, {error}") from None

    def open(self, folder: Path) -> Path:
        """Return the folder."""
        return folder

    @cached_property
    def chain(self) -> Chain:
        """The transformations; raise a DataError if one of their files is missing."""
        located = []
        for transformation in self.settings.chain().transformations:
            try:
                transformation.check()
            except DataError as error:
                raise DataError(f"derived.{self.name}.settings: {error}") from None
            paths: dict[str, tuple[Path, ...]] = {}
            for field, patterns in files_of(transformation).items():
                paths[field] = self._existing_files(
                    f"settings.{transformation.name}.{field}", patterns
                )
            located.append(transformation.model_copy(update=paths))
        return Chain(tuple(located))

    @cached_property
    def files(self) -> list[FolderFile]:
        """The files to write; none of their text is read.

        Raises:
            DataError: an original file is missing, there is a file at the path of a derived one, or two have one path.
            SettingsError: the recipe has no text for translations or dictionary.
        """
        files: list[FolderFile] = [
            *self._derived_files(),
            *self._translations(),
            *self._dictionary(),
        ]
        for output in outputs_of(files):
            self._check_output(Path(output))
        return files

    def _check_output(self, output: Path) -> None:
        """Reject a path outside the folder, or of a file of the data root."""
        if output.is_absolute() or ".." in output.parts:
            raise SettingsError(
                f"derived.{self.name}: cannot write {str(output)!r}; expected a relative path without '..'"
            )
        if (self.root / output).exists():
            raise DataError(
                f"derived.{self.name}: {self.root / output} exists already; use another name"
            )

    @property
    def pair(self) -> str:
        """The original and the derived language, such as `en-en_x`."""
        return f"{self.settings.of}-{self.name}"

    def _existing_files(self, field: str, patterns: Sequence[Path | str]) -> tuple[Path, ...]:
        """Return the files of patterns; raise a DataError that names the recipe's key if one is missing."""
        paths = []
        for pattern in patterns:
            for path in find_files(self.root, str(pattern)):
                paths.append(must_exist(path, f"file of derived.{self.name}.{field}"))
        return tuple(paths)

    def _derived_files(self) -> Iterator[DerivedFile]:
        for pattern in self.settings.files:
            original = pattern.original.format(language=self.settings.of)
            target = pattern.target.format(language=self.name)
            for path in self._existing_files("files", [original]):
                reader = READERS.build(pattern.reader or reader_name(path))
                output = _renamed(str(path), str(self.root / original), target)
                yield DerivedFile((output,), (OriginalFiles(reader, (path,)),))

    def _translations(self) -> Iterator[DerivedTranslations]:
        for split, pattern in self.settings.translations.items():
            is_training = split == "train"
            sides = (self.settings.of, self.name)
            outputs = [pattern.format(pair=self.pair, language=side) for side in sides]
            if is_training and self.settings.alignments:
                outputs.append(self.settings.alignments.format(pair=self.pair))
            yield DerivedTranslations(
                tuple(outputs),
                self._corpus_text(split, "translations"),
                share=self.settings.parallel if is_training else 1.0,
            )

    def _dictionary(self) -> Iterator[DerivedDictionary]:
        if self.settings.dictionary:
            path = self.settings.dictionary.format(source=self.settings.of, target=self.name)
            yield DerivedDictionary((path,), self._corpus_text("train", "dictionary"))

    def _corpus_text(self, split: str, field: str) -> tuple[OriginalFiles, ...]:
        """Return the text of the original language in the corpora of a split, with the filters of training text."""
        language = self.settings.of
        filters: tuple[Filter, ...] = ()
        if split == "train":
            filters = tuple(build_filters(self.recipe.filters))
        sources = []
        for group in self.recipe.corpora.values():
            if language in group.languages and getattr(group, split):
                files = group.files(split, language, self.root)
                paths = self._existing_files(field, files)
                reader = group.reading(split)
                sources.append(OriginalFiles(reader, paths, filters))
        if not sources:
            raise SettingsError(
                f"derived.{self.name}.{field}: no group of [corpora] has {split} text in {language!r} alone"
            )
        return tuple(sources)


def derived_languages(recipe: Recipe, root: Path) -> list[DerivedLanguageFiles]:
    """Return the files of each derived language of a recipe; root: of the original files."""
    return [DerivedLanguageFiles(recipe, root, name) for name in recipe.derived]


def _renamed(path: str, original: str, target: str) -> str:
    """Return the name of a derived file: what each `*` of the original's pattern matches is filled into the target's.

    >>> _renamed("data/text/dev.en.txt", "data/text/*.en.txt", "text/*.en_x.txt")
    'text/dev.en_x.txt'
    """
    match = re.fullmatch("([^/]*)".join(map(re.escape, original.split("*"))), path)
    if match is None:
        raise SettingsError(
            f"{original!r}: expected the name of a file, with '*' as its only wildcard"
        )
    for matched in match.groups():
        target = target.replace("*", matched, 1)
    return target


def files_of(transformation: Transformation) -> dict[str, tuple[Path, ...]]:
    """Return the settings of a transformation that name files."""
    files = {}
    for field in type(transformation).model_fields:
        value = getattr(transformation, field)
        if isinstance(value, tuple) and value and isinstance(value[0], Path):
            files[field] = value
    return files


def _described_file(file: FolderFile) -> list[Any]:
    sources = []
    for source in file.sources:
        reader = _described(source.reader)
        filters = [_described(rule) for rule in source.filters]
        contents = [content_key(path) for path in source.paths]
        sources.append([reader, filters, contents])
    share = None
    if isinstance(file, DerivedTranslations):
        share = file.share
    return [type(file).__name__, file.outputs, sources, share]


def described_chain(transformations: Chain) -> list[Any]:
    """Return transformations for a key, with the content of their files."""
    described = []
    for transformation in transformations.transformations:
        contents: JsonObject = {}
        for field, paths in files_of(transformation).items():
            contents[field] = [content_key(path) for path in paths]
        described.append(_described(transformation, **contents))
    return described


def _described(entry: Settings, **contents: Any) -> list[Any]:
    """Return a registry entry by module and settings, and the content of a plugin's file."""
    return [type(entry).__module__, {**entry.dump(), **contents}, plugin_hash(type(entry))]
