"""WEAM: figure 1 worked by hand, the equations, TLM as lambda = 0, and the sparse exchange of states."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from interlace.alignment.subwords import EXPANSIONS, to_subwords
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.layout import pair_layout
from interlace.models.backbone import Backbone
from interlace.models.build import from_shape
from interlace.models.families import Traits
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.common.links import one_to_one
from interlace.objectives.common.losses import weighted_sums
from interlace.objectives.tlm import Tlm
from interlace.objectives.weam import Weam, exchange_states
from interlace.training.loop import TrainingModel

WORDS = "<pad> </s> <s> <mask> i like green apples ich mag grüne Äpfel gern".split()
ID = {word: number for number, word in enumerate(WORDS)}
VOCAB = SimpleNamespace(
    pad=0, begin=ID["<s>"], end=ID["</s>"], mask=ID["<mask>"], size=len(WORDS), separator_ids=(),
    special_ids=np.arange(4), regular_ids=np.arange(4, len(WORDS)), save_files=lambda folder: None,
)  # fmt: skip
PLAIN = Traits("bert", 64)
CPU = torch.device("cpu")


def side(text, language):
    ids = Ragged.of([[ID[word] for word in text.split()]])
    return Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), language)


#   0   1 2    3     4      5   6   7     8     9    10
#  <s>  i like green apples ich mag grüne Äpfel gern </s>          like is linked with "mag" and "gern"
LINKS = Ragged.of([[(0, 0), (1, 1), (1, 4), (2, 2), (3, 3)]], width=2)
FIGURE = Pairs(side("i like green apples", "en"), side("ich mag grüne Äpfel gern", "de"), LINKS)


def all_masked(**settings):
    return Weam(masking={"rate": 1, "mask_share": 1, "random_share": 0}, **settings)


def make(weam, masked="like green grüne", traits=PLAIN, pairs=FIGURE):
    """Every predictable word is masked, and these are: the partners of like are seen, the other two are partners."""
    hidden = [ID[word] for word in masked.split()]
    vocab = SimpleNamespace(**{**vars(VOCAB), "special_ids": np.setdiff1d(np.arange(len(WORDS)), hidden)})
    return weam.batch(pairs, weam.prepare(Resources(vocab, traits)), 0, np.random.default_rng(0))


def swaps(batch):
    """Predicted word -> the columns whose states predict it, with their weights."""
    found = {WORDS[label]: {} for label in batch.labels[batch.extra["which"]]}
    for to, place, weight in zip(*(batch.extra[key] for key in ("to", "places", "weights")), strict=True):
        found[WORDS[batch.labels[batch.extra["which"][to]]]][int(place)] = pytest.approx(float(weight))
    return found


def test_figure_one_with_a_masked_partner():
    batch = make(all_masked())
    shown = [WORDS[i] for i in batch.inputs["input_ids"][0]]
    assert shown == "<s> i <mask> <mask> apples ich mag <mask> Äpfel gern </s>".split()
    assert [WORDS[i] for i in batch.labels] == ["like", "green", "grüne"]
    assert swaps(batch) == {"like": {6: 0.5, 9: 0.5}, "green": {7: 1.0}, "grüne": {3: 1.0}}
    assert batch.counts == {"multilingual": 3, "cross_lingual": 3, "aligned_share": 3}
    assert batch.extra["aligned"] == 3


def test_a_masked_partner_may_be_forbidden():
    batch = make(all_masked(exclude_masked_partners=True))
    assert swaps(batch) == {"like": {6: 0.5, 9: 0.5}}
    assert batch.counts == {"multilingual": 3, "cross_lingual": 1, "aligned_share": 3}


def test_the_three_ways_to_join_several_partners():
    assert swaps(make(all_masked(normalization="sum")))["like"] == {6: 1.0, 9: 1.0}
    assert sorted(swaps(make(all_masked(normalization="one_to_one")))) == ["green", "grüne"]
    sure = Pairs(FIGURE.source, FIGURE.target, LINKS, confidence=Ragged.of([[1, 0.9, 0.4, 1, 1]], np.float32))
    weam = all_masked(normalization="one_to_one")
    assert swaps(make(weam, pairs=sure))["like"] == {6: 1.0}


def test_all_masked_positions_are_predicted_in_the_literal_reading():
    literal = all_masked(positions="all_masked", exclude_masked_partners=True)
    assert swaps(make(literal)) == {"like": {6: 0.5, 9: 0.5}, "green": {}, "grüne": {}}
    assert make(literal).counts == {"multilingual": 3, "cross_lingual": 3, "aligned_share": 3}
    assert make(literal).extra["aligned"] == 1
    assert make(all_masked(average="masked", exclude_masked_partners=True)).counts["cross_lingual"] == 3


def test_the_rate_is_the_papers():
    assert Weam().masking.rate == "0.3"
    assert Weam(masking={"unit": "word"}).masking.rate == "0.3"
    assert Weam(masking={"rate": 0.2}).masking.rate == "0.2"
    assert (Weam().masking.mask_share, Weam().masking.random_share) == (0.8, 0.1)


@pytest.fixture
def backbone():
    return from_shape(Shape(layers=1, width=16, heads=2, max_length=32, dropout=0.0, attention_dropout=0.0), VOCAB)


def test_losses_are_those_of_the_equations(backbone):
    weam = all_masked()
    batch, heads = make(weam).to(CPU), weam.modules(backbone)
    with torch.no_grad():
        heads["exchanged"].weight.add_(0.1 * torch.randn(16, 16))
        heads["dense"].bias.add_(torch.randn(16))
        terms = weam.loss(backbone, heads, batch)
        states = backbone.encode(batch.inputs)[0]
        swapped = torch.stack([(states[6] + states[9]) / 2, states[7], states[3]])  # like, green, grüne
        head = backbone.model.cls.predictions
        changed = torch.nn.functional.gelu(heads["dense"](heads["exchanged"](swapped)))
        scores = head.decoder(head.transform.LayerNorm(changed))
        own = backbone.logits(states[[2, 3, 7]])
    labels = torch.tensor([ID["like"], ID["green"], ID["grüne"]])
    assert terms["multilingual"].total.item() == pytest.approx(cross_entropy(own, labels, reduction="sum").item())
    assert terms["cross_lingual"].total.item() == pytest.approx(cross_entropy(scores, labels, reduction="sum").item())
    assert (terms["cross_lingual"].weight, terms["aligned_share"].weight) == (1.0, 0.0)
    assert terms["aligned_share"].total == 3


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_at_first_exchanged_states_are_read_by_the_checkpoints_own_head(family):
    backbone = from_shape(Shape(family=family, layers=1, width=16, heads=2, max_length=32, dropout=0.0), VOCAB).eval()
    weam = all_masked()
    batch = make(weam, masked="green grüne").to(CPU)  # green and grüne, each other's partner
    total = weam.loss(backbone, weam.modules(backbone), batch)["cross_lingual"].total
    states = backbone.encode(batch.inputs)[0]
    wanted = cross_entropy(backbone.logits(states[[7, 3]]), batch.labels, reduction="sum")
    torch.testing.assert_close(total, wanted)


def test_a_head_without_a_dense_layer_reads_what_w2_gives():
    config = transformers.XLMConfig(
        n_words=len(WORDS), emb_dim=16, n_layers=1, n_heads=2, n_langs=1, pad_index=0, pad_token_id=0, mask_token_id=3
    )
    backbone = Backbone(transformers.XLMWithLMHeadModel(config).eval())
    weam = all_masked()
    heads, batch = weam.modules(backbone), make(weam, masked="green grüne", traits=backbone.traits).to(CPU)
    assert list(heads) == ["exchanged"]
    with torch.no_grad():
        heads["exchanged"].weight.mul_(2)
    states = backbone.encode(batch.inputs)[0]
    wanted = cross_entropy(backbone.logits(2 * states[[7, 3]]), batch.labels, reduction="sum")
    torch.testing.assert_close(weam.loss(backbone, heads, batch)["cross_lingual"].total, wanted)


def test_with_lambda_0_it_is_tlm(backbone):
    weam, tlm = Weam(cross_lingual_weight=0), Tlm(masking={"rate": 0.3}, reset_positions=False)
    batches = [
        objective.batch(FIGURE, objective.prepare(Resources(VOCAB, PLAIN)), 0, np.random.default_rng(3))
        for objective in (weam, tlm)
    ]
    for one, other in zip(batches[0].inputs.values(), batches[1].inputs.values(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert list(batches[0].counts.values()) == list(batches[1].counts.values())
    assert len(weam.modules(backbone)) == 0
    losses = [
        [term.total.item() for term in objective.loss(backbone, objective.modules(backbone), batch.to(CPU)).values()]
        for objective, batch in zip((weam, tlm), batches, strict=True)
    ]
    assert losses[0] == losses[1]
    assert losses[0][0] > 0


@pytest.mark.parametrize("literal", [False, True])
def test_batches_without_any_aligned_prediction_have_gradients(backbone, literal):
    weam = all_masked(positions="all_masked" if literal else "masked_and_aligned")
    bare = Pairs(FIGURE.source, FIGURE.target, Ragged.of([[]], width=2))
    batch = make(weam, pairs=bare)
    assert batch.counts["cross_lingual"] == (3 if literal else 0)
    heads = weam.modules(backbone)
    terms = weam.loss(backbone, heads, batch.to(CPU))
    sum(term.weight * term.total for term in terms.values()).backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in heads.parameters())  # none is unused


def test_extra_layers_are_trained_and_not_exported(backbone, tmp_path):
    learning = TrainingModel(backbone, {"weam": Weam()}, seed=0)
    names = [name for name, _ in learning.named_parameters() if name.startswith("heads.")]
    assert names == [f"heads.weam.{layer}.{part}" for layer in ("exchanged", "dense") for part in ("weight", "bias")]
    before = set(backbone.model.state_dict())
    backbone.save_pretrained(tmp_path / "model", VOCAB)
    reopened = type(backbone.model).from_pretrained(tmp_path / "model").state_dict()
    assert set(reopened) == before


def test_segments_are_fed_where_the_family_has_them(backbone):
    weam = Weam(segment_ids=True)
    weam.modules(backbone)
    assert make(weam, traits=backbone.traits).inputs["token_type_ids"].tolist() == [[0] * 5 + [1] * 6]
    assert "token_type_ids" not in make(all_masked()).inputs


def test_segments_are_refused_where_they_cannot_be():
    weam = Weam(segment_ids=True)
    with pytest.raises(SettingsError, match="modernbert models have no token_type_ids"):
        make(weam, traits=Traits("modernbert", 64))
    both = Traits("bert", 64, {"en": 2, "de": 3}, "token_type_ids")
    with pytest.raises(SettingsError, match="set segment_ids = false or language_ids = false"):
        make(weam, traits=both)
    roberta = from_shape(Shape(family="roberta", layers=1, width=16, heads=2, max_length=32), VOCAB)
    with pytest.raises(SettingsError, match="needs 2 segment embeddings, but the model has 1"):
        weam.modules(roberta)


def test_pairs_without_links_are_refused():
    with pytest.raises(DataError, match=r"weam needs word alignments.* \[align\]"):
        make(Weam(), pairs=Pairs(FIGURE.source, FIGURE.target))


# ---- the exchange of states ----

NUMBERS = SimpleNamespace(pad=0, begin=1, end=2, mask=3, size=60, separator_ids=(2,))


def rows_of(words, language="en"):
    """Rows of the words' numbers; ids count up from 4."""
    belongs = Ragged.of(words)
    return Sentences(Ragged((belongs.columns() + 4).astype(np.int32), belongs.offsets), belongs, language)


