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
from interlace.core.errors import CheckpointError, DataError, SettingsError
from interlace.core.finite import check_finite
from interlace.core.randomness import Purpose, generator
from interlace.objectives import BoolOrAuto
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import ProbeTask, Scale, Scores
from interlace.tasks.common import likelihood as likelihoods
from interlace.tasks.common.files import Files, ReaderSettings, log, log_notes
from interlace.tasks.common.prediction import InputLimits, inference
from interlace.text import Text

if TYPE_CHECKING:
    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

_MAX_UNKNOWN = 5.0  # percentage of unknown subwords above which a warning is logged
_METRICS = {"causal": "perplexity", "pseudo": "pseudo-perplexity", "masked": "perplexity"}


class Perplexity(ProbeTask):
    """Perplexity of text, lower is better; words are those of the reader's word tokenizer.

    From left to right, the end of a sentence is predicted too and counts as a word and as a character.
    """

    metric: ClassVar[str] = "perplexity"
    same_scale: ClassVar[tuple[str, ...]] = ("pseudo-perplexity", "sentences", "perplexity per masked subword")
    greater_is_better: ClassVar[bool] = False
    scores_source: ClassVar[bool] = True
    text_type: ClassVar[type[Text]] = Text
    other_scales: ClassVar[dict[str, Scale]] = {
        **{f"{kind}perplexity per {unit}": ("", False) for kind in ("", "pseudo-") for unit in ("word", "subword")},
        **{f"{kind}bits per character": ("", False) for kind in ("", "pseudo-")},
        **dict.fromkeys(("unknown", "cut"), ("%", False)),
    }

    files: Files = Field(
        "text/{split}.{language}.txt",
        description="Plain text under the data root: a pattern, or patterns by split or 'test.de'. Not the development "
        "text of early stopping.",
    )
    reader: ReaderSettings = Field(
        "lines", description="Reader of the files; its 'word_tokenizer' determines words ('whitespace' by default)."
    )
    kind: Literal["auto", "causal", "pseudo", "masked"] = Field(
        "auto",
        description="'causal': each subword after those before it; 'pseudo': each alone masked (Salazar et al. 2020); "
        "'masked': a fixed share of 15 % masked (XLM's evaluation); 'auto': causal or pseudo, as the model reads.",
    )
    per: Literal["word", "subword"] = Field(
        "subword",
        description="Unit of the main metric; scores hold both. 'word' compares vocabularies, and needs a word "
        "tokenizer that finds words (zh, ja, th). 'masked' is always per subword.",
    )
    max_sentences: int | None = Field(
        500, ge=1, description="Pseudo: number of sentences, a fixed sample of a larger set; none: all."
    )
    max_length: int = Field(256, ge=8, description="Maximum sequence length in tokens, at most the model's (XLM: 256).")
    tokens_per_batch: int = Field(8192, ge=16, description="Tokens per batch, padding included.")
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': if the model embeds them.")

    @property
    def unit(self) -> str:  # type: ignore[override]
        """What the main metric is per."""
        return "per masked subword" if self.kind == "masked" else f"per {self.per}"

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> Sentences:
        """Encode the lines that hold text; others are counted and left out."""
        chunks = self.read_chunks(self.query(split, language, root))
        path, text = chunks[0][0], likelihoods.encode_spelled((chunk for _, chunk in chunks), vocab)
        filled = np.bincount(text.words.rows()[text.words.flat >= 0], minlength=len(text)) > 0
        log_notes(self.name, path, {"lines without text left out": int((~filled).sum())})
        if not filled.any():
            raise DataError(f"{self.name}: {path}: no line holds text")
        return text if filled.all() else text.take(np.flatnonzero(filled))

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Sentences) -> Scores:
        """Return `perplexity` in the task's unit, and all metrics by their full names; shares in percent of subwords.

        With each subword masked alone the main metric is `pseudo-perplexity`, so that no table compares it with the
        other. `unknown` is the share that the vocabulary cannot spell, `cut` what is beyond the maximum length,
        `sentences` how many are measured. An encoder alone, whose vocabulary head is random, is rejected.
        """
        if backbone.fresh_head:
            raise CheckpointError(
                f"{self.name}: the checkpoint is an encoder without its vocabulary head, so it cannot predict text; "
                "take one that was saved with its head, or train this one further"
            )
        kind, max_length = self.kind, min(self.max_length, backbone.traits.max_length)
        if kind == "auto":
            kind = "causal" if backbone.causal else "pseudo"
        elif backbone.causal and kind != "causal":
            raise SettingsError(f"{self.name}: kind = {kind!r}, but the model reads from left to right; use 'causal'")
        drawn = examples
        if kind == "pseudo" and self.max_sentences is not None and len(examples) > self.max_sentences:
            order = generator(Purpose.SAMPLE, 0, len(examples)).permutation(len(examples))
            drawn = examples.take(np.sort(order[: self.max_sentences]))
        measured = likelihoods.truncated(drawn, max_length - 2) if kind == "pseudo" else drawn
        known = likelihoods.known_subwords(measured, vocab)
        if not known.any():
            raise DataError(f"{self.name}: the vocabulary spells nothing of the text in {examples.language!r}")
        unknown = 100 * float((~known).mean())
        if unknown > _MAX_UNKNOWN:
            log.warning(
                "%s: the vocabulary cannot spell %.0f %% of the subwords in %r, and the score is over the others",
                self.name, unknown, examples.language,
            )  # fmt: skip
        limits = InputLimits(max_length, self.tokens_per_batch, self.language_ids)
        with inference(backbone):
            if kind == "causal":
                found = likelihoods.causal_likelihood(backbone, vocab, measured, limits)
            else:
                likelihood = likelihoods.pseudo_likelihood if kind == "pseudo" else likelihoods.masked_likelihood
                found = likelihood(backbone, vocab, measured, limits)
        check_finite(found.nats, "losses of sentences")
        cut = 100 * (1 - len(known) / len(drawn.ids.flat))
        metrics = {**self._metrics(kind, found), "unknown": unknown, "cut": cut, "sentences": float(len(measured))}
        per_word = self.per == "word" and kind != "masked"
        weight = (found.words if per_word else found.subwords).astype(np.float64)
        # Per subword, only models with the same vocabulary measure the same thing.
        identity = identity_of(found.words, found.characters, *(() if per_word else (measured.ids.flat,)))
        return Scores(metrics, Examples(found.nats, weight, identity, measure="perplexity"), metric=_METRICS[kind])

    def _metrics(self, kind: str, found: likelihoods.Likelihood) -> dict[str, float]:
        """Return the main metric, and all of them by their full names."""
        name, nats = _METRICS[kind], float(found.nats.sum())
        per = {"word": float(found.words.sum()), "subword": float(found.subwords.sum())}
        if kind == "masked":
            value = likelihoods.perplexity(nats, per["subword"])
            return {name: value, f"{name} per masked subword": value}
        values = {f"{name} per {unit}": likelihoods.perplexity(nats, count) for unit, count in per.items()}
        bits = nats / max(float(found.characters.sum()), 1) / math.log(2)
        bits_name = "bits per character" if kind == "causal" else "pseudo-bits per character"
        return {name: values[f"{name} per {self.per}"], **values, bits_name: bits}
