"""Data of the embedding plot: words of several languages from the input embeddings, by PCA (ALM, figure 4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interlace.core.files import atomic

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

Concepts = list[dict[str, str]]  # words that translate each other: one dictionary, language -> word, a concept


def embedding_picture(backbone: Backbone, vocab: Vocab, concepts: Concepts) -> dict[str, Any]:
    """Return points of words and pairs of translations; fewer than three concepts give an empty plot."""
    entries = [(number, language, word) for number, words in enumerate(concepts) for language, word in words.items()]
    if len(concepts) < 3:
        return {"method": "pca", "explained": [], "words": [], "pairs": []}
    from sklearn.decomposition import PCA

    pca = PCA(n_components=2, random_state=0)
    points = pca.fit_transform(concept_vectors(backbone, vocab, concepts))
    words = [
        {"word": word, "language": language, "x": round(float(x), 4), "y": round(float(y), 4), "concept": number}
        for (number, language, word), (x, y) in zip(entries, points, strict=True)
    ]
    first: dict[int, int] = {}  # of each concept; pairs are of it with each of the other words
    for index, (number, _, _) in enumerate(entries):
        first.setdefault(number, index)
    pairs = [[first[number], index] for index, (number, _, _) in enumerate(entries) if first[number] != index]
    explained = [round(float(share), 4) for share in pca.explained_variance_ratio_]
    return {"method": "pca", "explained": explained, "words": words, "pairs": pairs}


def concept_vectors(backbone: Backbone, vocab: Vocab, concepts: Concepts) -> NDArray[np.float32]:
    """Return (words, H) vectors of all words, each the mean of the input embeddings of its tokens in a sentence."""
    table = backbone.input_embeddings.detach().float().cpu().numpy()
    words = [word for entry in concepts for word in entry.values()]
    if not words:
        return np.zeros((0, table.shape[1]), np.float32)
    ids = vocab.encode_words(words)
    return np.stack([table[row].mean(axis=0) if len(row) else np.zeros(table.shape[1], np.float32) for row in ids])


def write_words(path: Path, concepts: Concepts, before: NDArray[np.float32], after: NDArray[np.float32]) -> None:
    """Write the concepts' words with their vectors before and after training, for plots (WEAM, figure 2)."""
    from safetensors.numpy import save_file

    with atomic(path) as partial:
        save_file({"before": before, "after": after}, partial, {"concepts": json.dumps(concepts, ensure_ascii=False)})