def linked_rows(source, target, links, confidence=None):
    pairs = Ragged.of(links, width=2)
    sure = None if confidence is None else Ragged.of(confidence, np.float32)
    return Pairs(rows_of(source), rows_of(target, "de"), pairs, confidence=sure)


#     column      0   1  2  3  4   5   6  7  8  9
#                 <s> a  bb    c  </s> A  BB    </s>      a - A, bb - BB, c - BB
PAIR = linked_rows([[0, 1, 1, 2]], [[0, 1, 1]], [[(0, 0), (1, 1), (2, 1)]])


def places_of(pairs, how, max_length=32):
    """What each predicted subword of the source is linked to, by column."""
    layout = pair_layout(pairs, NUMBERS, max_length)
    at = np.nonzero(layout.content & (layout.sides == 0))
    found = exchange_states(layout, pairs.links, at, expansion=how, mean=False, every=True)
    return list(zip(at[1][found.to].tolist(), found.places.tolist(), strict=True))


def test_links_of_words_become_places_with_the_specials_before_them():
    assert places_of(PAIR, "first") == [(1, 6), (2, 7), (4, 7)]
    assert places_of(PAIR, "monotone") == [(1, 6), (2, 7), (3, 8), (4, 7), (4, 8)]
    assert places_of(PAIR, "all") == [(1, 6), (2, 7), (2, 8), (3, 7), (3, 8), (4, 7), (4, 8)]


