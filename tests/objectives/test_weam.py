"""WEAM: figure 1 by hand, the equations, TLM as lambda = 0, and the exchange of states."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, gelu

from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.layout import pair_layout
from interlace.models.build import from_shape
from interlace.models.families import Traits
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.tlm import Tlm
from interlace.objectives.weam import Weam
from little_words import LittleWords

TOKENS = LittleWords("i like green apples ich mag grüne Äpfel gern")
VOCAB, ID, WORDS = TOKENS.vocab, TOKENS.ids, TOKENS.words
VOCAB.separator_ids, VOCAB.pair_layout = (), None  # the paper's figure has no separator
PLAIN = Traits("bert", 64)
CPU = torch.device("cpu")


#   0   1 2    3     4      5   6   7     8     9    10
#  <s>  i like green apples ich mag grüne Äpfel gern </s>          like is linked with "mag" and "gern"
LINKS = Ragged.of([[(0, 0), (1, 1), (1, 4), (2, 2), (3, 3)]], width=2)
FIGURE = Pairs(
    TOKENS.sentences(["i like green apples"]),
    TOKENS.sentences(["ich mag grüne Äpfel gern"], "de"),
    LINKS,
)


def all_masked(**settings):
    return Weam(masking={"rate": 1, "mask_share": 1, "random_share": 0}, **settings)


def make(weam, masked="like green grüne", traits=PLAIN, pairs=FIGURE):
    """A batch with these words masked: the partners of like are visible, the other two are partners."""
    hidden = [ID[word] for word in masked.split()]
    vocab = SimpleNamespace(
        **{**vars(VOCAB), "special_ids": np.setdiff1d(np.arange(len(WORDS)), hidden)}
    )
    return weam.batch(
        pairs, weam.prepare(Resources(vocab, traits)), 0, np.random.default_rng(0)
    )


def swaps(batch):
    """Predicted word -> the columns whose states predict it, with their weights."""
    found = {WORDS[label]: {} for label in batch.labels[batch.extra["which"]]}
    for to, place, weight in zip(
        batch.extra["to"], batch.places["partners"], batch.extra["weights"], strict=True
    ):
        found[WORDS[batch.labels[batch.extra["which"][to]]]][int(place)] = pytest.approx(
            float(weight)
        )
    return found


def test_figure_one_with_a_masked_partner():
    batch = make(all_masked())
    assert TOKENS.texts(batch.inputs["input_ids"]) == [
        "<s> i <mask> <mask> apples ich mag <mask> Äpfel gern </s>"
    ]
    assert TOKENS.names(batch.labels) == ["like", "green", "grüne"]
    assert swaps(batch) == {"like": {6: 0.5, 9: 0.5}, "green": {7: 1.0}, "grüne": {3: 1.0}}
    assert batch.counts == {"multilingual": 3, "cross_lingual": 3, "aligned_share": 3}
    assert batch.extra["aligned"] == 3
    batch = make(all_masked(exclude_masked_partners=True))
    assert swaps(batch) == {"like": {6: 0.5, 9: 0.5}}
    assert batch.counts == {"multilingual": 3, "cross_lingual": 1, "aligned_share": 3}


def test_normalization_of_several_partners():
    assert swaps(make(all_masked(normalization="sum")))["like"] == {6: 1.0, 9: 1.0}
    assert sorted(swaps(make(all_masked(normalization="one_to_one")))) == ["green", "grüne"]
    sure = Pairs(
        FIGURE.source,
        FIGURE.target,
        LINKS,
        confidence=Ragged.of([[1, 0.9, 0.4, 1, 1]], np.float32),
    )
    weam = all_masked(normalization="one_to_one")
    assert swaps(make(weam, pairs=sure))["like"] == {6: 1.0}


def test_positions_and_average():
    literal = all_masked(positions="all_masked", exclude_masked_partners=True)
    assert swaps(make(literal)) == {"like": {6: 0.5, 9: 0.5}, "green": {}, "grüne": {}}
    assert make(literal).counts == {"multilingual": 3, "cross_lingual": 3, "aligned_share": 3}
    assert make(literal).extra["aligned"] == 1
    assert (
        make(all_masked(average="masked", exclude_masked_partners=True)).counts["cross_lingual"]
        == 3
    )


@pytest.fixture
def backbone():
    return from_shape(
        Shape(layers=1, width=16, heads=2, max_length=32, dropout=0.0, attention_dropout=0.0),
        VOCAB,
    )


def test_losses_equal_those_of_the_equations(backbone):
    weam = all_masked()
    batch, heads = make(weam).to(CPU), weam.modules(backbone)
    with torch.no_grad():
        heads["exchanged"].weight.add_(0.1 * torch.randn(16, 16))
        heads["dense"].bias.add_(torch.randn(16))
        terms = weam.loss(backbone, heads, batch)
        states = backbone.encode(batch.inputs)[0]
        # like, green, grüne
        swapped = torch.stack([(states[6] + states[9]) / 2, states[7], states[3]])
        head = backbone.model.cls.predictions
        changed = gelu(heads["dense"](heads["exchanged"](swapped)))
        scores = head.decoder(head.transform.LayerNorm(changed))
        own = backbone.logits(states[[2, 3, 7]])
    labels = torch.tensor([ID["like"], ID["green"], ID["grüne"]])
    assert terms["multilingual"].total.item() == pytest.approx(
        cross_entropy(own, labels, reduction="sum").item()
    )
    assert terms["cross_lingual"].total.item() == pytest.approx(
        cross_entropy(scores, labels, reduction="sum").item()
    )
    assert (terms["cross_lingual"].weight, terms["aligned_share"].weight) == (1.0, 0.0)
    assert terms["aligned_share"].total == 3


def test_equals_tlm_with_lambda_0(backbone):
    weam, tlm = Weam(cross_lingual_weight=0), Tlm(masking={"rate": 0.3}, reset_positions=False)
    one, other = (
        objective.batch(
            FIGURE, objective.prepare(Resources(VOCAB, PLAIN)), 0, np.random.default_rng(3)
        )
        for objective in (weam, tlm)
    )
    np.testing.assert_equal(one.inputs, other.inputs)
    assert list(one.counts.values()) == list(other.counts.values())
    assert len(weam.modules(backbone)) == 0


@pytest.mark.parametrize("literal", [False, True])
def test_batch_without_aligned_predictions_has_gradients(backbone, literal):
    weam = all_masked(positions="all_masked" if literal else "masked_and_aligned")
    bare = Pairs(FIGURE.source, FIGURE.target, Ragged.of([[]], width=2))
    batch = make(weam, pairs=bare)
    assert batch.counts["cross_lingual"] == (3 if literal else 0)
    heads = weam.modules(backbone)
    terms = weam.loss(backbone, heads, batch.to(CPU))
    sum(term.weight * term.total for term in terms.values()).backward()
    # none is unused
    assert all(torch.isfinite(parameter.grad).all() for parameter in heads.parameters())


def test_segment_ids_and_links_that_are_missing(backbone):
    weam = Weam(segment_ids=True)
    weam.modules(backbone)
    assert make(weam, traits=backbone.traits).inputs["token_type_ids"].tolist() == [
        [0] * 5 + [1] * 6
    ]
    with pytest.raises(SettingsError, match="modernbert models have no token_type_ids"):
        make(weam, traits=Traits("modernbert", 64))
    with pytest.raises(SettingsError, match="set segment_ids = false or language_ids = false"):
        make(weam, traits=Traits("bert", 64, {"en": 2, "de": 3}, "token_type_ids"))
    roberta = from_shape(
        Shape(family="roberta", layers=1, width=16, heads=2, max_length=32), VOCAB
    )
    with pytest.raises(SettingsError, match="needs 2 segment embeddings, but the model has 1"):
        weam.modules(roberta)
    with pytest.raises(DataError, match=r"weam needs word alignments.* \[align\]"):
        make(Weam(), pairs=Pairs(FIGURE.source, FIGURE.target))


NUMBERS = SimpleNamespace(pad=0, begin=1, end=2, mask=3, size=60, separator_ids=(2,))


def rows_of(words, language="en"):
    """Rows of the words' numbers; ids count up from 4."""
    belongs = Ragged.of(words)
    return Sentences(
        Ragged((belongs.columns() + 4).astype(np.int32), belongs.offsets), belongs, language
    )


