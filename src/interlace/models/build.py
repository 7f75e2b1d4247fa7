"""Making a backbone or an encoder-decoder: from settings, from a shape, or from a checkpoint; what of it is trained."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from interlace.core.display import listed
from interlace.core.errors import CheckpointError, MissingDependencyError, SettingsError, did_you_mean
from interlace.core.files import user_path
from interlace.core.finite import check_finite_weights
from interlace.core.randomness import Purpose, generator, torch_seed
from interlace.data.vocab import Vocab
from interlace.models.attention import NAME, install_kernels
from interlace.models.backbone import Backbone, encoder_weight_name, freeze_unused_bias, parts_of, to_encoder_form
from interlace.models.checkpoint_files import find_checkpoint, opening, quiet, read_config, read_weights, weight_files
from interlace.models.families import DECODER, LANGUAGES_KEY, MODEL_TYPES, SEQ2SEQ, family_of
from interlace.models.languages import LanguageMapping, add_languages, equalize_segments, map_languages
from interlace.models.seq2seq import (
    DECODER_SIDE,
    ENCODER_SIDE,
    SEQ2SEQ_KEY,
    Seq2Seq,
    copy_weights,
    empty_decoder,
    fresh_decoder,
    join,
    untied_state,
)
from interlace.models.settings import (
    Attention,
    DecoderSettings,
    LoraSettings,
    ModelSettings,
    Shape,
    Take,
    chosen_layers,
)
from interlace.models.token_embeddings import extend_embeddings, initialize_from_vectors

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.decoder import CrossAttentionDecoder

_ATTENTION = re.compile(r"\b(attentions?|attn)\b")
_IN_LAYER = re.compile(r"\.\d+\.")
_CAUSAL_KEYS = ("is_decoder", "causal")  # of causal configurations of BERT and RoBERTa, and of XLM


def build_model(
    settings: ModelSettings,
    vocab: Vocab,
    languages: Sequence[str],
    seed: int = 0,
    *,
    causal: bool = False,
    seq2seq: bool = False,
) -> Backbone:
    """Return the backbone that settings, the `[model]` section of a recipe, describe.

    languages: of the recipe, which get embeddings if the settings ask for them. seed: of random weights.
    causal: build a causal model; any family here can be one. seq2seq: build a translation model, a `Seq2Seq`.

    Raises:
        CheckpointError: the start is missing, damaged, or does not fit the vocabulary.
        SettingsError: the family, the languages or the width of the start or of the vectors do not fit the settings.
        DataError: there are no vectors, or none of a token of the vocabulary.
    """
    if seq2seq and (settings.freeze or settings.lora is not None):
        raise SettingsError("model.freeze and model.lora are for encoders; a translation model is trained as a whole")
    if seq2seq:
        built: Backbone = _build_seq2seq(settings, vocab, languages, seed)
    else:
        built = _whole_start(settings, vocab, languages, seed, causal=causal)
        built = built.encoder if isinstance(built, Seq2Seq) else built
        built = built if settings.take == "whole" else reinitialized(built, settings.take, seed)
    if settings.vectors is not None:
        fresh, decoder = [built.model], settings.decoder  # transformers models whose weights come from no checkpoint
        if isinstance(built, Seq2Seq) and (decoder is None or decoder.start is None or decoder.take == "none"):
            fresh.append(built.decoder.model)
        initialize_from_vectors(built, fresh, settings, vocab)
    select_trained_parts(built, settings, seed)
    return built


def _build_seq2seq(settings: ModelSettings, vocab: Vocab, languages: Sequence[str], seed: int) -> Seq2Seq:
    """Return an encoder-decoder, each side from its own start.

    Conneau & Lample (2019, section 5.1) start each side from random weights, a causal or a masked model; a decoder
    takes the layers of either, with embeddings and head.
    """
    decoding = settings.decoder or DecoderSettings()
    backbone = _whole_start(settings, vocab, languages, seed)
    if isinstance(backbone, Seq2Seq):
        if settings.take != "whole" or (settings.decoder is not None and settings.decoder != DecoderSettings()):
            message = f"model.start = {settings.start!r} is a translation model, which is continued as a whole"
            raise SettingsError(f"{message}; remove model.take and [model.decoder]")
        return backbone
    encoder = backbone if settings.take == "whole" else reinitialized(backbone, settings.take, seed)
    shared = decoding.embeddings == "shared"
    if decoding.shape is not None:
        return join(encoder, _decoder_of_shape(decoding.shape, encoder, vocab, seed), share=shared)
    same = _is_same_start(decoding.start, settings.start)
    source = backbone if same else _decoder_start(settings, str(decoding.start), vocab, languages, seed)
    available = int(source.model.config.num_hidden_layers)
    if decoding.layers is not None and decoding.layers > available:
        raise SettingsError(f"model.decoder.layers = {decoding.layers}, but its start has {available}")
    decoder = fresh_decoder(source.model.config, seed, decoding.layers)
    if decoding.take != "none" and (settings.start or decoding.start):
        if decoding.take == "whole":
            copy_weights(decoder, source.model)
        else:
            decoder.model.get_input_embeddings().weight.data.copy_(source.input_embeddings.data)
        if shared:
            own = settings.start is not None and settings.take != "none" and not same
            _copy_shared_embeddings(settings, decoding, encoder, source, own=own)
    return join(encoder, decoder, share=shared, notes=() if source is backbone else source.notes)


def _whole_start(
    settings: ModelSettings,
    vocab: Vocab,
    languages: Sequence[str],
    seed: int,
    *,
    causal: bool = False,
    start: str | None = None,
) -> Backbone:
    """Return the whole model of `start`, by default that of the settings, or a fresh one of their shape."""
    names = tuple(languages) if settings.languages == "embeddings" else ()
    start, attention = start or settings.start, settings.attention
    if start is None:
        return from_shape(settings.shape or Shape(), vocab, names, seed, attention=attention, causal=causal)
    mapping = LanguageMapping(settings.language_names, settings.language_copies)
    return load(start, vocab, names, attention=attention, seed=seed, causal=causal, mapping=mapping)


def _decoder_of_shape(shape: Shape, encoder: Backbone, vocab: Vocab, seed: int) -> CrossAttentionDecoder:
    """Return a fresh decoder with the encoder's language ids, if its family has language embeddings."""
    config = encoder_config(shape, vocab)
    config.vocab_size = encoder.vocab_size
    languages = encoder.traits.languages
    if languages and family_of(config).language_input is not None:
        config.type_vocab_size = max(config.type_vocab_size, 1 + max(languages.values()))
        setattr(config, LANGUAGES_KEY, languages)
    return fresh_decoder(config, seed)


