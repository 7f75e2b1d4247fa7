"""English: subject, verb, object; articles, do-support, time at the end or in front."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from interlace.toy.concepts import ADJECTIVES, CONCEPTS, GIVEN, NOUNS, NUMERALS, SURNAMES, TIMES, TOWNS, VERBS
from interlace.toy.languages import ToyLanguage
from interlace.toy.sentences import (
    CATEGORY,
    COPULA,
    MANNER,
    NEGATION,
    PREDICATE,
    QUALITY,
    QUESTION,
    TENSE,
    Token,
    ToySentence,
    finish,
    part,
    person_or_town,
    phrase_of_time,
    time_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace.toy.scenes import Phrase, Scene

# ---- words ----

PLURALS = {
    "sheep": "sheep", "mouse": "mice", "wolf": "wolves", "fish": "fish", "knife": "knives", "potato": "potatoes",
    "tomato": "tomatoes", "scarf": "scarves", "man": "men", "woman": "women",
    "fisherman": "fishermen", "policeman": "policemen", "thief": "thieves", "axe": "axes", "radio": "radios",
    "piano": "pianos", "person": "people",
}  # fmt: skip
PASTS = {
    "sleep": "slept", "sing": "sang", "swim": "swam", "go": "went", "run": "ran", "eat": "ate", "drink": "drank",
    "buy": "bought", "sell": "sold", "read": "read", "write": "wrote", "see": "saw", "find": "found", "lose": "lost",
    "know": "knew", "wear": "wore", "drive": "drove", "hear": "heard", "build": "built", "cut": "cut",
    "feed": "fed", "catch": "caught", "steal": "stole", "hide": "hid", "forget": "forgot", "give": "gave",
    "send": "sent", "bring": "brought",
}  # fmt: skip
LEMMAS = {"seek": "look", "clean_quality": "clean"}
PARTICLES = {"seek": "for"}
PREPOSITIONS = {  # of places where it is not "in"
    "market": "at", "station": "at", "airport": "at", "harbor": "at", "beach": "on", "farm": "on", "island": "on",
    "university": "at", "bakery": "at", "theater": "at",
}  # fmt: skip


def _time_spec(concept: str) -> str:
    which, _, unit = concept.partition("_")
    if not unit:
        return f"{concept}/=/{'NOUN' if concept in ('yesterday', 'today', 'tomorrow') else 'ADV'}/wu"
    unit = unit.capitalize() if unit in ("monday", "friday") else unit
    return f"{which}/=/{'DET' if which == 'every' else 'ADJ'}/w {unit}/=/{'PROPN' if unit[0].isupper() else 'NOUN'}/u"


def _third(lemma: str) -> str:
    if lemma.endswith(("s", "sh", "ch", "x", "z", "o")):
        return lemma + "es"
    return lemma[:-1] + "ies" if lemma.endswith("y") and lemma[-2] not in "aeiou" else lemma + "s"


def _past(lemma: str) -> str:
    if lemma.endswith("e"):
        return lemma + "d"
    return lemma[:-1] + "ied" if lemma.endswith("y") and lemma[-2] not in "aeiou" else lemma + "ed"


def _plural(lemma: str) -> str:
    return PLURALS.get(lemma) or _third(lemma)


NOUN: dict[str, tuple[str, str]] = {noun: (noun, _plural(noun)) for noun in NOUNS}  # concept -> singular, plural
VERB: dict[str, tuple[str, str, str]] = {  # concept -> base, third person, past
    verb: (LEMMAS.get(verb, verb), _third(LEMMAS.get(verb, verb)), PASTS.get(verb) or _past(LEMMAS.get(verb, verb)))
    for verb in VERBS
}
ADJECTIVE: dict[str, str] = {concept: LEMMAS.get(concept, concept) for concept in ADJECTIVES}
TIME = {concept: phrase_of_time(_time_spec(concept)) for concept in TIMES}
NAME: dict[str, str] = {name: name.replace("_", " ").title() for name in (*GIVEN, *SURNAMES, *TOWNS)}
WORDS: dict[str, str] = (
    {concept: concept for concept in CONCEPTS}
    | ADJECTIVE
    | NAME
    | {time: " ".join(row[0] for row in rows) for time, rows in TIME.items()}
    | {"seek": "look for"}
)


# ---- grammar ----

_UNKNOWN = {  # question words of participants
    "recipient": "to whom", "companion": "with whom", "goal": "where", "place": "where", "time": "when",
}  # fmt: skip
_BE = {("past", False): "was", ("past", True): "were", ("present", False): "is", ("present", True): "are"}
_DO = {("past", False): "did", ("past", True): "did", ("present", False): "does", ("present", True): "do"}


class English(ToyLanguage):
    """Statement: [time] subject (will | do) not verb object to-recipient to-goal manner with-companion place [time]."""

    code: ClassVar[str] = "en"
    name: ClassVar[str] = "English"
    words: ClassVar[Mapping[str, str]] = WORDS

    def realize(self, scene: Scene) -> ToySentence:
        """Return the statement of a scene with its gold annotation."""
        root, verbal = _root(scene)
        subject = _phrase(scene.subject, "subject", "nsubj", root)
        helper, verb = _verbs(scene, root, scene.subject.plural, inverted=False)
        time = _time(scene, root)
        front, back = (time, []) if scene.fronted else ([], time)
        return finish([*front, *subject, *helper, *_not(scene, root), *verb, *verbal, *_rest(scene, root), *back])

    def question(self, scene: Scene, role: str) -> ToySentence:
        """Return the question whose answer in the statement is `role`."""
        root, verbal = _root(scene, without=role)
        about, _, count = role.partition(".")
        wh_role = _wh_phrase(scene, role, root)
        rest = [*verbal, *_rest(scene, root, without=about), *([] if role == "time" else _time(scene, root))]
        if about == "subject":
            helper, verb = _verbs(scene, root, bool(count), inverted=False)
            return finish([*wh_role, *helper, *verb, *rest], "?")
        helper, verb = _verbs(scene, root, scene.subject.plural, inverted=True)
        return finish([*wh_role, *helper, *_phrase(scene.subject, "subject", "nsubj", root), *verb, *rest], "?")


def _root(scene: Scene, without: str = "") -> tuple[Token, list[Token]]:
    """Return the head of the clause and, for "be", the tokens of its predicate."""
    if scene.predicate != "be":
        base = VERB[scene.predicate][0]
        return Token(base, base, "VERB", PREDICATE, "root"), []
    if scene.quality:
        form = ADJECTIVE[scene.quality]
        root = Token(form, form, "ADJ", QUALITY, "root")
        return root, [root]
    if scene.category:
        root = Token(scene.category, scene.category, "NOUN", CATEGORY, "root")
        return root, [_article(root, ()), root]
    if without == "place":  # "Where is the key?"
        return Token("where", "where", "ADV", QUESTION, "root"), []
    phrase = _phrase(scene.place, "place", "root", None, _preposition(scene)) if scene.place else []
    return next(token for token in phrase if token.head is None), phrase


def _verbs(scene: Scene, root: Token, plural: bool, *, inverted: bool) -> tuple[list[Token], list[Token]]:
    """Return the verb forms before and after "not" or an inverted subject."""
    if scene.predicate == "be":
        if scene.tense == "future":
            return [Token("will", "will", "AUX", TENSE, "aux", root)], [Token("be", "be", "AUX", COPULA, "cop", root)]
        return [Token(_BE[scene.tense, plural], "be", "AUX", (*COPULA, *TENSE), "cop", root)], []
    particle = PARTICLES.get(scene.predicate)
    verb = [root, *([Token(particle, particle, "ADP", PREDICATE, "compound:prt", root)] if particle else [])]
    if scene.tense == "future":
        return [Token("will", "will", "AUX", TENSE, "aux", root)], verb
    if scene.negated or inverted:
        return [Token(_DO[scene.tense, plural], "do", "AUX", TENSE, "aux", root)], verb
    base, third, past = VERB[scene.predicate]
    root.form = past if scene.tense == "past" else base if plural else third
    root.roles = (*PREDICATE, *TENSE)
    return [], verb


def _not(scene: Scene, root: Token) -> list[Token]:
    return [Token("not", "not", "PART", NEGATION, "advmod", root)] if scene.negated else []


def _rest(scene: Scene, root: Token, without: str = "") -> list[Token]:
    """Return everything after the verb except the time."""
    tokens: list[Token] = []
    if scene.object and without != "object":
        tokens += _phrase(scene.object, "object", "obj", root)
    if scene.recipient and without != "recipient":
        tokens += _phrase(scene.recipient, "recipient", "obl", root, "to")
    if scene.goal and without != "goal":
        tokens += _phrase(scene.goal, "goal", "obl", root, "to")
    if scene.manner:
        tokens.append(Token(scene.manner, scene.manner, "ADV", MANNER, "advmod", root))
    if scene.companion and without != "companion":
        tokens += _phrase(scene.companion, "companion", "obl", root, "with")
    if scene.place and scene.predicate != "be" and without != "place":
        tokens += _phrase(scene.place, "place", "obl", root, _preposition(scene))
    return tokens


def _wh_phrase(scene: Scene, role: str, root: Token) -> list[Token]:
    """Return the question phrase; its words have the role "question", so questions can be aligned too."""
    about, _, count = role.partition(".")
    if count:
        phrase: Phrase = getattr(scene, about)
        return _phrase(phrase, about, "nsubj" if about == "subject" else "obj", root, counted=True)
    if about == "subject":
        return [Token("who", "who", "PRON", QUESTION, "nsubj", root)]
    if about == "object":
        form = "whom" if scene.object and scene.object.person else "what"
        return [Token(form, "who" if form == "whom" else form, "PRON", QUESTION, "obj", root)]
    if root.roles == QUESTION:
        return [root]
    first, _, second = _UNKNOWN[role].partition(" ")
    if not second:
        return [Token(first, first, "ADV", QUESTION, "advmod", root)]
    whom = Token(second, "who", "PRON", QUESTION, "obl", root)
    return [Token(first, first, "ADP", QUESTION, "case", whom), whom]


def _time(scene: Scene, root: Token) -> list[Token]:
    return time_tokens(TIME[scene.time], root) if scene.time else []


def _preposition(scene: Scene) -> str:
    return PREPOSITIONS.get(scene.place.head, "in") if scene.place else "in"


def _phrase(
    phrase: Phrase, role: str, deprel: str, head: Token | None, preposition: str = "", *, counted: bool = False
) -> list[Token]:
    """Return a participant: preposition, determiner (or "how many"), quality, noun."""
    roles = part(role)
    if phrase.named:
        tokens = person_or_town(phrase, NAME, role, deprel, head)
        noun = tokens[0]
    else:
        singular, plural = NOUN[phrase.head]
        noun = Token(plural if phrase.plural else singular, singular, "NOUN", roles.head, deprel, head)
        tokens = [noun]
    if phrase.quality:
        form = ADJECTIVE[phrase.quality]
        tokens.insert(0, Token(form, form, "ADJ", roles.quality, "amod", noun))
    if counted:
        many = Token("many", "many", "DET", QUESTION, "det", noun)
        tokens = [Token("how", "how", "ADV", QUESTION, "advmod", many), many, *tokens]
    elif phrase.determiner:
        tokens.insert(0, _determiner(phrase.determiner, roles.determiner, noun, tokens[0]))
    if preposition:
        tokens.insert(0, Token(preposition, preposition, "ADP", roles.relation, "case", noun))
    return tokens


def _determiner(determiner: str, roles: tuple[str, ...], noun: Token, following: Token) -> Token:
    if determiner == "a":
        return _article(following, roles, noun)
    if determiner in NUMERALS:
        return Token(determiner, determiner, "NUM", roles, "nummod", noun)
    return Token(determiner, "this" if determiner == "these" else determiner, "DET", roles, "det", noun)


def _article(following: Token, roles: tuple[str, ...], noun: Token | None = None) -> Token:
    """Return "a" or "an", by the next word."""
    vowel = following.form[0] in "aeiou" and not following.form.startswith("uni")
    return Token("an" if vowel else "a", "a", "DET", roles, "det", noun or following)
