"""A few linked pairs of each corpus, for the reports of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.data.parallel import ParallelCorpus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace.core.ragged import Ragged
    from interlace.data.aligned import WordAlignments
    from interlace.experiments.prepare import AnyCorpus

_LOOKED_AT = 1000  # pairs, from the first on
_FEWEST, _MOST = 5, 14  # words of a side that make a picture worth drawing, and one that can be read


def sample_links(corpora: Mapping[str, AnyCorpus], pairs: int = 2) -> list[dict[str, Any]]:
    """Words, links and confidences of the first pairs of middling length; nothing of corpora without links."""
    found = {
        name: corpus.aligned
        for name, corpus in corpora.items()
        if isinstance(corpus, ParallelCorpus) and corpus.aligned is not None
    }
    return [sample for name, aligned in found.items() for sample in _samples(name, aligned, pairs)]


def _samples(name: str, aligned: WordAlignments, pairs: int) -> list[dict[str, Any]]:
    source, target = aligned.words(np.arange(min(len(aligned), _LOOKED_AT)))
    rows = _chosen(source, target, pairs)
    links = aligned.take(rows)
    return [
        {
            "corpus": name,
            "source": [aligned.types[0][word] for word in source[row]],
            "target": [aligned.types[1][word] for word in target[row]],
            "links": links.links[number].tolist(),
            "confidence": [round(sure, 3) for sure in links.confidence[number].tolist()],
        }
        for number, row in enumerate(rows.tolist())
    ]


def _chosen(source: Ragged, target: Ragged, pairs: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The first rows of middling length; of a text that has too few, those nearest to it."""
    lengths = np.stack([source.lengths, target.lengths])
    off = (np.maximum(_FEWEST - lengths, 0) + np.maximum(lengths - _MOST, 0)).sum(axis=0)
    return np.sort(np.argsort(off, kind="stable")[:pairs])
