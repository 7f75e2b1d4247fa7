import pytest

from interlace.core.errors import DataError
from interlace.tasks.xnli import LABELS, Xnli
from little_files import write

FILE = "nli/test.en.tsv"
HEADER = ("language", "gold_label", "sentence1", "sentence2")


def test_rejects_a_reader_of_another_kind(tmp_path, vocab):
    write(tmp_path, FILE, HEADER, ("en", "neutral", "the doctor", "reads"))
    columns = {"name": "tsv", "columns": ["sentence1"]}
    with pytest.raises(DataError, match="gives sentences, not pairs"):
        Xnli(reader=columns | {"label": "gold_label"}).examples("test", "en", vocab, tmp_path)
    guest = {"name": "tsv", "columns": ["sentence1", "sentence2"]}
    with pytest.raises(DataError, match="the reader 'tsv' has 2 columns for 1 languages"):
        Xnli(reader=guest).examples("test", "en", vocab, tmp_path)


def test_reads_several_files_and_rows(tmp_path, vocab):
    rows = [("en", "neutral", word, "reads") for word in ("the", "doctor", "letters")]
    write(tmp_path, FILE, HEADER, *rows)
    usual = ("sentence_A", "sentence_B", "entailment_judgment")
    write(tmp_path, "sick.txt", usual, ("letters", "reads", "ENTAILMENT"))
    files = {"train.en": ["sick.txt[:1]", "nli/test.en.tsv[:2]"], "test.en": "sick.txt[1:]"}
    task = Xnli(files=files)
    train = task.examples("train", "en", vocab, tmp_path)
    assert [vocab.decode(row) for row in train.examples.source.ids] == [
        "letters",
        "the",
        "doctor",
    ]
    assert [LABELS[label] for label in train.labels] == ["entailment", "neutral", "neutral"]
    with pytest.raises(DataError, match=r"sick\.txt has no rows"):
        task.examples("test", "en", vocab, tmp_path)
