"""What the objectives share that read text as `mlm` does and a dictionary beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from interlace.objectives import BoolOrAuto, MaskedText, Prepared, PreparedMasked
from interlace.objectives._lexicons import Dictionary
from interlace.objectives.mlm import Mlm


@dataclass(frozen=True)
class PreparedWithDictionary(Prepared):
    """Adds what `mlm` prepares."""

    text: PreparedMasked


class WithDictionary(MaskedText):
    """Subclass, and change the batches of `mlm`."""

    needs: ClassVar[frozenset[str]] = frozenset({"lexicon"})

    language_ids: BoolOrAuto = Field(
        "auto",
        description="Feed language ids; 'auto': where the model has embeddings (ALIGN-MLM, G.5: none; its DICT-MLM, "
        "G.4: on).",
    )
    dictionary: Dictionary = Field(default_factory=Dictionary, description="Which words translate which.")

    @property
    def mlm(self) -> Mlm:
        """The part that reads text."""
        return Mlm(max_length=self.max_length, masking=self.masking, language_ids=self.language_ids)
