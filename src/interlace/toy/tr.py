"""Turkish: verb last, cases and tenses as suffixes in vowel harmony, no article but bir, questions in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from interlace.toy import Language
from interlace.toy._concepts import NOUNS, NUMERALS
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
from interlace.toy._tr import (
    ADJECTIVE,
    BARE,
    DETERMINER,
    MANNER_WORD,
    NAME,
    NOUN,
    OLD_IN_YEARS,
    TIME,
    VARIANT,
    VERB,
    WORDS,
)
from interlace.toy._tr_suffixes import conjugated, declined, declined_name, was

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace.toy._scenes import Phrase, Scene
    from interlace.toy._tr_suffixes import Verb

_WHO = {"": "kim", "acc": "kimi", "dat": "kime", "ins": "kiminle"}
_WHAT = {"": "ne", "acc": "neyi", "dat": "neye"}
_WHERE = {"loc": "nerede", "dat": "nereye"}
_VAGUE = frozenset({"a", *NUMERALS, "many", "some"})  # "parkta üç köpek var", not "üç köpek parkta"


class Turkish(Language):
    """Statement: [time] subject [time] companion place object-acc recipient manner bare-object goal verb."""

    code: ClassVar[str] = "tr"
    name: ClassVar[str] = "Turkish"
    words: ClassVar[Mapping[str, str]] = WORDS

    def realise(self, scene: Scene) -> Sentence:
        """The statement of a scene, with its gold."""
        return finish(_capital(_clause(scene)))

    def ask(self, scene: Scene, role: str) -> Sentence:
        """The question whose answer in the statement is `role`: question words stand where the answer stands."""
        return finish(_capital(_clause(scene, role)), "?")


def _capital(tokens: list[Token]) -> list[Token]:
    """The capital of i is İ, which `str.upper` does not know."""
    if tokens[0].form[0] == "i":
        tokens[0].form = "İ" + tokens[0].form[1:]
    return tokens


def _clause(scene: Scene, asked: str = "") -> list[Token]:
    """All tokens but the mark; `asked` is the role that a question word takes the place of."""
    if scene.predicate != "be":
        return _event(scene, asked)
    if scene.place and scene.subject.determiner in _VAGUE and not scene.denied:
        return _existence(scene, scene.place, asked)
    root, predicate = _predicate(scene, asked)
    return _ordered(scene, asked, root, predicate)


def _ordered(scene: Scene, asked: str, root: Token, rest: list[Token]) -> list[Token]:
    """Subject, time, rest; the time leads where it is fronted, and where the subject is asked."""
    subject = _participant(scene.subject, "subject", "nsubj", root, "", asked)
    time = _time(scene, root, asked)
    first = asked != "time" and (scene.fronted or asked.startswith("subject"))
    return [*time, *subject, *rest] if first else [*subject, *time, *rest]


def _event(scene: Scene, asked: str) -> list[Token]:
    verb = _verb(scene)
    form = conjugated(verb, scene.tense, negated=scene.denied)
    denial = NEGATION if scene.denied else ()
    root = Token(form, verb.root, "VERB", (*PREDICATE, *TENSE, *denial), "root")
    tokens: list[Token] = []
    if scene.companion:
        tokens += _participant(scene.companion, "companion", "obl", root, "ins", asked)
    if scene.place:
        case = "dat" if scene.predicate == "arrive" else "loc"
        tokens += _participant(scene.place, "place", "obl", root, case, asked)
    near, far = _object(scene, verb, root, asked)
    tokens += far
    if scene.recipient:
        tokens += _participant(scene.recipient, "recipient", "iobj", root, "dat", asked)
    if scene.manner:
        tokens.append(Token(MANNER_WORD[scene.manner], MANNER_WORD[scene.manner], "ADV", MANNER, "advmod", root))
    tokens += near
    if scene.goal:
        tokens += _participant(scene.goal, "goal", "obl", root, "dat", asked)
    light = [Token(verb.before, verb.before, "NOUN", PREDICATE, "compound:lvc", root)] if verb.before else []
    return _ordered(scene, asked, root, [*tokens, *light, root])


def _verb(scene: Scene) -> Verb:
    """The verb; some depend on the object ("kitabı biliyor", "doktoru tanıyor")."""
    if scene.object is None:
        return VERB[scene.predicate]
    return VARIANT.get((scene.predicate, scene.object.head)) or VERB[scene.predicate]


def _object(scene: Scene, verb: Verb, root: Token, asked: str) -> tuple[list[Token], list[Token]]:
    """(bare object right before the verb, object with a case further left); one of them is empty."""
    if scene.object is None:
        return [], []
    thing = scene.object
    if scene.negated and thing.determiner == "a":
        thing = thing._replace(determiner="no")
    case = verb.case or _object_case(scene.predicate, thing)
    tokens = _participant(thing, "object", "obj", root, case, asked)
    return ([], tokens) if case else (tokens, [])


def _object_case(predicate: str, thing: Phrase) -> str:
    """Accusative for what is known, for persons, and for what the deed needs whole; mass nouns have none."""
    if thing.person or thing.definite or thing.determiner == "every":
        return "acc"
    return "" if predicate in BARE or not thing.determiner else "acc"


def _existence(scene: Scene, place: Phrase, asked: str) -> list[Token]:
    """What is somewhere: place, time, thing, var."""
    form = {"past": "vardı", "present": "var", "future": "olacak"}[scene.tense]
    lemma = "ol" if scene.tense == "future" else "var"
    root = Token(form, lemma, "VERB", (*COPULA, *TENSE), "root")
    where = _participant(place, "place", "obl", root, "loc", asked)
    subject = _participant(scene.subject, "subject", "nsubj", root, "", asked)
    time = _time(scene, root, asked)
    first = asked != "time" and (scene.fronted or asked.startswith("subject"))
    return [*time, *where, *subject, root] if first else [*where, *time, *subject, root]


def _predicate(scene: Scene, asked: str) -> tuple[Token, list[Token]]:
    """Quality, category or place with its copula: nothing in the present, a suffix in the past, olacak in future."""
    tokens = _predicate_word(scene, asked)
    root = next(token for token in tokens if token.head is None)
    if scene.tense == "future":
        form, roles = ("olmayacak", (*COPULA, *TENSE, *NEGATION)) if scene.denied else ("olacak", (*COPULA, *TENSE))
        return root, [*tokens, Token(form, "ol", "AUX", roles, "cop", root)]
    last = tokens[-1]
    if scene.denied:
        last = Token("değil", "değil", "AUX", (*NEGATION, *COPULA), "cop", root)
        tokens.append(last)
    if scene.tense == "past":
        last.form = was(last.form)
        last.roles = tuple(dict.fromkeys((*last.roles, *COPULA, *TENSE)))
    return root, tokens


def _predicate_word(scene: Scene, asked: str) -> list[Token]:
    if scene.quality:
        form = _adjective(scene.quality, scene.subject)
        return [Token(form, form, "ADJ", QUALITY, "root")]
    if scene.category:
        return _category(scene.category)
    return _participant(scene.place, "place", "root", None, "loc", asked) if scene.place else []


def _category(concept: str) -> list[Token]:
    """A profession stands alone ("Peter doktor"), other nouns behind bir ("Peter bir hırsız")."""
    noun = NOUN[concept]
    root = Token(noun.form, noun.form, "NOUN", CATEGORY, "root")
    tokens = [Token(noun.before, noun.before, "NOUN", CATEGORY, "compound", root), root] if noun.before else [root]
    if "profession" in NOUNS[concept].tags:
        return tokens
    return [Token("bir", "bir", "DET", CATEGORY, "det", root), *tokens]


def _time(scene: Scene, root: Token, asked: str) -> list[Token]:
    if asked == "time":
        noun = Token("zaman", "zaman", "NOUN", QUESTION, "obl:tmod", root)
        return [Token("ne", "ne", "DET", QUESTION, "det", noun), noun]
    return time_tokens(TIME[scene.time], root) if scene.time else []


def _adjective(quality: str, phrase: Phrase) -> str:
    alive = phrase.person or (not phrase.named and "animal" in NOUNS[phrase.head].tags)
    return OLD_IN_YEARS if quality == "old" and alive else ADJECTIVE[quality]


def _participant(phrase: Phrase, role: str, deprel: str, head: Token | None, case: str, asked: str) -> list[Token]:
    """A participant in its case, or the question word in its place."""
    if role != asked:
        return _phrase(phrase, role, deprel, head, case, counted=asked == role + ".count")
    if role in ("place", "goal"):
        form = _WHERE[case]
        return [Token(form, "nere", "ADV", QUESTION, deprel if head is None else "advmod", head)]
    form = (_WHO if phrase.person else _WHAT)[case]
    return [Token(form, "kim" if phrase.person else "ne", "PRON", QUESTION, deprel, head)]


def _phrase(
    phrase: Phrase, role: str, deprel: str, head: Token | None, case: str, *, counted: bool = False
) -> list[Token]:
    """Determiner (or "kaç"), quality, noun; bir stands behind the quality. Behind numerals nouns are singular."""
    roles = part(role)
    if phrase.named:
        return _name(phrase, role, deprel, head, case)
    word = NOUN[phrase.head]
    form = declined(word, case, plural=phrase.determiner == "these")
    noun = Token(form, word.form, "NOUN", (*roles.head, *roles.relation) if case else roles.head, deprel, head)
    tokens = [Token(word.before, word.before, "NOUN", roles.head, "compound", noun), noun] if word.before else [noun]
    if phrase.determiner == "a":
        tokens.insert(0, Token("bir", "bir", "DET", roles.determiner, "det", noun))
    if phrase.quality:
        quality = _adjective(phrase.quality, phrase)
        tokens.insert(0, Token(quality, quality, "ADJ", roles.quality, "amod", noun))
    if counted:
        tokens.insert(0, Token("kaç", "kaç", "DET", QUESTION, "det", noun))
    elif phrase.determiner not in ("", "the", "a"):
        number = phrase.determiner in NUMERALS
        form = DETERMINER[phrase.determiner]
        kind, relation = ("NUM", "nummod") if number else ("DET", "det")
        tokens.insert(0, Token(form, form, kind, roles.determiner, relation, noun))
    return tokens


def _name(phrase: Phrase, role: str, deprel: str, head: Token | None, case: str) -> list[Token]:
    """A name; its last word takes the case behind an apostrophe."""
    roles = part(role)
    kind = "LOC" if role in ("place", "goal") else "PER"
    tokens = proper(NAME[phrase.head], roles.head, kind, deprel)
    tokens[0].head = head
    if phrase.surname:
        tokens = join(tokens, proper(NAME[phrase.surname], roles.surname, kind, "flat"))
    last = tokens[-1]
    last.form = declined_name(last.form, case)
    last.roles = (*last.roles, *roles.relation) if case else last.roles
    return tokens
