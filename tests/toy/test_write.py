"""The written toy corpus: every file parses, round-trips with the gold, and no split leaks into another."""

import json
from pathlib import Path

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.readers import READERS
from interlace.toy import (
    LANGUAGES,
    ToyCorpus,
    language,
    links,
    sample,
    text,
    toy_version,
    write_toy,
)
from interlace.toy.sampling import stream

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


def _read(reader, path, *languages):
    (chunk,) = READERS.build(reader).read_chunks(
        path if isinstance(path, list) else [path], list(languages)
    )
    return chunk


def test_the_record_lists_all_files(folder):
    about = json.loads((folder / "toy.json").read_text())
    assert about["version"] == toy_version()
    assert ToyCorpus.read(about["settings"]) == SMALL
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {"toy.json", *about["counts"]}
    expected = {"text/train.de.txt": 80, "parallel/train.en-de.links": 60, "nli/train.en.tsv": 45}
    assert about["counts"].items() >= {**expected, "qa/dev.en.json": 24}.items()


def test_the_same_settings_write_the_same_bytes(folder, tmp_path):
    write_toy(SMALL, tmp_path / "again")
    for path in folder.rglob("*"):
        if path.is_file():
            assert (
                tmp_path / "again" / path.relative_to(folder)
            ).read_bytes() == path.read_bytes(), path.name


def test_removing_a_language_changes_no_other_file(folder, tmp_path):
    fewer = SMALL.model_copy(update={"languages": ["en", "de"]})
    write_toy(fewer, tmp_path / "fewer")
    for path in (tmp_path / "fewer").rglob("*"):
        same = (path.name != "toy.json" and path.suffix != ".tsv") or path.parent.name in (
            "nli",
            "ner",
        )
        if path.is_file() and same:
            assert (
                path.read_bytes() == (folder / path.relative_to(tmp_path / "fewer")).read_bytes()
            ), path.name


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_tags_are_read_back(folder, code, split):
    scenes = (
        sample(50, "train", 5, stream(f"labelled/{code}"))
        if split == "train"
        else sample(24, split, 5)
    )
    gold = text(code, scenes)
    tagged = _read("conllu", folder / f"pos/{split}.{code}.conllu", code)
    assert tagged.notes == {}  # lines rebuilt from tokens are like their `# text`
    assert tagged.lines == gold.lines
    assert tagged.words == gold.words
    assert tagged.tags["pos"] == gold.tags["pos"]
    grown = _read({"name": "conllu", "trees": True}, folder / f"pos/{split}.{code}.conllu", code)
    assert (grown.heads, grown.tags["deprel"]) == (gold.heads, gold.tags["deprel"])
    named = _read("iob", folder / f"ner/{split}.{code}.tsv", code)
    assert named.notes == {}
    assert named.tags["names"] == gold.tags["names"]
    assert [named.tokens(line) for line in range(len(named))] == [
        gold.tokens(line) for line in range(len(gold))
    ]


@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_translations_have_gold_alignments(folder, code, split):
    path = folder / f"parallel/{split}.en-{code}"
    scenes = (
        sample(60, "train", 5, stream(f"parallel/en-{code}"))
        if split == "train"
        else sample(24, split, 5)
    )
    sides = [[language(side).realize(scene) for scene in scenes] for side in ("en", code)]
    for side, gold in zip(("en", code), sides, strict=True):
        assert _lines(Path(f"{path}.{side}")) == [sentence.text for sentence in gold]
        words = [line.split(" ") for line in _lines(Path(f"{path}.{side}.tok"))]
        assert words == [[word.form for word in sentence.words] for sentence in gold]
    for line, source, target in zip(_lines(Path(f"{path}.links")), *sides, strict=True):
        found = [tuple(map(int, pair.split("-"))) for pair in line.split(" ")]
        assert found == links(source, target)


def test_inference_is_the_same_in_all_languages(folder):
    labels = set()
    for code in CODES:
        path = folder / f"nli/train.{code}.tsv"
        rows = [line.split("\t") for line in _lines(path)[1:]]
        assert len({row[4] for row in rows}) == len(rows) == 45
        labels.add(tuple((row[1], row[4]) for row in rows))
        pairs = _read("nli", path, code)
        assert pairs.labels == [row[1] for row in rows]
        assert pairs.source.lines == [row[2] for row in rows]
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
        for path in folder.glob(f"*/{split}.*{code}*"):
            if path.parent.name in ("text", "parallel") and path.suffix in (".txt", f".{code}"):
                said |= set(_lines(path)) if f".{code}" in path.name else set()
        said |= {
            row.split("\t")[part]
            for row in _lines(folder / f"nli/{split}.{code}.tsv")[1:]
            for part in (2, 3)
        }
        said |= {
            line[9:]
            for line in _lines(folder / f"pos/{split}.{code}.conllu")
            if line.startswith("# text = ")
        }
    return said


def test_trees_of_plain_text_and_inference_are_written(tmp_path):
    few = {"sentences": 8, "pairs": 2, "labelled": 4, "nli": 6, "questions": 2, "dev": 5, "test": 5}
    write_toy(ToyCorpus(languages=["en"], seed=5, trees=True, **few), tmp_path / "trees")
    parsed = _read("conllu", tmp_path / "trees/text/train.en.conllu", "en")
    assert parsed.lines == _lines(tmp_path / "trees/text/train.en.txt")
    pairs = _read("nli", tmp_path / "trees/nli/train.en.tsv", "en")
    both = [
        side for pair in zip(pairs.source.lines, pairs.target.lines, strict=True) for side in pair
    ]
    assert _read("conllu", tmp_path / "trees/nli/train.en.conllu", "en").lines == both


def test_other_folders_are_not_replaced(tmp_path):
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(DataError, match="holds something that is no toy corpus"):
        write_toy(SMALL, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_invalid_settings_are_rejected():
    assert ToyCorpus().languages == CODES
    with pytest.raises(SettingsError, match="no toy language 'dee'; did you mean 'de'"):
        language("dee")
    with pytest.raises(SettingsError, match="'trian' of the toy corpus; did you mean 'train'"):
        sample(1, "trian")
    for languages, message in (
        (["en", "dee"], "languages: there is no toy language 'dee'; did you mean 'de'"),
        (["de"], "expected 'en', a side of all translations"),
        (["en", "de", "de"], "each code once"),
    ):
        with pytest.raises(SettingsError, match=message):
            ToyCorpus(languages=languages)
