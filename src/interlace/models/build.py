"""Making a backbone or an encoder-decoder: from settings, from a shape, or from a checkpoint; what of it is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from interlace.core.display import listed
from interlace.core.errors import CheckpointError, SettingsError
from interlace.core.finite import check_finite_weights
from interlace.core.json_files import JsonMapping, JsonObject
from interlace.core.randomness import Purpose, generator, torch_seed
from interlace.data.translation_layouts import LAYOUTS, OURS
from interlace.data.vocab import Vocab
from interlace.models.attention import install_kernels
from interlace.models.backbone import (
    Backbone,
    Tensors,
    freeze_unused_bias,
    parts_of,
    untied_state,
)
from interlace.models.checkpoint_files import (
    find_checkpoint,
    opening,
    quiet,
    read_config,
    read_weights,
    renumber_tokens,
    weight_files,
)
from interlace.models.families import MODEL_TYPES, SEQ2SEQ, family_of
from interlace.models.languages import add_languages, equalize_segments, map_languages
from interlace.models.settings import DecoderSettings, ModelSettings, Shape

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.seq2seq import Seq2Seq


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
        raise SettingsError(
            "model.freeze and model.lora are for encoders; a translation model is trained as a whole"
        )
    builder = _ModelBuilder(settings, vocab, languages, seed)
    if seq2seq:
        backbone: Backbone = builder.seq2seq()
    else:
        backbone = builder.encoder(causal=causal)
    if settings.vectors is not None:
        from interlace.models.token_embeddings import initialize_from_vectors

        initialize_from_vectors(
            backbone, builder.models_without_checkpoint(backbone), settings, vocab
        )
    freeze_parts(backbone, settings)
    if settings.lora is not None:
        from interlace.models.adapters import add_adapters

        add_adapters(backbone, settings.lora, seed)
    return backbone


@dataclass(frozen=True)
class _ModelBuilder:
    """Makes the model of a recipe.

    languages: of the recipe. seed: of random weights.
    """

    settings: ModelSettings
    vocab: Vocab
    languages: Sequence[str]
    seed: int

    def encoder(self, *, causal: bool) -> Backbone:
        """Return the encoder, with the weights that the settings take from its start."""
        backbone = self._whole_model(self.settings.start, causal=causal)
        return self._with_taken_weights(backbone.encoder)

    def seq2seq(self) -> Seq2Seq:
        """Return an encoder-decoder, each side from its own start.

        Conneau & Lample (2019, section 5.1) start each side from random weights, a causal or a masked model; a decoder
        takes the layers of either, with embeddings and head.
        """
        from interlace.models.seq2seq import Seq2Seq, copy_weights, fresh_decoder, join

        settings = self.settings
        decoding = settings.decoder or DecoderSettings()
        backbone = self._whole_model(settings.start)
        if isinstance(backbone, Seq2Seq):
            if settings.take != "whole" or decoding != DecoderSettings():
                raise SettingsError(
                    f"model.start = {settings.start!r} is a translation model, which is continued as a whole; remove "
                    "model.take and [model.decoder]"
                )
            return backbone
        encoder = self._with_taken_weights(backbone)
        shared = decoding.embeddings == "shared"
        same_start = decoding.start in {None, settings.start}
        source = backbone if same_start else self._decoder_start(str(decoding.start))
        available = int(source.model.config.num_hidden_layers)
        if decoding.layers is not None and decoding.layers > available:
            raise SettingsError(
                f"model.decoder.layers = {decoding.layers}, but its start has {available}"
            )
        decoder = fresh_decoder(source.model.config, self.seed, decoding.layers)
        takes_weights = decoding.take != "none" and (settings.start or decoding.start)
        if takes_weights:
            if (
                shared
                and settings.start is not None
                and settings.take != "none"
                and not same_start
            ):
                raise SettingsError(
                    f"encoder and decoder share embeddings, but {settings.start!r} and {decoding.start!r} have their "
                    "own; set model.decoder.embeddings = 'own'"
                )
            if decoding.take == "whole":
                copy_weights(decoder, source.model)
            else:
                decoder.model.get_input_embeddings().weight.data.copy_(
                    source.input_embeddings.data
                )
        model = join(encoder, decoder, share=shared)
        if takes_weights and shared:
            model.input_embeddings.data.copy_(source.input_embeddings.data)
        if not same_start:
            model.notes += source.notes
        return model

    def models_without_checkpoint(self, backbone: Backbone) -> list[Any]:
        """Return the transformers models of a backbone whose embeddings come from no checkpoint."""
        from interlace.models.seq2seq import Seq2Seq

        models = [backbone.model]
        decoder = self.settings.decoder
        if isinstance(backbone, Seq2Seq) and (
            decoder is None or decoder.start is None or decoder.take == "none"
        ):
            models.append(backbone.decoder.model)
        return models

    def _whole_model(self, start: str | None, *, causal: bool = False) -> Backbone:
        """Return the whole model of a checkpoint, or a fresh one of the settings' shape."""
        settings = self.settings
        languages = tuple(self.languages) if settings.languages == "embeddings" else ()
        if start is None:
            return from_shape(
                settings.shape or Shape(),
                self.vocab,
                languages,
                self.seed,
                causal=causal,
            )
        return load(
            start,
            self.vocab,
            languages,
            seed=self.seed,
            causal=causal,
            language_names=settings.language_names,
        )

    def _with_taken_weights(self, backbone: Backbone) -> Backbone:
        """Return the backbone, or a fresh one of its shape with the weights that the settings take from it."""
        if self.settings.take == "whole":
            return backbone
        model = _random_model(backbone.model.config, self.seed)
        if self.settings.take == "embeddings":
            model.get_input_embeddings().weight.data.copy_(backbone.input_embeddings.data)
        equalize_segments(model)
        return Backbone(_ready(model), causal=backbone.causal)

    def _decoder_start(self, start: str) -> Backbone:
        """Return the checkpoint of a decoder that starts from another one than the encoder; check its vocabulary."""
        from interlace.models.seq2seq import Seq2Seq

        for token, number in (
            Vocab.load(start).tokenizer.get_vocab(with_added_tokens=True).items()
        ):
            if self.vocab.tokenizer.token_to_id(token) != number:
                raise SettingsError(
                    f"model.decoder.start = {start!r}: its vocabulary is not the model's ({token!r} has another id); "
                    "both sides must start from checkpoints with the same vocabulary"
                )
        source = self._whole_model(start)
        if isinstance(source, Seq2Seq):
            raise SettingsError(
                f"model.decoder.start = {start!r} is a translation model; name it in model.start to continue with both "
                "its sides"
            )
        return source


