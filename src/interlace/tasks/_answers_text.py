"""Predicted answers as text: the best of each question, and the n best with how likely each is beside the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.data.questions import Questions


def best_texts(questions: Questions, predictions: NDArray[Any]) -> list[str]:
    """(n,) the best answer to each question, empty where there is none.

    predictions: (n, K) spans of characters, best first (`_spans.SPAN`).
    """
    best = predictions[:, 0]
    spans = zip(best["start"].tolist(), best["end"].tolist(), strict=True)
    return [_text(questions, row, start, end) for row, (start, end) in enumerate(spans)]


def n_best(questions: Questions, predictions: NDArray[Any]) -> list[list[dict[str, Any]]]:
    """For each question its answers as `text`, `start`, `score` and `probability`, best first.

    The probability is the softmax of the scores of those that are listed; a text that stands in several places is
    listed once, with the best of its scores. For people and JSON.
    """
    listed = []
    for row, spans in enumerate(predictions):
        texts: dict[str, tuple[int, float]] = {}
        for start, end, score in spans[spans["start"] >= 0].tolist():
            texts.setdefault(_text(questions, row, start, end), (start, score))
        shares = _softmax(np.array([score for _, score in texts.values()]))
        listed.append(
            [
                {"text": text, "start": start, "score": score, "probability": float(share)}
                for (text, (start, score)), share in zip(texts.items(), shares, strict=True)
            ]
        )
    return listed


def _text(questions: Questions, row: int, start: int, end: int) -> str:
    return questions.texts[questions.owners[row]][start:end] if start >= 0 else ""


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    raised = np.exp(scores - scores.max(initial=-np.inf))
    return np.asarray(raised / raised.sum())
