"""The `[embeddings]` section of recipes: vectors of words as baselines, or those of subwords to begin a model with."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from interlace.core.settings import Settings
from interlace.embeddings import EMBEDDING_METHODS, EmbeddingMethod
from interlace.tasks._files import check_pattern


class EmbeddingSettings(Settings):
    """Which vectors are learnt from the corpora. The method's own settings stand beside these in the section."""

    name: str = Field("concat", description="A method of word vectors: see `interlace list vectors`.")
    units: Literal["words", "subwords"] = Field(
        "words",
        description="What has a vector: the words of each language, or the subwords of [vocab] over the text of all "
        "languages together, for a model's table to begin with (Lample et al. 2018b, section 4; XLM's EMB).",
    )
    vectors: str | None = Field(
        None,
        description="Vectors of each language that exist already, in the text format of word2vec and fastText, as a "
        "pattern of paths with {language}; none: they are learnt from the corpora.",
    )
    dictionary: str | None = Field(
        None,
        description="Dictionary of the pivot and each other language, `source<TAB>target` a line: a pattern of paths "
        "with {source} and {target}; in whichever direction there is one.",
    )
    dictionary_share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of the dictionary's source words learnt from, drawn with the recipe's seed, as "
        "`dictionary.share` of objectives is; tasks score the others.",
    )
    settings: dict[str, Any] = Field({}, description="The method's own settings.")

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        own = {key: value for key, value in data.items() if key in cls.model_fields and key != "settings"}
        beside = {key: value for key, value in data.items() if key not in cls.model_fields}
        return {**own, "settings": {**data.get("settings", {}), **beside}}

    @field_validator("vectors")
    @classmethod
    def _names_languages(cls, pattern: str | None) -> str | None:
        return None if pattern is None else check_pattern(pattern, ("language",))

    @field_validator("dictionary")
    @classmethod
    def _names_pairs(cls, pattern: str | None) -> str | None:
        return None if pattern is None else check_pattern(pattern, ("source", "target"))

    def model_post_init(self, _context: Any) -> None:
        """The method must exist, know its settings and have what it needs."""
        needs = self.method().needs
        if "dictionaries" in needs and self.dictionary is None:
            message = f"{self.name} needs a dictionary: say where one is in embeddings.dictionary"
            raise ValueError(message)
        if "texts" in needs and self.vectors is not None:
            message = f"{self.name} learns from text, so embeddings.vectors is of no use to it"
            raise ValueError(message)
        if self.units == "subwords" and not self.method().joint:
            joint = ", ".join(name for name in EMBEDDING_METHODS.names() if EMBEDDING_METHODS.get(name).joint)
            message = (
                f"units = 'subwords': {self.name} learns each language by itself, and a subword that two write would"
            )
            raise ValueError(f"{message} have two vectors; these learn from all text together: {joint}")

    def method(self) -> EmbeddingMethod:
        """The method with its settings."""
        built: EmbeddingMethod = EMBEDDING_METHODS.build({"name": self.name, **self.settings}, "embeddings")
        return built
