"""Vocabularies: training, loading, saving, target-language tokens."""

import json
from collections import Counter

import numpy as np
import pytest
from tokenizers import Tokenizer, models, processors
from transformers import AutoTokenizer

from interlace.core.errors import DataError
from interlace.core.randomness import Purpose, generator
from interlace.data import tokenizer_training
from interlace.data.vocab import Vocab
from interlace.text.normalization import Normalization
from little_checkpoints import KINDS as CHECKPOINTS

KINDS = ["byte-bpe", "bpe"]


@pytest.fixture(scope="module", params=KINDS)
def learned(request, lines):
    return Vocab.learn(lines, 400 if request.param == "byte-bpe" else 260, kind=request.param)


def opened(folder):
    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


def test_roles_kinds_and_names_of_ids(vocab):
    assert (vocab.pad, vocab.unk, vocab.begin, vocab.end, vocab.mask) == (0, 1, 2, 3, 4)
    assert vocab.special_ids.tolist() == [0, 1, 2, 3, 4]
    assert vocab.regular_ids.tolist() == list(range(5, vocab.size))
    assert vocab.tokens(vocab.encode(["the Ж"]).ids[0])[-2:] == ["<d0>", "<96>"]
    assert vocab.tokens([vocab.mask, 10**6]) == ["<mask>", "<1000000>"]


def test_words_have_the_same_subwords_everywhere_and_decode_to_the_line(learned):
    doctor, works = learned.encode_words(["doctor", "works"]).to_lists()
    line = "doctor works doctor"
    ids = learned.encode([line]).ids[0].tolist()
    assert ids == doctor + works + doctor
    assert learned.decode([learned.begin, *ids, learned.end]) == line


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            {"en": ["some text"]},
            "a vocabulary of 20 subwords is too small.*at least 261 in all",
        ),
        ({"en": ["some text"], "de": ["", "  "]}, "no lines of language 'de'"),
    ],
)
def test_rejects_too_little_text_or_space(lines, message):
    with pytest.raises(DataError, match=message):
        Vocab.learn(lines, 20)


def test_samples_lines_by_temperature():
    pools = {"en": [f"e{i}" for i in range(900)], "sw": [f"s{i}" for i in range(100)]}
    drawn = {"en": Counter(), "sw": Counter()}
    for sample in tokenizer_training.sample_lines(pools, 0.5, 10**6):
        drawn[sample.language].update(sample.lines * sample.copies)
    assert (drawn["en"].total(), drawn["sw"].total()) == (750, 250)  # 0.9^0.5 : 0.1^0.5 = 3 : 1
    assert drawn["sw"].keys() == set(pools["sw"])
    assert set(drawn["sw"].values()) == {2, 3}


def test_a_reservoir_is_an_even_sample():
    rng = generator(Purpose.SAMPLE, 0)
    hits = np.zeros(60)
    for _ in range(2000):
        sample, count = tokenizer_training._reservoir(map(str, range(60)), 6, rng)
        assert (count, len(sample), len(set(sample))) == (60, 6, 6)
        hits[[int(line) for line in sample]] += 1
    assert abs(hits / 2000 - 0.1).max() < 0.035  # five standard deviations


@pytest.mark.parametrize("model", [None, "bert", "xlm-roberta", "modernbert"])
def test_a_saved_vocabulary_has_the_same_ids_here_and_in_transformers(
    learned, lines, model, tmp_path
):
    learned.save(tmp_path / "v")
    assert Vocab.load(tmp_path / "v").fingerprint == learned.fingerprint
    if model is not None:
        (tmp_path / "v" / "config.json").write_text(json.dumps({"model_type": model}))
    plain = opened(tmp_path / "v")
    for line in [*lines["en"], *lines["hi"], " two  blanks"]:
        ids = learned.encode([line]).ids[0].tolist()
        assert plain(line)["input_ids"] == [learned.begin, *ids, learned.end]
    source, target = learned.encode(["the old", "he works"]).ids.to_lists()
    row = plain("the old", "he works")
    assert row["input_ids"] == [learned.begin, *source, learned.end, *target, learned.end]
    assert set(row) == {"input_ids", "attention_mask"}
    # There a mask in text is a mask, for "fill-mask"; our text is text.
    assert plain("the <mask> reads")["input_ids"].count(learned.mask) == 1
    assert learned.mask not in learned.encode(["the <mask> reads"]).ids.flat
    roles = (plain.pad_token_id, plain.mask_token_id, plain.cls_token_id, plain.sep_token_id)
    assert roles == (learned.pad, learned.mask, learned.begin, learned.end)
    plain.save_pretrained(tmp_path / "theirs")
    assert Vocab.load(tmp_path / "theirs").fingerprint == learned.fingerprint


def test_a_loaded_tokenizer_keeps_its_own_template_and_configuration(vocab, tmp_path):
    vocab.save(tmp_path)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 3), ("<s>", 2))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    config = {"cls_token": {"content": "<s>"}, "sep_token": "</s>", "model_max_length": 77}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    Vocab.load(tmp_path).save(tmp_path / "again")
    saved = json.loads((tmp_path / "again" / "tokenizer_config.json").read_text())
    assert saved["model_max_length"] == 77
    assert Vocab.load(tmp_path / "again").separator_ids == (3, 3)


