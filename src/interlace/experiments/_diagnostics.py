"""The section `[train.diagnostics]` of a recipe: what is measured beside perplexity while a run trains."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from interlace.core.settings import Settings

Measure = Literal["alignment", "retrieval", "gap", "cka", "accuracy"]


class DiagnosticSettings(Settings):
    """How the languages of a model come together, measured now and then on fixed rows; training is not touched."""

    every: int = Field(
        0, ge=0, description="Steps between measurements; also before the first step and after the last. 0: none."
    )
    measures: list[Measure] = Field(
        [],
        description="alignment: nearest neighbours in the input table over evaluate.dictionary and the dictionaries of "
        "objectives; retrieval: of sentences, both ways; gap: cosine of translations less that of others; cka: by "
        "layer; accuracy: of masked subwords, by language. None: all that the recipe has data for.",
    )
    pairs: int = Field(
        128,
        ge=8,
        le=4096,
        description="Most translations of two languages: from corpora.GROUP.dev, else from the dev split of "
        "evaluate.tasks.retrieval, else the last of the training text.",
    )
    tokens: int = Field(2048, ge=256, description="Most held-out subwords a language that accuracy is measured on.")
    cka: Literal["debiased", "plain"] = Field(
        "debiased",
        description="debiased: unrelated sides have 0 (Nguyen et al. 2021); plain: as Kornblith et al. (2019), near 1 "
        "for any sides with fewer pairs than the model is wide.",
    )
