import logging

import pytest

from interlace.core.errors import DataError
from interlace.tasks.pawsx import Pawsx
from little_files import write

FILE = "pawsx/test-en.tsv"


def test_unlabelled_pairs_are_counted_and_not_scored(tmp_path, vocab, caplog):
    write(tmp_path, FILE, ("the doctor", "reads", ""), ("letters", "the letters", "0"))
    with caplog.at_level(logging.INFO, "interlace"):
        examples = Pawsx().examples("test", "en", vocab, tmp_path)
    assert examples.labels.tolist() == [-1, 0]
    assert "1 rows without a label, not scored" in caplog.text
    assert Pawsx().score(examples, examples.labels * 0 + 1)["accuracy"] == 0
    write(tmp_path, FILE, ("the doctor", "reads", "2"))
    with pytest.raises(
        DataError,
        match=r"test-en.tsv: unknown label '2' of 'the doctor' and 'reads'; there are: 0, 1",
    ):
        Pawsx().examples("test", "en", vocab, tmp_path)


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_rows_with_an_empty_or_untranslated_sentence_are_left_out_and_counted(
    tmp_path, vocab, caplog, split
):
    """As in the machine-translated training files of PAWS-X."""
    path = f"pawsx/{split}-en.tsv"
    write(
        tmp_path,
        path,
        ("", "reads", "1"),
        ("letters", "the letters", "0"),
        ("the doctor", " ", "1"),
        ("letters", "NS", "0"),
    )
    with caplog.at_level(logging.INFO, "interlace"):
        labels = Pawsx().examples(split, "en", vocab, tmp_path).labels.tolist()
    if split == "test":  # a translation that failed counts
        assert labels == [1, 0, 1]
        return
    assert labels == [0]
    assert "3 rows with an empty or untranslated (NS) sentence left out" in caplog.text
