"""Translation models on disk, in two forms.

A BERT or RoBERTa decoder makes an `EncoderDecoderModel` of transformers. It shares no table between its sides there, so
each side is written with its own; `interlace_seq2seq` in the configuration says that they are one, and opening it here
makes them one again.

transformers knows ModernBERT as no decoder. Such a model is a folder of two: `encoder/` is an ordinary checkpoint,
`decoder/` holds the rest: layers, cross-attention and head, without a table where that is the encoder's. The
`config.json` above them says `interlace-seq2seq`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from interlace.core.errors import CheckpointError
from interlace.data._special import without_code
from interlace.models import _files
from interlace.models._export import cast
from interlace.models._export import export as export_encoder
from interlace.models._kernels import install
from interlace.models._quiet import quiet
from interlace.models._seq2seq_build import empty_decoder, join
from interlace.models.backbone import Backbone
from interlace.models.families import MODEL_TYPES, SEQ2SEQ
from interlace.models.languages import arrive
from interlace.text.lines import atomic_folder, must_be_replaceable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import torch
    from torch import Tensor

    from interlace.data.vocab import Vocab
    from interlace.models._crossed import Crossed
    from interlace.models.extension import NewRows
    from interlace.models.languages import Arrival
    from interlace.models.seq2seq import Seq2Seq
    from interlace.models.shape import Attention

PLAIN, OWN = SEQ2SEQ
RECORD = "interlace_seq2seq"
ENCODER, DECODER = "encoder", "decoder"


def export(model: Seq2Seq, folder: Path, vocab: Vocab, *, dtype: torch.dtype) -> Path:
    """See `Seq2Seq.save_pretrained`."""
    must_be_replaceable(folder, _files.CONFIG, "checkpoint")
    save = _save_own if model.decoder.family.name == "modernbert" else _save_plain
    try:
        with atomic_folder(folder) as partial:
            save(model, partial, vocab, dtype)
            vocab.save_files(partial)
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return folder


def reopen(
    folder: Path,
    config: dict[str, Any],
    vocab: Vocab | None,
    languages: Sequence[str],
    attention: Attention,
    seed: int,
    arrival: Arrival,
    new_subwords: NewRows,
) -> Seq2Seq:
    """See `models.build.load`."""
    from interlace.models.build import check_vocab
    from interlace.models.extension import extend

    encoder, decoder, shared = (_open_own if config["model_type"] == OWN else _open_plain)(folder, config)
    for model in (encoder.model, decoder.model):
        if vocab is not None:
            check_vocab(model.config.to_dict(), vocab, folder)
        arrive(model, languages, arrival)
        if vocab is not None and vocab.extension is not None:
            extend(model, vocab.extension, new_subwords, seed)
    if attention != "auto":
        encoder.model.set_attn_implementation(attention)
    install(encoder.model, own_attention=attention == "auto")
    return join(Backbone(encoder.model, encoder.carried), decoder, share=shared)


def _save_plain(model: Seq2Seq, folder: Path, vocab: Vocab, dtype: torch.dtype) -> None:
    """One file of weights: `encoder.` and `decoder.`, each with a table of its own."""
    from safetensors.torch import save_file
    from transformers import EncoderDecoderConfig

    base = f"{model.model.base_model_prefix}."
    carried = {name.removeprefix(base): each for name, each in model.carried.items() if name.startswith(base)}
    encoder = {**carried, **model.model.base_model.state_dict()}
    tensors = {f"{ENCODER}.{name}": each.clone() for name, each in cast(encoder, dtype).items()}
    tensors |= {f"{DECODER}.{name}": each.clone() for name, each in cast(_once(model.decoder.model), dtype).items()}
    save_file(tensors, folder / _files.WEIGHTS, {"format": "pt"})
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
        RECORD: {"table": "shared" if model.shared else "own"},
    }
    _write(folder / _files.CONFIG, data)


def _save_own(model: Seq2Seq, folder: Path, vocab: Vocab, dtype: torch.dtype) -> None:
    """Two folders, the second without what stands in the first."""
    from safetensors.torch import save_file

    export_encoder(model.encoder, folder / ENCODER, vocab, fold_language=None, dtype=dtype)
    (folder / DECODER).mkdir()
    tensors = _once(model.decoder)
    if model.shared:
        tensors = {name: each for name, each in tensors.items() if each.data_ptr() != model.table.data_ptr()}
    written = {name: each.clone() for name, each in cast(tensors, dtype).items()}
    save_file(written, folder / DECODER / _files.WEIGHTS, {"format": "pt"})
    _write(folder / DECODER / _files.CONFIG, model.decoder.config.to_dict())
    data = {"model_type": OWN, "dtype": _name(dtype), RECORD: {"table": "shared" if model.shared else "own"}}
    _write(folder / _files.CONFIG, data)


def _open_plain(folder: Path, config: dict[str, Any]) -> tuple[Backbone, Crossed, bool]:
    """Encoder, decoder, and whether they are to share a table."""
    import torch

    stored = _files.weights(folder)
    sides = {}
    for side in (ENCODER, DECODER):
        names = [name for name in stored if name.startswith(f"{side}.")]
        sides[side] = {name.removeprefix(f"{side}."): each for name, each in _files.read(stored, names).items()}
    encoder = Backbone(_empty_encoder(config[ENCODER], folder))
    base = encoder.model.base_model
    fill(base, sides[ENCODER], f"{folder}, {ENCODER}")
    encoder.carried = {
        f"{encoder.model.base_model_prefix}.{name}": each
        for name, each in sides[ENCODER].items()
        if name not in base.state_dict()
    }
    decoder = _empty_decoder(config[DECODER], folder)
    fill(decoder.model, sides[DECODER], f"{folder}, {DECODER}")
    table = decoder.model.get_input_embeddings().weight
    alike = table.shape == encoder.table.shape and torch.equal(table, encoder.table)
    return encoder, decoder, alike if RECORD not in config else config[RECORD]["table"] == "shared"


def _open_own(folder: Path, config: dict[str, Any]) -> tuple[Backbone, Crossed, bool]:
    """Encoder, decoder, and whether they are to share a table."""
    from interlace.models.build import load

    encoder = load(folder / ENCODER)
    decoder = _empty_decoder(_files.read_config(folder / DECODER), folder)
    stored = _files.weights(folder / DECODER)
    tensors = _files.read(stored, stored)
    shared = config.get(RECORD, {}).get("table") == "shared"
    if shared:
        tensors["model.model.embeddings.tok_embeddings.weight"] = encoder.table.data
    fill(decoder, tensors, str(folder / DECODER))
    return encoder, decoder, shared


def fill(model: Any, tensors: Mapping[str, Tensor], where: str) -> None:
    """Put weights into a model, in place; those that it ties may be missing.

    Raises:
        CheckpointError: a weight is missing or of another shape.
    """
    for name, weight in _once(model).items():
        if name not in tensors:
            raise CheckpointError(f"{where}: lacks the weight {name}; copy or write the checkpoint again")
        if tensors[name].shape != weight.shape:
            found, wanted = tuple(tensors[name].shape), tuple(weight.shape)
            raise CheckpointError(f"{where}: {name} has shape {found}, its configuration says {wanted}")
        weight.copy_(tensors[name])


def _once(model: Any) -> dict[str, Tensor]:
    """The state of a model by name, each tensor under the first of its names."""
    seen: set[tuple[int, Any]] = set()
    kept = {}
    for name, tensor in model.state_dict().items():
        if (key := (tensor.data_ptr(), tensor.shape)) not in seen:
            kept[name] = tensor
        seen.add(key)
    return kept


def _empty_encoder(data: Mapping[str, Any], folder: Path) -> Any:
    import torch
    from transformers import AutoModelForMaskedLM

    maker: Any = AutoModelForMaskedLM
    with quiet(), torch.random.fork_rng(devices=[]):
        return maker.from_config(_configuration(data, folder), dtype=torch.float32, trust_remote_code=False)


def _empty_decoder(data: Mapping[str, Any], folder: Path) -> Crossed:
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


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _write(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(
        json.dumps(without_code(dict(data)), indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
    )
