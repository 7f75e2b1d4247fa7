"""Pairs of which both sides are changed: labels stay, links and answers follow their words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.derived import DerivedPairs, Transformation, composed
from interlace.derived._answers import NOWHERE, moved_span
from interlace.derived._links import turned
from interlace.text import Text, TextPairs

if TYPE_CHECKING:
    from interlace.derived import Derived

_ALONE = "answers that do not stand in their passage, changed as text of their own"


def changed_pairs(change: Transformation, pairs: TextPairs, seed: int) -> DerivedPairs:
    """What `Transformation.apply_pairs` promises."""
    source, target = (change.apply(side, seed) for side in (pairs.source, pairs.target))
    links = pairs.links
    if links is not None:
        links = composed(composed(turned(source.links), links), target.links)
    answers, alone = _answers(change, pairs, source, seed)
    notes = pairs.notes | ({_ALONE: alone} if alone else {})
    derived = replace(pairs, source=source.text, target=target.text, links=links, answers=answers, notes=notes)
    return DerivedPairs(derived, source.links, target.links)


def _answers(
    change: Transformation, pairs: TextPairs, source: Derived, seed: int
) -> tuple[list[list[str]] | None, int]:
    """All answers as the derived passages spell them, and how many of them stood nowhere in theirs."""
    if pairs.answers is None:
        return None, 0
    alone: list[str] = []
    answers = []
    for row, texts in enumerate(pairs.answers):
        place = pairs.source.answers[row] if pairs.source.answers is not None else NOWHERE
        new = [_in_passage(pairs.source, source, row, answer, place) for answer in texts]
        alone += [answer for answer, found in zip(texts, new, strict=True) if found is None]
        answers.append(new)
    changed = iter(change.apply(Text.of(alone, pairs.source.language, _word_tokenizer(pairs.source)), seed).text.lines)
    return [[next(changed) if one is None else one for one in row] for row in answers], len(alone)


def _in_passage(original: Text, derived: Derived, row: int, answer: str, place: tuple[int, int]) -> str | None:
    """The answer as it stands in the derived passage; None where it stands nowhere, or its words stand apart."""
    line = original.lines[row]
    if place == NOWHERE or line[slice(*place)] != answer:
        start = line.find(answer)
        place = (start, start + len(answer)) if start >= 0 else NOWHERE
    links = derived.links[row]
    to = np.full(len(original.words[row]), -1, np.int64)
    to[links[:, 0]] = links[:, 1]
    start, end = moved_span(place, original.words[row], derived.text.words[row], to)
    return derived.text.lines[row][start:end] if (start, end) != NOWHERE else None


def _word_tokenizer(text: Text) -> str:
    """What finds the words of texts like this one; those of readers that know their words are found by Unicode."""
    from interlace.text.words import WORD_TOKENIZERS

    return text.word_tokenizer if text.word_tokenizer in WORD_TOKENIZERS.names() else "unicode"
