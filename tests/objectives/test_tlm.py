"""TLM: XLM's figure 1 by hand, and models without language embeddings."""

import numpy as np
import pytest
import torch
from transformers import ModernBertConfig, XLMConfig, XLMWithLMHeadModel

from interlace.core.errors import SettingsError
from interlace.data import Pairs
from interlace.models.backbone import Backbone
from interlace.models.build import from_shape
from interlace.models.families import Traits, traits_of
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.tlm import Tlm
from little_words import LittleWords

TOKENS = LittleWords("the curtains were blue les rideaux étaient bleus")
XLM, PLAIN = Traits("bert", 64, {"en": 2, "fr": 3}, "token_type_ids"), Traits("bert", 64)
FIGURE = Pairs(
    TOKENS.sentences(["the curtains were blue"]),
    TOKENS.sentences(["les rideaux étaient bleus"], "fr"),
)


def make(tlm, traits):
    return tlm.batch(
        FIGURE, tlm.prepare(Resources(TOKENS.vocab, traits)), 0, np.random.default_rng(0)
    )


def test_figure_one_languages_and_restarted_positions():
    batch = make(Tlm(masking={"rate": 0}), XLM)
    row = "<s> the curtains were blue </s> <s> les rideaux étaient bleus </s>"
    assert TOKENS.texts(batch.inputs["input_ids"]) == [row]
    assert batch.inputs["token_type_ids"].tolist() == [[2] * 6 + [3] * 6]
    assert batch.inputs["position_ids"].tolist() == [[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]]
    assert "attention_mask" not in batch.inputs
    assert (batch.counts, batch.tokens) == ({"tlm": 0}, 12)


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


def test_layout_is_a_setting():
    batch = make(Tlm(masking={"rate": 0}, layout="roberta"), PLAIN)
    row = "<s> the curtains were blue </s> </s> les rideaux étaient bleus </s>"
    assert TOKENS.texts(batch.inputs["input_ids"]) == [row]


def test_rejects_positions_and_languages_that_a_model_does_not_have():
    modernbert = traits_of(ModernBertConfig())
    with pytest.raises(SettingsError, match="layers of modernbert"):
        make(Tlm(reset_positions=True), modernbert)
    assert set(make(Tlm(), modernbert).inputs) == {"input_ids"}
    with pytest.raises(SettingsError, match="packed = 'halves', but layers of modernbert"):
        make(Tlm(packed="halves"), traits_of(ModernBertConfig()))
    with pytest.raises(SettingsError, match="no language embedding for 'fr'"):
        make(Tlm(), Traits("bert", 64, {"en": 2, "de": 3}, "token_type_ids"))


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("family", ["bert", "roberta", "xlm"])
def test_inner_padding_changes_no_state(family, reset):
    if family == "xlm":
        config = XLMConfig(
            n_words=20,
            emb_dim=16,
            n_layers=1,
            n_heads=2,
            n_langs=1,
            pad_index=0,
            pad_token_id=0,
        )
        backbone = Backbone(XLMWithLMHeadModel(config).eval())
    else:
        shape = Shape(family=family, layers=1, width=16, heads=2, max_length=32, init_std=0.5)
        backbone = from_shape(shape, TOKENS.vocab).eval()
    states = []
    for inner in (False, True):
        tlm = Tlm(
            masking={"rate": 0},
            packed="halves" if inner else True,
            reset_positions=reset,
            max_length=24,
        )
        inputs = make(tlm, backbone.traits).to(torch.device("cpu")).inputs
        real = inputs.get("attention_mask", torch.ones_like(inputs["input_ids"])).bool()
        assert inner != bool(real.all())
        states.append(backbone.encode(inputs)[real])
    torch.testing.assert_close(*states)


def test_sequences_with_inner_padding_take_their_maximum_length():
    tlm = Tlm(packed="halves", max_length=64)
    assert tlm.pair_costs(np.array([3, 30]), np.array([4, 30])).tolist() == [64, 64]
    assert tlm.for_evaluation().packed is False
