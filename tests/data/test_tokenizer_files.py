"""Tokenizers from folders and the hub, and of XLM's own files."""

import json
import re
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants, errors
from transformers import AutoTokenizer, XLMTokenizer

from interlace.core.errors import CheckpointError, DataError
from interlace.data.vocab import Vocab
from interlace.models.build import load
from interlace.text.normalization import Normalization
from little_checkpoints import save
from little_translators import LINES, little_vocab

NAME = "somebody/little"


@pytest.fixture
def downloads(tmp_path, monkeypatch):
    """An empty folder of downloads, and no network (which no test has)."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "hub"


def test_uses_a_downloaded_tokenizer(downloads):
    repository = downloads / "models--somebody--little"
    save("mbert", repository / "snapshots" / "abc")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    vocab = Vocab.load(NAME)
    assert load(NAME, vocab).vocab_size == vocab.size


def changed_tokenizer(folder, **parts):
    little_vocab().save(folder)
    state = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(state | parts))
    return folder


@pytest.mark.parametrize("strategy", [{"Fixed": 2_000_000_000}, "BatchLongest"])
def test_padding_and_truncation_are_removed_before_the_first_use(tmp_path, strategy):
    padding = {"strategy": strategy, "direction": "Right", "pad_to_multiple_of": 1 << 31}
    padding |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}
    truncation = {
        "direction": "Right",
        "max_length": 4,
        "strategy": "LongestFirst",
        "stride": 3,
    }
    vocab = Vocab.load(
        changed_tokenizer(tmp_path / "t", padding=padding, truncation=truncation)
    )
    line = ["a b c d e f g h"]
    assert vocab.encode(line).ids == little_vocab().encode(line).ids


def split(expression):
    return {
        "type": "Split",
        "pattern": {"Regex": expression},
        "behavior": "Isolated",
        "invert": False,
    }


def replace(expression, content="b"):
    return {"type": "Replace", "pattern": {"Regex": expression}, "content": content}


UNTRIED = r"(?<=t\p{L}t)(a+)+$"  # slow only on a text that is not tried


@pytest.mark.parametrize(
    "parts",
    [
        {"pre_tokenizer": split(UNTRIED)},
        {"normalizer": replace(UNTRIED)},
        {"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, replace(UNTRIED)]}},
    ],
)
def test_a_regular_expression_that_the_library_gives_up_is_an_error(tmp_path, parts):
    folder = changed_tokenizer(tmp_path / "t", **parts)
    vocab = Vocab.load(folder)
    fault = "the tokenizer fails on this text: Onig: .*; see the regular expressions"
    if "decoder" in parts:
        letters = [vocab.tokenizer.token_to_id(letter) for letter in "tat" + "a" * 100 + "t"]
        with pytest.raises(DataError, match=f"^{folder}: {fault}"):
            vocab.decode(letters)
    else:
        with pytest.raises(DataError, match=fault):
            vocab.encode(["b", f"tat{'a' * 100}!"])


SLOW = "a*a*a*[bc]"  # cubic in the length of the text, so that the library does not give it up
MANY = {"type": "Sequence", "normalizers": [replace(f"{n}+") for n in range(60)]}


@pytest.mark.parametrize(
    ("parts", "expression", "fault"),
    [
        ({"pre_tokenizer": split("(a+)+$")}, "'(a+)+$'", "fails on a text of 1,000 characters"),
        ({"decoder": replace("q(a|aa)+$")}, "'q(a|aa)+$'", "1,000 characters, 'qa"),
        ({"pre_tokenizer": split(SLOW)}, f"'{SLOW}'", "takes more than 5 s"),
        (
            {"pre_tokenizer": split("a" * 20_000)},
            "of 20,000 characters",
            "expected at most 10,000",
        ),
        ({"normalizer": MANY}, "60 regular expressions", "expected at most 50"),
    ],
)
def test_a_regular_expression_that_takes_long_is_named(tmp_path, parts, expression, fault):
    message = rf"tokenizer\.json: .*{re.escape(expression)}.*{re.escape(fault)}"
    with pytest.raises(DataError, match=message):
        Vocab.load(changed_tokenizer(tmp_path / "t", **parts))


@pytest.mark.parametrize("kind", ["byte-bpe", "bpe"])
def test_well_known_regular_expressions_are_not_tried(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("interlace.data.expressions.guarded_results", None)
    normalization = Normalization(lower_case=True, remove_accents=True, form="NFKC")
    vocab = Vocab.learn({"en": LINES * 4}, size=400, kind=kind).with_normalization(
        normalization
    )
    vocab.save(tmp_path / "t")
    assert Vocab.load(tmp_path / "t").fingerprint == vocab.fingerprint


@pytest.mark.parametrize(
    "name", ["tokenizer.json", "tokenizer_config.json", "added_tokens.json", "vocab.txt"]
)
def test_a_file_of_a_tokenizer_that_is_too_long_is_not_read(tmp_path, name):
    little_vocab().save(tmp_path / "t")
    if name == "vocab.txt":  # which is converted
        (tmp_path / "t" / "tokenizer.json").unlink()
    with (tmp_path / "t" / name).open("ab") as file:
        file.truncate((256 << 20) + 1)
    message = rf"{name}: 268,435,457 bytes; expected at most 268,435,456"
    with pytest.raises(DataError, match=message):
        Vocab.load(tmp_path / "t")


BEGIN = {"SpecialToken": {"id": "<s>", "type_id": 0}}
END = {"SpecialToken": {"id": "</s>", "type_id": 0}}
FIRST = {"Sequence": {"id": "A", "type_id": 0}}


@pytest.mark.parametrize(
    ("single", "texts", "nested"),
    [
        ([BEGIN, END], [], False),
        ([BEGIN, END], [], True),
        ([BEGIN, FIRST, END, FIRST], ["A", "A"], False),
    ],
)
def test_a_template_without_the_text_is_named(tmp_path, single, texts, nested):
    processor = json.loads(little_vocab().tokenizer.to_str())["post_processor"]
    processor["single"] = single
    if nested:
        processor = {"type": "Sequence", "processors": [processor]}
    message = f"post_processor: the template `single` has the texts {texts}; expected A once"
    with pytest.raises(DataError, match=re.escape(message)):
        Vocab.load(changed_tokenizer(tmp_path / "t", post_processor=processor))


@pytest.mark.parametrize(
    "parts",
    [
        {"normalizer": replace(".", "")},
        {"normalizer": replace(".", "\u4e00")},
        {"pre_tokenizer": split(".") | {"behavior": "Removed"}},
    ],
)
def test_a_tokenizer_that_encodes_no_text_is_named(tmp_path, parts):
    with pytest.raises(
        DataError,
        match=r"/t: the tokenizer encodes all texts of its own tokens alike: to nothing",
    ):
        Vocab.load(changed_tokenizer(tmp_path / "t", **parts))


def doubled(text, factor=2):
    return {"type": "Replace", "pattern": {"String": text}, "content": text * factor}


@pytest.mark.parametrize(
    ("part", "steps"),
    [
        ("normalizer", [replace(".", "xx")] * 60),
        ("normalizer", [doubled("ж")] * 20),
        ("normalizer", [{"type": "Sequence", "normalizers": [doubled("e", 10_000)]}] * 9),
        ("normalizer", [{"type": "NFC"}, *[doubled("x")] * 40]),
        ("decoder", [doubled("a")] * 30),
    ],
)
@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.4.0.0.json"])
def test_a_part_that_lengthens_text_without_bound_is_named(tmp_path, part, steps, name):
    state = {part: {"type": "Sequence", f"{part}s": steps}}
    folder = changed_tokenizer(tmp_path / "t", **state)
    if name != "tokenizer.json":
        (folder / "tokenizer.json").rename(folder / name)
        kind = {"tokenizer_class": "PreTrainedTokenizerFast", "fast_tokenizer_files": [name]}
        (folder / "tokenizer_config.json").write_text(json.dumps(kind))
    message = rf"its {part} makes [\d,]+ characters of \d+; expected"
    with pytest.raises(DataError, match=message):
        Vocab.load(str(folder))


LOADERS = pytest.mark.parametrize(
    ("load_it", "kind"), [(Vocab.load, DataError), (load, CheckpointError)]
)


@pytest.mark.usefixtures("downloads")
@LOADERS
def test_a_mistyped_or_missing_name_is_named_with_its_remedy(load_it, kind):
    Path("runs/x").mkdir(parents=True)
    for name, message in (
        (
            NAME,
            rf"'{NAME}': no such folder, .* the hub cannot be reached.*`hf download {NAME} ",
        ),
        ("runs/xx", r"^runs/xx: no such folder( or tokenizer)?; did you mean 'x'\?$"),
        ("runz/x", r"^'runz/x': no such folder, not in the cache .*; did you mean 'runs'\?$"),
    ):
        with pytest.raises(kind, match=message):
            load_it(name)


def test_reports_repositories_that_the_hub_refuses(monkeypatch):
    def refuse(*_args, **_options):
        raise errors.GatedRepoError.__new__(errors.GatedRepoError)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(DataError, match="the Hugging Face hub refuses it: no such repository"):
        Vocab.load(NAME)


def test_rejects_a_checkpoint_without_a_tokenizer(tmp_path):
    """For such kinds transformers builds a tokenizer of special tokens only."""
    (tmp_path / "config.json").write_text('{"model_type": "bert", "vocab_size": 300}')
    with pytest.raises(
        DataError, match=r"holds no fast tokenizer; put the checkpoint's own tokenizer\.json"
    ):
        Vocab.load(str(tmp_path))


TOKENS = ["<s>", "</s>", "<pad>", "<unk>", *(f"<special{number}>" for number in range(10))]
LETTERS = [form for letter in "abcdeghlort.,'" for form in (letter, f"{letter}</w>")]
MERGED = ["th", "the</w>", "ol", "old</w>", "ca", "cat</w>"]
MERGES = "t h 90\nth e</w> 80\no l 70\nol d</w> 60\nc a 50\nca t</w> 40\nb l 30\n"  # no `bl`


@pytest.fixture
def folder(tmp_path):
    ids = {token: number for number, token in enumerate([*TOKENS, *LETTERS, *MERGED])}
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    (tmp_path / "merges.txt").write_text(MERGES)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "xlm"}))
    return tmp_path


def test_xlm_merges_subwords_of_the_vocabulary(folder):
    vocab = Vocab.load(folder)
    subwords = "the</w> old</w> ,</w> ol e</w> cat</w> .</w> a b l e</w>".split()
    assert vocab.tokens(vocab.encode(["The old, olé cat. able"]).ids[0]) == subwords
    config = {"do_lowercase_and_remove_accent": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    vocab = Vocab.load(folder)
    assert vocab.unk in vocab.encode(["The"]).ids[0]
    assert vocab.unk not in vocab.encode(["the"]).ids[0]


def test_xlm_has_the_special_tokens_of_its_code_and_opens_in_transformers(folder, tmp_path):
    vocab = Vocab.load(folder)
    assert vocab.begin == vocab.end == vocab.tokenizer.token_to_id("</s>")
    assert vocab.mask == vocab.tokenizer.token_to_id("<special1>")
    assert (vocab.separator_ids, vocab.pair_layout) == ((vocab.end,), "xlm")
    assert vocab.pad == 2
    vocab.save(tmp_path / "out")
    plain = AutoTokenizer.from_pretrained(tmp_path / "out", trust_remote_code=False)
    ids = vocab.encode(["the old cat"]).ids[0].tolist()
    assert plain("the old cat")["input_ids"] == [vocab.begin, *ids, vocab.end]
    assert plain.mask_token == "<special1>"


def test_xlm_agrees_with_the_slow_tokenizer_on_tokenized_text(folder):
    pytest.importorskip("sacremoses")
    slow = XLMTokenizer.from_pretrained(folder)
    vocab = Vocab.load(folder)
    for line in ("the old cat", "The Old Cat , the dog .", "tac dlo eht , olé"):
        assert vocab.encode([line]).ids[0].tolist() == slow.encode(
            line, add_special_tokens=False
        )
