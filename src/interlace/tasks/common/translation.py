"""Translation tasks: directions, the search, and metrics of translations with their signatures.

BLEU figures are only comparable with equal tokenization, case and references (Post 2018), so each comes with a
signature. Tokenized BLEU is what older papers print, over words as their own tokenizer found them; it is higher.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from pydantic import Field, PrivateAttr

from interlace.core.errors import DataError, MissingDependencyError, SettingsError
from interlace.core.ragged import DoubleArray, IntArray
from interlace.data.layout import SPECIALS
from interlace.models.settings import SearchSettings
from interlace.scores.examples import Examples, identity_of
from interlace.scores.examples import bleu as bleu_of_counts
from interlace.tasks import ProbeTask, Scores
from interlace.text.codes import base_language
from interlace.text.normalization import Normalization
from interlace.text.scripts import is_unspaced
from interlace.text.word_tokenizers import WORD_TOKENIZERS

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.models.translator import LineTranslation

Floats = DoubleArray


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
    """Raw lines to translate with their references, (n,) each, and how many subwords each line has."""

    direction: Direction
    sources: list[str]
    references: list[str]
    lengths: IntArray = field(repr=False)

    def __len__(self) -> int:
        return len(self.sources)

    def part(self, rows: slice) -> SourceLines:
        """Return some of them."""
        return SourceLines(
            self.direction,
            self.sources[rows],
            self.references[rows],
            self.lengths[rows],
        )


class TranslationTask(ProbeTask):
    """Base of tasks that translate in a direction, such as `en-de`; a language alone means from `source` into it."""

    translates = True
    unit = "BLEU"
    other_scales = dict.fromkeys(
        ("copied lines", "copied words"),
        ("%", False),
    )

    source: str = Field(
        "en", description="The source language of targets that name no direction."
    )
    search: SearchSettings = Field(
        default_factory=SearchSettings,
        description="The search for translations (ALM: a beam of 8).",
    )
    max_length: int | None = Field(
        None,
        ge=8,
        description="Maximum source length in tokens, at most the model's own; longer sources are read in pieces, as "
        "`interlace translate` does. None: the longest source that the run was trained to translate in this direction, "
        "else the model's own length.",
    )
    tokens_per_batch: int = Field(
        16_384,
        ge=16,
        description="Source tokens per batch with padding, times the beam.",
    )
    lower_case: bool = Field(False, description="Ignore case in all metrics.")
    romanian: Literal["keep", "comma", "strip"] = Field(
        "keep",
        description="Normalization of Romanian as in training, for sources and both sides of 'tokenized bleu' and "
        "'round-trip bleu' (XLM: 'strip'). References of 'bleu' stay as they are.",
    )

    _trained_lengths: dict[str, int] = PrivateAttr(default_factory=dict)

    def direction(self, language: str) -> Direction:
        """Return what a target means: `en-de`, or `de` alone, from `source`."""
        source, dash, target = language.partition("-")
        return Direction(source, target) if dash else Direction(self.source, language)

    def checked_direction(self, language: str) -> Direction:
        """Return the direction that a target means; raise a DataError if source and target are one language."""
        direction = self.direction(language)
        if direction.source == direction.target:
            raise DataError(
                f"{self.name}: {direction.source!r} cannot be translated into itself; name a direction such as 'en-de'"
            )
        return direction

    def with_trained_lengths(self, lengths: Mapping[str, int]) -> Self:
        """Return the task for a model that was trained on sources of these lengths, without specials, by direction."""
        task = self.model_copy()
        task._trained_lengths = dict(lengths)  # noqa: SLF001 - its own copy
        return task

    def max_source_tokens(self, direction: Direction) -> int | None:
        """Return the maximum source length without special tokens; None: the model's own."""
        if self.max_length is not None:
            return self.max_length - SPECIALS
        return self._trained_lengths.get(str(direction))

    @abstractmethod
    def compare(
        self,
        examples: SourceLines,
        outputs: list[str],
        back: list[str],
    ) -> dict[str, TextMetric]:
        """Return metrics by name, one ending in `chrf`; back: normalized round trips, empty without `round_trip`."""

    def measure(self, backbone: Backbone, vocab: Vocab, examples: SourceLines) -> Scores:
        """Return metrics with signatures, 0 to 100; shares are in percent of lines or of words of the outputs.

        The outcomes have BLEU's counts, and chrF tells how single sentences did. Samples go from the worst to the best.
        Raise a SettingsError if the model is an encoder.
        """
        direction = examples.direction
        translations = self.translate(backbone, vocab, direction, examples.sources)
        outputs = [translation.text for translation in translations]
        back: list[str] = []
        if getattr(self, "round_trip", True):
            returned = self.translate(backbone, vocab, direction.back, outputs)
            back = self.normalized(
                [translation.text for translation in returned], direction.source
            )
        metrics = self.compare(examples, outputs, back)
        values = {}
        signatures = {}
        sentence_chrf = np.zeros(len(outputs))
        for name, metric in metrics.items():
            values[name] = metric.value
            signatures[name] = metric.signature
            if name.endswith("chrf"):
                sentence_chrf = metric.sentences
        copied_lines, copied_words = copied(outputs, examples.sources)
        values["copied lines"] = 100 * float(copied_lines.mean())
        values["copied words"] = 100 * float(copied_words.mean())
        weight = np.ones(len(outputs))
        bleu_counts = metrics[self.metric].sentences
        outcomes = Examples(
            sentence_chrf / 100,
            weight,
            identity_of(examples.references),
            bleu_counts,
            "bleu",
        )
        return Scores(values, outcomes, details={"signatures": signatures}, outputs=outputs)

    def translate(
        self,
        backbone: Any,
        vocab: Vocab,
        direction: Direction,
        sources: Sequence[str],
    ) -> list[LineTranslation]:
        """Translate lines, normalized as in training."""
        from interlace.models.seq2seq import Seq2Seq
        from interlace.models.translator import Translator

        if not isinstance(backbone, Seq2Seq):
            raise SettingsError(
                f"{self.name}: translation needs an encoder-decoder, but this model is an encoder: train one with the "
                "objective 'translation', as the recipe tiny/mt does; it may start from this model ([model] start = ..)"
            )
        translator = Translator(
            backbone,
            vocab,
            direction.source,
            direction.target,
            self.search,
            tokens=self.tokens_per_batch,
            max_length=self.max_source_tokens(direction),
        )
        return translator.lines(self.normalized(sources, direction.source))

    def round_trip_bleu(self, examples: SourceLines, back: list[str]) -> TextMetric:
        """Return BLEU of lines that were translated and translated back, against the lines."""
        language = examples.direction.source
        right = self.normalized(examples.sources, language)
        return self.signed(bleu(back, right, language, lower_case=self.lower_case))

    def signed(self, metric: TextMetric) -> TextMetric:
        """Return the metric with a signature that names the normalization of Romanian."""
        if self.romanian == "keep":
            return metric
        return replace(metric, signature=f"{metric.signature}|romanian:{self.romanian}")

    def normalized(self, lines: Sequence[str], language: str) -> list[str]:
        """Return the lines with Romanian normalized."""
        return Normalization(form="none", romanian=self.romanian).lines(lines, language)


