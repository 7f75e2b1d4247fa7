"""Held-out perplexity by language: fixed rows, fixed masks, every run and step alike.

The unit is said everywhere. Of a model that reads both ways it is per masked subword, under uniform 15 % masking that
always shows the mask (XLM's evaluation); it compares runs that share a vocabulary. Of a causal model it is per subword,
and per word and in bits a character besides: XLM's table 4 does not say which it shows (requirements X6). The end of a
sentence is predicted, so it counts as a word and as a character. Unknown subwords are neither predicted nor counted.
Of a translation model it is per subword of the right translation and its end, each after those before it, by direction.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

from interlace.tasks._held_out import HeldOut, hold_out, perplexity, summed

if TYPE_CHECKING:
    from interlace.models.backbone import Backbone

__all__ = ["BITS", "UNIT", "HeldOut", "hold_out", "perplexities"]

# of `perplexity`, by how the model reads
UNIT = {"masked": "per masked subword", "causal": "per subword", "seq2seq": "per subword written"}
BITS = "bits_per_character"


def perplexities(backbone: Backbone, held_out: list[HeldOut], device: torch.device) -> dict[str, float]:
    """`perplexity/XX` for each corpus, `perplexity/mean` (arithmetic, XLM's) and `perplexity/geometric`.

    A causal model is also measured as `perplexity_per_word/XX` and `bits_per_character/XX`, which compare vocabularies.
    Where masks are measured too, its perplexity per subword is called `causal_perplexity/XX`.
    """
    was_training = backbone.training
    backbone.eval()
    found: dict[str, dict[str, float]] = {}
    with torch.inference_mode():
        for corpus in held_out:
            for name, value in _measures(backbone, corpus, device).items():
                found.setdefault(name, {})[corpus.corpus] = value
    backbone.train(was_training)
    scores: dict[str, float] = {}
    for name, by_corpus in found.items():
        values = list(by_corpus.values())
        scores |= {f"{name}/{corpus}": value for corpus, value in by_corpus.items()}
        scores[f"{name}/mean"] = float(np.mean(values))
        if name != BITS:
            scores[f"{name}/geometric"] = float(np.exp(np.mean(np.log(values))))
    return {key: round(value, 5) for key, value in scores.items()}


def _measures(backbone: Backbone, corpus: HeldOut, device: torch.device) -> dict[str, float]:
    total, count = summed(backbone, corpus, device)
    found = {corpus.name: perplexity(total, count)}
    if corpus.words:
        found["perplexity_per_word"] = perplexity(total, corpus.words)
    if corpus.characters:
        found[BITS] = total / corpus.characters / math.log(2)
    return found
