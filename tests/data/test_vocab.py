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


def _learn(lines, kind):
    return Vocab.learn(lines, 400 if kind == "byte-bpe" else 260, kind=kind)


def test_roles_kinds_and_names_of_ids(vocab):
    assert (vocab.pad, vocab.unk, vocab.begin, vocab.end, vocab.mask) == (0, 1, 2, 3, 4)
    assert vocab.special_ids.tolist() == [0, 1, 2, 3, 4]
    assert vocab.regular_ids.tolist() == list(range(5, vocab.size))
    assert vocab.separator_ids == (vocab.end,)
    assert "size=400" in repr(vocab)
    assert vocab.tokens(vocab.encode(["the doctor"]).ids[0]) == ["▁the", "▁doctor"]
    assert vocab.tokens(vocab.encode(["Ж"]).ids[0])[-2:] == ["<d0>", "<96>"]
    assert vocab.tokens([vocab.mask, 10**6]) == ["<mask>", "<1000000>"]


@pytest.mark.parametrize("kind", KINDS)
def test_words_have_the_same_subwords_everywhere_in_a_line(lines, kind):
    vocab = _learn(lines, kind)
    first, second = vocab.encode(["doctor works", "works doctor"]).ids.to_lists()
    doctor, works = vocab.encode_words(["doctor", "works"]).to_lists()
    assert first == doctor + works
    assert second == works + doctor


@pytest.mark.parametrize("kind", KINDS)
def test_decoding_gives_the_line_back_and_a_size_below_the_alphabet_is_rejected(lines, kind):
    vocab = _learn(lines, kind)
    line = "the old doctor works near Berlin"
    assert vocab.decode([vocab.begin, *vocab.encode([line]).ids[0], vocab.end]) == line
    with pytest.raises(
        DataError, match=r"a vocabulary of 20 subwords is too small.*at least [0-9]+ in all"
    ):
        Vocab.learn(lines, 20, kind=kind)


def test_a_language_without_lines_is_named():
    with pytest.raises(DataError, match="no lines of language 'de'"):
        Vocab.learn({"en": ["some text"], "de": ["", "  "]}, 300)


def test_samples_lines_by_temperature():
    pools = {"en": [f"e{i}" for i in range(900)], "sw": [f"s{i}" for i in range(100)]}
    drawn = {"en": Counter(), "sw": Counter()}
    for sample in tokenizer_training.sample_lines(pools, 0.5, 10**6, 0):
        drawn[sample.language].update(sample.lines * sample.copies)
    assert (drawn["en"].total(), drawn["sw"].total()) == (750, 250)  # 0.9^0.5 : 0.1^0.5 = 3 : 1
    assert drawn["sw"].keys() == set(pools["sw"])
    assert set(drawn["sw"].values()) == {2, 3}


def test_a_reservoir_is_an_even_sample():
    rng = generator(Purpose.SAMPLE, 0)
    hits = np.zeros(60)
    for _ in range(2000):
        kept, count = tokenizer_training._reservoir(map(str, range(60)), 6, rng)
        assert count == 60
        assert len(kept) == len(set(kept)) == 6
        hits[[int(line) for line in kept]] += 1
    assert abs(hits / 2000 - 0.1).max() < 0.035  # five standard deviations


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_vocabularies_are_equal(lines, kind, tmp_path):
    vocab = _learn(lines, kind)
    vocab.save(tmp_path / "vocab")
    again = Vocab.load(tmp_path / "vocab")
    assert again.fingerprint == vocab.fingerprint
    assert again.separator_ids == vocab.separator_ids
    assert [again.pad, again.mask, again.unk] == [vocab.pad, vocab.mask, vocab.unk]
    assert again.encode(lines["zh"]).ids == vocab.encode(lines["zh"]).ids
    again.save(tmp_path / "again")
    for name in ("tokenizer_config.json", "tokenizer.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "vocab" / name).read_bytes()


@pytest.mark.parametrize("model", [None, "bert", "xlm-roberta", "modernbert"])
@pytest.mark.parametrize("kind", KINDS)
def test_plain_transformers_opens_it_with_the_same_ids(lines, kind, model, tmp_path):
    vocab = _learn(lines, kind)
    vocab.save_files(tmp_path)
    if model is not None:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": model}))
    opened = AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=False)
    for line in [*lines["en"], *lines["hi"], " two  blanks"]:
        ids = vocab.encode([line]).ids[0].tolist()
        assert opened(line)["input_ids"] == [vocab.begin, *ids, vocab.end]
    first, second = vocab.encode(["the old", "he works"]).ids.to_lists()
    row = opened("the old", "he works")
    assert row["input_ids"] == [vocab.begin, *first, vocab.end, *second, vocab.end]
    assert set(row) == {"input_ids", "attention_mask"}
    # There a mask in text is a mask, for "fill-mask"; our text is text.
    assert opened("the <mask> reads")["input_ids"].count(vocab.mask) == 1
    assert vocab.mask not in vocab.encode(["the <mask> reads"]).ids.flat
    assert (opened.pad_token_id, opened.mask_token_id, opened.cls_token_id) == (
        vocab.pad,
        vocab.mask,
        vocab.begin,
    )
    assert (opened.sep_token_id, opened.eos_token_id, opened.unk_token_id) == (
        vocab.end,
        vocab.end,
        vocab.unk,
    )


