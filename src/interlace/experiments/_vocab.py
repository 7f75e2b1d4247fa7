"""The section `[vocab]` of a recipe: a vocabulary learnt from its text, a tokenizer that exists, or one extended."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from interlace.core.settings import Settings


class VocabSettings(Settings):
    """The vocabulary: learnt from the recipe's training text, or a tokenizer that exists, extended where asked for."""

    start: str | None = Field(
        None,
        description="Folder or hub name of a tokenizer; none: the checkpoint's that the model starts from, or that of "
        "model.vectors, if any.",
    )
    size: int = Field(8000, ge=300, description="Subwords to learn, specials included (XLM: 95k for 15 languages).")
    alpha: float = Field(0.5, ge=0, le=1, description="Exponent of language sampling while learning (XLM: 0.5).")
    seed: int = Field(0, ge=0, description="Seed of that sampling; runs with other seeds share the vocabulary.")
    corpora: list[str] = Field([], description="Groups it is learnt from; none: all. Compared recipes should agree.")
    kind: Literal["byte-bpe", "bpe", "wordpiece", "unigram"] = Field(
        "byte-bpe",
        description="Kind of subwords to learn; byte-bpe has no unknown characters, and like bpe is the same whenever "
        "it is learnt (the trainer of wordpiece breaks ties at random, that of unigram rounds differently).",
    )
    extend: int = Field(
        0, ge=0, description="Subwords to add to a tokenizer that exists, learnt from the text; its own keep their ids."
    )
    extend_min_count: int = Field(
        10, ge=1, description="Times a new subword must be met in the text; rarer ones would hardly be trained."
    )

    def learning(self) -> dict[str, Any]:
        """What a vocabulary that is learnt depends on; extending has no part in it."""
        return {key: value for key, value in self.dump().items() if not key.startswith("extend")}
