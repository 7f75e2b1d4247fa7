"""English words. A concept that is missing from a table is its own lemma and regular."""

from __future__ import annotations

from interlace.toy._concepts import ADJECTIVES, CONCEPTS, GIVEN, NOUNS, SURNAMES, TIMES, TOWNS, VERBS
from interlace.toy._tokens import phrase_of_time

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
TIME = {concept: phrase_of_time(_time(concept)) for concept in TIMES}
NAME: dict[str, str] = {name: name.replace("_", " ").title() for name in (*GIVEN, *SURNAMES, *TOWNS)}
WORDS: dict[str, str] = (
    {concept: concept for concept in CONCEPTS}
    | ADJECTIVE
    | NAME
    | {time: " ".join(row[0] for row in rows) for time, rows in TIME.items()}
    | {"seek": "look for"}
)
