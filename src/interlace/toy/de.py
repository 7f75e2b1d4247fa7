"""German: verb second, three genders, four endings a case, separable verbs, nicht and kein."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from interlace.toy import Language
from interlace.toy._concepts import NOUNS, NUMERALS, TOWNS
from interlace.toy._de import (
    ADJECTIVE,
    MANNER_WORD,
    NAME,
    NOUN,
    NUMBER_WORD,
    PLACES,
    STEMS,
    TIME,
    VERB,
    WORDS,
)
from interlace.toy._tokens import (
    CATEGORY,
    COPULA,
    MANNER,
    NEGATION,
    PREDICATE,
    QUALITY,
    QUESTION,
    TENSE,
    Roles,
    Sentence,
    Token,
    finish,
    join,
    part,
    proper,
    time_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace.toy._scenes import Phrase, Scene

# cases: nom acc dat; kinds of noun phrase: m f n p (plural)
_STRONG = {  # endings of der-words, and of adjectives without an article
    "nom": {"m": "er", "f": "e", "n": "es", "p": "e"},
    "acc": {"m": "en", "f": "e", "n": "es", "p": "e"},
    "dat": {"m": "em", "f": "er", "n": "em", "p": "en"},
}
_WEAK = {  # endings of adjectives behind der, dieser, jeder
    "nom": {"m": "e", "f": "e", "n": "e", "p": "en"},
    "acc": {"m": "en", "f": "e", "n": "e", "p": "en"},
    "dat": {"m": "en", "f": "en", "n": "en", "p": "en"},
}
_THE = {
    "nom": {"m": "der", "f": "die", "n": "das"},
    "acc": {"m": "den", "f": "die", "n": "das"},
    "dat": {"m": "dem", "f": "der", "n": "dem"},
}
_BARE = {("nom", "m"), ("nom", "n"), ("acc", "n")}  # where ein and kein have no ending
_MELTED = {
    ("in", "dem"): "im", ("an", "dem"): "am", ("zu", "dem"): "zum", ("zu", "der"): "zur", ("in", "das"): "ins",
    ("an", "das"): "ans",
}  # fmt: skip
_BE = {("past", False): "war", ("past", True): "waren", ("present", False): "ist", ("present", True): "sind"}
_UNKNOWN = {
    "recipient": "wem", "companion": "mit wem", "goal": "wohin", "place": "wo", "time": "wann",
}  # fmt: skip


class German(Language):
    """[time | subject] finite-verb [subject] recipient [time] companion place manner object nicht goal rest-of-verb."""

    code: ClassVar[str] = "de"
    name: ClassVar[str] = "German"
    words: ClassVar[Mapping[str, str]] = WORDS

    def realise(self, scene: Scene) -> Sentence:
        """The statement of a scene, with its gold."""
        root, predicate = _root(scene)
        subject = _phrase(scene.subject, "subject", "nsubj", root, "nom")
        time = time_tokens(TIME[scene.time], root) if scene.time else []
        finite, last = _verbs(scene, root, scene.subject.plural)
        front, field = (time, subject) if scene.fronted else (subject, [])
        middle = _middle(scene, root, [] if scene.fronted else time)
        return finish([*front, finite, *field, *middle, *predicate, *last])

    def ask(self, scene: Scene, role: str) -> Sentence:
        """The question whose answer in the statement is `role`."""
        root, predicate = _root(scene, without=role)
        about, _, count = role.partition(".")
        asked = _asked(scene, role, root)
        time = time_tokens(TIME[scene.time], root) if scene.time and role != "time" else []
        of_subject = about == "subject"
        finite, last = _verbs(scene, root, bool(count) if of_subject else scene.subject.plural)
        field = [] if of_subject else _phrase(scene.subject, "subject", "nsubj", root, "nom")
        return finish([*asked, finite, *field, *_middle(scene, root, time, without=about), *predicate, *last], "?")


def _root(scene: Scene, without: str = "") -> tuple[Token, list[Token]]:
    """The head of the clause and, for "be", the tokens of its predicate with their negation."""
    if scene.predicate != "be":
        verb = VERB[scene.predicate]
        return Token(verb.infinitive, verb.particle + verb.infinitive, "VERB", PREDICATE, "root"), []
    if scene.quality:
        form = ADJECTIVE[scene.quality]
        root = Token(form, form, "ADJ", QUALITY, "root")
        return root, [*_not(scene, root), root]
    if scene.category:
        noun = NOUN[scene.category]
        root = Token(noun.singular, noun.singular, "NOUN", CATEGORY, "root")
        kein = Token("kein" + _ein("nom", noun.gender), "kein", "DET", NEGATION, "det", root)
        return root, [kein, root] if scene.negated else [root]
    if without == "place" or scene.place is None:  # "Wo ist der Schlüssel?"
        return Token("wo", "wo", "ADV", QUESTION, "root"), []
    phrase = _at(scene.place, root=None)
    root = next(token for token in phrase if token.head is None)
    return root, [*_not(scene, root), *phrase]


def _verbs(scene: Scene, root: Token, plural: bool) -> tuple[Token, list[Token]]:
    """The finite verb of the second place, and what closes the clause."""
    if scene.predicate == "be":
        if scene.tense == "future":
            return _will(root, plural), [Token("sein", "sein", "AUX", COPULA, "cop", root)]
        return Token(_BE[scene.tense, plural], "sein", "AUX", (*COPULA, *TENSE), "cop", root), []
    verb = VERB[scene.predicate]
    if scene.tense == "future":
        root.form = verb.particle + verb.infinitive
        return _will(root, plural), [root]
    if scene.tense == "past":
        root.form = verb.past + ("" if not plural else "n" if verb.past.endswith("e") else "en")
    else:
        root.form = verb.infinitive if plural else verb.third
    root.roles = (*PREDICATE, *TENSE)
    if not verb.particle:
        return root, []
    return root, [Token(verb.particle, verb.particle, "ADP", PREDICATE, "compound:prt", root)]


def _will(root: Token, plural: bool) -> Token:
    return Token("werden" if plural else "wird", "werden", "AUX", TENSE, "aux", root)


def _not(scene: Scene, root: Token) -> list[Token]:
    return [Token("nicht", "nicht", "PART", NEGATION, "advmod", root)] if scene.negated else []


def _middle(scene: Scene, root: Token, time: list[Token], without: str = "") -> list[Token]:
    """What stands between the verb's two places. Nicht follows a definite object, and precedes places otherwise."""
    thing = scene.object if without != "object" else None
    kein = scene.negated and thing is not None and not thing.definite
    denial = _not(scene, root) if scene.predicate != "be" and not kein else []
    early = denial if not thing and not scene.goal else []
    tokens: list[Token] = []
    if scene.recipient and without != "recipient":
        tokens += _phrase(scene.recipient, "recipient", "iobj", root, "dat")
    tokens += time + early
    if scene.companion and without != "companion":
        tokens += _phrase(scene.companion, "companion", "obl", root, "dat", "mit")
    if scene.place and scene.predicate != "be" and without != "place":
        tokens += _at(scene.place, root)
    if scene.manner:
        tokens.append(Token(MANNER_WORD[scene.manner], MANNER_WORD[scene.manner], "ADV", MANNER, "advmod", root))
    if thing:
        case = "dat" if VERB[scene.predicate].dative else "acc"
        tokens += _phrase(thing, "object", "obj", root, case, kein=kein)
    tokens += denial if not early else []
    if scene.goal and without != "goal":
        tokens += _to(scene.goal, root)
    return tokens


