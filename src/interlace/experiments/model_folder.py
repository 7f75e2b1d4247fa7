"""An exported model: weights, tokenizer, metadata of translation, and modules of sentence-transformers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from interlace.core.display import listed
from interlace.core.errors import SettingsError
from interlace.core.finite import check_finite_weights
from interlace.core.json_files import JsonObject, read_json, write_json
from interlace.data.vocab import Vocab
from interlace.experiments.recipe import Recipe, max_source_lengths, resolve_task
from interlace.models.backbone import Backbone
from interlace.text.normalization import Normalization

METADATA = "interlace.json"
_LAYERS = "1_WeightedLayerPooling"
_WEIGHTS = "1_WordWeights"
_POOLING = "1_Pooling"
_NORM = "2_Normalize"


@dataclass(frozen=True)
class ModelMetadata:
    """The directions that a model learned, and the normalization of its training text; stored with its weights.

    name: of its recipe. max_source_lengths: by direction, such as `en-de`, the maximum tokens of a source sentence in
    training, without special tokens.
    """

    name: str
    normalization: Normalization
    max_source_lengths: dict[str, int]

    @classmethod
    def of(cls, recipe: Recipe) -> ModelMetadata:
        """Return the metadata of a recipe's model."""
        return cls(
            recipe.name,
            recipe.normalization,
            max_source_lengths(recipe),
        )

    @classmethod
    def read(cls, folder: Path) -> ModelMetadata | None:
        """Return the metadata in a model's folder; None for models of other libraries."""
        remedy = "copy the model again, or remove the file"
        return read_json(folder / METADATA, cls, None, remedy=remedy)

    def write(self, folder: Path) -> None:
        """Write the metadata into a model's folder."""
        write_json(
            folder / METADATA, {**vars(self), "normalization": self.normalization.dump()}
        )

    def check_direction(self, source: str, target: str) -> None:
        """Raise a SettingsError if the direction was not learned; it names those that were."""
        if f"{source}-{target}" not in self.max_source_lengths:
            learned = listed(self.max_source_lengths) or "no direction"
            raise SettingsError(
                f"{self.name!r} was not trained to translate {source}-{target}: it learned {learned}; --force "
                "translates anyway"
            )


def save_model(backbone: Backbone, vocab: Vocab, recipe: Recipe, folder: Path) -> None:
    """Write a model as a self-contained folder, with metadata if it translates, else for sentence-transformers.

    Raise a CheckpointError if a weight is not finite.
    """
    check_finite_weights(backbone.named_parameters(), f"the model to write to {folder}")
    backbone.save_pretrained(folder, vocab)
    if recipe.seq2seq:
        ModelMetadata.of(recipe).write(folder)
    else:
        write_sentence_modules(
            folder,
            backbone,
            vocab,
            *sentence_vectors(recipe, backbone),
        )


def sentence_vectors(recipe: Recipe, backbone: Backbone) -> tuple[int, int]:
    """Return the layer of sentence vectors, and the maximum length in tokens, by the recipe's task `retrieval`."""
    task: Any = resolve_task(recipe, "retrieval")
    return task.layer_of(int(backbone.model.config.num_hidden_layers)), task.max_length


def write_sentence_modules(
    folder: Path, backbone: Backbone, vocab: Vocab, layer: int, max_length: int
) -> None:
    """Write the files by which sentence-transformers opens a model with the sentence vectors of retrieval.

    The vector is the mean of a layer's states without special tokens, with length 1; a module computes each part.
    `WordWeights` gives special tokens the weight 0. The layer is the last one of a model that is opened without the
    layers above it, so one copy of the weights serves both; ModernBERT's last layer is followed by a norm that the
    states below lack, so there `WeightedLayerPooling` takes the layer from the whole model.

    layer: 0 the embeddings. max_length: of a sequence, in tokens.
    """
    depth = int(backbone.model.config.num_hidden_layers)
    width = backbone.width
    modules = {
        "Transformer": "",
        "WordWeights": _WEIGHTS,
        "Pooling": _POOLING,
        "Normalize": _NORM,
    }
    transformer: JsonObject = {"max_seq_length": min(max_length, backbone.traits.max_length)}
    # of the special tokens alone; the others have the weight 1
    names = [""] * max(vocab.size, backbone.vocab_size)
    for number in (vocab.begin, vocab.end, vocab.pad):
        names[number] = str(vocab.tokenizer.id_to_token(number))
    weights = {name: 0.0 for name in names if name}
    configs: JsonObject = {
        _WEIGHTS: {"vocab": names, "word_weights": weights, "unknown_word_weight": 1.0},
        _POOLING: {
            "word_embedding_dimension": width,
            "pooling_mode_mean_tokens": True,
            "pooling_mode_cls_token": False,
        },
        _NORM: {},
    }
    if layer < depth and backbone.family.name == "modernbert":
        modules = {"Transformer": "", "WeightedLayerPooling": _LAYERS, **modules}
        configs[_LAYERS] = {
            "word_embedding_dimension": width,
            "num_hidden_layers": depth,
            "layer_start": layer,
        }
        transformer["config_args"] = {"output_hidden_states": True}
    elif layer < depth:
        transformer["config_args"] = {"num_hidden_layers": layer}
    for path, config in configs.items():
        write_json(folder / path / "config.json", config)
    if _LAYERS in configs:
        chosen = torch.eye(1, depth + 1 - layer)[0]
        save_file(
            {"layer_weights": chosen},
            folder / _LAYERS / "model.safetensors",
            metadata={"format": "pt"},
        )
    listed = [
        {
            "idx": number,
            "name": str(number),
            "path": path,
            "type": f"sentence_transformers.models.{kind}",
        }
        for number, (kind, path) in enumerate(modules.items())
    ]
    write_json(folder / "sentence_bert_config.json", transformer)
    write_json(folder / "modules.json", listed)
