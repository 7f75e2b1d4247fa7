"""What tasks share in which an encoder-decoder translates: directions, source lengths and the search."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.data.layout import SPECIALS
from interlace.models.generation import SearchSettings, SingleBestSearch
from interlace.scores.examples import Examples
from interlace.tasks import ProbeTask, Scores
from interlace.tasks.common.bleu import Bleu, BleuTokenizer, bleu
from interlace.text.normalization import Normalization

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.models.seq2seq import Seq2Seq
    from interlace.models.translator import LineTranslation
    from interlace.tasks.common.bleu import Chrf

_SAMPLES = 12  # translations kept for people

Length = Annotated[int, Field(ge=8)]
MaxLength = Length | dict[str, Length] | None  # special tokens included; a number, or a table by direction


@dataclass(frozen=True)
class Direction:
    """The languages that are translated from and into."""

    source: str
    target: str

    @property
    def back(self) -> Direction:
        """The opposite direction."""
        return Direction(self.target, self.source)

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


@dataclass(frozen=True)
class SourceLines:
    """(n,) raw lines to translate, and how many subwords each has."""

    direction: Direction
    sources: list[str]
    lengths: NDArray[np.int64] = field(repr=False)

    def __len__(self) -> int:
        return len(self.sources)

    def part(self, rows: slice) -> Self:
        """Return some of them."""
        columns = (each.name for each in fields(self) if each.name != "direction")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})


class TranslationTask(ProbeTask):
    """Base of tasks that translate in a direction, such as `en-de`; a language alone means from `source` into it."""

    unit: ClassVar[str] = "BLEU"

    source: str = Field("en", description="The source language of targets that name no direction.")
    search: SingleBestSearch = Field(
        default_factory=SearchSettings, description="The search for translations (ALM: a beam of 8)."
    )
    max_length: MaxLength = Field(
        None,
        description="Maximum source length in tokens, at most the model's own; longer sources are read in pieces, as "
        "`interlace translate` does. A number, or a table by direction; for directions without one: the longest source "
        "that the run was trained to translate, else the model's own length.",
    )
    tokens_per_batch: int = Field(16_384, ge=16, description="Source tokens per batch with padding, times the beam.")
    tokenize: BleuTokenizer = Field("auto", description="SacreBLEU's tokenizer; 'auto': its own for the language.")
    lower_case: bool = Field(False, description="Ignore case in all metrics.")
    romanian: Literal["keep", "comma", "strip"] = Field(
        "keep",
        description="Normalization of Romanian as in training, for sources and both sides of 'tokenized bleu' and "
        "'round-trip bleu' (XLM: 'strip'). References of 'bleu' stay as they are.",
    )

    @model_validator(mode="after")
    def _check_directions(self) -> Self:
        if self.targets is not None:
            self._require_known(str(self.direction(target)) for target in self.targets)
        return self

    def direction(self, language: str) -> Direction:
        """Return what a target means: `en-de`, or `de` alone, from `source`."""
        source, dash, target = language.partition("-")
        return Direction(source, target) if dash else Direction(self.source, language)

    def checked_direction(self, language: str) -> Direction:
        """Return the direction that a target means.

        Raises:
            DataError: source and target are one language.
        """
        direction = self.direction(language)
        if direction.source == direction.target:
            raise DataError(
                f"{self.name}: {direction.source!r} cannot be translated into itself; name a direction such as 'en-de'"
            )
        return direction

    def with_trained_lengths(self, lengths: Mapping[str, int]) -> Self:
        """Return the task for a model that was trained on sources of these lengths, without specials, by direction.

        Raises:
            SettingsError: `max_length` names another direction, and no `targets` do.
        """
        if self.targets is None:
            self._require_known(lengths)
        if isinstance(self.max_length, int):
            return self
        trained = {direction: length + SPECIALS for direction, length in lengths.items()}
        return self.model_copy(update={"max_length": trained | (self.max_length or {})})

    def _require_known(self, directions: Iterable[str]) -> None:
        """Reject limits of directions that are not among these or their opposites, which round trips take."""
        if not isinstance(self.max_length, dict):
            return
        pairs = [direction.partition("-")[::2] for direction in directions]
        known = {f"{source}-{target}" for source, target in pairs} | {f"{target}-{source}" for source, target in pairs}
        for direction in self.max_length:
            if direction not in known:
                hint = did_you_mean(direction, known)
                raise SettingsError(f"{self.name}: max_length names {direction!r}, no direction here{hint}")

    def translate(
        self, model: Seq2Seq, vocab: Vocab, direction: Direction, sources: Sequence[str]
    ) -> list[LineTranslation]:
        """Translate lines, normalized as in training."""
        from interlace.models.translator import Translator

        limit = self.max_length
        longest = limit.get(str(direction)) if isinstance(limit, dict) else limit
        translator = Translator(
            [model],
            vocab,
            direction.source,
            direction.target,
            self.search,
            tokens=self.tokens_per_batch,
            max_length=None if longest is None else longest - SPECIALS,
        )
        return translator.lines(self.normalized(sources, direction.source))

    def round_trip_bleu(
        self, model: Seq2Seq, vocab: Vocab, back: Direction, outputs: Sequence[str], sources: Sequence[str]
    ) -> tuple[Bleu, list[str]]:
        """Return BLEU of the outputs translated back against the sources, and the back-translations."""
        lines = [one.text for one in self.translate(model, vocab, back, outputs)]
        lines = self.normalized(lines, back.target)
        right = self.normalized(sources, back.target)
        return bleu(lines, right, back.target, tokenize=self.tokenize, lower_case=self.lower_case), lines

    def signature(self, scored: Bleu | Chrf) -> str:
        """Return a signature that names the normalization of Romanian."""
        return scored.signature if self.romanian == "keep" else f"{scored.signature}|romanian:{self.romanian}"

    def normalized(self, lines: Sequence[str], language: str) -> list[str]:
        """Return the lines with Romanian normalized."""
        return Normalization(form="none", romanian=self.romanian).lines(lines, language)


def translation_scores(
    metrics: dict[str, float],
    signatures: dict[str, str],
    main: Bleu,
    letters: Chrf,
    outputs: list[str],
    identity: str,
    shown: tuple[Sequence[str], Sequence[str], Sequence[str]],
) -> Scores:
    """Return scores whose outcomes are BLEU's counts, with chrF telling how single sentences did.

    shown: source, reference and prediction of each line, of which some become samples, from the worst to the best.
    """
    outcomes = Examples(letters.sentences / 100, np.ones(len(outputs)), identity, main.counts, measure="bleu")
    order = np.argsort(outcomes.score, kind="stable")
    rows = order[np.unique(np.linspace(0, len(order) - 1, min(_SAMPLES, len(order))).round().astype(np.int64))]
    texts, gold, predicted = shown
    samples = [{"texts": [texts[row]], "gold": gold[row], "predicted": predicted[row]} for row in rows.tolist()]
    return Scores(metrics, outcomes, details={"signatures": signatures}, outputs=outputs, samples=samples)


def in_pieces(found: Sequence[LineTranslation]) -> float:
    """Return the percentage of lines that were longer than the model reads."""
    return 100 * sum(one.pieces > 1 for one in found) / max(len(found), 1)


def require_seq2seq(backbone: Any, task: str) -> Seq2Seq:
    """Return the model if it is an encoder-decoder.

    Raises:
        SettingsError: it is an encoder.
    """
    from interlace.models.seq2seq import Seq2Seq

    if not isinstance(backbone, Seq2Seq):
        raise SettingsError(
            f"{task}: translation needs an encoder-decoder, but this model is an encoder: train one with the objective "
            "'translation', as the recipe tiny/mt does; it may start from this model ([model] start = ..)"
        )
    return backbone
