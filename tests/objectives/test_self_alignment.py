"""Self-alignment: batches by hand, the loss against a plain reference, and training in a mixture."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from interlace.aligners.common.self_alignment import MIN_TARGET, self_alignment_loss
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.models.build import from_shape
from interlace.models.families import Traits
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.mlm import Mlm
from interlace.objectives.self_alignment import SelfAlignment
from interlace.training import checkpoint
from interlace.training.loop import TrainingModel
from interlace.training.optimizer import OptimizerSettings
from little_rows import framed

VOCAB = SimpleNamespace(
    pad=0,
    begin=1,
    end=2,
    frame=framed(1, 2),
    has_mask=True,
    mask=3,
    size=40,
    separator_ids=(),
    special_ids=[0, 1, 2, 3],
    regular_ids=np.arange(4, 40),
)
SHAPE = Shape(layers=3, width=16, heads=2, max_length=32, dropout=0.0, attention_dropout=0.0)
CPU = torch.device("cpu")


def side(words, first, language):
    """Rows with these word numbers; ids count up from `first`."""
    belongs = Ragged.of(words)
    ids = (np.arange(len(belongs.flat)) + first).astype(np.int32)
    return Sentences(Ragged(ids, belongs.offsets), belongs, language)


#   en  <s> a aa </s>              ids 4 | 5 6      de  <s> AA B C </s>         ids 20 21 | 22 | 23
#       <s> b </s>                     7                <s> D </s>                  24
LINKS = Ragged.of([[(0, 0), (1, 1), (1, 2)], [(0, 0)]], width=2)
SURE = Ragged.of([[0.9, 0.6, 0.8], [0.5]], np.float32)
PAIRS = Pairs(
    side([[0, 1, 1], [0]], 4, "en"), side([[0, 0, 1, 2], [0]], 20, "de"), LINKS, confidence=SURE
)


def make(objective, pairs=PAIRS):
    prepared = objective.prepare(Resources(VOCAB, Traits("bert", 64)))
    return objective.batch(pairs, prepared, 0, np.random.default_rng(0))


def partners(batch):
    """Each linked token with the last token of its surest partner."""
    return dict(
        zip(batch.inputs["input_ids"][batch.at].tolist(), batch.labels.tolist(), strict=True)
    )


def test_each_sentence_is_a_sequence_and_words_have_their_surest_partner():
    batch = make(SelfAlignment())
    assert batch.inputs["input_ids"].tolist() == [
        *([1, 4, 5, 6, 2, 0], [1, 7, 2, 0, 0, 0]),
        *([1, 20, 21, 22, 23, 2], [1, 24, 2, 0, 0, 0]),
    ]
    english = {4: 21, 5: 23, 6: 23, 7: 24}  # aa - C has more confidence than aa - B
    german = {20: 4, 21: 4, 22: 6, 23: 6, 24: 7}
    assert partners(batch) == {**english, **german}
    assert batch.counts == {"self_alignment": 9}
    np.testing.assert_array_almost_equal(
        batch.extra["confidences"][0], [[0.9, 0, 0, 0], [0, 0.6, 0.8, 0], [0, 0, 0, 0]]
    )


def test_links_without_a_confidence_count_fully():
    batch = make(SelfAlignment(), Pairs(PAIRS.source, PAIRS.target, LINKS))
    assert batch.extra["confidences"][0].sum() == 3


def test_links_of_words_without_a_token_are_ignored():
    """Of the first pair, words 2 of the source and 9 of the target are no words; of the second, words are cut off."""
    links = Ragged.of([[(0, 0), (2, 1), (1, 9)], [(0, 6), (7, 0), (0, 0)]], width=2)
    pairs = Pairs(side([[0, 1], range(8)], 4, "en"), side([[0, 1], range(8)], 20, "de"), links)
    batch = make(SelfAlignment(max_length=8), pairs)
    assert partners(batch) == {4: 20, 20: 4, 6: 22, 22: 6}


def reference(states, words, confidences, temperature):
    """The loss in plain loops over one pair of (I, H) and (J, H) states."""
    (source, target), (source_words, target_words) = states, words
    cosines = [
        [one @ two / np.linalg.norm(one) / np.linalg.norm(two) for two in target]
        for one in source
    ]
    scores = np.exp(np.array(cosines) / temperature)
    forward = scores / scores.sum(1, keepdims=True)
    backward = scores / scores.sum(0, keepdims=True)
    goals = (np.sqrt(forward * backward) + confidences[np.ix_(source_words, target_words)]) / 2
    linked = goals > MIN_TARGET
    total = 0.0
    for i in range(len(source)):
        if linked[i].any():
            total -= goals[i][linked[i]].max() * np.log(forward[i][linked[i]].sum())
    for j in range(len(target)):
        if linked[:, j].any():
            total -= goals[linked[:, j], j].max() * np.log(backward[linked[:, j], j].sum())
    return total


def test_loss_is_that_of_plain_loops():
    batch = make(SelfAlignment())
    rng = np.random.default_rng(0)
    states = rng.normal(size=(*batch.extra["words"].shape, 16))
    words, confidences = batch.extra["words"], batch.extra["confidences"]
    expected = 0.0
    for row in range(2):
        sides = [words[row] >= 0, words[row + 2] >= 0]
        expected += reference(
            [states[row][sides[0]], states[row + 2][sides[1]]],
            [words[row][sides[0]], words[row + 2][sides[1]]],
            confidences[row],
            0.1,
        )
    loss = self_alignment_loss(
        *(torch.from_numpy(array) for array in (states, words, confidences)), 0.1
    )
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert expected > 1


def test_compares_the_states_of_the_layer():
    backbone = from_shape(SHAPE, VOCAB)
    batch = make(SelfAlignment()).to(CPU)
    with torch.no_grad():
        layers = backbone.hidden_states(batch.inputs)
        for layer, index in ((0, 0), (1, 1), (-1, 3), (None, 2)):
            objective = SelfAlignment(layer=layer)
            terms = objective.loss(backbone, objective.modules(backbone), batch)
            expected = self_alignment_loss(
                layers[index], batch.extra["words"], batch.extra["confidences"], 0.02
            )
            assert terms["self_alignment"].total.item() == pytest.approx(expected.item())


def test_rejects_pairs_without_links_and_a_missing_layer():
    with pytest.raises(DataError, match="self_alignment needs word alignments"):
        make(SelfAlignment(), Pairs(PAIRS.source, PAIRS.target))
    with pytest.raises(
        SettingsError, match="self_alignment: layer = 4, but the model has the layers 0 to 3"
    ):
        SelfAlignment(layer=4).modules(from_shape(SHAPE, VOCAB))


def test_a_mixture_with_mlm_resumes_exactly(tmp_path):
    objectives = {"mlm": Mlm(), "self_alignment": SelfAlignment()}
    whole = Mixture(objectives, from_shape(SHAPE, VOCAB))
    losses = [whole.update(step) for step in range(6)]
    assert losses[5] < losses[1]  # both of self-alignment

    half = Mixture(objectives, from_shape(SHAPE, VOCAB))
    assert [half.update(step) for step in range(3)] == losses[:3]
    path = checkpoint.save(tmp_path, 3, half.model, half.optimizer, {})
    resumed = Mixture(objectives, from_shape(SHAPE, VOCAB, seed=7))
    checkpoint.load(path, resumed.model, resumed.optimizer)
    assert [resumed.update(step) for step in range(3, 6)] == losses[3:]
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(weight, resumed.model.state_dict()[name]), name


class Mixture:
    """A model trained on two objectives in turn, on a batch each."""

    def __init__(self, objectives, backbone):
        self.model = TrainingModel(backbone, objectives, seed=0)
        self.optimizer = OptimizerSettings(warmup=0, learning_rate=1e-3).build(self.model)
        self.batches = {"self_alignment": make(objectives["self_alignment"]).to(CPU)}
        prepared = objectives["mlm"].prepare(Resources(VOCAB, Traits("bert", 64)))
        mlm = objectives["mlm"].batch(PAIRS.source, prepared, 0, np.random.default_rng(0))
        self.batches["mlm"] = mlm.to(CPU)

    def update(self, step):
        name = ("mlm", "self_alignment")[step % 2]
        batch = self.batches[name]
        loss, _ = self.model(name, batch, batch.counts)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()
