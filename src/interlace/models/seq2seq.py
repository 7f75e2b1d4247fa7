"""The encoder-decoder: a backbone that encodes the source and a decoder that writes the target.

It replaces a `Backbone` anywhere: the encoder does what a backbone does, and `logits` is the decoder's head, which the
encoder shares where both are of one family. So one model alternates `translation` and `mlm` in the same training loop,
and encoder tasks fine-tune its encoder.

The target language is the first token that the decoder reads (`Vocab.target`). With language embeddings, every token
has its language's vector too.

On disk it is an `EncoderDecoderModel` of transformers. That class shares no embeddings between its sides, so each side
is written with its own; equal ones are shared again when the model is loaded. transformers has no ModernBERT decoder,
so it cannot open a model with one; the format is the same.

Legend: B sequences, L tokens of the longest source, T of the longest target, H width, N predictions, R sequences in
generation, V vocabulary.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from interlace.core.errors import SettingsError
from interlace.core.randomness import Purpose, torch_seed
from interlace.models.attention import install_kernels
from interlace.models.backbone import (
    Backbone,
    Tensors,
    cpu_copies,
    freeze_unused_bias,
    untied_state,
)
from interlace.models.checkpoint_files import CONFIG, WEIGHTS, quiet, write_config
from interlace.models.decoder import (
    BertDecoder,
    CrossAttentionDecoder,
    KVCache,
    ModernBertDecoder,
)
from interlace.models.families import VocabularyHead, family_of, language_ids
from interlace.models.languages import equalize_segments
from interlace.models.pretrained_decoder import PretrainedCache, PretrainedDecoder

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.data.vocab import Vocab

ENCODER_SIDE = "encoder"  # prefixes of weights, or folders
DECODER_SIDE = "decoder"


class Seq2Seq(Backbone):
    """A backbone with a decoder of the same width and vocabulary.

    model: the encoder's transformers model; everything that a `Backbone` does, except its vocabulary head, uses it.
    decoder: layers with cross-attention, and the vocabulary head.
    max_target_length: maximum length of a target in tokens, the target language included.
    decoder_languages: language -> id of its embedding in the decoder; empty without language embeddings.
    decoder_language_input: name of the input of `decode` for language ids, or None.
    """

    def __init__(
        self, encoder: Backbone, decoder: CrossAttentionDecoder | PretrainedDecoder
    ) -> None:
        super().__init__(encoder.model, encoder.extra_weights, encoder.notes)
        self.decoder = decoder
        self.max_target_length = decoder.family.max_length(decoder.config)
        self.traits = replace(
            self.traits, max_length=min(self.traits.max_length, self.max_target_length)
        )
        self.decoder_languages: dict[str, int] = language_ids(decoder.config)
        self.decoder_language_input = (
            decoder.family.language_input if self.decoder_languages else None
        )

    @property
    def encoder(self) -> Backbone:
        """The encoder alone, with the same weights."""
        return Backbone(self.model, self.extra_weights, self.notes)

    @property
    def shared(self) -> bool:
        """Whether both sides share the input embeddings."""
        return self.decoder.model.get_input_embeddings().weight is self.input_embeddings

    def decode(
        self,
        states: Tensor,
        mask: Tensor | None,
        inputs: Tensors,
        first: Tensor | None = None,
    ) -> Tensor:
        """Return the (B, T, H) states from which `logits` predicts the next token of each position.

        Args:
            states: (B, L, H) of the encoder.
            mask: (B, L) true (or 1) where they are real; None: all are.
            inputs: `input_ids` (B, T), padded on the right, and the language input of `decoder_language_input` (B, T).
            first: (B,) position of the first token of each target, for fragments; ignored by families with relative
                positions. None: all start at 0. The caller must ensure that no target ends after `max_target_length`:
                checking it here would synchronize with a GPU in every step.

        Raises:
            SettingsError: an input that the decoder would ignore, or a target that is too long.
        """
        foreign = set(inputs) - {"input_ids", self.decoder_language_input}
        if foreign:
            raise SettingsError(
                f"this {self.decoder.family.name} decoder cannot read {min(foreign)!r}"
            )
        self._check_length(inputs["input_ids"].shape[1])
        languages = None
        if self.decoder_language_input is not None:
            languages = inputs.get(self.decoder_language_input)
        return self.decoder(
            states,
            mask,
            inputs["input_ids"],
            languages,
            first,
        )

    def vocabulary_head(self) -> VocabularyHead:
        """Return the parts of the decoder's head."""
        return self.decoder.family.vocabulary_head(self.decoder.model)

    @torch.no_grad()
    def start(self, states: Tensor, mask: Tensor | None = None) -> KVCache | PretrainedCache:
        """Return the cache to generate with, one sequence a source; see `decode` for `states` and `mask`."""
        return self.decoder.start_cache(states, mask)

    @torch.no_grad()
    def step(self, cache: Any, tokens: Tensor, languages: Tensor | None = None) -> Tensor:
        """Return the (R, V) float32 scores of the token after `tokens` (R,), which are added to the cache.

        languages: (R,) language ids, where the model has a `decoder_language_input`.
        Raise a SettingsError if the sequences exceed the decoder's maximum length.
        """
        self._check_length(cache.length + 1)
        return self.logits(self.decoder.step(cache, tokens, languages)).float()

    def _write(
        self,
        folder: Path,
        vocab: Vocab,
        fold_language: str | None,
        dtype: torch.dtype,
        *,
        head: bool,
    ) -> None:
        """Write one file of weights, `encoder.*` and `decoder.*`, each with its own embeddings.

        An encoder-decoder of transformers is written as what it was.
        """
        from safetensors.torch import save_file
        from transformers import EncoderDecoderConfig

        if fold_language is not None:
            raise SettingsError("fold_language: a translation model has two languages")
        if self.family.encoder_decoder:
            super()._write(folder, vocab, None, dtype, head=head)
            return
        prefix = f"{self.model.base_model_prefix}."
        encoder = {}
        for name, weight in self.extra_weights.items():
            if name.startswith(prefix):
                encoder[name.removeprefix(prefix)] = weight
        encoder |= self.model.base_model.state_dict()
        sides = {ENCODER_SIDE: encoder, DECODER_SIDE: untied_state(self.decoder.model)}
        tensors = {}
        for side, weights in sides.items():
            for name, weight in cpu_copies(weights, dtype).items():
                tensors[f"{side}.{name}"] = weight.clone()
        save_file(tensors, folder / WEIGHTS, {"format": "pt"})
        config = EncoderDecoderConfig.from_encoder_decoder_configs(
            self.model.config, self.decoder.config
        )
        write_config(
            folder / CONFIG,
            {
                **config.to_dict(),
                "architectures": ["EncoderDecoderModel"],
                "vocab_size": self.vocab_size,
                "pad_token_id": vocab.pad,
                "bos_token_id": vocab.begin,
                "eos_token_id": vocab.end,
                "is_encoder_decoder": True,
                "dtype": str(dtype).removeprefix("torch."),
            },
        )

    def _check_length(self, length: int) -> None:
        if length > self.max_target_length:
            raise SettingsError(
                f"a target of {length} tokens, but the decoder writes at most {self.max_target_length}"
            )


