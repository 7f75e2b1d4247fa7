"""Metrics of translations: sacreBLEU's BLEU and chrF with their signatures, tokenized BLEU, and copied words.

BLEU figures are only comparable with equal tokenization, case and references (Post 2018), so each comes with a
signature. Tokenized BLEU is what older papers print, over words as their own tokenizer found them; it is higher.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interlace.core.errors import DataError, MissingDependencyError
from interlace.scores.examples import bleu as bleu_of
from interlace.text.scripts import is_unspaced
from interlace.text.word_tokenizers import WORD_TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BleuTokenizer = Literal["auto", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none"]
"""SacreBLEU's tokenizers that need no download; `auto`: its own for the language, 13a for most."""


@dataclass(frozen=True)
class Bleu:
    """BLEU of a corpus.

    value: 0 to 100. signature: how it was computed. counts: (n, 10) what each sentence adds: length, reference length,
    matching n-grams of 1 to 4 words, n-grams; the BLEU of any sentences is that of the sums.
    """

    value: float
    signature: str
    counts: Floats

    @property
    def length_ratio(self) -> float:
        """Words of the outputs divided by words of the references, as BLEU counts them."""
        length, reference = self.counts[:, :2].sum(axis=0)
        return float(length / reference) if reference else 0.0


@dataclass(frozen=True)
class Chrf:
    """chrF2 of a corpus, 0 to 100, its signature, and (n,) that of each sentence."""

    value: float
    signature: str
    sentences: Floats


def bleu(
    outputs: Sequence[str],
    references: Sequence[str],
    language: str = "",
    *,
    tokenize: BleuTokenizer = "auto",
    lower_case: bool = False,
) -> Bleu:
    """Return sacreBLEU's BLEU of raw text (Post 2018).

    Args:
        outputs: (n,) translations.
        references: (n,) one each.
        language: of both; `auto` chooses a tokenizer by it.
        tokenize: the tokenizer.
        lower_case: ignore case.

    Raises:
        DataError: the numbers of lines differ, or are 0.
        MissingDependencyError: the tokenizer for Japanese or Korean is not installed.
    """
    _must_pair(outputs, references)
    from sacrebleu.metrics.bleu import BLEU

    code = language.replace("-", "_").partition("_")[0].lower()
    settings: dict[str, Any] = {"lowercase": lower_case, "trg_lang": code}
    if tokenize != "auto":
        settings["tokenize"] = tokenize
    try:
        metric, single = BLEU(**settings), BLEU(effective_order=True, **settings)
    except RuntimeError as error:
        extra = code if tokenize == "auto" else tokenize.partition("-")[0]
        raise MissingDependencyError(f"BLEU of text in {extra!r}", f"'sacrebleu[{extra}]'") from error
    found = (single.sentence_score(output, [right]) for output, right in zip(outputs, references, strict=True))
    counts = np.array([[one.sys_len, one.ref_len, *one.counts, *one.totals] for one in found], np.float64)
    metric.corpus_score(["one"], [["line"]])  # the signature then has the number of references
    return Bleu(float(bleu_of(counts.sum(axis=0))), str(metric.get_signature()), counts)


def tokenized_bleu(
    outputs: Sequence[str],
    references: Sequence[str],
    language: str,
    *,
    word_tokenizer: str = "by_language",
    lower_case: bool = False,
) -> Bleu:
    """Return BLEU over the words of a word tokenizer, without smoothing, as Moses' `multi-bleu.perl`.

    Raises:
        DataError: as `bleu`. MissingDependencyError: the word tokenizer needs a package.
    """
    tokenizer = WORD_TOKENIZERS.build(word_tokenizer).of(language)

    def words(lines: Sequence[str]) -> list[str]:
        found = tokenizer.split(list(lines))
        return [
            " ".join(line[start:end] for start, end in found[row].tolist()).replace("\n", " ")
            for row, line in enumerate(lines)
        ]

    found = bleu(words(outputs), words(references), language, tokenize="none", lower_case=lower_case)
    value = found.value if (found.counts.sum(axis=0)[2:6] > 0).all() else 0.0
    case = "lc" if lower_case else "mixed"
    package_versions = f" ({tokenizer.package_versions})" if tokenizer.package_versions else ""
    return Bleu(value, f"nrefs:1|case:{case}|eff:no|tok:{word_tokenizer}{package_versions}|smooth:none", found.counts)


def chrf(outputs: Sequence[str], references: Sequence[str], *, lower_case: bool = False) -> Chrf:
    """Return sacreBLEU's chrF2 (Popović 2015, beta of 2) over n-grams of up to 6 characters.

    Raises:
        DataError: as `bleu`.
    """
    _must_pair(outputs, references)
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF(lowercase=lower_case)
    value = float(metric.corpus_score(list(outputs), [list(references)]).score)
    each = [metric.sentence_score(output, [right]).score for output, right in zip(outputs, references, strict=True)]
    return Chrf(value, str(metric.get_signature()), np.array(each, np.float64))


def copied(outputs: Sequence[str], sources: Sequence[str]) -> tuple[Floats, Floats]:
    """Return how much of the outputs is copied from the sources; a model that collapses begins to copy.

    Returns:
        (n,) 1 where an output equals its source, and (n,) the share of its words that occur in the source, each as
        often as there. Words are separated by blanks; in scripts without blanks they are characters. Case is ignored.
        An output without words has copied none.
    """
    _must_pair(outputs, sources)
    both = list(zip(outputs, sources, strict=True))
    same = [bool(output.strip()) and output.strip() == source.strip() for output, source in both]
    return np.array(same, np.float64), np.array([_overlap(output, source) for output, source in both], np.float64)


def _overlap(output: str, source: str) -> float:
    words, available = (Counter(_words(text.casefold())) for text in (output, source))
    return (words & available).total() / words.total() if words else 0.0


def _words(text: str) -> Iterable[str]:
    """Yield words; in a script without blanks characters, or one change would make a whole sentence another word."""
    for word in text.split():
        for unspaced, run in groupby(word, is_unspaced):
            letters = "".join(run)
            yield from letters if unspaced else [letters]


def _must_pair(outputs: Sequence[str], references: Sequence[str]) -> None:
    if len(outputs) != len(references) or not len(outputs):
        raise DataError(f"expected as many translations as references, found {len(outputs)} and {len(references)}")
