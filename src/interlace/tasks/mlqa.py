"""Extractive question answering (MLQA, Lewis et al. 2020): which words of a passage answer a question?

Also for XQuAD and TyDi QA GoldP, with their files and `normalization = "squad"`. Answers are compared without case,
punctuation, articles and superfluous white space, by exact match and F1 over words (SQuAD v1.1, Rajpurkar et al. 2016).
SQuAD's rules are English in all languages. MLQA's know the punctuation of all scripts and the articles of its
languages, and treat every Chinese character as a word.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import FineTuneTask, Scores, Tuning
from interlace.tasks.common.files import Files, find_parts
from interlace.tasks.common.reading import ReaderSettings, log_notes, read_parts
from interlace.tasks.common.spans import SpanExtractor, SpanSettings, encode_questions, gold_spans
from interlace.text import TextPairs
from interlace.text.scripts import UNSPACED, is_unspaced, scripts_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.questions import Questions
    from interlace.data.vocab import Vocab
    from interlace.tasks.common.files import FileQuery
    from interlace.tasks.common.reading import Chunks

AnswerRules = Literal["mlqa", "squad"]


class Mlqa(SpanSettings, FineTuneTask):
    """F1 and exact match of answers, in percent; a target `en-de` has passages in `en` and questions in `de`."""

    metric: ClassVar[str] = "f1"
    same_scale: ClassVar[tuple[str, ...]] = ("exact", "ceiling")

    files: Files = Field(
        "qa/{split}.{language}.json",
        description="SQuAD v1.1 files under the data root: a pattern, or patterns by split or 'test.de'; {context} and "
        "{question} are the languages of a target such as 'en-de'. '..json[:3000]' are the first 3,000 questions.",
    )
    reader: ReaderSettings = Field("squad", description="Reader of the files; must return passages and questions.")
    normalization: AnswerRules = Field(
        "mlqa",
        description="How answers are compared: 'mlqa' by the passage's language, 'squad' by English rules in all "
        "languages (XQuAD, TyDi QA GoldP).",
    )
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(learning_rate=3e-5, epochs=3, tokens_per_batch=8192, weight_decay=1e-4),
        description="How the task is fine-tuned (XTREME's code: 3e-5, 3 epochs, 32 sequences a batch).",
    )

    def head(self) -> SpanExtractor:
        """Return a predictor of the answer's first and last subword."""
        return self.build_head(SpanExtractor)

    def read_chunks(self, query: FileQuery) -> Chunks[TextPairs]:
        """Read passages and questions."""
        parts = find_parts(self.files, query)
        languages = list(dict.fromkeys((query.context, query.question)))
        chunks = read_parts(self.name, self.reader, parts, languages, TextPairs)
        return [(parts[-1].path, chunk) for chunk in chunks]

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Questions:
        """Encode questions in the order of the files; training questions without a place of an answer are left out."""
        chunks = self.clean_chunks(self.query(split, language, root))
        path = chunks[-1][0]
        questions = encode_questions([chunk for _, chunk in chunks], vocab)
        placed = questions.spans[:, 0] >= 0
        truncated = int((questions.questions.lengths > self.max_question).sum())
        notes = {f"questions truncated to {self.max_question} subwords": truncated}
        if split == "train":
            notes["questions left out: their answer has no place in the passage"] = int((~placed).sum())
            questions = questions.take(placed)
        log_notes(self.name, path, [notes])
        if not any(questions.answers):
            purpose = "train on" if split == "train" else "compare with"
            raise DataError(
                f"{self.name}: {path}: no question has an answer to {purpose}; where a test set has no public answers, "
                "hold out a part of a training file, such as 'train.json[-500:]'"
            )
        return questions

    def score(self, examples: Questions, predictions: NDArray[Any]) -> Scores:
        """Return `f1` and `exact` over the questions that have answers, and `ceiling`, the F1 that can be reached.

        The ceiling is below 100 where a subword crosses the border of an answer, or an answer is not in its passage.
        """
        found, best = self.by_question(examples, predictions), self.by_question(examples, gold_spans(examples))
        each = found["f1"]
        metrics = {name: _percent(values) for name, values in found.items()}
        outcomes = Examples(
            np.nan_to_num(each),
            (~np.isnan(each)).astype(np.float64),
            identity_of(examples.ids, *examples.answers),
            groups=np.unique(examples.owners, return_inverse=True)[1],
        )
        return Scores({**metrics, "ceiling": _percent(best["f1"])}, outcomes)

    def by_question(self, questions: Questions, predictions: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
        """Return (n,) `f1` and `exact` of each question, 0 to 1; NaN where it has no answer."""
        normalizer = AnswerNormalizer(self.normalization, questions.passages.language)
        return compare_all(best_texts(questions, predictions), questions.answers, normalizer)

    def exports(self, examples: Questions, predictions: NDArray[Any]) -> dict[str, Any]:
        """Return `answers`, the best by question id as the official programs read them, and `n-best`."""
        keys = [key or str(number) for number, key in enumerate(examples.ids)]
        return {
            "answers": dict(zip(keys, best_texts(examples, predictions), strict=True)),
            "n-best": dict(zip(keys, n_best(examples, predictions), strict=True)),
        }

    def samples(
        self, vocab: Vocab, examples: Questions, predictions: NDArray[Any], rows: NDArray[np.int64]
    ) -> list[dict[str, Any]]:
        """Return questions with their answers and the best prediction."""
        found = best_texts(examples.take(rows), predictions[rows])
        return [
            {
                "texts": [vocab.decode(examples.questions.ids[row])],
                "gold": " | ".join(dict.fromkeys(examples.answers[row])),
                "predicted": text,
            }
            for row, text in zip(rows.tolist(), found, strict=True)
        ]


def _percent(each: NDArray[np.float64]) -> float:
    """Return the mean of what is not NaN, in percent."""
    return 100 * float(np.nanmean(each))


# ---- predictions as text ----


def best_texts(questions: Questions, predictions: NDArray[Any]) -> list[str]:
    """Return the best answer to each question, empty if there is none.

    predictions: (n, K) spans of characters, best first (`spans.SPAN`).
    """
    best = predictions[:, 0]
    spans = zip(best["start"].tolist(), best["end"].tolist(), strict=True)
    return [_text(questions, row, start, end) for row, (start, end) in enumerate(spans)]


def n_best(questions: Questions, predictions: NDArray[Any]) -> list[list[dict[str, Any]]]:
    """Return the answers to each question as `text`, `start`, `score` and `probability`, best first.

    The probability is the softmax of the listed scores; equal texts are listed once, with the best score.
    """
    listed = []
    for row, spans in enumerate(predictions):
        texts: dict[str, tuple[int, float]] = {}
        for start, end, score in spans[spans["start"] >= 0].tolist():
            texts.setdefault(_text(questions, row, start, end), (start, score))
        scores = np.array([score for _, score in texts.values()], np.float64)
        shares = np.exp(scores - scores.max(initial=-np.inf))
        listed.append(
            [
                {"text": text, "start": start, "score": score, "probability": float(share)}
                for (text, (start, score)), share in zip(texts.items(), shares / shares.sum(), strict=True)
            ]
        )
    return listed


def _text(questions: Questions, row: int, start: int, end: int) -> str:
    return questions.texts[questions.owners[row]][start:end] if start >= 0 else ""


# ---- comparison of answers ----

_ENGLISH = r"\b(a|an|the)\b"
_ARTICLES = {
    "en": _ENGLISH,
    "es": r"\b(un|una|unos|unas|el|la|los|las)\b",
    "vi": r"\b(của|là|cái|chiếc|những)\b",
    "de": r"\b(ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    "ar": "ال",  # also inside words, as in MLQA's program
}
_HAN = re.compile("[\u4e00-\u9fa5]")  # MLQA's Chinese characters


class _Punctuation(dict[int, int | None]):
    """A table for `str.translate` that drops ASCII's signs and Unicode punctuation, filled as it is used."""

    def __missing__(self, code: int) -> int | None:
        character = chr(code)
        dropped = character in string.punctuation or unicodedata.category(character).startswith("P")
        self[code] = None if dropped else code
        return self[code]


_ANY = _Punctuation()
_ASCII = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class AnswerNormalizer:
    """Normalizes answers before they are compared.

    language: of the answers. With MLQA's rules, its seven languages are treated as by its program; in others articles
    stay, and in scripts without blanks (Japanese, Thai) every character is a word.
    """

    rules: AnswerRules
    language: str

    def words(self, answer: str) -> list[str]:
        """Return the words of an answer; exact match compares all of them."""
        return list(_answer_words(self, answer))

    def _is_word(self, character: str) -> bool:
        return bool(_HAN.match(character)) if self.language == "zh" else is_unspaced(character)


@lru_cache(maxsize=1 << 16)  # gold answers are compared again at every dev evaluation
def _answer_words(normalizer: AnswerNormalizer, answer: str) -> tuple[str, ...]:
    squad = normalizer.rules == "squad"
    text = answer.lower().translate(_ASCII if squad else _ANY)
    articles = _ENGLISH if squad else _ARTICLES.get(normalizer.language)
    if articles:
        text = re.sub(articles, " ", text)
    if not squad and _is_unspaced(normalizer.language):
        text = "".join(
            f" {character} " if normalizer._is_word(character) else character  # noqa: SLF001 - a part of the class
            for character in text
        )
    return tuple(text.split())


@lru_cache(maxsize=256)
def _is_unspaced(language: str) -> bool:
    return bool(scripts_of(language) & UNSPACED)


def word_f1(found: list[str], right: list[str]) -> float:
    """Return the harmonic mean of precision and recall of words, 0 to 1; 0 if none is common.

    >>> round(word_f1(["red", "big", "car"], ["big", "car"]), 3)
    0.8
    """
    common = sum((Counter(found) & Counter(right)).values())
    return 2 * common / (len(found) + len(right)) if common else 0.0


def compare_answers(found: str, answers: Sequence[str], normalizer: AnswerNormalizer) -> tuple[float, float]:
    """Return (F1, exact match), each against the nearest answer, 0 to 1."""
    words, right = normalizer.words(found), [normalizer.words(answer) for answer in answers]
    return max(word_f1(words, one) for one in right), float(words in right)


def compare_all(
    found: Sequence[str], answers: Sequence[Sequence[str]], normalizer: AnswerNormalizer
) -> dict[str, NDArray[np.float64]]:
    """Return (n,) `f1` and `exact` of each question, 0 to 1; NaN where it has no answer."""
    scores = [
        compare_answers(one, right, normalizer) if right else (np.nan, np.nan)
        for one, right in zip(found, answers, strict=True)
    ]
    columns = np.array(scores, np.float64).reshape(-1, 2)
    return {"f1": columns[:, 0], "exact": columns[:, 1]}
