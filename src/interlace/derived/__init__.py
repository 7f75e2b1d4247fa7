"""Registry of transformations: each changes one property of a language, in text and its labels.

A transformation turns text into text of a derived language, with an exact alignment of the words of both. Random draws
depend on the seed and on the words concerned, not on a line's position: the same sentence becomes the same derived
sentence in every file, split and chunk.

Deshpande, Talukdar and Narasimhan (2021); Tang, Deshpande and Narasimhan (2022), section 3 and appendix F.
"""

import gc
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar
from zlib import crc32

from pydantic import Field, SerializeAsAny

from interlace.core.errors import DataError
from interlace.core.randomness import Purpose, generator
from interlace.core.registry import Registry
from interlace.core.settings import RegistryEntry
from interlace.derived.common.texts import (
    DerivedPairs,
    DerivedText,
    checked,
    derived_pairs,
    followed_by,
    unchanged,
)
from interlace.text import Text, TextPairs

__all__ = ["TRANSFORMATIONS", "Chain", "DerivedPairs", "DerivedText", "Transformation", "chain"]


class Transformation(RegistryEntry, ABC):
    """A change of one property of a language. Files that its fields name are read when it is applied."""

    moves_words: ClassVar[bool] = (
        False  # whether words get another order; they then keep their spelling
    )
    required: ClassVar[tuple[str, str]] = (
        "",
        "",
    )  # a setting without a default, and what it must be set to

    @property
    def shares_words(self) -> bool:
        """Whether both languages are meant to have words in common."""
        return True

    @property
    def missing(self) -> str:
        """What must be set before it can be applied, as a message; empty if nothing is missing."""
        setting, need = self.required
        return (
            f"the transformation {self.name!r} needs {need}"
            if setting and not getattr(self, setting)
            else ""
        )

    def key(self, seed: int) -> int:
        """Return the 64 bits from which all of this transformation's draws are derived."""
        step = crc32(self.name.encode())
        return int(generator(Purpose.TRANSFORMATION, seed, step).integers(2**64, dtype="uint64"))

    def apply(self, text: Text, seed: int = 0) -> DerivedText:
        """Return the derived text with its alignment.

        seed: of random draws; another seed makes another derived language.

        Raises:
            DataError: the text lacks something required, such as trees, or has answers to questions; a file cannot
                be read, or words have not exactly one counterpart each. Names the line.
        """
        return chain([self]).apply(text, seed)

    def apply_pairs(self, pairs: TextPairs, seed: int = 0) -> DerivedPairs:
        """Transform both sides, such as premise and hypothesis; links between the sides are carried over.

        Raises:
            DataError: as `apply`.
        """
        return derived_pairs(pairs, lambda side: self.apply(side, seed))

    @abstractmethod
    def derive(self, text: Text, key: int) -> DerivedText:
        """Transform a text; the result for a line depends on that line and the key alone."""


TRANSFORMATIONS: Registry[Transformation] = Registry(__name__, "transformation", Transformation)


class Chain(Transformation):
    """Transformations in order of application; `chain` makes one from names."""

    transformations: tuple[SerializeAsAny[Transformation], ...] = Field(
        (), description="In order of application."
    )

    @property
    def name(self) -> str:
        """The names of the transformations."""
        return ",".join(step.name for step in self.transformations)

    @property
    def shares_words(self) -> bool:
        """Whether all of them do."""
        return all(step.shares_words for step in self.transformations)

    @property
    def missing(self) -> str:
        """What the first incomplete one is missing."""
        return next((step.missing for step in self.transformations if step.missing), "")

    def apply(self, text: Text, seed: int = 0) -> DerivedText:
        """Apply each transformation to the result of the previous one, and compose the links."""
        if text.answers is not None:
            raise DataError("questions and their answers cannot be transformed")
        was_enabled = gc.isenabled()
        gc.disable()  # it takes half of the time where many small lists are made
        try:
            return self._apply_steps(text, seed)
        finally:
            if was_enabled:
                gc.enable()

    def _apply_steps(self, text: Text, seed: int) -> DerivedText:
        derived = unchanged(text)
        if not len(text):
            return derived
        for step in self.transformations:
            changed = checked(step.derive(derived.text, step.key(seed)), derived.text, step.name)
            derived = DerivedText(changed.text, followed_by(derived.links, changed.links))
        return derived

    def derive(self, text: Text, key: int) -> DerivedText:
        """Not used: each transformation has a key of its own."""
        raise NotImplementedError


def chain(
    transformations: Iterable[Transformation | Mapping[str, Any] | str], where: str = ""
) -> Chain:
    """Return transformations in order of application, by name, as mappings with `name` and settings, or built already.

    Papers write compositions the other way round: in `T_trans ∘ T_inv` the right one is applied first (Tang et al.
    2022, section 4), which is `["invert", "transliterate"]` here.
    Raise a SettingsError if there is no such transformation or setting.
    """
    steps: list[Transformation] = []
    for transformation in transformations:
        if isinstance(transformation, Chain):
            steps += transformation.transformations
        elif isinstance(transformation, Transformation):
            steps.append(transformation)
        else:
            steps.append(TRANSFORMATIONS.build(transformation, where))
    return Chain(transformations=tuple(steps))
