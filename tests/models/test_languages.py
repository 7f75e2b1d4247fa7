from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from interlace.errors import SettingsError
from interlace.models.languages import append, fold, known


def bert(**more: Any) -> Any:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=10, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4, **more
    )
    return transformers.BertForMaskedLM(config)


def xlm(**more: Any) -> Any:
    config = transformers.XLMConfig(vocab_size=10, emb_dim=4, n_layers=1, n_heads=1, **more)
    return transformers.XLMWithLMHeadModel(config)


def rows(model: Any) -> torch.Tensor:
    return model.base_model.embeddings.token_type_embeddings.weight.detach()


def test_new_rows_start_as_copies_of_row_zero() -> None:
    model = bert()
    before = rows(model).clone()
    append(model, ["en", "de", "en"])
    assert known(model.config) == {"en": 2, "de": 3}
    assert model.config.type_vocab_size == 4
    assert torch.equal(rows(model)[:2], before)
    assert torch.equal(rows(model)[2:], before[[0, 0]])
    assert rows(model).shape == (4, 4)


def test_noise_comes_from_the_generator_handed_in() -> None:
    first, again, other = bert(), bert(), bert()
    for model, seed in ((first, 1), (again, 1), (other, 2)):
        append(model, ["en"], np.random.default_rng(seed))
    assert torch.equal(rows(first), rows(again))
    assert not torch.equal(rows(first), rows(other))
    expected = rows(first)[0] + torch.from_numpy(np.random.default_rng(1).normal(scale=0.02, size=4)).float()
    torch.testing.assert_close(rows(first)[2], expected)


def test_known_languages_are_not_added_again() -> None:
    model = bert()
    append(model, ["en"])
    table = rows(model)
    append(model, ["en"])
    assert rows(model).data_ptr() == table.data_ptr()


def test_gradients_reach_the_new_rows() -> None:
    model = bert()
    append(model, ["en", "de"])
    ids = torch.tensor([[1, 2, 3]])
    model(input_ids=ids, token_type_ids=torch.tensor([[2, 2, 3]])).logits.square().sum().backward()
    gradient = model.base_model.embeddings.token_type_embeddings.weight.grad
    assert gradient.abs().sum(dim=1).gt(0).tolist() == [False, False, True, True]


def test_folding_by_hand() -> None:
    """Row 0 becomes the language, row 1 keeps its distance from row 0, languages stay."""
    model = bert()
    append(model, ["en", "de"])
    name = "bert.embeddings.token_type_embeddings.weight"
    table = torch.tensor([[1.0, 0, 0, 0], [3.0, 1, 0, 0], [5.0, 5, 5, 5], [7.0, 0, 7, 0]])
    folded = fold(model, {name: table}, "de")[name]
    assert folded.tolist() == [[7.0, 0, 7, 0], [9.0, 1, 7, 0], [5.0, 5, 5, 5], [7.0, 0, 7, 0]]
    assert table[0].tolist() == [1.0, 0, 0, 0]


def test_xlm_keeps_its_own_names() -> None:
    model = xlm(n_langs=2, lang2id={"en": 0, "de": 1})
    assert known(model.config) == {"en": 0, "de": 1}
    append(model, ["sw"])
    assert known(model.config) == {"en": 0, "de": 1, "sw": 2}
    assert model.config.n_langs == 3
    assert model.config.id2lang == {"0": "en", "1": "de", "2": "sw"}
    assert model.transformer.lang_embeddings.weight[2].abs().sum() == 0  # adds what no id adds: nothing


def test_families_without_a_table_refuse() -> None:
    with pytest.raises(SettingsError, match="XLM checkpoint without them"):
        append(xlm(n_langs=1), ["en"])


def test_languages_of_a_configuration_that_has_none() -> None:
    assert known(SimpleNamespace(model_type="bert")) == {}
    assert known(SimpleNamespace(model_type="modernbert", interlace_languages={"en": 1})) == {}
    assert known(SimpleNamespace(model_type="xlm", n_langs=1, use_lang_emb=True, lang2id={"en": 0})) == {}
