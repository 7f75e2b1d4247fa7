"""Denoising: noise of words and tokens, and word-by-word translation."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Sentences
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.denoise import Denoise, Noise
from little_words import SPECIALS, LittleWords

MASK = 9999

# Rows of words of so many subwords.
shapes = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=12), min_size=1, max_size=6)


def sentences(shape):
    """Rows of words; every subword of a batch has its own id, so that it is known wherever it goes."""
    words = [[number for number, length in enumerate(row) for _ in range(length)] for row in shape]
    words = Ragged.of(words)
    return Sentences(Ragged(np.arange(len(words.flat), dtype=np.int32), words.offsets), words, "en")


def noised(noise, text, seed=0, step=1):
    return noise.apply(text, SimpleNamespace(mask=MASK), step, generator(Purpose.BATCH, seed, step))


def units_of(text, row):
    """The words of a row as tuples of ids, in order."""
    ids, words = text.ids[row], text.words[row]
    cuts = np.flatnonzero(np.diff(words)) + 1
    return [tuple(part.tolist()) for part in np.split(ids, cuts)] if len(ids) else []


@given(shapes, st.floats(0, 6), st.integers(0, 1000))
def test_shuffled_words_stay_whole_and_move_by_less_than_the_distance(shape, distance, seed):
    text = sentences(shape)
    found = noised(Noise(shuffle=distance, drop=0, blank=0), text, seed)
    for row in range(len(shape)):
        before, after = units_of(text, row), units_of(found, row)
        assert sorted(before) == sorted(after)
        moved = [abs(before.index(unit) - place) for place, unit in enumerate(after)]
        assert max(moved) < max(distance, 1)


@given(shapes, st.floats(0, 1), st.integers(0, 1000))
def test_dropping_keeps_the_order_and_at_least_one_word(shape, share, seed):
    text = sentences(shape)
    found = noised(Noise(shuffle=0, drop=share, blank=0), text, seed)
    for row in range(len(shape)):
        left, before = units_of(found, row), units_of(text, row)
        assert left
        assert left == [unit for unit in before if unit in left]
        assert share < 1 or len(left) == 1


@given(shapes, st.floats(0, 1), st.integers(0, 1000))
def test_masks_whole_words(shape, share, seed):
    text = sentences(shape)
    found = noised(Noise(shuffle=0, drop=0, blank=share), text, seed)
    assert found.words == text.words
    hidden = found.ids.flat == MASK
    assert (found.ids.flat[~hidden] == text.ids.flat[~hidden]).all()
    for row in range(len(shape)):
        mine = Ragged(hidden, text.ids.offsets)[row]
        assert all(len(set(mine[text.words[row] == word])) == 1 for word in set(text.words[row]))
    assert share < 1 or hidden.all()


def test_shares_of_dropped_and_masked_words():
    text = sentences([[1] * 20] * 2000)
    left = len(noised(Noise(shuffle=0, drop=0.1, blank=0), text).ids.flat) / 40_000
    assert left == pytest.approx(0.9, abs=0.01)
    hidden = noised(Noise(shuffle=0, drop=0, blank=0.1), text).ids.flat == MASK
    assert hidden.mean() == pytest.approx(0.1, abs=0.01)
    only = noised(Noise(shuffle=0, drop=1, blank=0), text).ids.flat % 20
    assert np.bincount(only, minlength=20).min() > 60  # of 100 each


def test_unit_subword():
    text = sentences([[3, 3, 3]] * 300)
    found = noised(Noise(unit="subword", drop=0, blank=0), text)
    together = (
        np.abs(np.diff(found.ids.flat.reshape(300, 9).argsort(axis=1).reshape(300, 3, 3), axis=2))
        == 1
    )
    assert not together.all()  # words are torn apart
    assert found.words[0].tolist() == list(range(9))
    dropped = noised(Noise(unit="subword", shuffle=0, blank=0), text)
    assert set(np.unique(dropped.lengths)) > {9, 8, 7}
    by_word = noised(Noise(shuffle=0, blank=0), text)
    assert set(np.unique(by_word.lengths)) == {3, 6, 9}


def test_rates_follow_schedules():
    text = sentences([[1] * 10] * 10)
    noise = Noise(shuffle=0, drop="0:0,10:1", blank=0)
    assert noised(noise, text, step=0).ids == text.ids
    assert noised(noise, text, step=10).lengths.tolist() == [1] * 10
    text = Sentences(Ragged.of([[], [4, 5], []]), Ragged.of([[], [0, 1], []]), "en")
    assert noised(Noise(), text).lengths.tolist()[::2] == [0, 0]
    nothing = Sentences(Ragged.of([]), Ragged.of([]), "en")
    assert len(noised(Noise(), nothing)) == 0


TOKENS = LittleWords(
    "the old doctor ##s house alt Arzt Doktor Haus ##arzt",
    (*SPECIALS, "<2en>", "<2de>"),
    {"doctors": "doctor ##s", "Hausarzt": "Haus ##arzt", "xyz": "<2en>"},
)
ENTRIES = [
    ("old", "alt"),
    ("doctor", "Hausarzt"),
    ("doctors", "Doktor"),
    ("doctors", "Arzt"),
    ("the", "xyz"),
]


def batch_of(lines, language="en", key=0, step=1, **settings):
    plain = {
        "max_length": 32,
        "noise": {"shuffle": 0, "drop": 0, "blank": 0},
        "translation_rate": 1,
    }
    objective = Denoise(**plain | settings)
    lexicons = {("en", "de"): Lexicon.of((source, target, 1.0) for source, target in ENTRIES)}
    prepared = objective.prepare(Resources(TOKENS.vocab, Traits("bert", 64), lexicons=lexicons))
    return objective.batch(
        TOKENS.sentences(lines, language), prepared, step, np.random.default_rng(key)
    )


def read(batch):
    return TOKENS.texts(batch.inputs["input_ids"])


def test_reads_translated_words_and_writes_the_original_sentence():
    batch = batch_of(["the old doctor", "old house"])
    assert read(batch) == ["<s> the alt Haus ##arzt </s>", "<s> alt house </s>"]
    assert TOKENS.texts(batch.extra["decoder_ids"]) == ["<2en> the old doctor", "<2en> old house"]
    assert read(batch_of(["alt Haus ##arzt Haus"], "de")) == ["<s> old doctor Haus </s>"]


def test_translates_whole_words_within_the_maximum_length_all_translations_equally_often():
    assert read(batch_of(["house ##s doctor"])) == ["<s> house ##s Haus ##arzt </s>"]
    assert read(batch_of(["alt ##arzt"], "de")) == ["<s> alt ##arzt </s>"]
    assert read(batch_of([""])) == ["<s> </s>"]
    batch = batch_of(["doctor doctor old doctor", "doctor"], max_length=8)
    assert read(batch) == ["<s> Haus ##arzt Haus ##arzt alt doctor </s>", "<s> Haus ##arzt </s>"]
    tight = batch_of(
        ["the doctor doctor ##s old the the"], max_length=9
    )  # `doctor ##s` becomes one token
    assert read(tight) in [[f"<s> the doctor {one} alt the the </s>"] for one in ("Doktor", "Arzt")]
    found = [read(batch_of(["doctor ##s"], key=key))[0] for key in range(300)]
    counts = {row: found.count(row) for row in set(found)}
    assert set(counts) == {"<s> Doktor </s>", "<s> Arzt </s>"}
    assert all(count > 110 for count in counts.values())


def test_translation_rate_follows_its_schedule():
    lines = ["old"] * 2000
    assert 0.27 < read(batch_of(lines, translation_rate=0.3)).count("<s> alt </s>") / 2000 < 0.33
    assert (
        0.47
        < read(batch_of(lines, translation_rate="0:1,100:0", step=50)).count("<s> alt </s>") / 2000
        < 0.53
    )
    assert read(batch_of(lines, translation_rate="0:1,100:0", step=100)) == ["<s> old </s>"] * 2000


def test_needs_a_dictionary_for_translation_and_only_then():
    assert Denoise(translation_rate=0.5).needs == {"lexicon"}
    assert Denoise(translation_rate="0:0,10:1").needs == {"lexicon"}
    assert Denoise(translation_rate=0.5).for_evaluation().needs == Denoise().needs == frozenset()
    evaluated = Denoise(translation_rate=1, dictionary={"vectors": "runs/words"}).for_evaluation()
    assert evaluated.needs == frozenset()
    with pytest.raises(DataError, match=r"denoise: .* set denoise\.dictionary"):
        Denoise(translation_rate=1).prepare(Resources(TOKENS.vocab, Traits("bert", 64)))
    with pytest.raises(SettingsError, match=r"translation_rate is 0; set translation_rate too"):
        Denoise(dictionary={"vectors": "runs/words"})
