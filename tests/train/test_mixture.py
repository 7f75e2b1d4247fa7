"""Which source a step takes."""

from collections import Counter

import numpy as np
import pytest

from interlace.errors import SettingsError
from interlace.train.mixture import Mixture, Source


def source(objective, corpus="en", share=1.0, weight="1"):
    return Source(objective, corpus, None, None, None, share, weight)


def test_shares_follow_the_weights():
    mixture = Mixture([source("mlm", share=0.5), source("mlm", "de", share=0.5), source("tlm", weight="3")], seed=1)
    drawn = Counter(draw.source for draw in mixture.draws(0, 8000, (), 1))
    assert [drawn[i] / 8000 for i in range(3)] == pytest.approx([0.125, 0.125, 0.75], abs=0.015)


def test_a_run_can_start_anywhere():
    mixture = Mixture([source("mlm"), source("tlm")], seed=3)
    whole = list(mixture.draws(0, 40, (), slots=2))
    rest = list(mixture.draws(25, 40, whole[24].drawn, slots=2))
    assert rest == whole[25:]


def test_counters_advance_by_the_slots():
    mixture = Mixture([source("mlm")], seed=0)
    draws = list(mixture.draws(0, 3, (), slots=4))
    assert [draw.first for draw in draws] == [0, 4, 8]
    assert draws[-1].drawn == (12,)


def test_a_scheduled_weight_turns_an_objective_off():
    mixture = Mixture([source("mlm"), source("tlm", weight="0:0,100:0,101:1")], seed=0)
    drawn = [draw.source for draw in mixture.draws(0, 300, (), 1)]
    assert set(drawn[:100]) == {0}
    assert np.mean(drawn[101:]) == pytest.approx(0.5, abs=0.15)


def test_an_empty_mixture_says_so():
    with pytest.raises(SettingsError, match="no objective has a corpus"):
        Mixture([], 0)


def test_all_weights_zero_says_at_which_step():
    with pytest.raises(SettingsError, match="at step 1 the weights"):
        next(Mixture([source("mlm", weight="0")], 0).draws(0, 5, (), 1))
