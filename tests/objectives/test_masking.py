"""Which tokens are predicted, how they are drawn by weight, and what the model sees instead."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.layout import pair_layout, sentence_layout
from interlace.models.families import Traits
from interlace.objectives import Prepared, Resources
from interlace.objectives.common.masking import Masking
from little_rows import framed

SIZE = 50
VOCAB = SimpleNamespace(
    pad=0,
    begin=1,
    end=2,
    frame=framed(1, 2),
    has_mask=True,
    mask=3,
    unk=4,
    size=SIZE,
    special_ids=np.arange(5),
    regular_ids=np.arange(5, SIZE),
)


def layout_of(rows):
    ids = Ragged.of(rows)
    words = Ragged(
        np.where(ids.values == VOCAB.end, -1, ids.columns()).astype(np.int32), ids.offsets
    )
    return sentence_layout(Sentences(ids, words, "en"), VOCAB, 512)


def mask(masking, layout, seed=0, step=0, frequencies=None):
    traits = Traits("bert", 64)
    prepared = masking.prepare(Prepared(VOCAB, traits), Resources(VOCAB, traits, frequencies))
    languages = ("en", "xx")[: int(layout.sides.max()) + 1]
    batch = masking.batch(
        layout, languages, prepared, term="mlm", step=step, rng=np.random.default_rng(seed)
    )
    rows, columns = batch.at
    return SimpleNamespace(
        ids=batch.inputs["input_ids"], rows=rows, columns=columns, labels=batch.labels
    )


def apply(masking, rows, **options):
    layout = layout_of(rows)
    return layout, mask(masking, layout, **options)


many = st.lists(
    st.lists(st.integers(2, SIZE - 1).filter(lambda i: i != 3), min_size=1, max_size=12),
    min_size=1,
)


ways = st.fixed_dictionaries(
    {
        "weighting": st.sampled_from(["none", "inverse_sqrt_frequency"]),
        "unit": st.sampled_from(["subword", "word"]),
    }
)


@given(many, st.integers(0, 1000), ways)
def test_predicts_content_tokens_and_keeps_the_rest(rows, seed, settings):
    masking = Masking(rate=0.5, **settings)
    layout, masked = apply(masking, rows, seed=seed, frequencies=np.arange(SIZE))
    assert not np.isin(masked.labels, VOCAB.special_ids).any()
    assert (layout.ids[masked.rows, masked.columns] == masked.labels).all()
    rest = np.ones(layout.ids.shape, bool)
    rest[masked.rows, masked.columns] = False
    assert (masked.ids[rest] == layout.ids[rest]).all()
    assert (np.diff(masked.rows * layout.ids.shape[1] + masked.columns) > 0).all()


def test_shares_of_mask_random_and_kept():
    rows = [[10 + (i % 30) for i in range(200)]] * 200
    _, masked = apply(Masking(), rows)
    shown = masked.ids[masked.rows, masked.columns]
    assert (shown == VOCAB.mask).mean() == pytest.approx(0.8, abs=0.02)
    kept_by_chance = 0.1 / len(VOCAB.regular_ids)
    assert (shown == masked.labels).mean() == pytest.approx(0.1 + kept_by_chance, abs=0.02)
    assert shown[shown != VOCAB.mask].min() >= 5


def test_weighting_prefers_rare_tokens():
    frequencies = np.zeros(SIZE)
    frequencies[[10, 11]] = 2500, 2500 / 4  # the weight of 11 is twice that of 10
    rows = [[10] * 16 + [11] * 4] * 500
    settings = {"rate": 0.15, "weighting": "inverse_sqrt_frequency"}
    _, masked = apply(Masking(**settings), rows, frequencies=frequencies)
    chosen = np.array([(masked.labels == kind).sum() for kind in (10, 11)])
    assert chosen.sum() / 10_000 == pytest.approx(0.15, abs=0.01)
    odds = (chosen[1] / 2000) / (chosen[0] / 8000)
    assert odds == pytest.approx(2, abs=0.25)


@pytest.mark.parametrize("weighting", ["none", "inverse_sqrt_frequency"])
def test_masks_whole_words(weighting):
    # word 2 at the end of a row and of the next
    words = Ragged.of([[0, 0, 0, 1, 2, 2], [2, 2, 3, 3, 3, 3]] * 300)
    layout = sentence_layout(
        Sentences(Ragged(words.columns() + 10, words.offsets), words, "en"), VOCAB, 512
    )
    masking = Masking(rate=0.3, unit="word", weighting=weighting)
    masked = mask(masking, layout, frequencies=np.arange(SIZE))
    hit = np.zeros(layout.ids.shape, bool)
    hit[masked.rows, masked.columns] = True
    inside = hit[:, 1:-1]
    first = [0, 0, 0, 3, 4, 4, 6, 6, 8, 8, 8, 8]  # the first token of the word of each
    rows = inside.reshape(300, 12)
    assert (rows == rows[:, first]).all()
    assert (rows[:, 5] != rows[:, 6]).any()
    if weighting == "none":
        assert inside.mean() == pytest.approx(0.3, abs=0.03)


def test_words_of_two_sides_differ():
    side = Sentences(Ragged.of([[10]] * 400), Ragged.of([[0]] * 400), "en")
    vocab = SimpleNamespace(**{**vars(VOCAB), "separator_ids": ()})
    layout = pair_layout(Pairs(side, side), vocab, 512)
    masked = mask(Masking(rate=0.5, unit="word"), layout)
    by_row = np.bincount(masked.rows, minlength=400)
    assert np.bincount(by_row) / 400 == pytest.approx([0.25, 0.5, 0.25], abs=0.07)


def test_evaluation_masks_at_least_one_token_of_every_row():
    rows = [[7], [8, 9], [10]] * 30
    _, masked = apply(Masking().for_evaluation(), rows)
    assert set(masked.rows.tolist()) == set(range(90))
    assert (masked.ids[masked.rows, masked.columns] == VOCAB.mask).all()
    rows = [[10] * 100] * 100
    masking = Masking(rate="0:0.4,100:0.1")
    counts = [
        len(apply(masking, rows, step=step)[1].labels) / 10_000 for step in (0, 50, 100, 1000)
    ]
    assert counts == pytest.approx([0.4, 0.25, 0.1, 0.1], abs=0.02)
