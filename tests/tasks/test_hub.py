"""Tasks whose files are data sets of the hub: a folder under the data root stands for each repository."""

import pytest

from interlace.data.vocab import Vocab
from interlace.experiments.recipe import read_recipe, resolve_task
from interlace.readers.common.tables import ColumnTable
from interlace.tasks import TASKS
from little_hub import publish_split, take_apart

pytest.importorskip("datasets")
from datasets import ClassLabel, Sequence, Value

TEXT = Value("string")
RECIPE = read_recipe("evaluation/hub")


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["the quick brown fox jumps over the lazy dog"] * 20}, size=300)


@pytest.fixture(autouse=True)
def _apart(tmp_path, monkeypatch):
    take_apart(monkeypatch, tmp_path / "cache")


def nli(count):
    return [
        {"premise": f"the fox {row}", "hypothesis": "a dog", "label": row % 3}
        for row in range(count)
    ]


NLI = {
    "premise": TEXT,
    "hypothesis": TEXT,
    "label": ClassLabel(names=["entailment", "neutral", "contradiction"]),
}


def test_stops_reading_after_the_selected_rows(tmp_path, vocab, monkeypatch):
    address = publish_split(tmp_path, "facebook/xnli/en/train", nli(30), NLI)
    monkeypatch.setattr("interlace.readers.CHUNK", 4)
    seen = []
    rows = ColumnTable.rows

    def counted(self, columns):
        for row in rows(self, columns):
            seen.append(self.count)
            yield row

    monkeypatch.setattr(ColumnTable, "rows", counted)

    def read(part):
        seen.clear()
        task = TASKS.build({"name": "xnli", "files": {"train": f"{address}{part}"}})
        return len(task.examples("train", "en", vocab, tmp_path)), max(seen)

    assert read("[:3]") == (3, 8)  # chunks of 4, one ahead
    assert read("[-3:]") == (3, 30)


PAWS = {"sentence1": TEXT, "sentence2": TEXT, "label": ClassLabel(names=["0", "1"])}
NER = {
    "tokens": Sequence(TEXT),
    "ner_tags": Sequence(ClassLabel(names=["O", "B-PER", "I-PER"])),
}
UPOS = {
    "tokens": Sequence(TEXT),
    "pos_tags": Sequence(ClassLabel(names=["NOUN", "VERB", "DET"])),
}


@pytest.mark.parametrize(
    ("task", "place", "rows", "features", "expected"),
    [
        ("xnli", "facebook/xnli/de/test", nli(4), NLI, [0, 1, 2, 0]),
        (
            "pawsx",
            "google-research-datasets/paws-x/de/validation",
            [{"sentence1": "the fox", "sentence2": "the dog", "label": row} for row in (0, 1)],
            PAWS,
            [0, 1],
        ),
        (
            "panx",
            "unimelb-nlp/wikiann/de/test",
            [{"tokens": ["Ada", "runs"], "ner_tags": [1, 0]}],
            NER,
            ["B-PER", "O"],
        ),
        (
            "pos",
            "google/xtreme/udpos.German/test",
            [{"tokens": ["the", "fox"], "pos_tags": [2, 0]}],
            UPOS,
            ["DET", "NOUN"],
        ),
    ],
)
def test_labels_of_the_recipe(tmp_path, vocab, task, place, rows, features, expected):
    publish_split(tmp_path, place, rows, features)
    task = resolve_task(RECIPE, task)
    split = "dev" if place.endswith("validation") else "test"
    found = task.examples(split, "de", vocab, tmp_path)
    if found.tags is None:
        assert found.labels.tolist() == expected
    else:
        assert [task.classes[tag] for tag in found.tags[0]] == expected
