"""The modules by which sentence-transformers makes the sentence vectors of a model: files in its folder.

Legend: D dimensions of sentence vectors, H width.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Required

import torch
from safetensors.torch import save_file
from torch import nn
from typing_extensions import TypedDict

from interlace.core.errors import CheckpointError
from interlace.core.finite import check_finite_weights
from interlace.core.json_files import JsonObject, json_record, read_json, write_json
from interlace.core.names import file_in
from interlace.data.vocab import Vocab
from interlace.models.backbone import (
    ACTIVATIONS,
    Backbone,
    Pooling,
    SentenceHead,
    Tensors,
    cpu_copies,
)
from interlace.models.checkpoint_files import WEIGHTS, read_weights, weight_files

log = logging.getLogger(__name__)

MODULES = "modules.json"
_TRANSFORMER = "sentence_bert_config.json"
_LAYERS = "1_WeightedLayerPooling"
WORD_WEIGHTS = "1_WordWeights"
_POOLING = "1_Pooling"
_DENSE = "2_Dense"
_NORM = "2_Normalize"

# the keys of a pooling's configuration, and the name of its mode since sentence-transformers 5
_POOLINGS: dict[Pooling, tuple[str, str]] = {
    "first": ("pooling_mode_cls_token", "cls"),
    "mean": ("pooling_mode_mean_tokens", "mean"),
    "max": ("pooling_mode_max_tokens", "max"),
}
# the modules that are read, in this order
_READ = ("Transformer", "Pooling", "Dense", "Normalize")
# in the modules of a layer, which are written for a model that was trained for no sentence vectors
_OF_LAYER = {"WordWeights", "WeightedLayerPooling"}


@json_record
class _Module(TypedDict):
    type: str
    path: str


@json_record
class _Dense(TypedDict, total=False):
    activation_function: Required[str]
    use_residual: bool


def read_sentence_head(folder: Path, width: int) -> SentenceHead | None:
    """Return how a checkpoint's modules make sentence vectors; None without any, and with those of a layer.

    Modules that are not read here are a warning. Raise a CheckpointError for damaged files.

    width: H.
    """
    modules = read_json(folder / MODULES, list[_Module], [], error=CheckpointError)
    paths = {module["type"].rpartition(".")[2]: module["path"] for module in modules}
    if not paths or paths.keys() & _OF_LAYER:
        return None
    head = None
    is_chain = list(paths) == [kind for kind in _READ if kind in paths]
    if is_chain and len(paths) == len(modules) and "Pooling" in paths:
        head = _head(folder, paths, width)
    if head is None:
        log.warning(
            "%s: sentence vectors by %s are not read; they are the mean of a layer's states instead",
            folder / MODULES,
            ", ".join(paths),
        )
    return head


def _head(folder: Path, paths: dict[str, str], width: int) -> SentenceHead | None:
    """Return the head of modules with these paths; None if a setting of theirs is not known here."""
    config = _config(file_in(folder, paths["Pooling"]))
    poolings = []
    for pooling, (key, mode) in _POOLINGS.items():
        if config.get(key) or config.get("pooling_mode") == mode:
            poolings.append(pooling)
    if len(poolings) != 1:
        return None
    if "Dense" not in paths:
        return SentenceHead(poolings[0])
    dense_folder = file_in(folder, paths["Dense"])
    config = _config(dense_folder, _Dense)
    activation = config["activation_function"].rpartition(".")[2]
    if activation not in ACTIVATIONS or config.get("use_residual"):
        return None
    return SentenceHead(poolings[0], _read_dense(dense_folder, width), activation)


def _config(folder: Path, schema: type = JsonObject) -> JsonObject:
    config: JsonObject = read_json(folder / "config.json", schema, error=CheckpointError)
    return config


def _read_dense(folder: Path, width: int) -> nn.Linear:
    """Return a dense layer from H to D."""
    files = weight_files(folder)
    weights = read_weights(files, files)
    check_finite_weights(weights.items(), str(folder))
    weight = weights.get("linear.weight", torch.empty(0))
    bias = weights.get("linear.bias")
    is_matrix = weight.dim() == 2 and weight.shape[1] == width
    if not is_matrix or (bias is not None and bias.shape != weight.shape[:1]):
        raise CheckpointError(
            f"{folder / WEIGHTS}: expected linear.weight of {width} columns, and linear.bias of as many values as it "
            "has rows"
        )
    dense = nn.Linear(width, len(weight), bias=bias is not None)
    dense.weight.data.copy_(weight)
    if bias is not None:
        dense.bias.data.copy_(bias)
    return dense


@dataclass(frozen=True)
class _Written:
    """A module to be written, in a folder of its own."""

    kind: str
    path: str
    config: JsonObject
    weights: Tensors = field(default_factory=dict)


def write_sentence_modules(
    folder: Path, backbone: Backbone, vocab: Vocab, layer: int | None, max_length: int
) -> None:
    """Write the files by which sentence-transformers opens a model with the sentence vectors of `encode`.

    Vectors have length 1. Those of a layer are the mean of its states without special tokens: `WordWeights` gives these
    the weight 0. The layer is the last one of a model that is opened without the layers above it, so one copy of the
    weights serves both; where the last layer is followed by a norm that the states below lack, as ModernBERT's,
    `WeightedLayerPooling` takes the layer from the whole model.

    layer: 0 the embeddings; None: the vectors that the model was trained for. max_length: of a sequence, in tokens.
    """
    depth = int(backbone.model.config.num_hidden_layers)
    transformer: JsonObject = {"max_seq_length": min(max_length, backbone.traits.max_length)}
    modules = []
    if layer is None:
        head = backbone.sentence_head or SentenceHead()
        modules += _head_modules(head, backbone.width)
    else:
        if layer < depth and backbone.family.final_norm:
            modules.append(_layer_choice(layer, depth, backbone.width))
            transformer["config_args"] = {"output_hidden_states": True}
        elif layer < depth:
            transformer["config_args"] = {"num_hidden_layers": layer}
        modules += [
            _special_weights(vocab, backbone.vocab_size),
            _pooling("mean", backbone.width),
        ]
    modules.append(_Written("Normalize", _NORM, {}))
    listed = [_entry(0, "Transformer", "")]
    for module in modules:
        listed.append(_entry(len(listed), module.kind, module.path))
        write_json(folder / module.path / "config.json", module.config)
        if module.weights:
            path = folder / module.path / WEIGHTS
            save_file(module.weights, path, metadata={"format": "pt"})
    write_json(folder / _TRANSFORMER, transformer)
    write_json(folder / MODULES, listed)


def _entry(number: int, kind: str, path: str) -> JsonObject:
    return {
        "idx": number,
        "name": str(number),
        "path": path,
        "type": f"sentence_transformers.models.{kind}",
    }


def _head_modules(head: SentenceHead, width: int) -> list[_Written]:
    modules = [_pooling(head.pooling, width)]
    if head.dense is not None:
        activation = type(head.activate)
        config = {
            "in_features": width,
            "out_features": head.dense.out_features,
            "bias": head.dense.bias is not None,
            "activation_function": f"{activation.__module__}.{activation.__name__}",
        }
        weights = cpu_copies(
            {f"linear.{name}": weight for name, weight in head.dense.named_parameters()},
            torch.float32,
        )
        modules.append(_Written("Dense", _DENSE, config, weights))
    return modules


def _pooling(pooling: Pooling, width: int) -> _Written:
    config: JsonObject = {"word_embedding_dimension": width}
    for name, (key, _) in _POOLINGS.items():
        config[key] = name == pooling
    return _Written("Pooling", _POOLING, config)


def _special_weights(vocab: Vocab, vocab_size: int) -> _Written:
    """Return the module by which special tokens have the weight 0 in a mean; it names no other tokens."""
    names = [""] * max(vocab.size, vocab_size)
    for number in (vocab.begin, vocab.end, vocab.pad):
        names[number] = str(vocab.tokenizer.id_to_token(number))
    weights = {name: 0.0 for name in names if name}
    config = {"vocab": names, "word_weights": weights, "unknown_word_weight": 1.0}
    return _Written("WordWeights", WORD_WEIGHTS, config)


def _layer_choice(layer: int, depth: int, width: int) -> _Written:
    config = {
        "word_embedding_dimension": width,
        "num_hidden_layers": depth,
        "layer_start": layer,
    }
    chosen = torch.eye(1, depth + 1 - layer)[0]
    return _Written("WeightedLayerPooling", _LAYERS, config, {"layer_weights": chosen})
