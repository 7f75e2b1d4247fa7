"""Making a backbone: fresh from a shape, or from a checkpoint in a folder or on the Hugging Face hub.

Torch and transformers are imported when something is made, so that reading a recipe stays quick.

How a translation model begins: what encoder and decoder each take, and from which checkpoint.

Conneau & Lample (2019, section 5.1) begin each side from nothing, a causal or a masked model; a decoder takes the
layers of either one by one, table and head with them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import CheckpointError, SettingsError
from interlace.core.randomness import Purpose, generator, torch_seed
from interlace.models import checkpoint_files
from interlace.models.attention import NAME, install_kernels
from interlace.models.backbone import Backbone, encoder_name, freeze_unused_bias, to_encoder_form
from interlace.models.checkpoint_files import quiet
from interlace.models.families import DECODER, MODEL_TYPES, SEQ2SEQ, Family, family_of
from interlace.models.languages import RECORD, LanguageMapping, add_languages, equalize_segments, map_languages
from interlace.models.seq2seq import DECODER as DECODER_SIDE
from interlace.models.seq2seq import (
    ENCODER,
    OWN,
    SEQ2SEQ_RECORD,
    Seq2Seq,
    copy_weights,
    empty_decoder,
    fresh_decoder,
    join,
    unique_tensors,
)
from interlace.models.settings import Attention, DecoderSettings, ModelSettings, Shape, Take
from interlace.models.token_embeddings import NewTokens, extend_embeddings, initialize_from_vectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from interlace.data.vocab import Vocab
    from interlace.models.decoder import CrossAttentionDecoder
    from interlace.models.token_embeddings import NewTokens


ROUND, SHARE = 128, 50  # a table may have more rows than its tokenizer: rounded up, or by one part in fifty


READS_CAUSALLY = ("is_decoder", "causal")  # how configurations of BERT and RoBERTa, and of XLM, say so


HIGHEST_PAD = 1024  # RoBERTa keeps a position for every id up to the padding's


def from_shape(
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

    config = config_of(shape, vocab)
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(Purpose.INIT, seed))
        kernel = None if attention == "auto" else attention
        maker: Any = AutoModelForMaskedLM
        model = maker.from_config(config, dtype=torch.float32, attn_implementation=kernel, trust_remote_code=False)
    equalize_segments(model)
    if languages:
        add_languages(model, languages, generator(Purpose.INIT, seed, step=1))
    freeze_unused_bias(model)
    install_kernels(model, own_attention=attention == "auto")
    return Backbone(model, causal=causal)


def load(
    start: str | Path,
    vocab: Vocab | None = None,
    languages: Sequence[str] = (),
    *,
    attention: Attention = "auto",
    seed: int = 0,
    causal: bool | None = None,
    arrival: LanguageMapping = LanguageMapping(),  # noqa: B008 - frozen
    new_subwords: NewTokens = "mean",
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
    folder = checkpoint_files.find_checkpoint(start)
    config = checkpoint_files.read_config(folder)
    if config["model_type"] in SEQ2SEQ:
        return reopen(folder, config, vocab, languages, attention, seed, arrival, new_subwords)
    if vocab is not None:
        check_vocab(config, vocab, folder)
    files = checkpoint_files.weight_files(folder)
    model, info = _open(folder, config, attention, seed)
    family = MODEL_TYPES[config["model_type"]]
    drawn = _drawn(info["missing_keys"], family, folder)
    notes = (f"{folder}: has no whole vocabulary head; drawn fresh: {', '.join(drawn)}",) if drawn else ()
    map_languages(model, languages, arrival)
    if vocab is not None and vocab.extension is not None:
        extend_embeddings(model, vocab.extension, new_subwords, seed)
    freeze_unused_bias(model)
    install_kernels(model, own_attention=attention == "auto")
    carried = _carried(files, info["unexpected_keys"], model)
    causal = _is_causal(config) if causal is None else causal
    return Backbone(model, carried, notes, causal=causal, fresh_head=bool(drawn))


def reinitialized(backbone: Backbone, take: Take, seed: int = 0) -> Backbone:
    """A model of the same shape, languages and attention with fresh weights; `take = "embeddings"` keeps the table."""
    import torch
    from transformers import AutoModelForMaskedLM

    kernel = backbone.model.config._attn_implementation  # noqa: SLF001 - transformers asks the same way
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(Purpose.INIT, seed))
        maker: Any = AutoModelForMaskedLM
        kind = None if kernel == NAME else kernel
        model = maker.from_config(
            backbone.model.config, dtype=torch.float32, attn_implementation=kind, trust_remote_code=False
        )
    if take == "embeddings":
        model.get_input_embeddings().weight.data.copy_(backbone.input_embeddings.data)
    equalize_segments(model)
    freeze_unused_bias(model)
    install_kernels(model, own_attention=kernel == NAME)
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
        return to_encoder_form(model), {**info, "missing_keys": {encoder_name(key) for key in info["missing_keys"]}}
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
    tensors = checkpoint_files.read_weights(files, unexpected & set(files))
    return {prefix + name if bare else name: tensor for name, tensor in tensors.items()}


def _build_seq2seq(settings: ModelSettings, vocab: Vocab, languages: Sequence[str], seed: int) -> Seq2Seq:
    """The translation model that settings describe; see `build_model`."""
    decoding = settings.decoder or DecoderSettings()
    found = _whole_start(settings, vocab, languages, seed)
    if isinstance(found, Seq2Seq):
        return _whole(settings, found)
    encoder = found if settings.take == "whole" else reinitialized(found, settings.take, seed)
    shared = decoding.table == "shared"
    if decoding.shape is not None:
        return join(encoder, _shaped(decoding.shape, encoder, vocab, seed), share=shared)
    same = _is_same(decoding.start, settings.start)
    source = found if same else _source(settings, decoding, vocab, languages, seed)
    decoder = fresh_decoder(source.model.config, seed, _layers(decoding, source))
    if decoding.take != "none" and (settings.start or decoding.start):
        _take(decoding, decoder, source)
        if shared:
            _give_table(settings, decoding, encoder, source)
    return join(encoder, decoder, share=shared, notes=() if source is found else source.notes)


def _take(decoding: DecoderSettings, decoder: CrossAttentionDecoder, source: Backbone) -> None:
    """Give a fresh decoder what it is to take of its start."""
    if decoding.take == "whole":
        copy_weights(decoder, source.model)
    else:
        decoder.model.get_input_embeddings().weight.data.copy_(source.input_embeddings.data)


def _whole(settings: ModelSettings, found: Seq2Seq) -> Seq2Seq:
    """A translation model goes on as it is."""
    if settings.take != "whole" or (settings.decoder is not None and settings.decoder != DecoderSettings()):
        message = f"model.start = {settings.start!r} is a translation model, which goes on whole"
        raise SettingsError(f"{message}; leave model.take and [model.decoder] out")
    return found


def _shaped(shape: Shape, encoder: Backbone, vocab: Vocab, seed: int) -> CrossAttentionDecoder:
    """A fresh decoder of a shape of its own, with the encoder's languages, in its rows, where it can have them."""
    config = config_of(shape, vocab)
    config.vocab_size = encoder.vocab_size
    languages = encoder.traits.languages
    if languages and family_of(config).language_input is not None:
        config.type_vocab_size = max(config.type_vocab_size, 1 + max(languages.values()))
        setattr(config, RECORD, languages)
    return fresh_decoder(config, seed)


