"""Scores of translations: BLEU and chrF by sacreBLEU with their signatures, tokenised BLEU, and how much is copied.

BLEU figures compare only where tokenisation, case and references agree (Post 2018), so a signature goes with each.
Tokenised BLEU is the kind that older papers print, of words as their own tokenizer cut them: it stands beside, for
comparison with such a paper, and is higher.
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
from interlace.text.words import WORD_TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Tokenise = Literal["auto", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none"]
"""SacreBLEU's tokenizers that need no download; `auto`: its own for the language, 13a for most."""


@dataclass(frozen=True)
class Bleu:
    """A corpus's BLEU.

    value: 0 to 100. signature: how it was computed. counts: (n, 10) what each sentence adds: length, reference length,
    matching n-grams of 1 to 4 words, n-grams there are; the BLEU of any sentences is that of the sums.
    """

    value: float
    signature: str
    counts: Floats


@dataclass(frozen=True)
class Chrf:
    """A corpus's chrF2, 0 to 100, its signature, and (n,) that of each sentence alone."""

    value: float
    signature: str
    sentences: Floats


def bleu(
    outputs: Sequence[str],
    references: Sequence[str],
    language: str = "",
    *,
    tokenise: Tokenise = "auto",
    lower_case: bool = False,
) -> Bleu:
    """BLEU as sacreBLEU computes it (Post 2018), of raw text.

    Args:
        outputs: (n,) translations.
        references: (n,) one each.
        language: that they are in, by which `auto` takes a tokenizer.
        tokenise: what a word is.
        lower_case: whether case counts as nothing.

    Raises:
        DataError: there are more of the one than of the other, or none.
        MissingDependencyError: the tokenizer for Japanese or Korean is not installed.
    """
    _must_pair(outputs, references)
    from sacrebleu.metrics.bleu import BLEU

    code = language.replace("-", "_").partition("_")[0].lower()
    settings: dict[str, Any] = {"lowercase": lower_case, "trg_lang": code}
    if tokenise != "auto":
        settings["tokenize"] = tokenise
    try:
        metric, single = BLEU(**settings), BLEU(effective_order=True, **settings)
    except RuntimeError as error:
        asked = code if tokenise == "auto" else tokenise.partition("-")[0]
        raise MissingDependencyError(f"BLEU of text in {asked!r}", f"'sacrebleu[{asked}]'") from error
    counts = np.array(list(_counts(single, outputs, references)), np.float64)
    metric.corpus_score(["one"], [["line"]])  # after which it knows how many references there are, for the signature
    return Bleu(float(bleu_of(counts.sum(axis=0))), str(metric.get_signature()), counts)


def tokenised_bleu(
    outputs: Sequence[str],
    references: Sequence[str],
    language: str,
    *,
    word_tokenizer: str = "by_language",
    lower_case: bool = False,
) -> Bleu:
    """BLEU of the words that one of our word tokenizers finds, as `multi-bleu.perl` of Moses counts it: nothing is smoothed.

    Raises:
        DataError: as `bleu`. MissingDependencyError: the word tokenizer needs a package.
    """
    cut = WORD_TOKENIZERS.build(word_tokenizer).of(language)

    def words(lines: Sequence[str]) -> list[str]:
        lines = list(lines)
        found = cut.split(lines)
        return [
            " ".join(line[start:end] for start, end in found[row].tolist()).replace("\n", " ")
            for row, line in enumerate(lines)
        ]

    found = bleu(words(outputs), words(references), language, tokenise="none", lower_case=lower_case)
    sums = found.counts.sum(axis=0)
    value = found.value if (sums[2:6] > 0).all() else 0.0
    case = "lc" if lower_case else "mixed"
    made_with = f" ({cut.made_with})" if cut.made_with else ""
    return Bleu(value, f"nrefs:1|case:{case}|eff:no|tok:{word_tokenizer}{made_with}|smooth:none", found.counts)


def chrf(outputs: Sequence[str], references: Sequence[str], *, lower_case: bool = False) -> Chrf:
    """ChrF2 (Popović 2015, beta of 2), n-grams of up to 6 characters, as sacreBLEU computes it.

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
    """How much of the sources stands in the outputs; a model that collapses begins to copy.

    Returns:
        (n,) 1 where an output is its source, and (n,) the share of its words that stand in the source, each as often
        as there; words are what blanks part, and characters in scripts without blanks; case counts as nothing. An
        output without words has copied none.
    """
    _must_pair(outputs, sources)
    both = list(_both(outputs, sources))
    same = [bool(output.strip()) and output.strip() == source.strip() for output, source in both]
    return np.array(same, np.float64), np.array([_overlap(output, source) for output, source in both], np.float64)


def length_ratio(outputs: Bleu) -> float:
    """Words of the outputs by words of the references, as BLEU counts them."""
    length, reference = outputs.counts[:, :2].sum(axis=0)
    return float(length / reference) if reference else 0.0


def _counts(metric: Any, outputs: Sequence[str], references: Sequence[str]) -> Iterable[list[int]]:
    for output, reference in _both(outputs, references):
        found = metric.sentence_score(output, [reference])
        yield [found.sys_len, found.ref_len, *found.counts, *found.totals]


def _both(first: Sequence[str], second: Sequence[str]) -> Iterable[tuple[str, str]]:
    return zip(first, second, strict=True)


def _overlap(output: str, source: str) -> float:
    words, there = (Counter(_words(text.casefold())) for text in (output, source))
    return (words & there).total() / words.total() if words else 0.0


def _words(text: str) -> Iterable[str]:
    """What blanks part; where a script has none, one changed character would make a whole sentence another word."""
    for word in text.split():
        for alone, run in groupby(word, is_unspaced):
            letters = "".join(run)
            yield from letters if alone else [letters]


def _must_pair(outputs: Sequence[str], references: Sequence[str]) -> None:
    if len(outputs) != len(references) or not len(outputs):
        raise DataError(f"translations are scored beside as many lines: found {len(outputs)} and {len(references)}")