def _decoder_start(settings: ModelSettings, start: str, vocab: Vocab, languages: Sequence[str], seed: int) -> Backbone:
    """Return the checkpoint of a decoder that starts from another one than the encoder; check its vocabulary."""
    theirs = Vocab.load(start).tokenizer.get_vocab(with_added_tokens=True)
    other = next((token for token, number in theirs.items() if vocab.tokenizer.token_to_id(token) != number), None)
    if other is not None:
        message = f"model.decoder.start = {start!r}: its vocabulary is not the model's ({other!r} has another id)"
        raise SettingsError(f"{message}; both sides must start from checkpoints with the same vocabulary")
    source = _whole_start(settings, vocab, languages, seed, start=start)
    if isinstance(source, Seq2Seq):
        message = f"model.decoder.start = {start!r} is a translation model"
        raise SettingsError(f"{message}; name it in model.start to continue with both its sides")
    return source


def _copy_shared_embeddings(
    settings: ModelSettings, decoding: DecoderSettings, encoder: Backbone, source: Backbone, *, own: bool
) -> None:
    """Copy the embeddings of the decoder's start, which both sides share.

    own: whether the encoder has embeddings of another checkpoint.
    """
    if own:
        message = f"encoder and decoder share embeddings, but {settings.start!r} and {decoding.start!r} have their own"
        raise SettingsError(f"{message}; set model.decoder.embeddings = 'own'")
    if encoder.input_embeddings.shape != source.input_embeddings.shape:
        raise SettingsError(
            f"the encoder has {encoder.vocab_size} tokens and width {encoder.width}, {decoding.start!r} has "
            f"{source.vocab_size} and {source.width}; set model.shape to that width and vocab.start to that name"
        )
    encoder.input_embeddings.data.copy_(source.input_embeddings.data)


