"""`gibbs`, the default aligner: what it finds, on odd input, in any split of the work."""

import time
from threading import current_thread

import numpy as np
import pytest

from interlace.aligners import Alignments
from interlace.aligners.gibbs import Gibbs, sampler
from interlace.core.ragged import Ragged
from little_pairs import HOUSE, check_alignments, pairs_of, random_pairs

CROSSED = [("haus das", "the house"), ("buch ein", "a book")]


def equal(one, other):
    return one.links == other.links and np.array_equal(one.confidence, other.confidence)


@pytest.fixture(scope="module")
def house():
    return Gibbs().fit(pairs_of(HOUSE * 4))


def test_translations_outweigh_order():
    lines = [*HOUSE * 4, *CROSSED * 2]
    fitted = Gibbs().fit(pairs_of(lines))
    for aligned in (
        fitted.align_training_pairs(pairs_of(lines)),
        fitted.align(pairs_of(lines)),
    ):
        assert aligned.links.to_lists()[20:] == [[[0, 1], [1, 0]]] * 4


def test_unknown_words_are_linked_by_position_and_case_is_folded(house):
    found = house.align(pairs_of([("das flugzeug", "the plane"), ("DAS HAUS", "The House")]))
    assert found.links.to_lists() == [[[0, 0], [1, 1]]] * 2
    assert Gibbs().fit(pairs_of([("Das das", "The the")] * 3)).types() == (["das"], ["the"])


def test_results_depend_on_the_seed(monkeypatch):
    pairs = random_pairs(120)
    # only for 0 threads
    monkeypatch.setattr("interlace.alignment.symmetrization.processors", None)
    first, second = (
        Gibbs(threads=1, sweeps=0.1, seed=seed, symmetrization="union").fit(pairs).align(pairs)
        for seed in (0, 1)
    )
    assert not equal(first, second)


def test_links_of_a_pair_do_not_depend_on_other_pairs(monkeypatch):
    fitted = Gibbs(sweeps=0.1).fit(random_pairs(100))
    new = pairs_of(
        [(" ".join(["s1", "s2"] * 150), "t1 t2"), *[("s1 s2 s99 s3", "t2 t1 t3 t98")] * 2]
    )
    whole = fitted.align(new)
    assert whole.links[1].tolist() == whole.links[2].tolist()
    assert fitted.align(new.slice(2, 3)).links == whole.links.slice(2, 3)
    monkeypatch.setattr(sampler, "_MAX_PORTION", 20)
    assert equal(fitted.align(new), whole)


def test_repeated_alignment_of_new_pairs_gives_equal_confidences():
    pairs = random_pairs(60, seed=1)
    fitted = Gibbs(sweeps=0.1).fit(random_pairs(100))
    alignments = fitted.align(pairs)
    for _ in range(9):
        assert equal(fitted.align(pairs), alignments)


def test_progress_reaches_its_end_and_an_interrupt_stops_all_samplers():
    seen = []
    Gibbs(threads=2, sweeps=0.01).fit(pairs_of(HOUSE), progress=lambda *news: seen.append(news))
    assert seen == [("sampling", done, len(seen)) for done in range(1, len(seen) + 1)]
    # the error comes out whichever sampler met it, and whichever is waited for
    for stops_in in ("_0", "_1"):
        told = []

        def interrupted(what, done, steps, name=stops_in, told=told):
            told.append(steps)
            if current_thread().name.endswith(name):
                raise KeyboardInterrupt
            time.sleep(0.01)

        with pytest.raises(KeyboardInterrupt):
            Gibbs(threads=2, sweeps=2).fit(pairs_of(HOUSE * 4), progress=interrupted)
        assert len(told) < told[0] / 4


def test_a_large_text_is_trained_on_in_parts_and_aligned_whole():
    pairs = random_pairs(600)
    in_parts = Gibbs(max_training_cells=3_000, sweeps=0.2).fit(pairs)
    aligned = in_parts.align_training_pairs(pairs)
    check_alignments(aligned, pairs)
    assert equal(aligned, in_parts.align(pairs))
    shorter_sides = np.minimum(pairs.source.lengths, pairs.target.lengths)
    assert len(aligned.links.flat) > 0.7 * shorter_sides.clip(max=8).sum()
    whole = Gibbs(sweeps=0.2).fit(pairs)
    assert not equal(whole.align_training_pairs(pairs), whole.align(pairs))  # drawn in training


def test_evidence_decides_where_the_text_tells_nothing():
    """Every word occurs once, and the order of the translations is random."""
    rng = np.random.default_rng(0)
    words = np.arange(4)
    lines = []
    links = []
    for number in range(200):
        order = rng.permutation(words)
        lines.append(
            tuple(" ".join(f"{side}{number}.{word}" for word in words) for side in "st")
        )
        links.append(sorted(zip(words.tolist(), order.tolist(), strict=True)))
    pairs = pairs_of(lines)
    expected = Ragged.of(links, width=2)
    evidence = Alignments(expected, np.full(800, 0.9, np.float32))
    whole = Gibbs(sweeps=0.2).fit(pairs, evidence=evidence)
    assert whole.align_training_pairs(pairs).links == expected
    in_parts = Gibbs(max_training_cells=1_000, sweeps=0.2).fit(pairs, evidence=evidence)
    assert in_parts.align(pairs, evidence).links == expected
    assert whole.align(pairs.slice(50, 60), evidence.take(np.arange(50, 60))).links == (
        expected.slice(50, 60)
    )


def test_words_of_an_early_part_that_were_never_linked_are_aligned_as_unknown():
    """Their types have no pair in the last part, so their probabilities would be divided by zero links."""
    lines = HOUSE * 80
    early = [
        (f"{source} rare{number}", target) for number, (source, target) in enumerate(lines[:20])
    ]
    pairs = pairs_of([*early, *lines[20:]])
    fitted = Gibbs(max_training_cells=1_000, sweeps=0.2).fit(pairs)
    check_alignments(fitted.align(pairs), pairs)


def test_sweeps_fall_with_the_root_of_the_pairs_and_the_first_models_take_less():
    assert Gibbs().sweeps_for(10_000) == [6, 6, 25]
    assert Gibbs(sweeps=1).sweeps_for(1_000_000) == [2, 1, 5]
    assert Gibbs(sweeps=0.01).sweeps_for(1_000_000) == [2, 1, 2]
