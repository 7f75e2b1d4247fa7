"""Fast links from word translations near the diagonal: reparameterised IBM model 2 (Dyer, Chahuneau & Smith 2013).

The model of fast_align, but both directions learn in one pass and from each other (`agree`). That lowers the alignment
error by a tenth, and bears more smoothing (`alpha`) and a likelier null word, which lower it by a tenth again. Nearest
to fast_align itself is `agree = false, iterations = 4, alpha = 0.01, null = 0.08`.

Memory grows with the pairs of word types that meet: 36 bytes each while learning, about 70 at the peak, and 18 in the
finished model. Beside the text itself, which may be mapped from files, a sentence pair takes about 40 bytes at most.
Results are the same for any number of threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.aligners import Aligner, Alignments, FittedAligner
from interlace.aligners._arrays import checked
from interlace.aligners._cooccurrence import entries_of, packed
from interlace.aligners._diagonal_corpus import Corpus
from interlace.aligners._diagonal_links import link
from interlace.aligners._diagonal_model import PROBABILITIES, Model
from interlace.aligners._diagonal_training import learn, workers
from interlace.aligners._folding import Fold, Renumbering, Vocabulary
from interlace.aligners._prior import Prior
from interlace.aligners._usable import TOO_LONG, check_usable
from interlace.alignment.symmetrization import Heuristic
from interlace.core.errors import DataError
from interlace.core.progress import no_progress
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from interlace.alignment import WordPairs
    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress


class Diagonal(Aligner):
    """Links by word translation and nearness to the diagonal, learnt by variational EM in both directions."""

    iterations: int = Field(5, ge=1, le=100, description="Passes over the text (fast_align learns from 4).")
    tension: float = Field(
        4.0,
        ge=0.1,
        le=14,
        description="How much links favour the diagonal at first (Dyer et al. 2013, section 2; tool).",
    )
    tension_rate: float = Field(
        1.0,
        ge=0,
        le=100,
        description="Step of the tension's gradient, eight after each pass from the second on (section 3.2; the tool: "
        "20, which overshoots, as links that the diagonal made confirm it); 0: the tension stays.",
    )
    null: float = Field(
        0.12, ge=0, lt=1, description="Probability that a word has no partner, p0 (section 2; fast_align: 0.08)."
    )
    alpha: float = Field(
        0.1,
        gt=0,
        le=100,
        description="Dirichlet prior of each word translation, in links (section 3.1; fast_align: 0.01).",
    )
    agree: bool = Field(
        True,
        description="Both directions learn from the geometric mean of their posteriors (after Liang et al. 2006, who "
        "take the product); false: each from its own, as fast_align.",
    )
    fold: Fold = Field("lower", description="'lower': words are counted without case; 'none': as they are.")
    symmetrization: Heuristic = Field(
        "grow-diag-final-and", description="How the links of both directions are joined (Koehn et al. 2005)."
    )
    prior_weight: float = Field(
        1.0, ge=0, description="Links that each count of a lexicon given as prior stands for, added in every pass."
    )
    threads: int = Field(0, ge=0, description="Threads; 0: one a core. Results do not depend on it.")

    def fit(self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None) -> FittedDiagonal:
        """Learn from all pairs.

        priors: their counts times `prior_weight` are added to the expected links of every pass.

        Raises:
            DataError: no pair has words on both sides.
        """
        check_usable(pairs, self.name)
        source, target = Vocabulary(self.fold), Vocabulary(self.fold)
        corpus = Corpus(pairs, source, target)
        if not corpus.chunks:
            raise DataError(f"{self.name}: all pairs with words on both sides are too long: {TOO_LONG}")
        prior = Prior.of(priors, self.prior_weight, source, target)
        with workers(self.threads) as pool:
            model = learn(self, corpus, prior, pool, progress or no_progress)
        return FittedDiagonal(self, model, source, target)

    def restore(
        self, arrays: Mapping[str, NDArray[Any]], source_types: list[str], target_types: list[str]
    ) -> FittedDiagonal:
        """What `FittedDiagonal.arrays` and `types` gave, usable again.

        Raises:
            DataError: an array is missing, or has another shape than the word lists ask for.
        """
        self._check(arrays, len(source_types), len(target_types))
        sources = np.repeat(np.arange(len(source_types), dtype=np.int32), arrays["degrees"])
        entries = np.stack([sources, arrays["targets"]], axis=1)
        table = packed(entries, len(source_types), PROBABILITIES)
        slots = table.find(entries)
        table.slots["forward"][slots], table.slots["backward"][slots] = arrays["forward"], arrays["backward"]
        nulls = (arrays["source_null"], arrays["target_null"])
        model = Model.of(table, nulls, arrays["tensions"], self.null)
        vocabularies = (Vocabulary(self.fold, source_types), Vocabulary(self.fold, target_types))
        if any(len(own) < len(types) for own, types in zip(vocabularies, (source_types, target_types), strict=True)):
            raise DataError(f"{self.name}: damaged model: a word stands twice in its list")
        return FittedDiagonal(self, model, *vocabularies)

    def _check(self, arrays: Mapping[str, NDArray[Any]], source_types: int, target_types: int) -> None:
        """Arrays are all there and fit together and the words; the compiled loops look nothing over again."""
        checked(arrays, "degrees", np.int32, (source_types,), self.name)
        if arrays["degrees"].min(initial=0) < 0:
            raise DataError(f"{self.name}: damaged model: 'degrees' holds what is no count")
        entries = int(arrays["degrees"].sum(dtype=np.int64))
        checked(arrays, "targets", np.int32, (entries,), self.name)
        if entries and not 0 <= arrays["targets"].min() <= arrays["targets"].max() < target_types:
            raise DataError(f"{self.name}: damaged model: 'targets' names words beyond the {target_types} there are")
        sizes = {"forward": entries, "backward": entries, "source_null": source_types, "target_null": target_types}
        for name, size in {**sizes, "tensions": 2}.items():
            checked(arrays, name, np.float64 if name == "tensions" else np.float32, (size,), self.name)
            if not (np.isfinite(arrays[name]) & (arrays[name] > 0)).all():
                raise DataError(f"{self.name}: damaged model: {name!r} holds what is no probability or tension")


class FittedDiagonal(FittedAligner):
    """Word translations and tensions of both directions."""

    def __init__(self, aligner: Diagonal, model: Model, source: Vocabulary, target: Vocabulary) -> None:
        self.aligner: Diagonal = aligner
        self.model = model
        self._vocabularies = (source, target)

    def align(self, pairs: WordPairs) -> Alignments:
        """Viterbi links of both directions, joined.

        A link's confidence is the geometric mean of its posteriors in both directions. Words that the model does not
        know, or never saw together, are linked by where they stand.
        """
        spellings = (pairs.source_types, pairs.target_types)
        renumber = [Renumbering(*side) for side in zip(spellings, self._vocabularies, strict=True)]
        threads, heuristic = self.aligner.threads, self.aligner.symmetrization
        with workers(threads) as pool:
            parts = [
                link(self.model, renumber[0](chunk.source), renumber[1](chunk.target), heuristic, pool, threads)
                for chunk in pairs.chunks()
            ]
        empty = Alignments(Ragged.of([], width=2), np.zeros(0, np.float32))
        whole = [empty, *parts]
        return Alignments(
            Ragged.concatenate([part.links for part in whole]), np.concatenate([part.confidence for part in whole])
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Probabilities (times a constant) of the type pairs in rows by source type, sorted, and of the null words."""
        entries, slots = entries_of(self.model.starts, self.model.targets)
        return {
            "degrees": np.bincount(entries[:, 0], minlength=len(self._vocabularies[0])).astype(np.int32),
            "targets": entries[:, 1],
            "forward": self.model.forward[slots],
            "backward": self.model.backward[slots],
            "source_null": self.model.source_null,
            "target_null": self.model.target_null,
            "tensions": self.model.tensions,
        }

    def types(self) -> tuple[list[str], list[str]]:
        """The folded spellings that the arrays speak of."""
        return self._vocabularies[0].types, self._vocabularies[1].types
