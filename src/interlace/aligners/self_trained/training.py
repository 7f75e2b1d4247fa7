"""Training of an encoder on the links of a text, with checkpoints in the cache, from which a killed one resumes."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.aligners import Alignments
from interlace.aligners.common.self_alignment import self_alignment_loss, word_confidences
from interlace.aligners.self_trained.settings import TrainingSettings
from interlace.aligners.similarity import FittedSimilarity, standards_array
from interlace.core.files import atomic, cache_folder
from interlace.core.json_files import JsonObject
from interlace.core.progress import Progress
from interlace.core.ragged import Ragged
from interlace.core.schedules import value_at
from interlace.data import Pairs
from interlace.data.artifacts import Artifact
from interlace.data.cache import code_hash, content_key
from interlace.data.layout import SPECIALS, separate_sides
from interlace.data.sampling import BucketPlan
from interlace.models.checkpoint_files import find_checkpoint

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.backbone import Tensors

log = logging.getLogger(__name__)

CHECKPOINT_SECONDS = 60.0  # between checkpoints
_WARMUP = 0.1  # share of the updates with a rising learning rate
_MAX_EPOCHS = 3  # more do not help
_MAX_NORM = 1.0  # of the gradient
_OTHER_SETTINGS = {"start", "device"}  # do not change the training
# prefix of the names of the optimizer's tensors, before the number of the weight
_MOMENT = "moment."


class EncoderTraining:
    """Updates of the layers of an encoder, in place; embeddings stay as they are, and nothing is dropped out.

    alignments: what it is trained on, a row per pair.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        similarity: FittedSimilarity,
        pairs: Pairs,
        alignments: Alignments,
    ) -> None:
        from torch.optim import AdamW

        from interlace.models.backbone import parts_of

        self.settings = settings
        self.pairs = pairs
        self.alignments = alignments
        self.similarity = similarity
        encoder = similarity.encoder
        backbone = encoder.backbone
        self._device = backbone.device
        embeddings = set(parts_of(backbone)["embeddings"])
        backbone.requires_grad_(requires_grad=False)
        self._weights = {}
        for name, weight in backbone.model.base_model.named_parameters():
            if weight not in embeddings:
                self._weights[name] = weight.requires_grad_()
        self._optimizer = AdamW(self._weights.values(), weight_decay=0.0)
        self._plan = BucketPlan(
            np.maximum(pairs.source.lengths, pairs.target.lengths),
            settings.tokens_per_update,
            seed=settings.seed,
            overhead=SPECIALS,
            max_length=encoder.max_length,
        )

    @property
    def updates(self) -> int:
        """Number of updates: the setting, but each pair is read a few times at most; 0 for the embeddings, layer 0."""
        if not self.similarity.encoder.layer:
            return 0
        return min(self.settings.updates, _MAX_EPOCHS * len(self._plan))

    def update(self, number: int) -> None:
        """Train on batch `number`, counted from 0."""
        from torch import autograd
        from torch.nn.utils import clip_grad_norm_

        for group in self._optimizer.param_groups:
            group["lr"] = self._learning_rate(number)
        autograd.backward(self.loss(number))
        clip_grad_norm_(self._weights.values(), _MAX_NORM)
        self._optimizer.step()
        self._optimizer.zero_grad()

    def loss(self, number: int) -> Tensor:
        """Return the loss of batch `number`, a mean over its subwords."""
        import torch

        encoder = self.similarity.encoder
        rows, _ = self._plan.batch(number)
        pairs = self.pairs.take(rows)
        layout = separate_sides(pairs, encoder.vocab, encoder.max_length)
        alignments = self.alignments.take(rows)
        confidences = word_confidences(alignments.links, alignments.confidence, layout)
        inputs = encoder.backbone.traits.encoder_inputs(
            layout, pairs.languages, language_ids=encoder.feed_languages
        )
        tensors = {name: self._tensor(array) for name, array in inputs.items()}
        with torch.autocast(self._device.type, torch.bfloat16, enabled=encoder.half):
            states = encoder.states(tensors)
        standards = self.similarity.standards or ()
        sides = zip(states.float().chunk(2), standards, strict=True)
        total = self_alignment_loss(
            torch.cat([standard.scale(side) for side, standard in sides]),
            self._tensor(layout.words),
            self._tensor(confidences),
            self.settings.temperature,
        )
        return total / layout.content.sum()

    def _tensor(self, array: Any) -> Tensor:
        import torch

        return torch.from_numpy(array).to(self._device)

    def _learning_rate(self, number: int) -> float:
        """Return the learning rate, which rises at first and then falls, both linearly."""
        peak = max(1, round(_WARMUP * self.updates))
        share = value_at(f"0:0,{peak}:1,{self.updates + 1}:0", number + 1)
        return self.settings.learning_rate * share

    def weights(self) -> Tensors:
        """Return the weights that are trained, by name."""
        return {name: weight.detach() for name, weight in self._weights.items()}

    def load(self, weights: Tensors) -> None:
        """Replace the weights that are trained."""
        for name, weight in self._weights.items():
            weight.data.copy_(weights[name])

    def state(self) -> Tensors:
        """Return the weights and the state of the optimizer, from which training resumes exactly."""
        tensors = self.weights()
        for number, moments in self._optimizer.state_dict()["state"].items():
            for name, moment in moments.items():
                tensors[f"{_MOMENT}{number}.{name}"] = moment
        return tensors

    def resume(self, state: Tensors) -> None:
        """Continue from a state."""
        self.load(state)
        moments: dict[int, Tensors] = defaultdict(dict)
        for key, moment in state.items():
            if key.startswith(_MOMENT):
                number, name = key.removeprefix(_MOMENT).split(".")
                moments[int(number)][name] = moment
        groups = self._optimizer.state_dict()["param_groups"]
        self._optimizer.load_state_dict({"state": moments, "param_groups": groups})


