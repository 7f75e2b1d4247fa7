"""How well a model foresees text, with its unit: per word, per subword, and in bits a character. Nothing is trained.

Per subword, models compare only under one vocabulary; per word or character, under any that spells the text, for what
is unknown to a vocabulary is neither predicted nor counted, and its share is told. A model that reads both ways gives a
pseudo-perplexity, with each subword alone masked: lower than a perplexity from left to right, and not comparable to it.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import CheckpointError, DataError, SettingsError
from interlace.core.randomness import Purpose, generator
from interlace.objectives import BoolOrAuto
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import Scale, Task
from interlace.tasks._files import FileQuery, Files, find_parts
from interlace.tasks._held_out import perplexity
from interlace.tasks._likelihood import Reading, causal, masked, pseudo
from interlace.tasks._outcomes import Measured
from interlace.tasks._read import log_notes, read_parts
from interlace.tasks._sizes import known_subwords, shortened, spelt
from interlace.text import Text

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.tasks._likelihood import Likelihood


log = logging.getLogger(__name__)

_MUCH = 5.0  # percent of unknown subwords above which a warning says so
NAMES = {"causal": "perplexity", "pseudo": "pseudo-perplexity", "masked": "perplexity"}  # what is no one measure


class Perplexity(Task):
    """Perplexity of text, lower is better; words are those that the reader's word tokenizer finds.

    From left to right, where a sentence ends is predicted too and counts as a word and as a character.
    """

    metric: ClassVar[str] = "perplexity"
    also: ClassVar[tuple[str, ...]] = ("pseudo-perplexity", "sentences", "perplexity per masked subword")
    greater_is_better: ClassVar[bool] = False
    by_itself: ClassVar[bool] = True
    others: ClassVar[dict[str, Scale]] = {
        **{f"{kind}perplexity per {unit}": ("", False) for kind in ("", "pseudo-") for unit in ("word", "subword")},
        **{f"{kind}bits per character": ("", False) for kind in ("", "pseudo-")},
        **dict.fromkeys(("unknown", "cut"), ("%", False)),
    }

    files: Files = Field(
        "text/{split}.{language}.txt",
        description="Plain text under the data root: a pattern, or patterns by split or 'test.de'. Not the development "
        "text that pre-training stopped on.",
    )
    reader: dict[str, Any] | str = Field(
        "lines", description="What reads the files; its 'word_tokenizer' says what a word is ('blanks' by default)."
    )
    kind: Literal["auto", "causal", "pseudo", "masked"] = Field(
        "auto",
        description="'causal': each subword after those before it; 'pseudo': each alone masked (Salazar et al. 2020); "
        "'masked': a fixed share of 15 % masked (XLM's evaluation); 'auto': causal or pseudo, as the model reads.",
    )
    per: Literal["word", "subword"] = Field(
        "subword",
        description="What the score is taken per; 'scores' holds both. 'word' compares vocabularies, and needs a "
        "word tokenizer that finds words (zh, ja, th). 'masked' is always per subword.",
    )
    context: int = Field(
        0,
        ge=0,
        description="Causal: subwords before those a row predicts that it reads again; none: rows start afresh (XLM).",
    )
    max_sentences: int | None = Field(
        500, ge=1, description="Pseudo: sentences measured, a fixed draw where there are more; none: all."
    )
    max_length: int = Field(256, ge=8, description="Longest row in subwords, at most the model's own (XLM: 256).")
    tokens_per_batch: int = Field(8192, ge=16, description="Padded subwords in a batch.")
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")

    def model_post_init(self, _context: Any) -> None:
        """Some subwords of a row must be left to predict."""
        if self.context > self.max_length - 3:
            message = f"context must leave something to predict: at most max_length - 3 = {self.max_length - 3}"
            raise ValueError(f"{message}, found {self.context}")

    @property
    def unit(self) -> str:  # type: ignore[override]
        """What the score is per."""
        return "per masked subword" if self.kind == "masked" else f"per {self.per}"

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Sentences:
        """The lines that hold text; others are counted and left out."""
        parts = find_parts(self.files, FileQuery("perplexity", split, language, root))
        text = spelt(self.texts(split, language, root), vocab)
        there = np.bincount(text.words.rows()[text.words.flat >= 0], minlength=len(text)) > 0
        log_notes("perplexity", parts[0].path, [{"lines without text left out": int((~there).sum())}])
        if not there.any():
            raise DataError(f"perplexity: {parts[0].path}: no line holds text")
        return text if there.all() else text.take(np.flatnonzero(there))

    def texts(self, split: str, language: str, root: Path) -> list[Text]:
        """The lines."""
        parts = find_parts(self.files, FileQuery("perplexity", split, language, root))
        return read_parts("perplexity", self.reader, parts, [language], Text)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Sentences) -> Measured:
        """`perplexity` in the task's unit, and all there is by its full name; shares are in percent of subwords.

        With each subword masked alone the main score is `pseudo-perplexity`, so that no table sets it beside the other.

        `unknown` is the share that the vocabulary cannot spell, `cut` what stands beyond the longest row, `sentences`
        how many are measured.

        Raises:
            CheckpointError: the model is an encoder alone, whose vocabulary head was drawn by chance.
            DataError: the vocabulary spells nothing of the text.
            SettingsError: the model cannot be measured so.
        """
        if backbone.fresh_head:
            message = "perplexity: the checkpoint is an encoder without its vocabulary head, so it foresees no text"
            raise CheckpointError(f"{message}; take one that was saved with its head, or train this one further")
        kind, longest = self._kind(backbone), self._longest(backbone)
        drawn = self._drawn(examples) if kind == "pseudo" else examples
        measured = shortened(drawn, longest - 2) if kind == "pseudo" else drawn
        known = known_subwords(measured, vocab)
        if not known.any():
            raise DataError(f"perplexity: the vocabulary spells nothing of the text in {examples.language!r}")
        unknown = 100 * float((~known).mean())
        if unknown > _MUCH:
            log.warning(
                "perplexity: the vocabulary cannot spell %.0f %% of the subwords in %r, so the score is of the others",
                unknown, examples.language,
            )  # fmt: skip
        reading = Reading(longest, self.tokens_per_batch, self.language_ids)
        cut = 1 - len(known) / len(drawn.ids.flat)
        found = self._likelihood(kind, backbone, vocab, measured, reading)
        shares = {"unknown": unknown, "cut": 100 * cut, "sentences": float(len(measured))}
        by_sentence = self._by_sentence(kind, found, measured)
        return Measured({**self._scores(kind, found), **shares}, by_sentence, {"metric": NAMES[kind]})

    def _kind(self, backbone: Backbone) -> str:
        if self.kind == "auto":
            return "causal" if backbone.causal else "pseudo"
        if backbone.causal and self.kind != "causal":
            raise SettingsError(
                f"perplexity: kind = {self.kind!r}, but the model reads from left to right; use 'causal'"
            )
        return self.kind

    def _longest(self, backbone: Backbone) -> int:
        longest = min(self.max_length, backbone.traits.max_length)
        if self.context > longest - 3:
            raise SettingsError(f"perplexity: context = {self.context}, but the model reads at most {longest} subwords")
        return longest

    def _drawn(self, examples: Sentences) -> Sentences:
        """The sentences measured where not all are: the same in every run."""
        if self.max_sentences is None or len(examples) <= self.max_sentences:
            return examples
        order = generator(Purpose.SAMPLE, 0, len(examples)).permutation(len(examples))
        return examples.take(np.sort(order[: self.max_sentences]))

    def _likelihood(self, kind: str, backbone: Backbone, vocab: Vocab, text: Sentences, reading: Reading) -> Likelihood:
        import torch

        was_training = backbone.training
        backbone.eval()
        with torch.inference_mode():
            if kind == "causal":
                found = causal(backbone, vocab, text, reading, self.context)
            else:
                found = {"pseudo": pseudo, "masked": masked}[kind](backbone, vocab, text, reading)
        backbone.train(was_training)
        return found

    def _by_sentence(self, kind: str, found: Likelihood, text: Sentences) -> Examples:
        """What each sentence measured cost, of which the main score is made."""
        per_word = self.per == "word" and kind != "masked"
        weight = found.words if per_word else found.subwords
        # Per subword, only models of one vocabulary measure the same thing.
        identity = identity_of(found.words, found.characters, *(() if per_word else (text.ids.flat,)))
        return Examples(found.nats, weight.astype(np.float64), identity, measure="perplexity")

    def _scores(self, kind: str, found: Likelihood) -> dict[str, float]:
        """The main score, and all of them by their full names."""
        name = NAMES[kind]
        subwords = float(found.subwords.sum())
        if kind == "masked":
            value = perplexity(found.total, subwords)
            return {name: value, f"{name} per masked subword": value}
        per = {"word": float(found.words.sum()), "subword": subwords}
        values = {f"{name} per {unit}": perplexity(found.total, count) for unit, count in per.items()}
        bits = found.total / max(float(found.characters.sum()), 1) / math.log(2)
        whole = "bits per character" if kind == "causal" else "pseudo-bits per character"
        return {name: values[f"{name} per {self.per}"], **values, whole: bits}
