"""The `[align]` section of recipes: who finds word links, what it may know beforehand, which phrases are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator, model_validator

from interlace.aligners import ALIGNERS, DEFAULT_ALIGNER, Aligner
from interlace.alignment.phrase_table import TableRules
from interlace.core.settings import Settings
from interlace.tasks._files import check_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping


class AlignSettings(Settings):
    """How the words of translations are linked. The aligner's own settings stand beside these in the section.

    Text in them that holds `{pair}`, `{source}` or `{target}` is filled in, and a path under the data root.
    """

    name: str = Field(DEFAULT_ALIGNER, description="An aligner: see `interlace list aligners`.")
    priors: str | None = Field(
        None,
        description="What the aligner starts from: a dictionary, `source<TAB>target` a line, as a pattern of paths; "
        "or a group of [corpora] whose pairs are linked first and their links counted.",
    )
    phrases: TableRules | None = Field(
        None, description="Which phrase pairs are counted and stored; none: the default rules, where they are needed."
    )
    settings: dict[str, Any] = Field({}, description="The aligner's own settings.")

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "settings" in data:
            return data
        own = {key: value for key, value in data.items() if key in cls.model_fields}
        return {**own, "settings": {key: value for key, value in data.items() if key not in cls.model_fields}}

    @field_validator("priors")
    @classmethod
    def _is_pattern(cls, pattern: str | None) -> str | None:
        return None if pattern is None else check_pattern(pattern, names_of("source-target"))

    def model_post_init(self, _context: Any) -> None:
        """The aligner must exist and know its settings."""
        self.aligner(names_of("source-target"))

    def aligner(self, names: Mapping[str, str]) -> Aligner:
        """The aligner for one pair of languages; `names` says what is filled into patterns."""
        settings = {key: _filled(value, names) for key, value in self.settings.items()}
        built: Aligner = ALIGNERS.build({"name": self.name, **settings}, "align")
        return built


def names_of(corpus: str) -> dict[str, str]:
    """What is filled into patterns for a corpus of pairs."""
    source, target = corpus.split("-")
    return {"pair": corpus, "source": source, "target": target}


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str) and "{" in value:
        return check_pattern(value, names).format(**names)
    return [_filled(part, names) for part in value] if isinstance(value, list) else value
