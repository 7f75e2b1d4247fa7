"""TLM: XLM's figure 1 by hand, and models without language embeddings."""

import numpy as np
import pytest
from transformers import ModernBertConfig

from interlace.core.errors import SettingsError
from interlace.data import Pairs
from interlace.models.families import Traits, traits_of
from interlace.objectives import Resources
from interlace.objectives.tlm import Tlm
from interlace.objectives.weam import Weam
from little_words import LittleWords

TOKENS = LittleWords("the curtains were blue les rideaux étaient bleus")
XLM, PLAIN = Traits("bert", 64, {"en": 2, "fr": 3}, "token_type_ids"), Traits("bert", 64)
FIGURE = Pairs(
    TOKENS.sentences(["the curtains were blue"]),
    TOKENS.sentences(["les rideaux étaient bleus"], "fr"),
)


def make(tlm, traits):
    return tlm.batch(FIGURE, tlm.prepare(Resources(TOKENS.vocab, traits)), 0, np.random.default_rng(0))


def test_figure_one_languages_and_restarted_positions():
    batch = make(Tlm(masking={"rate": 0}), XLM)
    assert TOKENS.texts(batch.inputs["input_ids"]) == [
        "<s> the curtains were blue </s> <s> les rideaux étaient bleus </s>"
    ]
    assert batch.inputs["token_type_ids"].tolist() == [[2] * 6 + [3] * 6]
    assert batch.inputs["position_ids"].tolist() == [[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]]
    assert "attention_mask" not in batch.inputs
    assert (batch.counts, batch.tokens) == ({"tlm": 0}, 12)


def test_masks_both_sides():
    batch = make(Tlm(masking={"rate": 1, "mask_share": 1, "random_share": 0}), XLM)
    assert batch.at[1].tolist() == [1, 2, 3, 4, 7, 8, 9, 10]
    assert TOKENS.names(batch.labels) == "the curtains were blue les rideaux étaient bleus".split()
    assert (batch.inputs["input_ids"][batch.at] == TOKENS.vocab.mask).all()


@pytest.mark.parametrize(
    ("settings", "traits", "inputs"),
    [
        ({}, PLAIN, set()),  # without language embeddings positions do not restart
        ({"reset_positions": False}, XLM, {"token_type_ids"}),
        ({"language_ids": False}, XLM, {"position_ids"}),
        ({"reset_positions": True}, PLAIN, {"position_ids"}),
    ],
)
def test_language_ids_and_restarted_positions_are_independent(settings, traits, inputs):
    assert set(make(Tlm(**settings), traits).inputs) == {"input_ids", *inputs}


@pytest.mark.parametrize(
    ("settings", "traits", "row"),
    [
        ({}, PLAIN, "<s> the curtains were blue </s> les rideaux étaient bleus </s>"),
        ({"layout": "bert"}, XLM, "<s> the curtains were blue </s> les rideaux étaient bleus </s>"),
        ({"layout": "roberta"}, PLAIN, "<s> the curtains were blue </s> </s> les rideaux étaient bleus </s>"),
    ],
)
@pytest.mark.parametrize("objective", [Tlm, Weam])
def test_layout_is_a_setting(objective, settings, traits, row):
    given = {"masking": {"rate": 0}, **settings}
    if objective is Weam:
        given |= {"cross_lingual_weight": 0, "reset_positions": "auto"}
    batch = make(objective(**given), traits)
    assert TOKENS.texts(batch.inputs["input_ids"]) == [row]
    if traits is XLM:  # BERT's single separator belongs to the first side; words have the same positions all the same
        assert batch.inputs["token_type_ids"].tolist() == [[2] * 6 + [3] * 5]
        assert batch.inputs["position_ids"].tolist() == [[0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5]]


def test_rejects_restarted_positions_that_some_layers_ignore():
    modernbert = traits_of(ModernBertConfig())
    with pytest.raises(SettingsError, match="local layers of modernbert"):
        make(Tlm(reset_positions=True), modernbert)
    assert set(make(Tlm(), modernbert).inputs) == {"input_ids"}


def test_rejects_language_without_embedding():
    with pytest.raises(SettingsError, match="no language embedding for 'fr'"):
        make(Tlm(), Traits("bert", 64, {"en": 2, "de": 3}, "token_type_ids"))
