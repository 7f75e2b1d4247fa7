import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.tasks.pos import TAGS, Pos
from little_words import tagged


def write(root, *rows, name="pos/test.en.conllu"):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\n".join("\t".join([*row, *["_"] * (9 - len(row)), "_"]) if row else "" for row in rows)
        + "\n"
    )


def word(number, form, tag):
    return (str(number), form, "_", tag)


def test_words_without_a_tag_are_counted_and_not_scored(tmp_path, vocab, caplog):
    write(tmp_path, word(1, "the", "_"), word(2, "doctor", "NOUN"))
    with caplog.at_level(logging.INFO, "interlace"):
        examples = Pos().examples("test", "en", vocab, tmp_path)
    assert examples.tags.to_lists() == [[-1, TAGS.index("NOUN")]]
    assert "1 words without a tag, not scored" in caplog.text
    write(tmp_path, word(1, "the", "_"))
    with pytest.raises(DataError, match="no word has a tag"):
        Pos().examples("test", "en", vocab, tmp_path)
    write(tmp_path, word(1, "the", "DET"), word(2, "doctor", "NOUNN"))
    with pytest.raises(DataError) as caught:
        Pos().examples("test", "en", vocab, tmp_path)
    message = str(caught.value)
    assert "test.en.conllu" in message
    assert (
        "'the doctor', word 'doctor': 'NOUNN' is no universal tag; did you mean 'NOUN'?" in message
    )


def test_a_word_left_out_of_the_line_is_counted(tmp_path, vocab, caplog):
    write(
        tmp_path,
        ("1-2", "am"),
        word(1, "an", "ADP"),
        word(2, "dem", "DET"),
        word(3, "arzt", "NOUN"),
    )
    with caplog.at_level(logging.INFO, "interlace"):
        examples = Pos().examples("test", "en", vocab, tmp_path)
    assert [TAGS[tag] for tag in examples.tags[0]] == ["ADP", "NOUN"]
    assert "1 words of multiword tokens left out" in caplog.text


def test_unread_words_are_wrong():
    gold = Ragged.of([[1, 2, -1], [3, 4]])
    predictions = Ragged.of([[1, 9, -1], [3, -1]])
    examples = tagged(gold)
    metrics = Pos().score(examples, predictions).metrics
    assert metrics == {"accuracy": 50.0, "f1": pytest.approx(400 / 7), "unread": 25.0}


def f1_of(gold, found):
    numbers = {tag: number for number, tag in enumerate(TAGS)}
    tags, predictions = (
        Ragged.of([[numbers.get(tag, -1) for tag in row] for row in side]) for side in (gold, found)
    )
    return Pos().score(tagged(tags), predictions)["f1"]


@pytest.mark.filterwarnings("ignore:.* seems not to be NE tag")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 8), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_f1_equals_seqeval(shape, seed):
    seqeval = pytest.importorskip("seqeval.metrics")
    rng = np.random.default_rng(seed)
    some = rng.choice(TAGS, 5)
    gold = [rng.choice(some, length).tolist() for length in shape]
    found = [
        [tag if rng.random() < 0.6 else str(rng.choice([*some, "O"])) for tag in row]
        for row in gold
    ]
    assert f1_of(gold, found) == pytest.approx(100 * seqeval.f1_score(gold, found, zero_division=0))


def test_words_that_the_tokenizer_drops_are_not_beyond_the_maximum_length(tmp_path, vocab):
    """A zero-width space has no subword, whatever the maximum length is."""
    words = ["the", "\u200b", "doctor", "reads"]
    lines = [f"{number}\t{word}\t_\tNOUN" + "\t_" * 6 for number, word in enumerate(words, 1)]
    path = tmp_path / "pos/test.en.conllu"
    path.parent.mkdir()
    path.write_text("\n".join([*lines, "", ""]), encoding="utf-8")
    task = Pos(files="pos/{split}.{language}.conllu")
    examples = task.examples("test", "en", vocab, tmp_path)
    has_subword = np.isin(np.arange(4), examples.examples.words.flat)
    predictions = Ragged.of([np.where(has_subword, TAGS.index("NOUN"), -1)])
    scores = task.score(examples, predictions).metrics
    dropped = 100 * float((~has_subword).mean())
    assert (scores["unread"], scores.get("without subwords", 0.0)) == (0.0, dropped)