class TrainedWeights(Artifact["Tensors"]):
    """The weights of an encoder after its training; its checkpoints are beside its folder in the cache."""

    kind = "encoders"

    def __init__(self, training: EncoderTraining, progress: Progress) -> None:
        self._training = training
        self._progress = progress

    def __str__(self) -> str:
        settings = self._training.settings
        return f"the encoder {settings.start} for {'-'.join(self._training.pairs.languages)}"

    @cached_property
    def key(self) -> JsonObject:
        """The pairs as they are read, the settings, and the weights that training starts from."""
        settings = self._training.settings
        files = sorted(find_checkpoint(settings.start).glob("*.safetensors"))
        return {
            "pairs": [*self._training.pairs.languages, _digest(self._training)],
            "layer": self._training.similarity.encoder.layer,
            "half": self._training.similarity.encoder.half,
            "settings": settings.model_dump(mode="json", exclude=_OTHER_SETTINGS),
            "start": [content_key(file) for file in files],
            "version": code_hash("aligners"),
        }

    def build(self, folder: Path) -> None:
        """Train from the last checkpoint, if there is one; write the weights."""
        import torch
        from safetensors.torch import load_file, save_file

        checkpoint = cache_folder() / self.kind / f"{self.id}.checkpoint"
        updates = self._training.updates
        message = "%s: %d updates of at most %d tokens on a side"
        log.info(message, self, updates, self._training.settings.tokens_per_update)
        done = 0
        if checkpoint.is_file():
            state = load_file(checkpoint)
            done = int(state["updates"])
            self._training.resume(state)
        saved_at = time.monotonic()
        for number in range(done, updates):
            self._progress("training the encoder", number, updates)
            self._training.update(number)
            if time.monotonic() - saved_at > CHECKPOINT_SECONDS:
                state = {**self._training.state(), "updates": torch.tensor(number + 1)}
                with atomic(checkpoint) as partial:
                    save_file(state, partial)
                saved_at = time.monotonic()
        self._progress("training the encoder", updates, updates)
        save_file(self._training.weights(), folder / "weights.safetensors")
        checkpoint.unlink(missing_ok=True)

    def open(self, folder: Path) -> Tensors:
        """Return the weights by name."""
        from safetensors.torch import load_file

        return load_file(folder / "weights.safetensors")


def _digest(training: EncoderTraining) -> str:
    """Return a hash of the subwords, words, links and confidences of the pairs, and of what vectors are scaled by."""
    links = training.alignments.links
    columns = [links, Ragged(training.alignments.confidence, links.offsets)]
    for side in (training.pairs.source, training.pairs.target):
        columns += [side.ids, side.words]
    digest = blake2b(digest_size=16)
    for column in columns:
        digest.update(column.lengths.tobytes())
        digest.update(column.flat.tobytes())
    digest.update(standards_array(training.similarity).tobytes())
    return digest.hexdigest()
