from __future__ import annotations

import pytest

from interlace.world import LANGUAGES, language
from interlace.world._similarity import _likeness, judged


def test_likeness_by_hand():
    """dog: pet, animal, home, dog itself and the kind animal; cat the same but for its name: 3 of 5 in common."""
    assert _likeness("dog", "cat") == pytest.approx(3 / 5)
    assert _likeness("dog", "cat") > _likeness("dog", "wolf") > _likeness("dog", "hammer")
    assert _likeness("hammer", "tool") > _likeness("hammer", "vehicle")


@pytest.mark.parametrize("code", LANGUAGES.names())
def test_every_language_is_judged_over_the_whole_scale(code):
    rows = judged(code)
    scores = [float(score) for _, _, score in rows]
    assert 100 < len(rows) < 400
    assert min(scores) == 0
    assert 6 < max(scores) <= 10
    words = set(language(code).words.values())
    assert {word for one, other, _ in rows for word in (one, other)} <= words
    assert all(one != other for one, other, _ in rows)
    assert judged(code) == rows
