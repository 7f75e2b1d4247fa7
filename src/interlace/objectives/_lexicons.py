"""Dictionaries of a run: where they come from, which of their words are drawn, and how entries look as subwords.

Objectives that say `needs = {"lexicon"}` have a field `dictionary: Dictionary`. A recipe reads or counts the lexicons
it asks for and hands them over in `Resources.lexicons`; `Dictionary.prepare` draws the share that is learnt from and
spells the entries. What was drawn is a function of the lexicon's words, the share and a seed: no vocabulary and no
other random choice moves it (ALIGN-MLM's code drew it anew in every script).

Legend: m entries of a dictionary; n usable ones of all dictionaries; W distinct words, as rows of subwords.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from string import Formatter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from interlace.core.errors import DataError, did_you_mean
from interlace.core.names import PairName
from interlace.core.randomness import Purpose, generator
from interlace.core.settings import Settings
from interlace.objectives._lexicon_words import Fate, Word, fates, forms, numbered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.alignment.lexicon import Lexicon
    from interlace.core.ragged import Ragged
    from interlace.data.vocab import Vocab
    from interlace.objectives import Resources

SHOWN = 5  # examples in a note
_FILLED = ("source", "target")


class Part(IntEnum):
    """What an entry is for."""

    DRAWN = 0  # learnt from
    HELD_OUT = 1  # only measured
    SHARED = 2  # neither: its source word is held out, but its target word is drawn with another


class Dictionary(Settings):
    """Which dictionaries an objective learns from. Written as a plain path pattern, it sets `files` alone."""

    files: str | None = Field(
        None,
        description="Dictionaries under the data root, a pattern with {source} and {target}: MUSE's form, or source, "
        "target and count between tabs; none: counted from the word links of the recipe's translations.",
    )
    vectors: str | None = Field(
        None,
        description="In place of files: a run of word vectors (`[embeddings]`), or a folder of some; words that are "
        "each other's nearest there, by CSLS, are the entries. Those of `identical` and `muse` need no translation.",
    )
    among: int = Field(
        15_000,
        ge=2,
        description="With vectors: words of each language that are looked at, the most frequent (MUSE: 15,000). Rare "
        "ones of a small text mostly find wrong translations.",
    )
    pairs: list[PairName] = Field(
        [], description="Pairs of languages such as 'en-de'; none: all pairs of the recipe's languages that have one."
    )
    share: float = Field(
        1.0, gt=0, le=1, description="Share of source words learnt from; the others are held out (ALIGN-MLM: 0.25)."
    )
    seed: int | None = Field(None, ge=0, description="Seed of that draw; none: the recipe's.")
    least: float = Field(3, ge=1, description="Links that an entry counted from translations must have.")
    case: Literal["best", "as_written"] = Field(
        "best", description="'best': of a word as written and with a capital, the one of fewer subwords."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_pattern(cls, data: Any) -> Any:
        return {"files": data} if isinstance(data, str) else data

    @field_validator("files")
    @classmethod
    def _is_pattern(cls, pattern: str | None) -> str | None:
        try:
            names = [name for _, name, _, _ in Formatter().parse(pattern or "") if name is not None]
        except ValueError as error:
            message = f"{pattern!r} is no pattern of a path: {error}"
            raise ValueError(message) from None
        for name in names:
            if name not in _FILLED:
                message = f"{pattern!r}: nothing fills in {{{name}}}{did_you_mean(name, _FILLED)}"
                raise ValueError(message)
        return pattern

    @model_validator(mode="after")
    def _has_one_origin(self) -> Dictionary:
        if self.files is not None and self.vectors is not None:
            message = "a dictionary comes from files or from vectors, and both are named"
            raise ValueError(message)
        return self

    @field_validator("pairs")
    @classmethod
    def _are_pairs(cls, pairs: list[str]) -> list[str]:
        for pair in pairs:
            if len(pair.split("-")) != 2 or not all(pair.split("-")):
                message = f"a pair is two languages joined by '-', found {pair!r}"
                raise ValueError(message)
        return pairs

    def prepare(self, resources: Resources, what: str, *, most: int) -> Dictionaries:
        """Draw from the lexicons in `resources` and spell what can be used.

        what: names the objective in errors and notes. most: words of more subwords are not used.

        Raises:
            DataError: there is no lexicon, or not one entry can be used.
        """
        if not resources.lexicons:
            raise DataError(f"{what}: there is no dictionary; name one in {what}.dictionary, or add translations")
        seed = resources.seed if self.seed is None else self.seed
        drawn = [
            draw(lexicon, languages, self.share, seed) for languages, lexicon in sorted(resources.lexicons.items())
        ]
        return _spelled(drawn, resources.vocab, what, most=most, best=self.case == "best")


@dataclass(frozen=True)
class Drawn:
    """A dictionary and what each of its entries is for.

    languages: of the source and target words.
    parts: (m,) uint8, a `Part` each.
    fates: (m,) uint8, a `Fate` each: used, or why not; None until the entries have been spelled.
    """

    languages: tuple[str, str]
    lexicon: Lexicon
    parts: NDArray[np.uint8]
    fates: NDArray[np.uint8] | None = None

    @property
    def name(self) -> str:
        """The pair of languages."""
        return "-".join(self.languages)


@dataclass(frozen=True)
class Dictionaries:
    """All dictionaries of an objective, as subwords.

    drawn: each dictionary, with what became of its entries.
    words: W distinct rows of int32 subwords.
    source, target: (n,) int64 words of each usable entry.
    parts: (n,) uint8. owner: (n,) int64, which of `drawn` an entry comes from.
    notes: what a person should know: how many entries could not be used, with examples.
    """

    drawn: tuple[Drawn, ...]
    words: Ragged
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    parts: NDArray[np.uint8]
    owner: NDArray[np.int64]
    notes: tuple[str, ...]

    def of(self, part: Part) -> NDArray[np.int64]:
        """The usable entries that are for this."""
        return np.flatnonzero(self.parts == part)

    def learnt(self) -> dict[str, NDArray[np.int64]]:
        """By language (2, ...) words that are learnt from, and what translates each; entries are read both ways."""
        found: dict[str, list[NDArray[np.int64]]] = {}
        for language, _, words in self.learnt_apart():
            found.setdefault(language, []).append(words)
        return {language: np.concatenate(words, axis=1) for language, words in found.items()}

    def learnt_apart(self) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
        """The same for one dictionary and direction after another, each with the language of the translations."""
        at = self.of(Part.DRAWN)
        both = np.stack([self.source[at], self.target[at]])
        for number, dictionary in enumerate(self.drawn):
            source, target = dictionary.languages
            mine = both[:, self.owner[at] == number]
            yield source, target, mine
            yield target, source, mine[::-1]


def draw(lexicon: Lexicon, languages: tuple[str, str], share: float, seed: int) -> Drawn:
    """Draw a share of the source words, at least one; a smaller share is part of a larger one.

    An entry whose source word was not drawn is held out, unless its target word was drawn with another source word.
    """
    words = np.unique(lexicon.entries[:, 0])
    words = words[np.argsort(np.array([lexicon.source_types[word] for word in words], object), kind="stable")]
    key = int.from_bytes(blake2b("-".join(languages).encode(), digest_size=4).digest(), "big")
    order = generator(Purpose.DICTIONARY, seed, key).permutation(len(words))
    chosen = words[order[: max(1, round(share * len(words)))]]
    learnt = np.isin(lexicon.entries[:, 0], chosen)
    met = np.isin(lexicon.entries[:, 1], lexicon.entries[learnt, 1])
    parts = np.where(learnt, Part.DRAWN, np.where(met, Part.SHARED, Part.HELD_OUT)).astype(np.uint8)
    return Drawn(languages, lexicon, parts)


def _spelled(drawn: Sequence[Drawn], vocab: Vocab, what: str, *, most: int, best: bool) -> Dictionaries:
    """Every dictionary's entries as subwords."""
    numbers: dict[bytes, int] = {}
    columns: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]] = []
    judged = []
    for one in drawn:
        sides = [
            numbered(forms(vocab, types, best=best), vocab, numbers)
            for types in (one.lexicon.source_types, one.lexicon.target_types)
        ]
        fate = fates(sides[0], sides[1], one.lexicon.entries, most=most)
        used = fate == Fate.USED
        source, target = (side.number[one.lexicon.entries[used, at]] for at, side in enumerate(sides))
        columns.append((source, target, one.parts[used]))
        judged.append(Drawn(one.languages, one.lexicon, one.parts, fate))
    source, target, parts = (np.concatenate(column) for column in zip(*columns, strict=True))
    if not (parts == Part.DRAWN).any():
        raise DataError(f"{what}: no entry of its dictionary can be used: {'; '.join(map(note, judged))}")
    owner = np.repeat(np.arange(len(columns)), [len(column[0]) for column in columns])
    return Dictionaries(
        tuple(judged), Word.rows(numbers), source, target, parts, owner, tuple(f"{what}: {note(one)}" for one in judged)
    )


def note(drawn: Drawn) -> str:
    """How many entries there are, what they are for, and why some cannot be used, with examples and a cure."""
    parts = np.bincount(drawn.parts, minlength=len(Part))
    found = [f"{drawn.name}: {len(drawn.lexicon):,} entries"]
    if parts[Part.HELD_OUT] or parts[Part.SHARED]:
        found.append(f"{parts[Part.DRAWN]:,} drawn, {parts[Part.HELD_OUT]:,} held out")
    for fate, why in _WHY.items():
        if drawn.fates is not None and len(at := np.flatnonzero(drawn.fates == fate)):
            examples = " ".join("/".join(drawn.lexicon[int(entry)][:2]) for entry in at[:SHOWN])
            found.append(f"{len(at):,} {why} ({examples})")
    return ", ".join(found)


_WHY: Mapping[Fate, str] = {
    Fate.UNKNOWN: "that the vocabulary cannot spell; is the dictionary of these languages?",
    Fate.SEVERAL: "of too many subwords; a larger vocabulary holds more words whole",
    Fate.ALIKE: "written alike in both languages",
}
