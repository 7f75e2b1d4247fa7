"""What the weights of a translation model do not tell, kept beside them, so that a copy of its folder knows it too."""

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
    """Which directions a model learnt, and how the text was written that it learnt from.

    name: of its recipe. normalization: what was done to each line. longest: by direction, such as `en-de`, most subwords of
    a source that it learnt to translate, without specials; a longer sentence is unlike all that it read.
    """

    name: str
    normalization: Normalization
    longest: Mapping[str, int]

    @classmethod
    def of(cls, recipe: Recipe) -> ModelMetadata:
        """What a run of the recipe learns."""
        return cls(recipe.name, recipe.normalization, max_source_lengths(recipe))

    @classmethod
    def read(cls, folder: Path) -> ModelMetadata | None:
        """What was written down in a model's folder; None: nobody knows, as of models that are not interlace's.

        Raises:
            DataError: the file is damaged.
        """
        found = read_json(folder / METADATA)
        if found is None:
            return None
        try:
            longest = {str(direction): int(most) for direction, most in found["longest"].items()}
            return cls(str(found["name"]), Normalization.read(found["normalization"]), longest)
        except (KeyError, TypeError, ValueError, AttributeError, SettingsError) as error:
            raise DataError(f"{folder / METADATA}: damaged ({error!r}); copy the model again, or remove it") from error

    def write(self, folder: Path) -> None:
        """Into a model's folder."""
        known = {"name": self.name, "normalization": self.normalization.dump(), "longest": dict(self.longest)}
        write_json(folder / METADATA, known)

    def must_cover(self, source: str, target: str) -> None:
        """Refuse a direction that was not learnt.

        Raises:
            SettingsError: names those that were.
        """
        if f"{source}-{target}" in self.longest:
            return
        known = ", ".join(self.longest)
        trained = f"it learnt {known}" if known else "no objective of it translates"
        message = f"{self.name!r} was not trained to translate {source}-{target}: {trained}"
        raise SettingsError(f"{message}; --force translates all the same")


def export(backbone: Backbone, vocab: Vocab, recipe: Recipe, folder: Path) -> None:
    """Write a model as a folder by itself, with what it knows beside it where it translates."""
    backbone.save_pretrained(folder, vocab, fold_language=recipe.export.fold_language)
    if recipe.seq2seq:
        ModelMetadata.of(recipe).write(folder)