#     column      0   1  2  3  4   5   6  7  8  9
#                 <s> a  bb    c  </s> A  BB    </s>      a - A, bb - BB, c - BB
PAIR = Pairs(
    rows_of([[0, 1, 1, 2]]),
    rows_of([[0, 1, 1]], "de"),
    Ragged.of([[(0, 0), (1, 1), (2, 1)]], width=2),
)


@pytest.mark.parametrize(
    ("expansion", "expected"),
    [
        ("first", [(1, 6), (2, 7), (4, 7)]),
        ("monotone", [(1, 6), (2, 7), (3, 8), (4, 7), (4, 8)]),
        ("all", [(1, 6), (2, 7), (2, 8), (3, 7), (3, 8), (4, 7), (4, 8)]),
    ],
)
def test_expansion_of_word_links(expansion, expected):
    """The places that each token of the source is linked to."""
    layout = pair_layout(PAIR, NUMBERS, 32)
    at = np.nonzero(layout.content & (layout.sides == 0))
    weam = Weam(expansion=expansion, positions="all_masked")
    exchange, places = weam.exchange(layout, PAIR.links, at)
    columns = at[1][exchange["to"]].tolist()
    assert list(zip(columns, places.tolist(), strict=True)) == expected


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_initial_layers_leave_the_vocabulary_head_unchanged(family):
    backbone = from_shape(
        Shape(family=family, layers=1, width=16, heads=2, max_length=32, dropout=0.0), VOCAB
    ).eval()
    weam = all_masked()
    batch = make(weam, masked="green grüne").to(CPU)
    total = weam.loss(backbone, weam.modules(backbone), batch)["cross_lingual"].total
    states = backbone.encode(batch.inputs)[0]
    wanted = cross_entropy(backbone.logits(states[[7, 3]]), batch.labels, reduction="sum")
    torch.testing.assert_close(total, wanted)
