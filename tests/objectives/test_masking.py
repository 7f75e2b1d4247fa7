"""Which subwords are predicted and what stands in their place."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.data import Sentences
from interlace.data.layout import single
from interlace.errors import SettingsError
from interlace.objectives import Resources
from interlace.objectives._masking import Masking
from interlace.ragged import Ragged

SIZE = 50
VOCAB = SimpleNamespace(
    pad=0, begin=1, end=2, mask=3, unk=4, size=SIZE, specials=np.arange(5), ordinary=np.arange(5, SIZE)
)


def layout_of(rows):
    ids = Ragged.of(rows)
    words = Ragged(np.where(ids.values == VOCAB.end, -1, ids.columns()).astype(np.int32), ids.offsets)
    return single(Sentences(ids, words, "en"), VOCAB, 512)


def apply(masking, rows, seed=0, step=0, frequencies=None):
    tables = masking.tables(Resources(VOCAB, None, frequencies))
    layout = layout_of(rows)
    return layout, masking.apply(layout, tables, VOCAB, step, np.random.default_rng(seed))


many = st.lists(st.lists(st.integers(2, SIZE - 1).filter(lambda i: i != 3), min_size=1, max_size=12), min_size=1)


@given(many, st.integers(0, 1000), st.sampled_from(["none", "inverse_sqrt_frequency"]))
def test_only_the_texts_own_subwords_are_predicted_and_the_rest_stays(rows, seed, weighting):
    masking = Masking(rate=0.5, weighting=weighting)
    layout, masked = apply(masking, rows, seed, frequencies=np.arange(SIZE))
    assert not np.isin(masked.labels, VOCAB.specials).any()
    assert (layout.ids[masked.rows, masked.columns] == masked.labels).all()
    rest = np.ones(layout.ids.shape, bool)
    rest[masked.rows, masked.columns] = False
    assert (masked.ids[rest] == layout.ids[rest]).all()
    assert (np.diff(masked.rows * layout.ids.shape[1] + masked.columns) > 0).all()


def test_shares_of_mask_random_and_kept():
    rows = [[10 + (i % 30) for i in range(200)]] * 200
    _, masked = apply(Masking(), rows)
    shown = masked.ids[masked.rows, masked.columns]
    assert len(shown) / 40_000 == pytest.approx(0.15, abs=0.01)
    assert (shown == VOCAB.mask).mean() == pytest.approx(0.8, abs=0.02)
    kept_by_chance = 0.1 / len(VOCAB.ordinary)
    assert (shown == masked.labels).mean() == pytest.approx(0.1 + kept_by_chance, abs=0.02)
    assert shown[shown != VOCAB.mask].min() >= 5


def test_frequent_subwords_are_chosen_less():
    frequencies = np.ones(SIZE)
    frequencies[10] = 10_000  # a weight a hundred times smaller than that of 11
    rows = [[10, 11] * 100] * 20
    _, masked = apply(Masking(rate=0.1, weighting="inverse_sqrt_frequency"), rows, frequencies=frequencies)
    assert len(masked.labels) == 400  # ceil(0.1 x 4000), exactly
    share = (masked.labels == 10).mean()
    assert share == pytest.approx(0.01, abs=0.015)


def test_evaluation_always_shows_the_mask_and_predicts_in_every_row():
    rows = [[7], [8, 9], [10]] * 30
    _, masked = apply(Masking().for_evaluation(), rows)
    assert set(masked.rows.tolist()) == set(range(90))
    assert (masked.ids[masked.rows, masked.columns] == VOCAB.mask).all()


def test_the_rate_follows_its_schedule():
    rows = [[10] * 100] * 100
    masking = Masking(rate="0:0.4,100:0.1")
    counts = [len(apply(masking, rows, step=step)[1].labels) / 10_000 for step in (0, 50, 100, 1000)]
    assert counts == pytest.approx([0.4, 0.25, 0.1, 0.1], abs=0.02)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate": 1.5}, r"rate: every value must lie in \[0, 1\]"),
        ({"rate": "0:0.3,x:1"}, "whole steps"),
        ({"mask_share": 0.9, "random_share": 0.2}, "must not exceed 1, found 1.1"),
        ({"weigthing": "none"}, "did you mean 'weighting'"),
    ],
)
def test_settings_out_of_range_say_so(settings, message):
    with pytest.raises(SettingsError, match=message):
        Masking(**settings)