def from_shape(
    shape: Shape,
    vocab: Vocab,
    languages: Sequence[str] = (),
    seed: int = 0,
    *,
    causal: bool = False,
) -> Backbone:
    """Return a fresh model; its weights depend only on the shape, the vocabulary's size and the seed.

    Segment embeddings of BERT start equal. The weights are the same whether the model is `causal` or not.
    Raise a SettingsError if the family cannot take language embeddings or this vocabulary.
    """
    model = _random_model(encoder_config(shape, vocab), seed)
    equalize_segments(model)
    if languages:
        add_languages(model, languages, generator(Purpose.INIT, seed, step=1))
    return Backbone(_ready(model), causal=causal)


def _ready(model: Any) -> Any:
    """Return the model with our kernels, and without a gradient for a bias that nothing reads."""
    freeze_unused_bias(model)
    install_kernels(model, own_attention=True)
    return model


def _random_model(config: Any, seed: int | None) -> Any:
    """Return a masked language model with random weights; `seed` None: of torch's generator."""
    from transformers import AutoModelForMaskedLM

    maker: Any = AutoModelForMaskedLM
    with quiet(), torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(torch_seed(Purpose.INIT, seed))
        return maker.from_config(
            config, dtype=torch.float32, attn_implementation=None, trust_remote_code=False
        )


