"""From loose tokens in order to a finished sentence. Grammars make tokens, `finish` numbers, spaces and capitalises."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Roles = tuple[str, ...]


class Word(NamedTuple):
    """A gold word. `roles` says which parts of the scene it realises; words of two languages link by a shared one."""

    form: str
    lemma: str
    upos: str  # Universal POS tag
    name: str  # IOB2: O, B-PER, I-PER, B-LOC, I-LOC
    head: int  # 1-based, 0 for the root, as in CoNLL-U
    deprel: str
    roles: Roles
    start: int  # characters in the sentence's text
    end: int


class Sentence(NamedTuple):
    """Text and its words, which lie on it in order; what is between them is white space or nothing."""

    text: str
    words: tuple[Word, ...]

    def span(self, role: str) -> tuple[int, int]:
        """Characters from the first to the last word of a role ("place" covers "place.head", "place.relation", ..).

        Raises:
            KeyError: the sentence does not realise the role.
        """
        inner = role + "."
        inside = [word for word in self.words if any(one == role or one.startswith(inner) for one in word.roles)]
        if not inside:
            raise KeyError(role)
        return inside[0].start, inside[-1].end

    def space_before(self, word: int) -> bool:
        """Whether white space stands before the word; never before the first."""
        return word > 0 and self.words[word - 1].end < self.words[word].start


class Token:
    """A word in the making: grammars set `head` to another token, or leave None for the root."""

    __slots__ = ("deprel", "form", "head", "index", "lemma", "name", "roles", "space", "upos")

    def __init__(self, form: str, lemma: str, upos: str, roles: Roles, deprel: str, head: Token | None = None) -> None:
        self.form = form
        self.lemma = lemma
        self.upos = upos
        self.roles = roles
        self.deprel = deprel
        self.head = head
        self.name = "O"
        self.space = True  # a blank before it
        self.index = 0


class Part(NamedTuple):
    """The roles of one participant, made once: a token takes one of these tuples, or a sum of them."""

    head: Roles
    surname: Roles
    determiner: Roles
    quality: Roles
    relation: Roles  # adposition, case or local noun ("in", "-de", 里): what ties it to the clause


PREDICATE: Roles = ("predicate",)
TENSE: Roles = ("tense",)
NEGATION: Roles = ("negation",)
MANNER: Roles = ("manner",)
COPULA: Roles = ("copula",)
QUALITY: Roles = ("quality",)
CATEGORY: Roles = ("category",)
QUESTION: Roles = ("question",)
STOP: Roles = ("stop",)
TIME: dict[str, Roles] = {"w": ("time.which",), "u": ("time.unit",), "wu": ("time.which", "time.unit"), "-": ()}


CLAUSE: frozenset[str] = frozenset(
    role
    for roles in (PREDICATE, TENSE, NEGATION, MANNER, COPULA, QUALITY, CATEGORY, QUESTION, STOP, TIME["wu"])
    for role in roles
)
"""Roles of a word that belongs to no participant; the others are `part(participant)`."""


@cache
def part(role: str) -> Part:
    """Roles of the participant `role`, one of `PARTICIPANTS`."""
    return Part(*((f"{role}.{field}",) for field in Part._fields))


def proper(name: str, roles: Roles, kind: str, deprel: str) -> list[Token]:
    """Tokens of a name (blanks or "·" separate them), the first one its head, the others flat; kind PER or LOC."""
    tokens: list[Token] = []
    for form in name.split():
        token = Token(form, form, "PROPN", roles, "flat" if tokens else deprel, tokens[0] if tokens else None)
        token.name = f"I-{kind}" if tokens else f"B-{kind}"
        tokens.append(token)
    return tokens


def join(first: list[Token], more: list[Token]) -> list[Token]:
    """A surname behind a given name: one name, whose head is the first token. Both lists come from `proper`."""
    for token in more:
        token.deprel, token.head = "flat", first[0]
        token.name = "I" + token.name[1:]
    return first + more


def phrase_of_time(spec: str) -> list[tuple[str, str, str, Roles]]:
    """(form, lemma, UPOS, roles) of a time phrase written `form/lemma/UPOS/roles` a token.

    The lemma may be "=" for the form. Roles are "w" (which one: last, next, every), "u" (unit: week), "wu" (both, as
    "yesterday" or 上周 say them) or "-" (neither, such as the article of "la semana pasada").
    """
    rows = []
    for field in spec.split():
        form, lemma, upos, roles = field.split("/")
        rows.append((form, form if lemma == "=" else lemma, upos, TIME[roles]))
    return rows


def time_tokens(rows: list[tuple[str, str, str, Roles]], head: Token) -> list[Token]:
    """A time phrase as tokens: the last noun or adverb leads (obl:tmod or advmod), the others modify it."""
    tokens = [Token(form, lemma, upos, roles, "", head) for form, lemma, upos, roles in rows]
    lead = next((token for token in reversed(tokens) if token.upos in ("NOUN", "ADV")), tokens[-1])
    for token in tokens:
        if token is not lead:
            token.head = lead
            token.deprel = {"ADJ": "amod", "DET": "det", "ADP": "case"}.get(token.upos, "dep")
    lead.deprel = "obl:tmod" if lead.upos == "NOUN" else "advmod"
    return tokens


def finish(tokens: Sequence[Token], mark: str = ".") -> Sentence:
    """Add the final mark, number the tokens, lay them on a line with blanks, capitalise the first letter.

    tokens: in order; exactly one without a head, the root. A token with `space` False touches the one before it.
    """
    root = next(token for token in tokens if token.head is None)
    root.deprel = "root"
    stop = Token(mark, mark, "PUNCT", STOP, "punct", root)
    stop.space = False
    tokens = [*tokens, stop]
    for index, token in enumerate(tokens, start=1):
        token.index = index
    words = []
    pieces: list[str] = []
    at = 0
    small = True  # until the first letter was capitalised; an opening ¿ stays as it is
    for token in tokens:
        form = token.form
        if at and token.space:
            pieces.append(" ")
            at += 1
        if small and token.upos != "PUNCT":
            form = form[0].upper() + form[1:]
            small = False
        end = at + len(form)
        head = token.head.index if token.head is not None else 0
        words.append(Word(form, token.lemma, token.upos, token.name, head, token.deprel, token.roles, at, end))
        pieces.append(form)
        at = end
    return Sentence("".join(pieces), tuple(words))
