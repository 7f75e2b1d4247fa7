"""Maps of words after training by PCA (Yang et al. 2020, figure 4)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from interlace.report import svg
from interlace.report.figures.word_map import word_map
from interlace.report.runs import ReportedRun, first_of_each
from interlace.report.sections import Section
from interlace.report.text import language_name, render


def word_maps(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Words and their translations`, a map for each run with finite vectors."""
    styles: dict[str, int] = {}
    figures = []
    for run in first_of_each(runs):
        words = run.words
        if words is None or len(words.words) < 3 or not np.isfinite(words.vectors).all():
            continue
        for language, _ in words.words:
            styles.setdefault(language, len(styles))
        figures.append(
            (
                run.label,
                word_map(
                    words.words,
                    principal_axes(words.vectors),
                    styles,
                ),
            )
        )
    if not figures:
        return None
    names = {language_name(language): style for language, style in styles.items()}
    body = svg.legend(names) + render("figures", figures=figures)
    lead = (
        "Words and their translations by the first two principal components of their input embeddings after training. "
        "Points without a label show their word on hover."
    )
    return Section(
        "Words and their translations",
        lead,
        body,
        [drawing for _, drawing in figures],
    )


def principal_axes(vectors: Any) -> Any:
    """Return (W, 2) coordinates of the unit vectors on their first two principal components."""
    vectors = np.asarray(vectors, np.float64)  # (W, H)
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    centred = unit - unit.mean(axis=0)
    left, singular_values, axes = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    return (left * singular_values * signs)[:, :2]
