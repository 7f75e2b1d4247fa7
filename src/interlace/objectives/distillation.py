"""Distillation of sentence vectors (Reimers & Gurevych 2020): both sides of a pair imitate a teacher's vector of one.

teacher, frozen     the old doctor reads  ->  v
student             the old doctor reads  ->  towards v
student             der alte Arzt liest   ->  towards v

Legend: B pairs, D dimensions of sentence vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Arrays
from interlace.core.randomness import Generator
from interlace.data import Pairs
from interlace.data.layout import sentence_layout
from interlace.objectives import Batch, Prepared, Preview, Resources, Term
from interlace.objectives.common.sentence_vectors import (
    SentenceVectorObjective,
    place_sequences,
)
from interlace.objectives.common.sides import side_in

if TYPE_CHECKING:
    from torch import nn

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.models.families import Traits

TEACHER = "teacher"
_INPUT = "teacher_inputs."  # begins the names of the teacher's inputs in `extra`


@dataclass(frozen=True, kw_only=True)
class PreparedDistillation(Prepared):
    """Adds the vocabulary and the traits of a teacher that is another model than the start."""

    teacher_vocab: Vocab | None = None
    teacher_traits: Traits | None = None


class Distillation(SentenceVectorObjective):
    """Squared distance of both sides' vectors to a frozen teacher's vector of the side that it reads.

    All vectors have length 1, so the distance is 2 - 2 cos. The teacher reads text, with its own tokenizer. If its
    vectors have another width than those of the start, the student gets a linear layer to it, which stays at export.

    Reads: pairs; the two sides are separate sequences, encoded in one pass.
    Relations: `contrastive` needs no teacher, but negatives; `word_aligned` keeps the vectors of words of one language.
    Terms: `distillation`, a mean over pairs.
    Heads: the teacher, so memory and checkpoints grow by its weights (0.5 GB for multilingual-e5-small, 1.9 GB for
        LaBSE), and a step by one pass without gradients over the sentences that it reads.
    Nothing is masked or drawn: a batch is a function of its examples.
    """

    term = "distillation"

    teacher: str | None = Field(
        None,
        description="Checkpoint whose sentence vectors are imitated: a folder or a hub name; none: the model as it is "
        "when training starts, so that the other language moves to the teacher's language.",
    )
    teacher_language: str = Field(
        "en",
        description="Language of the sentences that the teacher reads (Reimers & Gurevych 2020: English).",
    )

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """The text, for a teacher with a tokenizer of its own."""
        return frozenset() if self.teacher is None else frozenset({"text"})

    def prepare(self, resources: Resources) -> PreparedDistillation:
        """Open the teacher's vocabulary and configuration; raise a CheckpointError if it is missing or damaged."""
        prepared = PreparedDistillation(**vars(super().prepare(resources)))
        if self.teacher is None:
            return prepared
        from interlace.data.vocab import Vocab
        from interlace.models.build import parsed_config
        from interlace.models.checkpoint_files import find_checkpoint, read_config
        from interlace.models.families import traits_of

        folder = find_checkpoint(self.teacher)
        traits = traits_of(parsed_config(read_config(folder), folder))
        return replace(prepared, teacher_vocab=Vocab.load(str(folder)), teacher_traits=traits)

    def batch(
        self,
        examples: Pairs,
        prepared: PreparedDistillation,
        step: int,  # noqa: ARG002
        rng: Generator,  # noqa: ARG002
    ) -> Batch:
        """Lay out the teacher's language first, then the other; encode the text for another teacher than the start.

        Raise a SettingsError if neither side is in the teacher's language, a DataError if the pairs have no text.
        """
        side = side_in(
            self.teacher_language, examples.languages, f"{self.name}: teacher_language"
        )
        sides = (examples.source, examples.target)
        pairs = Pairs(sides[side], sides[1 - side])
        extra = self._teacher_inputs(examples, prepared, side)
        return self.batch_of_pairs(pairs, prepared, extra)

    def modules(self, backbone: Backbone) -> nn.ModuleDict:
        """Return the teacher; give the backbone a sentence head with the teacher's width."""
        from torch import nn

        from interlace.data.vocab import Vocab
        from interlace.models.build import load
        from interlace.objectives.common.losses import FrozenEncoder

        super().modules(backbone)
        head: Any = backbone.sentence_head
        teacher = backbone
        if self.teacher is not None:
            teacher = load(self.teacher, Vocab.load(self.teacher)).encoder
        width = teacher.sentence_width
        if backbone.sentence_width != width:
            if head.dense is not None:
                raise SettingsError(
                    f"{self.name}: teacher = {self.teacher!r} has vectors of {width} dimensions, the dense layer of "
                    f"the start gives {backbone.sentence_width}; take another teacher or another start"
                )
            head.dense = nn.Linear(backbone.width, width)
        return nn.ModuleDict({TEACHER: FrozenEncoder(teacher)})

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Return the distances of pairs: the mean of their two sides."""
        from torch.nn.functional import normalize

        frozen: Any = heads[TEACHER]
        count = len(batch.inputs["input_ids"]) // 2
        teacher_inputs = {}
        for name, array in batch.extra.items():
            teacher_inputs[name.removeprefix(_INPUT)] = array
        if not teacher_inputs:
            teacher_inputs = {name: array[:count] for name, array in batch.inputs.items()}
        targets = normalize(frozen.sentence_vectors(teacher_inputs), dim=1)  # (B, D)
        vectors = normalize(backbone.sentence_vectors(batch.inputs), dim=1)  # (2B, D)
        differences = vectors.reshape(2, count, -1) - targets
        return {self.term: Term(differences.square().sum() / 2)}

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:  # noqa: ARG002
        """Return the sequence that the teacher reads for each one."""
        numbers = np.arange(len(batch.inputs["input_ids"]))
        of_teacher = numbers % (len(numbers) // 2)
        return Preview({"teacher reads": place_sequences(of_teacher)})

    def _teacher_inputs(
        self, examples: Pairs, prepared: PreparedDistillation, side: int
    ) -> Arrays:
        """Return the inputs of a teacher that is another model than the start."""
        vocab = prepared.teacher_vocab
        traits = prepared.teacher_traits
        if vocab is None or traits is None:
            return {}
        if examples.text is None:
            raise DataError(
                f"{self.name}: the pairs lack their text, which the teacher reads; train from a recipe, which stores "
                "it, or open the corpus with ParallelCorpus.annotated"
            )
        sentences = vocab.encode_text(examples.text[side].text())
        max_length = min(self.max_length, traits.max_length)
        layout = sentence_layout(sentences, vocab, max_length)
        inputs = traits.encoder_inputs(layout, (), language_ids=False)
        return {_INPUT + name: array for name, array in inputs.items()}
