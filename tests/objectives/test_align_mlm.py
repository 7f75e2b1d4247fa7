"""ALIGN-MLM's cosine term worked by hand, its variants, and what a step draws."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.models.build import from_shape
from interlace.models.families import Traits
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.align_mlm import AlignmentEntries, AlignMlm
from little_words import LittleWords

TOKENS = LittleWords(
    "old doctor reads alt Arzt Haus ##arzt liest", spelled={"Hausarzt": "Haus ##arzt"}
)
PAIR = ("en", "de")
ENTRIES = [("old", "alt"), ("doctor", "Arzt"), ("doctor", "Hausarzt")]
TEXT = TOKENS.sentences(["old doctor reads"] * 6)
ROWS = {"old": (1, 2, 2), "doctor": (3, 4, 0)}
ROWS |= {"alt": (2, 1, 2), "Arzt": (0, 4, 3), "Haus": (4, 0, 3), "##arzt": (0, 8, 3)}


def made(entries=ENTRIES, seed=0, **settings):
    objective = AlignMlm(max_length=16, **settings)
    lexicons = {PAIR: Lexicon.of((source, target, 1.0) for source, target in entries)}
    traits = backbone().traits
    return objective, objective.prepare(
        Resources(TOKENS.vocab, traits, seed=seed, lexicons=lexicons)
    )


def backbone(tied=True, layers=1):
    """A model with the input embeddings `ROWS`, followed by zeros."""
    shape = Shape(
        family="bert",
        layers=layers,
        width=8,
        heads=2,
        max_length=16,
        dropout=0.0,
        attention_dropout=0.0,
    )
    model = from_shape(shape, TOKENS.vocab, (), seed=0)
    if not tied:
        head = model.model.get_output_embeddings()
        head.weight = torch.nn.Parameter(torch.zeros_like(head.weight))
    with torch.no_grad():
        for word, row in ROWS.items():
            model.input_embeddings[TOKENS.ids[word]] = torch.tensor(
                [*row, 0, 0, 0, 0, 0], dtype=torch.float32
            )
    return model


def term(objective, prepared, model, step=1):
    batch = objective.batch(TEXT, prepared, step, np.random.default_rng(0)).to(
        torch.device("cpu")
    )
    return objective.loss(model, objective.modules(model), batch), batch.counts


def align(model=None, **settings):
    """The mean alignment loss of a pair."""
    terms, counts = term(*made(**settings), model or backbone())
    return terms["align"].total.item() / counts["align"]


def test_cosine_by_hand_also_of_a_word_of_two_tokens():
    """cos(old, alt) = 8/9, cos(doctor, Arzt) = 16/25; the paper's L_ALIGN is their negative mean, ours is one more."""
    assert align(entries=ENTRIES[:2]) == pytest.approx(1 - (8 / 9 + 16 / 25) / 2, abs=1e-6)
    # Hausarzt = mean of (4, 0, 3) and (0, 8, 3) = (2, 4, 3); its cosine with (3, 4, 0) is 22 / (5 sqrt 29).
    expected = 1 - (8 / 9 + 16 / 25 + 22 / (5 * 29**0.5)) / 3
    assert align() == pytest.approx(expected, abs=1e-6)


def test_hinge_and_contrastive_by_hand():
    """Of old: cos(old, Arzt) = 14/15 is nearer than alt's 8/9. Of doctor: cos(doctor, alt) = 10/15."""
    hinge = [0.4 - 8 / 9 + 14 / 15, 0.4 - 16 / 25 + 10 / 15]
    assert align(entries=ENTRIES[:2], alignment_loss="hinge") == pytest.approx(
        sum(hinge) / 2, abs=1e-6
    )
    expected = [
        np.log1p(np.exp((14 / 15 - 8 / 9) / 0.5)),
        np.log1p(np.exp((10 / 15 - 16 / 25) / 0.5)),
    ]
    found = align(entries=ENTRIES[:2], alignment_loss="contrastive", temperature=0.5)
    assert found == pytest.approx(sum(expected) / 2, abs=1e-6)


def test_aligns_input_or_output_embeddings_or_both():
    entries = ENTRIES[:2]
    model = backbone(tied=False)  # the output rows are all zero: their cosine is 0
    near = align(model, entries=entries)
    assert align(model, entries=entries, embeddings="output") == pytest.approx(1)
    assert align(model, entries=entries, embeddings="both") == pytest.approx((1 + near) / 2)


