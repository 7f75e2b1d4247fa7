"""The settings of a written toy corpus: which languages, and how much of each kind of data."""

from __future__ import annotations

from zlib import crc32

from pydantic import Field, field_validator

from interlace.core.errors import did_you_mean
from interlace.core.settings import Settings

PIVOT = "en"


def stream(name: str) -> int:
    """The number of a stream of scenes (see `sample`) that has a name, so that lists are drawn apart."""
    return crc32(name.encode())


def _all() -> list[str]:
    from interlace.toy import LANGUAGES  # the room is made by the package that imports this module

    return LANGUAGES.names()


class ToyCorpus(Settings):
    """How much of the toy corpus `write_toy` writes. English is always in it: translations go through it."""

    languages: list[str] = Field(default_factory=_all, description="Codes, English among them; default: all there are.")
    seed: int = Field(0, ge=0, description="Seed of every scene drawn.")
    sentences: int = Field(12_000, ge=1, description="Training lines of plain text a language, from scenes of its own.")
    pairs: int = Field(8_000, ge=1, description="Training pairs of English and each other language.")
    labelled: int = Field(2_000, ge=1, description="Training sentences with parts of speech and names, a language.")
    nli: int = Field(3_000, ge=1, description="Training pairs of premise and hypothesis; as many for paraphrases.")
    questions: int = Field(1_000, ge=1, description="Training questions on short passages, the same in all languages.")
    dev: int = Field(500, ge=1, description="Held-out items of each kind for choosing, the same in all languages.")
    test: int = Field(500, ge=1, description="Held-out items of each kind for testing, the same in all languages.")
    habits: float = Field(
        0.0,
        ge=0.0,
        le=3.0,
        description="How unevenly words are drawn among those that fit, as in natural text: each is more or less "
        "common, and more or less liked by its company, by log-normal factors of this deviation. 0: evenly.",
    )
    trees: bool = Field(
        False, description="Also write plain text, and premises with hypotheses, as CoNLL-U, for changes of word order."
    )

    @field_validator("languages")
    @classmethod
    def _are_of_the_world(cls, languages: list[str]) -> list[str]:
        known = _all()
        for code in languages:
            if code not in known:
                message = f"there is no toy language {code!r}{did_you_mean(code, known)}"
                raise ValueError(message)
        if PIVOT not in languages:
            message = f"translations go through {PIVOT!r}, so it must be among the languages"
            raise ValueError(message)
        if len(set(languages)) < len(languages):
            message = "a language is named twice"
            raise ValueError(message)
        return languages

    def size(self, kind: str, split: str) -> int:
        """Items of a kind ("sentences", "pairs", "labelled", "nli", "questions") in a split (train, dev, test)."""
        count: int = getattr(self, kind if split == "train" else split)
        return count