def _source(
    settings: ModelSettings, decoding: DecoderSettings, vocab: Vocab, languages: Sequence[str], seed: int
) -> Backbone:
    """The checkpoint that a decoder of another start than the encoder begins from."""
    start = str(decoding.start)
    _must_share_subwords(start, vocab)
    source = _whole_start(settings, vocab, languages, seed, start=start)
    if isinstance(source, Seq2Seq):
        message = f"model.decoder.start = {start!r} is a translation model"
        raise SettingsError(f"{message}; name it in model.start to go on from both its sides")
    return source


def _give_table(settings: ModelSettings, decoding: DecoderSettings, encoder: Backbone, source: Backbone) -> None:
    """Let the table of the decoder's start serve both sides.

    Raises:
        SettingsError: the encoder has one of another checkpoint, or one of another size.
    """
    if settings.start is not None and settings.take != "none" and not _is_same(decoding.start, settings.start):
        message = f"encoder and decoder share a table of subwords, but {settings.start!r} and {decoding.start!r}"
        raise SettingsError(f"{message} each have one; set model.decoder.table = 'own'")
    if encoder.input_embeddings.shape != source.input_embeddings.shape:
        raise SettingsError(
            f"the encoder has {encoder.vocab_size} subwords and states {encoder.width} wide, {decoding.start!r} has "
            f"{source.vocab_size} and {source.width}; give model.shape that width and vocab.start that name"
        )
    encoder.input_embeddings.data.copy_(source.input_embeddings.data)


