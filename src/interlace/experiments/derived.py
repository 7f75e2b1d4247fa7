"""The `[derived.LANGUAGE]` sections of recipes: languages derived from another one by transformations of its text.

Tang et al. (2022, section 3) study transfer between English and languages derived from it, so that two languages differ
only in the property that was transformed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.files import must_exist
from interlace.core.names import LanguageName
from interlace.core.settings import Settings
from interlace.derived import TRANSFORMATIONS, Chain, Transformation, chain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping


class DerivedLanguage(Settings):
    """A language derived from another one: its training text, translations, dictionary and files of tasks."""

    of: LanguageName = Field(description="The original language, which has files.")
    transformations: list[str] = Field(
        min_length=1,
        description="Transformations in order of application: a list, or names joined by '+'. Tang et al. (2022, "
        "section 4) write the last one first: 'invert+transliterate' is their T_trans after T_inv.",
    )
    settings: dict[str, dict[str, Any]] = Field(
        {},
        description="Settings of transformations by name; those of transformations that are not applied are only "
        "checked. Files in them are relative to the data root; '*' in a list of them matches any name.",
    )
    seed: int = Field(0, ge=0, description="Seed of random transformations.")
    files: dict[str, str] = Field(
        {},
        description="Derived file -> original file, relative to the data root; required where no pattern with "
        "{language} names both.",
    )
    parallel: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of the training sentences with a translation; a smaller share is a subset of a larger one "
        "(Tang et al. 2022, table 1: 0.01 to 1).",
    )

    @field_validator("transformations", mode="before")
    @classmethod
    def _listed(cls, names: Any) -> Any:
        return [name.strip() for name in names.split("+")] if isinstance(names, str) else names

    @field_validator("transformations")
    @classmethod
    def _are_known(cls, names: list[str]) -> list[str]:
        _check_names(names)
        return names

    def model_post_init(self, _context: Any) -> None:
        """Check all settings, also of transformations that are not applied."""
        _check_names(self.settings)
        for name, settings in self.settings.items():
            try:
                TRANSFORMATIONS.build({"name": name, **settings}, f"settings.{name}")
            except SettingsError as error:  # as a ValueError it is reported with the section's path
                message = str(error)
                raise ValueError(message) from None
        self.chain()

    def chain(self) -> Chain:
        """Return the transformations, with files as in the settings."""
        return chain({"name": name, **self.settings.get(name, {})} for name in self.transformations)

    def check_files(self, name: str) -> None:
        """Reject a transformation without the files that it requires.

        name: the language's own, for errors.

        Raises:
            DataError: one is missing.
        """
        if missing := self.chain().missing:
            raise DataError(f"derived.{name}.settings: {missing}")

    def located(self, root: Path, name: str) -> Chain:
        """Return the transformations with their files under the data root.

        name: the language's own, for errors.

        Raises:
            DataError: a file does not exist, or a required one is not set.
        """
        self.check_files(name)
        try:
            return Chain(transformations=tuple(_located(one, root) for one in self.chain().transformations))
        except DataError as error:
            raise DataError(f"derived.{name}.settings: {error}") from None


def files_of(transformation: Transformation) -> Iterator[tuple[str, Path | tuple[Path, ...]]]:
    """Yield the fields of a transformation that name files."""
    for name in type(transformation).model_fields:
        value = getattr(transformation, name)
        if isinstance(value, Path) or (isinstance(value, tuple) and value and isinstance(value[0], Path)):
            yield name, value


def check_derived(derived: Mapping[str, DerivedLanguage], pairs: Collection[str]) -> None:
    """Reject derived languages without an original, and pairs other than with the original.

    Raises:
        SettingsError: names the language or pair.
    """
    for name, language in derived.items():
        if "-" in name:
            raise SettingsError(f"derived.{name}: a language name has no '-'; write {name.replace('-', '_')!r}")
        if language.of == name:
            raise SettingsError(f"derived.{name}.of: {name!r} cannot be derived from itself; expected another language")
        if language.of in derived:
            raise SettingsError(
                f"derived.{name}.of: {language.of!r} is derived itself; expected {derived[language.of].of!r}, with all "
                "transformations"
            )
    for pair in pairs:
        for name in pair.split("-"):
            if name in derived and derived[name].of not in pair.split("-"):
                raise SettingsError(
                    f"the pair {pair!r}: {name!r} has translations only with {derived[name].of!r}, its original"
                )


def _located(transformation: Transformation, root: Path) -> Transformation:
    found: dict[str, Any] = {}
    for name, value in files_of(transformation):
        setting = f"{transformation.name}.{name}"
        if isinstance(value, Path):
            found[name] = must_exist(root / value, f"file of {setting}")
        else:
            found[name] = tuple(path for pattern in value for path in _matching(root, pattern, setting))
    return transformation.model_copy(update=found)


def _matching(root: Path, pattern: Path, setting: str) -> list[Path]:
    if "*" not in str(pattern):
        return [must_exist(root / pattern, f"file of {setting}")]
    paths = sorted(root.glob(str(pattern)))
    if not paths:
        raise DataError(f"{setting}: there is no file {root / pattern}")
    return paths


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if name not in TRANSFORMATIONS.names():
            message = f"there is no transformation {name!r}{did_you_mean(name, TRANSFORMATIONS.names())}"
            raise ValueError(message)
