"""Registry of the toy languages: each file has a lexicon and a small grammar, which turn scenes into sentences.

An entry is named by its ISO 639-1 code (`de.py`), as in file names and on the command line. Languages are independent:
gold alignments link words with the same semantic role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, ClassVar, TypeVar

from interlace.core.ragged import Ragged
from interlace.core.registry import Registry
from interlace.text import Text, TextPairs

if TYPE_CHECKING:
    from interlace.toy.scenes import Scene
    from interlace.toy.sentences import Clause, ToySentence, ToyWord

T = TypeVar("T")


class ToyLanguage:
    """One language: words for all concepts, and a grammar that turns scenes into sentences. Stateless.

    Two valid scenes (`is_valid`) never have the same sentence. `tests/toy/test_languages.py` checks this and
    the rest of the contract for every entry.
    """

    name: ClassVar[str]  # in English, for people
    # concept -> citation form, for every concept in `CONCEPTS`; blanks allowed
    words: ClassVar[Mapping[str, str]]
    # the grammar; not read by a language that defines `realize` itself
    clause: ClassVar[type[Clause]]
    stop: ClassVar[str] = "."

    def realize(self, scene: Scene, wh_role: str = "") -> ToySentence:
        """Return the statement of a scene with its gold annotation, or the question for its role `wh_role`.

        wh_role: one of `answerable_roles(scene)`. The answer is `realize(scene).span(wh_role)`; for "subject.count" and
            "object.count" it is the span of "subject.determiner" or "object.determiner".
        """
        from interlace.toy.sentences import finish

        clause = self.clause(scene, wh_role, self.words)
        return finish(clause.tokens(), clause.root, "?" if wh_role else self.stop)


PIVOT = "en"  # one side of all translations
LANGUAGES: Registry[ToyLanguage] = Registry(__name__, "toy language", ToyLanguage)


@cache
def language(code: str) -> ToyLanguage:
    """Return the language with this code; a SettingsError names the nearest."""
    kind: type[ToyLanguage] = LANGUAGES.get(code)
    return kind()


def realize(code: str, scenes: Iterable[Scene]) -> list[ToySentence]:
    """Return the statements of scenes in one language."""
    grammar = language(code)
    return [grammar.realize(scene) for scene in scenes]


def text(code: str, scenes: Iterable[Scene]) -> Text:
    """Return scenes as lines of one language.

    With gold words and trees, and the tags "pos" (UPOS), "names" (IOB2: PER, LOC) and "deprel".
    """
    return _text(code, realize(code, scenes))


def pairs(source: str, target: str, scenes: Sequence[Scene]) -> TextPairs:
    """Return scenes in two languages as translations of each other, with gold alignments of gold words."""
    source_sentences = realize(source, scenes)
    target_sentences = realize(target, scenes)
    gold = [links(*pair) for pair in zip(source_sentences, target_sentences, strict=True)]
    return TextPairs(
        _text(source, source_sentences),
        _text(target, target_sentences),
        Ragged.of(gold, width=2),
    )


def _text(code: str, sentences: Sequence[ToySentence]) -> Text:
    def of_words(read: Callable[[ToyWord], T]) -> list[list[T]]:
        return [[read(word) for word in sentence.words] for sentence in sentences]

    return Text(
        language=code,
        lines=[sentence.text for sentence in sentences],
        words=Ragged.of(of_words(lambda word: (word.start, word.end)), width=2),
        word_tokenizer="gold",
        tags={
            "pos": of_words(lambda word: word.upos),
            "names": of_words(lambda word: word.name),
            "deprel": of_words(lambda word: word.deprel),
        },
        heads=Ragged.of(of_words(lambda word: word.head - 1)),
    )


def links(source: ToySentence, target: ToySentence) -> list[tuple[int, int]]:
    """Return the gold alignment, 0-based and sorted: words are linked that realize the same part of a scene."""
    target_words: dict[str, list[int]] = {}  # by role
    for j, word in enumerate(target.words):
        for role in word.roles:
            target_words.setdefault(role, []).append(j)
    linked: set[tuple[int, int]] = set()
    for i, word in enumerate(source.words):
        for role in word.roles:
            linked.update((i, j) for j in target_words.get(role, ()))
    return sorted(linked)
