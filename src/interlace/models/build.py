"""Making a backbone: fresh from a shape, or from a checkpoint in a folder or on the Hugging Face hub.

Torch and transformers are imported when something is made, so that reading a recipe stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlace.core.errors import CheckpointError, SettingsError
from interlace.core.randomness import Purpose, generator, torch_seed
from interlace.models import _files
from interlace.models.families import DECODER, MODEL_TYPES, SEQ2SEQ, Family
from interlace.models.languages import Arrival, append, arrive, level_segments
from interlace.models.shape import Attention, ModelSettings, Shape, Take

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.models.extension import NewRows

__all__ = ["ModelSettings", "Shape", "fresh", "load", "redrawn"]

ROUND, SHARE = 128, 50  # a table may have more rows than its tokenizer: rounded up, or by one part in fifty
READS_CAUSALLY = ("is_decoder", "causal")  # how configurations of BERT and RoBERTa, and of XLM, say so
HIGHEST_PAD = 1024  # RoBERTa keeps a position for every id up to the padding's


def fresh(
    shape: Shape,
    vocab: Vocab,
    languages: Sequence[str] = (),
    seed: int = 0,
    *,
    attention: Attention = "auto",
    causal: bool = False,
) -> Backbone:
    """A new model; its weights depend on the shape, the vocabulary's size and the seed only.

    Segment rows of BERT start equal. The weights are the same whether it is `causal` or not.

    Raises:
        SettingsError: the family cannot take language embeddings, or this vocabulary.
    """
    import torch
    from transformers import AutoModelForMaskedLM

    from interlace.models._kernels import install
    from interlace.models._quiet import quiet
    from interlace.models.backbone import Backbone

    config = config_of(shape, vocab)
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(Purpose.INIT, seed))
        kernel = None if attention == "auto" else attention
        maker: Any = AutoModelForMaskedLM
        model = maker.from_config(config, dtype=torch.float32, attn_implementation=kernel, trust_remote_code=False)
    level_segments(model)
    if languages:
        append(model, languages, generator(Purpose.INIT, seed, step=1))
    freeze_spare_bias(model)
    install(model, own_attention=attention == "auto")
    return Backbone(model, causal=causal)


def load(
    start: str | Path,
    vocab: Vocab | None = None,
    languages: Sequence[str] = (),
    *,
    attention: Attention = "auto",
    seed: int = 0,
    causal: bool | None = None,
    arrival: Arrival = Arrival(),  # noqa: B008 - frozen
    new_subwords: NewRows = "mean",
) -> Backbone:
    """A checkpoint as a float32 backbone, with an embedding for each of `languages`; its own code is never run.

    A checkpoint of an encoder alone gets a fresh vocabulary head (keyed by `seed`), which `notes` says. A translation
    model comes as a `Seq2Seq`.

    Args:
        start: folder, or name on the Hugging Face hub.
        vocab: the checkpoint's own, or one that extends it: then the tables grow.
        languages: those that get an embedding each where they have none.
        attention: the kernel.
        seed: of fresh weights.
        causal: whether it goes on as a causal model; none: as the checkpoint is.
        arrival: by which names the checkpoint knows languages, and what new ones begin as.
        new_subwords: what rows of subwords begin as that `vocab` has beyond the checkpoint's.

    Raises:
        CheckpointError: it is missing, damaged, of a kind that cannot be a backbone, or of another vocabulary.
        SettingsError: its family cannot take language embeddings or the attention kernel, or it lacks a language.
    """
    from interlace.models._kernels import install
    from interlace.models.backbone import Backbone
    from interlace.models.extension import extend

    folder = _files.find(start)
    config = _files.read_config(folder)
    if config["model_type"] in SEQ2SEQ:
        from interlace.models._seq2seq_files import reopen

        return reopen(folder, config, vocab, languages, attention, seed, arrival, new_subwords)
    if vocab is not None:
        check_vocab(config, vocab, folder)
    files = _files.weights(folder)
    model, info = _open(folder, config, attention, seed)
    family = MODEL_TYPES[config["model_type"]]
    drawn = _drawn(info["missing_keys"], family, folder)
    notes = (f"{folder}: has no whole vocabulary head; drawn fresh: {', '.join(drawn)}",) if drawn else ()
    arrive(model, languages, arrival)
    if vocab is not None and vocab.extension is not None:
        extend(model, vocab.extension, new_subwords, seed)
    freeze_spare_bias(model)
    install(model, own_attention=attention == "auto")
    carried = _carried(files, info["unexpected_keys"], model)
    causal = _is_causal(config) if causal is None else causal
    return Backbone(model, carried, notes, causal=causal, fresh_head=bool(drawn))


def redrawn(backbone: Backbone, take: Take, seed: int = 0) -> Backbone:
    """A model of the same shape, languages and attention with fresh weights; `take = "embeddings"` keeps the table."""
    import torch
    from transformers import AutoModelForMaskedLM

    from interlace.models._kernels import NAME, install
    from interlace.models._quiet import quiet
    from interlace.models.backbone import Backbone

    kernel = backbone.model.config._attn_implementation  # noqa: SLF001 - transformers asks the same way
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(Purpose.INIT, seed))
        maker: Any = AutoModelForMaskedLM
        kind = None if kernel == NAME else kernel
        model = maker.from_config(
            backbone.model.config, dtype=torch.float32, attn_implementation=kind, trust_remote_code=False
        )
    if take == "embeddings":
        model.get_input_embeddings().weight.data.copy_(backbone.table.data)
    level_segments(model)
    freeze_spare_bias(model)
    install(model, own_attention=kernel == NAME)
    return Backbone(model, causal=backbone.causal)


def config_of(shape: Shape, vocab: Vocab) -> Any:
    """The transformers configuration of a fresh encoder."""
    import transformers

    common: dict[str, Any] = {
        "vocab_size": vocab.size,
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.inner,
        "pad_token_id": vocab.pad,
        "bos_token_id": vocab.begin,
        "eos_token_id": vocab.end,
        "tie_word_embeddings": shape.tie,
        "initializer_range": shape.init_std,
    }
    drop: dict[str, Any] = {
        "hidden_dropout_prob": shape.dropout,
        "attention_probs_dropout_prob": shape.attention_dropout,
    }
    if shape.family == "bert":
        return transformers.BertConfig(max_position_embeddings=shape.max_length, **drop, **common)
    if shape.family == "roberta":
        if vocab.pad > HIGHEST_PAD:
            message = f"a roberta model keeps {vocab.pad + 1} positions for padding with this vocabulary"
            raise SettingsError(f"{message} (its padding has the id {vocab.pad}); use family = 'bert'")
        places = shape.max_length + vocab.pad + 1
        return transformers.RobertaConfig(max_position_embeddings=places, type_vocab_size=1, **drop, **common)
    return transformers.ModernBertConfig(
        max_position_embeddings=shape.max_length,
        cls_token_id=vocab.begin,
        sep_token_id=vocab.end,
        attention_dropout=shape.attention_dropout,
        embedding_dropout=shape.dropout,
        mlp_dropout=shape.dropout,
        local_attention=shape.local_attention,
        **common,
    )


def check_vocab(config: dict[str, Any], vocab: Vocab, folder: Path) -> None:
    """The tokenizer must be the checkpoint's; its size and its padding are what can be seen of that."""
    rows = int(config.get("vocab_size", config.get("n_words", 0)))
    size = vocab.size if vocab.extension is None else vocab.extension.base
    if not size <= rows <= size + max(ROUND, size // SHARE):
        raise CheckpointError(
            f"{folder}: the model has {rows} subwords, the vocabulary {size}; use the checkpoint's own tokenizer"
        )
    pad = config.get("pad_token_id", config.get("pad_index"))
    if pad is not None and pad != vocab.pad:
        raise CheckpointError(
            f"{folder}: the model pads with id {pad}, the vocabulary with {vocab.pad}; "
            "use the checkpoint's own tokenizer"
        )


def _is_causal(config: dict[str, Any]) -> bool:
    """Whether a configuration is a causal model's."""
    return config["model_type"] == DECODER or any(config.get(key) is True for key in READS_CAUSALLY)


def _open(folder: Path, config: dict[str, Any], attention: Attention, seed: int) -> tuple[Any, dict[str, Any]]:
    import torch
    import transformers
    from safetensors import SafetensorError

    from interlace.models._decoder import as_encoder, encoder_name
    from interlace.models._quiet import quiet

    decoder = config["model_type"] == DECODER
    opener: Any = transformers.AutoModelForCausalLM if decoder else transformers.AutoModelForMaskedLM
    both_ways = {key: False for key in READS_CAUSALLY if config.get(key) is True}
    try:
        own = transformers.CONFIG_MAPPING[config["model_type"]].from_dict({**config, **both_ways})
        with quiet(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(torch_seed(Purpose.INIT, seed))
            model, info = opener.from_pretrained(
                folder,
                config=own,
                dtype=torch.float32,
                attn_implementation=None if attention == "auto" else attention,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except (RuntimeError, OSError, ValueError, SafetensorError) as error:
        reason = str(error).partition("\n")[0]
        if attention != "auto" and "attention" in reason:
            raise SettingsError(f"attention = {attention!r}: {folder} cannot: {reason}") from error
        raise CheckpointError(f"{folder}: cannot be opened: {reason}") from error
    if decoder:
        return as_encoder(model), {**info, "missing_keys": {encoder_name(key) for key in info["missing_keys"]}}
    return model, info


def _drawn(missing: set[str], family: Family, folder: Path) -> list[str]:
    """Weights of the head that were drawn fresh; a hole anywhere else is damage."""
    holes = sorted(name for name in missing if not name.startswith(family.head))
    if holes:
        raise CheckpointError(f"{folder}: lacks {len(holes)} weights of a {family.name} encoder, such as {holes[0]}")
    return sorted(missing)


def _carried(files: dict[str, Path], unexpected: set[str], model: Any) -> dict[str, Any]:
    """Weights that the model has no place for, under the names they have in a checkpoint with a head."""
    prefix = f"{model.base_model_prefix}."
    bare = not any(name.startswith(prefix) for name in files)  # written from an encoder alone
    tensors = _files.read(files, unexpected & set(files))
    return {prefix + name if bare else name: tensor for name, tensor in tensors.items()}


def freeze_spare_bias(model: Any) -> None:
    """Untied BERT and RoBERTa heads hold a bias that nothing reads; without a gradient it would stop DDP."""
    head: Any = getattr(getattr(model, "cls", None), "predictions", None) or getattr(model, "lm_head", None)
    bias = getattr(head, "bias", None)
    if bias is not None and bias is not head.decoder.bias:
        bias.requires_grad_(False)
