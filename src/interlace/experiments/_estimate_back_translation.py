"""What back-translation adds to the cost of a run: its own updates, the translations that they make first included."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged
from interlace.core.schedules import value_at
from interlace.data import Sentences
from interlace.objectives import Resources
from interlace.objectives.back_translation import BackTranslation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import torch

    from interlace.data.vocab import Vocab
    from interlace.experiments import Recipe
    from interlace.models.backbone import Backbone

_LOOKS = 200  # steps at which weights are looked at


class Translating:
    """Updates of an objective that translates first, on random sentences of its longest rows.

    Translations are as long as the sentences: a model that has not learnt to translate ends anywhere.
    """

    def __init__(self, objective: BackTranslation, backbone: Backbone, vocab: Vocab, languages: list[str]) -> None:
        self._objective = objective.model_copy(update={"reuse": 1, "max_ratio": 1.0, "max_extra": 0})
        prepared = self._objective.prepare(Resources(vocab, backbone.traits, languages=tuple(languages)))
        end = vocab.begin  # stands for the end, which a model may say at once; this it says only where it must
        self._prepared = replace(
            prepared,
            roles=np.array([vocab.begin, end, vocab.pad, vocab.size], np.int64),
            never=np.setdiff1d(vocab.special_ids, [end]),
        )
        several = (name for name in languages if set(prepared.through) - {name})
        self._language = next(several, languages[0])  # of which making a batch says that there is no other
        self._length = min(objective.max_length, backbone.traits.max_length or objective.max_length) - 2
        self._backbone = backbone

    @property
    def row(self) -> int:
        """Subwords of a row, on both sides."""
        return 2 * (self._length + 2)

    def loss(self, rows: int, device: torch.device) -> Callable[[], torch.Tensor]:
        """What computes the loss of a batch of so many rows."""
        rng = np.random.default_rng(0)
        flat = rng.choice(self._prepared.vocab.regular_ids, rows * self._length).astype(np.int32)
        ids = Ragged.from_lengths(flat, [self._length] * rows)
        sentences = Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), self._language)
        batch = self._objective.batch(sentences, self._prepared, 0, rng).to(device)
        heads = self._objective.modules(self._backbone)
        return lambda: self._objective.loss(self._backbone, heads, batch)[self._objective.term].total


def shares(recipe: Recipe) -> Iterator[tuple[BackTranslation, float]]:
    """Each objective of the recipe that translates first, and the share of all updates for which it does."""
    steps = np.linspace(1, recipe.train.steps, _LOOKS).round().astype(int).tolist()
    weights = {
        name: np.array([value_at(entry.weight, step) for step in steps]) for name, entry in recipe.objectives.items()
    }
    if recipe.train.alternate:
        weights = {name: (each > 0).astype(float) for name, each in weights.items()}
    total = np.maximum(sum(weights.values()), 1e-12)
    for name, each in weights.items():
        objective = recipe.objective(name)
        if isinstance(objective, BackTranslation):
            yield objective, float((each / total).mean()) / objective.reuse