def encoder_config(shape: Shape, vocab: Vocab) -> Any:
    """Return the transformers configuration of a fresh encoder; raise a SettingsError if memory cannot hold it."""
    import psutil
    import transformers

    layer_weights = 4 * shape.width**2 + 2 * shape.width * shape.inner
    size = 4 * (vocab.size * shape.width + shape.layers * layer_weights)
    memory = psutil.virtual_memory().total
    if size > memory:
        raise SettingsError(
            f"[model.shape]: weights of {size / 2**30:,.0f} GiB, but this machine has {memory / 2**30:,.0f} GiB of "
            "memory; lower layers or width"
        )

    common: JsonObject = {
        "vocab_size": vocab.size,
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.inner,
        "pad_token_id": vocab.pad,
        "bos_token_id": vocab.begin,
        "eos_token_id": vocab.end,
        "tie_word_embeddings": True,  # Press & Wolf 2017
        "initializer_range": shape.init_std,
        "max_position_embeddings": shape.max_length,
    }
    if shape.family == "modernbert":
        return transformers.ModernBertConfig(
            cls_token_id=vocab.begin,
            sep_token_id=vocab.end,
            attention_dropout=shape.attention_dropout,
            embedding_dropout=shape.dropout,
            mlp_dropout=shape.dropout,
            local_attention=shape.local_attention,
            **common,
        )
    common["hidden_dropout_prob"] = shape.dropout
    common["attention_probs_dropout_prob"] = shape.attention_dropout
    if shape.family == "bert":
        return transformers.BertConfig(**common)
    if vocab.pad > 1024:  # RoBERTa reserves a position for every id up to the padding's
        raise SettingsError(
            f"a roberta model reserves {vocab.pad + 1} positions for padding with this vocabulary; use family = 'bert'"
        )
    common["max_position_embeddings"] += vocab.pad + 1
    return transformers.RobertaConfig(type_vocab_size=1, **common)


def load(
    start: str | Path,
    vocab: Vocab | None = None,
    languages: Sequence[str] = (),
    *,
    seed: int = 0,
    causal: bool | None = None,
    language_names: Mapping[str, str] | None = None,
) -> Backbone:
    """Return a checkpoint as a float32 backbone, or as a `Seq2Seq` if it is a translation model; never run its code.

    A checkpoint of an encoder alone gets a random vocabulary head (by `seed`), which `notes` mentions.

    start: folder, or name on the Hugging Face hub.
    vocab: the checkpoint's own vocabulary, or one that is made from it by trimming or extension: then the embeddings
        lose rows, or grow by tokens that start as the mean of the subwords that spelled them.
    languages: languages that get an embedding if they have none.
    causal: whether the model is causal from now on; None: as the checkpoint is.
    language_names: language -> the checkpoint's name for it.

    Raises:
        CheckpointError: it is missing or damaged, cannot be a backbone, or has another vocabulary.
        SettingsError: its family has no language embeddings, or it lacks a language.
    """
    folder = find_checkpoint(start)
    config = read_config(folder)
    if vocab is not None and vocab.origin.is_trimmed:
        config = renumber_tokens(config, vocab.origin.kept)
    adaptation = _Adaptation(vocab, languages, language_names or {}, seed)
    if config["model_type"] == SEQ2SEQ:
        with opening(folder):
            return _load_seq2seq(folder, config, adaptation)
    if MODEL_TYPES[config["model_type"]].encoder_decoder:
        return _load_encoder_decoder(folder, config, adaptation)
    return _load_encoder(folder, config, adaptation, causal)


@dataclass(frozen=True)
class _Adaptation:
    """The vocabulary and languages that a checkpoint gets; see `load`."""

    vocab: Vocab | None
    languages: Sequence[str]
    language_names: Mapping[str, str]
    seed: int

    def apply(self, model: Any, folder: Path) -> None:
        """Check the weights of a transformers model; add languages and new tokens to it, in place."""
        check_finite_weights(model.named_parameters(), str(folder))
        map_languages(model, self.languages, self.language_names)
        if self.vocab is not None:
            from interlace.models.token_embeddings import fit_embeddings

            fit_embeddings(model, self.vocab.origin, self.seed)


def _load_encoder(
    folder: Path, config: JsonObject, adaptation: _Adaptation, causal: bool | None
) -> Backbone:
    from transformers import AutoModelForMaskedLM

    from interlace.models.sentence_modules import read_sentence_head

    family = MODEL_TYPES[config["model_type"]]
    vocab = adaptation.vocab
    if vocab is not None:
        check_vocab(config, vocab, folder)
        config = _with_padding(config, vocab.pad)
    # the model is opened as a masked one
    stored_causal = config.pop(family.causal_key, None) is True
    files = weight_files(folder)
    model, info = _open(AutoModelForMaskedLM, folder, config, adaptation.seed)
    random = sorted(info["missing_keys"])
    of_encoder = [name for name in random if not family.is_head(name)]
    if of_encoder:
        raise CheckpointError(
            f"{folder}: lacks {len(of_encoder)} weights of a {family.name} encoder, such as {of_encoder[0]}"
        )
    adaptation.apply(model, folder)
    prefix = f"{model.base_model_prefix}."
    extra_weights = read_weights(files, set(info["unexpected_keys"]) & set(files))
    if not any(name.startswith(prefix) for name in files):  # written from an encoder alone
        extra_weights = {prefix + name: tensor for name, tensor in extra_weights.items()}
    notes: tuple[str, ...] = ()
    if random:
        notes = (
            f"{folder}: its vocabulary head is incomplete; random weights: {listed(random)}",
        )
    return Backbone(
        _ready(model),
        extra_weights,
        notes,
        causal=stored_causal if causal is None else causal,
        fresh_head=bool(random),
        sentence_head=read_sentence_head(folder, model.get_input_embeddings().weight.shape[1]),
    )


