"""Putting an encoder-decoder together: a decoder drawn fresh, weights it takes over, what both sides share."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch

from interlace.core.errors import SettingsError
from interlace.core.randomness import Purpose, torch_seed
from interlace.models._kernels import install
from interlace.models._quiet import quiet
from interlace.models.build import freeze_spare_bias
from interlace.models.families import family_of
from interlace.models.languages import known, level_segments
from interlace.models.seq2seq import Seq2Seq

if TYPE_CHECKING:
    from interlace.models._crossed import Crossed
    from interlace.models.backbone import Backbone
    from interlace.models.families import Family

SLOT = 1  # of the key that a decoder is drawn by; 0 is an encoder's
_HEADS = {"bert": ("cls",), "roberta": ("lm_head",), "modernbert": ("head", "decoder")}
_CROSS = ".crossattention."  # in the names of what BERT's causal models have beyond the masked ones


def fresh_decoder(config: Any, seed: int, layers: int | None = None) -> Crossed:
    """A decoder of the shape of an encoder; its weights depend on the configuration and the seed only.

    Segment rows of BERT start equal, as in a fresh encoder; languages are drawn.

    Raises:
        SettingsError: the family cannot be a decoder.
    """
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(Purpose.INIT, seed, slot=SLOT))
        decoder = empty_decoder(crossing(config, layers))
    level_segments(decoder.model)
    return decoder


def crossing(config: Any, layers: int | None = None) -> Any:
    """The configuration of a decoder like an encoder's.

    Raises:
        SettingsError: the family cannot be a decoder.
    """
    family = must_decode(family_of(config))
    config = copy.deepcopy(config)
    if layers is not None:
        config.num_hidden_layers = layers
        if family.name == "modernbert":
            config.layer_types = config.layer_types[:layers]
    if family.name != "modernbert":
        config.is_decoder = config.add_cross_attention = True
    return config


def empty_decoder(config: Any) -> Crossed:
    """A decoder with weights as torch's generator draws them, from a configuration that `crossing` made."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    modern = family_of(config).name == "modernbert"
    maker: Any = AutoModelForMaskedLM if modern else AutoModelForCausalLM
    model = maker.from_config(config, dtype=torch.float32, attn_implementation="sdpa", trust_remote_code=False)
    if modern:
        from interlace.models._crossed_modern import ModernDecoder

        decoder: Crossed = ModernDecoder(model)
    else:
        from interlace.models._crossed import BertDecoder

        decoder = BertDecoder(model)
    install(model, own_attention=False)
    return decoder


def must_decode(family: Family) -> Family:
    """The family itself, where it can be a decoder.

    Raises:
        SettingsError: it cannot.
    """
    if family.name not in _HEADS:
        able = ", ".join(_HEADS)
        message = f"a model of the {family.name} family cannot be a decoder; those of {able} can"
        raise SettingsError(f"{message}: give the decoder a shape of its own, [model.decoder.shape] family = 'bert'")
    return family


def take_over(decoder: Crossed, source: Any) -> None:
    """Give a decoder all weights that a masked or causal model of its shape has: table, layers and head.

    What it has beyond them, the cross-attention, stays as it is.
    """
    there = dict(source.state_dict())
    layers = decoder.model.state_dict()
    for name, tensor in layers.items():
        if _CROSS not in name:
            tensor.copy_(there[name])


def join(encoder: Backbone, decoder: Crossed, *, share: bool = True, notes: tuple[str, ...] = ()) -> Seq2Seq:
    """Both as one model, with one vocabulary head and, where they `share`, one table of subwords.

    Raises:
        SettingsError: they differ in width, vocabulary or languages.
    """
    _must_agree(encoder, decoder)
    if share:
        model = decoder.model
        tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
        model.get_input_embeddings().weight = encoder.table
        if tied:
            model.get_output_embeddings().weight = encoder.table
    own = encoder.model.get_input_embeddings().weight
    if share and encoder.family.name == decoder.family.name:
        for name in _HEADS[decoder.family.name]:
            setattr(encoder.model, name, getattr(decoder.model, name))
    else:
        for name, parameter in encoder.model.named_parameters():
            if name.startswith(encoder.family.head) and parameter is not own:
                parameter.requires_grad_(requires_grad=False)  # nothing reads it
    freeze_spare_bias(decoder.model)
    return Seq2Seq(encoder, decoder, notes)


def _must_agree(encoder: Backbone, decoder: Crossed) -> None:
    rows, width = decoder.model.get_input_embeddings().weight.shape
    if width != encoder.width:
        message = f"the encoder's states are {encoder.width} wide, the decoder's {width}"
        raise SettingsError(f"{message}; give model.decoder a start or a shape of that width")
    if rows != encoder.vocab_size:
        message = f"the encoder has {encoder.vocab_size} subwords, the decoder {rows}"
        raise SettingsError(f"{message}; both sides need one vocabulary: start them from checkpoints that share one")
    ours, theirs = encoder.traits.languages, known(decoder.config)
    if theirs and ours != theirs:
        message = f"encoder and decoder number languages differently ({ours} and {theirs})"
        raise SettingsError(f"{message}; start both from checkpoints with the same languages in the same order")
