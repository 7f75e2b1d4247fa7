"""The loss of distillation is the distance to the teacher's own vectors, whatever its tokenizer, width and side."""

import numpy as np
import pytest
import torch
from torch import nn

from interlace.core.errors import CheckpointError, DataError, SettingsError
from interlace.data import Pairs
from interlace.data.vocab import Vocab
from interlace.models.backbone import SentenceHead
from interlace.models.build import load
from interlace.models.sentence_modules import write_sentence_modules
from interlace.objectives import Resources
from interlace.objectives.distillation import TEACHER, Distillation
from interlace.tasks.common.prediction import InputLimits
from interlace.tasks.common.vectors import layer_vectors
from interlace.text import Text
from interlace.text.columns import TextColumns
from little_checkpoints import save

ENGLISH = ["the old doctor reads", "she sees it", "a cat and a dog"]
GERMAN = ["der alte Arzt liest", "Öl ist da", "eine Katze und ein Hund"]


@pytest.fixture(scope="module")
def student_folder(tmp_path_factory):
    return save("mbert", tmp_path_factory.mktemp("student") / "model")


@pytest.fixture(scope="module")
def teacher_folder(tmp_path_factory):
    """Another family with another tokenizer; its vectors have 6 dimensions, after a dense layer."""
    folder = tmp_path_factory.mktemp("teacher")
    save("xlm-r", folder / "start")
    vocab = Vocab.load(folder / "start")
    backbone = load(folder / "start", vocab)
    torch.manual_seed(1)
    backbone.sentence_head = SentenceHead("first", nn.Linear(16, 6), "Tanh")
    backbone.save_pretrained(folder / "model", vocab)
    write_sentence_modules(folder / "model", backbone, vocab, None, 64)
    return folder / "model"


def pairs_of(vocab, languages=("en", "de"), *, with_text=True):
    sides = []
    columns = []
    for language in languages:
        text = Text.of(ENGLISH if language == "en" else GERMAN, language)
        sides.append(vocab.encode_text(text))
        columns.append(TextColumns.of(text))
    return Pairs(*sides, text=tuple(columns) if with_text else None)


def vectors_of(folder, lines, layer=None):
    vocab = Vocab.load(folder)
    sentences = vocab.encode_text(Text.of(lines, "en"))
    limits = InputLimits(64, 1000)
    vectors = layer_vectors(load(folder, vocab), vocab, sentences, layer, limits)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def loss_of(objective, folder, pairs):
    vocab = Vocab.load(folder)
    backbone = load(folder, vocab).eval()
    prepared = objective.prepare(Resources(vocab, backbone.traits))
    batch = objective.batch(pairs, prepared, 1, np.random.default_rng(0))
    torch.manual_seed(2)
    heads = objective.modules(backbone).eval()
    [term] = objective.loss(backbone, heads, batch.to(torch.device("cpu"))).values()
    return term.total, backbone, heads


@pytest.mark.parametrize("languages", [("en", "de"), ("de", "en")])
def test_both_sides_imitate_the_english_vectors_of_another_teacher(
    student_folder, teacher_folder, languages
):
    objective = Distillation(max_length=32, teacher=str(teacher_folder))
    assert objective.needs == {"text"}
    pairs = pairs_of(Vocab.load(student_folder), languages)
    total, backbone, heads = loss_of(objective, student_folder, pairs)
    dense = backbone.sentence_head.dense
    assert (dense.in_features, dense.out_features) == (16, 6)
    targets = vectors_of(teacher_folder, ENGLISH)
    expected = 0.0
    for side in pairs.source, pairs.target:
        limits = InputLimits(64, 1000)
        vocab = Vocab.load(student_folder)
        vectors = layer_vectors(backbone, vocab, side, None, limits)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        expected += ((vectors - targets) ** 2).sum() / 2
    assert total.item() == pytest.approx(expected, rel=1e-4)
    total.backward()
    assert dense.weight.grad.abs().sum() > 0
    assert all(weight.grad is None for weight in heads[TEACHER].parameters())


def test_without_a_teacher_the_start_teaches_itself(student_folder):
    """English vectors are the teacher's already, so that the loss is that of German alone."""
    objective = Distillation(max_length=32)
    assert not objective.needs
    pairs = pairs_of(Vocab.load(student_folder), with_text=False)
    total, backbone, _ = loss_of(objective, student_folder, pairs)
    limits = InputLimits(64, 1000)
    vocab = Vocab.load(student_folder)
    sides = []
    for side in pairs.source, pairs.target:
        vectors = layer_vectors(backbone, vocab, side, None, limits)
        sides.append(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    assert total.item() == pytest.approx(((sides[0] - sides[1]) ** 2).sum() / 2, rel=1e-4)


def test_pairs_without_the_language_or_the_text_of_the_teacher_are_rejected(
    student_folder, teacher_folder
):
    pairs = pairs_of(Vocab.load(student_folder), with_text=False)
    with pytest.raises(DataError, match="distillation: the pairs lack their text"):
        loss_of(Distillation(max_length=32, teacher=str(teacher_folder)), student_folder, pairs)
    with pytest.raises(
        SettingsError, match="teacher_language = 'eng', but the pairs are en and"
    ):
        loss_of(Distillation(max_length=32, teacher_language="eng"), student_folder, pairs)


def test_teachers_that_do_not_fit_are_rejected(student_folder, teacher_folder, tmp_path):
    pairs = pairs_of(Vocab.load(student_folder))
    missing = Distillation(max_length=32, teacher=str(tmp_path / "absent"))
    with pytest.raises(CheckpointError, match="absent"):
        loss_of(missing, student_folder, pairs)
    wide = Distillation(max_length=32, teacher=str(student_folder))
    with pytest.raises(
        SettingsError, match="16 dimensions, the dense layer of the start gives 6"
    ):
        loss_of(wide, teacher_folder, pairs_of(Vocab.load(teacher_folder)))
