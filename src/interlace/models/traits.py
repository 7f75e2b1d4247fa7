"""What a backbone can do, as plain data: all that making a batch needs to know of a model, without torch."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Traits:
    """Facts of a backbone that shape its batches.

    family: `"bert"`, `"roberta"` (XLM-R too), `"modernbert"`, `"xlm"`.
    max_length: longest row in subwords, specials included.
    languages: language -> the id its embedding has in `inputs[language_input]`; empty where there are none.
    language_input: the name of the input that carries language ids (`"token_type_ids"`, `"langs"`), or None.
    first_position: the position id of the first subword (RoBERTa-family: pad + 1).
    restarts: whether a side whose position ids restart is read in every layer at the places they name. ModernBERT's
        rotation goes by them, its local windows by index.
    """

    family: str
    max_length: int
    languages: dict[str, int] = field(default_factory=dict)
    language_input: str | None = None
    first_position: int = 0
    restarts: bool = True
