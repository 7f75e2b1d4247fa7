"""The backbone: a thin module around a transformers masked language model, with encoder and vocabulary head apart.

Legend: B sequences, L tokens of the longest sequence, H width, N predictions, V vocabulary, D dimensions of sentence
vectors.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from interlace.core.errors import CheckpointError, SettingsError
from interlace.core.files import atomic_folder, must_be_replaceable
from interlace.core.json_files import JsonObject, read_json
from interlace.data.tokenizer_files import without_code
from interlace.data.vocab import Vocab
from interlace.models import cast_weights
from interlace.models.attention import attention_arguments
from interlace.models.checkpoint_files import CHECKPOINT_FILES, CONFIG, quiet, write_config
from interlace.models.families import (
    SEQUENCE_ENDS,
    Traits,
    VocabularyHead,
    family_of,
    traits_of,
)
from interlace.models.languages import FOLDED_KEY, fold_weights

Tensors = dict[str, Tensor]  # inputs or weights by name

Pooling = Literal["first", "mean", "max"]

# of a dense layer after pooling, by the name of torch's class
ACTIVATIONS: dict[str, type[nn.Module]] = {"Identity": nn.Identity, "Tanh": nn.Tanh}

_EMBEDDINGS = (
    "embeddings.",
    "embed_tokens.",
    "position_embeddings.",
    "lang_embeddings.",
    "layer_norm_emb.",
)


class SentenceHead(nn.Module):
    """The sentence vectors that a model was trained for: its last states, special tokens included, are pooled.

    dense: a layer after pooling, as LaBSE has one. activation: its activation, a key of `ACTIVATIONS`.
    """

    def __init__(
        self,
        pooling: Pooling = "mean",
        dense: nn.Linear | None = None,
        activation: str = "Identity",
    ) -> None:
        super().__init__()
        self.pooling: Pooling = pooling
        self.dense = dense
        self.activation = activation
        self.activate = ACTIVATIONS[activation]()

    def forward(self, states: Tensor, real: Tensor) -> Tensor:
        """Return (B, D) float32 vectors of any length from (B, L, H) states; real: (B, L) false at padding."""
        vectors = pool(states.float(), real, self.pooling)
        if self.dense is None:
            return vectors
        return self.activate(self.dense(vectors)).float()


class Backbone(nn.Module):
    """An encoder with a vocabulary head that is applied only where something is predicted.

    model: a transformers model with a masked-language-model head.
    extra_weights: weights of the original checkpoint that this model has no place for (a pooler); export writes them.
    notes: remarks for the user on how the model was made.
    causal: whether attention is causal where a call does not say, and the model is exported as a causal one.
    fresh_head: whether the vocabulary head has random weights, so that predictions are meaningless.
    sentence_head: of the sentence vectors that the model was trained for, or None.
    length_multiple: padded batches are padded further to a multiple of it, so that compiled shapes repeat.
    max_packed_length: maximum tokens of a sequence in a packed row; 0: no row is packed.
    """

    length_multiple = 1
    max_packed_length = 0

    def __init__(
        self,
        model: Any,
        extra_weights: Tensors | None = None,
        notes: tuple[str, ...] = (),
        *,
        causal: bool = False,
        fresh_head: bool = False,
        sentence_head: SentenceHead | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.family = family_of(model.config)
        self.traits: Traits = traits_of(model.config)
        self.extra_weights = extra_weights or {}
        self.notes = notes
        self.causal = causal
        self.fresh_head = fresh_head
        self.sentence_head = sentence_head

    def encode(self, inputs: Tensors, *, causal: bool | None = None) -> Tensor:
        """Return the (B, L, H) states of the last layer; the vocabulary head is not run.

        Args:
            inputs: `input_ids` (B, L) and optionally `attention_mask`, `position_ids` and the language input that
                `traits` names, all (B, L). Leave the mask out where nothing is padded: attention is then faster.
                Of a packed row (B = 1) also `SEQUENCE_ENDS`: 0 and the end of each sequence.
            causal: whether a token sees only itself and earlier ones; None: the backbone's own setting. Causal
                sequences must be padded on the right.

        Raises:
            SettingsError: an input that this family would silently ignore or misread, or a sequence that is too long.
        """
        return self._encoder(inputs, causal=causal).last_hidden_state

    def hidden_states(
        self, inputs: Tensors, *, causal: bool | None = None
    ) -> tuple[Tensor, ...]:
        """Return the (B, L, H) states after the embeddings and after each layer; the last equal those of `encode`."""
        return tuple(
            self._encoder(inputs, causal=causal, output_hidden_states=True).hidden_states
        )

    def sentence_vectors(self, inputs: Tensors) -> Tensor:
        """Return the (B, D) float32 sentence vectors that the model was trained for; inputs: as of `encode`.

        Without a `sentence_head` they are the mean of the last states.
        """
        states = self.encode(inputs)
        real = inputs.get("attention_mask", torch.ones_like(inputs["input_ids"]))
        head = self.sentence_head or SentenceHead()
        vectors: Tensor = head(states, real)
        return vectors

    def logits(self, states: Tensor) -> Tensor:
        """Return the (N, V) scores of the vocabulary from (N, H) states, by the checkpoint's own head."""
        head = self.vocabulary_head()
        return head.decoder(head.features(states))

    def vocabulary_head(self) -> VocabularyHead:
        """Return the parts of the checkpoint's own head."""
        return self.family.vocabulary_head(self.model)

    @property
    def encoder(self) -> "Backbone":
        """The encoder alone, with the same weights: the backbone itself, unless it has a decoder."""
        return self

    @property
    def input_embeddings(self) -> Tensor:
        """(V, H) weights of the input embeddings; of RemBERT, fewer columns."""
        return self.model.get_input_embeddings().weight

    @property
    def language_embeddings(self) -> Tensor:
        """(languages, H) weights of the language embeddings, by id of `traits.languages`; (0, H) without any."""
        embedding = self.family.language_embedding(self.model)
        if embedding is None:
            return self.input_embeddings.new_zeros(0, self.width)
        return embedding.weight

    @property
    def vocab_size(self) -> int:
        """Number of input embeddings; more than the tokenizer's size where a checkpoint was padded."""
        return int(self.input_embeddings.shape[0])

    @property
    def width(self) -> int:
        """H; the input embeddings of some models are narrower."""
        return int(self.model.config.hidden_size)

    @property
    def sentence_width(self) -> int:
        """Number of dimensions of `sentence_vectors`."""
        if self.sentence_head is None or self.sentence_head.dense is None:
            return self.width
        return self.sentence_head.dense.out_features

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.input_embeddings.device

    def save_pretrained(
        self,
        folder: Path,
        vocab: Vocab,
        *,
        fold_language: str | None = None,
        dtype: torch.dtype = torch.float32,
        head: bool = True,
    ) -> Path:
        """Write an ordinary checkpoint with its tokenizer that plain transformers can load, atomically.

        folder: target folder; an existing checkpoint is replaced, any other content is refused.
        fold_language: the language that callers without language ids get. It must have an embedding.
        dtype: data type of the floating-point weights on disk.
        head: whether to write the vocabulary head; that of a translation model is always written.
        """
        must_be_replaceable(folder, CONFIG, "checkpoint", CHECKPOINT_FILES)
        try:
            with atomic_folder(folder) as partial:
                self._write(partial, vocab, fold_language, dtype, head=head)
                vocab.save_files(partial)
        except OSError as error:
            raise CheckpointError(
                f"{folder}: cannot be written: {error.strerror or error}"
            ) from error
        return folder

    def _write(
        self,
        folder: Path,
        vocab: Vocab,  # noqa: ARG002
        fold_language: str | None,
        dtype: torch.dtype,
        *,
        head: bool,
    ) -> None:
        """Write weights and configuration; a causal model as transformers' class for causal language modeling.

        transformers has none for a ModernBERT of this form: it opens a causal one as a masked model.
        """
        from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

        model: Any = self.model
        tensors: Tensors = dict(model.state_dict())
        if not head:
            tensors = {
                name: tensor
                for name, tensor in tensors.items()
                if not self.family.is_head(name)
            }
        changes: JsonObject = {"dtype": str(dtype).removeprefix("torch.")}
        if fold_language is not None:
            tensors = fold_weights(model, tensors, fold_language)
            changes[FOLDED_KEY] = fold_language
        tensors = cpu_copies({**self.extra_weights, **tensors}, dtype)
        if self.causal:
            changes[self.family.causal_key] = True
            class_name = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(model.config.model_type)
            if class_name is not None:
                changes["architectures"] = [class_name]
        if getattr(model.config, "scale_decoder_outputs", True) is False:
            changes["tie_word_embeddings"] = False  # by which transformers knows T5 1.1
        with quiet():
            # not under the names of the published checkpoint, which transformers would not map again
            original = not self.family.renamed
            model.save_pretrained(folder, state_dict=tensors, save_original_format=original)
        config = without_code(read_json(folder / CONFIG))
        write_config(folder / CONFIG, {**config, **changes})

    def _encoder(self, inputs: Tensors, causal: bool | None, **options: Any) -> Any:
        foreign = set(inputs) - {
            "input_ids",
            "attention_mask",
            "position_ids",
            self.traits.language_input,
            SEQUENCE_ENDS,
        }
        if foreign:
            name = min(foreign)
            raise SettingsError(
                f"{self.traits.family} models cannot read {name!r}; they would ignore or misread it"
            )
        limit = self.traits.max_length
        if SEQUENCE_ENDS in inputs:
            options["max_length_q"] = self.max_packed_length
            length = self.max_packed_length
        else:
            length = inputs["input_ids"].shape[1]
        if length > limit:
            raise SettingsError(
                f"a sequence of {length} tokens, but the model reads at most {limit}; lower max_length"
            )
        padding = 0
        if "attention_mask" in inputs:
            padding = min(-length % self.length_multiple, limit - length)
        if padding:
            inputs = {name: pad(tensor, (0, padding)) for name, tensor in inputs.items()}
        if causal is None:
            causal = self.causal
        arguments = attention_arguments(self.model, self.family, inputs, causal=causal)
        encoder = self.family.encoder(self.model)
        output = cast_weights.call(encoder, **arguments, **options, return_dict=True)
        if padding:
            output.last_hidden_state = output.last_hidden_state[:, :length]
            if output.hidden_states:
                output.hidden_states = tuple(
                    states[:, :length] for states in output.hidden_states
                )
        return output


