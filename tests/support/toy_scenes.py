"""Scenes of the toy corpus written as text, such as `find anna.weber past object=a.small.key place=berlin negated`."""

from typing import Any

from interlace.toy.concepts import DETERMINERS, GIVEN
from interlace.toy.scenes import PARTICIPANTS, Phrase, Scene

TENSES = ("past", "present", "future")


def parse(text: str) -> Scene:
    """Read a scene: predicate, subject, then tense (default: present) and other fields; phrases end with their noun."""
    predicate, subject, *rest = text.split()
    fields: dict[str, Any] = {}
    for field in rest:
        name, _, value = field.partition("=")
        if name in TENSES:
            fields["tense"] = name
        else:
            fields[name] = phrase(value) if name in PARTICIPANTS else value or True
    return Scene(predicate, phrase(subject), **fields)


def phrase(text: str) -> Phrase:
    *before, head = text.split(".")
    if before and before[0] in GIVEN:
        return Phrase(before[0], surname=head)
    return Phrase(
        head, **{"determiner" if word in DETERMINERS else "quality": word for word in before}
    )