@dataclass(frozen=True)
class TextMetric:
    """A metric of a corpus.

    value: 0 to 100. signature: how it was computed.
    sentences: of chrF (n,) that of each sentence; of BLEU (n, 10) what each sentence adds: length, reference length,
        matching n-grams of 1 to 4 words, n-grams. The BLEU of any sentences is that of the sums.
    """

    value: float
    signature: str
    sentences: Floats


def bleu(
    outputs: Sequence[str],
    references: Sequence[str],
    language: str = "",
    *,
    lower_case: bool = False,
) -> TextMetric:
    """Return sacreBLEU's BLEU of raw text (Post 2018) by its tokenizer of a language, 13a for most.

    Raise a DataError if the numbers of lines differ, or are 0, a MissingDependencyError if a tokenizer needs a package.
    """
    code = base_language(language)
    try:
        return _bleu(outputs, references, lowercase=lower_case, trg_lang=code)
    except RuntimeError as error:
        raise MissingDependencyError(
            f"'sacrebleu[{code}]'", f"BLEU of text in {code!r}"
        ) from error


def _bleu(outputs: Sequence[str], references: Sequence[str], **settings: Any) -> TextMetric:
    """Return sacreBLEU's BLEU; settings: those of sacreBLEU."""
    _must_pair(outputs, references)
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(**settings)
    single = BLEU(effective_order=True, **settings)
    rows = []
    for output, reference in zip(outputs, references, strict=True):
        score = single.sentence_score(output, [reference])
        rows.append([score.sys_len, score.ref_len, *score.counts, *score.totals])
    counts = np.array(rows, np.float64)  # (n, 10)
    metric.corpus_score(["one"], [["line"]])  # the signature then has the number of references
    return TextMetric(
        float(bleu_of_counts(counts.sum(axis=0))),
        str(metric.get_signature()),
        counts,
    )


