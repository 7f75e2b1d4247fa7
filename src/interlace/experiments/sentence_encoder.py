"""A model that encodes lines as sentence vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from interlace.core.ragged import FloatArray
from interlace.data.vocab import Vocab
from interlace.experiments.score_store import folder_key
from interlace.tasks.common.files import encode
from interlace.tasks.common.vectors import layer_vectors, vector_layer
from interlace.tasks.retrieval import Retrieval
from interlace.text import Text

if TYPE_CHECKING:
    from interlace.models.backbone import Backbone


@dataclass(frozen=True)
class SentenceEncoder:
    """The model of a run, of a folder or of a hub name; it is opened when lines are encoded.

    layer: as of the task `retrieval`; None: the vectors that the model was trained for, without any the mean of the
    states at two thirds of its layers.
    """

    model: str
    layer: int | None = None

    @cached_property
    def folder(self) -> Path:
        """The folder of the model; raise a CheckpointError if there is none."""
        from interlace.models.checkpoint_files import CONFIG, find_checkpoint

        of_run = Path(self.model, "model")
        return find_checkpoint(of_run if (of_run / CONFIG).is_file() else self.model)

    @cached_property
    def key(self) -> str:
        """A hash of the model's files."""
        return folder_key(self.folder)

    def vectors(self, lines: Sequence[str], language: str) -> FloatArray:
        """Return (n, D) vectors of any length; raise a SettingsError if there is no such layer."""
        sentences = encode([Text.of(list(lines), language)], self._vocab)
        layer = vector_layer("layer", self.layer, self._backbone)
        return layer_vectors(self._backbone, self._vocab, sentences, layer, Retrieval().limits)

    @cached_property
    def _vocab(self) -> Vocab:
        return Vocab.load(str(self.folder))

    @cached_property
    def _backbone(self) -> Backbone:
        import torch

        from interlace.models.build import load

        device = "cuda" if torch.cuda.is_available() else "cpu"
        return load(self.folder, self._vocab).encoder.to(device)
