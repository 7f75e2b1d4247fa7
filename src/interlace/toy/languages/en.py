"""English: subject, verb, object; articles, do-support, time at the end or in front."""

import re

from interlace.toy.concepts import CONCEPTS, TIMES, TOWNS
from interlace.toy.languages import ToyLanguage
from interlace.toy.scenes import Phrase
from interlace.toy.sentences import (
    LATIN_NAMES,
    Clause,
    Token,
    Tokens,
    citation_forms,
    determiner_of,
    word_map,
)

PLURALS = word_map("""
sheep sheep | mouse mice | wolf wolves | fish fish | knife knives | potato potatoes | tomato tomatoes | scarf scarves
man men | woman women | fisherman fishermen | policeman policemen | thief thieves | axe axes | radio radios
piano pianos | person people
""")
PASTS = word_map("""
sleep slept | sing sang | swim swam | go went | run ran | eat ate | drink drank | buy bought | sell sold | read read
write wrote | see saw | find found | lose lost | know knew | wear wore | drive drove | hear heard | build built
cut cut | feed fed | catch caught | steal stole | hide hid | forget forgot | give gave | send sent | bring brought
""")
LEMMAS = {"seek": "look", "clean_quality": "clean"}
PARTICLES = {"seek": "for"}
PREPOSITIONS = word_map("""
market at | station at | airport at | harbor at | beach on | farm on | island on | university at | bakery at
theater at
""")  # of places where it is not "in"


def _with_s(lemma: str) -> str:
    if re.search("(s|sh|ch|x|z|o)$", lemma):
        return lemma + "es"
    return re.sub("([^aeiou])y$", r"\1ie", lemma) + "s"


def _with_ed(lemma: str) -> str:
    return re.sub("([^aeiou])y$", r"\1i", lemma).removesuffix("e") + "ed"


TIME = word_map("""
yesterday yesterday/NOUN/wu | last_week last/ADJ/w week/NOUN/u | last_month last/ADJ/w month/NOUN/u
last_year last/ADJ/w year/NOUN/u | last_summer last/ADJ/w summer/NOUN/u
last_winter last/ADJ/w winter/NOUN/u | last_monday last/ADJ/w Monday/PROPN/u
last_friday last/ADJ/w Friday/PROPN/u | today today/NOUN/wu | now now/ADV/wu
every_day every/DET/w day/NOUN/u | every_morning every/DET/w morning/NOUN/u
tomorrow tomorrow/NOUN/wu | next_week next/ADJ/w week/NOUN/u | next_month next/ADJ/w month/NOUN/u
next_year next/ADJ/w year/NOUN/u | next_summer next/ADJ/w summer/NOUN/u
next_winter next/ADJ/w winter/NOUN/u | next_monday next/ADJ/w Monday/PROPN/u
next_friday next/ADJ/w Friday/PROPN/u
""")
WORDS = citation_forms(
    {concept: concept for concept in CONCEPTS if concept not in TIMES},
    LATIN_NAMES,
    {town: town.replace("_", " ").title() for town in TOWNS},
    LEMMAS | {"seek": "look for"},
    times=TIME,
)


_BE = {"past": ("was", "were"), "present": ("is", "are")}  # singular, plural
_DO = {"past": ("did", "did"), "present": ("does", "do")}


