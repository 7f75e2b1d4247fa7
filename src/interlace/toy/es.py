"""Spanish: agreement in gender and number, adjectives behind nouns, personal a, ser, estar and hay."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from interlace.toy import Language
from interlace.toy._concepts import NOUNS, NUMERALS
from interlace.toy._es import (
    ADJECTIVE,
    COPULA_OF,
    DETERMINER,
    MANNER_WORD,
    NAME,
    NOUN,
    NUMBER_WORD,
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
    STOP,
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

_BE = {
    "ser": {"past": ("era", "eran"), "present": ("es", "son"), "future": ("será", "serán")},
    "estar": {"past": ("estaba", "estaban"), "present": ("está", "están"), "future": ("estará", "estarán")},
}
_THERE_IS = {"past": "había", "present": "hay", "future": "habrá"}
_VAGUE = frozenset({"a", *NUMERALS, "many", "some"})  # "hay tres perros en el parque", not "están"
_UNKNOWN = {
    "recipient": "a quién", "companion": "con quién", "goal": "adónde", "place": "dónde", "time": "cuándo",
}  # fmt: skip
# Animals take the personal a where the deed touches them as persons, or where they are known and not mere goods.
_TOUCHING = frozenset({"follow", "heal", "feed", "love", "wash"})
_TRADING = frozenset({"buy", "sell", "catch"})


class Spanish(Language):
    """Statement: [time] subject no verb object a-recipient a-goal manner con-companion place [time]."""

    code: ClassVar[str] = "es"
    name: ClassVar[str] = "Spanish"
    words: ClassVar[Mapping[str, str]] = WORDS

    def realise(self, scene: Scene) -> Sentence:
        """The statement of a scene, with its gold."""
        there = _there(scene)
        root, predicate = (_there_is(scene), []) if there else _root(scene, scene.subject)
        subject = _subject(scene, root, "obj" if there else "nsubj")
        verb = [root] if there else _verb(scene, root, scene.subject.plural)
        body = [*verb, *subject] if there else [*subject, *verb]
        time = time_tokens(TIME[scene.time], root) if scene.time else []
        front, back = (time, []) if scene.fronted else ([], time)
        return finish([*front, *body, *predicate, *_rest(scene, root, place=there), *back])

    def ask(self, scene: Scene, role: str) -> Sentence:
        """The question whose answer in the statement is `role`."""
        about, _, count = role.partition(".")
        of_subject = about == "subject"
        there = _there(scene) and role != "subject"
        one = of_subject and not count
        root, predicate = (_there_is(scene), []) if there else _root(scene, None if one else scene.subject, role)
        asked = _asked(scene, role, root, there=there)
        verb = [root] if there else _verb(scene, root, not one and scene.subject.plural)
        subject = [] if of_subject else _subject(scene, root, "obj" if there else "nsubj")
        body = [*subject, *predicate] if scene.place else [*predicate, *subject]  # "¿Cuándo estaba fría la sopa?"
        time = time_tokens(TIME[scene.time], root) if scene.time and role != "time" else []
        return _question(root, [*asked, *verb, *body, *_rest(scene, root, about, place=there), *time])


def _question(root: Token, tokens: list[Token]) -> Sentence:
    opening = Token("¿", "¿", "PUNCT", STOP, "punct", root)
    tokens[0].space = False
    return finish([opening, *tokens], "?")


def _there(scene: Scene) -> bool:
    """Whether a place is said of something unknown: hay, not estar."""
    place = scene.predicate == "be" and scene.place is not None
    return place and scene.subject.determiner in _VAGUE and not scene.denied


def _there_is(scene: Scene) -> Token:
    return Token(_THERE_IS[scene.tense], "haber", "VERB", (*COPULA, *TENSE), "root")


def _root(scene: Scene, subject: Phrase | None, asked: str = "") -> tuple[Token, list[Token]]:
    """The head of the clause and, for "be", the tokens of its predicate, which agrees with a known subject."""
    if scene.predicate != "be":
        return Token("", VERB[scene.predicate].infinitive, "VERB", (*PREDICATE, *TENSE), "root"), []
    if scene.quality:
        forms = ADJECTIVE[scene.quality]
        gender = _gender(subject) if subject else "m"
        form = forms[gender, subject is not None and subject.plural]
        root = Token(form, forms["m", False], "ADJ", QUALITY, "root")
        return root, [root]
    if scene.category:
        return _category(scene.category)
    if asked == "place" or scene.place is None:  # "¿Dónde está la llave?"
        return Token("dónde", "dónde", "ADV", QUESTION, "root"), []
    phrase = _phrase(scene.place, "place", "root", None, "en")
    return next(token for token in phrase if token.head is None), phrase


def _category(concept: str) -> tuple[Token, list[Token]]:
    """A profession stands without an article: "es médica", but "es un ladrón"."""
    noun = NOUN[concept]
    root = Token(noun.singular, noun.singular, "NOUN", CATEGORY, "root")
    if "profession" in NOUNS[concept].tags:
        return root, [root]
    return root, [_determiner("a", noun.gender, noun.stressed, CATEGORY, root), root]


def _verb(scene: Scene, root: Token, plural: bool) -> list[Token]:
    """Negation and the finite verb or copula."""
    tokens = [Token("no", "no", "ADV", NEGATION, "advmod", root)] if scene.negated else []
    if scene.predicate != "be":
        root.form = getattr(VERB[scene.predicate], scene.tense)[plural]
        return [*tokens, root]
    lemma = COPULA_OF[scene.quality] if scene.quality else "ser" if scene.category else "estar"
    return [*tokens, Token(_BE[lemma][scene.tense][plural], lemma, "AUX", (*COPULA, *TENSE), "cop", root)]


def _subject(scene: Scene, root: Token, deprel: str) -> list[Token]:
    """The subject; a mass noun has the article here ("la leche está fría"), and nowhere else."""
    tokens = _phrase(scene.subject, "subject", deprel, root)
    if scene.subject.named or scene.subject.determiner:
        return tokens
    noun = NOUN[scene.subject.head]
    return [_determiner("the", noun.gender, noun.stressed, (), tokens[0]), *tokens]


def _rest(scene: Scene, root: Token, without: str = "", *, place: bool) -> list[Token]:
    """Everything behind the verb but the time; the place also behind "hay" (`place`)."""
    tokens: list[Token] = []
    if scene.object and without != "object":
        determiner = "no" if scene.negated and scene.object.determiner == "a" else scene.object.determiner
        tokens += _phrase(scene.object._replace(determiner=determiner), "object", "obj", root, _personal(scene))
    if scene.recipient and without != "recipient":
        tokens += _phrase(scene.recipient, "recipient", "iobj", root, "a")
    if scene.goal and without != "goal":
        tokens += _phrase(scene.goal, "goal", "obl", root, "a")
    if scene.manner:
        tokens.append(Token(MANNER_WORD[scene.manner], MANNER_WORD[scene.manner], "ADV", MANNER, "advmod", root))
    if scene.companion and without != "companion":
        tokens += _phrase(scene.companion, "companion", "obl", root, "con")
    if scene.place and (place or scene.predicate != "be") and without != "place":
        tokens += _phrase(scene.place, "place", "obl", root, "a" if scene.predicate == "arrive" else "en")
    return tokens


def _personal(scene: Scene) -> str:
    """The a of an object that is a person, or an animal treated as one."""
    thing = scene.object
    if thing is None or thing.person:
        return "a" if thing else ""
    if "animal" not in NOUNS[thing.head].tags or scene.predicate in _TRADING:
        return ""
    known = thing.definite or thing.determiner == "every"
    return "a" if known or scene.predicate in _TOUCHING else ""


def _asked(scene: Scene, role: str, root: Token, *, there: bool) -> list[Token]:
    """The question phrase; it carries the role "question", so questions of two languages link too."""
    about, _, count = role.partition(".")
    if count:
        phrase: Phrase = getattr(scene, about)
        if about == "subject":
            return _phrase(phrase, about, "obj" if there else "nsubj", root, counted=True)
        return _phrase(phrase, about, "obj", root, _personal(scene), counted=True)
    if about == "subject":
        return [Token("quién", "quién", "PRON", QUESTION, "nsubj", root)]
    if about == "object" and scene.object:
        return _asked_object(scene.object, _personal(scene), root)
    if root.roles == QUESTION:
        return [root]
    first, _, second = _UNKNOWN[role].partition(" ")
    if second:
        deprel = "iobj" if role == "recipient" else "obl"
        who = Token(second, second, "PRON", QUESTION, deprel, root)
        return [Token(first, first, "ADP", QUESTION, "case", who), who]
    form = "adónde" if role == "place" and scene.predicate == "arrive" else first
    return [Token(form, form, "ADV", QUESTION, "advmod", root)]


def _asked_object(phrase: Phrase, preposition: str, root: Token) -> list[Token]:
    """Whom, what, or "a qué animal": a bare "qué sigue el gato" would ask for the subject."""
    if not preposition:
        return [Token("qué", "qué", "PRON", QUESTION, "obj", root)]
    if phrase.person:
        noun = Token("quién", "quién", "PRON", QUESTION, "obj", root)
        return [Token(preposition, preposition, "ADP", QUESTION, "case", noun), noun]
    noun = Token("animal", "animal", "NOUN", QUESTION, "obj", root)
    which = Token("qué", "qué", "DET", QUESTION, "det", noun)
    return [Token(preposition, preposition, "ADP", QUESTION, "case", noun), which, noun]


def _gender(phrase: Phrase) -> str:
    return phrase.gender if phrase.named else NOUN[phrase.head].gender


def _phrase(
    phrase: Phrase, role: str, deprel: str, head: Token | None, preposition: str = "", *, counted: bool = False
) -> list[Token]:
    """A participant: preposition, determiner (or "cuántos"), noun, quality."""
    roles = part(role)
    if phrase.named:
        tokens = _name(phrase, role, deprel, head)
        return _with(preposition, tokens, tokens[0], roles.relation)
    word = NOUN[phrase.head]
    noun = Token(word.plural if phrase.plural else word.singular, word.singular, "NOUN", roles.head, deprel, head)
    tokens = [noun]
    if phrase.quality:
        forms = ADJECTIVE[phrase.quality]
        form = forms[word.gender, phrase.plural]
        tokens.append(Token(form, forms["m", False], "ADJ", roles.quality, "amod", noun))
    if counted:
        many = "cuántos" if word.gender == "m" else "cuántas"
        tokens.insert(0, Token(many, "cuánto", "DET", QUESTION, "det", noun))
    elif phrase.determiner:
        tokens.insert(0, _determiner(phrase.determiner, word.gender, word.stressed, roles.determiner, noun))
    return _with(preposition, tokens, noun, roles.relation)


def _with(preposition: str, tokens: list[Token], noun: Token, roles: Roles) -> list[Token]:
    """Put a preposition in front; a el becomes al, with the roles of both; names keep their article (a El Cairo)."""
    if not preposition:
        return tokens
    first = Token(preposition, preposition, "ADP", roles, "case", noun)
    if preposition == "a" and tokens[0].form == "el":
        first.form = "al"
        first.roles = (*roles, *tokens[0].roles)
        return [first, *tokens[1:]]
    return [first, *tokens]


def _name(phrase: Phrase, role: str, deprel: str, head: Token | None) -> list[Token]:
    kind = "LOC" if role in ("place", "goal") else "PER"
    tokens = proper(NAME[phrase.head], part(role).head, kind, deprel)
    tokens[0].head = head
    return join(tokens, proper(NAME[phrase.surname], part(role).surname, kind, "flat")) if phrase.surname else tokens


def _determiner(determiner: str, gender: str, stressed: bool, roles: Roles, noun: Token) -> Token:
    """Stressed feminine nouns take el, un, ningún, which stand right before them, but esta."""
    if determiner in NUMERALS:
        word = NUMBER_WORD[determiner]
        return Token(word, word, "NUM", roles, "nummod", noun)
    lemma, masculine, feminine = DETERMINER[determiner]
    like_masculine = gender == "m" or (stressed and determiner in ("the", "a", "no"))
    return Token(masculine if like_masculine else feminine, lemma, "DET", roles, "det", noun)
