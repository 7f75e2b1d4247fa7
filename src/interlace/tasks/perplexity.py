"""Perplexity of text: per word, per subword, and in bits per character. Nothing is trained.

Per subword, only models with the same vocabulary are comparable. Per word or character, models with any vocabularies
that spell the text are, since unknown subwords are neither predicted nor counted; `unknown` is their share. A model
that reads both ways gets a pseudo-perplexity, with each subword alone masked: lower than a left-to-right perplexity,
and not comparable with it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import CheckpointError, DataError
from interlace.core.finite import check_finite
from interlace.core.randomness import Purpose, generator
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import ProbeTask, Scale, Scores
from interlace.tasks.common.files import Files, ReaderSettings, log, log_notes
from interlace.tasks.common.likelihood import (
    Likelihood,
    SpelledSentences,
    causal_likelihood,
    encode_spelled,
    known_subwords,
    perplexity,
    pseudo_likelihood,
    truncated,
)
from interlace.tasks.common.prediction import InputLimits, inference
from interlace.text import Text

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

_MAX_UNKNOWN = 5.0  # percentage of unknown subwords above which a warning is logged
_MAX_SENTENCES = 500  # of pseudo-perplexity: a fixed sample of a larger set


class Perplexity(ProbeTask):
    """Perplexity of text, lower is better; words are those of the reader's word tokenizer.

    From left to right, the end of a sentence is predicted too and counts as a word and as a character.
    """

    metric: ClassVar[str] = "perplexity"
    greater_is_better: ClassVar[bool] = False
    scores_source: ClassVar[bool] = True
    text_type: ClassVar[type[Text]] = Text
    other_scales: ClassVar[dict[str, Scale]] = {
        **{
            f"{kind}perplexity per {unit}": ("", False)
            for kind in ("", "pseudo-")
            for unit in ("word", "subword")
        },
        **{f"{kind}bits per character": ("", False) for kind in ("", "pseudo-")},
        **dict.fromkeys(("unknown", "cut"), ("%", False)),
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
    tokens_per_batch: int = Field(8192, ge=16, description="Tokens per batch, padding included.")

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
        """Return `perplexity` in the task's unit, and all metrics by their full names; shares in percent of subwords.

        A model that reads from left to right predicts each subword after those before it. With each subword masked
        alone the main metric is `pseudo-perplexity`, so that no table compares it with the other. `unknown` is the
        share that the vocabulary cannot spell, `cut` what is beyond the maximum length, `sentences` how many are
        measured. An encoder alone, whose vocabulary head is random, is rejected.
        """
        if backbone.fresh_head:
            raise CheckpointError(
                f"{self.name}: the checkpoint is an encoder without its vocabulary head, so it cannot predict text; "
                "take one that was saved with its head, or train this one further"
            )
        max_length = min(self.max_length, backbone.traits.max_length)
        text = examples
        cut = 0.0
        if not backbone.causal:
            drawn = _sampled(examples)
            text = truncated(drawn, max_length - 2)
            cut = 100 * (1 - len(text.ids.flat) / len(drawn.ids.flat))
        unknown = self._unknown(text, vocab)
        limits = InputLimits(max_length, self.tokens_per_batch)
        measure = causal_likelihood if backbone.causal else pseudo_likelihood
        with inference(backbone):
            likelihood = measure(backbone, vocab, text, limits)
        check_finite(likelihood.nats, "losses of sentences")

        name = "perplexity" if backbone.causal else "pseudo-perplexity"
        metrics = self._metrics(name, likelihood)
        metrics |= {"unknown": unknown, "cut": cut, "sentences": float(len(text))}
        weight = likelihood.size.words if self.per == "word" else likelihood.subwords
        identified = [likelihood.size.words, likelihood.size.characters]
        if self.per == "subword":  # only models with the same vocabulary measure the same thing
            identified.append(text.ids.flat)
        identity = identity_of(*identified)
        outcomes = Examples(
            likelihood.nats,
            weight.astype(np.float64),
            identity,
            measure="perplexity",
        )
        return Scores(metrics, outcomes, metric=name)

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

    def _metrics(self, name: str, likelihood: Likelihood) -> dict[str, float]:
        """Return the main metric, and all of them by their full names."""
        nats = float(likelihood.nats.sum())
        per_word = perplexity(nats, float(likelihood.size.words.sum()))
        per_subword = perplexity(nats, float(likelihood.subwords.sum()))
        bits = nats / max(float(likelihood.size.characters.sum()), 1) / math.log(2)
        return {
            name: per_word if self.per == "word" else per_subword,
            f"{name} per word": per_word,
            f"{name} per subword": per_subword,
            name.replace("perplexity", "bits per character"): bits,
        }


def _sampled(text: SpelledSentences) -> SpelledSentences:
    """Return a fixed sample of many sentences, in their order."""
    if len(text) <= _MAX_SENTENCES:
        return text
    order = generator(Purpose.SAMPLE, 0, len(text)).permutation(len(text))
    return text.take(np.sort(order[:_MAX_SENTENCES]))