def swap(at, **options):
    layout = pair_layout(PAIR, NUMBERS, 32)
    found = exchange_states(layout, PAIR.links, (np.zeros(len(at), int), np.array(at, int)), **options)
    rows = {int(which): {} for which in found.which}
    for to, place, weight in zip(found.to, found.places, found.weights, strict=True):
        rows[int(found.which[to])][int(place)] = float(weight)
    return rows, found.aligned


def test_predictions_without_a_partner_get_no_row_or_an_empty_one():
    assert swap([0, 1]) == ({1: {6: 1.0}}, 1)
    assert swap([0, 1], every=True) == ({0: {}, 1: {6: 1.0}}, 1)
    assert swap([0], every=True) == ({0: {}}, 0)
    assert swap([]) == ({}, 0)


def test_links_that_are_the_one_best_of_both_words():
    links = Ragged.of([[(0, 0), (0, 1), (1, 1), (2, 2)], [(0, 0), (1, 0)], []], width=2)
    assert np.flatnonzero(one_to_one(links, None)).tolist() == [3]
    sure = Ragged.of([[0.9, 0.8, 0.5, 0.1], [0.5, 0.5], []], np.float32)
    assert np.flatnonzero(one_to_one(links, sure)).tolist() == [0, 3]  # of equals none is best
    empty = Ragged.of([[]], width=2)
    assert len(one_to_one(empty, None)) == 0


