"""Procrustes: map each language onto the pivot by a dictionary, then refine (Conneau et al. 2018, section 2.2)."""

from typing import ClassVar

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.core.progress import Progress
from interlace.embeddings import EmbeddingSources
from interlace.embeddings.common.mapping import MappedPair, MappingMethod, Start


class Procrustes(MappingMethod):
    """The supervised counterpart of MUSE: the initial rotation comes from a dictionary."""

    needs: ClassVar[frozenset[str]] = frozenset({"dictionaries"})

    def start(self, pair: MappedPair, sources: EmbeddingSources, progress: Progress) -> Start:  # noqa: ARG002
        """Map by a dictionary in either direction; raise a DataError if no entry has both vectors."""
        known, source, target = sources.dictionaries, pair.source, pair.target
        if (source.language, target.language) in known:
            lexicon = known[source.language, target.language]
        elif (target.language, source.language) in known:
            lexicon = known[target.language, source.language].reversed()
        else:
            pairs = listed("-".join(pair) for pair in known) or "none"
            names = f"{source.language!r} and {target.language!r}"
            raise DataError(f"procrustes: no dictionary of {names}; there are: {pairs}")
        rows = source.find(lexicon.source_types, fold=True)[lexicon.entries[:, 0]]
        others = target.find(lexicon.target_types, fold=True)[lexicon.entries[:, 1]]
        found = (rows >= 0) & (others >= 0)
        if not found.any():
            raise DataError(
                f"procrustes: none of {len(lexicon)} entries of the dictionary of {source.language!r} and "
                f"{target.language!r} has a vector for both words; is it a dictionary of these languages?"
            )
        return pair.refine(pair.solve(rows[found], others[found])), {"entries": int(found.sum())}