def fresh_decoder(config: Any, seed: int, layers: int | None = None) -> CrossAttentionDecoder:
    """Return a decoder of an encoder's shape, with random weights that depend on configuration and seed only.

    Segment embeddings of BERT start equal, as in a fresh encoder; language embeddings are drawn.
    Raise a SettingsError if the family cannot be a decoder.
    """
    family = family_of(config).name
    if not family_of(config).can_decode:
        raise SettingsError(
            f"a model of the {family} family cannot be a decoder; name a checkpoint of another family in "
            "model.decoder.start"
        )
    config = copy.deepcopy(config)
    config.is_decoder = True
    config.add_cross_attention = True
    if layers is not None:
        config.num_hidden_layers = layers
        if family == "modernbert":
            config.layer_types = config.layer_types[:layers]
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(Purpose.INIT, seed, slot=1))  # 0 is an encoder's
        decoder = random_decoder(config)
    equalize_segments(decoder.model)
    return decoder


def random_decoder(config: Any) -> CrossAttentionDecoder:
    """Return a decoder with weights from torch's generator, for the configuration of one."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    is_modernbert = family_of(config).name == "modernbert"
    maker: Any = AutoModelForMaskedLM if is_modernbert else AutoModelForCausalLM
    model = maker.from_config(
        config, dtype=torch.float32, attn_implementation="sdpa", trust_remote_code=False
    )
    decoder = ModernBertDecoder(model) if is_modernbert else BertDecoder(model)
    install_kernels(model, own_attention=False)
    return decoder


def copy_weights(decoder: CrossAttentionDecoder, source: Any) -> None:
    """Copy all weights of a masked or causal model of the same shape into a decoder, except cross-attention."""
    weights = dict(source.state_dict())
    for name, tensor in decoder.model.state_dict().items():
        if name in weights:
            tensor.copy_(weights[name])


def join(encoder: Backbone, decoder: CrossAttentionDecoder, *, share: bool = True) -> Seq2Seq:
    """Return both as one model, with one vocabulary head and, if they `share` them, one set of input embeddings.

    Raise a SettingsError if they differ in width, vocabulary or languages.
    """
    rows, width = decoder.model.get_input_embeddings().weight.shape
    if width != encoder.width:
        raise SettingsError(
            f"the encoder has width {encoder.width}, the decoder {width}; give model.decoder a start "
            "of that width"
        )
    if rows != encoder.vocab_size:
        raise SettingsError(
            f"the encoder has {encoder.vocab_size} tokens, the decoder {rows}; both need the same vocabulary"
        )
    languages = encoder.traits.languages
    decoder_languages = language_ids(decoder.config)
    if decoder_languages and languages != decoder_languages:
        raise SettingsError(
            f"encoder and decoder number languages differently: {languages} and {decoder_languages}"
        )
    _share(encoder, decoder, embeddings=share)
    freeze_unused_bias(decoder.model)
    return Seq2Seq(encoder, decoder)


def _share(encoder: Backbone, decoder: CrossAttentionDecoder, *, embeddings: bool) -> None:
    """Let both sides have one vocabulary head and, if wanted, one set of input embeddings."""
    weight = encoder.input_embeddings
    if embeddings:
        decoder_input = decoder.model.get_input_embeddings()
        decoder_output = decoder.model.get_output_embeddings()
        tied = decoder_output.weight is decoder_input.weight
        decoder_input.weight = weight
        if tied:
            decoder_output.weight = weight
    if embeddings and encoder.family.name == decoder.family.name:
        for name in decoder.family.head:
            setattr(encoder.model, name, getattr(decoder.model, name))
    else:
        for name, parameter in encoder.model.named_parameters():
            if encoder.family.is_head(name) and parameter is not weight:
                # the encoder's own head is never used
                parameter.requires_grad_(requires_grad=False)
