"""Which source a step takes."""

from collections import Counter

import numpy as np
import pytest

from interlace.core.errors import SettingsError
from interlace.training.mixture import Mixture, MixtureSource


def source(objective, corpus="en", size=1.0, weight="1", batches=10):
    return MixtureSource(objective, corpus, None, None, range(batches), size, weight)


def test_shares_follow_the_weights():
    mixture = Mixture(
        [source("mlm", size=0.5), source("mlm", "de", size=0.5), source("tlm", weight="3")],
        seed=1,
    )
    drawn = Counter(draw.source for draw in mixture.draws(0, 8000, (), 1))
    assert [drawn[i] / 8000 for i in range(3)] == pytest.approx([0.125, 0.125, 0.75], abs=0.015)


def test_a_run_can_start_anywhere():
    mixture = Mixture([source("mlm"), source("tlm")], seed=3)
    whole = list(mixture.draws(0, 40, (), slots=2))
    rest = list(mixture.draws(25, 40, whole[24].drawn, slots=2))
    assert rest == whole[25:]


def test_rejects_mixtures_that_cannot_be_drawn():
    with pytest.raises(SettingsError, match="no objective has a corpus"):
        Mixture([], 0)
    with pytest.raises(SettingsError, match="at step 1 the weights"):
        next(Mixture([source("mlm", weight="0")], 0).draws(0, 5, (), 1))


def test_objectives_alternate_and_their_corpora_are_drawn():
    sources = [
        source("mlm", size=1),
        source("mlm", "de", size=3),
        source("clm"),
        source("tlm", "en-de"),
    ]
    mixture = Mixture(sources, seed=2, alternate=True)
    drawn = [sources[draw.source] for draw in mixture.draws(0, 3000, (), 1)]
    assert [one.objective for one in drawn[:6]] == ["mlm", "clm", "tlm"] * 2
    german = [one.corpus == "de" for one in drawn if one.objective == "mlm"]
    assert np.mean(german) == pytest.approx(0.75, abs=0.04)
    sources = [source("mlm"), source("tlm", weight="0:0,10:0,11:1"), source("clm")]
    drawn = [
        sources[draw.source].objective
        for draw in Mixture(sources, 0, alternate=True).draws(0, 20, (), 1)
    ]
    assert drawn[:10] == ["mlm", "clm"] * 5
    assert sorted(drawn[11:14]) == ["clm", "mlm", "tlm"]


@pytest.mark.parametrize("alternate", [False, True])
def test_objectives_whose_loss_has_no_weight_are_not_drawn(alternate):
    faded = MixtureSource(
        "denoise", "en", None, None, range(10), loss_weight="0:1,100:0.1,300:0"
    )
    mixture = Mixture([faded, source("back_translation")], seed=0, alternate=alternate)
    drawn = [draw.step for draw in mixture.draws(0, 1000, (), 1) if draw.source == 0]
    assert max(drawn) in range(280, 300)
    # as often as the other: only the loss fades
    assert len(drawn) == pytest.approx(150, abs=25)


def test_temperature_follows_its_schedule():
    mixture = Mixture(
        [source("mlm", size=9), source("mlm", "de", size=1)],
        0,
        alpha="0:1,2000:1,2001:0.5,4000:0.5",
    )
    drawn = np.array([draw.source for draw in mixture.draws(0, 4000, (), 1)])
    assert drawn[:2000].mean() == pytest.approx(0.1, abs=0.02)  # p
    assert drawn[2001:].mean() == pytest.approx(0.25, abs=0.03)  # sqrt(1) / (sqrt(9) + sqrt(1))
