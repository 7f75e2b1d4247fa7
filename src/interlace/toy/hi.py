"""Hindi: verb last, postpositions, oblique forms; ने in the past of most transitives, whose verb follows the object.

A noun without a determiner is "the" one, एक is "a". Persons, and animals one knows of, take को as objects. Singular
persons stay grammatically singular: the plural of respect would be heard as "these" or "many" where number counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from interlace.toy import Language
from interlace.toy._concepts import NOUNS, NUMERALS, TOWNS
from interlace.toy._hi import ADJECTIVE, DETERMINER, MANNER_WORD, NAME, NOUN, ON, TIME, TO, VERB, WORDS
from interlace.toy._tokens import (
    CATEGORY,
    COPULA,
    MANNER,
    NEGATION,
    PREDICATE,
    QUALITY,
    QUESTION,
    TENSE,
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

    from interlace.toy._hi import Verb
    from interlace.toy._scenes import Phrase, Scene

_IS = ("है", "हैं", "है", "हैं")
_WAS = ("था", "थे", "थी", "थीं")
_WILL_BE = ("होगा", "होंगे", "होगी", "होंगी")
_BE = {"past": (_WAS, "था"), "present": (_IS, "है"), "future": (_WILL_BE, "हो")}  # forms and lemma
_OBLIQUE = {"यह": "इस", "ये": "इन", "कोई": "किसी"}
_WHO = {"": "कौन", "ने": "किसने", "को": "किसे", "से": "किससे", "का": "किसका", "की": "किसकी"}
_MALE_SINGULAR = 0  # what agrees with nothing, and with कौन and क्या, is masculine singular


class Hindi(Language):
    """[time] subject [time] companion place recipient manner object light-word नहीं verb auxiliary; questions alike."""

    code: ClassVar[str] = "hi"
    name: ClassVar[str] = "Hindi"
    words: ClassVar[Mapping[str, str]] = WORDS

    def realise(self, scene: Scene) -> Sentence:
        """The statement of a scene, with its gold."""
        return finish(_clause(scene, ""), "।")

    def ask(self, scene: Scene, role: str) -> Sentence:
        """The question whose answer in the statement is `role`."""
        return finish(_clause(scene, role), "?")


def _clause(scene: Scene, asked: str) -> list[Token]:
    """A statement, or with `asked` a question: the same order, the question word in the place of what is asked."""
    if scene.predicate == "be":
        root, predicate = _state(scene, asked)
        mark = ""
    else:
        verb = _lexeme(scene, asked)
        root = Token(verb.stem, verb.stem, "VERB", PREDICATE, "root")
        predicate = _event(scene, verb, root, asked)
        perfect = scene.tense == "past" and not verb.habitual
        mark = "को" if verb.dative else "ने" if verb.ergative and perfect else ""
    subject = _participant(scene.subject, "subject", "nsubj", root, mark, asked)
    time: list[Token] = []
    if asked == "time":
        time = [Token("कब", "कब", "ADV", QUESTION, "advmod", root)]
    elif scene.time:
        time = time_tokens(TIME[scene.time], root)
    return [*time, *subject, *predicate] if scene.fronted and not asked else [*subject, *time, *predicate]


def _lexeme(scene: Scene, asked: str) -> Verb:
    """The verb; some depend on their object: one calls on persons and tours buildings, and drinks soup."""
    if scene.object and scene.predicate == "visit" and scene.object.person:
        return VERB["visit_person"]
    soup = scene.predicate == "eat" and scene.object and scene.object.head == "soup" and asked != "object"
    return VERB["eat_soup" if soup else scene.predicate]


def _state(scene: Scene, asked: str) -> tuple[Token, list[Token]]:
    """The root and predicate of "be": quality, category or place, then नहीं and the copula."""
    agreement = _MALE_SINGULAR if asked == "subject" else _agreement(scene.subject)
    if scene.quality:
        root, tokens = _quality(scene.quality, scene.subject, agreement, QUALITY, None)
    elif scene.category:
        form = NOUN[scene.category].direct[0]
        root = Token(form, form, "NOUN", CATEGORY, "root")
        tokens = [root]
    elif asked == "place" or scene.place is None:
        root = Token("कहाँ", "कहाँ", "ADV", QUESTION, "root")
        tokens = [root]
    else:
        tokens = _phrase(scene.place, "place", "root", None, _at(scene.place))
        root = next(token for token in tokens if token.head is None)
    forms, lemma = _BE[scene.tense]
    copula = Token(forms[agreement], lemma, "AUX", (*COPULA, *TENSE), "cop", root)
    return root, [*tokens, *_not(scene, root), copula]


def _event(scene: Scene, verb: Verb, root: Token, asked: str) -> list[Token]:
    """Everything behind subject and time."""
    tokens: list[Token] = []
    light = Token(verb.light, verb.light, "ADJ" if verb.gender == "-" else "NOUN", PREDICATE, "compound", root)
    if scene.companion:
        tokens += _participant(scene.companion, "companion", "obl", root, "के साथ", asked)
    if scene.place and scene.predicate != "arrive":
        tokens += _somewhere(scene.place, "place", root, _at(scene.place), asked)
    if scene.recipient:
        mark = "के लिए" if scene.predicate == "bring" else "को"
        tokens += _participant(scene.recipient, "recipient", "iobj" if mark == "को" else "obl", root, mark, asked)
    if scene.manner:
        tokens += _manner(scene.manner, root)
    if scene.object:
        tokens += _object(scene, scene.object, verb, light, root, asked)
    if scene.place and scene.predicate == "arrive":
        tokens += _somewhere(scene.place, "place", root, "", asked)
    if scene.goal:
        owned = scene.predicate == "travel"  # "बर्लिन की यात्रा"
        tokens += _somewhere(scene.goal, "goal", light if owned else root, _to(scene.goal, scene.predicate), asked)
    tokens += [light] if verb.light else []
    return [*tokens, *_not(scene, root), root, *_finite(scene, verb, root, asked)]


def _object(scene: Scene, thing: Phrase, verb: Verb, light: Token, root: Token, asked: str) -> list[Token]:
    """The object; denied, "a" is कोई. What the light word owns ("नीना की मदद") hangs on it."""
    mark = _object_mark(thing, verb, asked)
    if scene.negated and thing.determiner == "a":
        thing = thing._replace(determiner="no")
    if mark in ("का", "की"):
        return _participant(thing, "object", "nmod", light, mark, asked)
    return _participant(thing, "object", "obl" if mark == "से" else "obj", root, mark, asked)


def _finite(scene: Scene, verb: Verb, root: Token, asked: str) -> list[Token]:
    """Inflect the root; the auxiliary behind it."""
    agreement = _controller(scene, verb, asked)
    if verb.stem == "चाहिए":  # needed: has no forms of its own
        if scene.tense == "present":
            root.roles = (*PREDICATE, *TENSE)
            return []
        forms, lemma = _BE[scene.tense]
        return [Token(forms[agreement], lemma, "AUX", TENSE, "aux", root)]
    if scene.tense == "present" or (scene.tense == "past" and verb.habitual):
        root.form = verb.imperfect[agreement]
        forms, lemma = _BE[scene.tense]
        return [Token(forms[agreement], lemma, "AUX", TENSE, "aux", root)]
    root.form = (verb.perfect if scene.tense == "past" else verb.future)[agreement]
    root.roles = (*PREDICATE, *TENSE)
    return []


def _controller(scene: Scene, verb: Verb, asked: str) -> int:
    """What the verb agrees with: its subject, or where that has a postposition the object, if it has none."""
    if not verb.dative and not (verb.ergative and scene.tense == "past"):
        return _MALE_SINGULAR if asked == "subject" else _agreement(scene.subject)
    if verb.gender in ("m", "f"):
        return 2 * (verb.gender == "f")
    thing = scene.object
    if thing is None or asked == "object" or _object_mark(thing, verb, asked):
        return _MALE_SINGULAR
    return _agreement(thing)


def _agreement(phrase: Phrase) -> int:
    feminine = phrase.gender == "f" if phrase.named else NOUN[phrase.head].feminine
    return 2 * feminine + phrase.plural


def _not(scene: Scene, root: Token) -> list[Token]:
    """नहीं, also where कोई says that there is no subject."""
    return [Token("नहीं", "नहीं", "PART", NEGATION, "advmod", root)] if scene.denied else []


def _object_mark(thing: Phrase, verb: Verb, asked: str) -> str:
    if verb.case == "का":
        return "की" if verb.gender == "f" else "का"
    if verb.case or verb.dative:
        return verb.case
    animal = thing.head in NOUNS and "animal" in NOUNS[thing.head].tags
    if animal and asked != "object":
        return "को" if not verb.bare and (thing.definite or thing.determiner == "every") else ""
    return "को" if thing.person else ""


def _at(place: Phrase) -> str:
    return "पर" if place.head in ON else "में"


def _to(goal: Phrase, predicate: str) -> str:
    if predicate == "travel":
        return "की"
    return "तक" if predicate == "run" else TO.get(goal.head, "")


def _manner(manner: str, root: Token) -> list[Token]:
    word, _, mark = MANNER_WORD[manner].partition(" ")
    if not mark:
        return [Token(word, word, "ADV", MANNER, "advmod", root)]
    noun = Token(word, word, "NOUN", MANNER, "obl", root)
    return [noun, Token(mark, mark, "ADP", MANNER, "case", noun)]


def _participant(phrase: Phrase, role: str, deprel: str, head: Token, mark: str, asked: str) -> list[Token]:
    """A phrase with its postpositions, or the question word that stands for it in their case."""
    if asked == role + ".count":
        return _phrase(phrase, role, deprel, head, mark, counted=True)
    if asked != role:
        return _phrase(phrase, role, deprel, head, mark)
    if not phrase.person and mark in ("", "को") and phrase.head in NOUNS:
        animal = "animal" in NOUNS[phrase.head].tags
        if not (animal and mark):
            return [Token("क्या", "क्या", "PRON", QUESTION, deprel, head)]
    first, _, second = mark.partition(" ")
    who = Token("किसके" if second else _WHO[first], "कौन", "PRON", QUESTION, deprel, head)
    return [who, Token(second, second, "ADP", QUESTION, "case", who)] if second else [who]


def _somewhere(place: Phrase, role: str, head: Token, mark: str, asked: str) -> list[Token]:
    deprel = "nmod" if mark == "की" else "obl"
    if asked != role:
        return _phrase(place, role, deprel, head, mark)
    where = Token("कहाँ", "कहाँ", "ADV", QUESTION, deprel if mark in ("की", "तक") else "advmod", head)
    return [where, Token(mark, _lemma(mark), "ADP", QUESTION, "case", where)] if mark in ("की", "तक") else [where]


def _phrase(
    phrase: Phrase, role: str, deprel: str, head: Token | None, mark: str, *, counted: bool = False
) -> list[Token]:
    """A participant: determiner (or कितने), quality, noun, in the oblique before a postposition."""
    roles = part(role)
    oblique = bool(mark) or role in ("place", "goal")
    if phrase.named:
        kind = "LOC" if phrase.head in TOWNS else "PER"
        tokens = proper(NAME[phrase.head], roles.head, kind, deprel)
        tokens[0].head = head
        if phrase.surname:
            tokens = join(tokens, proper(NAME[phrase.surname], roles.surname, kind, "flat"))
        noun = tokens[0]
    else:
        word = NOUN[phrase.head]
        form = (word.oblique if oblique else word.direct)[phrase.plural]
        noun = Token(form, word.direct[0], "NOUN", roles.head, deprel, head)
        tokens = [noun]
        bent = 2 if word.feminine else int(oblique or phrase.plural)
        if phrase.quality:
            tokens = [*_quality(phrase.quality, phrase, bent, roles.quality, noun)[1], noun]
        if counted:
            many = "कितनी" if word.feminine else "कितने"
            tokens.insert(0, Token(many, "कितना", "DET", QUESTION, "det", noun))
        elif phrase.determiner and phrase.determiner != "the":
            tokens.insert(0, _determiner(phrase.determiner, roles.determiner, noun, oblique))
    for form in mark.split():
        tokens.append(Token(form, _lemma(form), "ADP", roles.relation, "case", noun))
    return tokens


def _lemma(mark: str) -> str:
    return "का" if mark in ("की", "के") else mark


def _determiner(determiner: str, roles: tuple[str, ...], noun: Token, oblique: bool) -> Token:
    word = DETERMINER[determiner]
    if determiner in NUMERALS or determiner == "a":
        return Token(word, word, "NUM", roles, "nummod", noun)
    form = _OBLIQUE.get(word, word) if oblique else word
    return Token(form, "यह" if determiner == "these" else word, "DET", roles, "det", noun)


def _quality(
    quality: str, of: Phrase, agreement: int, roles: tuple[str, ...], head: Token | None
) -> tuple[Token, list[Token]]:
    """An adjective, with its adverb if it has one. What lives is बूढ़ा, not पुराना, when it is old."""
    living = of.person or bool(NOUNS[of.head].tags & {"person", "animal"})
    adverb, forms = ADJECTIVE["aged" if quality == "old" and living else quality]
    token = Token(forms[agreement], forms[0], "ADJ", roles, "amod" if head else "root", head)
    return token, [Token(adverb, adverb, "ADV", roles, "advmod", token), token] if adverb else [token]
