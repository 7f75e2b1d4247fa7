"""MASS: which fragment is hidden, and what the decoder is shown of it; with switched sentences too."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interlace.alignment.phrases import phrase_pairs
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs, Sentences
from interlace.data.vocab import Vocab
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.mass import Mass, draw_spans
from little_seq2seq import NAMED, PLAIN, VOCAB, WORDS, model, sentences, texts

LINE = "the old doctor reads three letters"
ALL_MASKED = {"mask_share": 1, "random_share": 0}
ROTARY = Traits("modernbert", 64)


def made(objective, examples, traits=PLAIN, key=0):
    return objective.batch(examples, objective.prepare(Resources(VOCAB, traits)), 0, np.random.default_rng(key))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.floats(0.01, 1), st.floats(0, 1), st.integers(0, 99))
def test_fragments_are_inside_and_as_long_as_asked(lengths, share, at_edge, seed):
    lengths = np.array(lengths)
    starts, stops = draw_spans(lengths, share, at_edge, np.random.default_rng(seed))
    assert (starts >= 0).all()
    assert (stops <= lengths).all()
    sizes = stops - starts
    assert (abs(sizes - share * lengths)[sizes > 1] <= 0.5 + 1e-9).all()
    assert (sizes[lengths > 0] >= 1).all()


def test_fragments_start_anywhere_and_at_the_edges_as_often_as_asked():
    lengths = np.full(20_000, 10)
    starts, _ = draw_spans(lengths, 0.5, 0.4, generator(Purpose.BATCH, 0))
    shares = np.bincount(starts, minlength=6) / 20_000
    assert shares[[0, 5]] == pytest.approx(0.2 + 0.1, abs=0.01)
    assert shares[1:5] == pytest.approx(0.1, abs=0.01)


def hidden_in(batch, row=0):
    """Where a row that is all masked where it is hidden has its fragment, and whether that ends the sentence."""
    read = texts(batch.inputs["input_ids"])[row].split()[1:-1]
    places = [place for place, word in enumerate(read) if word == "[M]"]
    assert places == list(range(places[0], places[-1] + 1))
    return places, places[-1] == len(read) - 1


@pytest.mark.parametrize("decoder", ["placed", "fragment"])
def test_the_fragment_alone_is_written_and_the_end_where_it_ends_its_sentence(decoder):
    ends = 0
    for key in range(20):
        batch = made(Mass(**ALL_MASKED, decoder=decoder), sentences([LINE]), key=key)
        places, at_end = hidden_in(batch)
        fragment = [LINE.split()[place] for place in places] + ["</s>"] * at_end
        assert len(places) == 3
        assert [WORDS[number] for number in batch.labels] == fragment
        assert texts(batch.extra["decoder_ids"]) == [" ".join(["<2en>", *fragment[:-1]])]
        assert batch.at[1].tolist() == list(range(len(fragment)))
        assert batch.counts == {"mass": len(fragment)}
        assert batch.extra.get("decoder_first") == ([places[0]] if decoder == "placed" else None)
        ends += at_end
    assert 0 < ends < 20


def test_masks_before_the_fragment_put_its_subwords_at_their_places():
    """Figure 1 of the paper: what predicts place i stands in the decoder's column i, and reads place i - 1."""
    for key in range(12):
        batch = made(Mass(**ALL_MASKED, decoder="masked"), sentences([LINE, "the doctor"]), NAMED, key)
        places, at_end = hidden_in(batch)
        first = places[0]
        shown = texts(batch.extra["decoder_ids"])[0].split()
        assert shown == ["<2en>", *["[M]"] * first, *LINE.split()[first : first + 2 + at_end]][: first + 3 + at_end]
        assert batch.at[1][: 3 + at_end].tolist() == list(range(first, first + 3 + at_end))
        assert (batch.extra["decoder_languages"] == 2).all()


def test_places_of_fragments_reach_the_decoder():
    """Two batches that differ in nothing else."""
    batch = made(Mass(**ALL_MASKED), sentences([LINE]), key=1).to(torch.device("cpu"))
    assert batch.extra["decoder_first"].tolist() != [0]
    moved = replace(batch, extra={**batch.extra, "decoder_first": torch.zeros(1, dtype=torch.int64)})
    for family, same in (("bert", False), ("modernbert", True)):
        net = model(family, init_std=0.3)
        one, two = (Mass().loss(net, torch.nn.ModuleDict(), each)["mass"].total.item() for each in (batch, moved))
        assert (one == pytest.approx(two, rel=1e-5)) == same


@pytest.mark.parametrize("decoder", ["placed", "fragment", "masked"])
def test_a_batch_is_charged_for_what_is_read_and_written(decoder):
    rng, longest = np.random.default_rng(0), 40
    mass = Mass(decoder=decoder, max_length=longest)
    for length in (1, 2, 7, 20, longest - 2):
        words = " ".join(rng.choice(LINE.split(), length))
        batch = made(mass, sentences([words] * 50), key=length)
        found = batch.inputs["input_ids"].shape[1] + batch.extra["decoder_ids"].shape[1]
        (charged,) = mass.sentence_costs(np.array([length]))
        assert found <= charged <= found + 8
    assert mass.pair_costs(np.array([20]), np.array([9])).tolist() == mass.sentence_costs(np.array([20])).tolist()


