"""An exported model: weights, tokenizer, metadata of translation, and modules of sentence-transformers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlace.core.display import listed
from interlace.core.errors import SettingsError
from interlace.core.finite import check_finite_weights
from interlace.core.json_files import read_json, write_json
from interlace.data.vocab import Vocab
from interlace.experiments.recipe import Recipe, max_source_lengths, resolve_task
from interlace.models.backbone import Backbone
from interlace.text.normalization import Normalization

METADATA = "interlace.json"


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
        from interlace.models.sentence_modules import write_sentence_modules

        layer, max_length = sentence_vectors(recipe, backbone)
        write_sentence_modules(folder, backbone, vocab, layer, max_length)


def sentence_vectors(recipe: Recipe, backbone: Backbone) -> tuple[int | None, int]:
    """Return the layer of sentence vectors, and the maximum length in tokens, by the recipe's task `retrieval`.

    The layer is None for the vectors that the model was trained for.
    """
    task: Any = resolve_task(recipe, "retrieval")
    return task.layer_of(backbone), task.max_length
