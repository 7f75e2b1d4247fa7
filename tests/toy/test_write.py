"""The written toy corpus: every file parses, round-trips with the gold, and no split leaks into another."""

import json
from pathlib import Path

import pytest

from interlace.alignment.pharaoh import pharaoh_lines
from interlace.core.errors import SettingsError
from interlace.readers import READERS
from interlace.toy.corpus import write_toy
from interlace.toy.languages import LANGUAGES, language, pairs, text
from interlace.toy.sampling import sample, stream
from interlace.toy.settings import ToyCorpus

CODES = LANGUAGES.names()
OTHERS = [code for code in CODES if code != "en"]
SMALL = ToyCorpus(
    seed=5, sentences=80, pairs=60, labelled=50, nli=45, questions=30, dev=24, test=24
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    into = tmp_path_factory.mktemp("world") / "small"
    write_toy(SMALL, into)
    return into


def _lines(path):
    content = path.read_text(encoding="utf-8")
    assert content.endswith("\n")
    assert "\r" not in content
    return content.removesuffix("\n").split("\n")


def _read(reader, path, language):
    (chunk,) = READERS.build(reader).read_chunks([path], [language])
    return chunk


def _scenes(split, count, name):
    """Scenes of the training data of this name, or of the other splits, which all data share."""
    if split == "train":
        return sample(count, "train", 5, stream(name))
    return sample(24, split, 5)


def test_the_record_lists_all_files(folder):
    about = json.loads((folder / "toy.json").read_text())
    assert ToyCorpus.read(about["settings"]) == SMALL
    files = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    }
    assert files == {"toy.json", *about["counts"]}
    assert about["counts"]["parallel/train.en-de.links"] == 60


@pytest.fixture(scope="module")
def fewer(tmp_path_factory):
    """The same corpus in fewer languages."""
    into = tmp_path_factory.mktemp("world") / "fewer"
    write_toy(SMALL.model_copy(update={"languages": ["en", "de"]}), into)
    return into


@pytest.mark.parametrize(
    "pattern", ["text/*", "nli/*", "ner/*", "pos/*", "qa/*", "dict/*", "parallel/*.en-de.*"]
)
def test_removing_a_language_changes_no_other_file(folder, fewer, pattern):
    paths = list(fewer.glob(pattern))
    assert paths
    for path in paths:
        assert path.read_bytes() == (folder / path.relative_to(fewer)).read_bytes(), path


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_tags_are_read_back(folder, code, split):
    gold = text(code, _scenes(split, 50, f"labelled/{code}"))
    tagged = _read(
        {"name": "conllu", "trees": True}, folder / f"pos/{split}.{code}.conllu", code
    )
    assert tagged.notes == {}  # lines rebuilt from tokens are like their `# text`
    assert (tagged.lines, tagged.words, tagged.heads) == (gold.lines, gold.words, gold.heads)
    assert tagged.tags["pos"] == gold.tags["pos"]
    assert tagged.tags["deprel"] == gold.tags["deprel"]
    named = _read("iob", folder / f"ner/{split}.{code}.tsv", code)
    assert named.notes == {}
    assert named.tags["names"] == gold.tags["names"]
    for line in range(len(gold)):
        assert named.tokens(line) == gold.tokens(line)


@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_translations_have_gold_alignments(folder, code, split):
    path = folder / f"parallel/{split}.en-{code}"
    gold = pairs("en", code, _scenes(split, 60, f"parallel/en-{code}"))
    for side, lines in (("en", gold.source), (code, gold.target)):
        assert _lines(Path(f"{path}.{side}")) == lines.lines
        words = [" ".join(lines.tokens(row)) for row in range(len(lines))]
        assert _lines(Path(f"{path}.{side}.tok")) == words
    assert _lines(Path(f"{path}.links")) == list(pharaoh_lines(gold.links))


def test_inference_is_the_same_in_all_languages(folder):
    labels = set()
    for code in CODES:
        inference = _read("nli", folder / f"nli/train.{code}.tsv", code)
        assert len(set(zip(inference.source.lines, inference.target.lines, strict=True))) == 45
        labels.add(tuple(inference.labels))
    assert len(labels) == 1


@pytest.mark.parametrize("code", CODES)
def test_no_held_out_sentence_is_in_training_data(folder, code):
    """A sentence has one scene, so scenes are apart where sentences are."""
    train, held_out = (_said(folder, code, splits) for splits in (("train",), ("dev", "test")))
    assert len(train) > 200
    assert len(held_out) > 60
    assert not train & held_out


def _said(folder, code, splits):
    """All sentences of a language in the files of some splits."""
    said = set()
    for split in splits:
        for path in (
            *folder.glob(f"text/{split}.{code}.txt"),
            *folder.glob(f"parallel/{split}.*.{code}"),
        ):
            said |= set(_lines(path))
        inference = _read("nli", folder / f"nli/{split}.{code}.tsv", code)
        tagged = _read("conllu", folder / f"pos/{split}.{code}.conllu", code)
        said |= {*inference.source.lines, *inference.target.lines, *tagged.lines}
    return said


def test_trees_of_plain_text_and_inference_are_written(tmp_path):
    few = {
        "sentences": 8,
        "pairs": 2,
        "labelled": 4,
        "nli": 6,
        "questions": 2,
        "dev": 5,
        "test": 5,
    }
    write_toy(ToyCorpus(languages=["en"], seed=5, trees=True, **few), tmp_path / "trees")
    parsed = _read("conllu", tmp_path / "trees/text/train.en.conllu", "en")
    assert parsed.lines == _lines(tmp_path / "trees/text/train.en.txt")
    inference = _read("nli", tmp_path / "trees/nli/train.en.tsv", "en")
    parsed = _read("conllu", tmp_path / "trees/nli/train.en.conllu", "en").lines
    assert (parsed[::2], parsed[1::2]) == (inference.source.lines, inference.target.lines)


def test_invalid_settings_are_rejected():
    with pytest.raises(SettingsError, match="no toy language 'dee'; did you mean 'de'"):
        language("dee")
    with pytest.raises(SettingsError, match="'trian' of the toy corpus; did you mean 'train'"):
        sample(1, "trian")
    with pytest.raises(SettingsError, match="expected 'en', a side of all translations"):
        ToyCorpus(languages=["de"])
