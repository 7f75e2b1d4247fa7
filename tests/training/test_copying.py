"""A model that copies is told of early, once, and only while it does."""

import logging
import re
from types import SimpleNamespace

import pytest

from interlace.training.callbacks import CopyingWarning


@pytest.fixture
def warnings(caplog):
    def of(shares, ratio=1.0, corpora=("de",), **settings):
        caplog.clear()
        observer = CopyingWarning(**settings)
        with caplog.at_level(logging.WARNING):
            for index, share in enumerate(shares, 1):
                observer(
                    SimpleNamespace(
                        index=index,
                        corpus=corpora[index % len(corpora)],
                        losses={"copied_share": share, "length_ratio": ratio} if share is not None else {"mlm": 1.0},
                    )
                )
        return [record.getMessage() for record in caplog.records]

    return of


def test_it_warns_once_when_the_window_is_full_of_copies(warnings):
    (told,) = warnings([0.9, 0.9, None, 0.96, 0.96, 0.9, 0.9], window=4)
    assert told.startswith("step 5: in 4 steps with source de, 93% of the tokens")


def test_a_few_copies_are_no_collapse(warnings):
    assert warnings([1.0, 0.5] * 10, window=4) == []
    assert warnings([1.0] * 3, window=4) == []
    assert warnings([0.8] * 9, window=4) == []


@pytest.mark.parametrize(("ratio", "said"), [(0.05, "0.05 .* too short"), (2.5, "2.5 .* too long")])
def test_it_warns_of_translations_that_are_far_too_short_or_too_long(warnings, ratio, said):
    (told,) = warnings([0.0] * 6, ratio=ratio, window=4)
    assert re.match(f"step 4: in 4 steps with source de, translations have {said}", told)
    assert len(warnings([1.0] * 6, ratio=ratio, window=4)) == 2  # each once
    assert warnings([0.0] * 6, ratio=0.3, window=4) == []


def test_it_warns_again_after_it_got_better(warnings):
    assert len(warnings([1.0] * 6 + [0.1] * 6 + [1.0] * 6, window=4)) == 2


def test_one_direction_that_collapses_beside_a_sound_one_is_told(warnings):
    (told,) = warnings([1.0, 0.1] * 10, corpora=("de", "ro"), window=4)
    assert told.startswith("step 7: in 4 steps with source ro, 100% of the tokens")
