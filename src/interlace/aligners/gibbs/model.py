"""The trained model of `gibbs`: the parameters of all samplers, posteriors of new pairs, and links from posteriors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from interlace.aligners import SMALLEST, Alignments, checked_array
from interlace.aligners.gibbs import kernels
from interlace.aligners.gibbs.kernels import ALPHA, FERTILITY, Known, Tables, Words
from interlace.alignment.links import reverse_links, select_links
from interlace.alignment.pair_numbers import PairTable
from interlace.core.ragged import AnyArray, Arrays, FloatArray, Int32Array, IntArray, Ragged

MAX_JUMP = 100  # longer jumps are counted as this one
FERTILITIES = 10  # number of links from which the fertility ratio is constant
NULL = 0.2  # probability of an unaligned word (Östling and Tiedemann 2016)
UNKNOWN_LINKS = 1.0  # an unknown word is treated like one that was linked once, to another word
# Evidence of a link multiplies its weight by EVIDENCE * confidence ** 2: the geometric mean of the probabilities of
# both directions gives their product. Example: .9 gives 24, .2 gives 1.2, .03 and less .027.
EVIDENCE = 30.0
MIN_EVIDENCE = 0.03  # confidence of all other links
_ROWS = 100  # pairs per task of a thread
_SEED = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Cut:
    """A map from the types of a vocabulary to those of a view. numbers: (types,) int32. size: types of the view."""

    numbers: Int32Array
    size: int

    @classmethod
    def of(cls, spellings: Sequence[str], letters: int) -> Cut:
        """Map each spelling to its first `letters` letters; 0: the whole spelling."""
        numbers = np.empty(len(spellings), np.int32)
        seen: dict[str, int] = {}
        for number, spelling in enumerate(spellings):
            word = spelling[:letters] if letters else spelling
            numbers[number] = seen.setdefault(word, len(seen))
        return cls(numbers, len(seen))

    def __call__(self, types: Int32Array) -> Int32Array:
        """(n,) types of the view; unknown types remain -1."""
        if not self.size:
            return np.full(len(types), -1, np.int32)
        return np.where(types < 0, np.int32(-1), self.numbers[types])


Cuts = tuple[Cut, Cut]  # of source and target
# of the cells of both directions, see `evidence_factors`
Factors = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class SamplerModel:
    """What one sampler learned, averaged over its last sweeps; counts are in links and include the prior.

    cuts: of the drawn and of the drawing side.
    entries: (m, 2) int32 drawn and drawing type of the pairs that were ever linked or are in the prior.
    pairs: (m,) by entry. words: (types,) by drawn type. alone: (types,) words without partner, by drawing type.
    jumps: (2 * MAX_JUMP + 1,) probabilities. fertility: (types, FERTILITIES) as `Tables.fertility`.
    """

    cuts: Cuts
    entries: Int32Array
    pairs: FloatArray
    words: FloatArray
    alone: FloatArray
    jumps: FloatArray
    fertility: FloatArray

    @classmethod
    def restore(
        cls, arrays: Mapping[str, AnyArray], prefix: str, cuts: Cuts, where: str
    ) -> SamplerModel:
        """Rebuild a sampler's model from `arrays`, or raise a DataError."""
        drawn = cuts[0].size
        drawing = cuts[1].size
        entry_count = np.size(arrays.get(f"{prefix}.entries", ())) // 2
        entries = checked_array(
            arrays,
            f"{prefix}.entries",
            np.int32,
            (entry_count, 2),
            where,
            0,
            (drawn - 1, drawing - 1),
        )
        shapes = {
            "pairs": (entry_count,),
            "words": (drawn,),
            "alone": (drawing,),
            "jumps": (2 * MAX_JUMP + 1,),
            "fertility": (drawn, FERTILITIES),
        }
        restored = {}
        for name, shape in shapes.items():
            low = 0 if name == "alone" else SMALLEST  # divisors and factors are positive
            restored[name] = checked_array(
                arrays, f"{prefix}.{name}", np.float32, shape, where, low
            )
        return cls(cuts, entries, **restored)

    def arrays(self, prefix: str) -> Arrays:
        """Return all that `restore` needs besides the cuts, which follow from the word types."""
        names = ("entries", "pairs", "words", "alone", "jumps", "fertility")
        return {f"{prefix}.{name}": getattr(self, name) for name in names}

    @cached_property
    def known(self) -> Known:
        """The parameters in the form of the kernels."""
        links = np.append(np.float32(ALPHA), self.pairs)
        alone = self.alone + np.float32(ALPHA)
        total = float(alone.sum(dtype=np.float64)) + ALPHA
        shares_alone = alone / np.float32(total)
        table = PairTable.of(self.entries)
        return Known(table, links, self.words, shares_alone, UNKNOWN_LINKS, ALPHA / total)