def _is_same_start(start: str | None, encoder_start: str | None) -> bool:
    """Return whether a decoder starts from the encoder's checkpoint: it names none, or the same one."""
    if start is None or encoder_start is None:
        return start is None
    one, other = (user_path(name) for name in (start, encoder_start))
    return start == encoder_start or (one.is_dir() and other.is_dir() and one.samefile(other))


def from_shape(
    shape: Shape,
    vocab: Vocab,
    languages: Sequence[str] = (),
    seed: int = 0,
    *,
    attention: Attention = "auto",
    causal: bool = False,
) -> Backbone:
    """Return a fresh model; its weights depend only on the shape, the vocabulary's size and the seed.

    Segment embeddings of BERT start equal. The weights are the same whether the model is `causal` or not.
    Raise a SettingsError if the family cannot take language embeddings or this vocabulary.
    """
    model = _random_model(encoder_config(shape, vocab), None if attention == "auto" else attention, seed)
    equalize_segments(model)
    if languages:
        add_languages(model, languages, generator(Purpose.INIT, seed, step=1))
    return Backbone(_ready(model, attention), causal=causal)


def reinitialized(backbone: Backbone, take: Take, seed: int = 0) -> Backbone:
    """Return a model of the same shape, languages and attention with fresh weights.

    take: `"embeddings"` keeps the input embeddings.
    """
    kernel = backbone.model.config._attn_implementation  # noqa: SLF001 - transformers has no public name for it
    model = _random_model(backbone.model.config, None if kernel == NAME else kernel, seed)
    if take == "embeddings":
        model.get_input_embeddings().weight.data.copy_(backbone.input_embeddings.data)
    equalize_segments(model)
    return Backbone(_ready(model, "auto" if kernel == NAME else kernel), causal=backbone.causal)


def _ready(model: Any, attention: str) -> Any:
    """Return the model with our kernels, and without a gradient for a bias that nothing reads."""
    freeze_unused_bias(model)
    install_kernels(model, own_attention=attention == "auto")
    return model


def _random_model(config: Any, attention: str | None, seed: int | None) -> Any:
    """Return a masked language model with random weights; `seed` None: of torch's generator."""
    from transformers import AutoModelForMaskedLM

    maker: Any = AutoModelForMaskedLM
    with quiet(), torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(torch_seed(Purpose.INIT, seed))
        return maker.from_config(config, dtype=torch.float32, attn_implementation=attention, trust_remote_code=False)