def _at(place: Phrase, root: Token | None) -> list[Token]:
    preposition = PLACES.get(place.head, ("in", "in"))[0]
    return _phrase(place, "place", "obl", root, "dat", preposition)


def _to(goal: Phrase, root: Token) -> list[Token]:
    preposition = "nach" if goal.head in TOWNS else PLACES.get(goal.head, ("in", "in"))[1]
    return _phrase(goal, "goal", "obl", root, "dat" if preposition == "zu" else "acc", preposition)


def _asked(scene: Scene, role: str, root: Token) -> list[Token]:
    """The question phrase; it carries the role "question", so questions of two languages link too."""
    about, _, count = role.partition(".")
    dative = scene.predicate != "be" and VERB[scene.predicate].dative
    if count:
        phrase: Phrase = getattr(scene, about)
        if about == "subject":
            return _phrase(phrase, about, "nsubj", root, "nom", counted=True)
        return _phrase(phrase, about, "obj", root, "dat" if dative else "acc", counted=True)
    if about == "subject":
        return [Token("wer", "wer", "PRON", QUESTION, "nsubj", root)]
    if about == "object" and scene.object:
        form = ("wem" if dative else "wen") if scene.object.person or dative else "was"
        return [Token(form, "was" if form == "was" else "wer", "PRON", QUESTION, "obj", root)]
    if root.roles == QUESTION:
        return [root]
    if role == "recipient":
        return [Token("wem", "wer", "PRON", QUESTION, "iobj", root)]
    first, _, second = _UNKNOWN[role].partition(" ")
    if not second:
        return [Token(first, first, "ADV", QUESTION, "advmod", root)]
    whom = Token(second, "wer", "PRON", QUESTION, "obl", root)
    return [Token(first, first, "ADP", QUESTION, "case", whom), whom]


