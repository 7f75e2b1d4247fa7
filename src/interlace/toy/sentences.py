"""Sentences with gold annotation, and what the grammars share to build them from tokens."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from interlace.toy.concepts import CONCEPTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace.toy.scenes import Phrase

Roles = tuple[str, ...]


class ToyWord(NamedTuple):
    """A gold word. roles: the parts of the scene that it realizes; words with a common role are aligned."""

    form: str
    lemma: str
    upos: str  # Universal POS tag
    name: str  # IOB2: O, B-PER, I-PER, B-LOC, I-LOC
    head: int  # 1-based, 0 for the root, as in CoNLL-U
    deprel: str
    roles: Roles
    start: int  # characters in the sentence's text
    end: int


class ToySentence(NamedTuple):
    """A text and its words in order, with white space or nothing between them."""

    text: str
    words: tuple[ToyWord, ...]

    def span(self, role: str) -> tuple[int, int]:
        """Return the characters from the first to the last word of a role ("place" covers "place.head", ...).

        Raises:
            KeyError: the sentence has no word with this role.
        """
        inner = role + "."
        inside = [word for word in self.words if any(one == role or one.startswith(inner) for one in word.roles)]
        if not inside:
            raise KeyError(role)
        return inside[0].start, inside[-1].end

    def space_before(self, word: int) -> bool:
        """Whether white space precedes the word; never for the first."""
        return word > 0 and self.words[word - 1].end < self.words[word].start


class Token:
    """A mutable word: grammars set `head` to another token, or leave None for the root."""

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


class ParticipantRoles(NamedTuple):
    """The roles of one participant; a token has one of these tuples, or a concatenation of them."""

    head: Roles
    surname: Roles
    determiner: Roles
    quality: Roles
    relation: Roles  # adposition, case or local noun ("in", "-de", 里)


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
"""Roles of words that belong to no participant; the others are `part(participant)`."""


@cache
def part(role: str) -> ParticipantRoles:
    """Return the roles of the participant `role`, one of `PARTICIPANTS`."""
    return ParticipantRoles(*((f"{role}.{field}",) for field in ParticipantRoles._fields))


def cells(table: str) -> list[list[str]]:
    """Return the fields of each cell of a lexicon table, whose cells are separated by " | " or lines."""
    return [cell.split() for line in table.strip().splitlines() for cell in line.split(" | ")]


def word_map(table: str) -> dict[str, str]:
    """Return concept -> word of a lexicon table; words may have blanks."""
    return {concept: " ".join(words) for concept, *words in cells(table)}


def citation_forms(*tables: Mapping[str, str], times: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, str]:
    """Return the citation form of every concept, in the order of `CONCEPTS`."""
    merged = {time: " ".join(row[0] for row in rows) for time, rows in times.items()}
    for table in tables:
        merged |= table
    return {concept: merged[concept] for concept in CONCEPTS}


def person_or_town(phrase: Phrase, names: Mapping[str, str], role: str, deprel: str, head: Token | None) -> list[Token]:
    """Return the tokens of a name: a given name with or without surname, or a town."""
    kind = "LOC" if role in ("place", "goal") else "PER"
    tokens = proper(names[phrase.head], part(role).head, kind, deprel)
    tokens[0].head = head
    return join(tokens, proper(names[phrase.surname], part(role).surname, kind, "flat")) if phrase.surname else tokens


def proper(name: str, roles: Roles, kind: str, deprel: str) -> list[Token]:
    """Return the tokens of a name: the first is the head, the others are flat; kind PER or LOC."""
    tokens: list[Token] = []
    for form in name.split():
        token = Token(form, form, "PROPN", roles, "flat" if tokens else deprel, tokens[0] if tokens else None)
        token.name = f"I-{kind}" if tokens else f"B-{kind}"
        tokens.append(token)
    return tokens


def join(first: list[Token], more: list[Token]) -> list[Token]:
    """Join a given name and a surname, both from `proper`, to one name whose head is the first token."""
    for token in more:
        token.deprel, token.head = "flat", first[0]
        token.name = "I" + token.name[1:]
    return first + more


def phrase_of_time(spec: str) -> list[tuple[str, str, str, Roles]]:
    """Return (form, lemma, UPOS, roles) of each token of a time phrase written as `form/lemma/UPOS/roles`.

    The lemma may be "=" for the form. Roles are "w" (which one: last, next, every), "u" (unit: week), "wu" (both, as
    "yesterday" or 上周) or "-" (neither, such as the article of "la semana pasada").
    """
    rows = []
    for field in spec.split():
        form, lemma, upos, roles = field.split("/")
        rows.append((form, form if lemma == "=" else lemma, upos, TIME[roles]))
    return rows


def time_tokens(rows: list[tuple[str, str, str, Roles]], head: Token) -> list[Token]:
    """Return a time phrase as tokens: the last noun or adverb is the head (obl:tmod or advmod)."""
    tokens = [Token(form, lemma, upos, roles, "", head) for form, lemma, upos, roles in rows]
    lead = next((token for token in reversed(tokens) if token.upos in ("NOUN", "ADV")), tokens[-1])
    for token in tokens:
        if token is not lead:
            token.head = lead
            token.deprel = {"ADJ": "amod", "DET": "det", "ADP": "case"}.get(token.upos, "dep")
    lead.deprel = "obl:tmod" if lead.upos == "NOUN" else "advmod"
    return tokens


def finish(tokens: Sequence[Token], mark: str = ".") -> ToySentence:
    """Build a sentence: add the final mark, number and space the tokens, capitalize the first letter.

    tokens: in order; exactly one without a head, the root. A token with `space` False touches the previous one.
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
    pending = True  # until the first letter is capitalized; an opening ¿ does not count
    for token in tokens:
        form = token.form
        if at and token.space:
            pieces.append(" ")
            at += 1
        if pending and token.upos != "PUNCT":
            form = form[0].upper() + form[1:]
            pending = False
        end = at + len(form)
        head = token.head.index if token.head is not None else 0
        words.append(ToyWord(form, token.lemma, token.upos, token.name, head, token.deprel, token.roles, at, end))
        pieces.append(form)
        at = end
    return ToySentence("".join(pieces), tuple(words))