def evidence_factors(evidence: Alignments | None, source: Ragged, target: Ragged) -> Factors:
    """(cells,) the factors of target words that draw, and of source words that draw; empty without evidence."""
    if evidence is None:
        return np.empty(0, np.float32), np.empty(0, np.float32)
    starts = cell_starts(source, target)
    rows = evidence.links.rows()
    source_words, target_words = evidence.links.flat.T
    confidence = np.maximum(evidence.confidence, MIN_EVIDENCE)
    by_target = np.full(starts[-1], EVIDENCE * MIN_EVIDENCE**2, np.float32)
    by_source = by_target.copy()
    cells = starts[rows] + target_words * source.lengths[rows] + source_words
    by_target[cells] = EVIDENCE * confidence**2
    cells = starts[rows] + source_words * target.lengths[rows] + target_words
    by_source[cells] = EVIDENCE * confidence**2
    return by_target, by_source


def words_of(by: Ragged, to: Ragged, cuts: Cuts) -> Words:
    """Return a text of drawn and drawing words for the kernels, without the arrays that only training needs."""
    by_types = cuts[0](by.values)
    to_types = cuts[1](to.values)
    no_cells = np.empty(0, np.uint32)
    no_twins = np.empty(0, np.int32)
    no_evidence = np.empty(0, np.float32)
    starts = cell_starts(by, to)
    return Words(
        by_types, by.offsets, to_types, to.offsets, no_cells, starts, no_twins, no_evidence
    )


@dataclass(frozen=True)
class Posteriors:
    """Posterior probabilities of each cell of a text: of target words drawing, and of source words drawing.

    source_starts, target_starts: (n + 1,) the first word of each pair; cell_starts: its first cell.
    by_target: (cells,) rows by target word; by_source: (cells,) rows by source word.
    """

    source_starts: IntArray
    target_starts: IntArray
    cell_starts: IntArray
    by_target: FloatArray
    by_source: FloatArray

    @cached_property
    def mean(self) -> FloatArray:
        """(cells,) the mean of both directions, rows by source word."""
        mean = np.empty_like(self.by_target)
        kernels.transpose(
            self.source_starts,
            self.target_starts,
            self.cell_starts,
            self.by_target.view(np.uint32),  # one kernel for all values of 32 bits
            mean.view(np.uint32),
        )
        mean += self.by_source
        mean *= np.float32(0.5)
        return mean


