"""The words of the embedding plot of a run's report, with their vectors."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors.numpy import save_file

from interlace.alignment.lexicon import read_translations
from interlace.core.data_root import Root
from interlace.core.files import atomic
from interlace.core.ragged import FloatArray
from interlace.experiments.recipe import Recipe

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

log = logging.getLogger(__name__)

MAX_CONCEPTS = 24  # of the embedding plot


def concepts(recipe: Recipe, root: Root) -> list[dict[str, str]]:
    """Return up to `MAX_CONCEPTS` source words with translations in all languages, evenly spaced, to plot.

    There are none if a dictionary is missing: only the plot needs it.
    """
    source = recipe.evaluate.source
    pattern = recipe.evaluate.dictionary
    targets = [language for language in recipe.languages if language != source]
    if pattern is None or not targets:
        return []
    concepts: dict[str, dict[str, str]] = {}  # source word -> language -> word
    for target in targets:
        path = root / pattern.format(source=source, target=target)
        if not path.is_file():
            log.info("no plot of word vectors: evaluate.dictionary: %s: no such file", path)
            return []
        for word, translation, _ in read_translations(path):
            concept = concepts.setdefault(word, {source: word})
            concept.setdefault(target, translation)
    complete = [concept for concept in concepts.values() if len(concept) == len(targets) + 1]
    count = min(MAX_CONCEPTS, len(complete))
    numbers = np.linspace(0, len(complete) - 1, count).round().astype(np.int64)
    return [complete[number] for number in numbers.tolist()]


def concept_vectors(
    backbone: Backbone, vocab: Vocab, concepts: list[dict[str, str]]
) -> FloatArray:
    """Return (words, H) vectors of all words, each the mean of the input embeddings of its tokens in a sentence."""
    table = backbone.input_embeddings.detach().float().cpu().numpy()
    words: list[str] = []
    for concept in concepts:
        words += concept.values()
    ids = vocab.encode_words(words)
    vectors = np.zeros((len(ids), table.shape[1]), np.float32)
    for number, row in enumerate(ids):
        if len(row):
            vectors[number] = table[row].mean(axis=0)
    return vectors


def write_words(
    path: Path,
    concepts: list[dict[str, str]],
    before: FloatArray,
    after: FloatArray,
) -> None:
    """Write the concepts' words with their vectors before and after training (ALM, figure 4; WEAM, figure 2)."""
    metadata = {"concepts": json.dumps(concepts, ensure_ascii=False)}
    with atomic(path) as partial:
        save_file({"before": before, "after": after}, partial, metadata)
