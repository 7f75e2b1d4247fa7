"""Sentences with gold annotation, and what the grammars share to build them from tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple, TypeVar

from interlace.toy.concepts import CONCEPTS, GIVEN, SURNAMES, cells
from interlace.toy.scenes import Phrase, Scene

PHRASE_ROLES = ("head", "surname", "determiner", "quality", "relation")  # relation: "in", "-de", 里
Entry = TypeVar("Entry")
LATIN_NAMES = {name: name.title() for name in (*GIVEN, *SURNAMES)}


class ToyWord(NamedTuple):
    """A gold word. roles: the parts of the scene that it realizes; words with a common role are aligned."""

    form: str
    lemma: str
    upos: str  # Universal POS tag
    name: str  # IOB2: O, B-PER, I-PER, B-LOC, I-LOC
    head: int  # 1-based, 0 for the root, as in CoNLL-U
    deprel: str
    roles: tuple[str, ...]
    start: int  # characters in the sentence's text
    end: int


class ToySentence(NamedTuple):
    """A text and its words in order, with white space or nothing between them."""

    text: str
    words: tuple[ToyWord, ...]

    def span(self, role: str) -> tuple[int, int]:
        """Return the characters from the first to the last word of a role ("place" covers "place.head", ...)."""
        inner = role + "."
        role_words = []
        for word in self.words:
            if role in word.roles or any(word_role.startswith(inner) for word_role in word.roles):
                role_words.append(word)
        if not role_words:
            raise KeyError(role)
        return role_words[0].start, role_words[-1].end


@dataclass(eq=False, slots=True)
class Token:
    """A word of a sentence under construction. Only the root has no head."""

    form: str
    upos: str
    roles: str  # separated by blanks
    deprel: str
    head: Token | None = None
    lemma: str = ""  # default: the form
    name: str = "O"
    space: bool = True  # a blank before it
    index: int = 0

    def __post_init__(self) -> None:
        self.lemma = self.lemma or self.form


class Clause(ABC):
    """A sentence under construction: the statement of a scene, or the question for its role `wh_role`.

    words: citation forms of concepts. times: time phrases, as `time_tokens` reads them. when_word: asks for the time.
    moves: whether questioned participants come first, in `front`, or stay in place. plural: of the finite verb.
    """

    times: ClassVar[Mapping[str, str]]
    when_word: ClassVar[str] = ""
    moves: ClassVar[bool] = True
    root: Token

    def __init__(self, scene: Scene, wh_role: str, words: Mapping[str, str]) -> None:
        self.scene = scene
        self.wh_role = wh_role
        self.words = words
        self.front: list[Token] = []
        self.plural = scene.subject.plural and wh_role != "subject"

    @abstractmethod
    def tokens(self) -> list[Token]:
        """Return all tokens but the final mark."""

    @abstractmethod
    def phrase(
        self, phrase: Phrase, role: str, deprel: str, case: str, head: Token | None
    ) -> list[Token]:
        """Return a phrase with its adpositions or case; "how many" is its determiner if `wh_role` is "ROLE.count"."""

    @abstractmethod
    def question_words(
        self, phrase: Phrase, role: str, deprel: str, case: str, head: Token
    ) -> list[Token]:
        """Return the question words for a phrase, with the role "question": questions can be aligned too."""

    def when(self) -> list[Token]:
        """Return the question words for the time."""
        return [Token(self.when_word, "ADV", "question", "advmod", self.root)]

    def participant(
        self, role: str, deprel: str, case: str = "", head: Token | None = None
    ) -> list[Token]:
        """Return a participant or its question words; nothing if the scene has none or it is moved to the front."""
        phrase: Phrase | None = getattr(self.scene, role)
        if phrase is None:
            return []
        realize = self.question_words if role == self.wh_role else self.phrase
        tokens = realize(phrase, role, deprel, case, head or self.root)
        if not self.moves or self.wh_role not in (role, role + ".count"):
            return tokens
        self.front = tokens
        return []

    def named(self, phrase: Phrase, role: str, deprel: str, head: Token | None) -> list[Token]:
        """Return a name, whose first token is the head: a given name with or without surname, or a town."""
        kind = "LOC" if role in ("place", "goal") else "PER"
        tokens: list[Token] = []
        forms = [(form, f"{role}.head") for form in self.words[phrase.head].split()]
        if phrase.surname:
            forms += [(form, f"{role}.surname") for form in self.words[phrase.surname].split()]
        for form, part in forms:
            if tokens:
                token = Token(form, "PROPN", part, "flat", tokens[0], name=f"I-{kind}")
            else:
                token = Token(form, "PROPN", part, deprel, head, name=f"B-{kind}")
            tokens.append(token)
        return tokens

    def time(self) -> list[Token]:
        """Return the time phrase or its question words; move question words to `front` in languages that do so."""
        if not self.scene.time:
            return []
        if self.wh_role != "time":
            return time_tokens(self.times[self.scene.time], self.root)
        if not self.moves:
            return self.when()
        self.front = self.when()
        return []

    def manner(self) -> list[Token]:
        """Return the adverb of manner."""
        manner = self.scene.manner
        if manner:
            return [Token(self.words[manner], "ADV", "manner", "advmod", self.root)]
        return []

    def rooted(self, predicate: list[Token]) -> list[Token]:
        """Make the token without a head the root of the clause, and move it to the front if it is a question word."""
        self.root = next(token for token in predicate if token.head is None)
        if not self.moves or self.root.roles != "question":
            return predicate
        self.front = predicate
        return []


def entries(make: Callable[..., Entry], table: str) -> dict[str, Entry]:
    """Return concept -> entry of a lexicon table; `make` takes the fields of a cell after the concept."""
    return {concept: make(*fields) for concept, *fields in cells(table)}


def word_map(table: str) -> dict[str, str]:
    """Return concept -> word of a lexicon table; words may have blanks."""
    return {concept: " ".join(words) for concept, *words in cells(table)}


def citation_forms(*tables: Mapping[str, str], times: Mapping[str, str]) -> dict[str, str]:
    """Return the citation form of every concept."""
    merged = {}
    for time, spec in times.items():
        forms = [token.form for token in _time_words(spec)]
        merged[time] = " ".join(forms)
    for table in tables:
        merged |= table
    return {concept: merged[concept] for concept in CONCEPTS}


class _TimeWord(NamedTuple):
    form: str
    lemma: str
    upos: str
    roles: str


@cache
def _time_words(spec: str) -> list[_TimeWord]:
    """Return the words of a time phrase, as `time_tokens` describes it."""
    names = {"w": "time.which", "u": "time.unit", "wu": "time.which time.unit", "-": ""}
    words = []
    for word in spec.split():
        form, *lemma, upos, roles = word.split("/")
        words.append(_TimeWord(form, lemma[0] if lemma else form, upos, names[roles]))
    return words


def time_tokens(spec: str, head: Token) -> list[Token]:
    """Return a time phrase; its last noun or adverb is the head (obl:tmod or advmod).

    spec: words as form/lemma/UPOS/roles or, where both are the same, form/UPOS/roles. Roles are "w" (which one: last,
    next, every), "u" (unit: week), "wu" (both, as "yesterday") or "-" (neither, as the article of "la semana pasada").
    """
    tokens = [
        Token(word.form, word.upos, word.roles, "", head, word.lemma) for word in _time_words(spec)
    ]
    lead = next((token for token in reversed(tokens) if token.upos in ("NOUN", "ADV")), tokens[-1])
    for token in tokens:
        if token is not lead:
            token.head = lead
            token.deprel = {"ADJ": "amod", "DET": "det", "ADP": "case"}.get(token.upos, "dep")
    lead.deprel = "obl:tmod" if lead.upos == "NOUN" else "advmod"
    return tokens


def finish(tokens: Iterable[Token], mark: str = ".") -> ToySentence:
    """Build a sentence: add the final mark, number and space the tokens, capitalize the first letter.

    tokens: in order; exactly one without a head, the root. A token with `space` False touches the previous one.
    """
    tokens = list(tokens)
    root = next(token for token in tokens if token.head is None)
    root.deprel = "root"
    tokens.append(Token(mark, "PUNCT", "stop", "punct", root, space=False))
    for index, token in enumerate(tokens, start=1):
        token.index = index
    words: list[ToyWord] = []
    text = ""
    small = True  # until the first letter is capitalized; an opening ¿ does not count
    for token in tokens:
        form = token.form
        if small and token.upos != "PUNCT":
            form = form[0].upper() + form[1:]
            small = False
        if text and token.space:
            text += " "
        word = ToyWord(
            form=form,
            lemma=token.lemma,
            upos=token.upos,
            name=token.name,
            head=token.head.index if token.head else 0,
            deprel=token.deprel,
            roles=tuple(token.roles.split()),
            start=len(text),
            end=len(text) + len(form),
        )
        words.append(word)
        text += form
    return ToySentence(text, tuple(words))
