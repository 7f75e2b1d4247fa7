"""Perplexity of text: per word, per subword, and in bits per character. Nothing is trained.

Per subword, only models with the same vocabulary are comparable. Per word or character, models with any vocabularies
that spell the text are, since unknown subwords are neither predicted nor counted; `unknown` is their share.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import CheckpointError, DataError
from interlace.core.finite import check_finite
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import ProbeTask, Scores
from interlace.tasks.common.files import Files, ReaderSettings, log, log_notes
from interlace.tasks.common.likelihood import (
    Likelihood,
    SpelledSentences,
    causal_likelihood,
    encode_spelled,
    known_subwords,
    perplexity,
)
from interlace.tasks.common.prediction import InputLimits, inference
from interlace.text import Text

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

_MAX_UNKNOWN = 5.0  # percentage of unknown subwords above which a warning is logged


class Perplexity(ProbeTask):
    """Perplexity of text, lower is better; words are those of the reader's word tokenizer.

    The end of a sentence is predicted too and counts as a word and as a character.
    """

    metric = "perplexity"
    greater_is_better = False
    scores_source = True
    text_type = Text
    other_scales = {
        "perplexity per word": ("", False),
        "perplexity per subword": ("", False),
        "bits per character": ("", False),
        "unknown": ("%", False),
    }

    files: Files = Field(
        "text/{split}.{language}.txt",
        description="Plain text under the data root: a pattern, or patterns by split or 'test.de'. Not the development "
        "text of early stopping.",
    )
    reader: ReaderSettings = Field(
        "lines",
        description="Reader of the files; its 'word_tokenizer' determines words ('whitespace' by default).",
    )
    per: Literal["word", "subword"] = Field(
        "subword",
        description="Unit of the main metric; scores hold both. 'word' compares vocabularies, and needs a word "
        "tokenizer that finds words (zh, ja, th).",
    )
    max_length: int = Field(
        256,
        ge=8,
        description="Maximum sequence length in tokens, at most the model's (XLM: 256).",
    )
    tokens_per_batch: int = Field(
        8192, ge=16, description="Tokens per batch, padding included."
    )

    @property
    def unit(self) -> str:  # type: ignore[override]
        """What the main metric is per."""
        return f"per {self.per}"

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> SpelledSentences:
        """Encode the lines that hold text; others are counted and left out."""
        chunks = self.read_chunks(self.query(split, language, root))
        path = chunks[0][0]
        text = encode_spelled((chunk for _, chunk in chunks), vocab)
        rows_with_words = text.words.rows()[text.words.flat >= 0]
        is_filled = np.bincount(rows_with_words, minlength=len(text)) > 0
        log_notes(self.name, path, {"lines without text left out": int((~is_filled).sum())})
        if not is_filled.any():
            raise DataError(f"{self.name}: {path}: no line holds text")
        return text.take(np.flatnonzero(is_filled))

    def measure(self, backbone: Backbone, vocab: Vocab, examples: SpelledSentences) -> Scores:
        """Return `perplexity` in the task's unit, and all metrics by their full names.

        `unknown` is the percentage of subwords that the vocabulary cannot spell. A model that reads both ways is
        rejected, and an encoder alone, whose vocabulary head is random.
        """
        if backbone.fresh_head or not backbone.causal:
            raise CheckpointError(
                f"{self.name}: the checkpoint is an encoder, or has no vocabulary head, so it cannot predict the next "
                "subword; take a causal model, such as one trained with the objective 'clm'"
            )
        unknown = self._unknown(examples, vocab)
        max_length = min(self.max_length, backbone.traits.max_length)
        limits = InputLimits(max_length, self.tokens_per_batch)
        with inference(backbone):
            likelihood = causal_likelihood(backbone, vocab, examples, limits)
        check_finite(likelihood.nats, "losses of sentences")

        weight = likelihood.words if self.per == "word" else likelihood.subwords
        identified = [likelihood.words, likelihood.characters]
        if self.per == "subword":  # only models with the same vocabulary measure the same thing
            identified.append(examples.ids.flat)
        outcomes = Examples(
            likelihood.nats,
            weight.astype(np.float64),
            identity_of(*identified),
            measure="perplexity",
        )
        return Scores({**self._metrics(likelihood), "unknown": unknown}, outcomes)

    def _unknown(self, text: SpelledSentences, vocab: Vocab) -> float:
        """Return the percentage of subwords that the vocabulary cannot spell; warn of many, reject all."""
        is_known = known_subwords(text, vocab)
        if not is_known.any():
            raise DataError(
                f"{self.name}: the vocabulary spells nothing of the text in {text.language!r}"
            )
        unknown = 100 * float((~is_known).mean())
        if unknown > _MAX_UNKNOWN:
            message = "%s: the vocabulary cannot spell %.0f %% of the subwords in %r, and the score is over the others"
            log.warning(message, self.name, unknown, text.language)
        return unknown

    def _metrics(self, likelihood: Likelihood) -> dict[str, float]:
        """Return the main metric, and all of them by their full names."""
        nats = float(likelihood.nats.sum())
        per_word = perplexity(nats, float(likelihood.words.sum()))
        per_subword = perplexity(nats, float(likelihood.subwords.sum()))
        characters = max(float(likelihood.characters.sum()), 1)
        return {
            "perplexity": per_word if self.per == "word" else per_subword,
            "perplexity per word": per_word,
            "perplexity per subword": per_subword,
            "bits per character": nats / characters / math.log(2),
        }
