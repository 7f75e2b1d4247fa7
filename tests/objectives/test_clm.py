"""Predicting from left to right, worked by hand: what is predicted from where, and what never is."""

import pytest

from interlace.core.errors import SettingsError
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.clm import Clm
from little_words import SPECIALS, LittleWords

TOKENS = LittleWords("the doctor reads he works in Berlin", (*SPECIALS, "<unk>"))
PLAIN = Traits("bert", 64)


def predictions(clm, *texts, traits=PLAIN):
    """For each row, `seen > predicted` in order."""
    prepared = clm.prepare(Resources(TOKENS.vocab, traits))
    batch, found = clm.batch(TOKENS.sentences(texts), prepared, 0, None), [[] for _ in texts]
    seen, predicted = (
        TOKENS.names(batch.inputs["input_ids"][batch.at]),
        TOKENS.names(batch.labels),
    )
    for row, one, other in zip(batch.at[0], seen, predicted, strict=True):
        found[row].append(f"{one} > {other}")
    return found, batch


def test_predicts_a_stream_with_its_sentence_ends():
    found, batch = predictions(Clm(), "the doctor </s> he works")
    assert found == [["<s> > the", "the > doctor", "doctor > </s>", "</s> > he", "he > works"]]
    assert batch.counts == {"clm": 5}
    assert batch.tokens == 7
    assert batch.languages == {"en": 7}


def test_never_predicts_padding_the_final_end_and_unknown_tokens():
    found, batch = predictions(Clm(), "the <unk> reads", "he")
    assert found == [["<s> > the", "<unk> > reads"], ["<s> > he"]]
    assert batch.inputs["attention_mask"].sum() == batch.tokens == 8


def test_rejects_context_without_predictions():
    with pytest.raises(SettingsError, match="at most max_length - 3 = 5, found 6"):
        Clm(max_length=8, context_size=6)
    assert predictions(Clm(max_length=8, context_size=5), "the doctor reads he works in")[
        0
    ] == [["works > in"]]
