"""The `[derived.LANGUAGE]` sections of recipes: a language made of another one by systematic changes to its text.

Tang et al. (2022, section 3) study transfer between English and languages made of it, so that a pair differs in what
was changed and in nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.names import LanguageName
from interlace.core.settings import Settings
from interlace.derived import TRANSFORMATIONS, Chain, Transformation, chain
from interlace.text.lines import must_exist

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping


class DerivedLanguage(Settings):
    """A language whose files are made of another one's: training text, translations, dictionary, files of tasks."""

    of: LanguageName = Field(description="The language that it is made of, which has files.")
    transformations: list[str] = Field(
        min_length=1,
        description="What is done to each sentence, in this order; a list, or names joined by '+'. Tang et al. (2022, "
        "section 4) write the last one first: 'invert+transliterate' is their T_trans after T_inv.",
    )
    settings: dict[str, dict[str, Any]] = Field(
        {},
        description="Settings of changes by their name; those of a change that is not made are only checked. Files in "
        "them stand under the data root; '*' in a list of them is any name.",
    )
    seed: int = Field(0, ge=0, description="Seed of what changes draw.")
    files: dict[str, str] = Field(
        {},
        description="A file of the derived language -> the file that it is made of, under the data root; needed where "
        "no pattern with {language} names both.",
    )
    parallel: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of the training sentences whose translations the pair of both languages holds; a smaller "
        "share is part of a larger one (Tang et al. 2022, table 1: 0.01 to 1).",
    )

    @field_validator("transformations", mode="before")
    @classmethod
    def _listed(cls, changes: Any) -> Any:
        return [name.strip() for name in changes.split("+")] if isinstance(changes, str) else changes

    @field_validator("transformations")
    @classmethod
    def _are_known(cls, changes: list[str]) -> list[str]:
        _must_be_changes(changes)
        return changes

    def model_post_init(self, _context: Any) -> None:
        """All settings must fit their change."""
        _must_be_changes(self.settings)
        for name, settings in self.settings.items():
            try:
                TRANSFORMATIONS.build({"name": name, **settings}, f"settings.{name}")
            except SettingsError as error:  # what is no error of ours gets the path of the section before it
                message = str(error)
                raise ValueError(message) from None
        self.change()

    def change(self) -> Chain:
        """The changes one after another, with files as they are named."""
        return chain({"name": name, **self.settings.get(name, {})} for name in self.transformations)

    def must_have_files(self, name: str) -> None:
        """Every change must be told the files that it needs.

        name: the language's own, for errors.

        Raises:
            DataError: none is named where a change needs one.
        """
        if lacks := self.change().lacks:
            raise DataError(f"derived.{name}.settings: {lacks}")

    def placed(self, root: Path, name: str) -> Chain:
        """The changes with their files under the data root.

        name: the language's own, for errors.

        Raises:
            DataError: there is no such file, or none is named where a change needs one.
        """
        self.must_have_files(name)
        try:
            return Chain(changes=tuple(_placed(change, root) for change in self.change().changes))
        except DataError as error:
            raise DataError(f"derived.{name}.settings: {error}") from None


def files_of(change: Transformation) -> Iterator[tuple[str, Path | tuple[Path, ...]]]:
    """The fields of a change that name files."""
    for name in type(change).model_fields:
        value = getattr(change, name)
        if isinstance(value, Path) or (isinstance(value, tuple) and value and isinstance(value[0], Path)):
            yield name, value


def _placed(change: Transformation, root: Path) -> Transformation:
    found: dict[str, Any] = {}
    for name, value in files_of(change):
        if isinstance(value, Path):
            found[name] = must_exist(root / value, f"file of {change.name}.{name}")
        else:
            found[name] = tuple(path for pattern in value for path in _matching(root, pattern, f"{change.name}.{name}"))
    return change.model_copy(update=found)


def _matching(root: Path, pattern: Path, what: str) -> list[Path]:
    paths = sorted(root.glob(str(pattern))) if "*" in str(pattern) else [must_exist(root / pattern, f"file of {what}")]
    if not paths:
        raise DataError(f"{what}: there is no file {root / pattern}")
    return paths


def _must_be_changes(names: Iterable[str]) -> None:
    for name in names:
        if name not in TRANSFORMATIONS.names():
            message = f"there is no transformation {name!r}{did_you_mean(name, TRANSFORMATIONS.names())}"
            raise ValueError(message)


def check_derived(derived: Mapping[str, DerivedLanguage], pairs: Collection[str]) -> None:
    """Refuse languages that cannot be made, and translations that are not of a language and what it is made of.

    Raises:
        SettingsError: says which.
    """
    for name, language in derived.items():
        if "-" in name:
            raise SettingsError(f"derived.{name}: a language's name holds no '-'; write {name.replace('-', '_')!r}")
        if language.of == name:
            raise SettingsError(f"derived.{name}.of: {name!r} cannot be made of itself; name a language that has files")
        if language.of in derived:
            raise SettingsError(
                f"derived.{name}.of: {language.of!r} is made of {derived[language.of].of!r} itself; name that one, and "
                "all changes"
            )
    for pair in pairs:
        for name in pair.split("-"):
            if name in derived and derived[name].of not in pair.split("-"):
                raise SettingsError(
                    f"the pair {pair!r}: {name!r} has translations with {derived[name].of!r} only, of which it is made"
                )
