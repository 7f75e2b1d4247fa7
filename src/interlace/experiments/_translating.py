"""What a recipe for a translation model may say, and where its vocabulary comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.core.errors import SettingsError
from interlace.embeddings import is_text_file
from interlace.experiments._directions import longest_learnt

if TYPE_CHECKING:
    from interlace.experiments import Recipe

JUDGES = {"bleu": "mt", "round-trip": "round_trip"}  # what early stopping goes by -> the task whose main score it is


def check_translating(recipe: Recipe) -> None:
    """Refuse what says nothing beside a recipe's objectives.

    Raises:
        SettingsError: a decoder that no objective trains, an export that a translation model does not have, or stopping
            by translations that are not learnt, or not back.
    """
    if recipe.train.stop_by in JUDGES:
        _must_be_judged(recipe)
    if recipe.model.decoder is not None and recipe.objectives and not recipe.seq2seq:
        message = "[model.decoder] describes a decoder, but no objective of the recipe writes"
        raise SettingsError(f"{message}; add one that does, such as [objectives.translation], or leave it out")
    if recipe.export.fold_language is not None and recipe.seq2seq:
        message = "export.fold_language: a translation model reads one language and writes another"
        raise SettingsError(f"{message}; leave it out")


def _must_be_judged(recipe: Recipe) -> None:
    by, learnt = recipe.train.stop_by, longest_learnt(recipe)
    if recipe.objectives and not learnt:
        raise SettingsError(f"train.stop_by = {by!r}: no objective of the recipe translates; stop by perplexity")
    one_way = [name for name in learnt if "-".join(reversed(name.split("-"))) not in learnt]
    if by == "round-trip" and one_way:
        raise SettingsError(f"train.stop_by = {by!r}: {one_way[0]} is learnt and the way back is not; stop by 'bleu'")


def tokenizer_of(recipe: Recipe) -> str | None:
    """The folder or hub name whose tokenizer a recipe uses; None: its own.

    That of the model's start, of the decoder's where only that has one, or of vectors that a fresh model begins with.
    """
    model, decoder = recipe.model, recipe.model.decoder
    beside = model.vectors if model.vectors is not None and not is_text_file(model.vectors) else None
    return recipe.vocab.start or model.start or (decoder.start if decoder is not None else None) or beside
