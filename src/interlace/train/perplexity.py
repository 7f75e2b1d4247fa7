"""Held-out perplexity by language: fixed rows, fixed masks, every run and step alike.

The unit is said everywhere. Of a model that reads both ways it is per masked subword, under uniform 15 % masking that
always shows the mask (XLM's evaluation); it compares runs that share a vocabulary. Of a causal model it is per subword,
and per word and in bits a character besides: XLM's table 4 does not say which it shows (requirements X6). The end of a
sentence is predicted, so it counts as a word and as a character. Unknown subwords are neither predicted nor counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from interlace.errors import DataError
from interlace.randomness import Purpose, generator

if TYPE_CHECKING:
    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Objective, Prepared

UNIT = {"masked": "per masked subword", "causal": "per subword"}  # of `perplexity`, by how the model reads
BITS = "bits_per_character"
BATCH = 1024  # subwords in a batch; never the run's own budget, for masks are drawn batch by batch


@dataclass(frozen=True)
class HeldOut:
    """The fixed evaluation batches of one corpus.

    words, characters: in what is predicted, of a causal objective; 0 where that makes no sense.
    name: what its perplexity is called.
    """

    corpus: str
    objective: Objective
    batches: list[Batch]
    words: int = 0
    characters: int = 0
    name: str = "perplexity"


def hold_out(
    corpus: str, rows: Sentences, objective: Objective, prepared: Prepared, name: str = "perplexity"
) -> HeldOut:
    """The rows in batches whose masks never change: they depend on no seed and no batch size of a run.

    Raises:
        DataError: there are no rows.
    """
    if not len(rows):
        raise DataError(f"the held-out text of {corpus!r} does not fill one row of {objective.max_length} subwords")
    size = max(1, BATCH // int(rows.lengths.max() + 2))
    measured = objective.for_evaluation()
    batches = []
    for start in range(0, len(rows), size):
        chosen = rows.take(np.arange(start, min(start + size, len(rows))))
        batches.append(measured.batch(chosen, prepared, 0, generator(Purpose.EVALUATE, 0, start)))
    words, characters = _size(rows, prepared.vocab) if objective.backbone == "causal" else (0, 0)
    return HeldOut(corpus, measured, batches, words, characters, name)


def _size(rows: Sentences, vocab: Vocab) -> tuple[int, int]:
    """Words and characters of the rows, with an end of a sentence as one of each.

    A word that a row's edge cuts in two is one in each row. Characters are those of the normalised text.
    """
    ends = int((rows.words.flat < 0).sum())
    words = sum(len(np.unique(row[row >= 0])) for row in rows.words)
    return words + ends, sum(len(vocab.decode(row)) for row in rows.ids) + ends


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
    total, count = _summed(backbone, corpus, device)
    found = {corpus.name: _perplexity(total, count)}
    if corpus.words:
        found["perplexity_per_word"] = _perplexity(total, corpus.words)
    if corpus.characters:
        found[BITS] = total / corpus.characters / math.log(2)
    return found


def _perplexity(total: float, count: float) -> float:
    return math.exp(min(total / max(count, 1.0), 50.0))


def _summed(backbone: Backbone, corpus: HeldOut, device: torch.device) -> tuple[float, float]:
    """The summed loss and the predictions it sums over."""
    total, count = 0.0, 0.0
    heads = torch.nn.ModuleDict()
    for batch in corpus.batches:
        terms = corpus.objective.loss(backbone, heads, batch.to(device))
        total += sum(float(term.total) for term in terms.values())
        count += sum(batch.counts.values())
    return total, count
