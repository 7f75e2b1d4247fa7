"""Back-translation: reads the model's own translation, writes the real sentence."""

import numpy as np
import pytest
import torch
from torch import nn

from interlace.core.errors import SettingsError
from interlace.objectives import Resources
from interlace.objectives.back_translation import BackTranslation, copied_share
from little_seq2seq import ID, PLAIN, TARGETS, VOCAB, WORDS, model, sentences, texts

CPU = torch.device("cpu")
LINES = ["der alte Arzt liest", "der Arzt", "drei Briefe liest der Arzt"]
TEXT = sentences(LINES, "de")


def made(objective, traits=PLAIN, key=0, text=TEXT):
    prepared = objective.prepare(Resources(VOCAB, traits))
    return objective.batch(text, prepared, 0, np.random.default_rng(key))


def seen_by(net, monkeypatch):
    """A list of what the encoder reads from now on."""
    read, encode = [], net.encode

    def watched(inputs, **options):
        read.append((dict(inputs), net.training, torch.is_grad_enabled()))
        return encode(inputs, **options)

    monkeypatch.setattr(net, "encode", watched)
    return read


def by_hand(net, row, limit):
    """The most probable tokens after `<2en>`; the whole row is decoded again for each."""
    states, found = net.encode({"input_ids": torch.tensor([row])}), [ID["<2en>"]]
    while len(found) <= limit:
        scores = net.logits(
            net.decode(states, None, {"input_ids": torch.tensor([found])})[0, -1:]
        )[0]
        scores[[number for number in VOCAB.special_ids if number != VOCAB.end]] = -torch.inf
        found.append(int(scores.argmax()))
        if found[-1] == VOCAB.end:
            return found[1:-1]
    return found[1:]


def test_batch_by_hand():
    batch = made(BackTranslation())
    assert texts(batch.inputs["input_ids"]) == [f"<s> {line} </s>" for line in LINES]
    assert texts(batch.extra["decoder_ids"]) == [f"<2de> {line}" for line in LINES]
    assert batch.extra["target"].tolist() == [ID["<2en>"]]
    assert batch.extra["limits"].tolist() == [10, 7, 11]  # int(1.3 n + 5)
    assert batch.counts == {"back_translation": 14, "copied_share": 3, "length_ratio": 11}
    assert batch.languages == {"de": batch.tokens}


def test_reads_the_models_greedy_translation(monkeypatch):
    net, batch = model(init_std=0.4, dropout=0.5), made(BackTranslation(max_length=12)).to(CPU)
    net.train()
    read = seen_by(net, monkeypatch)
    terms = BackTranslation(max_length=12).loss(net, nn.ModuleDict(), batch)
    (first, training, gradient), (second, again, with_gradient) = read
    assert (training, gradient, again, with_gradient) == (False, False, True, True)
    assert net.training
    assert torch.equal(first["input_ids"], batch.inputs["input_ids"])
    net.eval()
    with torch.no_grad():
        rows = [[ID[word] for word in f"<s> {line} </s>".split()] for line in LINES]
        expected = [
            by_hand(net, row, limit)
            for row, limit in zip(rows, batch.extra["limits"].tolist(), strict=True)
        ]
    assert len(set(map(len, expected))) > 1  # so that padding matters
    assert texts(second["input_ids"]) == [
        "<s> " + " ".join(WORDS[i] for i in [*row, VOCAB.end]) for row in expected
    ]
    assert terms["length_ratio"].total == sum(map(len, expected))
    assert terms["copied_share"].weight == terms["length_ratio"].weight == 0


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_second_pass_has_gradients_under_autocast(family):
    """Weights cast in the first pass, without gradients, are not reused."""
    net, batch = model(family), made(BackTranslation()).to(CPU)

    def gradients(precision):
        net.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            BackTranslation().loss(net, nn.ModuleDict(), batch)[
                "back_translation"
            ].total.backward()
        return {
            name
            for name, weight in net.named_parameters()
            if weight.grad is not None and weight.grad.any()
        }

    assert gradients("bf16") == gradients("no")


def test_language_ids_of_both_passes(monkeypatch):
    net = model(languages=("en", "de"))
    batch = made(BackTranslation(), net.traits).to(CPU)
    read = seen_by(net, monkeypatch)
    BackTranslation().loss(net, nn.ModuleDict(), batch)
    first, second = (given["token_type_ids"] for given, _, _ in read)
    assert set(first.unique().tolist()) == {net.traits.languages["de"]}
    assert set(second.unique().tolist()) == {net.traits.languages["en"]}
    assert set(batch.extra["decoder_languages"].unique().tolist()) == {
        net.traits.languages["de"]
    }


def test_draws_one_of_the_other_languages(monkeypatch):
    monkeypatch.setitem(TARGETS, "xx", 3)
    asked = {made(BackTranslation(), key=key).extra["target"][0] for key in range(30)}
    assert asked == {ID["<2en>"], 3}


def test_rejects_languages_without_another_or_without_a_target_token(monkeypatch):
    with pytest.raises(
        SettingsError, match=r"no language to translate .de. into.* intermediate_languages"
    ):
        made(BackTranslation(intermediate_languages=["de"]))
    monkeypatch.setattr(VOCAB, "target", lambda language: TARGETS[language])
    with pytest.raises(KeyError, match="xx"):
        made(BackTranslation(intermediate_languages=["xx"]))


def test_copied_share():
    """Repetitions count as often as in the source."""
    ids = [[7, 8, 9, 1, 1, 1], [7, 1, 1, 1, 1, 1], [1] * 6, [7] * 6, [7, 8, 7, 8, 1, 1]]
    source = [[0, 9, 7, 2], [0, 8, 2, 1], [0, 2, 1, 1], [0, 7, 8, 2], [7, 7, 8, 9]]
    found = copied_share(torch.tensor(ids), torch.tensor([3, 1, 0, 6, 4]), torch.tensor(source))
    assert found.tolist() == pytest.approx([2 / 3, 0, 0, 1 / 6, 3 / 4])
