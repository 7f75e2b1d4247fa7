"""Derived languages in recipes: their files are in a folder of the cache, in which paths are looked up first."""

import json
import re
import tomllib
from hashlib import blake2b

import pytest
from safetensors import safe_open

from interlace.core import registry
from interlace.core.errors import DataError, SettingsError
from interlace.data.cache import DIGESTS
from interlace.experiments.data_root import GENERATED_VERSION, data_key, data_root
from interlace.experiments.deriving import derived_languages
from interlace.experiments.inputs import missing_inputs
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import Recipe, read_recipe
from interlace.text.lines import read_lines, write_lines
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from little_files import write
from toy_settings import SHORT, TOY, VOCAB, under

QUICK = TOY | VOCAB | SHORT | under("model.shape", layers="1", width="32", heads="2")

TEXT = ["A cat sat.", "The dog ran home.", "a cat, a dog", "No cat ran."]
CONLLU = """# text = A cat sat.
1\tA\t_\tDET\tDT\t_\t2\tdet\t_\t_
2\tcat\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsat\t_\tVERB\tVBD\t_\t0\troot\t_\tSpaceAfter=No
4\t.\t_\tPUNCT\t.\t_\t3\tpunct\t_\t_
"""
IOB = ["Anna\tB-PER", "Lee\tI-PER", "sat\tO", "in\tO", "Rome\tB-LOC", ".\tO", ""]
NLI = ["language\tgold_label\tsentence1\tsentence2", "en\tentailment\tA cat sat.\tThe cat sat."]

RECIPE = """
name = "r"
word_tokenizer = "unicode"
vocab.size = 300
align = { name = "pharaoh", links = "text/{pair}.alignments" }
[derived.en_x]
of = "en"
transformations = "invert+transliterate"
files = [
    "text/*.{language}.txt", "pos/*.{language}.conllu", "ner/*.{language}.tsv",
    "nli/*.{language}.tsv",
]
translations.train = "text/pairs.{pair}.{language}.txt"
alignments = "text/{pair}.alignments"
dictionary = "dict/{source}-{target}.txt"
[corpora.text]
languages = ["en", "en_x"]
train = "text/train.{language}.txt"
[corpora.pairs]
pairs = ["en-en_x"]
train = ["text/pairs.{pair}.{source}.txt", "text/pairs.{pair}.{target}.txt"]
[evaluate]
dictionary = "dict/{source}-{target}.txt"
tasks = { pos = {}, ner = {}, xnli = {}, embedding_alignment = {} }
"""


@pytest.fixture
def root(tmp_path):
    """A file of each kind in English."""
    for name, lines in (
        ("text/train.en.txt", TEXT),
        ("text/dev.en.txt", TEXT[:2]),
        ("pos/test.en.conllu", CONLLU.split("\n")),
        ("ner/test.en.tsv", IOB),
        ("nli/test.en.tsv", NLI),
        ("notes.txt", ["left alone"]),
    ):
        write(tmp_path / "data", name, *lines)
    return tmp_path / "data"


def recipe(root, derived=None, **more):
    asked = tomllib.loads(RECIPE)
    asked["derived"]["en_x"].update(derived or {})
    return Recipe.read({**asked, "data_root": str(root), **more})


def lines(path):
    return list(read_lines(path))


def test_every_kind_of_file_is_derived(root):
    found = data_root(recipe(root, {"transformations": ["invert"]}))
    expected = ["sat cat A.", "home ran dog The.", "dog a , cat a", "ran cat No."]
    assert lines(found / "text/train.en_x.txt") == expected
    assert lines(found / "text/train.en.txt") == TEXT
    assert lines(found / "notes.txt") == ["left alone"]
    words = [line.split("\t") for line in lines(found / "pos/test.en_x.conllu") if "\t" in line]
    assert [
        f"{cells[1]}/{cells[3]}" for cells in words
    ] == "sat/VERB cat/NOUN A/DET ./PUNCT".split()
    tagged = [line.replace("\t", " ") for line in lines(found / "ner/test.en_x.tsv")]
    assert tagged == ["Rome B-LOC", "in O", "sat O", "Lee B-PER", "Anna I-PER", ". O", ""]
    assert lines(found / "nli/test.en_x.tsv")[1] == "entailment\tsat cat A.\tsat cat The."


def problems(asked):
    """What a run, a study, a dry run and `check` say before they start."""
    return missing_inputs(asked).training


STOP = "\U000115ce"  # the twin of a full stop


def test_translations_alignments_and_dictionary(root):
    found = data_root(recipe(root))
    original, own = (lines(found / f"text/pairs.en-en_x.{side}.txt") for side in ("en", "en_x"))
    assert original == TEXT
    # words and the full stop
    assert lines(found / "text/en-en_x.alignments")[0] == "0-2 1-1 2-0 3-3"
    entries = dict(line.split("\t") for line in lines(found / "dict/en-en_x.txt"))
    assert set(entries) == set("A a The No cat sat dog ran home".split())  # letters only
    assert len(set(entries.values())) == len(entries)
    for line, changed in zip(original[:2], own[:2], strict=True):
        assert (
            changed
            == " ".join(entries[word] for word in line.removesuffix(".").split()[::-1]) + STOP
        )


def test_files_are_cached_by_settings_and_content(root):
    text = "text/train.en_x.txt"
    files = [data_root(recipe(root, {"parallel": share})) / text for share in (0.5, 0.5, 1.0)]
    first, again, other = (path.resolve() for path in files)
    assert first == again != other
    write_lines(root / "text/train.en.txt", ["other text"])
    assert lines(data_root(recipe(root)) / text) != lines(first)
    first = data_key(recipe(root))
    write_lines(root / "text/another.txt", ["new"])
    assert data_key(recipe(root)) == first


