import numpy as np
import torch

from interlace.core.ragged import Ragged
from interlace.data import Pairs
from interlace.tasks.common.prediction import InputLimits
from interlace.tasks.common.vectors import layer_vectors
from interlace.tasks.retrieval import Retrieval, both_ways, find_own


def encoded(vocab, *lines, language="en"):
    return vocab.encode(list(lines), language=language)


def test_vectors_are_means_of_a_layer_without_specials(vocab, model):
    backbone = model().eval()
    sentences = encoded(vocab, "the doctor reads letters", "", "the doctor")
    vectors = layer_vectors(backbone, vocab, sentences, 2, InputLimits(48, 16))
    for row in (0, 2):
        ids = [vocab.begin, *sentences.ids[row].tolist(), vocab.end]
        with torch.inference_mode():
            states = backbone.hidden_states({"input_ids": torch.tensor([ids])})[2][0]
        np.testing.assert_allclose(vectors[row], states[1:-1].mean(dim=0).numpy(), atol=1e-5)
    assert (vectors[1] == 0).all()


def test_nearest_neighbors_in_both_directions_and_their_outcomes(vocab):
    # the second query leans to the first candidate; the other way round every sentence finds its own
    queries = np.array([[1.0, 0.0], [0.8, 0.6]], np.float32)
    candidates = np.array([[0.9, 0.436], [0.0, 1.0]], np.float32)

    side = encoded(vocab, "the doctor", "letters")
    found = both_ways(queries, candidates, Pairs(side, side))
    # one finds the other into German, one back
    assert found.outcomes.score.tolist() == [
        0.5,
        0.5,
    ]
    assert 100 * found.outcomes.total == found["p@1"]
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], np.float32)
    same = find_own(vectors, vectors, Ragged.of([[5, 6], [5, 6], [7]]))
    assert same.tolist() == [False, False, True]


def test_centering_removes_the_vector_of_a_language(vocab, model):
    backbone = model("en", "de")
    with torch.no_grad():
        table = backbone.model.base_model.embeddings.token_type_embeddings.weight
        table[backbone.traits.languages["de"]] += torch.linspace(-40, 40, table.shape[1])
    lines = ["the doctor reads", "letters", "the letters", "doctor", "der arzt", "briefe"]
    pairs = Pairs(encoded(vocab, *lines), encoded(vocab, *lines, language="de"))
    scores = Retrieval(layer=0).measure(backbone, vocab, pairs)
    # which of two models is better may depend on it
    assert scores["p@1, centered"] > scores["p@1"]
