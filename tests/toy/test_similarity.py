from __future__ import annotations

import pytest

from interlace.toy import LANGUAGES, language
from interlace.toy.lexicon import jaccard, similarity


def test_likeness_by_hand():
    """dog: pet, animal, home, dog itself and the kind animal; cat the same but for its name: 3 of 5 in common."""
    assert jaccard("dog", "cat") == pytest.approx(3 / 5)
    assert jaccard("dog", "cat") > jaccard("dog", "wolf") > jaccard("dog", "hammer")
    assert jaccard("hammer", "tool") > jaccard("hammer", "vehicle")


@pytest.mark.parametrize("code", LANGUAGES.names())
def test_every_language_is_judged_over_the_whole_scale(code):
    rows = similarity(code, code)
    scores = [float(score) for _, _, score in rows]
    assert 100 < len(rows) < 400
    assert min(scores) == 0
    assert 6 < max(scores) <= 10
    words = set(language(code).words.values())
    assert {word for one, other, _ in rows for word in (one, other)} <= words
    assert all(one != other for one, other, _ in rows)
    assert similarity(code, code) == rows


@pytest.mark.parametrize("code", [code for code in LANGUAGES.names() if code != "en"])
def test_pairs_across_two_languages_have_a_word_of_each_and_the_scores_of_either(code):
    """The first concept in English and the second in the other language, similarity as within one language."""
    english, other, rows = (similarity(*pair) for pair in (("en", "en"), (code, code), ("en", code)))
    assert 100 < len(rows) < 400
    first, second = ({row[side]: row[2] for row in rows} for side in (0, 1))
    assert set(first) <= {row[0] for row in english}
    assert set(second) <= {row[1] for row in other} | set(language(code).words.values())
    words, others = language("en").words, language(code).words
    scores = {(one, another): score for one, another, score in rows}
    assert scores[words["dog"], others["cat"]] == f"{10 * jaccard('dog', 'cat'):.2f}"