def _load_encoder_decoder(folder: Path, config: JsonObject, adaptation: _Adaptation) -> Seq2Seq:
    """Open an encoder-decoder of transformers, which stays one."""
    from transformers import AutoModelForSeq2SeqLM, GenerationConfig

    from interlace.models.pretrained_decoder import PretrainedDecoder
    from interlace.models.seq2seq import Seq2Seq

    vocab = adaptation.vocab
    if vocab is not None:
        check_vocab(config, vocab, folder)
        if vocab.layout is LAYOUTS[OURS]:
            raise CheckpointError(
                f"{folder}: {vocab.name} is no tokenizer of a {config['model_type']} model, which reads sentences "
                "otherwise; use the checkpoint's own tokenizer"
            )
        config = _with_padding(config, vocab.pad)
    weight_files(folder)
    model, info = _open(AutoModelForSeq2SeqLM, folder, config, adaptation.seed)
    missing = sorted(info["missing_keys"])
    if missing:
        raise CheckpointError(
            f"{folder}: lacks {len(missing)} weights of an encoder-decoder, such as {missing[0]}"
        )
    if torch.any(getattr(model, "final_logits_bias", torch.zeros(1))):
        raise CheckpointError(f"{folder}: final_logits_bias is not zero, and would be ignored")
    adaptation.apply(model, folder)
    if vocab is not None and vocab.origin.is_trimmed:
        generation = renumber_tokens(model.generation_config.to_dict(), vocab.origin.kept)
        model.generation_config = GenerationConfig.from_dict(generation)
    for side in (model.get_encoder(), model.get_decoder()):
        side.layerdrop = 0.0  # weights without a gradient would stop DistributedDataParallel
    install_kernels(model, own_attention=False)
    return Seq2Seq(Backbone(model), PretrainedDecoder(model))


