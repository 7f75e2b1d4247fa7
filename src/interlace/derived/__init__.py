"""Registry of changes: one property of a language changed at a time, over text and its labels.

A change turns text into text of a derived language, with exact links between the words of both. What it draws hangs on
the seed and on the words it looks at, never on where a line stands: the same sentence becomes the same derived
sentence in every file, split and chunk.

Deshpande, Talukdar and Narasimhan (2021); Tang, Deshpande and Narasimhan (2022), section 3 and appendix F.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from pydantic import Field, SerializeAsAny

from interlace.alignment.links import sorted_links
from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.core.registry import Registry
from interlace.core.settings import Settings
from interlace.derived._parts import concatenated, is_same, parts, same_words, uncollected
from interlace.text import TextPairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from interlace.text import Text


@dataclass(frozen=True)
class Derived:
    """Text of a derived language.

    text: as many lines as the original, in its order, with tags, labels and answers; its language is the original's.
    links: a row a line of (word of the original, word of the derived line), sorted, shape (total, 2) int32.
    """

    text: Text
    links: Ragged

    def pairs(self, original: Text) -> TextPairs:
        """The original and the derived text as translations of each other."""
        return TextPairs(original, self.text, self.links)


@dataclass(frozen=True)
class DerivedPairs:
    """Pairs whose sides were both changed.

    source, target: links from the words of each side to those of the derived side.
    """

    pairs: TextPairs
    source: Ragged
    target: Ragged


class Transformation(Settings, ABC):
    """One property of a language that is changed. Its fields say how; files that they name are read when it is used."""

    @property
    def name(self) -> str:
        """The public name: that of the member's file."""
        return type(self).__module__.rsplit(".", 1)[-1].removeprefix("interlace_guest_")

    @property
    def undoes(self) -> bool:
        """Whether `undo` finds the words of the original and their labels again from the derived lines alone.

        Lines come back as they were, but that words which touched may stand apart.
        """
        return False

    @property
    def spells_marks(self) -> bool:
        """Whether a word without letters or digits may become one that has some.

        Such a word is parted from those that it touched, and what a mark touched says what it ends.
        """
        return False

    @property
    def lacks(self) -> str:
        """What must be set before it changes anything, as a message; empty where nothing is missing."""
        return ""

    def key(self, seed: int) -> int:
        """64 bits from which all of this change's draws come."""
        step = crc32(self.name.encode())
        return int(generator(Purpose.TRANSFORMATION, seed, step).integers(2**64, dtype="uint64"))

    def apply(self, text: Text, seed: int = 0) -> Derived:
        """The derived text with exact links.

        seed: another one gives another derived language, where anything is drawn.

        Raises:
            DataError: the text lacks what the change needs, such as trees, or a file cannot be read; names the line.
        """
        key = self.key(seed)
        with uncollected():
            done = [self.derive(part, key) for part in parts(text)]
        return Derived(*concatenated([(one.text, one.links) for one in done])) if done else same(text)

    def undo(self, text: Text, seed: int = 0) -> Text:
        """The words of the text that `apply` made this one of under the same seed, with their labels (see `undoes`).

        Raises:
            SettingsError: this change, or this setting of it, cannot be undone.
        """
        if not self.undoes:
            raise SettingsError(
                f"the transformation {self.name!r} as it is set cannot be undone from the derived text alone"
            )
        key = self.key(seed)
        done = [self.restore(part, key) for part in parts(text)]
        return concatenated([(one.text, one.links) for one in done])[0] if done else text

    def apply_pairs(self, pairs: TextPairs, seed: int = 0) -> DerivedPairs:
        """Both sides changed: premise and hypothesis, or passage and question with all answers.

        Links between the sides are carried over. Answers that stand in the passage become what their words became
        there; others are changed as text of their own.

        Raises:
            DataError: as `apply`.
        """
        from interlace.derived._pairs import changed_pairs  # it needs what this module holds

        return changed_pairs(self, pairs, seed)

    @abstractmethod
    def derive(self, text: Text, key: int) -> Derived:
        """A part of a text changed; what it gives for a line hangs on that line and the key alone."""

    def restore(self, text: Text, key: int) -> Derived:
        """A part of a derived text changed back; most changes that can be undone are their own opposite."""
        return self.derive(text, key)


