"""The word alignments of a corpus.

They are cached apart from the vocabulary, by the text and the aligner with its settings and code.
"""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from interlace.aligners import Aligner, FittedAligner
from interlace.alignment import WordPairs
from interlace.core.data_root import Root
from interlace.core.files import user_path
from interlace.core.json_files import JsonObject
from interlace.core.progress import Progress
from interlace.core.ragged import FloatArray, Ragged
from interlace.data.alignments import WordAlignments
from interlace.data.artifacts import Artifact
from interlace.data.cache import code_hash, content_key, plugin_hash
from interlace.data.corpus_text import CorpusText
from interlace.experiments.recipe import Recipe
from interlace.experiments.sections import AlignSettings, names_of
from interlace.text import TextPairs

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class CorpusAlignments(Artifact[WordAlignments]):
    """The word alignments of a parallel text; row i is the same pair as row i of the corpus of that text.

    aligner: with the paths of its files.
    """

    kind = "alignments"

    text: CorpusText
    aligner: Aligner

    def __str__(self) -> str:
        return f"the word alignments of {self.text} by {self.aligner.name!r}"

    @cached_property
    def key(self) -> JsonObject:
        """The text, and the aligner with the contents of its files, of a local encoder, and its code."""
        contents = {
            setting: content_key(path) for setting, path in aligner_files(self.aligner).items()
        }
        return {
            **self.text.key,
            "aligner": [self.aligner.name, {**self.aligner.dump(), **contents}],
            "encoder": [content_key(path) for path in _encoder_files(self.aligner)],
            "version": [code_hash("alignment", "aligners"), plugin_hash(type(self.aligner))],
        }

    def build(self, folder: Path) -> None:
        """Train the aligner on all pairs, and write their links."""
        pairs = (TextPairs(source, target) for source, target in self.text.chunks())
        words = WordPairs.of(pairs, spool=folder.parent)
        fitted = self.aligner.fit(words, progress=_progress_of(self.text))
        WordAlignments.write(folder, _aligned(words, fitted))

    def open(self, folder: Path) -> WordAlignments:
        """Map the alignments into memory."""
        return WordAlignments.open(folder)


def aligner_of(recipe: Recipe, corpus: str, root: Root) -> Aligner:
    """Return the aligner of a corpus such as `en-de`, with the paths of its files below the data root."""
    aligner = (recipe.align or AlignSettings()).aligner(names_of(corpus))
    paths: dict[str, str] = {}
    for setting, path in aligner_files(aligner).items():
        paths[setting] = str(root / path)
    return aligner.model_copy(update=paths)


def aligner_files(aligner: Aligner) -> dict[str, Path]:
    """Return the files that the settings of an aligner name, by setting."""
    files = {}
    for setting in aligner.files:
        path = getattr(aligner, setting)
        if path:
            files[setting] = Path(path)
    return files


def _encoder_files(aligner: Aligner) -> list[Path]:
    """Return weights, configuration and tokenizer of an aligner's encoder, if it is a local folder."""
    start = getattr(aligner, "start", None)
    if start is None:
        return []
    folder = user_path(start)
    return [*sorted(folder.glob("*.safetensors")), *sorted(folder.glob("*.json"))]


def _aligned(
    words: WordPairs, fitted: FittedAligner
) -> Iterator[tuple[WordPairs, Ragged, FloatArray]]:
    """Yield the alignments of all pairs of the corpus, chunk by chunk.

    Dropped pairs are removed only now, so that alignments from a file match by line.
    """
    for chunk in words.chunks():
        aligned = fitted.align_training_pairs(chunk)
        is_kept = chunk.source.lengths > 0
        if is_kept.all():
            yield chunk, aligned.links, aligned.confidence
            continue
        source = chunk.source.take(is_kept)
        target = chunk.target.take(is_kept)
        confidence = aligned.confidence[np.repeat(is_kept, aligned.links.lengths)]
        yield (
            replace(chunk, source=source, target=target),
            aligned.links.take(is_kept),
            confidence,
        )


def _progress_of(text: CorpusText) -> Progress:
    """Return a callback that logs a step every ten seconds."""
    last = time.monotonic()

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= 10.0:
            last = time.monotonic()
            log.info("%s: %s, %d of %d", text, what, done, total)

    return progress
