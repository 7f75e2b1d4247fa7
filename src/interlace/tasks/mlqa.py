"""Extractive question answering across languages (Lewis et al. 2020): which words of a passage answer a question?

Also for XQuAD and TyDi QA GoldP, with their files and `normalisation = "squad"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.objectives import BoolOrAuto
from interlace.tasks import Task, Tuning
from interlace.tasks._answers import AnswerNormalizer, Rules, compare_all, right_words
from interlace.tasks._answers_text import best_texts, n_best
from interlace.tasks._apart import decontaminate
from interlace.tasks._files import FileQuery, Files, find_parts
from interlace.tasks._kept import Kept
from interlace.tasks._questions import encode_questions
from interlace.tasks._read import log_notes, read_parts
from interlace.tasks._spans import Extractor
from interlace.text import TextPairs

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.questions import Questions
    from interlace.data.vocab import Vocab
    from interlace.tasks._outcomes import Outcomes

_KEPT = Kept()  # of questions: their answers as words, and the ceiling; scored again at every check of a fine-tuning


class Mlqa(Task):
    """F1 and exact match of answers, in percent; a target `en-de` has passages in `en` and questions in `de`."""

    metric: ClassVar[str] = "f1"
    also: ClassVar[tuple[str, ...]] = ("exact", "ceiling")

    files: Files = Field(
        "qa/{split}.{language}.json",
        description="SQuAD v1.1 files under the data root: a pattern, or patterns by split or 'test.de'; {context} and "
        "{question} are the languages of a target such as 'en-de'. '..json[:3000]' are the first 3,000 questions.",
    )
    reader: dict[str, Any] | str = Field("squad", description="What reads the files; must give passages and questions.")
    normalisation: Rules = Field(
        "mlqa",
        description="How answers are compared: 'mlqa' by the passage's language, 'squad' by English rules in all "
        "languages (XQuAD, TyDi QA GoldP).",
    )
    max_length: int = Field(
        384, ge=16, description="Longest row in subwords, at most the model's own (Devlin et al. 2019, code: 384)."
    )
    max_question: int = Field(
        64, ge=1, description="Longest question in subwords, at most half a row; what is beyond is cut (code: 64)."
    )
    stride: int = Field(
        128, ge=1, description="Subwords from the beginning of a passage's window to that of the next (code: 128)."
    )
    max_answer: int = Field(30, ge=1, description="Longest answer predicted, in subwords (code: 30).")
    n_best: int = Field(20, ge=1, description="Answers kept of each question (code: 20).")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of the state dropped before the linear layer (code: 0).")
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(learning_rate=3e-5, epochs=3, tokens_per_batch=8192, weight_decay=1e-4),
        description="How the task is fine-tuned (XTREME's code: 3e-5, 3 epochs, 32 rows a batch).",
    )

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Questions:
        """Questions in the order of the files; of training, those that nothing can be learnt from are left out."""
        asked = FileQuery("mlqa", split, language, root)
        parts = find_parts(self.files, asked)
        chunks = decontaminate(self, asked, [(parts[-1].path, chunk) for chunk in self._pairs(asked)])
        questions = encode_questions([chunk for _, chunk in chunks], vocab)
        placed = questions.spans[:, 0] >= 0
        long = int((questions.questions.lengths > self.max_question).sum())
        notes = {f"questions cut behind {self.max_question} subwords": long}
        if split == "train":
            notes["questions left out: nothing can be learnt without the place of an answer"] = int((~placed).sum())
            questions = questions.take(placed)
        log_notes("mlqa", parts[-1].path, [notes])
        if not any(questions.answers):
            purpose = "learn" if split == "train" else "compare with"
            raise DataError(
                f"mlqa: {parts[-1].path}: no question has an answer to {purpose}; where a test set keeps its answers "
                "to itself, hold out a part of a training file, such as 'train.json[-500:]'"
            )
        return questions

    def texts(self, split: str, language: str, root: Path) -> list[TextPairs]:
        """A passage and a question each."""
        return self._pairs(FileQuery("mlqa", split, language, root))

    def learner(self) -> Extractor:
        """A predictor of the answer's first and last subword."""
        return Extractor(
            max_length=self.max_length,
            max_question=self.max_question,
            stride=self.stride,
            max_answer=self.max_answer,
            n_best=self.n_best,
            dropout=self.dropout,
            language_ids=self.language_ids,
        )

    def score(self, examples: Any, predictions: Any, gold: Any) -> dict[str, float]:
        """`f1` and `exact` over the questions that have answers, and `ceiling`, the F1 that can be reached.

        Where a subword runs over the border of an answer, not even the right one gives its very text; an answer that
        stands nowhere in its passage is never found.
        """
        found = {name: _percent(each) for name, each in self.by_question(examples, predictions).items()}
        key = ("ceiling", self.normalisation)
        return {**found, "ceiling": _KEPT.of(examples, key, lambda: self._ceiling(examples, gold))}

    def _ceiling(self, questions: Questions, gold: NDArray[Any]) -> float:
        """The F1 of the right subwords, which is none for an answer without a place."""
        return _percent(self.by_question(questions, gold)["f1"])

    def outcomes(self, examples: Any, predictions: Any, gold: Any) -> Outcomes:  # noqa: ARG002
        """F1 of each question; one without an answer weighs nothing."""
        each = self.by_question(examples, predictions)["f1"]
        return np.nan_to_num(each), (~np.isnan(each)).astype(np.float64)

    def by_question(self, questions: Questions, predictions: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
        """(n,) `f1` and `exact` of each question, 0 to 1, for statistics; NaN where it has no answer."""
        normaliser = AnswerNormalizer(self.normalisation, questions.passages.language)
        right = _KEPT.of(questions, normaliser, lambda: right_words(questions.answers, normaliser))
        return compare_all(best_texts(questions, predictions), right, normaliser)

    def answers(self, questions: Questions, predictions: NDArray[Any]) -> list[dict[str, Any]]:
        """For each question its `id` and the `n_best` answers as text, best first."""
        listed = n_best(questions, predictions)
        return [{"id": key, "n_best": texts} for key, texts in zip(questions.ids, listed, strict=True)]

    def told(self, examples: Any, predictions: Any) -> dict[str, Any]:
        """`answers`, the best by question, as the official programs read them, and `n-best`."""
        keys = [key or str(number) for number, key in enumerate(examples.ids)]
        return {
            "answers": dict(zip(keys, best_texts(examples, predictions), strict=True)),
            "n-best": dict(zip(keys, n_best(examples, predictions), strict=True)),
        }

    def samples(
        self,
        vocab: Vocab,
        examples: Questions,
        predictions: Any,
        gold: Any,  # noqa: ARG002 - the questions hold it
        rows: NDArray[np.int64],
    ) -> list[dict[str, Any]]:
        """Questions with their answers and the best one found."""
        listed = self.answers(examples.take(rows), predictions[rows])
        return [
            {
                "texts": [vocab.decode(examples.questions.ids[row])],
                "gold": " | ".join(dict.fromkeys(examples.answers[row])),
                "predicted": next((best["text"] for best in each["n_best"]), ""),
            }
            for row, each in zip(rows.tolist(), listed, strict=True)
        ]

    def _pairs(self, asked: FileQuery) -> list[TextPairs]:
        languages = list(dict.fromkeys((asked.context, asked.question)))
        return read_parts("mlqa", self.reader, find_parts(self.files, asked), languages, TextPairs)


def _percent(each: NDArray[np.float64]) -> float:
    """The mean of what is known, in percent."""
    return 100 * float(np.nanmean(each))