def cpu_copies(tensors: Tensors, dtype: torch.dtype) -> Tensors:
    """Return copies on the CPU in `dtype`; tied weights stay tied, so they are written once."""
    by_memory: dict[tuple[Any, ...], Tensor] = {}
    copies = {}
    for name, tensor in tensors.items():
        key = (tensor.data_ptr(), tensor.shape, tensor.dtype)
        if key not in by_memory:
            by_memory[key] = tensor.detach().to(
                "cpu", dtype if tensor.is_floating_point() else tensor.dtype
            )
        copies[name] = by_memory[key]
    return copies


def pool(states: Tensor, mask: Tensor, how: Pooling) -> Tensor:
    """Return one (B, H) vector a sequence from (B, L, H) states; zeros for a sequence without a state to pool.

    mask: (B, L) true where a state counts. how: the first state (BERT's and XLM's sentence vector), the mean
    (summed in float32) or the maximum.
    """
    mask = mask.bool()
    counts = mask.sum(dim=1, keepdim=True)
    if how == "mean":
        total = (states.float() * mask[:, :, None]).sum(dim=1)
        return (total / counts.clamp(min=1)).to(states.dtype)
    if how == "first":
        rows = torch.arange(len(states), device=states.device)
        pooled = states[rows, mask.int().argmax(dim=1)]
    else:
        pooled = states.masked_fill(~mask[:, :, None], float("-inf")).amax(dim=1)
    return pooled.masked_fill(counts == 0, 0.0)


