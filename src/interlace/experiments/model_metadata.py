"""Metadata of a translation model, stored with its weights: learned directions, lengths and normalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.core.errors import DataError, SettingsError
from interlace.experiments.recipe import max_source_lengths
from interlace.text.normalization import Normalization
from interlace.training.run_folder import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from interlace.data.vocab import Vocab
    from interlace.experiments.recipe import Recipe
    from interlace.models.backbone import Backbone

METADATA = "interlace.json"


@dataclass(frozen=True)
class ModelMetadata:
    """The directions that a model learned, and the normalization of its training text.

    name: of its recipe. max_source_lengths: by direction, such as `en-de`, the maximum tokens of a source sentence in
    training, without special tokens.
    """

    name: str
    normalization: Normalization
    max_source_lengths: Mapping[str, int]

    @classmethod
    def of(cls, recipe: Recipe) -> ModelMetadata:
        """Return the metadata of a recipe's model."""
        return cls(recipe.name, recipe.normalization, max_source_lengths(recipe))

    @classmethod
    def read(cls, folder: Path) -> ModelMetadata | None:
        """Return the metadata in a model's folder; None for models of other libraries.

        Raises:
            DataError: the file is damaged.
        """
        found = read_json(folder / METADATA)
        if found is None:
            return None
        try:
            lengths = {str(direction): int(length) for direction, length in found["max_source_lengths"].items()}
            return cls(str(found["name"]), Normalization.read(found["normalization"]), lengths)
        except (KeyError, TypeError, ValueError, AttributeError, SettingsError) as error:
            raise DataError(f"{folder / METADATA}: damaged ({error!r}); copy the model again, or remove it") from error

    def write(self, folder: Path) -> None:
        """Write the metadata into a model's folder."""
        lengths = dict(self.max_source_lengths)
        data = {"name": self.name, "normalization": self.normalization.dump(), "max_source_lengths": lengths}
        write_json(folder / METADATA, data)

    def check_direction(self, source: str, target: str) -> None:
        """Raise a SettingsError if the direction was not learned; it names those that were."""
        if f"{source}-{target}" in self.max_source_lengths:
            return
        known = ", ".join(self.max_source_lengths)
        trained = f"it learned {known}" if known else "none of its objectives translates"
        message = f"{self.name!r} was not trained to translate {source}-{target}: {trained}"
        raise SettingsError(f"{message}; --force translates anyway")


def save_model(backbone: Backbone, vocab: Vocab, recipe: Recipe, folder: Path) -> None:
    """Write a model as a self-contained folder, with metadata if it translates."""
    backbone.save_pretrained(folder, vocab, fold_language=recipe.export.fold_language)
    if recipe.seq2seq:
        ModelMetadata.of(recipe).write(folder)
