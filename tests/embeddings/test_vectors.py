import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interlace.core.errors import DataError
from interlace.embeddings import WordVectors, languages_in

WORDS = ["der", "Hund", "hund", "São\u00a0Paulo"]


@pytest.fixture
def vectors():
    return WordVectors("de", WORDS, np.arange(8, dtype=np.float32).reshape(4, 2) / 3)


def same(one, other):
    assert (one.language, one.words) == (other.language, other.words)
    np.testing.assert_array_equal(one.vectors, other.vectors)


def test_words_are_found_as_written_or_in_their_most_frequent_case(vectors):
    assert vectors.find(["hund", "Der", "x"]).tolist() == [2, -1, -1]
    assert vectors.find(["hund", "HUND", "Der", "x"], fold=True).tolist() == [2, 1, 0, -1]


def test_a_folder_holds_several_languages_and_a_damaged_file_is_named(vectors, tmp_path):
    vectors.save(tmp_path)
    WordVectors("en", ["dog"], np.ones((1, 2), np.float32)).save(tmp_path)
    assert languages_in(tmp_path) == ["de", "en"]
    same(WordVectors.load(tmp_path, "de"), vectors)
    with pytest.raises(DataError, match="no word vectors of 'fr'; there are: de, en"):
        WordVectors.load(tmp_path, "fr")
    (tmp_path / "de.safetensors").write_bytes(b"none")
    with pytest.raises(DataError, match=r"de\.safetensors: damaged word vectors"):
        WordVectors.load(tmp_path, "de")


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\n")), min_size=1, unique=True
    )
)
# what readers of lines lose or part by
@example(["\ufeffa", "\r", "a\r\r", " ", "\ufeff", "\x85", "\u2028 b", ""])
def test_a_folder_keeps_whatever_a_subword_may_be(tmp_path_factory, words):
    folder = tmp_path_factory.mktemp("kept")
    odd = WordVectors("subwords", words, np.zeros((len(words), 2), np.float32))
    odd.save(folder)
    same(WordVectors.load(folder, "subwords"), odd)


def test_as_many_words_as_vectors_each_once():
    with pytest.raises(DataError, match="'de': 1 words, but an array of"):
        WordVectors("de", ["a"], np.zeros((2, 2), np.float32))
    with pytest.raises(DataError, match="duplicate word 'b'"):
        WordVectors("de", ["b", "a", "b"], np.zeros((3, 2), np.float32))


def test_what_fasttext_writes_is_read(tmp_path):
    path = tmp_path / "a.vec"
    path.write_text("3 2\nthe 1 2 \n, -1e-3 0.5 \nthe 3 4 \n", encoding="utf-8")
    read = WordVectors.read(path, "en")  # a blank ends each line, and a word may come again
    assert read.words == ["the", ","]
    np.testing.assert_allclose(read.vectors, [[1, 2], [-0.001, 0.5]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the 1 2\n", r"line 1: expected the number of words and the width"),
        ("99999999999 300\nthe 1\n", r"line 1: 99999999999 vectors of width 300 are too many"),
        (
            "2 2\nthe 1 2\ndog 1\n",
            r"line 3: expected a word and 2 finite numbers.*found 'dog 1'",
        ),
        ("1 2\nthe 1 nan\n", r"line 2: expected a word and 2 finite numbers"),
        ("1 2\nSan Jose 1 2\n", r"line 2: expected a word and 2"),
        ("3 2\nthe 1 2\n", r"the header says 3 words, but the file ends after 1"),
        ("1 2\nthe 1 2\ndog 1 2\n", r"line 3: more lines than the 1 words"),
    ],
)
def test_bad_lines_are_named(tmp_path, text, message):
    path = tmp_path / "a.vec"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        WordVectors.read(path, "en")
