"""The backbone: a thin module around a transformers masked language model, with its head kept apart from its encoder.

Legend: B rows, L subwords of the longest row, H width, N predictions, V vocabulary.

Writing a backbone as an ordinary checkpoint, whole or not at all.

ModernBERT in its two forms: transformers' causal twin keeps query, key and value apart and renames the head.

A backbone always holds the encoder's form, which reads both ways and left to right. The decoder's form is what plain
transformers opens for causal language modelling: written at export, turned back when a checkpoint is opened.

One vector for a row: its first state, or the mean or the largest of its states.

Legend: B rows, L subwords of the longest row, H width. A mask (B, L) is true where a state counts.

Keeping the lowest layers of an encoder as they are while a task is learnt (Wu & Dredze 2019, section 4.4).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from interlace.core.errors import CheckpointError, SettingsError
from interlace.data.tokenizer_files import without_code
from interlace.models.attention import attention_arguments
from interlace.models.checkpoint_files import quiet
from interlace.models.families import family_of, traits_of
from interlace.models.languages import FOLDED, fold_weights
from interlace.text.lines import atomic_folder, must_be_replaceable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor

    from interlace.data.vocab import Vocab
    from interlace.models.families import Traits


class Backbone(nn.Module):
    """An encoder with a vocabulary head that is applied only where something is predicted.

    model: a transformers model with a masked-language-model head.
    carried: weights of the original checkpoint that this model has no place for (a pooler), written back at export.
    notes: what a person should know about how it was made.
    begun: plain data on what its weights began as, beyond what settings say; for the records of a run.
    causal: whether it reads from left to right where a call does not say, and is exported as a causal model.
    fresh_head: whether weights of its vocabulary head were drawn by chance, so that it predicts nothing yet.
    """

    def __init__(
        self,
        model: Any,
        carried: dict[str, Tensor] | None = None,
        notes: tuple[str, ...] = (),
        *,
        causal: bool = False,
        fresh_head: bool = False,
    ) -> None:
        super().__init__()
        self.model = model
        self.family = family_of(model.config)
        self.traits: Traits = traits_of(model.config)
        self.carried = carried or {}
        self.notes = notes
        self.begun: dict[str, Any] = {}
        self.causal = causal
        self.fresh_head = fresh_head

    def encode(self, inputs: dict[str, Tensor], *, causal: bool | None = None) -> Tensor:
        """(B, L, H) states of the last layer; the vocabulary head is not run.

        Args:
            inputs: `input_ids` (B, L) and, where wanted, `attention_mask`, `position_ids` and the language input that
                `traits` names, all (B, L). Without a mask attention runs without one, which is faster.
            causal: whether a subword sees only itself and those before it; none: as the backbone is. Rows must then be
                padded on the right.

        Raises:
            SettingsError: an input that this family would silently ignore or misread, or a row that is too long.
        """
        states: Tensor = self._encoder(inputs, causal=causal).last_hidden_state
        return states

    def hidden_states(self, inputs: dict[str, Tensor], *, causal: bool | None = None) -> tuple[Tensor, ...]:
        """(B, L, H) states after the embeddings and after each layer, the last of them equal to `encode`'s."""
        return tuple(self._encoder(inputs, causal=causal, output_hidden_states=True).hidden_states)

    def logits(self, states: Tensor) -> Tensor:
        """(N, V) scores of the vocabulary from (N, H) states, by the checkpoint's own whole head."""
        return self.family.logits(self.model, states)

    @property
    def input_embeddings(self) -> Tensor:
        """(V, H) the input embeddings."""
        weight: Tensor = self.model.get_input_embeddings().weight
        return weight

    @property
    def language_embeddings(self) -> Tensor:
        """(L, H) the language embeddings, a row an id of `traits.languages`; (0, H) where the model has none."""
        found = self.family.language_embedding(self.model)
        return self.input_embeddings.new_zeros(0, self.width) if found is None else found.weight

    @property
    def vocab_size(self) -> int:
        """Rows of the table; may exceed the tokenizer's where a checkpoint was padded."""
        return int(self.input_embeddings.shape[0])

    @property
    def width(self) -> int:
        """H."""
        return int(self.input_embeddings.shape[1])

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.input_embeddings.device

    def save_pretrained(
        self,
        folder: Path,
        vocab: Vocab,
        *,
        fold_language: str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> Path:
        """Write an ordinary checkpoint with its tokenizer, which plain transformers opens; whole or not at all.

        Args:
            folder: where; a checkpoint that stands there is replaced, anything else is refused.
            vocab: the vocabulary the model was trained with.
            fold_language: the language a caller gets who passes no language ids.
            dtype: of the floating-point weights on disk.

        Raises:
            SettingsError: the model has no embedding for `fold_language`.
            DataError, CheckpointError: the folder holds other things or cannot be written, or the disk is full.
        """
        return export(self, folder, vocab, fold_language=fold_language, dtype=dtype)

    def _encoder(self, inputs: dict[str, Tensor], causal: bool | None, **options: Any) -> Any:
        foreign = set(inputs) - {"input_ids", "attention_mask", "position_ids", self.traits.language_input}
        if foreign:
            name = min(foreign)
            raise SettingsError(f"{self.traits.family} models cannot read {name!r}; they would ignore or misread it")
        length, longest = inputs["input_ids"].shape[1], self.traits.max_length
        if length > longest:
            raise SettingsError(f"a row of {length} subwords, but the model reads at most {longest}; lower max_length")
        given = attention_arguments(self.model, self.family, inputs, causal=self.causal if causal is None else causal)
        return self.model.base_model(**given, **options, return_dict=True)


def export(backbone: Backbone, folder: Path, vocab: Vocab, *, fold_language: str | None, dtype: torch.dtype) -> Path:
    """See `Backbone.save_pretrained`."""
    must_be_replaceable(folder, "config.json", "checkpoint")
    tensors: dict[str, Tensor] = dict(backbone.model.state_dict())
    if fold_language is not None:
        tensors = fold_weights(backbone.model, tensors, fold_language)
    tensors = cast({**backbone.carried, **tensors}, dtype)
    try:
        with atomic_folder(folder) as partial:
            changes = _save(backbone, partial, tensors)
            _amend(partial / "config.json", {"dtype": str(dtype).removeprefix("torch."), **changes}, fold_language)
            vocab.save_files(partial)
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return folder


def _save(backbone: Backbone, folder: Path, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """Write weights and configuration; returns what the configuration must say besides.

    A causal model gets the class that plain transformers opens for causal language modelling.
    """
    model: Any = backbone.model
    changes: dict[str, Any] = {}
    if backbone.causal and backbone.family.name == "modernbert":
        model, tensors = to_decoder_form(model, tensors)
    elif backbone.causal and backbone.family.name == "xlm":
        changes = {"causal": True}
    elif backbone.causal:
        kind: Any = AutoModelForCausalLM._model_mapping[type(model.config)]  # noqa: SLF001 - the one place that knows
        changes = {"is_decoder": True, "architectures": [kind.__name__]}
    with quiet():
        model.save_pretrained(folder, state_dict=tensors)
    return changes


def cast(tensors: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """Copies on the CPU in `dtype`; tied weights stay tied, so that they are written once."""
    made: dict[tuple[Any, ...], Tensor] = {}
    cast = {}
    for name, tensor in tensors.items():
        key = (tensor.data_ptr(), tensor.shape, tensor.dtype)
        if key not in made:
            made[key] = tensor.detach().to("cpu", dtype if tensor.is_floating_point() else tensor.dtype)
        cast[name] = made[key]
    return cast


def _amend(path: Path, changes: dict[str, Any], fold_language: str | None) -> None:
    """Say in the written configuration what was done to the weights."""
    config = without_code(json.loads(path.read_text(encoding="utf-8")))
    config.update(changes)
    if fold_language is not None:
        config[FOLDED] = fold_language
    path.write_text(json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


_PARTS = "qkv"


_OWN = ("model_type", "architectures", "transformers_version", "is_causal", "use_cache", "tie_word_embeddings")


def to_decoder_form(model: Any, tensors: dict[str, Tensor]) -> tuple[Any, dict[str, Tensor]]:
    """A causal model's class instance without weights, for its configuration and its way of saving; and its weights."""
    from transformers import ModernBertDecoderConfig, ModernBertDecoderForCausalLM

    config = ModernBertDecoderConfig(**_shared(model.config, ModernBertDecoderConfig))
    with torch.device("meta"):
        decoder = ModernBertDecoderForCausalLM(config)
    renamed: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if ".attn.Wqkv." in name:
            for part, third in zip(_PARTS, tensor.chunk(3), strict=True):
                renamed[name.replace("Wqkv", f"{part}_proj")] = third.clone()
        else:
            renamed[re.sub(r"^head\.", "lm_head.", name)] = tensor
    return decoder, renamed


def to_encoder_form(decoder: Any) -> Any:
    """The same model in the encoder's form, with the same weights."""
    from transformers import ModernBertConfig, ModernBertForMaskedLM

    config = ModernBertConfig(**_shared(decoder.config, ModernBertConfig))
    make: Any = ModernBertForMaskedLM._from_config  # noqa: SLF001 - how transformers makes one of a given attention
    model = make(config, dtype=torch.float32, attn_implementation=decoder.config._attn_implementation)  # noqa: SLF001
    tensors = decoder.state_dict()
    renamed: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if found := re.search(r"\.([qkv])_proj\.", name):
            parts = [tensors[name.replace(f"{found[1]}_proj", f"{part}_proj")] for part in _PARTS]
            renamed[name.replace(f"{found[1]}_proj", "Wqkv")] = torch.cat(parts)
        else:
            renamed[encoder_name(name)] = tensor
    model.load_state_dict(renamed)
    return model.eval()


def encoder_name(name: str) -> str:
    """What the encoder's form calls a weight of the decoder's head."""
    return re.sub(r"^lm_head\.", "head.", name)


def _shared(config: Any, kind: Any) -> dict[str, Any]:
    """What the two configurations have in common."""
    fields = set(kind().to_dict()) - set(_OWN)
    shared = {name: value for name, value in config.to_dict().items() if name in fields}
    return {**shared, "local_attention": 2 * config.sliding_window, "tie_word_embeddings": config.tie_word_embeddings}


How = Literal["first", "mean", "max"]


def pool(states: Tensor, mask: Tensor | None = None, how: How = "mean") -> Tensor:
    """(B, H) from (B, L, H); without a mask every state counts, and a row where none does gives zeros."""
    if mask is None:
        mask = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
    return {"first": first, "mean": mean, "max": largest}[how](states, mask.bool())


def countable(input_ids: Tensor, real: Tensor | None, specials: Sequence[int]) -> Tensor:
    """(B, L) mask of the real subwords that are not among `specials`: what to pool to leave specials out."""
    special = torch.isin(input_ids, torch.as_tensor(specials, device=input_ids.device))
    return ~special if real is None else real.bool() & ~special


def first(states: Tensor, mask: Tensor) -> Tensor:
    """The first state that counts (BERT's and XLM's sentence vector)."""
    places = mask.int().argmax(dim=1)
    rows = torch.arange(len(states), device=states.device)
    return states[rows, places] * mask.any(dim=1, keepdim=True)


def mean(states: Tensor, mask: Tensor) -> Tensor:
    """Their mean, summed in float32."""
    total = (states.float() * mask.unsqueeze(-1)).sum(dim=1)
    return (total / mask.sum(dim=1, keepdim=True).clamp(min=1)).to(states.dtype)


def largest(states: Tensor, mask: Tensor) -> Tensor:
    """The largest of each component."""
    hidden = states.masked_fill(~mask.unsqueeze(-1), float("-inf"))
    return hidden.amax(dim=1).masked_fill(~mask.any(dim=1, keepdim=True), 0.0)


# Layers are numbered in a list of modules; XLM has four such lists, one a part of a layer.
_LAYER = re.compile(r"(?:^|\.)(?:layers?|attentions|layer_norm[12]|ffns)\.(\d+)\.")


_TABLES = ("embeddings.", "position_embeddings.", "lang_embeddings.", "layer_norm_emb.")


_LAST = ("final_norm.",)  # ModernBERT's, behind the last layer


def freeze_layers(backbone: Backbone, layers: int) -> int:
    """Take the embeddings and the lowest `layers` layers out of training; 0: the embeddings alone, all: the encoder.

    Returns:
        How many parameters are frozen.

    Raises:
        SettingsError: the model has fewer layers.
    """
    there = int(backbone.model.config.num_hidden_layers)
    if layers > there:
        raise SettingsError(f"tuning.freeze = {layers}, but the model has {there} layers")
    frozen, outside = 0, _TABLES + (_LAST if layers == there else ())
    for name, parameter in backbone.model.base_model.named_parameters():
        layer = _LAYER.search(name)
        if int(layer[1]) < layers if layer else name.startswith(outside):
            parameter.requires_grad_(requires_grad=False)
            frozen += parameter.numel()
    return frozen


def freeze_unused_bias(model: Any) -> None:
    """Untied BERT and RoBERTa heads hold a bias that nothing reads; without a gradient it would stop DDP."""
    head: Any = getattr(getattr(model, "cls", None), "predictions", None) or getattr(model, "lm_head", None)
    bias = getattr(head, "bias", None)
    if bias is not None and bias is not head.decoder.bias:
        bias.requires_grad_(False)
