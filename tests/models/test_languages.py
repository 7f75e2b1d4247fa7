from types import SimpleNamespace

import pytest
import torch
import transformers

from interlace.core.errors import SettingsError
from interlace.models.families import language_ids
from interlace.models.languages import add_languages, fold_weights, map_languages


def bert(**more):
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 4,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "intermediate_size": 4,
    }
    return transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=10, **sizes, **more))


def xlm(**more):
    config = transformers.XLMConfig(vocab_size=10, emb_dim=4, n_layers=1, n_heads=1, **more)
    return transformers.XLMWithLMHeadModel(config)


def rows(model):
    return model.base_model.embeddings.token_type_embeddings.weight.detach()


def test_folding_by_hand():
    """Row 0 becomes the language, row 1 keeps its distance from row 0, languages stay."""
    model = bert()
    add_languages(model, ["en", "de"])
    name = "bert.embeddings.token_type_embeddings.weight"
    table = torch.tensor([[1.0, 0, 0, 0], [3.0, 1, 0, 0], [5.0, 5, 5, 5], [7.0, 0, 7, 0]])
    folded = fold_weights(model, {name: table}, "de")[name]
    assert folded.tolist() == [[7.0, 0, 7, 0], [9.0, 1, 7, 0], [5.0, 5, 5, 5], [7.0, 0, 7, 0]]
    assert table[0].tolist() == [1.0, 0, 0, 0]


def test_xlm_keeps_its_own_names():
    model = xlm(n_langs=2, lang2id={"en": 0, "de": 1})
    add_languages(model, ["sw"])
    assert language_ids(model.config) == {"en": 0, "de": 1, "sw": 2}
    assert model.config.n_langs == 3
    assert table_of(model)[2].abs().sum() == 0  # adds what no id adds: nothing
    with pytest.raises(SettingsError, match="this xlm model cannot take"):
        add_languages(xlm(n_langs=1), ["en"])


def test_a_family_without_language_embeddings_has_no_languages():
    config = SimpleNamespace(model_type="modernbert", interlace_languages={"en": 1})
    assert language_ids(config) == {}


def table_of(model):
    return model.transformer.lang_embeddings.weight.detach()


def xnli():
    torch.manual_seed(0)
    return xlm(n_langs=3, lang2id={"de": 0, "en": 1, "zh": 2})


def test_a_language_is_another_name_or_the_mean_of_the_others():
    model = xnli()
    before = table_of(model).clone()
    map_languages(model, ["en", "zh_cn", "sw"], {"zh_cn": "zh"})
    assert language_ids(model.config) == {"de": 0, "en": 1, "zh": 2, "zh_cn": 2, "sw": 3}
    table = table_of(model)
    assert torch.equal(table[:3], before)  # order and values of the checkpoint
    torch.testing.assert_close(table[3], before.mean(0))
    assert model.config.id2lang == {"0": "de", "1": "en", "2": "zh", "3": "sw"}


def test_maps_languages_of_bert_checkpoints():
    """BERT's rows of segments are no languages: they have no part in the mean."""
    model = bert()
    add_languages(model, ["en", "de"])
    model.base_model.embeddings.token_type_embeddings.weight.data[2:] = torch.tensor(
        [[1.0] * 4, [3.0] * 4]
    )
    map_languages(model, ["en", "lt", "gsw"], {})
    assert language_ids(model.config) == {"en": 2, "de": 3, "lt": 4, "gsw": 5}
    assert rows(model)[4:].tolist() == [[2.0] * 4] * 2


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"zh_cn": "zhh"},
            r"model\.language_names\.zh_cn: .*no language embedding for 'zhh'.*'zh'",
        ),
        ({"de": "en"}, r"has its own 'de'"),
    ],
)
def test_rejects_unknown_language_names(names, message):
    with pytest.raises(SettingsError, match=message):
        map_languages(xnli(), ["gsw"], names)