TRANSFORMATIONS: Registry[Transformation] = Registry(__name__, "transformation", Transformation)


class Chain(Transformation):
    """Changes one after another, in the order in which they are listed; `chain` makes one from names."""

    changes: tuple[SerializeAsAny[Transformation], ...] = Field((), description="Changes in order of application.")

    @property
    def name(self) -> str:
        """The names of the changes."""
        return ",".join(change.name for change in self.changes)

    @property
    def undoes(self) -> bool:
        """Whether all of them can be undone, and none but the first spells marks as words."""
        return all(change.undoes for change in self.changes) and not any(one.spells_marks for one in self.changes[1:])

    @property
    def spells_marks(self) -> bool:
        """Whether one of them does."""
        return any(change.spells_marks for change in self.changes)

    @property
    def lacks(self) -> str:
        """What the first of them lacks that lacks something."""
        return next((change.lacks for change in self.changes if change.lacks), "")

    def apply(self, text: Text, seed: int = 0) -> Derived:
        """Each change on what the one before it made; links are composed."""
        keys = [change.key(seed) for change in self.changes]
        with uncollected():
            done = [self._applied(part, keys) for part in parts(text)]
        return Derived(*concatenated([(one.text, one.links) for one in done])) if done else same(text)

    def _applied(self, text: Text, keys: list[int]) -> Derived:
        done = same(text)
        for place, (change, key) in enumerate(zip(self.changes, keys, strict=True)):
            step = change.derive(done.text, key)
            if place and is_same(step.links, step.text):  # new spellings in the old order, as most chains end
                done = Derived(step.text, done.links)
            else:
                done = Derived(step.text, composed(done.links, step.links) if place else step.links)
        return done

    def undo(self, text: Text, seed: int = 0) -> Text:
        """The last change undone first."""
        if all(change.undoes for change in self.changes) and not self.undoes:
            raise SettingsError(
                f"the changes {self.name!r} as they are set cannot be undone from the derived text alone: one that "
                "spells marks as words goes first, or keeps them"
            )
        for change in reversed(self.changes):
            text = change.undo(text, seed)
        return text

    def derive(self, text: Text, key: int) -> Derived:
        """Never asked for: parts of a text are made by each change alone."""
        raise NotImplementedError


def chain(changes: Iterable[Transformation | Mapping[str, Any] | str], where: str = "") -> Chain:
    """Changes in order of application, by name, as a mapping with `name` and settings, or made already.

    The paper writes compositions the other way round: of `T_trans ∘ T_inv` the right one goes first (Tang et al. 2022,
    section 4), which is `["invert", "transliterate"]` here.

    Raises:
        SettingsError: no such change, or a setting is unknown or out of range.
    """
    made = [
        change if isinstance(change, Transformation) else TRANSFORMATIONS.build(change, where) for change in changes
    ]
    flat = [inner for one in made for inner in (one.changes if isinstance(one, Chain) else (one,))]
    return Chain(changes=tuple(flat))


def same(text: Text) -> Derived:
    """The text as it is, each word linked to itself."""
    return Derived(text, same_words(text))


def composed(first: Ragged, second: Ragged) -> Ragged:
    """Links from the words that `first` starts at to those that `second` ends at, through what lies between."""
    from interlace.derived._links import are_one_to_one, joined_links

    if are_one_to_one(first, second):  # as changes link words: nothing has to be looked for
        at = first.flat[:, 1] + np.repeat(second.offsets[:-1] - second.offsets[0], first.lengths)
        links = np.stack([first.flat[:, 0], second.flat[at, 1]], axis=1)
        return Ragged(links, first.offsets - first.offsets[0])
    rows, links = joined_links(first, second)
    return sorted_links(rows, links, len(first))