def _is_same(start: str | None, encoders: str | None) -> bool:
    """Whether a decoder begins from the encoder's start: it names no other, or the same in other words."""
    if start is None or encoders is None:
        return start is None
    one, other = (Path(name).expanduser() for name in (start, encoders))
    return start == encoders or (one.is_dir() and other.is_dir() and one.samefile(other))


def _must_share_subwords(start: str, vocab: Vocab) -> None:
    """A decoder's start must number subwords as the model does."""
    from interlace.data.vocab import Vocab as Vocabulary

    theirs = Vocabulary.load(start).tokenizer.get_vocab(with_added_tokens=True)
    other = next((token for token, number in theirs.items() if vocab.tokenizer.token_to_id(token) != number), None)
    if other is not None:
        message = f"model.decoder.start = {start!r}: its vocabulary is not the model's ({other!r} has another number)"
        raise SettingsError(f"{message}; both sides must begin from checkpoints of one vocabulary")


def _layers(decoding: DecoderSettings, source: Backbone) -> int | None:
    there = int(source.model.config.num_hidden_layers)
    if decoding.layers is not None and decoding.layers > there:
        raise SettingsError(f"model.decoder.layers = {decoding.layers}, but its start has {there}")
    return decoding.layers


def reopen(
    folder: Path,
    config: dict[str, Any],
    vocab: Vocab | None,
    languages: Sequence[str],
    attention: Attention,
    seed: int,
    arrival: LanguageMapping,
    new_subwords: NewTokens,
) -> Seq2Seq:
    """See `models.build.load`."""
    encoder, decoder, shared = (_open_own if config["model_type"] == OWN else _open_plain)(folder, config)
    for model in (encoder.model, decoder.model):
        if vocab is not None:
            check_vocab(model.config.to_dict(), vocab, folder)
        map_languages(model, languages, arrival)
        if vocab is not None and vocab.extension is not None:
            extend_embeddings(model, vocab.extension, new_subwords, seed)
    if attention != "auto":
        encoder.model.set_attn_implementation(attention)
    install_kernels(encoder.model, own_attention=attention == "auto")
    return join(Backbone(encoder.model, encoder.carried), decoder, share=shared)


def _open_plain(folder: Path, config: dict[str, Any]) -> tuple[Backbone, CrossAttentionDecoder, bool]:
    """Encoder, decoder, and whether they are to share a table."""
    import torch

    stored = checkpoint_files.weight_files(folder)
    sides = {}
    for side in (ENCODER, DECODER_SIDE):
        names = [name for name in stored if name.startswith(f"{side}.")]
        sides[side] = {
            name.removeprefix(f"{side}."): each for name, each in checkpoint_files.read_weights(stored, names).items()
        }
    encoder = Backbone(_empty_encoder(config[ENCODER], folder))
    base = encoder.model.base_model
    fill(base, sides[ENCODER], f"{folder}, {ENCODER}")
    encoder.carried = {
        f"{encoder.model.base_model_prefix}.{name}": each
        for name, each in sides[ENCODER].items()
        if name not in base.state_dict()
    }
    decoder = _empty_decoder(config[DECODER_SIDE], folder)
    fill(decoder.model, sides[DECODER_SIDE], f"{folder}, {DECODER_SIDE}")
    table = decoder.model.get_input_embeddings().weight
    alike = table.shape == encoder.input_embeddings.shape and torch.equal(table, encoder.input_embeddings)
    return encoder, decoder, alike if SEQ2SEQ_RECORD not in config else config[SEQ2SEQ_RECORD]["table"] == "shared"


def _open_own(folder: Path, config: dict[str, Any]) -> tuple[Backbone, CrossAttentionDecoder, bool]:
    """Encoder, decoder, and whether they are to share a table."""
    encoder = load(folder / ENCODER)
    decoder = _empty_decoder(checkpoint_files.read_config(folder / DECODER_SIDE), folder)
    stored = checkpoint_files.weight_files(folder / DECODER_SIDE)
    tensors = checkpoint_files.read_weights(stored, stored)
    shared = config.get(SEQ2SEQ_RECORD, {}).get("table") == "shared"
    if shared:
        tensors["model.model.embeddings.tok_embeddings.weight"] = encoder.input_embeddings.data
    fill(decoder, tensors, str(folder / DECODER_SIDE))
    return encoder, decoder, shared