def tokenized_bleu(
    outputs: Sequence[str],
    references: Sequence[str],
    language: str,
    *,
    word_tokenizer: str = "by_language",
    lower_case: bool = False,
) -> TextMetric:
    """Return BLEU over a tokenizer's words, without smoothing, as Moses' `multi-bleu.perl`; errors as `bleu`."""
    tokenizer = WORD_TOKENIZERS.build(word_tokenizer).of(language)

    def tokenized(lines: Sequence[str]) -> list[str]:
        texts = []
        for line, spans in zip(lines, tokenizer.split(list(lines)), strict=True):
            words = [line[start:end] for start, end in spans.tolist()]
            texts.append(" ".join(words).replace("\n", " "))
        return texts

    metric = _bleu(
        tokenized(outputs), tokenized(references), tokenize="none", lowercase=lower_case
    )
    matching_ngrams = metric.sentences.sum(axis=0)[2:6]
    value = metric.value if (matching_ngrams > 0).all() else 0.0
    case = "lc" if lower_case else "mixed"
    package_versions = f" ({tokenizer.package_versions})" if tokenizer.package_versions else ""
    signature = f"nrefs:1|case:{case}|eff:no|tok:{word_tokenizer}{package_versions}|smooth:none"
    return TextMetric(value, signature, metric.sentences)


def chrf(
    outputs: Sequence[str],
    references: Sequence[str],
    *,
    lower_case: bool = False,
) -> TextMetric:
    """Return sacreBLEU's chrF2 (Popović 2015, beta of 2) over n-grams of up to 6 characters; errors as `bleu`."""
    _must_pair(outputs, references)
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF(lowercase=lower_case)
    value = float(metric.corpus_score(list(outputs), [list(references)]).score)
    sentences = np.zeros(len(outputs))
    for row, (output, reference) in enumerate(zip(outputs, references, strict=True)):
        sentences[row] = metric.sentence_score(output, [reference]).score
    return TextMetric(value, str(metric.get_signature()), sentences)


def copied(outputs: Sequence[str], sources: Sequence[str]) -> tuple[Floats, Floats]:
    """Return how much of the outputs is copied from the sources; a model that collapses begins to copy.

    (n,) 1 where an output equals its source, and (n,) the share of its words that occur in the source, each as often as
    there. Words are compared without case and separated by blanks; in scripts without blanks they are characters. An
    output without words has copied none.
    """
    _must_pair(outputs, sources)
    lines = np.zeros(len(outputs))
    words = np.zeros(len(outputs))
    for row, (output, source) in enumerate(zip(outputs, sources, strict=True)):
        output_words = Counter(_words(output.casefold()))
        source_words = Counter(_words(source.casefold()))
        if output_words:
            words[row] = (output_words & source_words).total() / output_words.total()
        if output.strip():
            lines[row] = output.strip() == source.strip()
    return lines, words


def _words(text: str) -> Iterable[str]:
    """Yield words; in a script without blanks characters, or one change would make a whole sentence another word."""
    for word in text.split():
        for unspaced, run in groupby(word, is_unspaced):
            letters = "".join(run)
            yield from letters if unspaced else [letters]


def _must_pair(outputs: Sequence[str], references: Sequence[str]) -> None:
    if len(outputs) != len(references) or not len(outputs):
        raise DataError(
            f"expected as many translations as references, found {len(outputs)} and {len(references)}"
        )