def _phrase(
    phrase: Phrase,
    role: str,
    deprel: str,
    head: Token | None,
    case: str,
    preposition: str = "",
    *,
    kein: bool = False,
    counted: bool = False,
) -> list[Token]:
    """A participant: preposition, determiner (kein, "wie viele"), quality, noun, all in their case."""
    roles = part(role)
    if phrase.named:
        tokens = _name(phrase, role, deprel, head)
        noun = tokens[0]
    else:
        noun = _noun(phrase, roles.head, deprel, head, case)
        tokens = [noun]
    kind = "p" if phrase.plural else NOUN[phrase.head].gender if phrase.head in NOUNS else ""
    if phrase.quality:
        stem = ADJECTIVE[phrase.quality]
        form = STEMS.get(stem, stem) + _ending(phrase, case, kind, kein)
        tokens.insert(0, Token(form, stem, "ADJ", roles.quality, "amod", noun))
    if counted:
        many = Token("viele" if case != "dat" else "vielen", "viele", "DET", QUESTION, "det", noun)
        tokens = [Token("wie", "wie", "ADV", QUESTION, "advmod", many), many, *tokens]
    elif kein:
        form = "kein" + _ein(case, kind)
        tokens.insert(0, Token(form, "kein", "DET", (*NEGATION, *roles.determiner), "det", noun))
    elif phrase.determiner:
        tokens.insert(0, _determiner(phrase.determiner, roles.determiner, noun, case, kind))
    return _with(preposition, tokens, noun, roles.relation) if preposition else tokens


def _with(preposition: str, tokens: list[Token], noun: Token, roles: Roles) -> list[Token]:
    """Put a preposition in front; it melts with some articles (in dem, im), whose roles it takes over."""
    melted = _MELTED.get((preposition, tokens[0].form)) if tokens[0].lemma == "der" else None
    first = Token(melted or preposition, preposition, "ADP", roles, "case", noun)
    if melted:
        first.roles = (*roles, *tokens[0].roles)
        return [first, *tokens[1:]]
    return [first, *tokens]


def _name(phrase: Phrase, role: str, deprel: str, head: Token | None) -> list[Token]:
    kind = "LOC" if role in ("place", "goal") else "PER"
    tokens = proper(NAME[phrase.head], part(role).head, kind, deprel)
    tokens[0].head = head
    return join(tokens, proper(NAME[phrase.surname], part(role).surname, kind, "flat")) if phrase.surname else tokens


def _noun(phrase: Phrase, roles: Roles, deprel: str, head: Token | None, case: str) -> Token:
    word = NOUN[phrase.head]
    form = word.singular
    if phrase.plural:
        form = word.plural + ("n" if case == "dat" and not word.plural.endswith(("n", "s")) else "")
    elif word.weak and case != "nom":
        form = word.plural
    return Token(form, word.singular, "NOUN", roles, deprel, head)


def _ein(case: str, kind: str) -> str:
    return "" if (case, kind) in _BARE else _STRONG[case][kind]


def _ending(phrase: Phrase, case: str, kind: str, kein: bool) -> str:
    """The adjective's ending: weak behind der-words, strong where nothing else shows the case, mixed behind ein."""
    if phrase.determiner in ("a", "no") or kein:
        return _STRONG[case][kind] if (case, kind) in _BARE else _WEAK[case][kind]
    return (_WEAK if phrase.determiner in ("the", "this", "these", "every") else _STRONG)[case][kind]


def _determiner(determiner: str, roles: Roles, noun: Token, case: str, kind: str) -> Token:
    word = NUMBER_WORD[determiner]
    if determiner in NUMERALS:
        return Token(word, word, "NUM", roles, "nummod", noun)
    if determiner == "the":
        form = _THE[case][kind]
    elif determiner in ("a", "no"):
        form = word + _ein(case, kind)
    else:  # dieser, jeder; viele, einige: all take the strong endings
        stem = word.removesuffix("er") if word.endswith("er") else word.removesuffix("e")
        form = stem + _STRONG[case][kind]
    return Token(form, word, "DET", roles, "det", noun)