def test_the_encoder_sees_masks_random_subwords_and_some_as_they_are():
    batch = made(Mass(), sentences(["the " * 10] * 400), ROTARY)
    read = batch.inputs["input_ids"][:, 1:-1]
    assert (read == VOCAB.mask).mean() == pytest.approx(0.4, abs=0.02)
    other = (read != VOCAB.mask) & (read != WORDS.index("the"))
    assert other.mean() == pytest.approx(0.05 * 11 / 12, abs=0.01)


def test_an_empty_sentence_has_no_fragment():
    batch = made(Mass(), sentences(["", "the"]), PLAIN)
    assert batch.labels.tolist() == [WORDS.index("the"), VOCAB.end]
    assert batch.at[0].tolist() == [1, 1]


def test_rules_for_phrases_are_refused_where_none_are_moved():
    with pytest.raises(SettingsError, match=r"set code_switched = true too"):
        Mass(code_switching={"max_phrase_length": 3})


@pytest.fixture(scope="module")
def vocab():
    text = ["today the old doctor reads three letters", "heute liest der alte Arzt drei Briefe"]
    return Vocab.learn({"en": text * 5}, size=300).with_target_languages(["en", "de"])


def switched_pairs(vocab, rows):
    source = vocab.encode(["today the old doctor reads three letters"] * rows, language="en")
    target = vocab.encode(["heute liest der alte Arzt drei Briefe"] * rows, language="de")
    links = Ragged.of([[(0, 0), (1, 2), (2, 3), (3, 4), (4, 1), (5, 5), (6, 6)]] * rows, width=2)
    words = np.full(rows, 7)
    return Pairs(source, target, links, phrase_pairs(words, words, links))


def switched(pairs, vocab, objective, key=0):
    prepared = objective.prepare(Resources(vocab, ROTARY))
    return objective.batch(pairs, prepared, 0, np.random.default_rng(key))


def test_a_switched_row_writes_what_stood_in_the_original(vocab):
    """What is left of a row, with its fragment in the place of the masks, is the original but for what was switched."""
    rules = {"source_share": 0, "target_share": 0, "switch_fraction": 0.6}
    pairs = switched_pairs(vocab, 60)
    batch = switched(pairs, vocab, Mass(code_switched=True, code_switching=rules, **ALL_MASKED))
    originals = [vocab.decode(pairs.source.ids[0]).split(), vocab.decode(pairs.target.ids[0]).split()]
    mixed = 0
    for row in range(60):
        ids = batch.inputs["input_ids"][row]
        real = ids[ids != vocab.pad][1:-1]
        hidden = np.flatnonzero(real == vocab.mask)
        assert hidden.tolist() == list(range(hidden[0], hidden[-1] + 1))
        before, after = vocab.decode(real[: hidden[0]]).split(), vocab.decode(real[hidden[-1] + 1 :]).split()
        fragment = vocab.decode(_written(vocab, batch, row)).split()
        language = vocab.tokens(batch.extra["decoder_ids"][row, :1])[0]
        matrix, other = originals if language == "<2en>" else originals[::-1]
        start = next(place for place in range(7) if matrix[place : place + len(fragment)] == fragment)
        left = matrix[:start], matrix[start + len(fragment) :]
        assert len(fragment) >= 3
        foreign = [word for word in before + after if word in other]
        mixed += bool(foreign)
        for found, expected in zip((before, after), left, strict=True):
            assert [word for word in found if word in matrix] == [word for word in expected if word in found]
    assert mixed > 20
    assert set(batch.languages) == {"en", "de"}
    assert sum(batch.languages.values()) == batch.tokens


def test_a_switched_row_that_would_not_fit_stays_as_it_was(vocab):
    rules = {"source_share": 0, "target_share": 0, "switch_fraction": 0.6}
    pairs = switched_pairs(vocab, 200)
    sides = [side.ids[0].tolist() for side in (pairs.source, pairs.target)]
    most = max(map(len, sides)) + 2
    free = _read(vocab, switched(pairs, vocab, _all_masked(rules, 256)))
    batch = switched(pairs, vocab, _all_masked(rules, most))
    long = 0
    for row, (ids, before) in enumerate(zip(_read(vocab, batch), free, strict=True)):
        if len(before) <= most:
            assert ids == before
            continue
        hidden = np.flatnonzero(np.array(ids) == vocab.mask)
        assert ids[1 : hidden[0]] + _written(vocab, batch, row) + ids[hidden[-1] + 1 : -1] in sides
        long += 1
    assert long > 10


def _all_masked(rules, longest):
    return Mass(code_switched=True, code_switching=rules, max_length=longest, **ALL_MASKED)


def _written(vocab, batch, row):
    """The fragment of a row without an end."""
    return [number for number in batch.labels[batch.at[0] == row].tolist() if number != vocab.end]


def _read(vocab, batch):
    return [row[row != vocab.pad].tolist() for row in batch.inputs["input_ids"]]


def test_what_is_switched_is_read_from_pairs_with_phrases(vocab):
    mass = Mass(code_switched=True)
    assert (mass.reads, mass.needs) == (Pairs, {"phrases"})
    assert (Mass().reads, Mass().needs) == (Sentences, frozenset())
    assert Mass(code_switched=True, code_switching={"target_choice": "table_argmax"}).needs == {"phrases", "known"}
    with pytest.raises(DataError, match="have no phrases"):
        switched(replace(switched_pairs(vocab, 2), phrases=None), vocab, mass)
