"""Search over decodings whose every probability is known, against looking at everything."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import CheckpointError
from interlace.models import search
from interlace.models.search import TokenConstraints, beam_search, top_k
from little_decodings import END, Little, everything, logprobs_of
from waiting import Waiting

RULES = TokenConstraints(end=END, pad=0, banned_ids=(0,))
PLAIN = 0.0


def firsts(count):
    return torch.full((count,), 2)


def hypotheses(found, row):
    """(subwords, log-probability) of a row, best first."""
    pairs = zip(
        found.ids[row].tolist(),
        found.lengths[row].tolist(),
        found.logprobs[row].tolist(),
        strict=True,
    )
    return [(tuple(ids[:length]), logprob) for ids, length, logprob in pairs if length >= 0]


def divisor(penalty, length):
    return float(length) ** penalty


penalties = st.sampled_from([-1.0, 0.0, 0.6, 1.0, 2.0])


@given(st.integers(0, 10**6), st.lists(st.integers(0, 3), min_size=1, max_size=3), penalties)
@settings(max_examples=40)
def test_an_exhaustive_beam_equals_enumeration(seed, limits, penalty):
    """Four subwords of which one is forbidden and one the end: at most 8 that go on, 15 hypotheses."""
    seeds = [seed + row for row in range(len(limits))]
    args = Little(seeds, 4), firsts(len(limits)), torch.tensor(limits), RULES
    found = beam_search(*args, 15, penalty=penalty)
    for row, limit in enumerate(limits):
        pairs = everything(seeds[row], 4, limit, banned_ids=(0,))
        expected = sorted(pairs, key=lambda pair: -pair[1] / divisor(penalty, len(pair[0]) + 1))
        assert [ids for ids, _ in hypotheses(found, row)] == [ids for ids, _ in expected]
        np.testing.assert_allclose(
            [x for _, x in hypotheses(found, row)], [x for _, x in expected], atol=1e-5
        )


@given(st.integers(0, 10**6), st.integers(0, 6), penalties)
def test_a_beam_of_one_takes_the_likeliest_subword_at_each_step(seed, limit, penalty):
    found = beam_search(Little([seed], 7), firsts(1), torch.tensor([limit]), RULES, 1, penalty)
    said, total = (), 0.0
    while END not in said:
        logprobs = logprobs_of(seed, said, 7)
        following = END if len(said) == limit else 1 + int(logprobs[1:].argmax())
        total += logprobs[following]
        said += (following,)
    [(ids, logprob)] = hypotheses(found, 0)
    assert (*ids, END) == said
    assert logprob == pytest.approx(total, abs=1e-4)


def search_of(width):
    """Beam search by a fixed number of beams; 1 is greedy search."""
    return lambda little, limits: beam_search(
        little, firsts(len(limits)), limits, RULES, width, penalty=PLAIN
    )


@pytest.mark.parametrize("width", [1, 3])
@given(data=st.data())
@settings(max_examples=15)
def test_results_do_not_depend_on_other_rows(width, data):
    """Scores are rounded, so that there are ties: even these fall alike."""
    count = data.draw(st.integers(2, 6))
    limits = torch.tensor(
        data.draw(st.lists(st.integers(0, 7), min_size=count, max_size=count))
    )
    order = torch.tensor(data.draw(st.permutations(range(count))))
    search = search_of(width)
    together = search(Little(order.tolist(), 6, steps=1), limits[order])
    for place, row in enumerate(order.tolist()):
        alone = search(Little([row], 6, steps=1), limits[row : row + 1])
        assert [ids for ids, _ in hypotheses(together, place)] == [
            ids for ids, _ in hypotheses(alone, 0)
        ]


@pytest.mark.parametrize("width", [1, 3])
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 9), min_size=1, max_size=5),
    st.sampled_from([2, 3, 8]),
)
@settings(max_examples=30)
def test_results_do_not_depend_on_how_often_the_device_is_read(width, seed, limits, every):
    """Scores are rounded, so that there are ties."""
    seeds, maximum = [seed + row for row in range(len(limits))], torch.tensor(limits)
    found = []
    for steps in (1, every):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search, "steps_between_reads", lambda _, steps=steps: steps)
            found.append(search_of(width)(Little(seeds, 6, steps=1), maximum))
    for part in ("ids", "lengths", "logprobs"):
        assert torch.equal(getattr(found[0], part), getattr(found[1], part))


@pytest.mark.parametrize("width", [1, 3])
def test_a_step_that_is_not_read_does_not_wait(width, monkeypatch):
    monkeypatch.setattr(search, "steps_between_reads", lambda _: 100)
    waits = Waiting()

    class Steps:
        """Reads of the device before each step."""

        found = ()

        def step(self, tokens):
            self.found = (*self.found, len(waits.found))
            return torch.tensor([[1.0, -9.0, 2.0, 3.0, 4.0]]).repeat(len(tokens), 1)

        def select(self, rows, per_source=1, sources=None):
            assert sources is None or len(self.found) == 8
            return self

    state = Steps()
    with waits:
        search_of(width)(state, torch.tensor([7, 7]))
    assert len(state.found) == 8
    assert len(set(state.found)) == 1


def test_finished_rows_are_not_decoded_further():
    little = Little(list(range(20)), 5)
    found = search_of(1)(little, torch.full((20,), 15))
    lengths = found.lengths[:, 0]
    assert little.walked == [
        int((lengths >= place).sum()) for place in range(int(lengths.max()) + 1)
    ]


@pytest.mark.parametrize("width", [1, 3])
def test_rejects_nan_scores(width):
    class Broken(Little):
        def step(self, tokens):
            return super().step(tokens) * float("nan")

    with pytest.raises(CheckpointError, match="NaN"):
        search_of(width)(Broken([1], 5), torch.tensor([3]))


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=4),
    st.integers(1, 8),
)
def test_ties_prefer_the_first(rows, count):
    values, places = top_k(torch.tensor(rows, dtype=torch.float32), count)
    quick = top_k(torch.tensor(rows, dtype=torch.float32), count, wait=False)
    assert all(map(torch.equal, quick, (values, places)))
    for row, taken, at in zip(rows, values.tolist(), places.tolist(), strict=True):
        assert at == sorted(range(6), key=lambda place: (-row[place], place))[:count]
        assert taken == [row[place] for place in at]
