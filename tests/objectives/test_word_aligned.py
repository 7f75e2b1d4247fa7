"""Alignment of contextual word vectors: batches and distances by hand, and the copy of the initial encoder."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.models.build import from_shape
from interlace.models.families import Traits
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.word_aligned import WordAligned
from interlace.training import checkpoint
from interlace.training.loop import TrainingModel
from interlace.training.optimizer import OptimizerSettings
from little_rows import framed

VOCAB = SimpleNamespace(
    pad=0,
    begin=1,
    end=2,
    frame=framed(1, 2),
    size=40,
    separator_ids=(),
    save_files=lambda folder: None,
)
PLAIN = Traits("bert", 64)
CPU = torch.device("cpu")
SHAPE = Shape(layers=1, width=16, heads=2, max_length=32, dropout=0.0, attention_dropout=0.0)


def side(words, first, language):
    """Rows with these word numbers; ids count up from `first`."""
    belongs = Ragged.of(words)
    ids = (np.arange(len(belongs.flat)) + first).astype(np.int32)
    return Sentences(Ragged(ids, belongs.offsets), belongs, language)


#   en  <s> a aa </s>              ids 4 | 5 6      de  <s> AA B C </s>         ids 20 21 | 22 | 23
#       <s> b </s>                     7                <s> D </s>                  24
LINKS = Ragged.of([[(0, 0), (1, 1), (1, 2)], [(0, 0)]], width=2)
SURE = Ragged.of([[0.9, 0.8, 0.6], [0.5]], np.float32)
PAIRS = Pairs(
    side([[0, 1, 1], [0]], 4, "en"), side([[0, 0, 1, 2], [0]], 20, "de"), LINKS, confidence=SURE
)


def make(objective, pairs=PAIRS, traits=PLAIN):
    prepared = objective.prepare(Resources(VOCAB, traits))
    return objective.batch(pairs, prepared, 0, np.random.default_rng(0))


def linked(batch):
    """The tokens of the two words of each link."""
    ids = batch.inputs["input_ids"].reshape(-1)
    sides = ids[batch.extra["anchored"]].tolist(), ids[batch.extra["aligned"]].tolist()
    return list(zip(*sides, strict=True))


def test_each_sentence_is_a_sequence_and_links_join_last_tokens():
    batch = make(WordAligned())
    assert batch.inputs["input_ids"].tolist() == [
        *([1, 4, 5, 6, 2, 0], [1, 7, 2, 0, 0, 0]),
        *([1, 20, 21, 22, 23, 2], [1, 24, 2, 0, 0, 0]),
    ]
    assert batch.counts == {"word_aligned": 3, "anchor": 3}
    expected = [(4, 21), (6, 22), (7, 24)]  # aa - C has less confidence than aa - B
    assert linked(batch) == expected
    assert list(zip(batch.inputs["input_ids"][batch.at], batch.labels, strict=True)) == expected


def test_anchor_language_comes_first():
    batch = make(WordAligned(anchor_language="de"))
    assert batch.inputs["input_ids"][:, 1].tolist() == [20, 24, 4, 7]
    assert linked(batch) == [(21, 4), (22, 6), (24, 7)]
    assert batch.counts == {"word_aligned": 3, "anchor": 4}
    assert make(WordAligned(anchor_weight=0)).counts == {"word_aligned": 3}


@pytest.fixture
def backbone():
    return from_shape(SHAPE, VOCAB)


def test_distances_are_those_of_the_last_tokens(backbone):
    objective = WordAligned()
    heads = objective.modules(backbone)
    batch = make(objective).to(CPU)
    with torch.no_grad():
        before = backbone.encode(batch.inputs)
        backbone.input_embeddings.mul_(1.5)
        now = backbone.encode(batch.inputs)
        terms = objective.loss(backbone, heads, batch)
    english = [(0, 1), (0, 3), (1, 1)]
    german = [(2, 2), (2, 3), (3, 1)]
    apart = sum((now[i] - now[j]).square().mean() for i, j in zip(english, german, strict=True))
    drift = sum((now[i] - before[i]).square().mean() for i in english)
    assert terms["word_aligned"].total.item() == pytest.approx(apart.item(), rel=1e-4)
    assert terms["anchor"].total.item() == pytest.approx(drift.item(), rel=1e-4)
    assert drift > 0


def test_resumed_run_keeps_the_initial_encoder(backbone, tmp_path):
    learning = TrainingModel(backbone, {"word_aligned": WordAligned()}, seed=0)
    optimizer = OptimizerSettings(warmup=0).build(learning)
    batch = make(WordAligned()).to(CPU)
    loss, parts = learning("word_aligned", batch, batch.counts)
    loss.backward()
    optimizer.step()
    path = checkpoint.save(tmp_path, 1, learning, optimizer, {})
    after = learning("word_aligned", batch, batch.counts)[1]

    other = TrainingModel(
        from_shape(SHAPE, VOCAB, seed=7), {"word_aligned": WordAligned()}, seed=0
    )
    checkpoint.load(path, other, OptimizerSettings().build(other))
    resumed = other("word_aligned", batch, batch.counts)[1]
    assert resumed == after
    assert after["anchor"] > parts["anchor"]


def test_rejects_pairs_without_links_and_an_unknown_anchor():
    with pytest.raises(DataError, match="word_aligned needs word alignments"):
        make(WordAligned(), Pairs(PAIRS.source, PAIRS.target))
    with pytest.raises(
        SettingsError, match="anchor_language = 'fr', but the pairs are en and de"
    ):
        make(WordAligned(anchor_language="fr"))


def test_links_of_truncated_words_are_ignored():
    links = Ragged.of([[(0, 2), (1, 0), (7, 1)], [(0, 9)]], width=2)
    pairs = Pairs(side([range(8), [0]], 4, "en"), side([[0, 1, 2], range(10)], 20, "de"), links)
    assert linked(make(WordAligned(max_length=8), pairs)) == [(4, 22), (5, 20)]


def test_initial_encoder_is_not_exported(backbone, tmp_path):
    TrainingModel(backbone, {"word_aligned": WordAligned()}, seed=0)
    before = set(backbone.model.state_dict())
    backbone.save_pretrained(tmp_path / "model", VOCAB)
    assert set(type(backbone.model).from_pretrained(tmp_path / "model").state_dict()) == before
    assert len(WordAligned(anchor_weight=0).modules(backbone)) == 0
