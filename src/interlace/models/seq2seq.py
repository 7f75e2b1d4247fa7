"""The encoder-decoder: a backbone that reads, and a decoder that writes what comes of it.

It stands wherever a `Backbone` does: the encoder does what that does, and `logits` is the decoder's head, which the
encoder shares where both are of one family. So one model learns by `translation` and `mlm` in turn, in the same loop,
and an encoder task reads its encoder.

The target language is the first subword that the decoder reads (`Vocab.target`); with language embeddings, every
subword has its vector besides.

Legend: B rows, L subwords of the longest source, T of the longest target, H width, N predictions, R rows of a search,
V vocabulary.

Putting an encoder-decoder together: a decoder drawn fresh, weights it takes over, what both sides share.

Translation models on disk, in two forms.

A BERT or RoBERTa decoder makes an `EncoderDecoderModel` of transformers. It shares no table between its sides there, so
each side is written with its own; `interlace_seq2seq` in the configuration says that they are one, and opening it here
makes them one again.

transformers knows ModernBERT as no decoder. Such a model is a folder of two: `encoder/` is an ordinary checkpoint,
`decoder/` holds the rest: layers, cross-attention and head, without a table where that is the encoder's. The
`config.json` above them says `interlace-seq2seq`.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from interlace.core.errors import CheckpointError, SettingsError
from interlace.core.randomness import Purpose, torch_seed
from interlace.data.tokenizer_files import without_code
from interlace.models import checkpoint_files
from interlace.models.attention import install_kernels
from interlace.models.backbone import Backbone, cast, freeze_unused_bias
from interlace.models.backbone import export as export_encoder
from interlace.models.checkpoint_files import quiet
from interlace.models.families import SEQ2SEQ, family_of
from interlace.models.languages import equalize_segments, language_ids
from interlace.text.lines import atomic_folder, must_be_replaceable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor

    from interlace.data.vocab import Vocab
    from interlace.models.decoder import CrossAttentionDecoder, KVCache
    from interlace.models.families import Family


class Seq2Seq(Backbone):
    """A backbone with a decoder of the same width and vocabulary.

    model: the encoder's transformers model; all that a `Backbone` does, but for `logits`, is done by it.
    decoder: layers with cross-attention, and the vocabulary head.
    longest_target: subwords of the longest row that it writes, the target language among them.
    decoder_languages: language -> id of its embedding in the decoder; empty where there are none.
    decoder_language_input: the input of `decode` that they come in by, or None.
    """

    def __init__(self, encoder: Backbone, decoder: CrossAttentionDecoder, notes: tuple[str, ...] = ()) -> None:
        super().__init__(encoder.model, encoder.carried, (*encoder.notes, *notes))
        self.decoder = decoder
        positions = int(decoder.config.max_position_embeddings)
        self.longest_target = positions - decoder.family.first_position(decoder.config)
        self.traits = replace(self.traits, max_length=min(self.traits.max_length, self.longest_target))
        self.decoder_languages: dict[str, int] = language_ids(decoder.config)
        self.decoder_language_input = decoder.family.language_input if self.decoder_languages else None

    @property
    def encoder(self) -> Backbone:
        """The encoder alone, with the same weights; tasks that only read tune it."""
        return Backbone(self.model, self.carried, self.notes)

    @property
    def shared(self) -> bool:
        """Whether both sides read one table of subwords."""
        return self.decoder.model.get_input_embeddings().weight is self.input_embeddings

    def decode(
        self, states: Tensor, mask: Tensor | None, inputs: dict[str, Tensor], first: Tensor | None = None
    ) -> Tensor:
        """(B, T, H) states from which `logits` tells what comes next, each subword seeing those before it.

        Args:
            states: (B, L, H) of the encoder.
            mask: (B, L) true (or 1) where they are real; none: all are.
            inputs: `input_ids` (B, T), padded on the right, and the language input of `decoder_language_input` (B, T).
            first: (B,) the place at which each row begins, where it is a fragment; a family that knows distances alone
                does without. None: all begin at the first. Whoever gives it sees to it that no row ends behind
                `longest_target`: looking would stop a GPU at every step.

        Raises:
            SettingsError: an input that the decoder would ignore, or a row that is too long.
        """
        foreign = set(inputs) - {"input_ids", self.decoder_language_input}
        if foreign:
            raise SettingsError(f"this {self.decoder.family.name} decoder cannot read {min(foreign)!r}")
        self._must_fit(inputs["input_ids"].shape[1])
        found: Tensor = self.decoder(states, mask, inputs["input_ids"], self._languages(inputs), first)
        return found

    def logits(self, states: Tensor) -> Tensor:
        """(N, V) scores of the vocabulary from (N, H) states, by the decoder's whole head."""
        return self.decoder.logits(states)

    @torch.no_grad()
    def start(self, states: Tensor, mask: Tensor | None = None) -> KVCache:
        """What a search begins with: a row a source, nothing written yet; see `decode` for `states` and `mask`."""
        return self.decoder.begin(states, mask)

    @torch.no_grad()
    def step(self, memory: KVCache, tokens: Tensor, languages: Tensor | None = None) -> Tensor:
        """(R, V) float32 scores of what comes after `tokens` (R,), the next subword of each row; `memory` takes it in.

        languages: (R,) language ids, where `decoder_language_input` asks for them.

        Raises:
            SettingsError: the rows have grown longer than the decoder reads.
        """
        self._must_fit(memory.length + 1)
        return self.logits(self.decoder.advance(memory, tokens, languages)).float()

    def save_pretrained(
        self,
        folder: Path,
        vocab: Vocab,
        *,
        fold_language: str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> Path:
        """Write a checkpoint with its tokenizer, which `models.build.load` opens; whole or not at all.

        A BERT or RoBERTa decoder makes an ordinary `EncoderDecoderModel` of transformers; ModernBERT, which
        transformers knows as no decoder, a folder with an ordinary checkpoint of the encoder in `encoder/`.

        Args:
            folder: where; a checkpoint that stands there is replaced, anything else is refused.
            vocab: the vocabulary the model was trained with.
            fold_language: refused: source and target are two languages.
            dtype: of the floating-point weights on disk.

        Raises:
            SettingsError: `fold_language` is given.
            DataError, CheckpointError: the folder holds other things or cannot be written, or the disk is full.
        """
        if fold_language is not None:
            message = "export.fold_language: a translation model reads one language and writes another"
            raise SettingsError(f"{message}; leave it out")
        return export(self, folder, vocab, dtype=dtype)

    def _languages(self, inputs: dict[str, Tensor]) -> Tensor | None:
        return inputs.get(self.decoder_language_input) if self.decoder_language_input else None

    def _must_fit(self, length: int) -> None:
        if length > self.longest_target:
            longest = self.longest_target
            raise SettingsError(f"a target of {length} subwords, but the decoder writes at most {longest}")


SLOT = 1  # of the key that a decoder is drawn by; 0 is an encoder's


_HEADS = {"bert": ("cls",), "roberta": ("lm_head",), "modernbert": ("head", "decoder")}


_CROSS = ".crossattention."  # in the names of what BERT's causal models have beyond the masked ones


def fresh_decoder(config: Any, seed: int, layers: int | None = None) -> CrossAttentionDecoder:
    """A decoder of the shape of an encoder; its weights depend on the configuration and the seed only.

    Segment rows of BERT start equal, as in a fresh encoder; languages are drawn.

    Raises:
        SettingsError: the family cannot be a decoder.
    """
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(Purpose.INIT, seed, slot=SLOT))
        decoder = empty_decoder(decoder_config(config, layers))
    equalize_segments(decoder.model)
    return decoder