def posteriors_of(
    models: Sequence[SamplerModel],
    seed: int,
    source: Ragged,
    target: Ragged,
    pool: ThreadPoolExecutor,
    evidence: Alignments | None = None,
) -> Posteriors:
    """Return the posterior probability of each link of a new text.

    Rows begin at offset 0; their types are those of the vocabularies, -1 for unknown words.
    models: of the forward and the backward sampler of each view. evidence: links of another aligner.
    """
    starts = cell_starts(source, target)
    middle = int(max(source.lengths.max(initial=0), target.lengths.max(initial=0))) + 2
    posteriors = (np.zeros(starts[-1], np.float32), np.zeros(starts[-1], np.float32))  # by cell
    share = 2 / len(models)
    samplers = []
    factors = evidence_factors(evidence, source, target)
    for number, model in enumerate(models):
        by, to = (target, source) if number % 2 else (source, target)
        tables = tables_of(model.jumps, model.fertility, middle)
        words = words_of(by, to, model.cuts)._replace(evidence=factors[number % 2])
        samplers.append((words, model.known, tables))

    def align(first: int) -> None:
        rows = (first, min(first + _ROWS, len(source)))
        for number, sampler in enumerate(samplers):
            sampler_seed = np.uint64((2 * seed + 1) * _SEED + number & 0xFFFFFFFFFFFFFFFF)
            of_way = posteriors[number % 2]
            kernels.add_posteriors(*sampler, rows, sampler_seed, of_way, share)

    list(pool.map(align, range(0, len(source), _ROWS)))
    return Posteriors(source.offsets, target.offsets, starts, *posteriors)


def cell_starts(source: Ragged, target: Ragged) -> IntArray:
    """(n + 1,) the first cell of each pair."""
    starts = np.zeros(len(source) + 1, np.int64)
    np.cumsum(source.lengths * target.lengths, out=starts[1:])
    return starts


def tables_of(jumps: FloatArray, fertility: FloatArray, middle: int) -> Tables:
    """Return tables for pairs of fewer than `middle` words."""
    ahead = jumps[clipped_widths(middle)]
    return Tables(ahead, ahead[::-1].copy(), middle, fertility, NULL / (1 - NULL), FERTILITY)


def clipped_widths(middle: int) -> IntArray:
    """(2 * middle + 1,) the index in (2 * MAX_JUMP + 1,) counts of each jump by -middle to middle words."""
    return np.clip(np.arange(-middle, middle + 1), -MAX_JUMP, MAX_JUMP) + MAX_JUMP


def links_of(
    posteriors: Posteriors, symmetrization: str, threshold: float, threads: int = 0
) -> Alignments:
    """Return the links whose mean posterior of both directions reaches the threshold (`symmetrization`: "posterior").

    With a heuristic: the most probable partner of each word, if more probable than none, of both directions.
    threads: of the heuristic; 0: one per processor.
    """
    source = posteriors.source_starts
    target = posteriors.target_starts
    starts = posteriors.cell_starts
    target_lengths = np.diff(target)
    if symmetrization == "posterior":
        cells = np.flatnonzero(posteriors.mean >= np.float32(threshold))
        rows = np.searchsorted(starts, cells, side="right") - 1
        words = np.divmod(cells - starts[rows], target_lengths[rows])
        likely_links = np.stack(words, axis=1).astype(np.int32)
        lengths = np.bincount(rows, minlength=len(starts) - 1)
        confidence = np.minimum(posteriors.mean[cells], np.float32(1))
        return Alignments(Ragged.from_lengths(likely_links, lengths), confidence)
    from interlace.alignment.symmetrization import symmetrize

    forward = reverse_links(_most_probable(source, target, starts, posteriors.by_target))
    backward = _most_probable(target, source, starts, posteriors.by_source)
    links = symmetrize(forward, backward, symmetrization, threads or None)
    rows = links.rows()
    source_words, target_words = links.flat.T
    cells = starts[rows] + source_words * target_lengths[rows] + target_words
    confidence = np.clip(posteriors.mean[cells], np.float32(1e-6), np.float32(1))
    return Alignments(links, confidence)


def _most_probable(
    by: IntArray,
    to: IntArray,
    starts: IntArray,
    posterior: FloatArray,
) -> Ragged:
    """Return rows of (drawing word, drawn word), sorted; `by` and `to` are the first words of each pair."""
    chosen = np.full(to[-1], -1, np.int32)
    kernels.most_probable(by, to, starts, posterior, chosen)
    words = Ragged(chosen, to)
    pairs = Ragged(np.stack([words.columns(), chosen], axis=1).astype(np.int32), to)
    return select_links(pairs, chosen >= 0)
