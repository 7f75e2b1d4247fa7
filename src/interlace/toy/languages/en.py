"""English: subject, verb, object; articles, do-support, time at the end or in front."""

from interlace.toy.concepts import CONCEPTS, NUMERALS, TIMES, TOWNS
from interlace.toy.languages import ToyLanguage
from interlace.toy.scenes import Phrase
from interlace.toy.sentences import LATIN_NAMES, Clause, Token, citation_forms

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


def _time(concept: str) -> str:
    which, _, unit = concept.partition("_")
    if not unit:
        return f"{concept}/{'NOUN' if concept in ('yesterday', 'today', 'tomorrow') else 'ADV'}/wu"
    if unit in ("monday", "friday"):
        return f"{which}/ADJ/w {unit.title()}/PROPN/u"
    return f"{which}/{'DET' if which == 'every' else 'ADJ'}/w {unit}/NOUN/u"


def _with_y(lemma: str) -> bool:
    return lemma.endswith("y") and lemma[-2] not in "aeiou"


def _with_s(lemma: str) -> str:
    if lemma.endswith(("s", "sh", "ch", "x", "z", "o")):
        return lemma + "es"
    if _with_y(lemma):
        return lemma[:-1] + "ies"
    return lemma + "s"


TIME = {concept: _time(concept) for concept in TIMES}
WORDS = citation_forms(
    {concept: concept for concept in CONCEPTS if concept not in TIMES},
    LATIN_NAMES,
    {town: town.replace("_", " ").title() for town in TOWNS},
    {"seek": "look for", "clean_quality": "clean"},
    times=TIME,
)


_BE = {
    ("past", False): "was",
    ("past", True): "were",
    ("present", False): "is",
    ("present", True): "are",
}
_DO = {
    ("past", False): "did",
    ("past", True): "did",
    ("present", False): "does",
    ("present", True): "do",
}


class _Clause(Clause):
    times = TIME
    when_word = "when"

    def tokens(self) -> list[Token]:
        scene = self.scene
        if scene.predicate == "be":
            helper, verb = self.state()
        else:
            helper, verb = self.event()
        subject = self.participant("subject", "nsubj")
        time = self.time()
        if scene.predicate != "be":
            verb += [
                *self.participant("object", "obj"),
                *self.participant("recipient", "obl", "to"),
            ]
            verb += [*self.participant("goal", "obl", "to"), *self.manner()]
            verb += [
                *self.participant("companion", "obl", "with"),
                *self.participant("place", "obl", _at(scene.place)),
            ]
        if self.wh_role:
            return [*self.front, *helper, *subject, *verb, *time]
        if scene.negated:
            negation = [Token("not", "PART", "negation", "advmod", self.root)]
        else:
            negation = []
        clause = [*subject, *helper, *negation, *verb]
        if scene.fronted:
            return [*time, *clause]
        return [*clause, *time]

    def state(self) -> tuple[list[Token], list[Token]]:
        """Return the finite copula or "will", and the rest of the predicate of "be"."""
        scene = self.scene
        if scene.quality:
            predicate = [Token(WORDS[scene.quality], "ADJ", "quality", "root")]
        elif scene.category:
            noun = Token(scene.category, "NOUN", "category", "root")
            predicate = [_article(noun, "", noun), noun]
        elif scene.place and self.wh_role != "place":
            predicate = self.phrase(scene.place, "place", "root", _at(scene.place), None)
        else:  # "Where is the key?"
            predicate = [Token("where", "ADV", "question", "root")]
        predicate = self.rooted(predicate)
        if scene.tense == "future":
            return [self.will()], [Token("be", "AUX", "copula", "cop", self.root), *predicate]
        return [
            Token(_BE[scene.tense, self.plural], "AUX", "copula tense", "cop", self.root, "be")
        ], predicate

    def event(self) -> tuple[list[Token], list[Token]]:
        """Return the verb forms before and after "not" or an inverted subject."""
        scene = self.scene
        base = LEMMAS.get(scene.predicate, scene.predicate)
        root = self.root = Token(base, "VERB", "predicate", "root")
        particle = PARTICLES.get(scene.predicate)
        if particle:
            verb = [root, Token(particle, "ADP", "predicate", "compound:prt", root)]
        else:
            verb = [root]
        if scene.tense == "future":
            return [self.will()], verb
        if scene.negated or (self.wh_role and self.wh_role not in ("subject", "subject.count")):
            return [Token(_DO[scene.tense, self.plural], "AUX", "tense", "aux", root, "do")], verb
        if scene.tense == "past":
            if _with_y(base):
                regular = base[:-1] + "ied"
            else:
                regular = base + ("d" if base.endswith("e") else "ed")
            root.form = PASTS.get(scene.predicate) or regular
        else:
            root.form = base if self.plural else _with_s(base)
        root.roles = "predicate tense"
        return [], verb

    def will(self) -> Token:
        return Token("will", "AUX", "tense", "aux", self.root)

    def question_words(
        self, phrase: Phrase, role: str, deprel: str, case: str, head: Token
    ) -> list[Token]:
        if role in ("goal", "place"):
            return [Token("where", "ADV", "question", "advmod", head)]
        if role == "subject":
            return [Token("who", "PRON", "question", deprel, head)]
        form = "whom" if phrase.person else "what"
        whom = Token(form, "PRON", "question", deprel, head, "who" if phrase.person else form)
        if case:
            return [Token(case, "ADP", "question", "case", whom), whom]
        return [whom]

    def phrase(
        self, phrase: Phrase, role: str, deprel: str, case: str, head: Token | None
    ) -> list[Token]:
        """Return preposition, determiner (or "how many"), quality, noun."""
        if phrase.named:
            tokens = self.named(phrase, role, deprel, head)
            noun = tokens[0]
        else:
            form = _plural(phrase.head) if phrase.plural else phrase.head
            noun = Token(form, "NOUN", f"{role}.head", deprel, head, phrase.head)
            tokens = [noun]
        if phrase.quality:
            tokens.insert(0, Token(WORDS[phrase.quality], "ADJ", f"{role}.quality", "amod", noun))
        if self.wh_role == f"{role}.count":
            many = Token("many", "DET", "question", "det", noun)
            tokens = [Token("how", "ADV", "question", "advmod", many), many, *tokens]
        elif phrase.determiner == "a":
            tokens.insert(0, _article(tokens[0], f"{role}.determiner", noun))
        elif phrase.determiner:
            tokens.insert(0, _determiner(phrase.determiner, f"{role}.determiner", noun))
        if case:
            return [Token(case, "ADP", f"{role}.relation", "case", noun), *tokens]
        return tokens


def _plural(noun: str) -> str:
    return PLURALS.get(noun) or _with_s(noun)


def _determiner(determiner: str, roles: str, noun: Token) -> Token:
    if determiner in NUMERALS:
        return Token(determiner, "NUM", roles, "nummod", noun)
    return Token(
        determiner, "DET", roles, "det", noun, "this" if determiner == "these" else determiner
    )


def _at(place: Phrase | None) -> str:
    if place:
        return PREPOSITIONS.get(place.head, "in")
    return ""


def _article(following: Token, roles: str, noun: Token) -> Token:
    """Return "a" or "an", by the next word."""
    vowel = following.form[0] in "aeiou" and not following.form.startswith("uni")
    return Token("an" if vowel else "a", "DET", roles, "det", noun, "a")


class English(ToyLanguage):
    """Statement: [time] subject (will | do) not verb object to-recipient to-goal manner with-companion place [time]."""

    name = "English"
    words = WORDS
    clause = _Clause
