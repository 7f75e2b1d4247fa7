"""The settings of the toy corpus."""

from pydantic import Field, field_validator

from interlace.core.errors import did_you_mean
from interlace.core.settings import Settings
from interlace.toy.languages import LANGUAGES, PIVOT

_KINDS = ("sentences", "pairs", "labelled", "nli", "questions")


class ToyCorpus(Settings):
    """The languages of a toy corpus and the size of each kind of data. English is required as the pivot."""

    languages: list[str] = Field(
        default_factory=LANGUAGES.names,
        description="Codes, including en; default: all.",
    )
    seed: int = Field(0, ge=0, description="Random seed of the scenes.")
    sentences: int = Field(
        12_000,
        ge=1,
        description="Training lines of plain text per language, from its own scenes.",
    )
    pairs: int = Field(
        8_000,
        ge=1,
        description="Training pairs of English and each other language.",
    )
    labelled: int = Field(
        2_000,
        ge=1,
        description="Training sentences with parts of speech and names, per language.",
    )
    nli: int = Field(3_000, ge=1, description="Training pairs for NLI.")
    questions: int = Field(
        1_000,
        ge=1,
        description="Training questions on short passages, the same in all languages.",
    )
    dev: int = Field(
        500,
        ge=1,
        description="Development items of each kind, the same in all languages.",
    )
    test: int = Field(
        500, ge=1, description="Test items of each kind, the same in all languages."
    )
    habits: float = Field(
        0.0,
        ge=0.0,
        le=3.0,
        description="How unevenly words are drawn among those that fit, as in natural text: standard deviation of the "
        "log-normal factors of a word's frequency and of its frequency in each context. 0: evenly.",
    )
    trees: bool = Field(
        False,
        description="Also write plain text, premises and hypotheses as CoNLL-U, for transformations of syntax.",
    )

    @field_validator("languages")
    @classmethod
    def _are_known(cls, languages: list[str]) -> list[str]:
        for code in languages:
            if code not in LANGUAGES.names():
                hint = did_you_mean(code, LANGUAGES.names())
                raise ValueError(f"there is no toy language {code!r}{hint}")
        if PIVOT not in languages or len(set(languages)) < len(languages):
            raise ValueError(
                f"expected {PIVOT!r}, a side of all translations, and each code once"
            )
        return languages

    @classmethod
    def sizes(cls, pairs: int) -> dict[str, int]:
        """Return the size of each kind of data for a number of training pairs, in the proportions of the defaults.

        Development and test sets have at least 100 items of a kind, or as many as there are pairs.
        """
        default = cls()
        sizes = {}
        for kind in (*_KINDS, "dev", "test"):
            minimum = 1 if kind in _KINDS else min(pairs, 100)
            sizes[kind] = max(minimum, round(pairs * getattr(default, kind) / default.pairs))
        return sizes

    def size(self, kind: str, split: str) -> int:
        """Return the number of items of a kind ("sentences", "pairs", ...) in a split (train, dev, test)."""
        return getattr(self, kind if split == "train" else split)
