"""Registry of transformations: each changes one property of a language, in text and its labels.

A transformation turns text into text of a derived language, with an exact alignment of the words of both. Random draws
depend on the seed and on the words concerned, not on a line's position: the same sentence becomes the same derived
sentence in every file, split and chunk.

Deshpande, Talukdar and Narasimhan (2021); Tang, Deshpande and Narasimhan (2022), section 3 and appendix F.
"""

import gc
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar
from zlib import crc32

from interlace.core.errors import DataError
from interlace.core.json_files import JsonMapping
from interlace.core.randomness import Purpose, generator
from interlace.core.registry import Registry
from interlace.core.settings import RegistryEntry
from interlace.derived.common.texts import DerivedText, followed_by, unchanged
from interlace.text import Text

__all__ = ["TRANSFORMATIONS", "Chain", "DerivedText", "Transformation", "chain"]


class Transformation(RegistryEntry, ABC):
    """A change of one property of a language. Files that its fields name are read when it is applied."""

    required: ClassVar[str] = ""  # a field without a default, which names CoNLL-U files

    def check(self) -> None:
        """Raise a DataError if a field that names required files is empty."""
        if self.required and not getattr(self, self.required):
            raise DataError(
                f"the transformation {self.name!r} needs CoNLL-U files; set {self.name}.{self.required}"
            )

    def key(self, seed: int) -> int:
        """Return the 64 bits from which all of this transformation's draws are derived."""
        step = crc32(self.name.encode())
        return int(
            generator(Purpose.TRANSFORMATION, seed, step).integers(2**64, dtype="uint64")
        )

    def apply(self, text: Text, seed: int = 0) -> DerivedText:
        """Return the derived text with its alignment; as `Chain.apply`."""
        return Chain((self,)).apply(text, seed)

    @abstractmethod
    def derive(self, text: Text, key: int) -> DerivedText:
        """Transform a text; the result for a line depends on that line and the key alone."""


TRANSFORMATIONS: Registry[Transformation] = Registry(__name__, "transformation", Transformation)


@dataclass(frozen=True)
class Chain:
    """Transformations in order of application."""

    transformations: tuple[Transformation, ...]

    def apply(self, text: Text, seed: int = 0) -> DerivedText:
        """Apply each transformation to the result of the previous one, and compose the alignments.

        seed: of random draws; another seed makes another derived language.

        Raises:
            DataError: the text lacks something required, such as trees, or has answers to questions; a file cannot
                be read, or words have not exactly one counterpart each. Names the line.
        """
        if text.answers is not None:
            raise DataError("questions and their answers cannot be transformed")
        was_enabled = gc.isenabled()
        gc.disable()  # it takes half of the time where many small lists are made
        try:
            derived = unchanged(text)
            if len(text):
                for step in self.transformations:
                    changed = step.derive(derived.text, step.key(seed))
                    derived = followed_by(derived, changed, step.name)
        finally:
            if was_enabled:
                gc.enable()
        return derived


def chain(
    transformations: Iterable[Transformation | JsonMapping | str], where: str = ""
) -> Chain:
    """Return transformations in order of application, by name, as mappings with `name` and settings, or built already.

    Papers write compositions the other way round: in `T_trans ∘ T_inv` the right one is applied first (Tang et al.
    2022, section 4), which is `["invert", "transliterate"]` here.
    Raise a SettingsError if there is no such transformation or setting.
    """
    steps: list[Transformation] = []
    for transformation in transformations:
        if isinstance(transformation, Transformation):
            steps.append(transformation)
        else:
            steps.append(TRANSFORMATIONS.build(transformation, where))
    return Chain(tuple(steps))