def test_a_tokenizer_saved_by_transformers_keeps_its_fingerprint_and_template(vocab, tmp_path):
    vocab.save(tmp_path / "ours")
    AutoTokenizer.from_pretrained(tmp_path / "ours", trust_remote_code=False).save_pretrained(
        tmp_path / "theirs"
    )
    assert Vocab.load(tmp_path / "theirs").fingerprint == vocab.fingerprint


def test_a_loaded_tokenizer_keeps_its_own_template_and_configuration(vocab, tmp_path):
    vocab.save(tmp_path)
    tokenizer = vocab.tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 3), ("<s>", 2), add_prefix_space=False
    )
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    config = {"cls_token": {"content": "<s>"}, "sep_token": "</s>", "model_max_length": 77}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    loaded = Vocab.load(tmp_path)
    assert loaded.separator_ids == (3, 3)
    assert loaded.encode(["he works in Berlin, he works in Berlin"]).lengths[0] > 4
    loaded.save(tmp_path / "again")
    assert (
        json.loads((tmp_path / "again" / "tokenizer_config.json").read_text())["model_max_length"]
        == 77
    )
    assert Vocab.load(tmp_path / "again").separator_ids == (3, 3)


def test_loads_a_file_with_the_usual_special_tokens(vocab, tmp_path):
    vocab.tokenizer.save(str(tmp_path / "tokenizer.json"))
    loaded = Vocab.load(tmp_path / "tokenizer.json")
    assert (loaded.pad, loaded.begin, loaded.end, loaded.mask) == (0, 2, 3, 4)
    words = {"a": 0, "<pad>": 1, "<s>": 2, "</s>": 3}
    Tokenizer(models.WordLevel(words, unk_token="a")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(DataError, match="has no mask token"):
        _ = Vocab.load(tmp_path).mask
    Tokenizer(models.WordLevel({"a": 0, "<pad>": 1}, unk_token="a")).save(
        str(tmp_path / "tokenizer.json")
    )
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


def test_rejects_damaged_tokenizers(tmp_path, vocab):
    vocab.save(tmp_path / "v")
    (tmp_path / "v" / "tokenizer_config.json").write_text("{")
    (tmp_path / "empty").mkdir()
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0", "model":')
    vocab.save(tmp_path / "template")
    path = tmp_path / "template/tokenizer.json"
    state = json.loads(path.read_text())
    state["post_processor"][
        "special_tokens"
    ] = {}  # `tokenizers` reads it, and panics when it encodes
    path.write_text(json.dumps(state))
    for folder, message in (
        ("vocabb", "no such folder or tokenizer"),
        ("", r"tokenizer\.json: not a tokenizer"),
        ("template", r"tokenizer\.json: not a tokenizer.*no entry"),
        ("v", r"tokenizer_config\.json: damaged: Expecting"),
        ("empty", r"holds no tokenizer\.json"),
    ):
        with pytest.raises(DataError, match=message):
            Vocab.load(tmp_path / folder)


@pytest.mark.parametrize("there", ["folder/thesis.txt", "folder"])
def test_saving_never_replaces_other_files(vocab, tmp_path, there):
    path = tmp_path / there
    path.parent.mkdir(exist_ok=True)
    path.write_text("three years of work")
    with pytest.raises(DataError, match="holds something that is no tokenizer"):
        vocab.save(tmp_path / "folder")
    assert path.read_text() == "three years of work"


def test_a_normalizing_vocabulary_encodes_raw_text_like_normalized_text(tmp_path):
    normalization = Normalization(form="NFKC", lower_case=True, remove_accents=True)
    raw = ["Les \ufb01lles ÉTAIENT là, à Nîmes", "Ça VA"]
    plain = normalization.lines(raw, "fr")
    assert plain == ["les filles etaient la, a nimes", "ca va"]
    learnt = Vocab.learn({"fr": plain * 20}, size=300)
    vocab = learnt.with_normalization(normalization)
    vocab.save(tmp_path / "vocab")
    opened = AutoTokenizer.from_pretrained(tmp_path / "vocab", trust_remote_code=False)
    for read in (vocab, Vocab.load(tmp_path / "vocab")):
        assert read.encode(raw) == learnt.encode(plain)
        assert read.fingerprint != learnt.fingerprint
    assert (
        opened(raw[1], add_special_tokens=False)["input_ids"]
        == learnt.encode(plain[1:]).ids[0].tolist()
    )


def test_normalization_to_nfc_leaves_the_vocabulary_unchanged(vocab):
    assert vocab.with_normalization(Normalization()) is vocab
    assert vocab.with_normalization(Normalization(romanian="strip")) is vocab


@pytest.fixture(scope="module", params=list(CHECKPOINTS))
def plain(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    CHECKPOINTS[request.param][0]().save_pretrained(folder)
    return Vocab.load(folder)


def test_target_languages_get_ids_after_all_others_as_special_tokens(plain):
    vocab, lines = plain.with_target_languages(["en", "zh_cn", "en"]), ["the doctor reads", "x 17"]
    assert vocab.targets == {"en": plain.size, "zh_cn": plain.size + 1}
    assert vocab.target("zh_cn") == plain.size + 1
    assert vocab.size == plain.size + 2
    assert vocab.fingerprint != plain.fingerprint
    assert plain.targets == {}
    assert vocab.encode(lines) == plain.encode(lines)
    extension = vocab.extension
    assert (extension.base, extension.size) == (plain.size, plain.size + 2)
    assert extension.pieces.lengths.tolist() == [0, 0]
    vocab = plain.with_target_languages(["en"])
    assert vocab.target("en") in vocab.special_ids
    assert vocab.target("en") not in vocab.regular_ids
    assert vocab.decode([vocab.target("en"), *vocab.encode(["the"]).ids[0]]).strip() == "the"
    vocab = plain.with_target_languages(["en", "de"])
    assert vocab.with_target_languages(["de", "en"]) is vocab
    assert vocab.with_target_languages(["de", "fr"]).targets == {
        **vocab.targets,
        "fr": plain.size + 2,
    }
    with pytest.raises(DataError, match="no target-language token for 'de'; it has none"):
        plain.target("de")
    with pytest.raises(DataError, match="'en_US'; it has them for de, en_us; did you mean 'en_us'"):
        plain.with_target_languages(["de", "en_us"]).target("en_US")
    with pytest.raises(DataError, match=r"it has them for de, en_us$"):
        plain.with_target_languages(["de", "en_us"]).target("xx")


def test_saved_target_languages_open_in_transformers(plain, tmp_path):
    vocab = plain.with_target_languages(["en", "de"])
    vocab.save(tmp_path / "vocab")
    again = Vocab.load(tmp_path / "vocab")
    assert (again.targets, again.fingerprint) == (vocab.targets, vocab.fingerprint)
    theirs = AutoTokenizer.from_pretrained(tmp_path / "vocab", trust_remote_code=False)
    assert theirs.convert_tokens_to_ids("<2de>") == vocab.target("de")
    assert theirs.decode([vocab.target("de")], skip_special_tokens=True) == ""