def test_an_edited_plugin_word_tokenizer_gives_another_key(root, monkeypatch):
    plugin = (
        "from interlace.text.word_tokenizers.unicode import Unicode\nclass Own(Unicode): ...\n"
    )
    keys = []
    for source in (plugin, plugin + "# edited\n"):
        monkeypatch.setattr(registry, "_PLUGINS", {})
        (root / "own.py").write_text(source)
        registry.register_plugin(root / "own.py", {"word_tokenizers": WORD_TOKENIZERS})
        (language,) = derived_languages(recipe(root, word_tokenizer="own"), root)
        keys.append(language.key)
    assert keys[0] != keys[1]


def test_the_version_of_generated_text_is_raised_when_the_text_changes():
    small = under("toy", sentences="60", pairs="30", labelled="20", nli="30", questions="20")
    small |= under("toy", dev="10", test="10")
    digest = blake2b(digest_size=8)
    for names in ("invert+transliterate", "syntax+transliterate"):
        found = data_root(
            read_recipe("derived/toy:xlm", {**small, "derived.en_x.transformations": names})
        )
        for folder in (*found.derived, found.folder):
            for path in sorted(folder.rglob("*")):
                if path.is_file() and path.suffix != ".json" and path.name != DIGESTS:
                    digest.update(path.name.encode() + path.read_bytes())
    assert (GENERATED_VERSION, digest.hexdigest()) == (1, "930720b0e79ce211")


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("xlm", "permute+transliterate"),
        ("weam", "syntax+transliterate"),
        ("alm-aligned", "invert+transliterate"),
    ],
)
def test_small_recipes_train_on_every_transformation(name, changes, tmp_path):
    asked = read_recipe(
        f"derived/toy:{name}", QUICK | {"derived.en_x.transformations": changes}
    )
    pretrain(asked, tmp_path)
    with safe_open(tmp_path / "words.safetensors", "np") as words:
        assert set(json.loads(words.metadata()["concepts"])[0]) == {"en", "en_x"}


def test_existing_files_are_not_hidden(root):
    write_lines(root / "text/train.en_x.txt", ["by hand"])
    with pytest.raises(DataError, match=r"train\.en_x\.txt exists already"):
        data_root(recipe(root))


def test_rejects_files_that_cannot_be_told_apart(root):
    with pytest.raises(DataError, match=r"two files would be written as text/train\.en_x\.txt"):
        data_root(
            recipe(root, {"files": ["text/train.{language}.txt", "text/t*.{language}.txt"]})
        )


@pytest.mark.parametrize(
    ("derived", "message"),
    [
        (
            {"transformations": "invert", "settings": {"overlap": {"share": 2}}},
            r"derived\.en_x: settings\.overlap: share: .* less than or equal to 1",
        ),
        (
            {"settings": {"transliterate": {"keep_digts": "georgian"}}},
            r"derived\.en_x: settings\.transliterate: unknown key 'keep_digts'; did you mean 'keep_digits'",
        ),
        ({"files": ["{lang}.txt"]}, r"unknown placeholder \{lang\}; did you mean 'language'"),
        (
            {"files": [{"original": "*.txt", "derived": "{language}.txt"}]},
            r"derived\.en_x\.files.*'\{language\}\.txt' needs as many '\*' as '\*\.txt'",
        ),
    ],
)
def test_rejects_invalid_sections(root, derived, message):
    with pytest.raises(SettingsError, match=message):
        recipe(root, derived)


def test_rejects_pairs_without_translations(root):
    corpora = {"pairs": {"pairs": ["de-en_x"], "train": ["{pair}.{source}", "{pair}.{target}"]}}
    message = "de-en_x.*'en_x' has translations only with its original; write 'en-en_x'"
    with pytest.raises(SettingsError, match=message):
        recipe(root, corpora=corpora)


@pytest.mark.parametrize(
    ("derived", "message"),
    [
        (
            {"transformations": "syntax"},
            r"derived\.en_x\.settings: .*'syntax' needs .* set syntax\.like",
        ),
        (
            {
                "transformations": "syntax",
                "settings": {"syntax": {"like": ["pos/train.fr.conllu"]}},
            },
            r"train\.fr\.conllu: no such file of derived\.en_x\.settings\.syntax\.like; did you mean",
        ),
        (
            {"of": "fr"},
            r"train\.fr\.txt: no such file of derived\.en_x\.files; did you mean 'train\.en\.txt'",
        ),
    ],
)
def test_missing_files_are_reported_by_run_and_dry_run(root, derived, message):
    pairs = {"text": {"languages": ["en_x"], "train": "text/train.{language}.txt"}}
    named = {"files": ["text/train.{language}.txt"], "translations": {}, "dictionary": ""}
    asked = recipe(root, named | derived, corpora=pairs, align=None, evaluate={})
    before = sorted(root.rglob("*"))
    (told,) = problems(asked)
    assert re.search(message, told)
    with pytest.raises(DataError, match=message):
        data_root(asked)
    assert sorted(root.rglob("*")) == before


def test_retrieval_is_derived_from_development_text(root):
    write_lines(root / "text/dev.en.txt", TEXT)
    corpora = {"text": {"languages": ["en", "en_x"], "train": "text/train.{language}.txt"}}
    corpora["text"]["dev"] = "text/dev.{language}.txt"
    derived = {"translations": {"dev": "parallel/test.{pair}.{language}"}}
    asked = recipe(
        root, derived, corpora=corpora, align=None, evaluate={"tasks": {"retrieval": {}}}
    )
    assert missing_inputs(asked).evaluation == []
    found = data_root(asked)
    assert lines(found / "parallel/test.en-en_x.en") == TEXT
    assert lines(found / "parallel/test.en-en_x.en_x") == lines(found / "text/dev.en_x.txt")