def decoder_config(config: Any, layers: int | None = None) -> Any:
    """The configuration of a decoder like an encoder's.

    Raises:
        SettingsError: the family cannot be a decoder.
    """
    family = check_decoder_family(family_of(config))
    config = copy.deepcopy(config)
    if layers is not None:
        config.num_hidden_layers = layers
        if family.name == "modernbert":
            config.layer_types = config.layer_types[:layers]
    if family.name != "modernbert":
        config.is_decoder = config.add_cross_attention = True
    return config


def empty_decoder(config: Any) -> CrossAttentionDecoder:
    """A decoder with weights as torch's generator draws them, from a configuration that `decoder_config` made."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    modern = family_of(config).name == "modernbert"
    maker: Any = AutoModelForMaskedLM if modern else AutoModelForCausalLM
    model = maker.from_config(config, dtype=torch.float32, attn_implementation="sdpa", trust_remote_code=False)
    if modern:
        from interlace.models.decoder import ModernBertDecoder

        decoder: CrossAttentionDecoder = ModernBertDecoder(model)
    else:
        from interlace.models.decoder import BertDecoder

        decoder = BertDecoder(model)
    install_kernels(model, own_attention=False)
    return decoder


def check_decoder_family(family: Family) -> Family:
    """The family itself, where it can be a decoder.

    Raises:
        SettingsError: it cannot.
    """
    if family.name not in _HEADS:
        able = ", ".join(_HEADS)
        message = f"a model of the {family.name} family cannot be a decoder; those of {able} can"
        raise SettingsError(f"{message}: give the decoder a shape of its own, [model.decoder.shape] family = 'bert'")
    return family


def copy_weights(decoder: CrossAttentionDecoder, source: Any) -> None:
    """Give a decoder all weights that a masked or causal model of its shape has: table, layers and head.

    What it has beyond them, the cross-attention, stays as it is.
    """
    there = dict(source.state_dict())
    layers = decoder.model.state_dict()
    for name, tensor in layers.items():
        if _CROSS not in name:
            tensor.copy_(there[name])


def join(
    encoder: Backbone, decoder: CrossAttentionDecoder, *, share: bool = True, notes: tuple[str, ...] = ()
) -> Seq2Seq:
    """Both as one model, with one vocabulary head and, where they `share`, one table of subwords.

    Raises:
        SettingsError: they differ in width, vocabulary or languages.
    """
    _must_agree(encoder, decoder)
    if share:
        model = decoder.model
        tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
        model.get_input_embeddings().weight = encoder.input_embeddings
        if tied:
            model.get_output_embeddings().weight = encoder.input_embeddings
    own = encoder.model.get_input_embeddings().weight
    if share and encoder.family.name == decoder.family.name:
        for name in _HEADS[decoder.family.name]:
            setattr(encoder.model, name, getattr(decoder.model, name))
    else:
        for name, parameter in encoder.model.named_parameters():
            if name.startswith(encoder.family.head) and parameter is not own:
                parameter.requires_grad_(requires_grad=False)  # nothing reads it
    freeze_unused_bias(decoder.model)
    return Seq2Seq(encoder, decoder, notes)


def _must_agree(encoder: Backbone, decoder: CrossAttentionDecoder) -> None:
    rows, width = decoder.model.get_input_embeddings().weight.shape
    if width != encoder.width:
        message = f"the encoder's states are {encoder.width} wide, the decoder's {width}"
        raise SettingsError(f"{message}; give model.decoder a start or a shape of that width")
    if rows != encoder.vocab_size:
        message = f"the encoder has {encoder.vocab_size} subwords, the decoder {rows}"
        raise SettingsError(f"{message}; both sides need one vocabulary: start them from checkpoints that share one")
    ours, theirs = encoder.traits.languages, language_ids(decoder.config)
    if theirs and ours != theirs:
        message = f"encoder and decoder number languages differently ({ours} and {theirs})"
        raise SettingsError(f"{message}; start both from checkpoints with the same languages in the same order")


PLAIN, OWN = SEQ2SEQ


SEQ2SEQ_RECORD = "interlace_seq2seq"


ENCODER, DECODER = "encoder", "decoder"


def export(model: Seq2Seq, folder: Path, vocab: Vocab, *, dtype: torch.dtype) -> Path:
    """See `Seq2Seq.save_pretrained`."""
    must_be_replaceable(folder, checkpoint_files.CONFIG, "checkpoint")
    save = _save_own if model.decoder.family.name == "modernbert" else _save_plain
    try:
        with atomic_folder(folder) as partial:
            save(model, partial, vocab, dtype)
            vocab.save_files(partial)
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return folder


def _save_plain(model: Seq2Seq, folder: Path, vocab: Vocab, dtype: torch.dtype) -> None:
    """One file of weights: `encoder.` and `decoder.`, each with a table of its own."""
    from safetensors.torch import save_file
    from transformers import EncoderDecoderConfig

    base = f"{model.model.base_model_prefix}."
    carried = {name.removeprefix(base): each for name, each in model.carried.items() if name.startswith(base)}
    encoder = {**carried, **model.model.base_model.state_dict()}
    tensors = {f"{ENCODER}.{name}": each.clone() for name, each in cast(encoder, dtype).items()}
    tensors |= {
        f"{DECODER}.{name}": each.clone() for name, each in cast(unique_tensors(model.decoder.model), dtype).items()
    }
    save_file(tensors, folder / checkpoint_files.WEIGHTS, {"format": "pt"})
    config = EncoderDecoderConfig.from_encoder_decoder_configs(model.model.config, model.decoder.config)
    data = {
        **config.to_dict(),
        "architectures": ["EncoderDecoderModel"],
        "dtype": _name(dtype),
        "vocab_size": model.vocab_size,
        "pad_token_id": vocab.pad,
        "bos_token_id": vocab.begin,
        "eos_token_id": vocab.end,
        "is_encoder_decoder": True,
        SEQ2SEQ_RECORD: {"table": "shared" if model.shared else "own"},
    }
    _write(folder / checkpoint_files.CONFIG, data)


def _save_own(model: Seq2Seq, folder: Path, vocab: Vocab, dtype: torch.dtype) -> None:
    """Two folders, the second without what stands in the first."""
    from safetensors.torch import save_file

    export_encoder(model.encoder, folder / ENCODER, vocab, fold_language=None, dtype=dtype)
    (folder / DECODER).mkdir()
    tensors = unique_tensors(model.decoder)
    if model.shared:
        tensors = {name: each for name, each in tensors.items() if each.data_ptr() != model.input_embeddings.data_ptr()}
    written = {name: each.clone() for name, each in cast(tensors, dtype).items()}
    save_file(written, folder / DECODER / checkpoint_files.WEIGHTS, {"format": "pt"})
    _write(folder / DECODER / checkpoint_files.CONFIG, model.decoder.config.to_dict())
    data = {"model_type": OWN, "dtype": _name(dtype), SEQ2SEQ_RECORD: {"table": "shared" if model.shared else "own"}}
    _write(folder / checkpoint_files.CONFIG, data)


def unique_tensors(model: Any) -> dict[str, Tensor]:
    """The state of a model by name, each tensor under the first of its names."""
    seen: set[tuple[int, Any]] = set()
    kept = {}
    for name, tensor in model.state_dict().items():
        if (key := (tensor.data_ptr(), tensor.shape)) not in seen:
            kept[name] = tensor
        seen.add(key)
    return kept


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _write(path: Path, data: Mapping[str, Any]) -> None:
    text = json.dumps(without_code(dict(data)), indent=2, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
