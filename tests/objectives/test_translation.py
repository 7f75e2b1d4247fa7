"""Translation and denoising: batches and losses by hand."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from interlace.data import Pairs
from interlace.objectives import Resources
from interlace.objectives.denoise import Denoise
from interlace.objectives.translation import Translation
from little_seq2seq import NAMED, PLAIN, VOCAB, WORDS, model, sentences, texts

PAIRS = Pairs(
    sentences(["the old doctor reads", "the doctor"]),
    sentences(["der alte Arzt", "der Arzt liest"], "de"),
)
FORWARD = Translation(directions="forward")


def made(objective, examples=PAIRS, traits=PLAIN, step=0, key=0):
    return objective.batch(
        examples, objective.prepare(Resources(VOCAB, traits)), step, np.random.default_rng(key)
    )


def test_batch_by_hand():
    batch = made(FORWARD)
    assert texts(batch.inputs["input_ids"]) == [
        "<s> the old doctor reads </s>",
        "<s> the doctor </s>",
    ]
    assert texts(batch.extra["decoder_ids"]) == ["<2de> der alte Arzt", "<2de> der Arzt liest"]
    predicted = [WORDS[number] for number in batch.labels]
    assert predicted == "der alte Arzt </s> der Arzt liest </s>".split()
    assert [place.tolist() for place in batch.at] == [[0] * 4 + [1] * 4, [0, 1, 2, 3] * 2]
    assert batch.counts == {"translation": 8, "nll": 8}
    assert batch.languages == {"de": 8, "en": 10}
    assert batch.tokens == 18


def test_backward_direction_and_both_equally_often():
    batch = made(Translation(directions="backward"))
    assert texts(batch.inputs["input_ids"])[1] == "<s> der Arzt liest </s>"
    assert texts(batch.extra["decoder_ids"]) == [
        "<2en> the old doctor reads",
        "<2en> the doctor",
    ]
    assert batch.languages == {"de": 10, "en": 8}
    # processes sum them by position
    assert list(batch.languages) == list(made(FORWARD).languages)
    ways = [made(Translation(), key=key).languages["de"] for key in range(200)]
    assert ways.count(8) / 200 == pytest.approx(0.5, abs=0.1)


def test_truncated_rows_have_no_end_and_empty_ones_nothing_else():
    long = sentences(["the old doctor reads three letters the old doctor", "the"])
    batch = made(Translation(directions="forward", max_length=8), Pairs(long, long))
    assert texts(batch.inputs["input_ids"])[0] == "<s> the old doctor reads three letters </s>"
    assert (
        texts(batch.extra["decoder_ids"])[0] == "<2en> the old doctor reads three letters the"
    )
    assert [WORDS[number] for number in batch.labels].count("</s>") == 1
    assert WORDS[batch.labels[-1]] == "</s>"
    batch = made(FORWARD, Pairs(sentences(["the"]), sentences([""], "de")))
    assert (batch.labels.tolist(), batch.at[1].tolist()) == ([VOCAB.end], [0])


def by_hand(net, batch, smoothing):
    """The loss of each row by itself, without padding."""
    total, plain = 0.0, 0.0
    for row in range(len(batch.inputs["input_ids"])):
        read = [number for number in batch.inputs["input_ids"][row] if number != VOCAB.pad]
        written = [number for number in batch.extra["decoder_ids"][row] if number != VOCAB.pad]
        states = net.encode({"input_ids": torch.tensor([read])})
        hidden = net.decode(states, None, {"input_ids": torch.tensor([written])})
        scored = net.logits(hidden[0]), torch.tensor([*written[1:], VOCAB.end])
        plain += cross_entropy(*scored, reduction="sum").item()
        total += cross_entropy(*scored, reduction="sum", label_smoothing=smoothing).item()
    return total, plain


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_loss_equals_that_of_single_rows(family):
    batch, net = made(FORWARD), model(family, init_std=0.3).eval()
    with torch.no_grad():
        terms = FORWARD.loss(net, nn.ModuleDict(), batch.to(torch.device("cpu")))
        total, plain = by_hand(net, batch, 0.1)
    assert terms["translation"].total.item() == pytest.approx(total, rel=1e-4)
    assert terms["nll"].total.item() == pytest.approx(plain, rel=1e-4)
    assert (terms["translation"].weight, terms["nll"].weight) == (1, 0)
    assert plain != pytest.approx(total, rel=1e-3)
    measured = FORWARD.for_evaluation().loss(
        net, nn.ModuleDict(), batch.to(torch.device("cpu"))
    )
    assert measured["translation"].total.item() == pytest.approx(plain, rel=1e-4)


def test_denoising_writes_the_original_sentence():
    line = "the old doctor reads three letters"
    batch = made(Denoise(), sentences([line] * 40), NAMED)
    assert set(texts(batch.extra["decoder_ids"])) == {f"<2en> {line}"}
    read = texts(batch.inputs["input_ids"])
    assert len(set(read)) > 20
    assert all(row.startswith("<s> ") and row.endswith(" </s>") for row in read)
    assert (
        set(batch.extra["decoder_languages"][0])
        == set(batch.inputs["token_type_ids"][0])
        == {2}
    )
    assert batch.counts == {"denoise": 40 * 7}
    assert batch.languages == {"en": batch.tokens}
