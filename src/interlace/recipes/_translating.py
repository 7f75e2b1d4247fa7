"""What a recipe for a translation model may say, and where its vocabulary comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.errors import SettingsError
from interlace.vectors import is_text_file

if TYPE_CHECKING:
    from interlace.recipes import Recipe


def check_translating(recipe: Recipe) -> None:
    """Refuse what says nothing beside a recipe's objectives.

    Raises:
        SettingsError: a decoder that no objective trains, or an export that a translation model does not have.
    """
    if recipe.model.decoder is not None and recipe.objectives and not recipe.seq2seq:
        message = "[model.decoder] describes a decoder, but no objective of the recipe writes"
        raise SettingsError(f"{message}; add one that does, such as [objectives.translation], or leave it out")
    if recipe.export.fold_language is not None and recipe.seq2seq:
        message = "export.fold_language: a translation model reads one language and writes another"
        raise SettingsError(f"{message}; leave it out")


def tokenizer_of(recipe: Recipe) -> str | None:
    """The folder or hub name whose tokenizer a recipe uses; None: its own.

    That of the model's start, of the decoder's where only that has one, or of vectors that a fresh model begins with.
    """
    model, decoder = recipe.model, recipe.model.decoder
    beside = model.vectors if model.vectors is not None and not is_text_file(model.vectors) else None
    return recipe.vocab.start or model.start or (decoder.start if decoder is not None else None) or beside
