"""Registry of the toy corpus's languages: abstract scenes, and a small grammar a language that puts them into words.

A member is named by its ISO 639-1 code (`de.py`, its lexicon beside it in `_de.py`), because codes are what people
type and what file names hold, and because the room can then list them without importing any. Meaning lives in
`_concepts`, `_scenes`, `_sampling`; gold words in `_tokens`. No member knows another: links come from shared roles.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from interlace.core.ragged import Ragged
from interlace.core.registry import Registry
from interlace.text import Text, TextPairs
from interlace.toy._concepts import CONCEPTS
from interlace.toy._sampling import sample
from interlace.toy._scenes import QUESTIONS, SPLITS, Phrase, Scene, askable, problems, split_of
from interlace.toy._settings import ToyCorpus
from interlace.toy._tokens import Sentence, Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "CONCEPTS",
    "LANGUAGES",
    "QUESTIONS",
    "SPLITS",
    "Language",
    "Phrase",
    "Scene",
    "Sentence",
    "ToyCorpus",
    "Word",
    "askable",
    "language",
    "links",
    "pairs",
    "problems",
    "sample",
    "split_of",
    "text",
    "toy_version",
    "write_toy",
]  # fmt: skip


class Language(ABC):
    """One language: words for all concepts, and a grammar that turns scenes into sentences. Stateless.

    Two good scenes (`problems` is empty) never share a sentence; `tests/world/test_languages.py` holds every member
    to that and to the rest of the contract.
    """

    code: ClassVar[str]  # ISO 639-1, the module's name
    name: ClassVar[str]  # in English, for people
    words: ClassVar[Mapping[str, str]]  # concept -> citation form, for every concept in `CONCEPTS`; blanks allowed

    @abstractmethod
    def realise(self, scene: Scene) -> Sentence:
        """The statement of a scene, with its gold."""

    @abstractmethod
    def ask(self, scene: Scene, role: str) -> Sentence:
        """The question whose answer in the statement is `role`, one of `askable(scene)`.

        The answer is `realise(scene).span(role)`; for "subject.count" and "object.count" it is the span of
        "subject.determiner" or "object.determiner".
        """


LANGUAGES: Registry[Language] = Registry(__name__, "toy language", Language)


@cache
def language(code: str) -> Language:
    """The language with this code.

    Raises:
        SettingsError: there is none; the message names the nearest.
    """
    member: type[Language] = LANGUAGES.get(code)
    return member()


def links(source: Sentence, target: Sentence) -> list[tuple[int, int]]:
    """Gold word links, 0-based and sorted: words that realise the same part of one scene."""
    places: dict[str, list[int]] = {}
    for j, word in enumerate(target.words):
        for role in word.roles:
            places.setdefault(role, []).append(j)
    found = {(i, j) for i, word in enumerate(source.words) for role in word.roles for j in places.get(role, ())}
    return sorted(found)


def text(code: str, scenes: Iterable[Scene]) -> Text:
    """Scenes as lines of one language: gold words and trees, tags "pos" (UPOS), "names" (IOB2: PER, LOC), "deprel"."""
    own = language(code)
    return _text(code, [own.realise(scene) for scene in scenes])


def pairs(source: str, target: str, scenes: Sequence[Scene]) -> TextPairs:
    """Scenes in two languages, line by line translations with gold links over gold words."""
    left = [language(source).realise(scene) for scene in scenes]
    right = [language(target).realise(scene) for scene in scenes]
    gold = [links(one, other) for one, other in zip(left, right, strict=True)]
    return TextPairs(_text(source, left), _text(target, right), Ragged.of(gold, width=2))


def write_toy(world: ToyCorpus, into: Path) -> None:
    """Write the files of a world into the folder `into`, which appears whole or not at all.

    The bytes are a pure function of the settings and `toy_version()`. An older world at `into` is replaced.

    Raises:
        DataError: `into` holds something that is no toy corpus, or the disk is full.
    """
    from interlace.toy._write import write  # it needs what this module holds

    write(world, into)


def toy_version() -> str:
    """A hash of the world's own code and tables, for keys of caches: worlds of two versions differ."""
    from interlace.toy._write import version

    return version()


def _text(code: str, sentences: Sequence[Sentence]) -> Text:
    return Text(
        language=code,
        lines=[sentence.text for sentence in sentences],
        words=Ragged.of([[(word.start, word.end) for word in sentence.words] for sentence in sentences], width=2),
        word_tokenizer="gold",
        tags={
            "pos": [[word.upos for word in sentence.words] for sentence in sentences],
            "names": [[word.name for word in sentence.words] for sentence in sentences],
            "deprel": [[word.deprel for word in sentence.words] for sentence in sentences],
        },
        heads=Ragged.of([[word.head - 1 for word in sentence.words] for sentence in sentences]),
    )
