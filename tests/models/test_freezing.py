"""Which weights stay as they are, in every family."""

from __future__ import annotations

from itertools import pairwise

import pytest

from interlace.core.errors import SettingsError
from interlace.models.backbone import Backbone, freeze_layers

LAYERS = 3


@pytest.fixture(params=["bert", "roberta", "modernbert", "xlm"])
def backbone(request):
    import transformers as hf

    sizes = {"vocab_size": 50, "pad_token_id": 0}
    usual = {"hidden_size": 8, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 16}
    if request.param == "xlm":
        config = hf.XLMConfig(**sizes, emb_dim=8, n_layers=LAYERS, n_heads=2, pad_index=0, langs=["en", "de"])
        return Backbone(hf.XLMWithLMHeadModel(config))
    if request.param == "modernbert":
        config = hf.ModernBertConfig(**sizes, **usual, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2)
        return Backbone(hf.ModernBertForMaskedLM(config))
    kind = {"bert": (hf.BertConfig, hf.BertForMaskedLM), "roberta": (hf.RobertaConfig, hf.RobertaForMaskedLM)}
    config, model = kind[request.param]
    return Backbone(model(config(**sizes, **usual)))


def trained(backbone):
    return {name for name, value in backbone.model.base_model.named_parameters() if value.requires_grad}


def test_what_stands_above_the_frozen_layers_is_trained(backbone):
    everything = dict(backbone.model.base_model.named_parameters())
    embeddings = {name for name in everything if "embeddings" in name or "layer_norm_emb" in name}
    assert embeddings
    left = []
    for layers in range(LAYERS + 1):
        count = freeze_layers(backbone, layers)
        assert count == sum(value.numel() for value in everything.values() if not value.requires_grad)
        assert not trained(backbone) & embeddings
        left.append(trained(backbone))
    taken = [before - after for before, after in pairwise(left)]
    numbers = [{part for name in names for part in name.split(".") if part.isdigit()} for names in taken]
    assert numbers == [{"0"}, {"1"}, {"2"}]
    inner = [{name for name in names if not name.startswith("final_norm.")} for names in taken]
    assert len({len(names) for names in inner[1:]}) == 1
    assert not left[-1]  # ModernBERT's last norm stands behind all layers


def test_no_more_layers_than_there_are(backbone):
    with pytest.raises(SettingsError, match=f"tuning.freeze = 4, but the model has {LAYERS} layers"):
        freeze_layers(backbone, LAYERS + 1)
