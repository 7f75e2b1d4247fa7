"""Procrustes: map each language onto the pivot by a dictionary, then refine (Conneau et al. 2018, section 2.2)."""

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.core.progress import Progress
from interlace.embeddings import EmbeddingSources
from interlace.embeddings.common.mapping import MappedPair, MappingMethod, Start


class Procrustes(MappingMethod):
    """The supervised counterpart of MUSE: the initial rotation comes from a dictionary."""

    needs = frozenset({"dictionaries"})

    def start(self, pair: MappedPair, sources: EmbeddingSources, progress: Progress) -> Start:  # noqa: ARG002
        """Map by a dictionary in either direction; raise a DataError if no entry has both vectors."""
        source = pair.source
        target = pair.target
        names = f"{source.language!r} and {target.language!r}"
        lexicon = sources.dictionaries.get((source.language, target.language))
        reversed_lexicon = sources.dictionaries.get((target.language, source.language))
        if lexicon is None and reversed_lexicon is not None:
            lexicon = reversed_lexicon.reversed()
        if lexicon is None:
            pairs = listed("-".join(languages) for languages in sources.dictionaries) or "none"
            raise DataError(f"procrustes: no dictionary of {names}; there are: {pairs}")
        # of each entry; -1: none
        source_rows = source.find(lexicon.source_types, fold=True)[lexicon.entries[:, 0]]
        target_rows = target.find(lexicon.target_types, fold=True)[lexicon.entries[:, 1]]
        has_vectors = (source_rows >= 0) & (target_rows >= 0)
        if not has_vectors.any():
            raise DataError(
                f"procrustes: none of {len(lexicon)} entries of the dictionary of {names} has a vector for both "
                "words; is it a dictionary of these languages?"
            )
        rotation = pair.solve(source_rows[has_vectors], target_rows[has_vectors])
        return Start(pair.refine(rotation), {"entries": int(has_vectors.sum())})