@st.composite
def little_pairs(draw):
    """Two rows, words of one to three subwords, any links."""
    rows = []
    for _ in range(2):
        sides = [draw(st.lists(st.integers(1, 3), max_size=4)) for _ in range(2)]
        every = [(i, j) for i in range(len(sides[0])) for j in range(len(sides[1]))]
        links = sorted(draw(st.sets(st.sampled_from(every), max_size=6))) if every else []
        rows.append([np.repeat(np.arange(len(sizes)), sizes).tolist() for sizes in sides] + [links])
    return linked_rows(*(list(column) for column in zip(*rows, strict=True)))


@settings(max_examples=60, deadline=None)
@given(pairs=little_pairs(), seed=st.integers(0, 99), mean=st.booleans(), every=st.booleans(), forbid=st.booleans())
def test_the_sparse_sum_is_the_papers_matrix_product(pairs, seed, mean, every, forbid):
    layout = pair_layout(pairs, NUMBERS, 64)
    rng = np.random.default_rng(seed)
    chosen = layout.content & (rng.random(layout.ids.shape) < 0.5)
    at = np.nonzero(chosen)
    found = exchange_states(layout, pairs.links, at, mean=mean, every=every, exclude_masked=forbid)
    states = torch.from_numpy(rng.normal(size=(*layout.ids.shape, 3)).astype(np.float32))
    parts = (torch.from_numpy(part) for part in (found.places, found.to, found.weights))
    ours = weighted_sums(states, *parts, len(found.which)).numpy()

    wanted, which = [], []
    for number, (row, column) in enumerate(zip(*at, strict=True)):
        matrix = paper_matrix(layout, pairs.links[row], row)
        if forbid:
            matrix[chosen[row]] = 0
        if mean:
            matrix /= np.maximum(matrix.sum(axis=0), 1)
        if every or matrix[:, column].any():
            which.append(number)
            wanted.append((matrix.T @ states[row].numpy())[column])
    assert found.which.tolist() == which
    np.testing.assert_allclose(ours, np.array(wanted, np.float32).reshape(-1, 3), atol=1e-5)


def paper_matrix(layout, links, row):
    """A of eq. 5, L x L, column by column what goes where."""
    known = {tuple(link) for link in links.tolist()}
    length = layout.ids.shape[1]
    matrix = np.zeros((length, length), np.float32)
    for i in range(length):
        for j in range(length):
            ends = sorted((layout.sides[row, k], layout.words[row, k]) for k in (i, j))
            if ends[0][0] == 0 and ends[1][0] == 1 and (ends[0][1], ends[1][1]) in known:
                matrix[i, j] = 1
    return matrix


@settings(max_examples=100, deadline=None)
@given(pairs=little_pairs(), seed=st.integers(0, 99), how=st.sampled_from(EXPANSIONS), room=st.integers(8, 40))
def test_partners_are_those_of_links_expanded_whole(pairs, seed, how, room):
    layout = pair_layout(pairs, NUMBERS, room)
    chosen = layout.content & (np.random.default_rng(seed).random(layout.ids.shape) < 0.5)
    at = np.nonzero(chosen)
    found = exchange_states(layout, pairs.links, at, expansion=how, mean=False)
    ours = sorted(zip(at[0][found.which][found.to], at[1][found.which][found.to], found.places.tolist(), strict=True))

    content = [layout.content & (layout.sides == number) for number in (0, 1)]
    words = [Ragged.from_lengths(layout.words[mine], mine.sum(axis=1)) for mine in content]
    places = [Ragged.from_lengths(np.flatnonzero(mine), mine.sum(axis=1)) for mine in content]
    wanted = set()
    for row, links in enumerate(to_subwords(pairs.links, *words, how)):
        for one, other in [(int(places[0][row][i]), int(places[1][row][j])) for i, j in links]:
            wanted |= {(*divmod(a, layout.ids.shape[1]), b) for a, b in ((one, other), (other, one))}
    assert ours == sorted((row, column, place) for row, column, place in wanted if chosen[row, column])