class _Clause(Clause):
    times = TIME
    when_word = "when"
    adpositions = {"recipient": "to", "goal": "to", "companion": "with"}
    relations = {"subject": "nsubj", "object": "obj"}

    def tokens(self) -> Tokens:
        scene = self.scene
        if scene.predicate == "be":
            helper, verb = self.state()
        else:
            helper, verb = self.event()
            verb += self.parts("object recipient goal manner companion place")
        subject = self.parts("subject")
        time = self.parts("time")
        if self.wh_role:
            return [*self.front, *helper, *subject, *verb, *time]
        if scene.negated:
            helper.append(Token("not", "PART", "negation", "advmod"))
        clause = [*subject, *helper, *verb]
        if scene.fronted:
            return time + clause
        return clause + time

    def state(self) -> tuple[Tokens, Tokens]:
        """Return the finite copula or "will", and the rest of the predicate of "be"."""
        predicate = self.predicate()
        if self.scene.tense == "future":
            return [_will()], [Token("be", "AUX", "copula", "cop"), *predicate]
        form = _BE[self.scene.tense][self.plural]
        return [Token(form, "AUX", "copula tense", "cop", lemma="be")], predicate

    def category(self) -> Tokens:
        tokens = super().category()
        return [_article(tokens[0], "", tokens[0]), *tokens]

    def event(self) -> tuple[Tokens, Tokens]:
        """Return the verb forms before and after "not" or an inverted subject."""
        scene = self.scene
        base = LEMMAS.get(scene.predicate, scene.predicate)
        root = self.root = Token(base, "VERB", "predicate")
        verb = [root]
        if scene.predicate in PARTICLES:
            verb.append(
                Token(PARTICLES[scene.predicate], "ADP", "predicate", "compound:prt", root)
            )
        if scene.tense == "future":
            return [_will()], verb
        if scene.negated or (self.wh_role and self.wh_role not in ("subject", "subject.count")):
            form = _DO[scene.tense][self.plural]
            return [Token(form, "AUX", "tense", "aux", lemma="do")], verb
        if scene.tense == "past":
            root.form = PASTS.get(scene.predicate) or _with_ed(base)
        elif not self.plural:
            root.form = _with_s(base)
        root.roles = "predicate tense"
        return [], verb

    def adposition(self, role: str, phrase: Phrase) -> str:
        if role == "place":
            return PREPOSITIONS.get(phrase.head, "in")
        return super().adposition(role, phrase)

    def question_words(self, phrase: Phrase, role: str, adposition: str) -> Tokens:  # noqa: ARG002
        if role in ("goal", "place"):
            return [Token("where", "ADV", "question", "advmod")]
        if role == "subject":
            return [Token("who", "PRON", "question")]
        if phrase.person:
            return [Token("whom", "PRON", "question", lemma="who")]
        return [Token("what", "PRON", "question")]

    def phrase(self, phrase: Phrase, role: str, adposition: str) -> Tokens:  # noqa: ARG002
        """Return determiner (or "how many"), quality, noun."""
        if phrase.named:
            return self.named(phrase, role)
        form = _plural(phrase.head) if phrase.plural else phrase.head
        noun = Token(form, "NOUN", ".head", lemma=phrase.head)
        tokens = [noun]
        if phrase.quality:
            tokens.insert(0, Token(WORDS[phrase.quality], "ADJ", ".quality", "amod", noun))
        if self.counts(role):
            many = Token("many", "DET", "question", "det", noun)
            return [Token("how", "ADV", "question", "advmod", many), many, *tokens]
        if phrase.determiner == "a":
            tokens.insert(0, _article(tokens[0], ".determiner", noun))
        elif phrase.determiner:
            lemma = phrase.determiner.replace("these", "this")
            tokens.insert(0, determiner_of(noun, phrase.determiner, phrase.determiner, lemma))
        return tokens


def _will() -> Token:
    return Token("will", "AUX", "tense", "aux")


def _plural(noun: str) -> str:
    return PLURALS.get(noun) or _with_s(noun)


def _article(following: Token, roles: str, noun: Token) -> Token:
    """Return "a" or "an", by the next word."""
    vowel = following.form[0] in "aeiou" and not following.form.startswith("uni")
    return Token("an" if vowel else "a", "DET", roles, "det", noun, "a")


class English(ToyLanguage):
    """Statement: [time] subject (will | do) not verb object to-recipient to-goal manner with-companion place [time]."""

    name = "English"
    words = WORDS
    clause = _Clause
