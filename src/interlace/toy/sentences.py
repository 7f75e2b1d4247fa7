"""Sentences with gold annotation, and what the grammars share to build them from tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar

from interlace.toy.concepts import CONCEPTS, GIVEN, NUMERALS, SURNAMES, cells
from interlace.toy.scenes import Phrase, Scene

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
            if role in word.roles or any(
                word_role.startswith(inner) for word_role in word.roles
            ):
                role_words.append(word)
        if not role_words:
            raise KeyError(role)
        return role_words[0].start, role_words[-1].end


@dataclass(eq=False, slots=True)
class Token:
    """A word of a sentence under construction.

    roles: separated by blanks; those of a phrase begin with a dot, before which `Clause.realized` puts the participant.
    head: None for the root, and for what depends on the root.
    """

    form: str
    upos: str
    roles: str
    deprel: str = ""
    head: Token | None = None
    lemma: str = ""  # default: the form
    name: str = "O"
    space: bool = True  # a blank before it
    index: int = 0

    def __post_init__(self) -> None:
        self.lemma = self.lemma or self.form


Tokens = list[Token]


def head_of(tokens: Iterable[Token]) -> Token:
    """Return the word of a phrase that depends on no other word of it."""
    return next(token for token in tokens if token.head is None)


class Clause(ABC):
    """A sentence under construction: the statement of a scene, or the question for its role `wh_role`.

    words: citation forms of concepts. times: time phrases, as `time_tokens` reads them. when_word: asks for the time.
    moves: whether questioned participants come first, in `front`, or stay in place. plural: of the finite verb.
    adpositions, relations: of participants ("obl" where none is named). contractions: of a preposition and an article.
    """

    times: ClassVar[Mapping[str, str]]
    when_word: ClassVar[str] = ""
    moves: ClassVar[bool] = True
    adpositions: ClassVar[Mapping[str, str]] = {}
    relations: ClassVar[Mapping[str, str]] = {
        "subject": "nsubj",
        "object": "obj",
        "recipient": "iobj",
    }
    contractions: ClassVar[Mapping[tuple[str, str], str]] = {}
    root: Token

    def __init__(self, scene: Scene, wh_role: str, words: Mapping[str, str]) -> None:
        self.scene = scene
        self.wh_role = wh_role
        self.words = words
        self.front: Tokens = []
        self.plural = scene.subject.plural and wh_role != "subject"

    @abstractmethod
    def tokens(self) -> Tokens:
        """Return all tokens but the final mark, and set `root`."""

    @abstractmethod
    def phrase(self, phrase: Phrase, role: str, adposition: str) -> Tokens:
        """Return a phrase without its adposition; "how many" is its determiner if `wh_role` is "ROLE.count"."""

    @abstractmethod
    def question_words(self, phrase: Phrase, role: str, adposition: str) -> Tokens:
        """Return the question words for a phrase, with the role "question": questions can be aligned too."""

    def parts(self, order: str) -> Tokens:
        """Return participants, "manner" and "time" in this order, as far as the scene has them."""
        tokens: Tokens = []
        for role in order.split():
            if not getattr(self.scene, role):
                continue
            part = self.realized(role)
            if self.moves and self.wh_role.removesuffix(".count") == role:
                self.front = part
            else:
                tokens += part
        return tokens

    def realized(self, role: str) -> Tokens:
        """Return a participant, the manner or the time, or its question words."""
        if role == "manner":
            return self.manner()
        if role == "time":
            if self.wh_role == "time":
                return [Token(self.when_word, "ADV", "question", "advmod")]
            return time_tokens(self.times[self.scene.time])
        phrase: Phrase = getattr(self.scene, role)
        adposition = self.adposition(role, phrase)
        realize = self.question_words if role == self.wh_role else self.phrase
        tokens = realize(phrase, role, adposition)
        head = head_of(tokens)
        head.deprel = head.deprel or self.relation(role, adposition)
        if adposition and head.upos != "ADV":  # "where" has none
            tokens = self.with_adposition(tokens, adposition)
        prefix = f"{role}."
        for token in tokens:
            token.roles = token.roles.replace(".", prefix)
        return tokens

    def adposition(self, role: str, phrase: Phrase) -> str:  # noqa: ARG002 - subclasses use it
        """Return the adposition of a participant, or ""."""
        return self.adpositions.get(role, "")

    def relation(self, role: str, adposition: str) -> str:  # noqa: ARG002 - as above
        """Return the dependency relation of a participant."""
        return self.relations.get(role, "obl")

    def with_adposition(self, tokens: Tokens, adposition: str) -> Tokens:
        """Return a phrase with its preposition, contracted with an article (in dem: im, with the roles of both)."""
        head = head_of(tokens)
        roles = "question" if head.roles == "question" else ".relation"
        preposition = Token(adposition, "ADP", roles, "case", head)
        contracted = self.contractions.get((adposition, tokens[0].form))
        if contracted:
            preposition.form = contracted
            preposition.roles += f" {tokens.pop(0).roles}"
        return [preposition, *tokens]

    def named(self, phrase: Phrase, role: str) -> Tokens:
        """Return a name, whose first token is the head: a given name with or without surname, or a town."""
        kind = "LOC" if role in ("place", "goal") else "PER"
        forms = [(form, ".head") for form in self.words[phrase.head].split()]
        if phrase.surname:
            forms.append((self.words[phrase.surname], ".surname"))
        tokens: Tokens = []
        for form, part in forms:
            if tokens:
                token = Token(form, "PROPN", part, "flat", tokens[0], name=f"I-{kind}")
            else:
                token = Token(form, "PROPN", part, name=f"B-{kind}")
            tokens.append(token)
        return tokens

    def counts(self, role: str) -> bool:
        """Whether the question is how many there are in a role."""
        return self.wh_role == f"{role}.count"

    def manner(self) -> Tokens:
        """Return the adverb of manner."""
        return [Token(self.words[self.scene.manner], "ADV", "manner", "advmod")]

    def predicate(self) -> Tokens:
        """Return the predicate of "be", whose head becomes the root; question words move to the front."""
        if self.scene.quality:
            tokens = self.quality()
        elif self.scene.category:
            tokens = self.category()
        else:
            tokens = self.realized("place")
        self.root = head_of(tokens)
        if not self.moves or self.wh_role != "place":
            return tokens
        self.front = tokens
        return []

    def quality(self) -> Tokens:
        """Return the quality that the subject has."""
        return [Token(self.words[self.scene.quality], "ADJ", "quality")]

    def category(self) -> Tokens:
        """Return the noun for what the subject is."""
        return [Token(self.words[self.scene.category], "NOUN", "category")]


def determiner_of(noun: Token, concept: str, form: str, lemma: str = "") -> Token:
    """Return a numeral or another determiner of a noun."""
    upos, relation = ("NUM", "nummod") if concept in NUMERALS else ("DET", "det")
    return Token(form, upos, ".determiner", relation, noun, lemma)


def entries(make: Callable[..., Entry], table: str) -> dict[str, Entry]:
    """Return concept -> entry of a lexicon table; `make` takes the fields of a cell after the concept."""
    return {concept: make(*fields) for concept, *fields in cells(table)}


def word_map(table: str) -> dict[str, str]:
    """Return concept -> word of a lexicon table; words may have blanks."""
    return {concept: " ".join(words) for concept, *words in cells(table)}


def citation_forms(*tables: Mapping[str, str], times: Mapping[str, str]) -> dict[str, str]:
    """Return the citation form of every concept."""
    forms: dict[str, str] = {}
    for time, spec in times.items():
        forms[time] = " ".join(token.form for token in time_tokens(spec))
    for table in tables:
        forms |= table
    return {concept: forms[concept] for concept in CONCEPTS}


_TIME_ROLES = {"w": "time.which", "u": "time.unit", "wu": "time.which time.unit", "-": ""}
_TIME_RELATIONS = {"ADJ": "amod", "DET": "det", "ADP": "case", "NOUN": "obl:tmod"}


def time_tokens(spec: str) -> Tokens:
    """Return a time phrase; its last noun or adverb is the head (obl:tmod or advmod).

    spec: words as form/lemma/UPOS/roles or, where both are the same, form/UPOS/roles. Roles are "w" (which one: last,
    next, every), "u" (unit: week), "wu" (both, as "yesterday") or "-" (neither, as the article of "la semana pasada").
    """
    tokens = []
    for word in spec.split():
        form, *lemma, upos, role = word.split("/")
        token = Token(form, upos, _TIME_ROLES[role], _TIME_RELATIONS.get(upos, "advmod"))
        token.lemma = lemma[0] if lemma else form
        tokens.append(token)
    lead = [token for token in tokens if token.upos in ("NOUN", "ADV", "PROPN")][-1]
    for token in tokens:
        if token is not lead:
            token.head = lead
    return tokens


def finish(tokens: Tokens, root: Token, mark: str = ".") -> ToySentence:
    """Build a sentence: add the final mark, number and space the tokens, capitalize the first letter.

    tokens: in order; those without a head depend on the root. One with `space` False touches the previous one.
    """
    tokens = [*tokens, Token(mark, "PUNCT", "stop", "punct", space=False)]
    for index, token in enumerate(tokens, start=1):
        token.index = index
        token.head = token.head or root
    root.head = None
    root.deprel = "root"
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
