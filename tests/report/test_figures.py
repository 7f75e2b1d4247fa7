"""Labels that do not collide, scales, ticks, samples and the recipe's keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.report import _format, _map, _svg
from interlace.report._lines import smoothed
from interlace.report._parts import Embedding, Sample, SampleRow
from interlace.report._run import read_runs
from interlace.report.recipe import _flat, _merged
from interlace.report.samples import _sample, _sides

if TYPE_CHECKING:
    from pathlib import Path


def test_no_label_covers_a_point_or_another_label(two_runs: list[Path]) -> None:
    for run in read_runs(two_runs):
        assert run.embedding is not None
        styles = {language: index for index, language in enumerate(("en", "de", "es", "tr", "hi", "zh"))}
        points = _map._placed(run.embedding, 400.0)
        labels = _map._labels(run.embedding, points, styles, 400.0, 320.0)
        assert len(labels) > 20
        boxes = [
            _map._box(points[index], place, _svg.text_width(run.embedding.words[index].word, _map._TYPE))
            for index, place in labels
        ]
        for number, (left, top, right, bottom) in enumerate(boxes):
            assert 0 <= left < right <= 400
            assert not any(left < x < right and top < y < bottom for x, y in points)
            for other in boxes[:number]:
                assert left >= other[2] or right <= other[0] or top >= other[3] or bottom <= other[1]


def test_a_map_of_one_word_or_of_equal_words_can_be_drawn() -> None:
    same = [{"word": word, "language": "en", "x": 1.0, "y": 2.0} for word in ("a", "b")]
    for words in (same[:1], same):
        picture = _map.draw(Embedding.model_validate({"words": words}), {"en": 0}, 300.0)
        assert "nan" not in picture


@given(st.lists(st.floats(0, 100), min_size=1, max_size=6))
def test_labels_at_line_ends_stay_apart(wanted: list[float]) -> None:
    placed = _svg.apart(wanted, 12, 0, 200)
    assert all(later - earlier >= 12 - 1e-9 for earlier, later in zip(sorted(placed), sorted(placed)[1:], strict=False))
    assert np.argsort(wanted, kind="stable").tolist() == np.argsort(placed, kind="stable").tolist()


@given(low=st.floats(-1e6, 1e6), span=st.floats(1e-3, 1e6))
def test_ticks_are_few_round_and_inside(low: float, span: float) -> None:
    found = _svg.ticks(low, low + span)
    assert 1 <= len(found) <= 6
    assert all(low - 1e-6 * span <= value <= low + span + 1e-6 * span for value in found)


def test_ticks_by_hand() -> None:
    assert _svg.ticks(0, 100, 5) == [0, 20, 40, 60, 80, 100]
    assert _svg.log_ticks(4, 120) == [5, 10, 20, 50, 100]
    assert _svg.scale(1, 100, 0, 10, log=True)(10) == pytest.approx(5)


def test_smoothing_keeps_the_mean() -> None:
    points = [(float(step), float(step % 7)) for step in range(700)]
    means, size = smoothed(points, 100)
    assert (len(means), size) == (100, 7)
    assert all(value == pytest.approx(3) for _, value in means)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.02134, "0.0213"), (5.314, "5.31"), (40.12, "40.1"), (1204.4, "1\u202f204"), (1.5e-7, "1.50e\u22127")],
)
def test_significant_digits(value: float, text: str) -> None:
    assert _format.significant(value) == text


def test_numbers_times_and_names() -> None:
    assert _format.signed(-0.34) == "\u22120.3"
    assert _format.signed(-0.04) == "0.0"
    assert _format.spread(81.04, 81.01) == "81.0"
    assert [_format.duration(seconds) for seconds in (3.21, 48, 134, 11100)] == [
        "3.2 s",
        "48 s",
        "2 min 14 s",
        "3 h 5 min",
    ]
    assert _format.count(4_915_200) == "4.92 million"
    assert _format.language_name("en-de") == "English \u2013 German"
    assert _format.language_name("zh-TW") == "Chinese (TW)"
    assert _format.language_name("xx") == "xx"
    assert _format.short_labels(["multi30k-mlm", "multi30k-tlm"]) == ["mlm", "tlm"]
    assert _format.short_labels(["mlm"]) == ["mlm"]


def test_text_is_escaped_in_figures() -> None:
    assert "<b>" not in _svg.text(0, 0, "<b>&") + _svg.element("p", title='"<b>')


def words(tokens: str, sides: list[int], codes: list[str]) -> list[tuple[str, list[str]]]:
    """(language, subwords) of each side."""
    parts: list[dict[str, Any]] = _sides(row(tokens, sides), codes)
    return [(part["language"], [token["text"] for token in part["tokens"]]) for part in parts]


def row(tokens: str, sides: list[int] | None = None) -> SampleRow:
    return SampleRow(tokens=tokens.split(), sides=sides or [])


@pytest.mark.parametrize(
    ("corpus", "languages"),
    [("en-de", ["en", "de"]), ("web:en-de", ["en", "de"]), ("en-de:de", ["de"]), ("web:en-de:de", ["de"])],
)
def test_the_language_stands_behind_the_last_colon(corpus: str, languages: list[str]) -> None:
    sides = [0, 1] if len(languages) == 2 else [0, 0]
    found: dict[str, Any] = _sample(Sample(objective="tlm", corpus=corpus, rows=[row("a b", sides)]))
    assert [part["language"] for part in found["rows"][0]] == languages


def test_sides_as_recorded_and_where_they_are_not() -> None:
    told = words("<s> a b c", [0, 0, 1, 1], ["en", "de"])
    cut = words("<s> a </s> </s> b c </s>", [], ["en", "de"])
    assert told == [("en", ["<s>", "a"]), ("de", ["b", "c"])]
    assert cut == [("en", ["<s>", "a", "</s>", "</s>"]), ("de", ["b", "c", "</s>"])]
    assert words("<s> a </s> b </s>", [], ["en"]) == [("en", ["<s>", "a", "</s>", "b", "</s>"])]


@pytest.mark.parametrize(
    ("tokens", "joined"),
    [
        ("[CLS] play ##ing [MASK] ball", [False, False, True, False, False]),
        ("<s> play ing \u2581ball <mask> s", [False, False, True, False, False, True]),
        ("a b c", [False, False, False]),
    ],
)
def test_subwords_of_a_word_stand_together(tokens: str, joined: list[bool]) -> None:
    side: dict[str, Any] = _sides(row(tokens), ["en"])[0]
    assert [token["joined"] for token in side["tokens"]] == joined


def test_recipes_are_flattened_and_merged_in_order() -> None:
    first = {"a": {"x": 1, "y": [1, 2]}, "list": [{"name": "m", "w": 0.5}, {"w": 2}], "empty": {}, "off": None}
    assert dict(_flat(first)) == {
        "a.x": "1",
        "a.y": "1, 2",
        "list.m.w": "0.5",
        "list.2.w": "2",
        "empty": "none",
        "off": "none",
    }
    assert _merged([["a", "c"], ["a", "b", "c", "d"]]) == ["a", "b", "c", "d"]


def test_the_recipe_stands_in_the_page_to_copy(two_runs: list[Path]) -> None:
    from interlace.report.recipe import recipe

    runs = read_runs(two_runs)
    section = recipe(runs)
    assert section.lead.startswith("Four settings differ")
    assert json.dumps(runs[0].recipe["vocab"]["kind"]).replace('"', "&#34;") in section.body