def test_loads_a_file_with_the_usual_special_tokens(vocab, tmp_path):
    path = tmp_path / "tokenizer.json"
    vocab.tokenizer.save(str(path))
    loaded = Vocab.load(path)
    assert (loaded.pad, loaded.begin, loaded.end, loaded.mask) == (0, 2, 3, 4)
    Tokenizer(models.WordLevel({"a": 0, "<pad>": 1}, unk_token="a")).save(str(path))
    with pytest.raises(DataError, match="has no begin and no end token"):
        Vocab.load(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_of_a_megabyte_is_learned_in_pieces(kind):
    lines = ["a cat sees the dog", "some words, then " + "[{:" * 400_000, "[{:" * 1000]
    assert Vocab.learn({"en": lines}, size=300, kind=kind).size <= 300


@pytest.mark.parametrize("number", [10**9, 4_294_967_290])
def test_rejects_ids_that_no_table_of_embeddings_has(tmp_path, vocab, number):
    vocab.save(tmp_path / "v")
    path = tmp_path / "v" / "tokenizer.json"
    state = json.loads(path.read_text())
    state["model"]["vocab"][next(reversed(state["model"]["vocab"]))] = number
    path.write_text(json.dumps(state))
    with pytest.raises(DataError, match=f"has the id {number}; at most"):
        Vocab.load(tmp_path / "v")


def test_rejects_a_template_without_tokens(tmp_path, vocab):
    """`tokenizers` reads it, and panics when it encodes."""
    vocab.save(tmp_path)
    state = json.loads((tmp_path / "tokenizer.json").read_text())
    state["post_processor"]["special_tokens"] = {}
    (tmp_path / "tokenizer.json").write_text(json.dumps(state))
    with pytest.raises(DataError, match=r"tokenizer\.json: not a tokenizer.*no entry"):
        Vocab.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tokenizer.json", '{"model":', r"tokenizer\.json: not a tokenizer"),
        ("tokenizer_config.json", "{", r"tokenizer_config\.json: damaged: Expecting"),
        ("tokenizer.json", None, r"holds no tokenizer\.json"),
    ],
)
def test_rejects_damaged_tokenizers(tmp_path, vocab, name, content, message):
    vocab.save(tmp_path / "v")
    path = tmp_path / "v" / name
    path.unlink()
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match=message):
        Vocab.load(tmp_path / "v")


@pytest.mark.parametrize("name", ["folder/thesis.txt", "folder"])
def test_saving_never_replaces_other_files(vocab, tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("three years of work")
    with pytest.raises(DataError, match="holds something that is no tokenizer"):
        vocab.save(tmp_path / "folder")
    assert path.read_text() == "three years of work"


def test_a_normalizing_vocabulary_encodes_raw_text_like_normalized_text(tmp_path):
    normalization = Normalization(form="NFKC", lower_case=True, remove_accents=True)
    raw = ["Les \ufb01lles ÉTAIENT là, à Nîmes", "Ça VA"]
    normalized = ["les filles etaient la, a nimes", "ca va"]
    learned = Vocab.learn({"fr": normalized * 20}, size=300)
    vocab = learned.with_normalization(normalization)
    vocab.save(tmp_path / "vocab")
    for again in (vocab, Vocab.load(tmp_path / "vocab")):
        assert again.encode(raw) == learned.encode(normalized)
        assert again.fingerprint != learned.fingerprint
    ids = opened(tmp_path / "vocab")(raw[1], add_special_tokens=False)["input_ids"]
    assert ids == learned.encode(normalized[1:]).ids[0].tolist()
    assert vocab.with_normalization(Normalization()) is vocab  # NFC


@pytest.fixture(scope="module", params=list(CHECKPOINTS))
def plain(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    CHECKPOINTS[request.param][0]().save_pretrained(folder)
    return Vocab.load(folder)


def test_target_languages_get_ids_after_all_others_as_special_tokens(plain, tmp_path):
    vocab = plain.with_target_languages(["en", "zh_cn", "en"])
    assert plain.targets == {}
    assert vocab.targets == {"en": plain.size, "zh_cn": plain.size + 1}
    assert (vocab.target("zh_cn"), vocab.size) == ((plain.size + 1,), plain.size + 2)
    assert vocab.encode(["the doctor reads"]) == plain.encode(["the doctor reads"])
    assert vocab.origin.base == plain.size
    assert vocab.origin.pieces.lengths.tolist() == [0, 0]
    assert vocab.targets["en"] in np.setdiff1d(vocab.special_ids, vocab.regular_ids)
    assert vocab.decode([vocab.targets["en"], *vocab.encode(["the"]).ids[0]]).strip() == "the"
    assert vocab.with_target_languages(["zh_cn", "en"]) is vocab
    more = vocab.with_target_languages(["zh_cn", "fr"])
    assert more.targets == {**vocab.targets, "fr": plain.size + 2}
    vocab.save(tmp_path / "vocab")
    again = Vocab.load(tmp_path / "vocab")
    assert (again.targets, again.fingerprint) == (vocab.targets, vocab.fingerprint)
    theirs = opened(tmp_path / "vocab")
    assert theirs.convert_tokens_to_ids("<2en>") == vocab.targets["en"]
    assert theirs.decode([vocab.targets["en"]], skip_special_tokens=True) == ""
    with pytest.raises(
        DataError, match="'zh_CN'; it has them for en, zh_cn; did you mean 'zh_cn'"
    ):
        vocab.target("zh_CN")
