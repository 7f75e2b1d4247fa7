"""Tables of a checkpoint grow for new subwords; what it computed from old text it still does."""

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoModelForMaskedLM, AutoTokenizer

from interlace.core.ragged import Ragged
from interlace.data.extension import extend_vocab
from interlace.data.vocab import Origin, Vocab
from interlace.models.build import load
from interlace.models.token_embeddings import fit_embeddings
from little_checkpoints import ENGLISH, KINDS, OTHER, save

NUMBER = 24


@pytest.fixture(scope="module", params=list(KINDS))
def start(request, tmp_path_factory):
    """A checkpoint, its vocabulary, and that with more subwords."""
    folder = save(request.param, tmp_path_factory.mktemp("start"))
    old = Vocab.load(folder)
    return (
        folder,
        old,
        extend_vocab(old, {"xx": [" ".join(OTHER), *OTHER] * 3}, NUMBER, min_count=2),
    )


def logits(folder, line):
    """(L, V) of plain transformers with the folder's own tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    inputs = tokenizer(line, return_tensors="pt", return_token_type_ids=False)
    with torch.no_grad():
        return (
            AutoModelForMaskedLM.from_pretrained(folder, trust_remote_code=False)
            .eval()(**inputs)
            .logits[0]
        )


def test_predictions_on_old_text_are_unchanged(start, tmp_path):
    folder, old, new = start
    line = "the " + " ".join(ENGLISH[8:11])
    assert max(new.encode([line]).ids.flat) < old.size
    out = load(folder, new).save_pretrained(tmp_path / "out", new)
    before, after = logits(folder, line), logits(out, line)
    assert after.shape[1] >= new.size
    torch.testing.assert_close(after[:, : old.size], before[:, : old.size])


def bert(rows, **more):
    sizes = {
        "hidden_size": 2,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "intermediate_size": 2,
    }
    return transformers.BertForMaskedLM(
        transformers.BertConfig(vocab_size=rows, **sizes, **more)
    )


def by_hand(base, *pieces):
    return Origin(base, np.arange(base), Ragged.of(list(pieces)))


@pytest.mark.parametrize(
    ("rows", "base", "new", "expected"),
    [
        (10, 10, 3, 13),
        (16, 10, 3, 16),  # spare rows are taken
        (16, 10, 7, 17),
    ],
)
def test_rows_of_the_table(rows, base, new, expected):
    model = bert(rows)
    fit_embeddings(model, by_hand(base, *[[1, 2]] * new), 0)
    assert model.get_input_embeddings().weight.shape[0] == expected
    assert model.config.vocab_size == expected
    assert model.cls.predictions.bias.shape == (expected,)


def test_rows_of_unused_new_and_untied_subwords():
    model = bert(16)
    table = model.get_input_embeddings().weight
    table.data[:] = torch.tensor([3.0, -3.0]) + 0.01 * torch.randn(16, 2)
    table.data[10:] = torch.tensor([5.0, 7.0])
    fit_embeddings(model, by_hand(10, [], [4], *[[1, 2]] * 5), 0)
    rows = model.get_input_embeddings().weight.detach()
    torch.testing.assert_close(rows[10], torch.tensor([3.0, -3.0]), atol=0.1, rtol=0)
    assert not torch.equal(rows[10], rows[:10].mean(0))
    assert torch.equal(rows[11], rows[4])
    torch.testing.assert_close(rows[12:17], rows[[1, 2]].mean(0).expand(5, 2))
    assert len(rows) == 17
    model = bert(10, tie_word_embeddings=False)
    fit_embeddings(model, by_hand(10, [1, 3]), 0)
    for untied in (model.get_input_embeddings().weight, model.get_output_embeddings().weight):
        torch.testing.assert_close(untied[10], untied[[1, 3]].mean(0))


def test_the_seed_draws_the_rows_of_tokens_that_nothing_spelled():
    table = torch.randn(500, 2)
    drawn = []
    for seed in (1, 1, 2):
        model = bert(500)
        model.get_input_embeddings().weight.data[:] = table
        fit_embeddings(model, by_hand(500, *[[]] * 100), seed)
        drawn.append(model.get_input_embeddings().weight.detach()[500:])
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert 0.5 < drawn[0].std() / table.std() < 2