def parts_of(backbone: Backbone) -> dict[str, list[nn.Parameter]]:
    """Return the parameters of `embeddings` and of `head`; tied weights of a head belong to the embeddings."""
    encoder = backbone.model.base_model
    embeddings = [
        parameter
        for name, parameter in encoder.named_parameters()
        if name.startswith(_EMBEDDINGS)
    ]
    of_encoder = set(encoder.parameters())
    head = [
        parameter for parameter in backbone.model.parameters() if parameter not in of_encoder
    ]
    return {"embeddings": embeddings, "head": head}


def unused_bias(model: Any) -> Tensor | None:
    """Return the bias of an untied BERT or RoBERTa head that nothing reads, or None."""
    bert_head = getattr(getattr(model, "cls", None), "predictions", None)
    head: Any = bert_head or getattr(model, "lm_head", None)
    bias: Tensor | None = getattr(head, "bias", None)
    if bias is None or bias is model.get_output_embeddings().bias:
        return None
    return bias


def freeze_unused_bias(model: Any) -> None:
    """Freeze the bias that nothing reads: without a gradient it would stop DistributedDataParallel."""
    bias = unused_bias(model)
    if bias is not None:
        bias.requires_grad_(False)


def untied_state(model: Any) -> Tensors:
    """Return the state of a model by name, each tied tensor once, under its first name."""
    seen: set[tuple[int, Any]] = set()
    untied = {}
    for name, tensor in model.state_dict().items():
        key = (tensor.data_ptr(), tensor.shape)
        if key not in seen:
            untied[name] = tensor
        seen.add(key)
    return untied


@contextmanager
def eval_mode(*models: nn.Module) -> Iterator[None]:
    """Switch models to evaluation mode; afterwards each of their parts has its previous mode."""
    training_modules = []
    for model in models:
        training_modules += [module for module in model.modules() if module.training]
        model.eval()
    try:
        yield
    finally:
        for module in training_modules:
            module.training = True