def encoder_config(shape: Shape, vocab: Vocab) -> Any:
    """Return the transformers configuration of a fresh encoder; raise a SettingsError if memory cannot hold it."""
    import transformers

    size = 4 * (vocab.size * shape.width + shape.layers * (4 * shape.width**2 + 2 * shape.width * shape.inner))
    if size > (memory := os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")):
        raise SettingsError(
            f"[model.shape]: weights of {size / 2**30:,.0f} GiB, but this machine has {memory / 2**30:,.0f} GiB of "
            "memory; lower layers or width"
        )

    common: dict[str, Any] = {
        "vocab_size": vocab.size, "hidden_size": shape.width, "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads, "intermediate_size": shape.inner, "pad_token_id": vocab.pad,
        "bos_token_id": vocab.begin, "eos_token_id": vocab.end, "tie_word_embeddings": shape.tie,
        "initializer_range": shape.init_std,
    }  # fmt: skip
    dropout: Any = {"hidden_dropout_prob": shape.dropout, "attention_probs_dropout_prob": shape.attention_dropout}
    if shape.family == "bert":
        return transformers.BertConfig(max_position_embeddings=shape.max_length, **dropout, **common)
    if shape.family == "roberta":
        if vocab.pad > 1024:  # RoBERTa reserves a position for every id up to the padding's
            message = f"a roberta model reserves {vocab.pad + 1} positions for padding with this vocabulary"
            raise SettingsError(f"{message} (its padding has the id {vocab.pad}); use family = 'bert'")
        positions = shape.max_length + vocab.pad + 1
        return transformers.RobertaConfig(max_position_embeddings=positions, type_vocab_size=1, **dropout, **common)
    return transformers.ModernBertConfig(
        max_position_embeddings=shape.max_length, cls_token_id=vocab.begin, sep_token_id=vocab.end,
        attention_dropout=shape.attention_dropout, embedding_dropout=shape.dropout, mlp_dropout=shape.dropout,
        local_attention=shape.local_attention, **common,
    )  # fmt: skip


def load(
    start: str | Path,
    vocab: Vocab | None = None,
    languages: Sequence[str] = (),
    *,
    attention: Attention = "auto",
    seed: int = 0,
    causal: bool | None = None,
    mapping: LanguageMapping = LanguageMapping(),  # noqa: B008 - frozen
) -> Backbone:
    """Return a checkpoint as a float32 backbone, or as a `Seq2Seq` if it is a translation model; never run its code.

    A checkpoint of an encoder alone gets a random vocabulary head (by `seed`), which `notes` mentions.

    start: folder, or name on the Hugging Face hub.
    vocab: the checkpoint's own vocabulary, or one that extends it: then the embeddings grow, and a new token starts as
        the mean of the subwords that spelled it.
    languages: languages that get an embedding if they have none.
    causal: whether the model is causal from now on; None: as the checkpoint is.
    mapping: the checkpoint's names of languages, and the initial embeddings of new ones.

    Raises:
        CheckpointError: it is missing or damaged, cannot be a backbone, or has another vocabulary.
        SettingsError: its family has no language embeddings or not this attention kernel, or it lacks a language.
    """
    folder = find_checkpoint(start)
    config = read_config(folder)

    def adapt(model: Any) -> None:
        map_languages(model, languages, mapping)
        if vocab is not None and vocab.extension is not None:
            extend_embeddings(model, vocab.extension, seed)

    if config["model_type"] in SEQ2SEQ:
        with opening(folder):
            return _load_seq2seq(folder, config, vocab, adapt, attention)
    if vocab is not None:
        check_vocab(config, vocab, folder)
        config = _with_padding(config, vocab.pad)
    files = weight_files(folder)
    model, info = _open(folder, config, attention, seed)
    for name, found, expected in sorted(info["mismatched_keys"]):
        place = files.get(name, folder)
        raise CheckpointError(f"{place}: {name} has shape {tuple(found)}, its configuration says {tuple(expected)}")
    family, drawn = MODEL_TYPES[config["model_type"]], sorted(info["missing_keys"])
    if others := [name for name in drawn if not name.startswith(family.head)]:
        raise CheckpointError(f"{folder}: lacks {len(others)} weights of a {family.name} encoder, such as {others[0]}")
    notes = (f"{folder}: its vocabulary head is incomplete; random weights: {listed(drawn)}",) if drawn else ()
    check_finite_weights(model.named_parameters(), str(folder))
    adapt(model)
    prefix = f"{model.base_model_prefix}."
    bare = not any(name.startswith(prefix) for name in files)  # written from an encoder alone
    unused = read_weights(files, info["unexpected_keys"] & set(files))
    extra = {prefix + name if bare else name: tensor for name, tensor in unused.items()}
    if causal is None:
        causal = config["model_type"] == DECODER or any(config.get(key) is True for key in _CAUSAL_KEYS)
    return Backbone(_ready(model, attention), extra, notes, causal=causal, fresh_head=bool(drawn))


def check_vocab(config: dict[str, Any], vocab: Vocab, folder: Path) -> None:
    """Check that the tokenizer is the checkpoint's, by its size, and by its padding where positions depend on it."""
    rows = int(config.get("vocab_size", config.get("n_words", 0)))
    size = vocab.size if vocab.extension is None else vocab.extension.base
    if not size <= rows <= size + max(128, size // 50):  # embeddings may have more rows: rounded up, or 2 % more
        raise CheckpointError(
            f"{folder}: the model has {rows} tokens, the vocabulary {size}; use the checkpoint's own tokenizer"
        )
    pad = config.get("pad_token_id")
    numbers_positions_by_padding = MODEL_TYPES[config["model_type"]].name == "roberta"
    if numbers_positions_by_padding and pad is not None and pad != vocab.pad:
        raise CheckpointError(
            f"{folder}: the model pads with id {pad}, the vocabulary with {vocab.pad}; "
            "use the checkpoint's own tokenizer"
        )


def _with_padding(config: dict[str, Any], pad: int) -> dict[str, Any]:
    """Return the configuration with the tokenizer's padding; published ones may have another, which no text has."""
    padding = {"pad_token_id": pad}
    if config["model_type"] == "xlm":
        padding["pad_index"] = pad
    return {**config, **padding}


def _open(folder: Path, config: dict[str, Any], attention: Attention, seed: int) -> tuple[Any, dict[str, Any]]:
    """Return the transformers model of a checkpoint, and transformers' report about its weights."""
    import transformers

    decoder = config["model_type"] == DECODER
    opener: Any = transformers.AutoModelForCausalLM if decoder else transformers.AutoModelForMaskedLM
    bidirectional = {key: False for key in _CAUSAL_KEYS if config.get(key) is True}
    with opening(folder):
        own = transformers.CONFIG_MAPPING[config["model_type"]].from_dict({**config, **bidirectional})
        _check_size(own, folder)
        with quiet(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(torch_seed(Purpose.INIT, seed))
            model, info = opener.from_pretrained(
                folder, config=own, dtype=torch.float32, attn_implementation=None if attention == "auto" else attention,
                use_safetensors=True, local_files_only=True, trust_remote_code=False, output_loading_info=True,
                ignore_mismatched_sizes=True,
            )  # fmt: skip
    if decoder:
        missing = {encoder_weight_name(key) for key in info["missing_keys"]}
        return to_encoder_form(model), {**info, "missing_keys": missing}
    return model, info


def _load_seq2seq(
    folder: Path, config: dict[str, Any], vocab: Vocab | None, adapt: Callable[[Any], None], attention: Attention
) -> Seq2Seq:
    encoder, decoder, shared = _open_sides(folder, config)
    for model in (encoder.model, decoder.model):
        if vocab is not None:
            check_vocab(model.config.to_dict(), vocab, folder)
        check_finite_weights(model.named_parameters(), str(folder))
        adapt(model)
    if attention != "auto":
        encoder.model.set_attn_implementation(attention)
    install_kernels(encoder.model, own_attention=attention == "auto")
    return join(Backbone(encoder.model, encoder.extra_weights), decoder, share=shared)


def _open_sides(folder: Path, config: dict[str, Any]) -> tuple[Backbone, CrossAttentionDecoder, bool]:
    """Return encoder, decoder, and whether they share embeddings."""
    embeddings = config.get(SEQ2SEQ_KEY, {}).get("embeddings")
    if config["model_type"] == SEQ2SEQ[1]:  # a folder for each side
        encoder = load(folder / ENCODER_SIDE)
        decoder = _random_decoder(read_config(folder / DECODER_SIDE), folder)
        files = weight_files(folder / DECODER_SIDE)
        tensors = read_weights(files, files)
        if embeddings == "shared":
            tensors["model.model.embeddings.tok_embeddings.weight"] = encoder.input_embeddings.data
        fill(decoder, tensors, str(folder / DECODER_SIDE))
        return encoder, decoder, embeddings == "shared"
    files, weights = weight_files(folder), {}
    for side in (ENCODER_SIDE, DECODER_SIDE):
        names = [name for name in files if name.startswith(f"{side}.")]
        weights[side] = {name.removeprefix(f"{side}."): each for name, each in read_weights(files, names).items()}
    encoder = Backbone(_random_model(_side_config(config[ENCODER_SIDE], folder), None, None))
    base = encoder.model.base_model
    fill(base, weights[ENCODER_SIDE], f"{folder}, {ENCODER_SIDE}")
    state, prefix = base.state_dict(), encoder.model.base_model_prefix
    encoder.extra_weights = {
        f"{prefix}.{name}": each for name, each in weights[ENCODER_SIDE].items() if name not in state
    }
    decoder = _random_decoder(config[DECODER_SIDE], folder)
    fill(decoder.model, weights[DECODER_SIDE], f"{folder}, {DECODER_SIDE}")
    if embeddings is not None:
        return encoder, decoder, embeddings == "shared"
    table, own = decoder.model.get_input_embeddings().weight, encoder.input_embeddings
    return encoder, decoder, table.shape == own.shape and torch.equal(table, own)


def fill(model: Any, tensors: Mapping[str, Tensor], where: str) -> None:
    """Copy weights into a model, in place; a CheckpointError names one that is missing, unless tied, or misshapen."""
    for name, weight in untied_state(model).items():
        if name not in tensors:
            raise CheckpointError(f"{where}: lacks the weight {name}; copy or write the checkpoint again")
        if tensors[name].shape != weight.shape:
            found, wanted = tuple(tensors[name].shape), tuple(weight.shape)
            raise CheckpointError(f"{where}: {name} has shape {found}, its configuration says {wanted}")
        weight.copy_(tensors[name])


def _random_decoder(data: Mapping[str, Any], folder: Path) -> CrossAttentionDecoder:
    with quiet(), torch.random.fork_rng(devices=[]):
        return empty_decoder(_side_config(data, folder))


def _side_config(data: Mapping[str, Any], folder: Path) -> Any:
    from transformers import AutoConfig

    kind = str(data.get("model_type", "unknown"))
    if kind not in MODEL_TYPES:
        known = ", ".join(MODEL_TYPES)
        raise CheckpointError(f"{folder}: a translation model with a {kind!r} side; supported are {known}")
    with opening(folder):
        config: Any = AutoConfig.for_model(**data)
        _check_size(config, folder)
    return config


def _check_size(config: Any, folder: Path) -> None:
    """Check, before memory is taken, that a checkpoint's files can hold the weights that its configuration says."""
    from transformers import AutoModel

    maker: Any = AutoModel
    with quiet(), torch.random.fork_rng(devices=[]), torch.device("meta"):
        count = sum(each.numel() for each in maker.from_config(deepcopy(config), trust_remote_code=False).parameters())
    size = sum(path.stat().st_size for path in folder.rglob("*.safetensors"))
    if size < count:
        raise CheckpointError(f"{folder}: its configuration says {count:,} weights, its files have {size:,} bytes")


# ---- frozen parts, and low-rank adapters (LoRA, Hu et al. 2022) by peft ----


def select_trained_parts(backbone: Backbone, settings: ModelSettings, seed: int) -> None:
    """Freeze parts of a model and add adapters, as the settings say, in place."""
    depth = int(backbone.model.config.num_hidden_layers)
    if settings.lora is not None:
        _add_adapters(backbone, settings.lora, seed)
        chosen = chosen_layers(settings.lora.train, depth, "model.lora.train")
    else:
        chosen = chosen_layers(settings.freeze, depth, "model.freeze")
    parts = parts_of(backbone) if chosen else {}
    for parameter in (parameter for part in chosen for parameter in parts[part]):
        parameter.requires_grad = settings.lora is not None
    if not any(parameter.requires_grad for parameter in backbone.parameters()):
        raise SettingsError(f"model.freeze = {settings.freeze} leaves nothing to train")


def _add_adapters(backbone: Backbone, settings: LoraSettings, seed: int) -> None:
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise MissingDependencyError("model.lora", "peft", "lora") from error
    model = backbone.model
    kinds: dict[str, list[str]] = {"attention": [], "feed_forward": []}
    for name, module in model.base_model.named_modules():
        if isinstance(module, nn.Linear) and _IN_LAYER.search(name):
            for kind in ("attention" if _ATTENTION.search(name) else "feed_forward", name.rpartition(".")[2]):
                kinds.setdefault(kind, []).append(name)
    for target in settings.targets:
        if target not in kinds:
            raise SettingsError(f"model.lora.targets: no linear layer {target!r}{did_you_mean(target, kinds)}")
    names = sorted({f"{model.base_model_prefix}.{name}" for target in settings.targets for name in kinds[target]})
    config = LoraConfig(r=settings.rank, lora_alpha=settings.alpha, lora_dropout=settings.dropout, target_modules=names)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(Purpose.INIT, seed, step=2))
        inject_adapter_in_model(config, model)


def merge_adapters(backbone: Backbone) -> Backbone:
    """Add the adapters to the weights that they adapt, in place; return the model without adapters."""
    model: Any = backbone.model
    for name, module in list(model.named_modules()):
        if hasattr(module, "get_base_layer"):
            module.merge()
            parent, _, child = name.rpartition(".")
            setattr(model.get_submodule(parent), child, module.get_base_layer())
    return backbone
