"""XLM's figure 1, second half, worked by hand, and the switches for models that lack what it needs."""

from types import SimpleNamespace

import numpy as np
import pytest
from transformers import ModernBertConfig

from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.models.families import Traits, traits_of
from interlace.objectives import Resources
from interlace.objectives.tlm import Tlm

WORDS = "<pad> </s> <s> <mask> the curtains were blue les rideaux étaient bleus".split()
ID = {word: number for number, word in enumerate(WORDS)}
VOCAB = SimpleNamespace(
    pad=0, begin=ID["<s>"], end=ID["</s>"], mask=ID["<mask>"], size=len(WORDS), separator_ids=(ID["</s>"],),
    special_ids=np.arange(4), regular_ids=np.arange(4, len(WORDS)),
)  # fmt: skip
XLM = Traits("bert", 64, {"en": 2, "fr": 3}, "token_type_ids")
PLAIN = Traits("bert", 64)


def side(text, language):
    ids = Ragged.of([[ID[word] for word in text.split()]])
    return Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), language)


FIGURE = Pairs(side("the curtains were blue", "en"), side("les rideaux étaient bleus", "fr"))


def make(tlm, traits, rate_key=0):
    prepared = tlm.prepare(Resources(VOCAB, traits))
    return tlm.batch(FIGURE, prepared, 0, np.random.default_rng(rate_key))


def test_figure_one_languages_and_restarted_positions():
    batch = make(Tlm(masking={"rate": 0}), XLM)
    shown = [WORDS[i] for i in batch.inputs["input_ids"][0]]
    assert shown == "<s> the curtains were blue </s> les rideaux étaient bleus </s>".split()
    assert batch.inputs["token_type_ids"].tolist() == [[2] * 6 + [3] * 5]
    assert batch.inputs["position_ids"].tolist() == [[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4]]
    assert "attention_mask" not in batch.inputs
    assert batch.counts == {"tlm": 0}
    assert batch.tokens == 11


def test_both_sides_are_masked():
    batch = make(Tlm(masking={"rate": 1, "mask_share": 1, "random_share": 0}), XLM)
    assert batch.at[1].tolist() == [1, 2, 3, 4, 6, 7, 8, 9]
    assert [WORDS[i] for i in batch.labels] == "the curtains were blue les rideaux étaient bleus".split()
    assert (batch.inputs["input_ids"][batch.at] == VOCAB.mask).all()


def test_without_language_embeddings_positions_run_through():
    assert set(make(Tlm(), PLAIN).inputs) == {"input_ids"}


def test_the_two_switches_are_independent():
    assert set(make(Tlm(reset_positions=False), XLM).inputs) == {"input_ids", "token_type_ids"}
    assert set(make(Tlm(language_ids=False), XLM).inputs) == {"input_ids", "position_ids"}
    assert set(make(Tlm(reset_positions=True), PLAIN).inputs) == {"input_ids", "position_ids"}


def test_restarts_are_refused_where_some_layers_would_not_follow():
    modernbert = traits_of(ModernBertConfig())
    with pytest.raises(SettingsError, match="local layers of modernbert"):
        Tlm(reset_positions=True).prepare(Resources(VOCAB, modernbert))
    assert not Tlm().prepare(Resources(VOCAB, modernbert)).restart


def test_a_language_without_embedding_is_named():
    with pytest.raises(SettingsError, match="no language embedding for 'fr'"):
        make(Tlm(), Traits("bert", 64, {"en": 2, "de": 3}, "token_type_ids"))
