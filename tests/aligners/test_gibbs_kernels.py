"""The compiled loops of `gibbs` against lists and dictionaries counted anew at each word, with equal random numbers."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.aligners.gibbs import kernels
from interlace.aligners.gibbs.kernels import Found
from interlace.aligners.gibbs.model import SamplerDirection
from interlace.aligners.gibbs.sampler import (
    FERTILITIES,
    MAX_JUMP,
    Cut,
    Sampler,
    SamplerParameters,
    SamplerPriors,
    Side,
    View,
    first_counts,
    tables_of,
)
from interlace.core.ragged import Ragged

UNIT, TYPES, MASK = 1000, (5, 6), (1 << 64) - 1
EMPTY = np.zeros((0, 2), np.int32)


def xorshift(state):
    """Numbers below one with the states that gave them (Marsaglia 2003)."""
    while True:
        state ^= state << 13 & MASK
        state ^= state >> 7
        state ^= state << 17 & MASK
        yield (state >> 40) / (1 << 24), state


def random_rows(rng, pairs=12, types=TYPES, longest=6):
    """Two sides of random words, some of them empty."""
    return [[rng.integers(0, many, rng.integers(0, longest)).tolist() for _ in range(pairs)] for many in types]


def view_of(by, to, extra=EMPTY, types=TYPES):
    cuts = tuple(Cut(np.arange(many, dtype=np.int32), many) for many in types)
    return View.of(Ragged.of(by), Ragged.of(to), cuts, extra)


class SlowSampler:
    """What the compiled sweeps do, slowly: all counts are taken from the links, at every word."""

    def __init__(self, by, to, chosen, to_types, believed):
        self.by, self.to, self.chosen, self.to_types = by, to, chosen, to_types
        self.believed = believed

    def counts(self):
        """In units: by type pair, by drawn type, by type without partner."""
        met = {(b, t) for bs, ts in zip(self.by, self.to, strict=True) for b in bs for t in ts}
        pairs = Counter({entry: 1 + UNIT * self.believed.get(entry, 0) for entry in met | set(self.believed)})
        alone, words = Counter(), Counter()
        for bs, ts, links in zip(self.by, self.to, self.chosen, strict=True):
            for t, i in zip(ts, links, strict=True):
                if i is None:
                    alone[t] += UNIT
                elif i >= 0:
                    pairs[bs[i], t] += UNIT
        for (b, _), count in pairs.items():
            words[b] += count
        return pairs, words, alone

    def weights(self, row, j, model, ahead, fertility, odds):
        """Those of all candidates of one word, whose own link does not count, and that of none."""
        bs, links = self.by[row], self.chosen[row]
        links[j] = -1  # neither linked nor alone
        pairs, words, alone = self.counts()
        before = next((i for i in reversed(links[:j]) if i is not None), -1)
        after = next((i for i in links[j + 1 :] if i is not None), len(bs))
        t, has = self.to[row][j], Counter(links)
        found = []
        for i, b in enumerate(bs):
            weight = pairs[b, t] / words[b]
            weight *= ahead(i - before) * ahead(after - i) if model >= kernels.JUMPS else 1
            weight *= fertility[b, min(has[i], FERTILITIES - 1)] if model == kernels.FERTILITY else 1
            found.append(weight)
        share = odds * (alone[t] + 1) / (sum(alone.values()) + self.to_types)
        return found, share * (len(bs) if model == kernels.WORDS else ahead(after - before))

    def sweep(self, model, ahead, fertility, odds, numbers):
        """Draws all anew; the posteriors of all cells, and the last state."""
        posterior, state = [], 0
        for row, (bs, ts) in enumerate(zip(self.by, self.to, strict=True)):
            for j in range(len(ts) if bs else 0):
                weights, none = self.weights(row, j, model, ahead, fertility, odds)
                point, state = next(numbers)
                self.chosen[row][j] = drawn(weights, none, point)
                posterior += [weight / (sum(weights) + none) for weight in weights]
        return posterior, state

    def jumps(self):
        """Widths between partners of linked words, from before the first to behind the last."""
        paths = [
            [-1, *(i for i in links if i is not None), len(bs)]
            for bs, links in zip(self.by, self.chosen, strict=True)
            if bs and links
        ]
        return Counter(to - at for path in paths for at, to in pairwise(path))

    def fertilities(self):
        """How many words of each type have how many links."""
        found = np.zeros((TYPES[0] + TYPES[1], FERTILITIES), int)
        for bs, links in zip(self.by, self.chosen, strict=True):
            for i, b in enumerate(bs if links else []):
                found[b, min(links.count(i), FERTILITIES - 1)] += 1
        return found


def drawn(weights, none, point):
    """The candidate at a share of the stacked weights, None beyond them."""
    point *= sum(weights) + none
    for i, reached in enumerate(np.cumsum(weights)):
        if point < reached:
            return i
    return None


def generator():
    return np.random.default_rng(3)


def random_tables(rng, by_types, middle):
    jumps = rng.dirichlet(np.ones(2 * MAX_JUMP + 1)).astype(np.float32)
    fertility = rng.gamma(1, 1, (by_types, FERTILITIES)).astype(np.float32) + np.float32(0.01)
    return jumps, tables_of(jumps, fertility, middle, 0.2)


def first_links(rng, by, to):
    def draw(many):
        return None if not many or rng.random() < 0.3 else int(rng.integers(many))

    return [[draw(len(bs)) for _ in ts] for bs, ts in zip(by, to, strict=True)]


def as_array(chosen):
    return np.array([kernels.NONE if i is None else i for links in chosen for i in links], np.int32)


@pytest.mark.parametrize("way", [0, 1], ids=["forward", "backward"])
@pytest.mark.parametrize("model", [kernels.WORDS, kernels.JUMPS, kernels.FERTILITY])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_sweep_draws_and_counts_as_the_slow_sampler(way, model, seed):
    rng = np.random.default_rng(seed)
    sides = random_rows(rng)
    extra = np.array([[4, 5], [0, 1]], np.int32)
    view = view_of(*sides, extra)
    words, entries = ((view.forward, view.entries), (view.backward, view.entries[:, ::-1]))[way]
    by, to = sides[way], sides[1 - way]
    prior = np.zeros(len(entries))
    prior[:2] = 3.0, 0.5
    side = Side(np.ascontiguousarray(entries[:, 0]), TYPES[way], TYPES[1 - way], prior)
    believed = {tuple(entries[0].tolist()): 3, tuple(entries[1].tolist()): 0.5}
    slow = SlowSampler(by, to, first_links(rng, by, to), TYPES[1 - way], believed)
    chosen, middle = as_array(slow.chosen), 8
    counts = first_counts(words, side, chosen, UNIT)
    jumps, tables = random_tables(rng, TYPES[way], middle)
    numbers, state = xorshift(seed + 7), np.uint64(seed + 7)
    for _ in range(3):
        found = Found(
            np.zeros(2 * middle + 1, np.int64), np.zeros((TYPES[way], FERTILITIES), np.int32),
            np.zeros(len(words.cells), np.float32), True,
        )  # fmt: skip
        state = kernels.sweep(words, chosen, counts, tables._replace(model=model), found, np.uint64(state))
        posterior, last = slow.sweep(model, lambda d: jumps[d + MAX_JUMP], tables.fertility, 0.25, numbers)
        assert int(state) == last
        assert chosen.tolist() == as_array(slow.chosen).tolist()
        assert np.allclose(found.posterior, posterior, rtol=1e-4)
        pairs, by_type, alone = slow.counts()
        assert counts.pairs.tolist() == [pairs[tuple(entry)] for entry in entries.tolist()]
        assert counts.words.tolist() == [by_type[b] for b in range(TYPES[way])]
        assert counts.alone.tolist() == [alone[t] for t in range(TYPES[1 - way])]
        assert counts.all_alone.tolist() == [sum(alone.values())]
        assert found.jumps.tolist() == [slow.jumps()[d] for d in range(-middle, middle + 1)]
        assert np.array_equal(found.fertility, slow.fertilities()[: TYPES[way]])


def test_the_probability_of_one_word_by_hand():
    # Two pairs, "a b" - "x y" and "a" - "x". Links: a-x in the second; y has b; x of the first is asked.
    view = view_of([[0, 1], [0]], [[0, 1], [0]], types=(2, 2))
    side = Side(np.ascontiguousarray(view.entries[:, 0]), 2, 2, np.zeros(len(view.entries)))
    chosen = np.array([kernels.NONE, 1, 0], np.int32)
    counts = first_counts(view.forward, side, chosen, 10)
    middle = 4
    jumps = np.full(2 * MAX_JUMP + 1, 0.01, np.float32)
    jumps[MAX_JUMP + 1], jumps[MAX_JUMP + 2], jumps[MAX_JUMP] = 0.5, 0.2, 0.1
    fertility = np.ones((2, FERTILITIES), np.float32)
    fertility[1, 1] = 0.3  # b has a link already
    tables = tables_of(jumps, fertility, middle, 0.2)
    found = Found(np.zeros(9, np.int64), np.zeros((2, FERTILITIES), np.int32), np.zeros(5, np.float32), True)
    kernels.sweep(view.forward, chosen, counts, tables, found, np.uint64(5))
    # p(x|a) = (1 + 10) / (2 + 10), jumps -1 -> 0 -> 1; p(x|b) = 1 / (2 + 10), jumps -1 -> 1 -> 1 and a second link.
    a, b = 11 / 12 * 0.5 * 0.5, 1 / 12 * 0.2 * 0.1 * 0.3
    none = 0.25 * 1 / 2 * 0.2  # of x, which is never alone, by one jump over
    assert found.posterior[:2] == pytest.approx([a / (a + b + none), b / (a + b + none)], rel=1e-5)


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), st.integers(1, 5), st.sampled_from([1.0, 0.1, 1e-4]))
def test_counts_are_always_those_of_the_links(seed, sweeps, alpha):
    rng = np.random.default_rng(seed)
    view = view_of(*random_rows(rng))
    entries = np.ascontiguousarray(view.entries[:, 0])
    side = Side(entries, *TYPES, rng.integers(0, 3, len(entries)).astype(float))
    chain = Sampler(view.forward, side, SamplerPriors(0.2, alpha, 0.5, 0.5), rng)
    learnt = chain.run([sweeps, 1, sweeps + 1], lambda: None)
    again = first_counts(view.forward, side, chain.chosen, round(1 / alpha))
    for own, counted in zip(chain.counts, again, strict=True):
        assert np.array_equal(own, counted)
    assert np.allclose(np.bincount(entries, learnt.pairs, TYPES[0]), learnt.words, rtol=1e-4)
    words = len(view.forward.to)
    linked = learnt.pairs.sum() - (1 / round(1 / alpha)) * len(entries) - side.prior.sum()
    assert linked + learnt.alone.sum() == pytest.approx(words, rel=1e-3)
    longest = max(np.diff(view.forward.by_starts).max(), np.diff(view.forward.to_starts).max())
    possible = learnt.jumps[MAX_JUMP + 1 - longest : MAX_JUMP + 2 + longest]
    assert possible.sum() == pytest.approx(1, rel=1e-4)
    assert ((chain.posterior >= 0) & (chain.posterior <= 1.001)).all()


def test_learnt_things_are_means_over_the_second_half_of_the_last_sweeps():
    view = view_of([[0]] * 4, [[0]] * 4, types=(1, 1))
    chain = Sampler(
        view.forward, Side(np.zeros(1, np.int32), 1, 1, np.zeros(1)), SamplerPriors(0.2, 1.0, 0.5, 0.5), generator()
    )
    states = []
    learnt = chain.run([2, 1, 5], lambda: states.append([part.copy() for part in chain.counts[:3]]))
    last = [np.mean([state[part] for state in states[-2:]], axis=0) for part in range(3)]
    for own, mean in zip((learnt.pairs, learnt.words, learnt.alone), last, strict=True):
        assert own == pytest.approx(mean)
    assert len(states) == 8


def test_counts_take_64_bits_where_links_in_units_pass_32():
    view = view_of([[0]] * 3, [[0]] * 3, types=(1, 1))
    linked = np.zeros(3, np.int32)
    for believed, width in ((0.0, np.int32), (2e5, np.int32), (3e5, np.int64), (1e9, np.int64)):
        counts = first_counts(view.forward, Side(np.zeros(1, np.int32), 1, 1, np.array([believed])), linked, 10_000)
        assert counts.pairs.dtype == width
        assert counts.pairs.tolist() == counts.words.tolist() == [1 + 10_000 * (int(believed) + 3)]


# ---- linking with what was learnt ----


def seed_of(by, to, seed):
    state = seed | 1
    for kind in [*by, *to]:
        state = (state ^ (kind + 2)) * 0x100000001B3 & MASK
    return state | 1


def slow_posterior(by, to, direction, jumps, odds, seed):
    """(J, I) of one pair, from dictionaries."""
    learnt, unseen = direction.parameters, direction.unseen
    seen = dict(zip(map(tuple, direction.entries.tolist()), learnt.pairs.tolist(), strict=True))
    total = learnt.alone.sum() + unseen * len(learnt.alone) + unseen
    links, numbers = [None] * len(to), xorshift(seed_of(by, to, seed))
    out = np.zeros((len(to), len(by)))
    for sweep in range(kernels.BURN + kernels.KEEP):
        model = min(sweep + 1, kernels.FERTILITY)
        for j, t in enumerate(to):
            links[j] = None
            before = next((i for i in reversed(links[:j]) if i is not None), -1)
            after = next((i for i in links[j + 1 :] if i is not None), len(by))
            weights = []
            for i, b in enumerate(by):
                weight = (seen.get((b, t), unseen) / learnt.words[b]) if b >= 0 else unseen / 1.0
                if model >= kernels.JUMPS:
                    weight *= jumps[i - before + MAX_JUMP] * jumps[after - i + MAX_JUMP]
                if model == kernels.FERTILITY and b >= 0:
                    weight *= learnt.fertility[b, min(links.count(i), FERTILITIES - 1)]
                weights.append(weight)
            none = odds * ((learnt.alone[t] + unseen) / total if t >= 0 else unseen / total)
            none *= len(by) if model == kernels.WORDS else jumps[after - before + MAX_JUMP]
            links[j] = drawn(weights, none, next(numbers)[0])
            if sweep >= kernels.BURN:
                out[j] += np.array(weights) / (sum(weights) + none) / kernels.KEEP
    return out


@pytest.mark.parametrize("seed", range(4))
def test_pairs_are_linked_as_the_slow_sampler_does(seed):
    rng = np.random.default_rng(seed)
    by, to = ([[word - 1 for word in row] for row in side] for side in random_rows(rng, types=(6, 7)))
    entries = np.array([(b, t) for b in range(5) for t in range(6) if rng.random() < 0.5], np.int32)
    jumps, tables = random_tables(rng, 5, 8)
    pairs, words, alone = (rng.gamma(1, 3, many).astype(np.float32) for many in (len(entries), 5, 6))
    direction = SamplerDirection(entries, SamplerParameters(pairs, words + 1, alone, jumps, tables.fertility), 0.001)
    sides = Ragged.of(by), Ragged.of(to)
    view = view_of([[0] * len(row) for row in by], [[0] * len(row) for row in to])
    text = view.forward._replace(by=sides[0].values, to=sides[1].values)
    out = np.zeros(len(text.cells), np.float32)
    for rows in ((0, 5), (5, len(by))):
        kernels.add_posteriors(text, rows, direction.known, tables, np.uint64(11), out, 0.5)
    slow = [slow_posterior(*pair, direction, jumps, 0.25, 11).ravel() for pair in zip(by, to, strict=True)]
    assert np.allclose(out, 0.5 * np.concatenate(slow), rtol=1e-3, atol=1e-9)


def test_only_pairs_that_were_linked_are_kept():
    entries = np.array([[0, 0], [0, 1], [1, 0]], np.int32)
    pairs = np.array([0.001, 3.001, 0.501], np.float32)
    rest = (np.ones(2, np.float32),) * 2
    learnt = SamplerParameters(
        pairs, *rest, np.ones(2 * MAX_JUMP + 1, np.float32), np.ones((2, FERTILITIES), np.float32)
    )
    kept = SamplerDirection.of(entries, learnt, 0.001)
    assert kept.entries.tolist() == [[0, 1], [1, 0]]
    assert kept.parameters.pairs.tolist() == pairs[1:].tolist()


# ---- cells ----