def fill(model: Any, tensors: Mapping[str, Tensor], where: str) -> None:
    """Put weights into a model, in place; those that it ties may be missing.

    Raises:
        CheckpointError: a weight is missing or of another shape.
    """
    for name, weight in unique_tensors(model).items():
        if name not in tensors:
            raise CheckpointError(f"{where}: lacks the weight {name}; copy or write the checkpoint again")
        if tensors[name].shape != weight.shape:
            found, wanted = tuple(tensors[name].shape), tuple(weight.shape)
            raise CheckpointError(f"{where}: {name} has shape {found}, its configuration says {wanted}")
        weight.copy_(tensors[name])


def _empty_encoder(data: Mapping[str, Any], folder: Path) -> Any:
    import torch
    from transformers import AutoModelForMaskedLM

    maker: Any = AutoModelForMaskedLM
    with quiet(), torch.random.fork_rng(devices=[]):
        return maker.from_config(_configuration(data, folder), dtype=torch.float32, trust_remote_code=False)


def _empty_decoder(data: Mapping[str, Any], folder: Path) -> CrossAttentionDecoder:
    import torch

    with quiet(), torch.random.fork_rng(devices=[]):
        return empty_decoder(_configuration(data, folder))


def _configuration(data: Mapping[str, Any], folder: Path) -> Any:
    """A configuration of one side.

    Raises:
        CheckpointError: of a model that cannot be one here.
    """
    from transformers import AutoConfig

    kind = str(data.get("model_type", "unknown"))
    if kind not in MODEL_TYPES:
        able = ", ".join(MODEL_TYPES)
        raise CheckpointError(f"{folder}: a translation model with a {kind!r} side; known are {able}")
    config: Any = AutoConfig.for_model(**data)
    return config


def build_model(
    settings: ModelSettings,
    vocab: Vocab,
    languages: Sequence[str],
    seed: int = 0,
    *,
    causal: bool = False,
    seq2seq: bool = False,
) -> Backbone:
    """Return the backbone that settings describe; `languages` get an embedding each where the settings say so.

    Args:
        settings: the `[model]` section of a recipe.
        vocab: the vocabulary.
        languages: of the recipe.
        seed: of fresh weights.
        causal: build a causal model; any family here can be one.
        seq2seq: build a translation model, a `Seq2Seq`.

    Raises:
        CheckpointError: the start is missing, damaged, or does not fit the vocabulary.
        SettingsError: the family of the start cannot take language embeddings or be a decoder, it lacks a language
            named in the settings, encoder and decoder do not fit, or the vectors have another width.
        DataError: there are no vectors, or none of a subword of the vocabulary.
    """
    build = _build_seq2seq if seq2seq else partial(_build_encoder, causal=causal)
    built = build(settings, vocab, languages, seed)
    if settings.vectors is not None:
        initialize_from_vectors(built, settings, vocab)
    return built


def _build_encoder(
    settings: ModelSettings, vocab: Vocab, languages: Sequence[str], seed: int, *, causal: bool
) -> Backbone:
    """Return an encoder without a decoder."""
    backbone = _whole_start(settings, vocab, languages, seed, causal=causal)
    if isinstance(backbone, Seq2Seq):
        backbone = backbone.encoder
    return backbone if settings.take == "whole" else reinitialized(backbone, settings.take, seed)


def _whole_start(
    settings: ModelSettings,
    vocab: Vocab,
    languages: Sequence[str],
    seed: int,
    *,
    causal: bool | None = False,
    start: str | None = None,
) -> Backbone:
    """Return the whole model of `start`, by default that of the settings, or a fresh one of their shape."""
    names = tuple(languages) if settings.languages == "embeddings" else ()
    start = start or settings.start
    if start is None:
        shape = settings.shape or Shape()
        return from_shape(shape, vocab, names, seed, attention=settings.attention, causal=bool(causal))
    return load(
        start,
        vocab,
        names,
        attention=settings.attention,
        seed=seed,
        causal=causal,
        arrival=LanguageMapping(
            settings.language_names, settings.language_copies, mean=settings.new_languages == "mean"
        ),
        new_subwords=settings.new_subwords,
    )