def _open(maker: Any, folder: Path, config: JsonObject, seed: int) -> tuple[Any, JsonObject]:
    """Return a checkpoint as a model of transformers' class `maker`, and transformers' report on its weights.

    Raise a CheckpointError if weights have other shapes than the configuration says.
    """
    with opening(folder):
        parsed = parsed_config(config, folder)
        with quiet(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(torch_seed(Purpose.INIT, seed))
            model, info = maker.from_pretrained(
                folder,
                config=parsed,
                dtype=torch.float32,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
                key_mapping=dict(family_of(parsed).renamed),
            )
    for name, shape, expected in sorted(info["mismatched_keys"]):
        raise _misshapen(f"{folder}: {name}", shape, expected)
    return model, info


def _misshapen(name: str, shape: Sequence[int], expected: Sequence[int]) -> CheckpointError:
    return CheckpointError(
        f"{name} has shape {tuple(shape)}, its configuration says {tuple(expected)}"
    )


def _load_seq2seq(folder: Path, config: JsonObject, adaptation: _Adaptation) -> Seq2Seq:
    """Open a translation model; its sides share input embeddings if these are equal in the file."""
    from interlace.models.seq2seq import DECODER_SIDE, ENCODER_SIDE, join, random_decoder

    files = weight_files(folder)
    model = _random_model(parsed_config(config[ENCODER_SIDE], folder), None)
    encoder_weights = _weights_of_side(files, ENCODER_SIDE)
    _fill(model.base_model, encoder_weights, f"{folder}, {ENCODER_SIDE}")
    extra_weights = {}
    for name in sorted(encoder_weights.keys() - model.base_model.state_dict().keys()):
        extra_weights[f"{model.base_model_prefix}.{name}"] = encoder_weights[name]
    with quiet(), torch.random.fork_rng(devices=[]):
        decoder = random_decoder(parsed_config(config[DECODER_SIDE], folder))
    _fill(decoder.model, _weights_of_side(files, DECODER_SIDE), f"{folder}, {DECODER_SIDE}")
    shared = torch.equal(
        model.get_input_embeddings().weight, decoder.model.get_input_embeddings().weight
    )
    for side in (model, decoder.model):
        if adaptation.vocab is not None:
            check_vocab(side.config.to_dict(), adaptation.vocab, folder)
        adaptation.apply(side, folder)
    install_kernels(model, own_attention=True)
    return join(Backbone(model, extra_weights), decoder, share=shared)


def _weights_of_side(files: dict[str, Path], side: str) -> Tensors:
    """Return the weights of a side of a translation model, by their names within it."""
    prefix = f"{side}."
    weights = read_weights(files, [name for name in files if name.startswith(prefix)])
    return {name.removeprefix(prefix): tensor for name, tensor in weights.items()}


def _fill(model: Any, tensors: Mapping[str, Tensor], where: str) -> None:
    """Copy weights into a model, in place; a CheckpointError names one that is missing, unless tied, or misshapen."""
    for name, weight in untied_state(model).items():
        if name not in tensors:
            raise CheckpointError(
                f"{where}: lacks the weight {name}; copy or write the checkpoint again"
            )
        if tensors[name].shape != weight.shape:
            raise _misshapen(f"{where}: {name}", tensors[name].shape, weight.shape)
        weight.copy_(tensors[name])


def check_vocab(config: JsonObject, vocab: Vocab, folder: Path) -> None:
    """Check that the tokenizer is the checkpoint's, by its size, and by its padding where positions depend on it."""
    rows = int(config.get("vocab_size") or config.get("n_words") or 0)
    size = vocab.origin.original_size
    max_rows = size + max(128, size // 50)  # embeddings may be rounded up, or have 2 % more
    if not size <= rows <= max_rows:
        raise CheckpointError(
            f"{folder}: the model has {rows} tokens, the vocabulary {size}; use the checkpoint's own tokenizer"
        )
    if not MODEL_TYPES[config["model_type"]].positions_after_padding:
        return
    pad = config.get("pad_token_id")
    if pad is not None and pad != vocab.pad:
        raise CheckpointError(
            f"{folder}: the model pads with id {pad}, the vocabulary with {vocab.pad}; "
            "use the checkpoint's own tokenizer"
        )
    original_pad = int(vocab.origin.kept[vocab.pad])
    if original_pad != vocab.pad:
        raise CheckpointError(
            f"{folder}: this model cannot be trimmed, because its positions follow from the id of the padding, "
            f"{original_pad}, which would become {vocab.pad}"
        )


def _with_padding(config: JsonObject, pad: int) -> JsonObject:
    """Return the configuration with the tokenizer's padding; published ones may have another, which no text has."""
    padding = {"pad_token_id": pad}
    if config["model_type"] == "xlm":
        padding["pad_index"] = pad
    return {**config, **padding}


def parsed_config(data: JsonMapping, folder: Path) -> Any:
    """Return a model's configuration as transformers' class; raise a CheckpointError if its weights would not fit."""
    from transformers import AutoConfig

    with opening(folder):
        config: Any = AutoConfig.for_model(**data)
        _check_size(config, folder)
    return config


def _check_size(config: Any, folder: Path) -> None:
    """Check, before memory is taken, that a checkpoint's files can hold the weights that its configuration says."""
    from transformers import AutoModel

    maker: Any = AutoModel
    with quiet(), torch.random.fork_rng(devices=[]), torch.device("meta"):
        model = maker.from_config(deepcopy(config), trust_remote_code=False)
    # buffers too: sinusoids are as long as the configuration says
    count = sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))
    size = sum(path.stat().st_size for path in folder.rglob("*.safetensors"))
    if size < count:
        raise CheckpointError(
            f"{folder}: its configuration says {count:,} weights, its files have {size:,} bytes"
        )


def freeze_parts(backbone: Backbone, settings: ModelSettings) -> None:
    """Freeze the parts of a model that the settings name, in place."""
    parts = parts_of(backbone)
    for name in settings.freeze:
        for parameter in parts[name]:
            parameter.requires_grad = False