def deep():
    """A model whose layer-0 states are the normalized rows: positions and types add nothing."""
    model = backbone(layers=2)
    embeddings = model.model.base_model.embeddings
    with torch.no_grad():
        embeddings.position_embeddings.weight.zero_()
        embeddings.token_type_embeddings.weight.zero_()
    return model


@pytest.mark.parametrize(("layer", "place"), [(0, 0), ("middle", 1), (-1, 2)])
def test_aligns_states_of_each_word_alone(layer, place):
    """Words of one and two tokens in one padded batch have the states of sequences without padding."""
    model = deep()

    def vector(word):
        ids = TOKENS.vocab.encode_words([word])[0]
        row = torch.tensor([[TOKENS.vocab.begin, *ids, TOKENS.vocab.end]])
        return model.hidden_states({"input_ids": row})[place][0, 1:-1].mean(dim=0)

    cosines = [
        torch.cosine_similarity(vector(one), vector(other), dim=0).item()
        for one, other in ENTRIES
    ]
    assert align(model, layer=layer) == pytest.approx(1 - np.mean(cosines), abs=1e-5)


def test_rejects_layers_that_do_not_exist_and_language_ids():
    with pytest.raises(
        SettingsError, match="align_mlm: layer = 3, but the model has the layers 0 to 2"
    ):
        align(deep(), layer=3)
    with pytest.raises(SettingsError, match="embeddings = 'both' has no effect"):
        AlignMlm(layer=-1, embeddings="both")
    traits = Traits("bert", 64, {"en": 2, "de": 3}, "token_type_ids")
    lexicons = {PAIR: Lexicon.of((source, target, 1.0) for source, target in ENTRIES)}
    with pytest.raises(SettingsError, match="layer = 'middle' needs language_ids = false"):
        AlignMlm(layer="middle").prepare(
            Resources(TOKENS.vocab, traits, seed=0, lexicons=lexicons)
        )


# A word may be a source in one dictionary and a target in another.
entry = st.tuples(st.integers(0, 7), st.integers(4, 11)).filter(
    lambda words: words[0] != words[1]
)


@given(
    st.lists(entry, min_size=1, max_size=20, unique=True),
    st.integers(1, 20),
    st.integers(1, 8),
    st.integers(0, 99),
)
def test_known_translations_are_those_of_the_dictionary_and_the_word_itself(
    entries, count, others, step
):
    source, target = np.array(entries).T
    words = Ragged.of([[word] for word in range(12)])
    pairs = AlignmentEntries(words, source, target, min(count, len(source)), others, seed=0)
    arrays = pairs.of_step(step)
    ids = arrays["align_ids"]
    taken, translations, against = (
        ids[arrays[f"align_{name}"]].tolist() for name in ("source", "target", "negatives")
    )
    assert len(taken) == min(count, len(entries))
    assert set(zip(taken, translations, strict=True)) <= set(entries)
    assert len(set(against)) == len(against) <= others
    known = [
        [i, j]
        for i, word in enumerate(taken)
        for j, other in enumerate(against)
        if word == other or (word, other) in entries
    ]
    assert sorted(arrays["align_known"].T.tolist()) == known


@pytest.mark.parametrize("settings", [{}, {"pairs_per_step": 2, "alignment_loss": "hinge"}])
def test_micro_batches_give_the_same_gradient(settings):
    objective, prepared = made(
        alignment_weight=3, masking={"rate": 1, "mask_share": 1, "random_share": 0}, **settings
    )

    def gradient(parts):
        model = backbone()
        keys = map(np.random.default_rng, range(len(parts)))
        batches = [
            objective.batch(TEXT.take(rows), prepared, 5, key)
            for rows, key in zip(parts, keys, strict=True)
        ]
        counts = {
            name: sum(batch.counts[name] for batch in batches) for name in batches[0].counts
        }
        for batch in batches:
            terms = objective.loss(
                model, objective.modules(model), batch.to(torch.device("cpu"))
            )
            sum(
                term.weight * term.total / counts[name] for name, term in terms.items()
            ).backward()
        return model.input_embeddings.grad

    torch.testing.assert_close(
        gradient([range(6)]), gradient([range(2), range(2, 6)]), atol=1e-6, rtol=1e-5
    )
